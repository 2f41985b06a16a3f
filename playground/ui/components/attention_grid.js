// Every head of a model's attentions as a small map on one canvas: see attention_grid.py for what the bytes hold.
// Hover lights one cell in every map that has the same words; a click enlarges a map in its place.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

/**
 * Header and maps of the bytes that Python packed: {…header, maps: [{group, layer, head, values, full, label, off}, …]}.
 * The colours of a map are full at `full`.
 */
export function parsed(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const body = bytes.slice(4 + size);
  const numbers = header.exact ? new Float32Array(body.buffer) : Float32Array.from(body, (shade) => shade / 255);
  const maps = [];
  let at = 0;
  header.groups.forEach((group, g) => {
    const cells = group.rows.labels.length * group.cols.labels.length;
    const labels = new Map((group.labels ?? []).map(([layer, head, label]) => [`${layer} ${head}`, label]));
    const silent = new Set((group.off ?? []).map(([layer, head]) => `${layer} ${head}`));
    for (let layer = 0; layer < group.layers; layer += 1) {
      for (let head = 0; head < group.heads; head += 1) {
        const values = numbers.subarray(at, (at += cells));
        const full = header.own_range ? values.reduce((a, b) => Math.max(a, b), 0) || 1 : 1;
        const where = `${layer} ${head}`;
        maps.push({ group: g, layer, head, values, full, label: labels.get(where) ?? "", off: silent.has(where) });
      }
    }
  });
  if (at !== numbers.length) throw new Error(`${numbers.length} weights for ${at} cells`);
  return { ...header, maps };
}

const TITLE = 26; // px over a group's maps
const GAP = 10; // px between maps
const BETWEEN = 34; // px between groups

/**
 * Where everything lies in `room` pixels: groups side by side as far as their maps stay large enough. With `tall`, as few
 * side by side, and so as large, as all of it is at most that high, if it can be.
 *
 * @returns {height, columns, titles: [{x, y, w}], spots: [{x, y, w, h}]}, in the order of groups and maps.
 */
export function arranged(groups, room, caption, largest, tall = 0) {
  const heads = Math.max(...groups.map((group) => group.heads));
  const width = (columns) => Math.floor(((room + BETWEEN) / columns - BETWEEN + GAP) / heads - GAP);
  const least = heads <= 4 ? 62 : 34;
  const most = [3, 2, 1].find((n) => n <= groups.length && width(n) >= least) ?? 1;
  const laid = (columns) => inColumns(groups, room, caption, Math.max(8, Math.min(largest, width(columns))), columns);
  const fewer = Array.from({ length: most }, (_, i) => laid(i + 1));
  return (tall && fewer.find(({ height }) => height <= tall)) || fewer.at(-1);
}

function inColumns(groups, room, caption, w, columns) {
  const titles = [];
  const spots = [];
  let top = 0;
  let deepest = 0;
  groups.forEach((group, g) => {
    if (g && g % columns === 0) top += deepest + BETWEEN / 2;
    if (g % columns === 0) deepest = 0;
    const left = (g % columns) * Math.floor((room + BETWEEN) / columns);
    const [rows, cols] = [group.rows.labels.length, group.cols.labels.length];
    const h = Math.round(Math.max(w / 3, Math.min(1.2 * w, (w / cols) * rows)));
    titles.push({ x: left, y: top, w: group.heads * (w + GAP) - GAP });
    for (let layer = 0; layer < group.layers; layer += 1) {
      for (let head = 0; head < group.heads; head += 1) {
        spots.push({ x: left + head * (w + GAP), y: top + TITLE + caption + layer * (h + caption + GAP), w, h });
      }
    }
    deepest = Math.max(deepest, TITLE + group.layers * (h + caption + GAP));
  });
  return { height: top + deepest, columns, titles, spots };
}

/** Which map and which of its cells lies under (x, y): {map, row, col}, or null. */
export function cellUnder(grid, spots, x, y) {
  const map = spots.findIndex((spot) => x >= spot.x && x < spot.x + spot.w && y >= spot.y && y < spot.y + spot.h);
  if (map < 0) return null;
  const { rows, cols } = grid.groups[grid.maps[map].group];
  const spot = spots[map];
  const row = Math.floor(((y - spot.y) / spot.h) * rows.labels.length);
  return { map, row, col: Math.floor(((x - spot.x) / spot.w) * cols.labels.length) };
}

/** The map that an arrow key leads to: the nearest one whose middle lies that way; the same at the edge. */
export function neighbour(spots, from, key) {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  if (!way) return null;
  const middle = ({ x, y, w, h }) => [x + w / 2, y + h / 2];
  const [x0, y0] = middle(spots[from]);
  let best = from;
  let least = Infinity;
  spots.forEach((spot, i) => {
    const [x, y] = middle(spot);
    const along = (x - x0) * way[0] + (y - y0) * way[1];
    const aside = Math.abs((x - x0) * way[1]) + Math.abs((y - y0) * way[0]);
    const far = along + 4 * aside;
    if (i !== from && along > 1 && far < least) [best, least] = [i, far];
  });
  return best;
}

const REASON = { c: "causal", p: "padding", w: "window" };

/** Why a cell is hidden, "causal" or "padding"; "" for one that counts. */
export function reasonOf(group, row, col) {
  return group.hidden ? (REASON[group.hidden[row * group.cols.labels.length + col]] ?? "") : "";
}

/** Every weight as a row of cells: attention, layer, head, query, key, weight. */
export function tableOf(grid) {
  const { words } = grid;
  const rows = [[words.attention, words.layer, words.head, grid.groups[0].rows.short, grid.groups[0].cols.short, words.weight]];
  for (const { group: g, layer, head, values } of grid.maps) {
    const group = grid.groups[g];
    const width = group.cols.labels.length;
    group.rows.labels.forEach((query, row) =>
      group.cols.labels.forEach((key, col) => {
        const reason = reasonOf(group, row, col);
        const weight = reason ? words[reason] : Number(exact(values[row * width + col]).replaceAll("−", "-"));
        rows.push([group.title, layer, head, `${row} ${query}`, `${col} ${key}`, weight]);
      }),
    );
  }
  return rows;
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function attentionGrid({ data, parentElement, setStateValue }) {
  const view = kept(parentElement, () => made(parentElement));
  const grid = parsed(data);
  const named = JSON.stringify(grid.groups);
  // Another model or sentence: what was pointed at is not there any more.
  if (view.named !== named) Object.assign(view, { named, lit: null, open: null, cursor: null });
  view.grid = grid;
  view.pick = (at) => grid.picks && setStateValue("pick", at && placeOf(grid, at));
  themed(view.root, grid.theme);
  view.root.classList.toggle("presenting", grid.theme.presenting);
  view.stage.setAttribute("aria-label", `${grid.alt} ${grid.words.keys}`);
  if (!view.watch) attach(view);
  if (view.channelOf !== grid.group) {
    view.channel?.close();
    view.channelOf = grid.group;
    view.channel = link(grid.group, (what) => what?.heads === undefined && lit(view, fromOutside(view, what)));
  }
  head(view);
  draw(view);
  return () =>
    setTimeout(() => {
      if (view.root.isConnected) return;
      view.watch?.disconnect();
      view.watch = null;
      view.channel?.close();
      view.channelOf = null;
    });
}

function made(parentElement) {
  const view = { lit: null, open: null, cursor: null };
  view.base = html("canvas", { class: "base" });
  view.marks = html("canvas", { class: "marks" });
  view.card = html("div", { class: "card", hidden: true });
  view.stage = html("div", { class: "stage", tabindex: 0, role: "application" }, [view.base, view.marks, view.card]);
  view.note = html("div", { class: "grid-note" });
  view.legend = html("div", { class: "legend" });
  view.saves = html("div", {});
  view.heard = html("div", { class: "heard", "aria-live": "polite" });
  view.root = html("div", { class: "pg attention-grid" }, [
    html("div", { class: "grid-head" }, [view.note, view.legend, view.saves]),
    view.stage,
    view.heard,
  ]);
  parentElement.append(view.root);
  view.tip = tooltip(view.root);
  return view;
}

function attach(view) {
  view.watch = new ResizeObserver(() => view.stage.clientWidth !== view.room && draw(view));
  view.watch.observe(view.stage);
  if (view.heardKeys) return;
  view.heardKeys = true;
  const { stage } = view;
  const under = (event) => {
    if (event.composedPath().includes(view.card)) return cardCell(view, event);
    if (view.open !== null) return null;
    const box = stage.getBoundingClientRect();
    return cellUnder(view.grid, view.plan.spots, event.clientX - box.left, event.clientY - box.top);
  };
  stage.addEventListener("pointermove", (event) => {
    const at = under(event);
    stage.style.cursor = at ? (view.open === null ? "zoom-in" : view.grid.picks ? "pointer" : "zoom-out") : "default";
    lit(view, at);
    view.channel.send({ heads: true, axes: at && { query: at.row, key: at.col } });
    if (at) view.tip.show(said(view.grid, at), event.clientX, event.clientY);
    else view.tip.hide();
  });
  stage.addEventListener("pointerleave", () => {
    view.tip.hide();
    lit(view, view.cursor);
    view.channel.send(null);
  });
  stage.addEventListener("click", (event) => {
    const at = under(event);
    view.tip.hide();
    if (view.open !== null && at && view.grid.picks) return picked(view, at);
    // A click beside the enlarged map closes it as well.
    enlarge(view, view.open === null && at ? at.map : null);
  });
  stage.addEventListener("keydown", (event) => keyed(view, event));
  stage.addEventListener("blur", () => {
    view.cursor = null;
    lit(view, null);
  });
}

function keyed(view, event) {
  const { grid, plan } = view;
  const arrow = event.key.startsWith("Arrow");
  const enters = event.key === "Enter" || event.key === " ";
  if (event.key === "Escape" && view.open !== null) enlarge(view, null);
  else if (enters && grid.picks && view.open !== null && view.cursor) picked(view, view.cursor);
  else if (enters) enlarge(view, view.open === null ? (view.cursor?.map ?? 0) : null);
  else if (arrow && view.cursor === null) view.cursor = { map: view.open ?? 0, row: 0, col: 0 };
  else if (arrow && view.open === null) view.cursor = { ...view.cursor, map: neighbour(plan.spots, view.cursor.map, event.key) };
  else if (arrow) {
    const { rows, cols } = grid.groups[grid.maps[view.open].group];
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const within = (value, size) => Math.max(0, Math.min(size - 1, value));
    view.cursor = {
      map: view.open,
      row: within(view.cursor.row + down, rows.labels.length),
      col: within(view.cursor.col + right, cols.labels.length),
    };
  } else return;
  event.preventDefault();
  event.stopPropagation();
  lit(view, view.cursor);
  if (view.cursor) {
    const lines = view.open === null ? [[tileName(grid, view.cursor.map)]] : said(grid, view.cursor);
    view.heard.textContent = lines.map((line) => [line].flat().join(" ")).join(", ");
  }
}

/** What is lit in another picture, here: the same row and column of the attentions that have them. */
function fromOutside(view, what) {
  if (!what?.axes || what.axes.query === undefined || what.axes.key === undefined) return null;
  const { query: row, key: col } = what.axes;
  const fits = (group) => row < group.rows.labels.length && col < group.cols.labels.length;
  const map = view.grid.maps.findIndex(({ group }) => fits(view.grid.groups[group]));
  return map < 0 ? null : { map, row, col };
}

/** A weight of the enlarged map was chosen: its origin is asked for. */
function picked(view, at) {
  view.cursor = at;
  lit(view, at);
  view.pick(at);
}

/** A cell by what Python calls it: {group, layer, head, row, col}. */
export function placeOf(grid, { map, row, col }) {
  const { group, layer, head } = grid.maps[map];
  return { group: grid.groups[group].id, layer, head, row, col };
}

function enlarge(view, map) {
  if (view.open !== null && map === null) view.pick(null);
  view.open = map;
  if (map !== null && view.cursor) view.cursor = { ...view.cursor, map };
  draw(view);
  view.heard.textContent = map === null ? "" : tileName(view.grid, map);
}

function tileName(grid, map) {
  const { group, layer, head } = grid.maps[map];
  return `${grid.groups[group].title}, ${fill(grid.words.tile, { layer, head })}`;
}

/** What there is to say of a map besides its place: its label, that it is off, its own range. */
function told(grid, map) {
  const { label, off, full } = grid.maps[map];
  return [...(label ? [label] : []), ...(off ? [grid.words.off] : []), ...(grid.own_range ? [fill(grid.words.top, { value: short(full) })] : [])];
}

/** What the tooltip says of a cell. */
function said(grid, { map, row, col }) {
  const { group: g, values } = grid.maps[map];
  const group = grid.groups[g];
  const reason = reasonOf(group, row, col);
  const value = values[row * group.cols.labels.length + col];
  return [
    tileName(grid, map),
    ...told(grid, map),
    [group.rows.short, visible(group.rows.labels[row])],
    [group.cols.short, visible(group.cols.labels[col])],
    reason ? grid.words[reason] : [grid.words.weight, grid.exact ? exact(value) : short(value)],
    ...(reason || grid.exact ? [] : [grid.words.rounded]),
  ];
}

function head(view) {
  const { grid, note, legend, saves } = view;
  const { theme, words } = grid;
  if (note.textContent !== grid.note) note.textContent = grid.note;
  const key = JSON.stringify([theme, words, grid.filename, grid.own_range, grid.groups.map((group) => group.hidden)]);
  if (view.headOf === key) return;
  view.headOf = key;
  const colours = weightsScale(theme);
  const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => colours(t)).join(",");
  const kinds = Object.values(REASON).filter((kind) => grid.groups.some((group) => group.hidden?.includes(kind[0])));
  legend.replaceChildren(
    html("span", { class: "range" }, [
      ...["0", html("i", { style: `background:linear-gradient(90deg,${stops})` }), ...(grid.own_range ? [words.range_own] : ["1", words.range])].map((part) => html("span", {}, part)),
    ]),
    ...kinds.map((kind) =>
      html("span", { class: "range" }, [
        el("svg", { width: 16, height: 16, "aria-hidden": "true" }, [hatch(`legend-${kind}`, kind, theme), el("rect", { width: 16, height: 16, fill: `url(#legend-${kind})`, stroke: theme.line })]),
        html("span", {}, words[kind]),
      ]),
    ),
  );
  saves.replaceChildren(saveMenu({ words, theme, name: grid.filename, label: grid.alt, svg: () => sheet(view.grid), rows: () => tableOf(view.grid) }));
}

const captionSize = (theme) => (theme.presenting ? 17 : 12.5);
const captionRoom = (theme) => Math.round(captionSize(theme) * 1.5);

/** A map's name over it, with its label and largest weight: as much of it as fits. */
function caption(grid, map, width) {
  const { layer, head: number, label, off, full } = grid.maps[map];
  const more = off ? grid.words.off : label;
  const name = [grid.words.tile, grid.words.tile_short].map((text) => fill(text, { layer, head: number }));
  const top = grid.own_range ? ` ≤ ${short(full)}` : "";
  const fits = (text) => textWidth(text, captionSize(grid.theme)) <= width - (more || top ? 8 : 0);
  const choices = more ? [`${name[0]}: ${more}${top}`, `${name[1]}: ${more}${top}`, `${name[1]}: ${more}`] : [];
  return [...choices, ...name.map((text) => text + top)].find(fits) ?? name[1];
}

function isShort(grid, g, spots) {
  const map = grid.maps.findIndex(({ group }) => group === g);
  const { layer, head: number } = grid.maps[map];
  return !caption(grid, map, spots[map].w + GAP - 2).startsWith(fill(grid.words.tile, { layer, head: number }));
}

function draw(view) {
  const { grid, stage, base, marks } = view;
  const { theme } = grid;
  view.room = stage.clientWidth || 600;
  view.plan = arranged(grid.groups, view.room, captionRoom(theme), theme.presenting ? 170 : 132, grid.tall);
  const { height, spots, titles } = view.plan;
  const density = globalThis.devicePixelRatio || 1;
  for (const canvas of [base, marks]) {
    const [w, h] = [Math.round(view.room * density), Math.round(height * density)];
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
    canvas.style.width = `${view.room}px`;
    canvas.style.height = `${height}px`;
  }
  const ink = base.getContext("2d");
  ink.setTransform(density, 0, 0, density, 0, 0);
  ink.clearRect(0, 0, view.room, height);
  ink.textBaseline = "alphabetic";
  const size = theme.presenting ? 22 : 15;
  ink.font = `600 ${size}px ${FONT}`;
  ink.fillStyle = theme.text;
  titles.forEach(({ x, y }, g) => ink.fillText(grid.groups[g].title, x, y + size));
  ink.font = `${captionSize(theme)}px ${FONT}`;
  ink.fillStyle = theme.muted;
  // Where only the two numbers stand over the maps, the titles say what they are.
  titles.forEach(({ x, y }, g) => isShort(grid, g, spots) && ink.fillText(grid.words.short_says, x + textWidth(grid.groups[g].title, size, 600) + 12, y + size));
  spots.forEach((spot, map) => ink.fillText(caption(grid, map, spot.w + GAP - 2), spot.x, spot.y - 4));
  const patterns = hatches(ink, theme);
  spots.forEach((spot, map) => drawMap(ink, grid, map, spot, density, patterns));
  base.classList.toggle("dimmed", view.open !== null);
  drawCard(view);
  lit(view, view.lit);
}

const shades = new Map();

/** 256 colours from weight 0 to 1, each as the four bytes of a pixel. */
function shadesOf(theme) {
  if (!shades.has(theme.name)) {
    const scale = weightsScale(theme);
    const bytes = Array.from({ length: 256 }, (_, i) => [...rgb(scale(i / 255)), 255]).flat();
    shades.set(theme.name, new Uint32Array(Uint8Array.from(bytes).buffer));
  }
  return shades.get(theme.name);
}

let scratch;

function drawMap(ink, grid, map, spot, density, patterns) {
  const { group: g, values, full, off } = grid.maps[map];
  const group = grid.groups[g];
  const [rows, cols] = [group.rows.labels.length, group.cols.labels.length];
  const colours = shadesOf(grid.theme);
  scratch ??= html("canvas");
  [scratch.width, scratch.height] = [cols, rows];
  const brush = scratch.getContext("2d");
  const image = brush.createImageData(cols, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i += 1) pixels[i] = colours[Math.round(Math.max(0, Math.min(1, values[i] / full)) * 255)];
  brush.putImageData(image, 0, 0);
  ink.imageSmoothingEnabled = false;
  ink.globalAlpha = off ? 0.3 : 1;
  ink.drawImage(scratch, spot.x, spot.y, spot.w, spot.h);
  for (const [letter, pattern] of Object.entries(patterns)) {
    if (!group.hidden?.includes(letter)) continue;
    ink.fillStyle = pattern;
    ink.beginPath();
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        if (group.hidden[row * cols + col] !== letter) continue;
        const { x, y, w, h } = cellBox(spot, rows, cols, row, col);
        ink.rect(x, y, w, h);
      }
    }
    ink.fill();
  }
  ink.globalAlpha = 1;
  ink.lineWidth = 1;
  ink.strokeStyle = grid.theme.line;
  ink.strokeRect(spot.x - 0.5, spot.y - 0.5, spot.w + 1, spot.h + 1);
  if (!off) return;
  ink.lineWidth = 2;
  ink.strokeStyle = grid.theme.text;
  ink.beginPath();
  ink.moveTo(spot.x, spot.y + spot.h);
  ink.lineTo(spot.x + spot.w, spot.y);
  ink.stroke();
}

function hatches(ink, theme) {
  const pattern = (falls, stands = false) => {
    const tile = html("canvas", { width: 6, height: 6 });
    const brush = tile.getContext("2d");
    brush.fillStyle = theme.surface;
    brush.fillRect(0, 0, 6, 6);
    brush.strokeStyle = theme.hidden;
    brush.lineWidth = 0.9;
    for (const shift of [-6, 0, 6]) {
      brush.moveTo(shift + (stands ? 9 : 0), falls ? 0 : 6);
      brush.lineTo(shift + (stands ? 9 : 6), falls ? 6 : 0);
    }
    brush.stroke();
    return ink.createPattern(tile, "repeat");
  };
  return { c: pattern(false), p: pattern(true), w: pattern(false, true) };
}

function cellBox(spot, rows, cols, row, col) {
  const [x, y] = [(col * spot.w) / cols, (row * spot.h) / rows];
  return { x: spot.x + x, y: spot.y + y, w: spot.w / cols, h: spot.h / rows };
}

/** Outline a cell, and the same cell of every map with the same words. */
function lit(view, at) {
  const { grid, marks, plan } = view;
  view.lit = at;
  const density = globalThis.devicePixelRatio || 1;
  const ink = marks.getContext("2d");
  ink.setTransform(density, 0, 0, density, 0, 0);
  ink.clearRect(0, 0, marks.width, marks.height);
  for (const mark of view.card.querySelectorAll(".lit")) mark.classList.remove("lit");
  if (!at || !grid.maps[at.map]) return;
  const own = grid.maps[at.map].group;
  const { rows, cols } = grid.groups[own];
  ink.strokeStyle = grid.theme.focus;
  plan.spots.forEach((spot, map) => {
    if (grid.maps[map].group !== own) return;
    const { x, y, w, h } = cellBox(spot, rows.labels.length, cols.labels.length, at.row, at.col);
    ink.lineWidth = 2;
    ink.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
    if (map === at.map) ink.strokeRect(spot.x - 1.5, spot.y - 1.5, spot.w + 3, spot.h + 3);
  });
  for (const mark of view.card.querySelectorAll(`[data-row="${at.row}"], [data-col="${at.col}"]`)) mark.classList.add("lit");
  const outline = view.card.querySelector(".outline");
  if (outline && view.open !== null) {
    const box = view.geometry;
    outline.setAttribute("x", box.left + at.col * box.cell);
    outline.setAttribute("y", box.top + at.row * box.cell);
    outline.classList.add("lit");
  }
}

/** The enlarged map: over the place of the small one, with words at its sides. */
function drawCard(view) {
  const { grid, card, open, plan, room } = view;
  card.hidden = open === null;
  if (open === null) return;
  const spot = plan.spots[open];
  const { svg, geometry } = enlarged(grid, open, Math.min(room - 26, grid.theme.presenting ? 900 : 620));
  view.geometry = geometry;
  const words = grid.words;
  card.replaceChildren(html("div", { class: "card-title" }, [html("b", {}, tileName(grid, open)), ...[...told(grid, open), grid.picks ? words.picks : words.closes].map((text) => html("span", {}, text))]), svg);
  const [w, h] = [card.offsetWidth, card.offsetHeight];
  // Over its small map, but within the window, be it over what stands above the maps.
  const above = view.stage.getBoundingClientRect().top;
  const within = (middle, size, low, high) => Math.max(low, Math.min(middle - size / 2, high - size));
  card.style.left = `${within(spot.x + spot.w / 2, w, 0, room)}px`;
  card.style.top = `${within(spot.y + spot.h / 2, h, 8 - above, innerHeight - 8 - above)}px`;
}

function cardCell(view, event) {
  const { geometry, card, open } = view;
  const box = card.querySelector("svg").getBoundingClientRect();
  const col = Math.floor((event.clientX - box.left - geometry.left) / geometry.cell);
  const row = Math.floor((event.clientY - box.top - geometry.top) / geometry.cell);
  const inside = row >= 0 && col >= 0 && row < geometry.rows && col < geometry.cols;
  return inside ? { map: open, row, col } : null;
}

function enlarged(grid, map, most) {
  const { theme } = grid;
  const { group: g, values, full } = grid.maps[map];
  const group = grid.groups[g];
  const size = theme.presenting ? 18 : 14;
  const [rows, cols] = [group.rows.labels.map(visible), group.cols.labels.map(visible)];
  const wide = (labels) => Math.ceil(Math.max(...labels.map((label) => textWidth(label, size)))) + 10;
  const left = Math.max(wide(rows), Math.ceil(textWidth(`${group.rows.short} ↓`, size)) + 10);
  const cell = Math.max(4, Math.min(theme.presenting ? 64 : 46, Math.floor((most - left) / cols.length), Math.floor((theme.presenting ? 560 : 400) / rows.length)));
  const upright = wide(cols) - 4 > cell;
  const top = (upright ? wide(cols) : size + 8) + size + 8;
  const colour = weightsScale(theme);
  const nodes = [];
  const hatched = new Set();
  const every = Math.ceil((size + 2) / cell);
  rows.forEach((_, row) =>
    cols.forEach((__, col) => {
      const reason = reasonOf(group, row, col);
      if (reason) hatched.add(reason);
      const value = values[row * cols.length + col];
      const fillOf = reason ? `url(#card-${reason})` : colour(value / full);
      nodes.push(el("rect", { x: left + col * cell, y: top + row * cell, width: cell - 1, height: cell - 1, fill: fillOf }));
      if (!reason && cell >= 2.3 * size) {
        const [x, y] = [left + col * cell + cell / 2 - 0.5, top + row * cell + cell / 2 + size * 0.32];
        nodes.push(el("text", { x, y, "text-anchor": "middle", "font-size": size - 1, fill: inkOn(fillOf, theme) }, brief(value)));
      }
    }),
  );
  const label = (text, attrs) => el("text", { "font-size": size, fill: theme.text, ...attrs }, text);
  rows.forEach((text, row) => row % every === 0 && nodes.push(label(text, { x: left - 7, y: top + row * cell + cell / 2 + size * 0.35, "text-anchor": "end", "data-row": row })));
  cols.forEach((text, col) => {
    if (col % every) return;
    const [x, y] = [left + col * cell + cell / 2, top - 7];
    const turn = upright ? { transform: `translate(${x + size * 0.35},${y}) rotate(-90)` } : { x, y, "text-anchor": "middle" };
    nodes.push(label(text, { ...turn, "data-col": col }));
  });
  nodes.push(label(`${group.rows.short} ↓`, { x: left - 7, y: top - 7, "text-anchor": "end", fill: theme.muted }));
  nodes.push(label(`${group.cols.short} →`, { x: left, y: size, fill: theme.muted }));
  nodes.push(el("rect", { class: "outline", width: cell - 1, height: cell - 1, fill: "none", stroke: theme.focus, "stroke-width": 2.5 }));
  const [width, height] = [left + cols.length * cell, top + rows.length * cell];
  const svg = el("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, [
    el("defs", {}, [...hatched].map((kind) => hatch(`card-${kind}`, kind, theme))),
    el("rect", { x: left - 1, y: top - 1, width: cols.length * cell + 1, height: rows.length * cell + 1, fill: theme.line }),
    nodes,
  ]);
  return { svg, geometry: { left, top, cell, rows: rows.length, cols: cols.length } };
}

/** All maps as one drawing for a file. */
function sheet(grid) {
  const theme = { ...grid.theme, presenting: false };
  const plan = arranged(grid.groups, 1200, captionRoom(theme), 132);
  const pad = 20;
  const colour = weightsScale(theme);
  const kinds = new Set();
  const nodes = [el("text", { x: pad, y: pad + 8, "font-size": 15, fill: theme.muted }, grid.note)];
  plan.titles.forEach(({ x, y }, g) => nodes.push(el("text", { x: pad + x, y: y + 2 * pad + 15, "font-size": 15, "font-weight": 600, fill: theme.text }, grid.groups[g].title)));
  plan.spots.forEach((place, map) => {
    const spot = { ...place, x: place.x + pad, y: place.y + 2 * pad };
    const { group: g, values, full } = grid.maps[map];
    const group = grid.groups[g];
    const [rows, cols] = [group.rows.labels.length, group.cols.labels.length];
    const areas = new Map(); // one path a colour
    values.forEach((value, i) => {
      const [row, col] = [Math.floor(i / cols), i % cols];
      const reason = reasonOf(group, row, col);
      if (reason) kinds.add(reason);
      const { x, y, w, h } = cellBox(spot, rows, cols, row, col);
      const path = `M${x.toFixed(2)},${y.toFixed(2)}h${w.toFixed(2)}v${h.toFixed(2)}h${(-w).toFixed(2)}z`;
      const key = reason ? `url(#file-${reason})` : colour(value / full);
      areas.set(key, (areas.get(key) ?? "") + path);
    });
    nodes.push(
      el("text", { x: spot.x, y: spot.y - 4, "font-size": captionSize(theme), fill: theme.muted }, caption(grid, map, spot.w + GAP - 2)),
      el("g", { "shape-rendering": "crispEdges" }, [...areas].map(([fillOf, d]) => el("path", { d, fill: fillOf }))),
      el("rect", { x: spot.x - 0.5, y: spot.y - 0.5, width: spot.w + 1, height: spot.h + 1, fill: "none", stroke: theme.line }),
    );
  });
  const [width, height] = [1200 + 2 * pad, plan.height + 3 * pad];
  const legend = el("text", { x: pad, y: height - 10, "font-size": 13, fill: theme.muted }, grid.own_range ? `0 – ${grid.words.range_own}` : `0 – 1 ${grid.words.range}`);
  return el("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, [
    el("defs", {}, [...kinds].map((kind) => hatch(`file-${kind}`, kind, theme))),
    nodes,
    legend,
  ]);
}
