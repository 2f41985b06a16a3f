// The architecture of one model, drawn from a layout that Python made (playground/blueprint.py), alive with the
// tensors of one pass. Layers, words and previews are chosen here; only an opened door goes back to Python.

const TOP = 250; // steps of a byte, as in playground/thumbnail.py
const HATCHED = { 253: "window", 254: "padding", 255: "causal" };
const NARROW_BELOW = 560; // pixels of room
const LEAST_TYPE = { hall: 14, desk: 12 }; // pixels on the screen

/** The bytes of a thumbnail and how many there are a panel. */
export function cellsOf(small) {
  const bytes = Uint8Array.from(atob(small.uint8), (c) => c.charCodeAt(0));
  const [panels, rows, columns] = small.drawn;
  return { bytes, panels, rows, columns };
}

/** The most square way to set `n` panels of equal sides into a place: {columns, side}. */
export function panelled(n, width, height, gap, most = Infinity) {
  let best = { columns: 1, side: 0 };
  for (let columns = 1; columns <= n; columns += 1) {
    const rows = Math.ceil(n / columns);
    const side = Math.min((width - (columns - 1) * gap) / columns, (height - (rows - 1) * gap) / rows, most);
    if (side > best.side + 0.01) best = { columns, side };
  }
  return best;
}

/** A text cut into lines no wider than `width`: at spaces, and between Chinese characters. */
export function wrapped(text, width, measured) {
  const lines = [];
  let line = "";
  const closing = /^[，。；：、）》]/;
  for (const piece of text.match(/[\u3400-\u9fff\uff00-\uffef\u3000-\u303f][，。；：、）]?|[^\s\u3400-\u9fff\uff00-\uffef\u3000-\u303f]+|\s+/g) ?? []) {
    if (line !== "" && measured((line + piece).trimEnd()) > width && !closing.test(piece)) {
      lines.push(line.trim());
      line = piece.trimStart();
    } else line += piece;
  }
  if (line.trim() !== "") lines.push(line.trim());
  return lines;
}

/** Corners as a path with rounded bends. */
export function bent(points, radius = 7) {
  const near = ([x, y], [u, v], r) => {
    const far = Math.hypot(u - x, v - y) || 1;
    return [x + ((u - x) * r) / far, y + ((v - y) * r) / far];
  };
  const length = (a, b) => Math.hypot(b[0] - a[0], b[1] - a[1]);
  const parts = [`M${points[0].join(",")}`];
  for (let i = 1; i < points.length - 1; i += 1) {
    const [before, corner, after] = [points[i - 1], points[i], points[i + 1]];
    const r = Math.min(radius, length(before, corner) / 2, length(corner, after) / 2);
    parts.push(`L${near(corner, before, r).join(",")}`, `Q${corner.join(",")} ${near(corner, after, r).join(",")}`);
  }
  parts.push(`L${points.at(-1).join(",")}`);
  return parts.join(" ");
}

/** Chips set in centred rows: for each its x, y and width. */
export function chipRows(words, width, size, measured) {
  const { pad, gap, height } = size;
  const rows = [[]];
  let taken = 0;
  words.forEach((word, at) => {
    const w = Math.min(Math.max(measured(word) + 2 * pad, height), width);
    if (rows.at(-1).length && taken + gap + w > width) {
      rows.push([]);
      taken = 0;
    }
    taken += (rows.at(-1).length ? gap : 0) + w;
    rows.at(-1).push({ at, word, w });
  });
  const placed = [];
  rows.forEach((row, r) => {
    const total = row.reduce((sum, chip) => sum + chip.w, 0) + gap * (row.length - 1);
    let x = (width - total) / 2;
    for (const chip of row) {
      placed.push({ ...chip, x, y: r * (height + gap) });
      x += chip.w + gap;
    }
  });
  return { chips: placed, height: rows.length * (height + gap) - gap };
}

export default function architecture({ data, parentElement, setTriggerValue }) {
  const view = kept(parentElement, () => {
    const root = html("div", { class: "pg arch" });
    parentElement.append(root);
    return { root, held: null, signature: "", sentence: "", layer: 0, at: 0, plan: null, data: null };
  });
  const { root } = view;
  view.data = data;
  view.open = (block) => setTriggerValue("open", { block, layer: view.layer });
  const sentence = JSON.stringify([data.src, data.tgt, data.at]);
  if (sentence !== view.sentence) Object.assign(view, { sentence, at: data.at });
  if (data.layer !== view.asked) Object.assign(view, { asked: data.layer, layer: data.layer });
  themed(root, data.theme);

  const layOut = () => {
    const narrow = root.clientWidth > 0 && root.clientWidth < NARROW_BELOW;
    const form = narrow ? "narrow" : "wide";
    // In tenths, so that a drawing that is dragged wider is not built anew at every pixel.
    view.shrink = Math.max(1, Math.ceil((10 * data.plans[form].width) / (root.clientWidth || 1e9)) / 10);
    const signature = JSON.stringify([form, view.shrink, data.plans[form], data.theme, data.words, data.facts]);
    if (signature !== view.signature) {
      Object.assign(view, { signature, narrow, plan: data.plans[form] });
      build(view);
    }
    refresh(view);
  };
  view.layOut = layOut;
  if (!view.attached) {
    view.attached = true;
    view.watch = new ResizeObserver(() => view.layOut());
    view.watch.observe(root);
    view.channel = link("sentence", ({ row }) => {
      view.at = Math.min(row, view.data.next.length - 1);
      refresh(view);
    });
  }
  layOut();
  return () => {
    view.attached = false;
    view.watch.disconnect();
    view.channel.close();
  };
}

// ── What stays while the numbers change ──────────────────────────────────────────────────────────────────────────

function build(view) {
  const { root, plan, data, narrow } = view;
  const { theme, words } = data;
  view.pictures = new Map();
  view.blocks = new Map();
  view.held = null;
  // Where the drawing is shown smaller than it is, its letters are drawn larger: none under 12 pixels on the screen.
  const least = theme.presenting ? LEAST_TYPE.hall : LEAST_TYPE.desk;
  const grown = (sizes) => Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, Math.max(size, least * view.shrink)]));
  const type = grown(narrow ? { tiny: 12, small: 12, body: 12.5, name: 12.5, chip: 13, value: 12.5 } : { tiny: 12, small: 12.5, body: 13.5, name: 14, chip: 14, value: 14 });
  view.type = type;

  const defs = el("defs", {}, [
    ...["residual", "query", "key", "value", "memory"].map((role) =>
      el("marker", { id: `head-${role}`, viewBox: "0 0 8 8", refX: 6.6, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto", markerUnits: "userSpaceOnUse" }, [
        el("path", { d: "M0.5,0.8 L7.2,4 L0.5,7.2 Z", fill: theme[role] }),
      ]),
    ),
    hatch("hatch-causal", "causal", theme),
    hatch("hatch-padding", "padding", theme),
    hatch("hatch-window", "window", theme),
  ]);
  view.arrows = plan.arrows.map((arrow) => drawArrow(arrow, theme, type));
  const towers = plan.towers.map((tower) => drawTower(view, tower, type));
  const blocks = plan.blocks.map((block) => drawBlock(view, block, type));
  view.svg = el("svg", { class: narrow ? "drawing narrow" : "drawing", role: "group", "aria-label": data.alt }, [
    defs,
    el("g", {}, towers),
    el("g", {}, view.arrows.map((arrow) => arrow.node)),
    (view.wordsLayer = el("g", {})),
    el("g", {}, blocks),
    (view.barsLayer = el("g", {})),
    (view.card = el("g", { class: "card", "aria-hidden": "true" })),
  ]);
  view.bars = null;
  view.heard = html("div", { class: "heard", "aria-live": "polite" });
  root.replaceChildren(
    view.svg,
    saveMenu({ words, theme, name: data.filename, svg: () => standing(view), label: words.saved }),
    view.heard,
  );
}

function drawArrow(arrow, theme, type) {
  const joint = arrow.points.length > 2 || arrow.points[0][1] !== arrow.points.at(-1)[1];
  const last = arrow.points.at(-1);
  // A way that ends in a fork has no head: what parts there has.
  const forked = arrow.role === "memory" && arrow.points.length > 3;
  const ends = !(forked || (arrow.role === "residual" && !arrow.skip && arrow.target.endsWith("attn")));
  const path = el("path", {
    class: `flow ${arrow.role}${arrow.skip ? " skip" : ""}`,
    d: bent(arrow.points),
    stroke: theme[arrow.role],
    "marker-end": ends && joint !== null ? `url(#head-${arrow.role})` : undefined,
  });
  const letter = { query: "Q", key: "K", value: "V" }[arrow.role];
  const node = el("g", {}, [
    path,
    letter && el("text", { class: "letter", x: last[0] + 6, y: last[1] + 12.5, "font-size": type.tiny, style: `fill:${theme[arrow.role]}` }, letter),
  ]);
  return { ...arrow, node, parts: [...node.children] };
}

function drawTower(view, tower, type) {
  const { plan, data, narrow } = view;
  const { x, y, w, h } = tower.at;
  const n = plan.n_layers;
  const behind = Math.min(n - 1, 3);
  const step = 3;
  const plates = [];
  for (let i = behind; i >= 0; i -= 1) {
    plates.push(el("rect", { class: "plate", x: x - tower.side * i * step * -1, y: y - i * step, width: w, height: h, rx: 12 }));
  }
  // Beside the tower: how many layers it stands for, and which of them is shown.
  const middle = tower.side < 0 ? (x - behind * step) / 2 : (x + w + behind * step + plan.width) / 2;
  const side = narrow ? 22 : 24;
  const shown = Math.min(n, Math.floor((h - 60) / (side + 4)));
  const stack = shown * (side + 4) - 4;
  const top = y + (h - stack - 44) / 2;
  const floors = Array.from({ length: shown }, (_, i) => {
    const layer = n > shown ? Math.round((i * (n - 1)) / (shown - 1)) : i;
    const choose = () => {
      view.layer = layer;
      refresh(view);
    };
    return el(
      "g",
      { class: "floor", role: "button", tabindex: 0, "data-layer": layer, "aria-label": fill(data.words.choose_layer, { layer }), onclick: choose, onkeydown: onEnter(choose) },
      [
        el("rect", { x: middle - side / 2, y: top + 44 + (shown - 1 - i) * (side + 4), width: side, height: side, rx: 6 }),
        el("text", { x: middle, y: top + 44 + (shown - 1 - i) * (side + 4) + side / 2 + 4.5, "text-anchor": "middle", "font-size": type.body }, layer),
      ],
    );
  });
  // The tower's name stands at its foot, on the side where no positions come in.
  const title = { x: tower.side < 0 ? x + w - 2 : x + 2, y: y + h + (narrow ? 17 : 21), "text-anchor": tower.side < 0 ? "end" : "start" };
  return el("g", { class: tower.stack }, [
    ...plates,
    el("text", { ...title, class: "title", "font-size": narrow ? 14 : 17 }, data.words[tower.stack]),
    el("text", { class: "strong", x: middle, y: top + 18, "text-anchor": "middle", "font-size": narrow ? 17 : 21 }, fill(data.words.layers, { n })),
    el("text", { class: "quiet", x: middle, y: top + 36, "text-anchor": "middle", "font-size": type.tiny }, data.words.layer),
    ...floors,
  ]);
}

function drawBlock(view, block, type) {
  const { data, narrow } = view;
  const { theme } = data;
  const said = data.blocks[block.name];
  const { x, y, w, h } = block.at;
  const frame = block.kind === "memory" ? theme.memory : block.kind === "attention" ? theme.text : theme.residual;
  const hold = () => holdBlock(view, block.name);
  const release = () => holdBlock(view, null);
  const node = el("g", {
    class: `block ${block.kind}`,
    style: `--frame:${frame}`,
    role: "button",
    tabindex: 0,
    "data-block": block.name,
    "aria-label": `${said.name} (${block.stack}). ${said.says}`,
    onpointerenter: (event) => event.pointerType !== "touch" && hold(),
    onpointerleave: (event) => event.pointerType !== "touch" && release(),
    onfocus: () => node.matches(":focus-visible") && hold(),
    onblur: release,
    onpointerdown: (event) => {
      view.touched = event.pointerType === "touch" && view.held !== block.name;
    },
    onclick: () => {
      // A finger cannot hover: its first touch shows, its second opens.
      if (view.touched) hold();
      else view.open(block.name);
      view.touched = false;
    },
    onkeydown: onEnter(() => view.open(block.name)),
  });
  if (block.kind === "add") {
    const [cx, cy, r] = [x + w / 2, y + h / 2, w / 2];
    node.append(
      el("circle", { class: "body", cx, cy, r: r - 1 }),
      el("path", { d: `M${cx - 5},${cy}h10M${cx},${cy - 5}v10`, stroke: theme.residual, "stroke-width": 1.8, "pointer-events": "none" }),
    );
    view.blocks.set(block.name, { ...block, node });
    return node;
  }
  node.append(el("rect", { class: "body", x, y, width: w, height: h, rx: block.kind.includes("norm") ? h / 2 : 8 }));
  const place = narrow ? labelAbove(node, block, said, type) : labelBeside(node, block, said, type);
  const picture = place && el("g", { "pointer-events": "none" });
  if (picture) node.append(picture);
  view.blocks.set(block.name, { ...block, node, picture, place });
  return node;
}

/** Name at the left, tensor at the right; returns the tensor's place. */
function labelBeside(node, block, said, type) {
  const { x, y, w, h } = block.at;
  if (block.kind === "positions") {
    const cx = x + 20;
    node.append(
      el("path", { d: wave(cx, y + h / 2, 10), fill: "none", stroke: "var(--c-residual)", "stroke-width": 1.8, "stroke-linecap": "round" }),
    );
    const label = wrapped(said.name, 68, (text) => textWidth(text, type.small + 0.5, 600));
    const textW = Math.max(...label.map((line) => textWidth(line, type.small + 0.5, 600)));
    put(node, label, x + 36, y + h / 2, type.small + 0.5, "strong");
    return { x: x + 36 + textW + 6, y: y + 6, w: w - 36 - textW - 13, h: h - 12 };
  }
  const right = Math.round(112 - 90 * (type.name / 14 - 1));
  const room = w - right - 27;
  const name = said.lines.length > 1 ? said.lines : wrapped(said.name, room, (text) => textWidth(text, type.name, 600));
  const marked = said.mark && name.length < 3 && h > 36;
  const size = Math.min(type.name, (h - 3) / name.length - 2, (type.name * room) / Math.max(...name.map((line) => textWidth(line, type.name, 600))));
  put(node, name, x + 13, y + h / 2 - (marked ? 8 : 0), size, "strong", marked ? said.mark : "", type.small);
  return { x: x + w - right - 11, y: y + 6, w: right, h: h - 12 };
}

/** Name above, tensor below, both centred; returns the tensor's place if there is room. */
function labelAbove(node, block, said, type) {
  const { x, y, w, h } = block.at;
  const name = wrapped(said.short, w - 8, (text) => textWidth(text, type.name, 600));
  const tall = name.length * (type.name + 2.5);
  const bare = h < 40;
  const middle = bare ? y + h / 2 : y + 5 + tall / 2;
  const size = Math.min(type.name, (type.name * (w - 6)) / Math.max(...name.map((line) => textWidth(line, type.name, 600))));
  put(node, name, x + w / 2, middle, size, "strong", "", 0, "middle");
  return bare ? null : { x: x + 8, y: y + 7 + tall, w: w - 16, h: h - tall - 13 };
}

/** Lines of text centred on a height, a quieter line below them. */
function put(node, lines, x, middle, size, kind, mark = "", small = 0, anchor = "start") {
  const step = size + 2;
  lines.forEach((line, i) => {
    const y = middle + (i - (lines.length - 1) / 2) * step + size * 0.36;
    node.append(el("text", { class: kind, x, y, "font-size": size, "text-anchor": anchor, "pointer-events": "none" }, line));
  });
  if (mark) {
    const y = middle + ((lines.length - 1) / 2) * step + size * 0.36 + small + 3;
    node.append(el("text", { class: "quiet", x, y, "font-size": small, "text-anchor": anchor, "pointer-events": "none" }, mark));
  }
}

function wave(cx, cy, r) {
  const points = Array.from({ length: 25 }, (_, i) => {
    const t = i / 24;
    return `${(cx - r + 2 * r * t).toFixed(1)},${(cy - 6 * Math.sin(2 * Math.PI * t)).toFixed(1)}`;
  });
  return `M${points.join(" L")}`;
}

const onEnter = (act) => (event) => {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  event.stopPropagation();
  act();
};

// ── What changes with the numbers ────────────────────────────────────────────────────────────────────────────────

function tensorOf(view, block) {
  return view.data.tensors[block.tensor.replace("{layer}", String(view.layer))];
}

function refresh(view) {
  const { data, plan, svg } = view;
  for (const floor of svg.querySelectorAll(".floor")) {
    floor.setAttribute("aria-pressed", String(Number(floor.dataset.layer) === view.layer));
  }
  for (const block of view.blocks.values()) {
    const small = tensorOf(view, block);
    if (!block.picture || !small) continue;
    block.picture.replaceChildren(...pictures(small, block.place, data.theme, view.narrow));
  }
  const bottom = drawWords(view);
  drawBars(view);
  drawCard(view);
  svg.setAttribute("viewBox", `0 0 ${plan.width} ${Math.ceil(bottom)}`);
}

/** A tensor as images in a place: its heads side by side, or one matrix stretched to fill it. */
function pictures(small, place, theme, narrow) {
  const { panels } = cellsOf(small);
  if (small.drawn[0] === 1 && small.shape.length === 2) {
    return [
      imageOf(small, 0, theme, place),
      el("rect", { class: "rim", ...box(place) }),
    ];
  }
  const gap = 4;
  const { columns, side } = panelled(panels, place.w, place.h, gap, 40);
  const rows = Math.ceil(panels / columns);
  const wide = columns * side + (columns - 1) * gap;
  const tall = rows * side + (rows - 1) * gap;
  const left = narrow ? place.x + (place.w - wide) / 2 : place.x + place.w - wide;
  const top = place.y + (place.h - tall) / 2;
  return Array.from({ length: panels }, (_, panel) => {
    const at = { x: left + (panel % columns) * (side + gap), y: top + Math.floor(panel / columns) * (side + gap), w: side, h: side };
    return [imageOf(small, panel, theme, at), el("rect", { class: "rim", ...box(at) })];
  }).flat();
}

const box = ({ x, y, w, h }) => ({ x, y, width: w, height: h });

const images = new WeakMap();

/** One panel as a picture with one pixel a cell. */
function imageOf(small, panel, theme, place) {
  if (!images.has(small)) images.set(small, new Map());
  const key = `${theme.name} ${panel}`;
  const made = images.get(small);
  if (!made.has(key)) {
    const { bytes, rows, columns } = cellsOf(small);
    const canvas = html("canvas", { width: columns, height: rows });
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(columns, rows);
    const colours = palette(small.scale, theme);
    for (let i = 0; i < rows * columns; i += 1) {
      const [r, g, b] = colours[bytes[panel * rows * columns + i]];
      pixels.data.set([r, g, b, 255], 4 * i);
    }
    context.putImageData(pixels, 0, 0);
    made.set(key, canvas.toDataURL());
  }
  return el("image", { href: made.get(key), ...box(place), preserveAspectRatio: "none" });
}

const palettes = new Map();

/** The colour of each byte. */
function palette(scale, theme) {
  const key = `${scale} ${theme.background} ${theme.weights}`;
  if (!palettes.has(key)) {
    const colour = scale === "weights" ? weightsScale(theme) : signedScale(theme, 1);
    const shut = rgb(between(theme.background, theme.hidden, 0.42));
    palettes.set(
      key,
      Array.from({ length: 256 }, (_, byte) => {
        if (byte > TOP) return shut;
        return rgb(colour(scale === "weights" ? byte / TOP : (2 * byte) / TOP - 1));
      }),
    );
  }
  return palettes.get(key);
}

/** The words under the towers; returns where they end. */
function drawWords(view) {
  const { data, plan, narrow, type } = view;
  const { theme, words } = data;
  const size = { pad: narrow ? 6 : 9, gap: narrow ? 4 : 5, height: narrow ? 24 : 27 };
  const measured = (word) => textWidth(word, type.chip, 600);
  const parts = [];
  let bottom = plan.height;
  const cross = data.tensors[`decoder.${view.layer}.cross_attn.weights`];
  const shade = cross && view.layer === data.layer ? rowOf(cross, data.head, view.at) : null;
  for (const stack of ["encoder", "decoder"]) {
    const slot = plan.slots[`${stack}.words`];
    if (!slot) continue;
    const list = stack === "encoder" ? data.src : data.tgt;
    const choice = stack === "decoder" || !plan.slots["decoder.words"];
    // A tower's words may take its half of the drawing, or all of it where there is one tower.
    const half = plan.towers.length > 1 ? (plan.width - 8) / 2 : slot.w + 80;
    const reach = { x: plan.towers.length > 1 ? (stack === "encoder" ? 0 : plan.width - half) : slot.x - 40, w: half };
    const { chips, height } = chipRows(list.map(visible), reach.w, size, measured);
    const top = slot.y + 2;
    const tint = ramp(theme.background, theme.memory);
    for (const chip of chips) {
      const weight = stack === "encoder" && shade ? shade[chip.at] : null;
      const colour = weight === null ? theme.background : tint[Math.round((tint.length - 1) * weight)];
      const choose = () => {
        view.at = chip.at;
        refresh(view);
        view.svg.querySelector(`.chip.choice[data-at="${chip.at}"]`)?.focus({ preventScroll: true });
        view.heard.textContent = spokenBars(view);
        view.channel.send({ row: view.at });
      };
      const [x, y] = [reach.x + chip.x, top + chip.y];
      parts.push(
        el(
          "g",
          {
            class: choice ? "chip choice" : "chip",
            "data-at": chip.at,
            ...(choice
              ? { role: "button", tabindex: 0, "aria-pressed": String(chip.at === view.at), "aria-label": fill(words.choose_word, { word: chip.word }), onclick: choose, onkeydown: onEnter(choose) }
              : {}),
          },
          [
            weight !== null && el("title", {}, fill(words.shaded, { word: chip.word, weight: short(weight) })),
            el("rect", { x, y, width: chip.w, height: size.height, rx: 7, style: weight === null ? undefined : `fill:${colour}` }),
            el("text", { x: x + chip.w / 2, y: y + size.height / 2 + type.chip * 0.35, "text-anchor": "middle", "font-size": type.chip, style: weight === null ? undefined : `fill:${inkOn(colour, theme)}` }, chip.word),
          ],
        ),
      );
    }
    let y = top + height + type.small + 5;
    const given = visible((data.tgt.length ? data.tgt : data.src)[view.at]);
    const notes = [stack === "encoder" ? words.sentence : words.so_far];
    if (stack === "encoder" && shade) notes.push(fill(words.looks, { layer: view.layer, head: data.head, word: given }));
    for (const note of notes.flatMap((text) => wrapped(text, reach.w, (line) => textWidth(line, type.small)))) {
      parts.push(el("text", { class: "quiet", x: reach.x + reach.w / 2, y, "text-anchor": "middle", "font-size": type.small }, note));
      y += type.small + 3;
    }
    bottom = Math.max(bottom, y);
  }
  view.wordsLayer.replaceChildren(...parts);
  return bottom;
}

/** One row of weights of one head. */
function rowOf(small, head, row) {
  const { bytes, panels, rows, columns } = cellsOf(small);
  // A pooled map has no row a word.
  if (head >= panels || row >= rows || rows !== small.shape[1] || columns !== small.shape[2]) return null;
  const start = (head * rows + row) * columns;
  return Array.from({ length: columns }, (_, i) => Math.min(1, bytes[start + i] / TOP));
}

const percent = (p) => (p >= 0.9995 ? "100 %" : p >= 0.0995 ? `${(100 * p).toFixed(0)} %` : p >= 0.001 ? `${(100 * p).toFixed(1)} %` : "< 0.1 %");

function spokenBars(view) {
  const words = view.data.tgt.length ? view.data.tgt : view.data.src;
  const bars = view.data.next[view.at].map(([word, p]) => `${visible(word)} ${percent(p)}`);
  return `${fill(view.data.tgt.length ? view.data.words.next : view.data.words.here, { word: visible(words[view.at]) })}: ${bars.join(", ")}`;
}

/** The likeliest next words, in place: bars grow and shrink. */
function drawBars(view) {
  const { data, plan, type, narrow } = view;
  const inner = plan.slots.bars;
  const reach = narrow ? 10 : 30;
  const slot = { ...inner, x: inner.x - reach, w: inner.w + 2 * reach };
  const next = data.next[view.at] ?? data.next.at(-1);
  const given = visible((data.tgt.length ? data.tgt : data.src)[view.at]);
  const step = narrow ? 19 : 19;
  const [nameW, shareW] = narrow ? [54, 42] : [96, 46];
  const full = slot.w - nameW - shareW - 12;
  if (!view.bars) {
    view.barsTitle = el("text", { class: "quiet", x: slot.x + slot.w / 2, "text-anchor": "middle", "font-size": type.small });
    view.bars = next.map((_, i) => {
      const y = slot.y + slot.h - (next.length - i) * step - 2;
      const name = el("text", { x: slot.x + nameW - 4, y: y + 13, "text-anchor": "end", "font-size": type.name });
      const bar = el("rect", { class: "bar", x: slot.x + nameW + 4, y: y + 3, height: 12, rx: 3, width: 0 });
      const share = el("text", { class: "quiet", x: slot.x + slot.w, y: y + 13, "text-anchor": "end", "font-size": type.small });
      return { name, bar, share, track: el("rect", { class: "track", x: slot.x + nameW + 4, y: y + 3, height: 12, rx: 3, width: full }) };
    });
    view.barsLayer.replaceChildren(view.barsTitle, ...view.bars.flatMap(({ name, track, bar, share }) => [track, bar, name, share]));
  }
  const title = fill(data.tgt.length ? data.words.next : data.words.here, { word: given });
  const lines = wrapped(title, slot.w + 30, (text) => textWidth(text, type.small));
  view.barsTitle.replaceChildren(
    ...lines.map((line, i) => el("tspan", { x: slot.x + slot.w / 2, y: slot.y + slot.h - next.length * step - 8 - (lines.length - 1 - i) * 15 }, line)),
  );
  next.forEach(([word, p], i) => {
    const { name, bar, share } = view.bars[i];
    name.textContent = clipped(visible(word), nameW - 6, type.name);
    name.classList.toggle("strong", i === 0);
    bar.style.width = `${Math.max(1, full * p)}px`;
    bar.setAttribute("width", Math.max(1, full * p));
    share.textContent = percent(p);
  });
}

function clipped(text, width, size) {
  if (textWidth(text, size, 600) <= width) return text;
  let cut = text;
  while (cut.length > 1 && textWidth(`${cut}…`, size, 600) > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}

// ── The card: what the model is, or what a block writes ──────────────────────────────────────────────────────────

function holdBlock(view, name) {
  if (view.held === name) return;
  view.held = name;
  view.svg.classList.toggle("hot", name !== null);
  const feeds = new Set(name === null ? [] : view.plan.arrows.filter((arrow) => arrow.target === name).map((arrow) => arrow.source));
  for (const block of view.blocks.values()) {
    block.node.classList.toggle("held", block.name === name);
    block.node.classList.toggle("feeds", feeds.has(block.name));
  }
  for (const arrow of view.arrows) {
    for (const part of arrow.parts) part.classList.toggle("lit", name !== null && arrow.target === name);
  }
  drawCard(view);
}

function drawCard(view) {
  const { data, plan, narrow, type, card } = view;
  const slot = plan.slots.card;
  card.replaceChildren();
  const block = view.held && view.blocks.get(view.held);
  if (!block) return drawFacts(view, slot);
  let place = { ...slot };
  if (narrow && plan.towers.length > 1) {
    // On a phone the card stands over the other tower, level with the block.
    const left = block.stack === "decoder" ? 2 : plan.width - slot.w - 2;
    place = { x: left, y: Math.max(0, Math.min(block.at.y - 60, plan.height - 300)), w: slot.w, h: 300 };
  } else place.h = Math.min(slot.h, 330);
  drawPreview(view, block, place);
}

function drawFacts(view, slot) {
  const { data, card, type, narrow } = view;
  const [[title], ...rows] = data.facts;
  const step = narrow ? 21 : 24;
  const x = slot.x + (narrow ? 2 : 6);
  const w = slot.w - (narrow ? 4 : 12);
  let y = slot.y + (narrow ? 16 : 20);
  card.append(el("text", { class: "strong", x, y, "font-size": narrow ? 15 : 17 }, title));
  y += 8;
  for (const [name, value] of rows) {
    const stacked = narrow && textWidth(name, type.body) + textWidth(value, type.value, 600) > w - 6;
    y += step;
    card.append(el("text", { class: "quiet", x, y, "font-size": type.body }, name));
    if (stacked) y += 15;
    card.append(
      el("text", { x: x + w, y, "text-anchor": "end", "font-size": type.value, class: "strong" }, value),
      el("line", { class: "hair", x1: x, x2: x + w, y1: y + 6.5, y2: y + 6.5 }),
    );
  }
  y += 12;
  const hint = matchMedia("(hover: none)").matches ? data.words.hint_touch : data.words.hint;
  for (const line of wrapped(hint, w, (text) => textWidth(text, type.small))) {
    y += 16;
    card.append(el("text", { class: "quiet", x, y, "font-size": type.small }, line));
  }
}

function drawPreview(view, block, place) {
  const { data, card, narrow, type } = view;
  const said = data.blocks[block.name];
  const small = tensorOf(view, block);
  const pad = narrow ? 10 : 14;
  const [x, w] = [place.x + pad, place.w - 2 * pad];
  const back = el("rect", { class: "back", ...box(place), rx: 12 });
  card.append(back);
  let y = place.y + pad + 12;
  const write = (text, size, kind, step) => {
    for (const line of wrapped(text, w, (part) => textWidth(part, size, kind.includes("strong") ? 600 : 400))) {
      card.append(el("text", { class: kind, x, y, "font-size": size }, line));
      y += step;
    }
  };
  write(said.name, narrow ? 14 : 16, "strong", narrow ? 17 : 19);
  write(said.says, type.body, "quiet", narrow ? 15.5 : 17);
  if (small) {
    const room = Math.max(80, place.y + place.h - y - 46);
    y = drawTensor(view, block, small, { x, y: y - 4, w, h: room }) + 18;
    const name = block.tensor.replace("{layer}", String(view.layer));
    const end = name.lastIndexOf(".");
    for (const part of name.length * type.tiny * 0.61 > w && end > 0 ? [name.slice(0, end), name.slice(end)] : [name]) {
      card.append(el("text", { class: "mono", x, y, "font-size": type.tiny }, part));
      y += 16;
    }
    const range = small.scale === "weights" ? data.words.share : fill(data.words.range, { limit: short(small.limit) });
    const coarse = small.drawn.slice(-2).join() !== small.shape.slice(-2).join() ? ` · ${data.words.coarser}` : "";
    const shape = small.shape.join(" × ");
    for (const line of wrapped(`${shape} · ${range}${coarse}`, w, (part) => textWidth(part, type.small))) {
      card.append(el("text", { class: "quiet", x, y, "font-size": type.small }, line));
      y += 16;
    }
  }
  const call = view.touchedOnce || matchMedia("(hover: none)").matches ? data.words.tap : data.words.open;
  card.append(el("text", { x, y, "font-size": type.small, class: "strong", style: "fill:var(--c-query)" }, `${call} →`));
  back.setAttribute("height", y + pad - place.y);
}

/** A tensor large: words beside its rows, hatch where a mask hides; returns where it ends. */
function drawTensor(view, block, small, room) {
  const { data, card, narrow, type } = view;
  const { panels, rows, columns } = cellsOf(small);
  const several = small.shape.length === 3;
  const spots = [];
  let labelled = 0;
  if (several) {
    const head = 15;
    const { columns: across, side } = panelled(panels, room.w, room.h - head, 8, 110);
    const down = Math.ceil(panels / across);
    const fits = side > 34;
    const each = fits ? Math.min(side, (room.h - down * head - (down - 1) * 6) / down) : side;
    for (let panel = 0; panel < panels; panel += 1) {
      const px = room.x + (panel % across) * (each + 8);
      const py = room.y + Math.floor(panel / across) * (each + 6 + (fits ? head : 0)) + (fits ? head : 0);
      spots.push({ panel, x: px, y: py, w: each, h: each });
      if (fits) card.append(el("text", { class: "quiet", x: px, y: py - 4, "font-size": type.tiny }, each > 44 ? fill(data.words.heads, { head: panel }) : panel));
    }
  } else {
    const tall = Math.min(room.h, rows * 17);
    if (tall / rows >= 11) labelled = Math.min(narrow ? 48 : 74, Math.max(...small.rows.map((word) => textWidth(visible(word), type.tiny))) + 8);
    spots.push({ panel: 0, x: room.x + labelled, y: room.y, w: room.w - labelled, h: tall });
  }
  const mine = !data.tgt.length || block.stack === "decoder" ? view.at : -1;
  for (const spot of spots) {
    card.append(imageOf(small, spot.panel, data.theme, spot), ...hatches(small, spot), el("rect", { class: "rim", ...box(spot) }));
    const cell = spot.h / rows;
    if (labelled) {
      small.rows.forEach((word, i) =>
        card.append(el("text", { class: i === mine ? "strong" : "quiet", x: spot.x - 6, y: spot.y + (i + 0.5) * cell + 4.2, "text-anchor": "end", "font-size": type.tiny }, clipped(visible(word), labelled - 6, type.tiny))),
      );
    }
    if (mine >= 0 && rows === small.shape.at(-2) && cell > 4) {
      card.append(el("rect", { class: "row-mark", x: spot.x - 1, y: spot.y + mine * cell - 1, width: spot.w + 2, height: cell + 2, rx: 2 }));
    }
  }
  return Math.max(...spots.map((spot) => spot.y + spot.h));
}

/** The hidden cells of a panel, hatched by their reason. */
function hatches(small, spot) {
  const { bytes, rows, columns } = cellsOf(small);
  const paths = {};
  const [cw, ch] = [spot.w / columns, spot.h / rows];
  for (let i = 0; i < rows * columns; i += 1) {
    const reason = HATCHED[bytes[spot.panel * rows * columns + i]];
    if (!reason) continue;
    const [px, py] = [spot.x + (i % columns) * cw, spot.y + Math.floor(i / columns) * ch];
    paths[reason] = `${paths[reason] ?? ""}M${px},${py}h${cw}v${ch}h${-cw}z`;
  }
  return Object.entries(paths).map(([reason, d]) => el("path", { d, fill: `url(#hatch-${reason})` }));
}

/** The drawing as it is saved: with the style sheet's colours written into it. */
function standing(view) {
  const copy = view.svg.cloneNode(true);
  const twins = [...copy.querySelectorAll("*")];
  [...view.svg.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of ["fill", "stroke", "stroke-width", "font-style", "font-weight", "opacity", "image-rendering"]) {
      twins[i].style.setProperty(name, style.getPropertyValue(name));
    }
    // A program without this font must not let the letters run over what stands beside them.
    const width = node.tagName === "text" && node.childElementCount === 0 && node.getComputedTextLength();
    if (width) for (const [name, value] of [["textLength", width.toFixed(1)], ["lengthAdjust", "spacingAndGlyphs"]]) twins[i].setAttribute(name, value);
  });
  return copy;
}
