// One head's cross-attention as lines between a sentence and its translation: thick and strong where much weight is.

const LEAST = 0.03; // a line fainter than this is not drawn
const SAVE = 30; // pixels at the right for the save menu

/** Words set in one row, centred: for each its left edge and width; null if they do not fit. */
export function inRow(widths, gap, room) {
  const total = widths.reduce((sum, w) => sum + w, 0) + gap * (widths.length - 1);
  if (total > room) return null;
  let x = (room - total) / 2;
  return widths.map((w) => {
    const spot = { x, w };
    x += w + gap;
    return spot;
  });
}

/** Places of both sentences: across where they fit, else down. */
export function arranged(source, target, room, measured, least = 16) {
  for (const size of [26, 23, 20, 18, 16].filter((size) => size >= least)) {
    const small = Math.max(14, Math.round(size * 0.72));
    const pad = size * 0.34;
    const above = inRow(source.map((word) => measured(word, small) + 10), small * 0.5, room);
    const below = inRow(target.map((word) => measured(word, size) + 2 * pad), 2, room);
    if (above && below) {
      const [top, middle] = [small + 12, 96];
      return {
        across: true,
        height: top + middle + size + 22,
        source: above.map(({ x, w }) => ({ x, y: 0, w, h: top, size: small, port: [x + w / 2, top] })),
        target: below.map(({ x, w }) => ({ x, y: top + middle, w, h: size + 14, size, port: [x + w / 2, top + middle] })),
      };
    }
  }
  const step = Math.max(1.25 * least, Math.min(1.7 * least, (17 * least) / Math.max(source.length, target.length)));
  const wide = (words) => Math.min(Math.max(...words.map((word) => measured(word, least))) + 16, room * 0.42);
  const [left, right] = [wide(source), wide(target)];
  const tall = Math.max(source.length, target.length) * step;
  const column = (words, x, w, port) =>
    words.map((_, i) => {
      const y = (tall - words.length * step) / 2 + i * step;
      return { x, y, w, h: step, size: least, port: [port, y + step / 2] };
    });
  return { across: false, height: tall, source: column(source, 0, left, left), target: column(target, room - right, right, room - right) };
}

export default function lines({ data, parentElement }) {
  const view = kept(parentElement, () => {
    const root = html("div", { class: "pg lines" });
    parentElement.append(root);
    return { root, pinned: null, room: 0 };
  });
  const { root } = view;
  if (view.sentence !== JSON.stringify([data.src, data.written])) view.pinned = null;
  view.sentence = JSON.stringify([data.src, data.written]);
  themed(root, data.theme);
  view.draw = () => draw(view, data);
  if (!view.attached) {
    view.attached = true;
    view.watch = new ResizeObserver(() => root.clientWidth !== view.width && view.draw());
    view.watch.observe(root);
    // The drawing of the architecture says which word is chosen, the map which of its cells is under the pointer.
    view.chosen = link("sentence", ({ row }) => {
      view.pinned = row;
      view.light(null);
    });
    view.channel = link(data.group, (what) => view.light(what && what.axes ? { row: what.axes.query, column: what.axes.key } : null));
  }
  view.draw();
  return () => {
    view.attached = false;
    view.watch.disconnect();
    view.chosen.close();
    view.channel.close();
  };
}

function draw(view, data) {
  const { root } = view;
  const { theme, words } = data;
  const focused = root.getRootNode().activeElement?.dataset?.row;
  view.width = root.clientWidth;
  view.room = Math.max(240, (root.clientWidth || 420) - SAVE);
  const weights = unpacked(data.weights);
  const [rows, columns] = data.weights.shape;
  const source = data.src.map(visible);
  const target = data.written.map(visible);
  const set = arranged(source, target, view.room, (text, size) => textWidth(text, isSpecial(text) ? Math.min(size, 15) : size, 600), theme.presenting ? 20 : 16);
  const shares = el("g", {});
  const paths = [];
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const weight = weights[row * columns + column];
      if (!(weight >= LEAST)) continue;
      const [from, to] = [set.source[column].port, set.target[row].port];
      const bend = set.across
        ? `C${from[0]},${from[1] + 48} ${to[0]},${to[1] - 48} ${to[0]},${to[1] - 1}`
        : `C${(from[0] + to[0]) / 2},${from[1]} ${(from[0] + to[0]) / 2},${to[1]} ${to[0]},${to[1]}`;
      paths.push({
        row,
        column,
        weight,
        node: el("path", { class: "line", fill: "none", d: `M${from.join(",")} ${bend}`, stroke: "url(#stream)", "stroke-width": 1 + 6 * weight, opacity: (0.12 + 0.8 * weight).toFixed(3) }),
      });
    }
  }
  const spots = [
    ...source.map((word, column) => drawWord(theme, set.source[column], word, "source", data.src[column], { column })),
    ...target.map((word, row) => drawWord(theme, set.target[row], word, "target", data.written[row], { row })),
  ];
  const light = (wanted) => {
    const pinned = view.pinned === null || view.pinned >= rows ? null : { row: view.pinned };
    const choice = wanted ?? pinned;
    svg.classList.toggle("some", choice !== null);
    for (const path of paths) path.node.classList.toggle("lit", choice !== null && path.row === (choice.row ?? path.row) && path.column === (choice.column ?? path.column));
    shares.replaceChildren();
    const lit = paths.filter((path) => path.node.classList.contains("lit"));
    for (const spot of spots) {
      const { row, column } = spot.at;
      const mine = choice !== null && (row !== undefined ? row === choice.row : column === choice.column);
      const alone = choice?.row !== undefined && choice?.column !== undefined;
      const joined = lit.find((path) => (row !== undefined ? path.row === row : path.column === column));
      spot.node.classList.toggle("lit", mine || Boolean(joined));
      spot.node.classList.toggle("pinned", row !== undefined && row === view.pinned);
      if (!joined || (mine && !alone) || (alone && row === undefined)) continue;
      const { x, y, w, h, size } = spot.place;
      const [sx, sy] = set.across ? [x + w / 2, row === undefined ? y + h + 12 : y - 6] : row === undefined ? [x + w + 4, y + h / 2 - 6] : [x - 4, y + h / 2 - 6];
      const anchor = set.across ? "middle" : row === undefined ? "start" : "end";
      shares.append(
        el("text", { fill: theme.muted, x: sx, y: sy, "text-anchor": anchor, "font-size": 12, "paint-order": "stroke", stroke: theme.background, "stroke-width": 4 }, short(joined.weight)),
      );
    }
  };
  view.light = light;
  const settle = () => {
    light(null);
    view.channel.send(null);
  };
  const point = (at) => {
    light(at);
    view.channel.send({ axes: { query: at.row, key: at.column } });
  };
  for (const spot of spots) {
    spot.node.addEventListener("pointerenter", () => point(spot.at));
    spot.node.addEventListener("pointerleave", settle);
    if (spot.at.row === undefined) continue;
    const pin = () => {
      view.pinned = view.pinned === spot.at.row ? null : spot.at.row;
      settle();
      if (view.pinned !== null) view.chosen.send({ row: view.pinned });
    };
    spot.node.addEventListener("click", pin);
    spot.node.addEventListener("focus", () => spot.node.matches(":focus-visible") && point(spot.at));
    spot.node.addEventListener("blur", settle);
    spot.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") view.pinned = null;
      else if (event.key === "Enter" || event.key === " ") pin();
      else return;
      event.preventDefault();
      settle();
    });
  }
  const [x2, y2] = set.across ? [0, 1] : [1, 0];
  const [a, b] = set.across ? [set.source[0].port[1], set.target[0].port[1]] : [set.source[0].port[0], set.target[0].port[0]];
  const svg = el("svg", { viewBox: `0 0 ${view.room + SAVE} ${Math.ceil(set.height)}`, role: "group", "aria-label": data.alt }, [
    el("defs", {}, [
      el("linearGradient", { id: "stream", gradientUnits: "userSpaceOnUse", x1: a * x2, y1: a * y2, x2: b * x2, y2: b * y2 }, [
        el("stop", { offset: 0, "stop-color": theme.memory }),
        el("stop", { offset: 1, "stop-color": theme.query }),
      ]),
    ]),
    ...paths.sort((p, q) => p.weight - q.weight).map((path) => path.node),
    ...spots.map((spot) => spot.node),
    shares,
  ]);
  const table = () => [["", ...data.src], ...data.written.map((word, row) => [word, ...weights.slice(row * columns, (row + 1) * columns)])];
  root.replaceChildren(svg, saveMenu({ words, theme, name: data.filename, svg: () => svg, rows: table, label: data.filename }));
  light(null);
  if (focused !== undefined) svg.querySelector(`[data-row="${focused}"]`)?.focus({ preventScroll: true });
}

const isSpecial = (word) => /^⟨.*⟩$/.test(word);

function drawWord(theme, place, word, kind, raw, at) {
  const { x, y, w, h, size } = place;
  const special = isSpecial(raw);
  const node = el(
    "g",
    {
      class: `word ${kind}`,
      ...(kind === "target" ? { role: "button", tabindex: 0, "data-row": at.row, "aria-label": word } : {}),
    },
    [
      el("rect", { x, y: y + 1, width: w, height: h - 2, rx: 7, "fill-opacity": 0 }),
      el("text", { fill: special ? theme.muted : kind === "source" ? theme.memory : theme.query, "font-weight": special ? 400 : 600, x: x + w / 2, y: y + h / 2 + size * 0.34, "text-anchor": "middle", "font-size": special ? Math.min(size, 15) : size }, word),
    ],
  );
  return { node, place, at };
}
