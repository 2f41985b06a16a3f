// Heads as lines, side by side: left the words that look, right the words looked at. What is pointed at in one head is
// lit in every head that has the same words.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

const GAP = 44; // px between heads
const HEAD = 52; // px over the words: the head's name, how many lines, what the two sides are
const NARROWEST = 250;
const WIDEST = 470;

/**
 * Where each head's panel lies in `room` pixels, as many side by side as there is room for.
 *
 * @returns {height, panels: [{x, y, w, h, step}]}; `step` is the height of a word.
 */
export function panelsOf(heads, room, size) {
  const fits = Math.max(1, Math.floor((room + GAP) / (NARROWEST + GAP)));
  const columns = Math.min(fits, heads.length || 1);
  const w = Math.min(WIDEST, Math.floor((room + GAP) / columns) - GAP);
  const panels = [];
  let top = 0;
  let deepest = 0;
  heads.forEach(({ rows, cols }, i) => {
    if (i && i % columns === 0) {
      top += deepest + GAP / 2;
      deepest = 0;
    }
    const tallest = Math.max(rows.labels.length, cols.labels.length);
    const step = Math.max(size + 3, Math.min(2.3 * size, 460 / tallest));
    const h = (size * 1.4 * HEAD) / 20 + tallest * step;
    panels.push({ x: (i % columns) * (w + GAP), y: top, w, h, step });
    deepest = Math.max(deepest, h);
  });
  return { height: top + deepest, panels };
}

/** Which of a head's lines belong to what is pointed at: {side: "rows" | "cols", at}, or one {row, col}. */
export function belong(lines, what) {
  if (what.side === "rows") return lines.filter(([row]) => row === what.at);
  if (what.side === "cols") return lines.filter(([, col]) => col === what.at);
  return lines.filter(([row, col]) => row === what.row && col === what.col);
}

/** Every line as a row of cells. */
export function lineTable({ heads, words }) {
  const first = heads[0];
  return [
    [words.head, first?.rows.short ?? "", first?.cols.short ?? "", words.weight],
    ...heads.flatMap(({ title, rows, cols, lines }) =>
      lines.map(([row, col, weight]) => [title, `${row} ${rows.labels[row]}`, `${col} ${cols.labels[col]}`, Number(exact(weight).replaceAll("\u2212", "-"))]),
    ),
  ];
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function headLines({ data, parentElement }) {
  const view = kept(parentElement, () => {
    const stage = html("div", { class: "stage", tabindex: 0, role: "application" });
    const saves = html("div", {});
    const heard = html("div", { class: "heard", "aria-live": "polite" });
    const root = html("div", { class: "pg head-lines" }, [stage, saves, heard]);
    parentElement.append(root);
    const made = { root, stage, saves, heard, what: null, pinned: null, tip: tooltip(root) };
    stage.addEventListener("pointerleave", () => point(made, null));
    stage.addEventListener("keydown", (event) => keyed(made, event));
    stage.addEventListener("blur", () => point(made, null));
    return made;
  });
  const named = JSON.stringify(data.heads.map(({ id, title, rows, cols }) => [id, title, rows, cols]));
  if (view.named !== named) Object.assign(view, { named, what: null, pinned: null });
  view.data = data;
  themed(view.root, data.theme);
  view.root.classList.toggle("presenting", data.theme.presenting);
  view.stage.setAttribute("aria-label", `${data.alt} ${data.words.keys}`);
  if (!view.watch) {
    view.watch = new ResizeObserver(() => view.stage.clientWidth !== view.room && draw(view));
    view.watch.observe(view.stage);
  }
  draw(view);
  return () =>
    setTimeout(() => {
      if (view.root.isConnected) return;
      view.watch?.disconnect();
      view.watch = null;
    });
}

function draw(view) {
  const { data, stage } = view;
  const { theme, words } = data;
  view.room = stage.clientWidth || 600;
  const size = theme.presenting ? 20 : 16;
  const plan = panelsOf(data.heads, view.room - 30, size);
  view.drawn = data.heads.map((head, index) => panel(view, head, index, plan.panels[index], size));
  const svg = el("svg", { width: view.room, height: Math.ceil(plan.height) + 4, viewBox: `0 0 ${view.room} ${Math.ceil(plan.height) + 4}`, "aria-hidden": "true" }, [
    el("defs", {}, view.drawn.map(({ gradient }) => gradient)),
    ...view.drawn.map(({ node }) => node),
  ]);
  view.svg = svg;
  stage.replaceChildren(svg);
  view.saves.replaceChildren(saveMenu({ words, theme, name: data.filename, label: data.alt, svg: () => view.svg, rows: () => lineTable(view.data) }));
  light(view);
}

function panel(view, head, index, { x, y, w, step }, size) {
  const { theme } = view.data;
  const label = (text, attrs) => el("text", { "font-size": size, fill: theme.text, ...attrs }, text);
  const [rows, cols] = [head.rows.labels.map(visible), head.cols.labels.map(visible)];
  const wide = (labels, short) => Math.min(w * 0.4, Math.max(...[...labels, short].map((word) => textWidth(word, size, 700))) + 10);
  const [left, right] = [x + wide(rows, head.rows.short), x + w - wide(cols, head.cols.short)];
  const top = y + (size * 1.4 * HEAD) / 20;
  const middle = (i) => top + (i + 0.5) * step;
  const id = `lines-${index}`;
  const lines = [...head.lines]
    .sort((a, b) => a[2] - b[2])
    .map(([row, col, weight]) => {
      const [from, to] = [middle(row), middle(col)];
      const bend = (left + right) / 2;
      const d = `M${left},${from} C${bend},${from} ${bend},${to} ${right},${to}`;
      const drawn = el("path", { class: "line", d, stroke: `url(#${id})`, "stroke-width": (1 + 5.5 * weight).toFixed(2), "stroke-opacity": (0.2 + 0.75 * weight).toFixed(3) });
      // A thin line is hard to hit: a wide one that is not seen takes the pointer.
      const reach = el("path", { d, fill: "none", stroke: "transparent", "stroke-width": 11, "data-passing": "" });
      reach.addEventListener("pointermove", (event) => point(view, { head: index, row, col }, event));
      return { row, col, drawn, reach };
    });
  const side = (labels, name, edge, anchor, colour) =>
    labels.map((word, at) => {
      const text = label(word, { x: edge, y: middle(at) + size * 0.34, "text-anchor": anchor, fill: /^⟨.*⟩$/.test(word) ? theme.muted : colour });
      const area = el("rect", { x: name === "rows" ? x : right, y: middle(at) - step / 2, width: name === "rows" ? left - x : x + w - right, height: step, "fill-opacity": 0, "data-passing": "" });
      const node = el("g", { class: "word", [`data-${name}`]: at }, [area, text]);
      node.addEventListener("pointermove", (event) => point(view, { head: index, side: name, at }, event));
      node.addEventListener("click", () => {
        const same = view.pinned?.side === name && view.pinned.at === at && view.pinned.head === index;
        view.pinned = same ? null : { head: index, side: name, at };
        light(view);
      });
      return { side: name, at, node };
    });
  const spots = [...side(rows, "rows", left - 8, "end", theme.query), ...side(cols, "cols", right + 8, "start", theme.key)];
  const small = size - 2;
  const node = el("g", {}, [
    label(head.title, { x, y: y + size, "font-weight": 600 }),
    label(head.said, { x, y: y + size + small * 1.4, "font-size": small, fill: theme.muted }),
    label(head.rows.short, { x: left - 8, y: top - 6, "text-anchor": "end", "font-size": small, fill: theme.query }),
    label(head.cols.short, { x: right + 8, y: top - 6, "font-size": small, fill: theme.key }),
    ...lines.map(({ drawn }) => drawn),
    ...lines.map(({ reach }) => reach),
    ...spots.map(({ node: word }) => word),
  ]);
  const gradient = el("linearGradient", { id, gradientUnits: "userSpaceOnUse", x1: left, x2: right, y1: 0, y2: 0 }, [
    el("stop", { offset: 0, "stop-color": theme.query }),
    el("stop", { offset: 1, "stop-color": theme.key }),
  ]);
  return { head, node, gradient, lines, spots };
}

/** Take up what is pointed at, {head, side, at} or {head, row, col}; null for nothing. */
function point(view, what, event = null) {
  view.what = what;
  light(view);
  if (!what || !event) return view.tip.hide();
  view.tip.show(said(view, what), event.clientX, event.clientY);
}

function light(view) {
  const what = view.what ?? view.pinned;
  const own = what && view.data.heads[what.head]?.id;
  for (const { head, node, lines, spots } of view.drawn) {
    const mine = Boolean(what) && head.id === own;
    node.classList.toggle("some", mine);
    const lit = new Set(mine ? belong(head.lines, what).map(([row, col]) => `${row} ${col}`) : []);
    const reached = { rows: new Set(), cols: new Set() };
    for (const { row, col, drawn } of lines) {
      const is = lit.has(`${row} ${col}`);
      drawn.classList.toggle("lit", is);
      if (is) [reached.rows.add(row), reached.cols.add(col)];
    }
    for (const { side, at, node: word } of spots) {
      const asked = mine && what.side === side && what.at === at;
      word.classList.toggle("asked", asked);
      word.classList.toggle("lit", asked || reached[side].has(at));
    }
  }
}

const MOST_SAID = 6;

function said(view, what) {
  const head = view.data.heads[what.head];
  const { words } = view.data;
  const found = belong(head.lines, what).sort((a, b) => b[2] - a[2]);
  const name = (axis, at) => visible(axis.labels[at]);
  if (what.side === undefined) {
    const weight = found[0]?.[2];
    return [head.title, [head.rows.short, name(head.rows, what.row)], [head.cols.short, name(head.cols, what.col)], [words.weight, exact(weight)]];
  }
  const [here, there] = what.side === "rows" ? [head.rows, head.cols] : [head.cols, head.rows];
  const other = what.side === "rows" ? 1 : 0;
  return [
    head.title,
    [here.short, name(here, what.at)],
    ...(found.length ? found.slice(0, MOST_SAID).map((line) => [name(there, line[other]), short(line[2])]) : [words.nothing]),
  ];
}

function keyed(view, event) {
  const { heads } = view.data;
  if (!heads.length) return;
  const at = view.what?.side === "rows" ? view.what : null;
  if (event.key === "Escape") [view.what, view.pinned] = [null, null];
  else if (event.key.startsWith("Arrow") && !at) view.what = { head: 0, side: "rows", at: 0 };
  else if (event.key.startsWith("Arrow")) {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const head = Math.max(0, Math.min(heads.length - 1, at.head + right));
    const last = heads[head].rows.labels.length - 1;
    view.what = { head, side: "rows", at: Math.max(0, Math.min(last, at.at + down)) };
  } else return;
  event.preventDefault();
  event.stopPropagation();
  view.tip.hide();
  light(view);
  view.heard.textContent = view.what ? said(view, view.what).map((line) => [line].flat().join(" ")).join(", ") : "";
}
