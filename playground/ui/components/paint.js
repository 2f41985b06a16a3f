// A mask under the brush. A stroke begins on a cell, turns it round, and gives every cell that it meets the same; only
// when it ends does the server hear of it. Keys: arrows walk, Space or Enter turns one cell round, Escape undoes a stroke.

const SAVE = 34; // pixels at the right for the save menu
const REASON = { c: "causal", p: "padding", w: "window", h: "hand" };

/** Cells on the straight line from one to another, both included: a fast pointer skips none. */
export function onTheWay([r0, c0], [r1, c1]) {
  const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0));
  if (steps === 0) return [[r1, c1]];
  return Array.from({ length: steps + 1 }, (_, i) => [r0 + Math.round(((r1 - r0) * i) / steps), c0 + Math.round(((c1 - c0) * i) / steps)]);
}

/** The mask as it is sent: row by row "1" where a query may look. */
export function sent(open) {
  return open.map((cell) => (cell ? "1" : "0")).join("");
}

/** Where an arrow key leads from a cell; null for another key. */
export function walked([row, col], name, rows, cols) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[name];
  return step ? [Math.max(0, Math.min(rows - 1, row + step[0])), Math.max(0, Math.min(cols - 1, col + step[1]))] : null;
}

export default function paint({ data, parentElement, setTriggerValue }) {
  const view = kept(parentElement, () => {
    const root = html("div", { class: "pg paint" });
    parentElement.append(root);
    return { root, at: [0, 0], stroke: null };
  });
  view.data = data;
  view.send = (text) => setTriggerValue("stroke", text);
  themed(view.root, data.theme).classList.toggle("presenting", Boolean(data.theme.presenting));
  if (!view.watch) {
    view.watch = new ResizeObserver(() => view.root.clientWidth !== view.width && !view.stroke && draw(view));
    view.watch.observe(view.root);
  }
  // A stroke that is under way is not painted over by an answer to the one before.
  if (!view.stroke) draw(view);
  return () => {
    view.watch.disconnect();
    view.watch = null;
  };
}

function draw(view) {
  const { root, data } = view;
  const { theme, words } = data;
  const focused = root.getRootNode().activeElement?.classList?.contains("board");
  const [rows, cols] = [data.rows.map(visible), data.cols.map(visible)];
  const type = theme.presenting ? 18 : 14;
  view.width = root.clientWidth;
  const room = (view.width || 420) - SAVE;
  const left = Math.min(Math.max(...rows.map((word) => textWidth(word, type))) + 12, 0.34 * room);
  const longest = Math.max(...cols.map((word) => textWidth(word, type)));
  const fitting = (width) => Math.max(13, Math.min(theme.presenting ? 54 : 46, Math.floor(width / cols.length)));
  const steep = longest > fitting(room - left - 4) - 4;
  // A word that leans stands out over the last column by half its length.
  const out = steep ? textWidth(cols.at(-1), type) * 0.5 : 0;
  const cell = fitting(room - left - 4 - Math.max(0, out - 8));
  const top = steep ? longest * 0.87 + 14 : type + 12;
  view.at = [Math.min(view.at[0], rows.length - 1), Math.min(view.at[1], cols.length - 1)];
  const before = Array.from(data.hidden, (letter) => letter === ".");
  const open = [...before];
  const cells = [];
  const index = ([row, col]) => row * cols.length + col;
  const fill = (i) => (open[i] ? theme.weights : `url(#paint-${before[i] ? "hand" : REASON[data.hidden[i]]})`);
  const say = (place) => `${words.query} ${data.rows[place[0]]}, ${words.key} ${data.cols[place[1]]}: ${open[index(place)] ? words.open : words.shut}`;
  const heard = html("div", { class: "heard", "aria-live": "polite" });
  const set = (place, value) => {
    open[index(place)] = value;
    cells[index(place)].setAttribute("fill", fill(index(place)));
  };
  const stand = (place) => {
    view.at = place;
    cursor.setAttribute("x", left + place[1] * cell);
    cursor.setAttribute("y", top + place[0] * cell);
    heard.textContent = say(place);
  };
  for (let row = 0; row < rows.length; row += 1) {
    for (let col = 0; col < cols.length; col += 1) {
      const i = index([row, col]);
      cells.push(el("rect", { class: "cell", x: left + col * cell + 1, y: top + row * cell + 1, width: cell - 2, height: cell - 2, rx: 2, fill: fill(i), stroke: theme.line }));
    }
  }
  const cursor = el("rect", { class: "cursor", "data-passing": "", width: cell, height: cell, rx: 3, fill: "none", stroke: theme.focus, "stroke-width": 3 });
  const size = [left + cols.length * cell + 2 + out, top + rows.length * cell + 2];
  const svg = el("svg", { class: "board", role: "application", tabindex: 0, "aria-label": `${data.alt}. ${words.keys}`, width: size[0], height: size[1], viewBox: `0 0 ${size[0]} ${size[1]}` }, [
    el("defs", {}, Object.values(REASON).map((kind) => hatch(`paint-${kind}`, kind, theme))),
    rows.map((word, row) => el("text", { x: left - 6, y: top + (row + 0.5) * cell + type * 0.35, "text-anchor": "end", "font-size": type, fill: theme.query }, word)),
    cols.map((word, col) => {
      const x = left + (col + 0.5) * cell;
      return el("text", { x, y: top - 6, "text-anchor": steep ? "start" : "middle", "font-size": type, fill: theme.key, transform: steep ? `rotate(-60 ${x} ${top - 6})` : null }, word);
    }),
    cells,
    cursor,
  ]);
  const place = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = size[0] / box.width;
    const spot = [Math.floor(((event.clientY - box.top) * scale - top) / cell), Math.floor(((event.clientX - box.left) * scale - left) / cell)];
    return spot[0] >= 0 && spot[1] >= 0 && spot[0] < rows.length && spot[1] < cols.length ? spot : null;
  };
  const end = (keep) => {
    if (!view.stroke) return;
    const from = view.stroke.was;
    view.stroke = null;
    if (!keep) from.forEach((value, i) => set([Math.floor(i / cols.length), i % cols.length], value));
    else if (sent(open) !== sent(from)) view.send(sent(open));
  };
  svg.addEventListener("pointerdown", (event) => {
    const start = place(event);
    if (!start || event.button !== 0) return;
    event.preventDefault();
    svg.focus({ preventScroll: true });
    svg.setPointerCapture(event.pointerId);
    view.stroke = { last: start, value: !open[index(start)], was: [...open] };
    set(start, view.stroke.value);
    stand(start);
  });
  svg.addEventListener("pointermove", (event) => {
    const to = place(event);
    if (!view.stroke || !to) return;
    for (const each of onTheWay(view.stroke.last, to)) set(each, view.stroke.value);
    view.stroke.last = to;
    stand(to);
  });
  svg.addEventListener("pointerup", () => end(true));
  svg.addEventListener("pointercancel", () => end(false));
  svg.addEventListener("keydown", (event) => {
    const to = walked(view.at, event.key, rows.length, cols.length);
    if (to) stand(to);
    else if (event.key === " " || event.key === "Enter") {
      if (!event.repeat) {
        set(view.at, !open[index(view.at)]);
        stand(view.at);
        view.send(sent(open));
      }
    } else if (event.key === "Escape") end(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const legend = html("div", { class: "legend" }, [
    html("span", {}, [html("i", { class: "swatch" }), words.open]),
    Object.values(REASON)
      .filter((kind) => data.hidden.includes(kind[0]) || kind === "hand")
      .map((kind) => html("span", {}, [el("svg", { width: 18, height: 14, "aria-hidden": "true" }, [el("defs", {}, hatch(`brush-${kind}`, kind, theme)), el("rect", { width: 18, height: 14, fill: `url(#brush-${kind})`, stroke: theme.line })]), words[kind]])),
  ]);
  const table = () => [["", ...data.cols], ...data.rows.map((word, row) => [word, ...open.slice(row * cols.length, (row + 1) * cols.length).map(Number)])];
  root.replaceChildren(html("div", { class: "bench" }, [html("div", { class: "room" }, svg), saveMenu({ words, theme, name: data.filename, svg: () => svg, rows: table, label: data.alt })]), legend, heard);
  stand(view.at);
  heard.textContent = "";
  if (focused) svg.focus({ preventScroll: true });
}
