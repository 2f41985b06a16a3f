// The heads of a model over its training: see film.py for what the bytes hold. Playing asks nobody; the server hears of
// a step when the reader has come to rest at it, and of a head when one is clicked.

const FRAME = 420; // ms a picture
const TRACK = 84; // px
const REASON = { c: "causal", p: "padding", w: "window" };

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

/** Header and maps of the bytes that Python packed: {…header, maps: [{reel, layer, head, frames: [numbers, …]}, …]}. */
export function parsed(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const body = bytes.slice(4 + size);
  const numbers = header.exact ? new Float32Array(body.buffer) : Float32Array.from(body, (shade) => shade / 255);
  const maps = header.reels.flatMap((reel, r) =>
    Array.from({ length: reel.layers * reel.heads }, (_, i) => ({ reel: r, layer: Math.floor(i / reel.heads), head: i % reel.heads, frames: [] })),
  );
  let from = 0;
  for (let step = 0; step < header.steps.length; step += 1) {
    for (const map of maps) {
      const { rows, cols } = header.reels[map.reel];
      map.frames.push(numbers.subarray(from, (from += rows.length * cols.length)));
    }
  }
  if (from !== numbers.length) throw new Error(`${numbers.length} weights for ${from} cells`);
  return { ...header, maps };
}

/** The place of the recorded step that is nearest to a step; of two the earlier. */
export function placeOf(steps, step) {
  return steps.reduce((best, each, i) => (Math.abs(each - step) < Math.abs(steps[best] - step) ? i : best), 0);
}

/**
 * How far along the track a step lies, 0 to 1. Recorded steps lie evenly, since they are recorded more and more seldom;
 * a step between two lies between them.
 */
export function along(steps, step) {
  if (steps.length < 2) return 0;
  const after = steps.findIndex((each) => each >= step);
  if (after === 0) return 0;
  if (after < 0) return 1;
  const [low, high] = [steps[after - 1], steps[after]];
  return (after - 1 + (step - low) / (high - low)) / (steps.length - 1);
}

/** The curve of pairs [step, value] as the d of a path in a box of width × height whose top is the value `top`. */
export function curve(pairs, steps, top, width, height) {
  const last = steps.at(-1);
  return pairs
    .filter(([step, value]) => step <= last && Number.isFinite(value))
    .map(([step, value], i) => {
      const y = height * (1 - Math.max(0, Math.min(1, value / top)));
      return `${i ? "L" : "M"}${(along(steps, step) * width).toFixed(1)},${y.toFixed(1)}`;
    })
    .join("");
}

/** The value of pairs [step, value] that was measured last until a step; null if none was. */
export function latest(pairs, step) {
  const before = pairs.filter(([at]) => at <= step);
  return before.length ? before.at(-1)[1] : (pairs[0]?.[1] ?? null);
}

/** How large maps are, and how many stand in a row, so that `n` of them with `caption` over each fill a width. */
export function strip(n, rows, cols, width, gap, most) {
  const fitting = Math.floor((width + gap) / n) - gap;
  const w = Math.max(56, Math.min(most, fitting));
  const perRow = Math.max(1, Math.min(n, Math.floor((width + gap) / (w + gap))));
  return { w, h: Math.round(Math.max(w / 3, Math.min(1.2 * w, (w / cols) * rows))), perRow };
}

/** Every weight as a row of cells: step, attention, layer, head, query, key, weight. */
export function tableOf(reel) {
  const { words } = reel;
  const rows = [[words.step, words.attention, words.layer, words.head, words.query, words.key, words.weight]];
  reel.steps.forEach((step, i) => {
    for (const { reel: r, layer, head, frames } of reel.maps) {
      const { title, rows: queries, cols: keys, hidden } = reel.reels[r];
      queries.forEach((query, row) =>
        keys.forEach((key, col) => {
          const at = row * keys.length + col;
          if (REASON[hidden?.[at]]) return;
          rows.push([step, title, layer, head, `${row} ${query}`, `${col} ${key}`, Number(exact(frames[i][at]).replaceAll("−", "-"))]);
        }),
      );
    }
  });
  return rows;
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function film({ data, parentElement, setTriggerValue }) {
  const view = kept(parentElement, () => made(parentElement));
  const reel = parsed(data);
  view.send = setTriggerValue;
  view.reel = reel;
  themed(view.root, reel.theme).classList.toggle("presenting", Boolean(reel.theme.presenting));
  // What the server says holds when it says something new; else the reader is where the reader went.
  const asked = JSON.stringify([reel.steps, reel.at]);
  if (view.asked !== asked) {
    view.asked = asked;
    if (!view.timer) view.place = placeOf(reel.steps, reel.at);
  }
  view.place = Math.min(view.place, reel.steps.length - 1);
  if (view.askedHead !== String(reel.head)) [view.askedHead, view.head] = [String(reel.head), reel.head];
  draw(view);
  if (!view.watch) {
    view.watch = new ResizeObserver(() => roomOf(view) !== view.room && draw(view));
    for (const each of [view.root, view.track, view.large, view.grid.parentElement, view.strip]) view.watch.observe(each);
  }
  return () =>
    setTimeout(() => {
      if (view.root.isConnected) return;
      stop(view);
      view.watch?.disconnect();
      view.watch = null;
    });
}

function made(parentElement) {
  const view = { place: 0, head: null, timer: null };
  view.play = html("button", { type: "button", class: "play", onclick: () => (view.timer ? rest(view) : start(view)) });
  view.range = html("input", { type: "range", min: 0, step: 1, class: "reach" });
  view.range.addEventListener("input", () => {
    stop(view);
    show(view, Number(view.range.value));
  });
  // A slider tells of each place by `input`, and of where it came to rest by `change`.
  view.range.addEventListener("change", () => rest(view));
  view.track = html("div", { class: "track" });
  view.saves = html("div", { class: "corner" });
  view.says = html("div", { class: "says" });
  view.writes = html("div", { class: "writes" });
  view.note = html("div", { class: "film-note" });
  view.grid = html("canvas", { class: "grid", "aria-hidden": "true" });
  view.large = html("div", { class: "large" });
  view.strip = html("div", { class: "strip" });
  view.heard = html("div", { class: "heard", "aria-live": "polite" });
  view.root = html("div", { class: "pg film", role: "group" }, [
    html("div", { class: "way" }, [view.play, html("div", { class: "lane" }, [view.track, view.range]), view.saves]),
    html("div", { class: "told" }, [view.says, view.writes]),
    html("div", { class: "stage" }, [html("div", { class: "all" }, [view.grid]), view.large]),
    view.note,
    view.strip,
    view.heard,
  ]);
  parentElement.append(view.root);
  view.tip = tooltip(view.root);
  view.grid.addEventListener("click", (event) => {
    const map = under(view, event);
    if (map >= 0) choose(view, view.reel.maps[map]);
  });
  view.grid.addEventListener("pointermove", (event) => {
    const map = under(view, event);
    view.grid.style.cursor = map >= 0 ? "pointer" : "default";
    if (map >= 0) view.tip.show([nameOf(view.reel, view.reel.maps[map]), view.reel.words.choose], event.clientX, event.clientY);
    else view.tip.hide();
  });
  view.grid.addEventListener("pointerleave", () => view.tip.hide());
  return view;
}

function start(view) {
  if (view.place >= view.reel.steps.length - 1) show(view, 0);
  view.timer = setInterval(() => {
    if (view.place >= view.reel.steps.length - 1 || !view.root.isConnected) return rest(view);
    show(view, view.place + 1);
  }, FRAME);
  show(view, view.place);
}

function stop(view) {
  clearInterval(view.timer);
  view.timer = null;
}

/** Come to rest at the present step, and say so. */
function rest(view) {
  stop(view);
  show(view, view.place);
  view.send("step", view.reel.steps[view.place]);
}

function choose(view, { reel, layer, head }) {
  view.head = [view.reel.reels[reel].id, layer, head];
  draw(view);
  view.heard.textContent = nameOf(view.reel, chosen(view));
  view.send("head", view.head);
}

function chosen(view) {
  const { maps, reels } = view.reel;
  const [where, layer, head] = view.head ?? [];
  return maps.find((map) => reels[map.reel].id === where && map.layer === layer && map.head === head) ?? maps.at(-1);
}

const nameOf = (reel, { reel: r, layer, head }) => `${reel.reels[r].title}, ${fill(reel.words.tile, { layer, head })}`;

/** How much room there is, as a text: with other room all is drawn anew. */
const roomOf = (view) => [view.root, view.track, view.large, view.grid.parentElement, view.strip].map((each) => each.clientWidth).join(" ");

/** All that does not change from step to step. */
function draw(view) {
  const { reel, root } = view;
  const { theme, words } = reel;
  view.width = root.clientWidth || 900;
  view.room = roomOf(view);
  root.setAttribute("aria-label", reel.alt);
  view.note.textContent = reel.exact ? reel.note : `${reel.note} · ${words.rounded}`;
  view.range.max = String(reel.steps.length - 1);
  view.range.setAttribute("aria-label", words.keys);
  drawTrack(view);
  const saved = `${theme.name} ${words.save} ${reel.filename}`;
  if (view.saved !== saved) {
    view.saved = saved;
    view.saves.replaceChildren(saveMenu({ words, theme, name: reel.filename, label: reel.alt, svg: () => stripSvg(view), rows: () => tableOf(view.reel) }));
  }
  view.spots = null;
  drawStrip(view);
  show(view, view.place);
}

function drawTrack(view) {
  const { reel, track } = view;
  const { theme, steps, words } = reel;
  const width = Math.max(80, track.clientWidth || view.width - 120);
  const inside = TRACK - 20;
  const top = 1.1 * Math.max(reel.chance, ...reel.held_out.map(([, value]) => Math.min(value, 1.4 * reel.chance)));
  const line = (pairs, attrs) => el("path", { d: curve(pairs, steps, top, width, inside), fill: "none", ...attrs });
  const level = inside * (1 - reel.chance / top);
  const labels = [];
  let free = -Infinity;
  const size = theme.presenting ? 18 : 12;
  steps.forEach((step, i) => {
    const text = step.toLocaleString("en");
    const x = along(steps, step) * width;
    const wide = textWidth(text, size) / 2;
    const middle = Math.max(wide, Math.min(width - wide, x));
    const isLast = i === steps.length - 1;
    if (isLast && middle - wide < free + 6) labels.pop(); // the last step is always told
    else if (middle - wide < free + 6) return;
    free = middle + wide;
    labels.push(el("text", { x: middle, y: TRACK - 4, "text-anchor": "middle", "font-size": size, fill: theme.muted, "data-step": i }, text));
  });
  view.knob = el("line", { y1: 0, y2: inside, stroke: theme.focus, "stroke-width": 4 });
  track.replaceChildren(
    el("svg", { width, height: TRACK, viewBox: `0 0 ${width} ${TRACK}`, "aria-hidden": "true" }, [
      el("rect", { width, height: inside, fill: theme.surface, rx: 4 }),
      el("line", { x1: 0, x2: width, y1: level, y2: level, stroke: theme.text, "stroke-dasharray": "5 4" }),
      el("text", { x: width - 6, y: level + size + 1, "text-anchor": "end", "font-size": size, fill: theme.text }, words.guessing),
      line(reel.loss, { stroke: theme.weights, "stroke-width": 2 }),
      line(reel.held_out, { stroke: theme.key, "stroke-width": 2, "stroke-dasharray": "2 3" }),
      steps.map((step) => el("circle", { cx: along(steps, step) * width, cy: inside, r: 2.5, fill: theme.muted })),
      labels,
      view.knob,
    ]),
  );
  view.trackWidth = width;
}

/** What changes from step to step: knob, words, maps. */
function show(view, place) {
  const { reel } = view;
  const { steps, words, theme } = reel;
  view.place = Math.max(0, Math.min(steps.length - 1, place));
  const step = steps[view.place];
  const x = Math.max(2, Math.min(view.trackWidth - 2, along(steps, step) * view.trackWidth));
  for (const end of ["x1", "x2"]) view.knob.setAttribute(end, x);
  if (Number(view.range.value) !== view.place) view.range.value = String(view.place);
  const told = [fill(words.step, { step: step.toLocaleString("en") })];
  for (const [name, pairs] of [[words.loss, reel.loss], [words.held_out, reel.held_out]]) {
    const value = latest(pairs, step);
    if (value !== null) told.push(`${name} ${value.toFixed(2)}`);
  }
  view.says.textContent = told.join(" · ");
  view.range.setAttribute("aria-valuetext", told.join(", "));
  view.writes.replaceChildren(html("span", {}, `${words.writes} `), html("b", {}, reel.written[view.place] || words.nothing));
  const name = view.timer ? words.pause : words.play;
  if (view.play.title !== name) {
    view.play.title = name;
    view.play.setAttribute("aria-label", name);
    view.play.replaceChildren(
      el("svg", { width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": "true" }, [
        el("path", { fill: "currentColor", d: view.timer ? "M5 3h3.5v14H5zM11.5 3H15v14h-3.5z" : "M5 3l12 7-12 7z" }),
      ]),
    );
  }
  view.root.dataset.place = String(view.place);
  drawGrid(view);
  drawLarge(view);
  for (const frame of view.strip.querySelectorAll(".frame")) {
    const is = Number(frame.dataset.place) === view.place;
    frame.classList.toggle("now", is);
    frame.setAttribute("aria-pressed", String(is));
  }
}

const shadeTables = new Map();

function shadesOf(theme) {
  if (!shadeTables.has(theme.name)) {
    const scale = weightsScale(theme);
    shadeTables.set(theme.name, new Uint32Array(Uint8Array.from(Array.from({ length: 256 }, (_, i) => [...rgb(scale(i / 255)), 255]).flat()).buffer));
  }
  return shadeTables.get(theme.name);
}

/** What a hidden cell of a small map is filled with. */
function hatched(ink, theme) {
  const tile = html("canvas", { width: 6, height: 6 });
  const brush = tile.getContext("2d");
  brush.fillStyle = theme.surface;
  brush.fillRect(0, 0, 6, 6);
  brush.strokeStyle = theme.hidden;
  brush.lineWidth = 0.9;
  for (const shift of [-6, 0, 6]) {
    brush.moveTo(shift, 6);
    brush.lineTo(shift + 6, 0);
  }
  brush.stroke();
  return ink.createPattern(tile, "repeat");
}

/** Paint a map's cells, a pixel each, and stretch them to a box. */
function paintMap(ink, view, map, place, box) {
  const { rows, cols } = view.reel.reels[map.reel];
  const colours = shadesOf(view.reel.theme);
  const scratch = (view.scratch ??= html("canvas"));
  [scratch.width, scratch.height] = [cols.length, rows.length];
  const brush = scratch.getContext("2d");
  const image = brush.createImageData(cols.length, rows.length);
  const pixels = new Uint32Array(image.data.buffer);
  const values = map.frames[place];
  for (let i = 0; i < pixels.length; i += 1) pixels[i] = colours[Math.round(Math.max(0, Math.min(1, values[i])) * 255)];
  brush.putImageData(image, 0, 0);
  ink.imageSmoothingEnabled = false;
  ink.drawImage(scratch, box.x, box.y, box.w, box.h);
  const { hidden } = view.reel.reels[map.reel];
  if (hidden) {
    ink.fillStyle = hatched(ink, view.reel.theme);
    ink.beginPath();
    const [w, h] = [box.w / cols.length, box.h / rows.length];
    for (let at = 0; at < hidden.length; at += 1) {
      if (REASON[hidden[at]]) ink.rect(box.x + (at % cols.length) * w, box.y + Math.floor(at / cols.length) * h, w, h);
    }
    ink.fill();
  }
  ink.strokeStyle = view.reel.theme.line;
  ink.lineWidth = 1;
  ink.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
}

/** Where each small map lies: a row a layer, attentions under one another. */
function spotsOf(view, room) {
  const { reel } = view;
  const { theme } = reel;
  const title = theme.presenting ? 30 : 22;
  const most = Math.max(...reel.reels.map(({ heads }) => heads));
  const w = Math.max(14, Math.min(84, Math.floor((room + 6) / most) - 6));
  const spots = [];
  const titles = [];
  let top = 0;
  reel.reels.forEach((each, r) => {
    const h = Math.round(Math.max(w / 3, Math.min(w, (w / each.cols.length) * each.rows.length)));
    titles.push({ x: 0, y: top + title - 7, text: each.title });
    top += title;
    for (let layer = 0; layer < each.layers; layer += 1) {
      for (let head = 0; head < each.heads; head += 1) spots.push({ reel: r, x: 1 + head * (w + 6), y: top + 1, w, h });
      top += h + 6;
    }
    top += 4;
  });
  return { spots, titles, height: top, width: most * (w + 6) };
}

function drawGrid(view) {
  const { grid, reel } = view;
  const { theme } = reel;
  const room = Math.max(120, grid.parentElement.clientWidth || 380);
  view.spots ??= spotsOf(view, room);
  const density = globalThis.devicePixelRatio || 1;
  const { spots, titles, height } = view.spots;
  const size = [Math.round(room * density), Math.round(height * density)];
  if (grid.width !== size[0]) grid.width = size[0];
  if (grid.height !== size[1]) grid.height = size[1];
  [grid.style.width, grid.style.height] = [`${room}px`, `${height}px`];
  const ink = grid.getContext("2d");
  ink.setTransform(density, 0, 0, density, 0, 0);
  ink.clearRect(0, 0, room, height);
  ink.fillStyle = theme.muted;
  ink.font = `600 ${theme.presenting ? 19 : 13.5}px ${FONT}`;
  for (const { x, y, text } of titles) ink.fillText(text, x, y);
  const now = chosen(view);
  spots.forEach((spot, i) => {
    paintMap(ink, view, reel.maps[i], view.place, spot);
    if (reel.maps[i] !== now) return;
    ink.strokeStyle = theme.focus;
    ink.lineWidth = 3;
    ink.strokeRect(spot.x - 1.5, spot.y - 1.5, spot.w + 3, spot.h + 3);
  });
}

function under(view, event) {
  const box = view.grid.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  return view.spots ? view.spots.spots.findIndex((spot) => x >= spot.x && x < spot.x + spot.w && y >= spot.y && y < spot.y + spot.h) : -1;
}

/** The chosen head with its words. The frame is made once a head; from step to step only colours change. */
function drawLarge(view) {
  const { reel, large } = view;
  const { theme, words } = reel;
  const map = chosen(view);
  const { rows, cols, hidden } = reel.reels[map.reel];
  const room = large.clientWidth || 420;
  const key = JSON.stringify([nameOf(reel, map), rows, cols, theme, room, hidden]);
  const values = () => map.frames[view.place];
  const colour = weightsScale(theme);
  if (view.largeOf !== key) {
    view.largeOf = key;
    const type = theme.presenting ? 18 : 13.5;
    const left = Math.min(Math.max(...rows.map((word) => textWidth(visible(word), type))) + 10, 0.42 * room);
    const longest = Math.max(...cols.map((word) => textWidth(visible(word), type)));
    const cell = Math.max(10, Math.min(44, Math.floor((room - left - 24) / cols.length), Math.floor(400 / rows.length)));
    const steep = longest > cell - 4;
    const top = steep ? longest * 0.87 + 12 : type + 10;
    view.cells = [];
    const nodes = [];
    rows.forEach((word, row) => {
      nodes.push(el("text", { x: left - 6, y: top + (row + 0.5) * cell + type * 0.35, "text-anchor": "end", "font-size": type, fill: theme.query }, visible(word)));
      cols.forEach((_, col) => {
        const reason = REASON[hidden?.[row * cols.length + col]];
        const rect = el("rect", { x: left + col * cell, y: top + row * cell, width: cell - 1, height: cell - 1, fill: reason ? `url(#film-${reason})` : theme.background });
        rect.addEventListener("pointermove", (event) => {
          const now = chosen(view);
          const weight = now.frames[view.place][row * cols.length + col];
          const said = reason ? [words[reason]] : [[words.weight, reel.exact ? exact(weight) : short(weight)]];
          view.tip.show([[words.query, visible(rows[row])], [words.key, visible(cols[col])], ...said], event.clientX, event.clientY);
        });
        rect.addEventListener("pointerleave", () => view.tip.hide());
        view.cells.push(reason ? null : rect);
        nodes.push(rect);
      });
    });
    cols.forEach((word, col) => {
      const x = left + (col + 0.5) * cell;
      nodes.push(el("text", { x, y: top - 6, "text-anchor": steep ? "start" : "middle", "font-size": type, fill: theme.key, transform: steep ? `rotate(-60 ${x} ${top - 6})` : null }, visible(word)));
    });
    const out = steep ? textWidth(visible(cols.at(-1)), type) * 0.5 : 0;
    const [width, height] = [left + cols.length * cell + out, top + rows.length * cell];
    large.replaceChildren(
      html("b", {}, nameOf(reel, map)),
      el("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, [
        el("defs", {}, Object.values(REASON).map((kind) => hatch(`film-${kind}`, kind, theme))),
        el("rect", { x: left - 1, y: top - 1, width: cols.length * cell + 1, height: rows.length * cell + 1, fill: theme.line }),
        nodes,
      ]),
    );
  }
  view.cells.forEach((rect, i) => rect?.setAttribute("fill", colour(values()[i])));
}

/** The chosen head at every step. */
function drawStrip(view) {
  const { reel, strip: place } = view;
  const { theme, words, steps } = reel;
  const map = chosen(view);
  const { rows, cols } = reel.reels[map.reel];
  const room = place.clientWidth || view.width;
  const { w, h } = strip(steps.length, rows.length, cols.length, room, 11, theme.presenting ? 130 : 104);
  const density = globalThis.devicePixelRatio || 1;
  place.replaceChildren(
    html("div", { class: "strip-title" }, `${words.strip} ${nameOf(reel, map)}`),
    html(
      "div",
      { class: "frames" },
      steps.map((step, i) => {
        const canvas = html("canvas", { width: Math.round((w + 2) * density), height: Math.round((h + 2) * density), style: `width:${w + 2}px;height:${h + 2}px`, "aria-hidden": "true" });
        const ink = canvas.getContext("2d");
        ink.setTransform(density, 0, 0, density, 0, 0);
        paintMap(ink, view, map, i, { x: 1, y: 1, w, h });
        const text = fill(words.step, { step: step.toLocaleString("en") });
        const go = () => {
          stop(view);
          show(view, i);
          rest(view);
        };
        return html("button", { type: "button", class: "frame", "data-place": i, "aria-label": text, onclick: go }, [html("span", {}, step.toLocaleString("en")), canvas]);
      }),
    ),
  );
}

/** The strip as one drawing for a file. */
function stripSvg(view) {
  const { reel } = view;
  const { theme, steps } = reel;
  const map = chosen(view);
  const { rows, cols, hidden } = reel.reels[map.reel];
  const { w, h, perRow } = strip(steps.length, rows.length, cols.length, 1200, 12, 140);
  const colour = weightsScale(theme);
  const nodes = [el("text", { x: 16, y: 28, "font-size": 16, "font-weight": 600, fill: theme.text }, nameOf(reel, map))];
  steps.forEach((step, i) => {
    const [x, y] = [16 + (i % perRow) * (w + 12), 62 + Math.floor(i / perRow) * (h + 34)];
    nodes.push(el("text", { x, y: y - 5, "font-size": 13, fill: theme.muted }, step.toLocaleString("en")));
    const areas = new Map(); // one path a colour
    map.frames[i].forEach((value, at) => {
      const reason = REASON[hidden?.[at]];
      const fillOf = reason ? `url(#file-${reason})` : colour(value);
      const [row, col] = [Math.floor(at / cols.length), at % cols.length];
      const [cw, ch] = [w / cols.length, h / rows.length];
      const d = `M${(x + col * cw).toFixed(2)},${(y + row * ch).toFixed(2)}h${cw.toFixed(2)}v${ch.toFixed(2)}h${(-cw).toFixed(2)}z`;
      areas.set(fillOf, (areas.get(fillOf) ?? "") + d);
    });
    nodes.push(...[...areas].map(([fillOf, d]) => el("path", { d, fill: fillOf, "shape-rendering": "crispEdges" })));
    nodes.push(el("rect", { x: x - 0.5, y: y - 0.5, width: w + 1, height: h + 1, fill: "none", stroke: theme.line }));
  });
  const [width, height] = [32 + perRow * (w + 12), 62 + Math.ceil(steps.length / perRow) * (h + 34)];
  return el("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, [el("defs", {}, Object.values(REASON).map((kind) => hatch(`file-${kind}`, kind, theme))), nodes]);
}
