// Keys and values as they are kept: a block a head, a column a word; what is new is framed, what is to come is dashed.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

/**
 * Where the blocks of heads stand in `room` pixels: `perRow` heads beside each other, each with its columns of the self
 * part and, after a gap, those of the cross part; keys above values.
 *
 * @param shape {heads, own, cross, dims, layers}: heads of keys and values, columns of both parts, numbers of a column.
 */
export function gridPlan(room, { heads, own, cross, dims, layers }, size, wordRoom) {
  const left = size * 1.7;
  const gap = 26;
  const columns = own + cross;
  const least = cross ? 6 : 8; // pixels of a column
  const between = cross ? 12 : 0;
  const smallest = columns * least + between;
  const perRow = Math.max(1, Math.min(heads, Math.floor((room - left + gap) / (smallest + gap))));
  const block = (room - left - 2 - (perRow - 1) * gap) / perRow;
  const cell = Math.max(3, Math.min(34, (block - between) / columns));
  const bands = Math.ceil(heads / perRow);
  const tall = Math.max(2, Math.min(9, Math.floor(440 / Math.max(layers * bands, 1) / 2 / dims)));
  const matrix = dims * tall;
  const band = size * 1.5 + 2 * matrix + 6;
  const top = size * 1.7 + wordRoom;
  return { left, gap, between, perRow, block, cell, bands, tall, matrix, band, top, layerGap: 14, height: top + layers * (bands * band + 14) };
}

/** All numbers that are held at a step, as rows of cells. */
export function cacheTable({ layers, steps, own_words, cross_words, words }, at) {
  const [from, to] = steps[at].held;
  const rows = [["tensor", words.column, "kv_head", "d_head", words.value]];
  for (const layer of layers) {
    for (const [pair, labels, first, last] of [[layer.own, own_words, from, to], [layer.cross ?? [], cross_words, 0, cross_words.length]]) {
      for (const array of pair) {
        const [heads, columns, dims] = array.shape;
        const values = unpacked(array);
        for (let h = 0; h < heads; h++) for (let c = first; c < last; c++) for (let d = 0; d < dims; d++) rows.push([array.name, labels[c], h, d, values[(h * columns + c) * dims + d]]);
      }
    }
  }
  return rows;
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function cacheGrid({ data, parentElement, setStateValue, setTriggerValue }) {
  const view = kept(parentElement, () => {
    const said = html("div", { class: "said", "aria-live": "polite" });
    const count = html("div", { class: "count" });
    const stage = html("div", { class: "stage", tabindex: 0 });
    const saves = html("div", {});
    const root = html("div", { class: "pg cache-grid" });
    const made = { root, said, count, stage, saves, tip: tooltip(root), sent: null, token: null, images: new Map() };
    made.steps = player((at, rests) => {
      drawCache(made, at);
      clearTimeout(made.telling);
      if (rests) made.telling = setTimeout(() => made.tell(at), 450);
    });
    root.append(saves, said, stage, made.steps.node, count);
    root.addEventListener("keydown", (event) => made.data.theme.presenting || made.steps.heard(event));
    parentElement.append(root);
    return made;
  });
  view.point = (cell) => {
    clearTimeout(view.telling);
    view.steps.stop();
    setStateValue("pick", cell);
  };
  view.tell = (at) => {
    view.sent = at;
    setTriggerValue("step", at);
  };
  // An answer to an older step does not move the picture back.
  const moved = data.token !== view.token || (data.at !== view.sent && data.at !== view.told);
  const same = data.token === view.token && data.theme.name === view.data?.theme.name;
  Object.assign(view, { data, token: data.token, told: data.at });
  if (!same) view.images = new Map();
  themed(view.root, data.theme).classList.toggle("presenting", data.theme.presenting);
  view.stage.setAttribute("role", "group");
  view.stage.setAttribute("aria-label", `${data.alt} ${data.words.keys}`);
  view.steps.set({ at: moved ? data.at : view.steps.at, n: data.steps.length, words: data.words, presenting: data.theme.presenting });
  view.steps.node.style.display = data.steps.length === 1 ? "none" : "";
  if (moved) view.sent = data.at;
  if (!view.watch) {
    view.watch = new ResizeObserver(() => view.stage.clientWidth !== view.room && drawCache(view, view.steps.at));
    view.watch.observe(view.stage);
  }
  drawCache(view, view.steps.at);
  return () => {
    view.steps.close();
    clearTimeout(view.telling);
    view.tip.hide();
    view.watch?.disconnect();
    view.watch = null;
  };
}

/** One head of one tensor as a picture, a pixel a number: columns are words, rows are dimensions. */
function pictureOf(view, array, head) {
  const name = `${array.name} ${head}`;
  if (view.images.has(name)) return view.images.get(name);
  const [, columns, dims] = array.shape;
  const values = unpacked(array).subarray(head * columns * dims, (head + 1) * columns * dims);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, dims];
  const paper = canvas.getContext("2d");
  const pixels = paper.createImageData(columns, dims);
  const colour = signedScale(view.data.theme, view.data.limit);
  for (let c = 0; c < columns; c++) {
    for (let d = 0; d < dims; d++) {
      pixels.data.set([...rgb(colour(values[c * dims + d])), 255], 4 * (d * columns + c));
    }
  }
  paper.putImageData(pixels, 0, 0);
  const made = { url: canvas.toDataURL(), values, columns, dims };
  view.images.set(name, made);
  return made;
}

function drawCache(view, at) {
  const { data, stage } = view;
  const { theme, words, layers } = data;
  const step = data.steps[at];
  view.room = stage.clientWidth || 800;
  const size = theme.presenting ? 18 : 14;
  const [heads, own, dims] = layers[0].own[0].shape;
  const cross = data.cross_words.length;
  const widest = Math.max(...[...data.own_words, ...data.cross_words].map((word) => textWidth(visible(word), size)));
  const plan = gridPlan(view.room, { heads, own, cross, dims, layers: layers.length }, size, Math.min(widest, size * 6) + 4);
  const label = (text, attrs) => el("text", { "font-size": size, fill: theme.text, ...attrs }, text);
  const nodes = [];
  layers.forEach((layer, row) => {
    for (let head = 0; head < heads; head++) {
      const band = Math.floor(head / plan.perRow);
      const x = plan.left + (head % plan.perRow) * (plan.block + plan.gap);
      const y = plan.top + row * (plan.bands * plan.band + plan.layerGap) + band * plan.band;
      const crossX = x + own * plan.cell + plan.between;
      if (row === 0 && band === 0) nodes.push(...heading(view, step, plan, label, size, x, crossX, head));
      nodes.push(label(nameOf(data, layer, head), { x, y: y + size, "font-weight": 600, "font-size": size }));
      ["k", "v"].forEach((letter, which) => {
        const top = y + size * 1.5 + which * (plan.matrix + 4);
        const role = letter === "k" ? theme.key : theme.value;
        nodes.push(label(letter.toUpperCase(), { x: x - 6, y: top + plan.matrix / 2 + size * 0.36, "text-anchor": "end", fill: role, "font-weight": 700 }));
        nodes.push(...block(view, layer.own[which], head, x, top, plan, role, step.held, step.new, "own"));
        if (cross) nodes.push(...block(view, layer.cross[which], head, crossX, top, plan, role, [0, cross], at === 0 ? [0, cross] : [0, 0], "cross"));
      });
    }
  });
  const svg = el("svg", { viewBox: `0 0 ${view.room} ${plan.height.toFixed(1)}`, width: view.room, height: plan.height.toFixed(1), role: "img", "aria-label": data.alt }, [
    el("defs", {}, hatch("cache-dropped", "window", theme)),
    nodes,
  ]);
  stage.replaceChildren(svg);
  view.svg = svg;
  const lines = (place, name) => place.replaceChildren(...data.steps.map((each, i) => html("p", i === at ? {} : { class: "other", "aria-hidden": "true" }, each[name])));
  lines(view.said, "said");
  lines(view.count, "count");
  view.saves.replaceChildren(saveMenu({ words, theme, name: data.filename, label: data.alt, svg: () => view.svg, rows: () => cacheTable(view.data, view.steps.at) }));
}

function nameOf({ words, readers, layers }, layer, head) {
  const mine = readers.flatMap((kv, q) => (kv === head ? [`Q${q}`] : []));
  const where = layers.length > 1 || head === 0 ? `${fill(words.layer, { layer: layer.index })} · ` : "";
  const many = mine.length > 4 ? `${mine[0]}–${mine.at(-1)}` : mine.join(" ");
  return where + (mine.length === 1 ? fill(words.head, { head }) : fill(words.readers, { head, readers: many }));
}

/** What stands over the columns of a head: which part it is, and the words. */
function heading(view, step, plan, label, size, x, crossX, head) {
  const { data } = view;
  const { theme, words } = data;
  const base = plan.top - 5;
  const turned = (text, at, strong, faint) =>
    label(visible(text), { x: 0, y: 0, transform: `translate(${at + plan.cell / 2 + size * 0.33},${base}) rotate(-${plan.cell > size * 2.2 ? 45 : 90})`, "font-weight": strong ? 700 : 400, "font-size": Math.min(size, plan.cell * 1.25), fill: faint ? theme.hidden : theme.text });
  const found = data.own_words.map((word, i) => turned(word, x + i * plan.cell, i >= step.new[0] && i < step.new[1], i >= step.held[1] || i < step.held[0]));
  found.push(...data.cross_words.map((word, i) => turned(word, crossX + i * plan.cell, false, false)));
  const title = (text, at, room, colour) => label(text, { x: at, y: size, fill: colour, "font-weight": 600, "font-size": Math.min(size, (size * room) / Math.max(textWidth(text, size, 600), 1)).toFixed(1) });
  found.push(title(words.own, x, data.own_words.length * plan.cell - 4, theme.query));
  if (data.cross_words.length) found.push(title(words.cross, crossX, data.cross_words.length * plan.cell, theme.memory));
  return found;
}

/** One matrix: what is held, framed where it is new; dashed what is to come, hatched what was let go of. */
function block(view, array, head, x, y, plan, role, held, fresh, part) {
  const { data } = view;
  const { theme, words } = data;
  const picture = pictureOf(view, array, head);
  const { columns, dims } = picture;
  const { cell, matrix } = plan;
  const [from, to] = held;
  const clip = `cache-${array.name}-${head}`.replaceAll(".", "-");
  const cells = el("rect", { class: "cells", x: x + from * cell, y, width: (to - from) * cell, height: matrix, fill: "transparent", "data-passing": "" });
  const placeOf = (event) => {
    const box = cells.getBoundingClientRect();
    const column = from + Math.min(to - from - 1, Math.floor(((event.clientX - box.left) / box.width) * (to - from)));
    return { column: Math.max(from, column), dim: Math.max(0, Math.min(dims - 1, Math.floor(((event.clientY - box.top) / box.height) * dims))) };
  };
  cells.addEventListener("pointermove", (event) => {
    const { column, dim } = placeOf(event);
    const labels = part === "own" ? data.own_words : data.cross_words;
    view.tip.show([array.name, [words.column, visible(labels[column])], [words.dim, String(dim)], [words.value, exact(picture.values[column * dims + dim])], words.origin], event.clientX, event.clientY);
  });
  cells.addEventListener("pointerleave", () => view.tip.hide());
  cells.addEventListener("click", (event) => {
    const { column, dim } = placeOf(event);
    view.tip.hide();
    view.point({ name: array.name, kv_head: head, key: column, d_head: dim });
  });
  return [
    el("clipPath", { id: clip }, el("rect", { x: x + from * cell, y, width: Math.max(0, to - from) * cell, height: matrix })),
    el("image", { href: picture.url, x, y, width: columns * cell, height: matrix, preserveAspectRatio: "none", "clip-path": `url(#${clip})` }),
    from > 0 && el("rect", { x, y, width: from * cell, height: matrix, fill: "url(#cache-dropped)", stroke: theme.hidden, "stroke-width": 0.8 }),
    to < columns && el("rect", { x: x + to * cell, y, width: (columns - to) * cell, height: matrix, fill: "none", stroke: theme.hidden, "stroke-dasharray": "3 4" }),
    to > from && el("rect", { x: x + from * cell, y, width: (to - from) * cell, height: matrix, fill: "none", stroke: role, "stroke-width": 1.5 }),
    fresh[1] > fresh[0] && el("rect", { class: "fresh", x: x + Math.max(fresh[0], from) * cell, y: y - 1.5, width: (fresh[1] - Math.max(fresh[0], from)) * cell, height: matrix + 3, fill: "none", stroke: theme.focus, "stroke-width": 3 }),
    cells,
  ];
}
