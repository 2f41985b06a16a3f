// One cross-attention head twice: as lines from the source to what was written, and as a matrix; the gold alignment in both.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

const FAINTEST = 0.02; // a line with less weight is not drawn

/** Where lines and matrix stand in `room` pixels: side by side, or the matrix below where the room is narrow. */
export function halves(room, { source, target, rows, cols, size }) {
  const wide = room >= 760;
  const zone = wide ? Math.round(room * 0.42) : room;
  const step = Math.max(size * 1.3, Math.min(size * 2.1, (size * 27) / Math.max(rows, cols)));
  const top = size * 1.9;
  const left = wide ? zone + 36 : 0;
  const space = room - left - target - 14 - (room < 760 ? 14 : 0);
  const cell = Math.max(12, Math.min(size * 2.9, space / cols, wide ? (size * 25) / rows : Infinity));
  const leans = source > cell - 6;
  const head = leans ? source * 0.87 + 16 : size * 1.9;
  const lines = top + Math.max(rows, cols) * step + 6;
  const down = wide ? 0 : lines + size;
  return { wide, zone, step, top, lines, cell, leans, left, head, down, height: Math.max(lines, down + head + rows * cell + 6) };
}

/** Every weight as a row of cells. */
export function weightTable({ source, written, weights, gold, words }) {
  const cols = source.length;
  const pairs = new Set(gold.map(([row, col]) => `${row} ${col}`));
  return [
    [words.query, words.key, words.weight, words.gold],
    ...written.flatMap((word, row) => source.map((from, col) => [`${row} ${word}`, `${col} ${from}`, weights[row * cols + col], pairs.has(`${row} ${col}`) ? 1 : 0])),
  ];
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function alignment({ data, parentElement, setStateValue }) {
  const view = kept(parentElement, () => {
    const stage = html("div", { class: "stage", tabindex: 0, role: "application" });
    const saves = html("div", {});
    const legend = html("div", { class: "legend" });
    const heard = html("div", { class: "heard", "aria-live": "polite" });
    const root = html("div", { class: "pg alignment" }, [saves, stage, legend, heard]);
    const made = { root, stage, saves, legend, heard, what: null, pinned: null, tip: tooltip(root) };
    stage.addEventListener("keydown", (event) => walked(made, event));
    parentElement.append(root);
    return made;
  });
  const token = JSON.stringify([data.source, data.written, data.head]);
  if (token !== view.token) Object.assign(view, { what: null, pinned: null });
  Object.assign(view, { data, token, weights: unpacked(data.weights), pick: (place) => setStateValue("pick", place) });
  themed(view.root, data.theme).classList.toggle("presenting", data.theme.presenting);
  view.stage.setAttribute("aria-label", `${data.alt} ${data.words.keys}`);
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
  const { data, stage, weights } = view;
  const { theme, words, gold } = data;
  view.room = stage.clientWidth || 600;
  const size = theme.presenting ? (view.room < 760 ? 17 : 20) : 16;
  const [source, written] = [data.source.map(visible), data.written.map(visible)];
  const [rows, cols] = [written.length, source.length];
  const widest = (list) => Math.max(...list.map((word) => textWidth(word, size, 600)));
  const [sw, tw] = [widest(source) + 14, widest(written) + 14];
  const plan = halves(view.room, { source: widest(source), target: tw, rows, cols, size });
  const label = (text, attrs) => el("text", { "font-size": size, fill: theme.text, ...attrs }, text);
  const [a, b] = [sw, plan.zone - tw];
  const middle = (i, n) => plan.top + (i + 0.5 + (Math.max(rows, cols) - n) / 2) * plan.step;
  const curve = (row, col) => {
    const [y0, y1, bend] = [middle(col, cols), middle(row, rows), (a + b) / 2];
    return `M${a},${y0} C${bend},${y0} ${bend},${y1} ${b},${y1}`;
  };
  const isGold = new Set(gold.map(([row, col]) => `${row} ${col}`));
  const colour = weightsScale(theme);
  const marks = [];
  const add = (node, at, kind) => {
    marks.push({ node, at, kind });
    return node;
  };
  const paths = [];
  const cells = [];
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < cols; col += 1) {
      const weight = weights[row * cols + col];
      if (weight >= FAINTEST) paths.push([weight, add(el("path", { class: "line", d: curve(row, col), fill: "none", stroke: "url(#alignment)", "stroke-width": (1 + 6 * weight).toFixed(2), "stroke-opacity": (0.12 + 0.8 * weight).toFixed(3), "stroke-linecap": "round" }), { row, col }, "line")]);
      const [x, y] = [plan.left + tw + col * plan.cell, plan.down + plan.head + row * plan.cell];
      const fillColour = colour(weight);
      const node = el("g", { class: "cell" }, [
        el("rect", { x, y, width: plan.cell, height: plan.cell, fill: fillColour, stroke: theme.line, "stroke-width": 0.7 }),
        plan.cell >= size * 2.3 && label(brief(weight), { x: x + plan.cell / 2, y: y + plan.cell / 2 + size * 0.3, "text-anchor": "middle", "font-size": size - 3, fill: inkOn(fillColour, theme) }),
        isGold.has(`${row} ${col}`) && el("rect", { x: x + 2, y: y + 2, width: plan.cell - 4, height: plan.cell - 4, fill: "none", stroke: theme.focus, "stroke-width": 3 }),
      ]);
      node.addEventListener("pointermove", (event) => point(view, { row, col }, event));
      node.addEventListener("click", () => pin(view, { row, col }));
      cells.push(add(node, { row, col }, "cell"));
    }
  }
  const word = (text, at, x, y, anchor, fillColour, area) => {
    const node = el("g", { class: "word" }, [el("rect", { ...area, "fill-opacity": 0, "data-passing": "" }), label(text, { x, y: y + size * 0.34, "text-anchor": anchor, "font-weight": 600, fill: isMark(text) ? theme.muted : fillColour })]);
    node.addEventListener("pointermove", (event) => point(view, at, event));
    return add(node, at, "word");
  };
  const svg = el("svg", { width: view.room, height: Math.ceil(plan.height), viewBox: `0 0 ${view.room} ${Math.ceil(plan.height)}`, "aria-hidden": "true" }, [
    el("defs", {}, el("linearGradient", { id: "alignment", gradientUnits: "userSpaceOnUse", x1: a, x2: b, y1: 0, y2: 0 }, [el("stop", { offset: 0, "stop-color": theme.memory }), el("stop", { offset: 1, "stop-color": theme.query })])),
    label(words.key, { x: a - 8, y: size, "text-anchor": "end", "font-size": size - 2, fill: theme.muted }),
    label(words.query, { x: b + 8, y: size, "font-size": size - 2, fill: theme.muted }),
    paths.sort((p, q) => p[0] - q[0]).map(([, node]) => node),
    gold.map(([row, col]) => el("path", { class: "gold", d: curve(row, col), fill: "none", stroke: theme.focus, "stroke-width": 2, "stroke-dasharray": "2 5", "stroke-linecap": "round" })),
    source.map((text, col) => word(text, { col }, a - 8, middle(col, cols), "end", theme.memory, { x: 0, y: middle(col, cols) - plan.step / 2, width: a, height: plan.step })),
    written.map((text, row) => word(text, { row }, b + 8, middle(row, rows), "start", theme.query, { x: b, y: middle(row, rows) - plan.step / 2, width: tw, height: plan.step })),
    written.map((text, row) => word(text, { row }, plan.left + tw - 8, plan.down + plan.head + (row + 0.5) * plan.cell, "end", theme.query, { x: plan.left, y: plan.down + plan.head + row * plan.cell, width: tw, height: plan.cell })),
    source.map((text, col) => {
      const [x, y] = [plan.left + tw + (col + 0.5) * plan.cell, plan.down + plan.head - 8];
      return add(
        el("g", { class: "word" }, el("text", { x, y, "font-size": size, "font-weight": 600, fill: isMark(text) ? theme.muted : theme.memory, "text-anchor": plan.leans ? "start" : "middle", transform: plan.leans ? `rotate(-60 ${x} ${y})` : null }, text)),
        { col },
        "word",
      );
    }),
    cells,
  ]);
  svg.addEventListener("pointerleave", () => point(view, null));
  stage.replaceChildren(svg);
  Object.assign(view, { svg, marks });
  view.saves.replaceChildren(saveMenu({ words, theme, name: data.filename, label: data.alt, svg: () => view.svg, rows: () => weightTable({ ...data, weights: view.weights }) }));
  view.legend.replaceChildren(
    html("span", {}, [el("svg", { width: 40, height: 14, "aria-hidden": "true" }, el("line", { x1: 2, x2: 38, y1: 7, y2: 7, stroke: theme.query, "stroke-width": 5, "stroke-linecap": "round" })), words.weight]),
    ...(gold.length
      ? [html("span", {}, [el("svg", { width: 62, height: 16, "aria-hidden": "true" }, [el("line", { x1: 2, x2: 38, y1: 8, y2: 8, stroke: theme.focus, "stroke-width": 2.5, "stroke-dasharray": "2 5", "stroke-linecap": "round" }), el("rect", { x: 45, y: 1.5, width: 13, height: 13, fill: "none", stroke: theme.focus, "stroke-width": 3 })]), words.gold])]
      : []),
  );
  light(view);
}

const isMark = (word) => /^⟨.*⟩$/.test(word);

function light(view) {
  const what = view.what ?? view.pinned;
  view.svg.classList.toggle("some", what !== null);
  for (const { node, at } of view.marks) {
    const fits = (axis) => what?.[axis] === undefined || at[axis] === undefined || at[axis] === what[axis];
    node.classList.toggle("lit", what !== null && fits("row") && fits("col"));
  }
}

function said(view, { row, col }) {
  const { source, written, gold, words } = view.data;
  const cols = source.length;
  if (row !== undefined && col !== undefined) {
    const pair = gold.some(([r, c]) => r === row && c === col);
    return [[words.query, visible(written[row])], [words.key, visible(source[col])], [words.weight, exact(view.weights[row * cols + col])], ...(pair ? [words.gold] : []), words.origin];
  }
  const [own, list] = row !== undefined ? [written[row], source.map((word, c) => [word, view.weights[row * cols + c]])] : [source[col], written.map((word, r) => [word, view.weights[r * cols + col]])];
  return [visible(own), ...list.sort((p, q) => q[1] - p[1]).slice(0, 6).map(([word, weight]) => [visible(word), short(weight)])];
}

function point(view, what, event = null) {
  view.what = what;
  light(view);
  if (what && event) view.tip.show(said(view, what), event.clientX, event.clientY);
  else view.tip.hide();
}

function pin(view, at) {
  const same = view.pinned && view.pinned.row === at.row && view.pinned.col === at.col;
  view.pinned = same ? null : at;
  light(view);
  view.pick(view.pinned);
}

function walked(view, event) {
  const { source, written } = view.data;
  const at = view.what?.row !== undefined && view.what.col !== undefined ? view.what : (view.pinned ?? { row: 0, col: -1 });
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (step) {
    const to = { row: Math.max(0, Math.min(written.length - 1, at.row + step[0])), col: Math.max(0, Math.min(source.length - 1, at.col + step[1])) };
    point(view, to);
    view.heard.textContent = said(view, to).flat().join(", ");
  } else if ((event.key === "Enter" || event.key === " ") && view.what?.col !== undefined && view.what.row !== undefined) pin(view, view.what);
  else if (event.key === "Escape") {
    if (view.pinned) pin(view, view.pinned);
    point(view, null);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
