// A table of words: each cell a word on the colour of a number from 0 to 1, with marks and with arrows between cells.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

/** Where columns begin and end: as wide as their widest word, wider where there is room. */
export function columnsOf(widths, titles, room) {
  const natural = titles + widths.reduce((sum, w) => sum + w, 0);
  const more = Math.max(0, Math.min(46, (room - natural) / widths.length));
  let x = titles;
  return widths.map((w) => {
    const spot = { x, w: w + more };
    x += w + more;
    return spot;
  });
}

/** Every cell as a row of cells. */
export function cellTable({ rows, words }) {
  return [[words.row, words.place, words.word, words.value], ...rows.flatMap(({ title, cells }) => cells.map((cell, i) => [title, i, cell?.text ?? "", cell?.value ?? ""]))];
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function wordGrid({ data, parentElement, setStateValue }) {
  const view = kept(parentElement, () => {
    const stage = html("div", { class: "stage" });
    const saves = html("div", {});
    const legend = html("div", { class: "legend" });
    const heard = html("div", { class: "heard", "aria-live": "polite" });
    const root = html("div", { class: "pg word-grid" }, [saves, stage, legend, heard]);
    const made = { root, stage, saves, legend, heard, tip: tooltip(root), at: [0, 0], pin: null };
    stage.addEventListener("keydown", (event) => walked(made, event));
    parentElement.append(root);
    return made;
  });
  const token = JSON.stringify(data.rows.map(({ title, cells }) => [title, cells.map((cell) => cell?.text)]));
  if (token !== view.token) view.pin = null;
  Object.assign(view, { data, token, pick: (place) => data.picks && setStateValue("pick", place) });
  themed(view.root, data.theme).classList.toggle("presenting", data.theme.presenting);
  if (!view.watch) {
    view.watch = new ResizeObserver(() => view.stage.clientWidth !== view.room && draw(view));
    view.watch.observe(view.stage);
  }
  draw(view);
  return () => {
    view.tip.hide();
    view.watch?.disconnect();
    view.watch = null;
  };
}

function draw(view) {
  const { data, stage } = view;
  const { theme, words, rows, links } = data;
  view.room = stage.clientWidth || 600;
  const narrow = view.room < 640;
  const largest = theme.presenting ? (narrow ? 17 : 20) : narrow ? 14 : 16;
  const n = Math.max(...rows.map(({ cells }) => cells.length));
  const fitted = (size) => {
    const small = size - 3;
    const wide = (cell) => (cell ? Math.max(textWidth(visible(cell.text), size, 700), textWidth(cell.sub, small)) : 0);
    const widths = Array.from({ length: n }, (_, i) => Math.max(30, ...rows.map(({ cells }) => wide(cells[i]))) + size * 0.8);
    const titles = Math.max(...rows.map(({ title }) => textWidth(title, small, 600))) + 16;
    return { size, small, widths, titles, natural: titles + widths.reduce((sum, w) => sum + w, 0) };
  };
  // A little smaller type, rather than a table that has to be scrolled.
  const tries = [0, 1, 2, 3, 4].map((less) => fitted(largest - less));
  const { size, small, widths, titles } = narrow ? tries[0] : (tries.find(({ natural }) => natural <= view.room - 4) ?? tries[0]);
  const label = (text, attrs) => el("text", { "font-size": size, fill: theme.text, ...attrs }, text);
  const columns = columnsOf(widths, titles, view.room - 4);
  const tall = rows.some(({ cells }) => cells.some((cell) => cell?.sub)) ? size * 2.75 : size * 2;
  const gapOf = (row) => (row.after ? size * row.after : 5);
  const tops = [];
  let y = 4;
  for (const row of rows) {
    tops.push(y);
    y += tall + gapOf(row);
  }
  const colour = weightsScale(theme);
  const width = Math.ceil(columns.at(-1).x + columns.at(-1).w + 4);
  const cells = [];
  rows.forEach((row, r) =>
    row.cells.forEach((cell, c) => {
      if (!cell) return;
      const { x, w } = columns[c];
      const fillColour = cell.value === null ? theme.background : colour(cell.value);
      const ink = cell.value === null ? theme.text : inkOn(fillColour, theme);
      const mark = { wrong: [theme.negative, 2.5], first: [theme.negative, 4], right: [theme.line, 1] }[cell.mark] ?? [cell.value === null ? "none" : theme.line, 1];
      const node = el("g", { class: "cell", "data-place": `${r}-${c}` }, [
        el("rect", { class: "box", x: x + 2, y: tops[r] + 1, width: w - 4, height: tall - 2, rx: 6, fill: fillColour, stroke: mark[0], "stroke-width": mark[1] }),
        label(visible(cell.text), { x: x + w / 2, y: tops[r] + (cell.sub ? tall * 0.42 : tall / 2 + size * 0.34), "text-anchor": "middle", fill: ink, "font-weight": cell.strong ? 700 : 400 }),
        cell.sub && label(cell.sub, { x: x + w / 2, y: tops[r] + tall * 0.82, "text-anchor": "middle", "font-size": small, fill: ink }),
      ]);
      node.addEventListener("pointermove", (event) => view.tip.show(cell.said, event.clientX, event.clientY));
      node.addEventListener("pointerleave", () => view.tip.hide());
      node.addEventListener("click", () => pinned(view, [r, c]));
      cells.push(node);
    }),
  );
  const arrows = (links ?? []).map(([r0, c0, r1, c1, kind]) => {
    const [a, b] = [columns[c0], columns[c1]];
    const [x0, y0, x1, y1] = [a.x + a.w / 2, tops[r0] + (r1 > r0 ? tall : 0), b.x + b.w / 2, tops[r1] + (r1 > r0 ? 0 : tall)];
    const bend = (y0 + y1) / 2;
    return el("path", { d: `M${x0},${y0} C${x0},${bend} ${x1},${bend} ${x1},${y1}`, fill: "none", stroke: kind === "wrong" ? theme.negative : theme.hidden, "stroke-width": kind === "wrong" ? 2.5 : 1.5, "marker-end": `url(#grid-${kind})` });
  });
  const marker = (kind, fillColour) => el("marker", { id: `grid-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9, orient: "auto" }, el("path", { d: "M0,0 L8,4 L0,8 z", fill: fillColour }));
  const cursor = el("rect", { class: "cursor", "data-passing": "", fill: "none", stroke: theme.focus, "stroke-width": 3, rx: 7, visibility: "hidden" });
  view.stand = () => {
    const [r, c] = view.pin ?? view.at;
    const { x, w } = columns[c];
    for (const [name, value] of Object.entries({ x: x + 1, y: tops[r], width: w - 2, height: tall })) cursor.setAttribute(name, value);
  };
  const svg = el("svg", { class: "board", width, height: Math.ceil(y), viewBox: `0 0 ${width} ${Math.ceil(y)}`, tabindex: 0, role: "application", "aria-label": `${data.alt} ${words.keys}` }, [
    el("defs", {}, [marker("plain", theme.hidden), marker("wrong", theme.negative)]),
    rows.map(({ title, role }, r) => label(title, { x: titles - 10, y: tops[r] + tall / 2 + small * 0.34, "text-anchor": "end", "font-size": small, "font-weight": 600, fill: role ? roleColour(theme, role) : theme.muted })),
    cells,
    arrows,
    cursor,
  ]);
  const focused = view.root.getRootNode().activeElement?.classList?.contains("board");
  const scrolled = stage.scrollLeft;
  stage.replaceChildren(svg);
  stage.scrollLeft = scrolled;
  view.svg = svg;
  view.cursor = cursor;
  if (view.pin) [view.stand(), cursor.setAttribute("visibility", "visible")];
  if (focused) svg.focus({ preventScroll: true });
  view.saves.replaceChildren(saveMenu({ words, theme, name: data.filename, label: data.alt, svg: () => view.svg, rows: () => cellTable(view.data) }));
  const bar = el("svg", { width: 90, height: 14, "aria-hidden": "true" }, Array.from({ length: 18 }, (_, i) => el("rect", { x: i * 5, y: 0, width: 5.5, height: 14, fill: colour(i / 17) })));
  view.legend.replaceChildren(html("span", {}, ["0 ", bar, ` 1  ${words.colour}`]), ...(words.marked ? [html("span", {}, [html("i", { class: "wrong" }), words.marked])] : []));
}

function pinned(view, place) {
  const same = view.pin && view.pin[0] === place[0] && view.pin[1] === place[1];
  view.pin = same ? null : place;
  view.at = place;
  view.stand();
  view.cursor.setAttribute("visibility", same ? "hidden" : "visible");
  view.pick(same ? null : { row: place[0], col: place[1] });
}

function walked(view, event) {
  const { rows } = view.data;
  const [r, c] = view.at;
  const to = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1] }[event.key];
  if (to) {
    if (!rows[to[0]]?.cells[to[1]]) return;
    view.at = to;
    view.pin = null;
    view.stand();
    view.cursor.setAttribute("visibility", "visible");
    view.heard.textContent = [rows[to[0]].title, ...rows[to[0]].cells[to[1]].said.flat()].join(", ");
  } else if (event.key === "Enter" || event.key === " ") pinned(view, view.at);
  else if (event.key === "Escape" && view.pin) pinned(view, view.pin);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
