// Labelled matrices: a chain of them that leads from one to the next, or a few side by side.
// A block comes from matrix.py: {id, title, formula, role, scale, limit, via, note, stage, shape, rows, cols, values,
// hidden, operands}. Whoever hovers a cell sees its row, column and value, and the cells it was made from.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

/** Which cells another block's cell (row, col) is made from: {id: {rows: [from, to] | null, cols: …}}; null = all. */
export function litBy(blocks, id, row, col) {
  const at = new Map(blocks.map((block) => [block.id, block]));
  const lit = {};
  for (const operand of at.get(id)?.operands ?? []) {
    const target = at.get(operand.block);
    if (!target) continue;
    const place = (axis, size) => {
      if (operand[axis] === null) return null;
      const index = (operand[axis] === "row" ? row : col) - (operand[`${axis}_from`] ?? 0);
      return index >= 0 && index < size ? [index, index] : undefined;
    };
    const rows = place("row", target.rows.labels.length);
    const cols = place("col", target.cols.labels.length);
    if (rows !== undefined && cols !== undefined) lit[operand.block] = { rows, cols };
  }
  return lit;
}

/** The cell under (x, y) of a drawn matrix, or null beside it. */
export function cellAt(geometry, x, y) {
  const col = Math.floor((x - geometry.left) / geometry.cw);
  const row = Math.floor((y - geometry.top) / geometry.ch);
  return row >= 0 && row < geometry.rows && col >= 0 && col < geometry.cols ? { row, col } : null;
}

/** Where an arrow key leads from a cell; the edges hold. Null for another key. */
export function walked(key, { row, col }, rows, cols) {
  const to = {
    ArrowUp: [row - 1, col],
    ArrowDown: [row + 1, col],
    ArrowLeft: [row, col - 1],
    ArrowRight: [row, col + 1],
    Home: [row, 0],
    End: [row, cols - 1],
  }[key];
  return to ? { row: Math.max(0, Math.min(rows - 1, to[0])), col: Math.max(0, Math.min(cols - 1, to[1])) } : null;
}

/** Every how many-th tick can be written when each needs `room` pixels: 1, 2, 4, 8, … */
export function tickStep(size, room) {
  let step = 1;
  while (size * step < room) step *= 2;
  return step;
}

/** Why a cell is hidden: "causal", "padding", or "" for a cell that counts. */
export function reasonAt(block, row, col) {
  return block.hidden ? { c: "causal", p: "padding", w: "window", h: "hand" }[block.hidden[row * block.cols.labels.length + col]] ?? "" : "";
}

/** A block's numbers as rows of cells, with its labels; a hidden cell says why instead of a number. */
export function table(block, numbers, words) {
  const width = block.cols.labels.length;
  const head = [`${block.rows.short} \\ ${block.cols.short}`, ...block.cols.labels];
  return [
    head,
    ...block.rows.labels.map((label, row) => [
      label,
      ...block.cols.labels.map((_, col) => {
        const reason = reasonAt(block, row, col);
        return reason ? words[reason] : Number(exact(numbers[row * width + col]).replaceAll("−", "-"));
      }),
    ]),
  ];
}

/** Several blocks as one long table: block, row, column, value. */
export function longTable(blocks, numbersOf, words) {
  const rows = [[words.block, words.row, words.column, words.value]];
  for (const block of blocks) {
    const [, ...body] = table(block, numbersOf(block), words);
    body.forEach(([label, ...cells], row) => {
      cells.forEach((cell, col) => {
        const place = (axis, index, name) => (axis.words ? `${index} ${name}` : name);
        rows.push([block.title, place(block.rows, row, label), place(block.cols, col, block.cols.labels[col]), cell]);
      });
    });
  }
  return rows;
}

const EDGE = 1; // px of frame around the cells
const ARROW = 58; // px for the sign between two matrices

/**
 * How wide each column of some matrices is, so that they fill `width` together; broken into lines where they must be.
 *
 * @param wants [{fixed, cols, min, max}, …]: a matrix takes fixed + cols · cell, with min ≤ cell ≤ max.
 * @returns Lines of [{index, cell}, …].
 */
export function fitted(wants, width, gap = ARROW) {
  const least = (want) => want.fixed + want.cols * want.min;
  const breakInto = (limit, most) => {
    const lines = [];
    let taken = Infinity;
    wants.forEach((want, index) => {
      if (taken + gap + least(want) > limit || lines.at(-1).length >= most) {
        lines.push([]);
        taken = -gap;
      }
      lines.at(-1).push(index);
      taken += gap + least(want);
    });
    return lines;
  };
  // As few lines as possible, and about as many matrices in each.
  const greedy = breakInto(width, Infinity);
  const even = breakInto(width, Math.ceil(wants.length / Math.max(1, greedy.length)));
  const lines = even.length === greedy.length ? even : greedy;
  return lines.map((line) => {
    const room = width - gap * (line.length - 1);
    const cell = (want, grow) => Math.min(want.max, want.min * grow);
    const total = (grow) => line.reduce((sum, i) => sum + wants[i].fixed + wants[i].cols * cell(wants[i], grow), 0);
    let [low, high] = [0.05, 60];
    for (let i = 0; i < 40; i += 1) {
      const middle = (low + high) / 2;
      if (total(middle) <= room) low = middle;
      else high = middle;
    }
    return line.map((index) => {
      const size = cell(wants[index], low);
      return { index, cell: size >= 6 ? Math.floor(size + 1e-6) : Math.floor(size * 4) / 4 };
    });
  });
}

/** Width and height of a thumbnail's cell when a word's cell is `size` pixels: dimensions are many, so theirs are narrow. */
export function thumbCell(block, size) {
  const cols = block.cols.labels.length;
  if (block.cols.words) return [size, size];
  const cell = Math.min(size, (size * 8) / Math.max(8, cols));
  return [cell >= 3 ? Math.floor(cell) : Math.max(1, Math.floor(cell * 4) / 4), size];
}

/** The largest cell, of 6 px to `most`, with which the thumbnails of a chain stand in one line of `width`; 5 if none. */
export function stripSize(blocks, titles, groups, width, most) {
  const tall = Math.max(...blocks.map((block) => block.rows.labels.length));
  const [pad, between, around] = [14, 4, 20];
  const total = (size) =>
    blocks.reduce((sum, block, i) => {
      const cells = block.cols.labels.length * thumbCell(block, size)[0] + 2 * EDGE;
      return sum + Math.max(cells, titles[i]) + pad + between;
    }, groups * around);
  const limit = Math.max(3, Math.min(most, Math.floor(150 / tall)));
  for (let size = limit; size >= Math.min(6, limit); size -= 1) if (total(size) <= width) return size;
  return Math.min(5, limit);
}

// ── Geometry of one matrix ───────────────────────────────────────────────────────────────────────────────────────

// Characters of a label beside a row and above a column; the tooltip has the rest.
const LONGEST = { row: 22, col: 14 };

function clipped(text, most = LONGEST.col) {
  const letters = [...visible(text)];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

/** Type sizes of a picture: `large` for one that stands alone. */
function typeOf(theme, large) {
  const label = theme.presenting ? (large ? 22 : 18) : large ? 16 : 13;
  return { label, number: theme.presenting ? (large ? 20 : 17) : large ? 15 : 12.5, row: Math.round(label * 1.9) };
}

/** What a matrix wants of the width: see `fitted`. */
function wanted(block, type, large) {
  const gutter = gutterOf(block, type);
  const numbers = 3.1 * type.number; // px that "−1.23" takes, with air
  if (block.cols.words) {
    const longest = Math.max(0, ...block.cols.labels.map((label) => textWidth(clipped(label), type.label))) + 8;
    const upright = block.cols.labels.length > 12;
    const min = upright ? type.label + 5 : Math.min(longest, 4.2 * type.label);
    return { fixed: gutter + 2 * EDGE, cols: block.cols.labels.length, min, max: Math.max(min, large ? 84 : 58) };
  }
  const few = block.cols.labels.length <= 10;
  return {
    fixed: gutter + 2 * EDGE,
    cols: block.cols.labels.length,
    min: few ? numbers : block.cols.labels.length > 24 ? 3 : 7,
    max: few ? 1.6 * numbers : large ? numbers + 4 : 26,
  };
}

function gutterOf(block, type) {
  const names = [...block.rows.labels.map((label) => clipped(label, LONGEST.row)), `${block.rows.short} ↓`];
  return Math.ceil(Math.max(...names.map((label) => textWidth(label, type.label)))) + 10;
}

/** Where a matrix's cells and labels lie; `labels` is the least room above them, so that neighbours' rows are level. */
function geometryOf(block, type, cell, large, least = 0) {
  const [rows, cols] = [block.rows.labels.length, block.cols.labels.length];
  const widths = block.cols.labels.map((label) => textWidth(clipped(label), type.label));
  const upright = block.cols.words && Math.max(0, ...widths) > cell - 3;
  const head = Math.round(type.label * 1.5);
  const own = upright ? Math.ceil(Math.max(...widths)) + 8 : head;
  const labels = Math.max(least, own);
  const tall = large && block.cols.words ? Math.min(cell, Math.max(type.row, 520 / rows)) : type.row;
  const ch = Math.round(rows > 20 ? Math.max(type.label + 3, Math.min(tall, 560 / rows)) : tall);
  const left = gutterOf(block, type) + EDGE;
  const top = head + labels + EDGE;
  return { rows, cols, cw: cell, ch, left, top, head, labels, own, upright, type,
    width: left + cols * cell + EDGE, height: top + rows * ch + EDGE };
}

/** A thumbnail has no labels: its title stands above it, and the pointer says the rest. */
function thumbGeometry(block, size) {
  const [rows, cols] = [block.rows.labels.length, block.cols.labels.length];
  const [cw, ch] = thumbCell(block, size);
  return { rows, cols, cw, ch, left: EDGE, top: EDGE, type: null, width: cols * cw + 2 * EDGE, height: rows * ch + 2 * EDGE };
}

// ── Drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

const colourOf = (block, theme) => (block.scale === "weights" ? weightsScale(theme) : signedScale(theme, block.limit));

/** Draw one matrix: cells, labels, numbers where there is room. `id` makes the hatches' names its own. */
function drawMatrix(block, numbers, geometry, theme, id) {
  const { rows, cols, cw, ch, left, top, type } = geometry;
  const colour = colourOf(block, theme);
  const gap = type && Math.min(cw, ch) >= 10 ? 1 : 0;
  const areas = new Map(); // one path a colour: a few hundred elements for any number of cells
  const figures = [];
  const written = type && cw >= 2.55 * type.number && ch >= 1.2 * type.number;
  const decimals = block.scale === "weights" && cw >= 3.2 * type?.number ? 3 : 2;
  const kinds = new Set();
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < cols; col += 1) {
      const reason = reasonAt(block, row, col);
      const value = numbers[row * cols + col];
      const fill = reason ? `url(#${id}-${reason})` : Number.isFinite(value) ? colour(value) : theme.surface;
      if (reason) kinds.add(reason);
      const [x, y] = [left + col * cw, top + row * ch];
      const path = `M${x},${y}h${cw - gap}v${ch - gap}h${gap - cw}z`;
      areas.set(fill, (areas.get(fill) ?? "") + path);
      if (written && !reason) {
        const text = block.scale === "weights" ? value.toFixed(decimals) : brief(value);
        // Rounded away, but there: a number that would only be noise is written quietly.
        const ink = Number(text) === 0 ? theme.muted : inkOn(fill, theme);
        figures.push(el("text", { x: x + (cw - gap) / 2, y: y + ch / 2 + type.number * 0.35, fill: ink }, text));
      }
    }
  }
  return el("svg", { width: geometry.width, height: geometry.height, viewBox: `0 0 ${geometry.width} ${geometry.height}` }, [
    el("defs", {}, [...kinds].map((kind) => hatch(`${id}-${kind}`, kind, theme))),
    el("rect", { x: left - EDGE, y: top - EDGE, width: cols * cw + 2 * EDGE - gap, height: rows * ch + 2 * EDGE - gap, fill: theme.line }),
    el("g", { "shape-rendering": "crispEdges" }, [...areas].map(([fill, d]) => el("path", { d, fill }))),
    el("g", { "font-size": type?.number, "text-anchor": "middle" }, figures),
    type && drawLabels(block, geometry, theme),
    el("g", { class: "marks", "pointer-events": "none" }),
  ]);
}

function drawLabels(block, geometry, theme) {
  const { rows, cols, cw, ch, left, top, own, upright, type } = geometry;
  const size = { "font-size": type.label };
  const text = (label, attrs, most) => el("text", { fill: theme.text, ...attrs }, clipped(label, most));
  const middle = (row) => top + row * ch + ch / 2 + type.label * 0.35;
  const rowStep = tickStep(ch, type.label);
  const colStep = block.cols.words ? tickStep(cw, upright ? type.label : 0) : tickStep(cw, 1.7 * type.label);
  const corner = { fill: theme.muted, "text-anchor": "end", "font-size": type.label };
  return el("g", size, [
    el("g", { "text-anchor": "end", class: "row-labels" },
      Array.from({ length: rows }, (_, row) => row % rowStep === 0 && text(block.rows.labels[row], { x: left - 8, y: middle(row), "data-at": row }, LONGEST.row))),
    el("g", { "text-anchor": upright ? "start" : "middle", class: "col-labels" },
      Array.from({ length: cols }, (_, col) => {
        if (col % colStep !== 0) return null;
        const [x, y] = [left + col * cw + cw / 2, top - 7];
        const label = block.cols.labels[col];
        const turn = upright ? { x: 0, y: 0, transform: `translate(${x + type.label * 0.35},${y}) rotate(-90)` } : { x, y };
        return text(label, { ...turn, "data-at": col, fill: block.cols.words ? theme.text : theme.muted });
      })),
    el("text", { ...corner, x: left - 8, y: top - 7 }, `${block.rows.short} ↓`),
    el("text", { fill: theme.muted, x: left, y: top - own - 5 }, axisTitle(block.cols, geometry)),
  ]);
}

function axisTitle(axis, geometry) {
  const long = `${axis.title} →`;
  return textWidth(long, geometry.type.label) <= geometry.cols * geometry.cw ? long : `${axis.short} →`;
}

/** A block's title, formula and shape as SVG text, for files. */
function drawHeader(block, theme, y) {
  const pieces = [];
  const write = (law, plain, attrs, gap) =>
    formulaParts(law).forEach(({ role, text }, part) =>
      shifted(text).forEach(({ text: piece, shift }, at) => {
        const small = shift && { "baseline-shift": shift === "sub" ? "sub" : "super", "font-size": "75%" };
        const fill = role === "plain" ? plain : roleColour(theme, role);
        pieces.push(el("tspan", { ...attrs, fill, dx: part + at === 0 ? gap : undefined, ...small }, piece));
      }),
    );
  write(block.title, theme.text, { "font-weight": 600 });
  write(block.formula, theme.muted, {}, 12);
  pieces.push(el("tspan", { fill: theme.muted, dx: 12 }, block.shape));
  return el("text", { x: 0, y, "font-size": 16 }, pieces);
}

/** Every block, labelled, one under another or side by side, as one drawing for a file. */
function sheet(blocks, numbersOf, theme, alt) {
  const type = typeOf({ ...theme, presenting: false }, blocks.length === 1);
  const wants = blocks.map((block) => {
    const want = wanted(block, type, blocks.length === 1);
    return { ...want, min: Math.min(want.max, Math.max(want.min, block.cols.words ? 44 : 8)) };
  });
  const pad = 16;
  const room = 1240;
  let y = pad;
  let widest = 0;
  const drawn = [];
  for (const line of fitted(wants, room, 40)) {
    let x = pad;
    let deepest = 0;
    for (const { index, cell } of line) {
      const block = blocks[index];
      const geometry = geometryOf(block, type, cell, blocks.length === 1);
      const inner = drawMatrix(block, numbersOf(block), geometry, theme, `file-${index}`);
      drawn.push(el("g", { transform: `translate(${x},${y})` }, [
        drawHeader(block, theme, 16),
        el("g", { transform: "translate(0,26)" }, [...inner.childNodes]),
      ]));
      const title = textWidth(`${block.title}    ${block.formula}    ${block.shape}`, 16);
      x += Math.max(geometry.width, Math.min(title, room)) + 40;
      deepest = Math.max(deepest, geometry.height + 26);
    }
    widest = Math.max(widest, x - 40 + pad);
    y += deepest + 28;
  }
  const size = { width: widest, height: y, viewBox: `0 0 ${widest} ${y}` };
  return el("svg", { ...size, "font-family": FONT }, [el("title", {}, alt), drawn]);
}

/** What a key of a clicker does in a hall: 1 is on, −1 back, 0 nothing. */
export function clickerStep(key) {
  return { PageDown: 1, ArrowRight: 1, " ": 1, PageUp: -1, ArrowLeft: -1 }[key] ?? 0;
}

// ── The component ────────────────────────────────────────────────────────────────────────────────────────────────

export default function mount({ data, parentElement, setStateValue }) {
  const picture = kept(parentElement, () => new Picture(parentElement));
  picture.update(data, setStateValue);
  return () => picture.detach();
}

class Picture {
  constructor(parentElement) {
    this.root = html("div", { class: "pg matrices" });
    this.said = html("div", { class: "heard", "aria-live": "polite" });
    this.body = html("div", {});
    this.root.append(this.body, this.said);
    parentElement.append(this.root);
    this.tip = tooltip(this.root);
    this.focus = null; // id of the block that is shown large
    this.pin = null; // {id, row, col}
    this.watch = null;
  }

  update(data, setStateValue) {
    this.data = data;
    this.setStateValue = setStateValue;
    this.blocks = data.blocks;
    this.at = new Map(data.blocks.map((block) => [block.id, block]));
    this.numbers = new Map(data.blocks.map((block) => [block.id, unpacked(block.values)]));
    this.numbersOf = (block) => this.numbers.get(block.id);
    if (!this.at.has(this.focus)) this.focus = data.start;
    const pinned = this.pin && this.at.get(this.pin.id);
    if (!pinned || this.pin.row >= pinned.rows.labels.length || this.pin.col >= pinned.cols.labels.length) this.pin = null;
    themed(this.root, data.theme);
    this.root.classList.toggle("presenting", data.theme.presenting);
    this.attach();
    this.draw();
  }

  attach() {
    this.detach();
    // Another picture of the page may show the same blocks, or others on the same axes.
    this.channel = link(this.data.group, (what) => {
      const own = what?.cell && this.at.has(what.cell.id) ? what.cell : null;
      this.mark(own ?? (what ? null : this.pin), own ? null : what?.axes);
    });
    this.watch = new ResizeObserver(() => {
      if (Math.abs(this.root.clientWidth - this.width) > 1) this.draw();
    });
    this.watch.observe(this.root);
    this.heard = (event) => this.listen(event);
    if (this.data.layout === "chain" && this.data.theme.presenting) window.addEventListener("keydown", this.heard);
  }

  detach() {
    window.removeEventListener("keydown", this.heard);
    this.watch?.disconnect();
    this.channel?.close();
    this.tip.hide();
  }

  draw() {
    this.width = this.root.clientWidth;
    if (this.width < 40) return;
    this.drawings = []; // {block, geometry, svg, marks}
    const chain = this.data.layout === "chain";
    // New numbers must not take the keys away from where they were.
    const held = this.root.getRootNode().activeElement;
    const place = held && this.root.contains(held) ? held.getAttribute("data-place") : null;
    const parts = chain ? [this.strip(), this.stage()] : [this.row(this.blocks)];
    this.body.replaceChildren(...parts);
    const again = place && [...this.body.querySelectorAll("[data-place]")].find((node) => node.getAttribute("data-place") === place);
    again?.focus({ preventScroll: true });
    this.mark(this.pin);
  }

  // The whole chain, small: every block a button that brings it forward.
  strip() {
    const { theme } = this.data;
    const groups = [];
    for (const block of this.blocks) {
      if (groups.at(-1)?.stage !== block.stage) groups.push({ stage: block.stage, blocks: [] });
      groups.at(-1).blocks.push(block);
    }
    const titles = this.blocks.map((block) => this.titleWidth(block.symbol, theme.presenting ? 18 : 14));
    const size = stripSize(this.blocks, titles, groups.length, this.width, theme.presenting ? 14 : 12);
    const thumb = (block) => {
      const geometry = thumbGeometry(block, size);
      const svg = drawMatrix(block, this.numbersOf(block), geometry, theme, `thumb-${block.id}`);
      const button = html(
        "button",
        {
          type: "button",
          class: "thumb",
          role: "tab",
          "data-block": block.id,
          "data-place": `thumb ${block.id}`,
          "aria-selected": String(block.id === this.focus),
          tabindex: block.id === this.focus ? 0 : -1,
          "aria-label": `${block.title}, ${block.shape}`,
          style: `--role:${roleColour(theme, block.role)}`,
          onclick: () => this.bring(block.id),
        },
        [html("span", { class: "thumb-title" }, formula(block.symbol, theme, theme.text)), svg],
      );
      this.register(block, geometry, svg, button);
      return button;
    };
    return html(
      "div",
      { class: "thumbs", role: "tablist", "aria-label": this.data.alt, onkeydown: (event) => this.stepKeys(event) },
      groups.map((group) =>
        html("div", { class: "group", role: "presentation" }, [
          html("div", { class: "group-name" }, group.stage),
          html("div", { class: "group-blocks", role: "presentation" }, group.blocks.map(thumb)),
        ]),
      ),
    );
  }

  turns() {
    const at = this.blocks.findIndex((block) => block.id === this.focus);
    const turn = (by, word, sign, name) => {
      const to = this.blocks[at + by];
      const does = { title: word, "aria-label": word, disabled: !to, onclick: () => this.bring(to.id) };
      return html("button", { type: "button", class: `turn ${name}`, "data-place": name, ...does }, sign);
    };
    const { words } = this.data;
    return html("div", { class: "turns" }, [
      turn(-1, words.back, "‹", "back"),
      html("span", { class: "count" }, `${at + 1} / ${this.blocks.length}`),
      turn(1, words.next, "›", "next"),
      this.saveAll(),
    ]);
  }

  titleWidth(text, size) {
    const parts = formulaParts(text).flatMap((part) => shifted(part.text));
    return parts.reduce((sum, { text: piece, shift }) => sum + textWidth(piece, shift ? size * 0.75 : size, 600), 0);
  }

  stepKeys(event) {
    const at = this.blocks.findIndex((block) => block.id === this.focus);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.blocks.length - 1 }[event.key];
    if (to === undefined || !this.blocks[to]) return;
    event.preventDefault();
    this.bring(this.blocks[to].id);
    this.root.querySelector(".thumb[aria-selected=true]").focus();
  }

  bring(id) {
    this.focus = id;
    if (this.pin && this.pin.id !== id) this.pin = null;
    this.draw();
  }

  // In a hall a clicker steps through the chain, wherever the focus is, unless something is being typed or walked.
  listen(event) {
    const by = clickerStep(event.key);
    const target = event.composedPath()[0];
    const busy = target instanceof Element && target.closest("input, textarea, select, button, [role=application]");
    const to = this.blocks[this.blocks.findIndex((block) => block.id === this.focus) + by];
    if (!by || !to || (busy && !event.key.startsWith("Page")) || event.defaultPrevented) return;
    event.preventDefault();
    this.bring(to.id);
  }

  // The block in focus, large, with what it is made from before it.
  stage() {
    const block = this.at.get(this.focus);
    const operands = [...new Set(block.operands.map((operand) => operand.block))].map((id) => this.at.get(id)).filter(Boolean);
    const panel = this.row([...operands, block], block);
    panel.prepend(html("div", { class: "lead" }, [html("p", { class: "note", "aria-live": "polite" }, formula(block.note, this.data.theme, this.data.theme.text)), this.turns()]));
    // The page below must not jump from step to step.
    this.tallest = this.tallest?.width === this.width ? this.tallest : { width: this.width, height: 0 };
    panel.style.minHeight = `${this.tallest.height}px`;
    requestAnimationFrame(() => (this.tallest.height = Math.max(this.tallest.height, panel.offsetHeight)));
    if (!still()) panel.animate([{ opacity: 0.3 }, { opacity: 1 }], { duration: this.shownFocus === this.focus ? 0 : 220, easing: "ease-out" });
    this.shownFocus = this.focus;
    return panel;
  }

  // Blocks side by side; `result` is what the others lead to.
  row(blocks, result = null) {
    const { theme } = this.data;
    const alone = blocks.length === 1;
    const type = typeOf(theme, this.data.layout === "single");
    const wants = blocks.map((block) => {
      const want = wanted(block, type, alone || block === result);
      // A heading wider than its matrix must not be cut.
      const title = Math.min(this.width, this.titleWidth(block.title, theme.presenting ? 24 : 17) + 1.2 * block.shape.length * type.label * 0.5 + 74);
      const room = (least) => ({ ...want, min: least, fixed: want.fixed + Math.max(0, title - want.fixed - want.cols * least) });
      return { full: room(want.min), narrow: room(Math.min(want.min, block.cols.words ? type.label + 5 : want.min)) };
    });
    const gap = result ? ARROW : 36;
    const width = this.width - 2;
    // One line is worth more than level labels: all give way as long as numbers fit, else the operands, else all.
    const ways = [(want) => want.full, (want) => want.narrow, (want, i) => (blocks[i] === result ? want.full : want.narrow)];
    const tries = ways.map((way) => fitted(wants.map(way), width, gap));
    const holds = (lines) => lines[0].every(({ index, cell }) => !blocks[index].cols.words || cell >= 2.55 * type.number);
    const single = tries.filter((lines) => lines.length === 1);
    const lines = single.find(holds) ?? (result ? (single.at(-1) ?? tries[0]) : (single[1] ?? tries[0]));
    return html(
      "div",
      { class: "panel", role: result ? "tabpanel" : undefined },
      lines.map((line) => {
        const large = this.data.layout === "single";
        const level = Math.max(...line.map(({ index, cell }) => geometryOf(blocks[index], type, cell, large).labels));
        return html(
          "div",
          { class: "line", style: result ? "" : `gap:28px ${gap}px` },
          line.map(({ index, cell }, place) => {
            const block = blocks[index];
            const geometry = geometryOf(block, type, cell, large, level);
            const sign = result && index > 0 && this.sign(block, geometry, result);
            const card = this.card(block, geometry, block === result || !result);
            return sign && place === 0 ? html("div", { class: "under" }, [sign, card]) : [sign, card];
          }),
        );
      }),
    );
  }

  // What is done between two matrices, at half the height of the first cells.
  sign(block, geometry, result) {
    const { theme } = this.data;
    const middle = geometry.top + (geometry.rows * geometry.ch) / 2;
    const sign = block !== result ? result.joined : result.via ? "→" : "=";
    return html("div", { class: "sign", style: `width:${ARROW}px;padding-top:${middle}px`, "aria-hidden": "true" }, [
      block === result && result.via && html("span", { class: "via" }, formula(result.via, theme)),
      html("span", { class: "arrow" }, sign),
    ]);
  }

  card(block, geometry, main) {
    const { theme, words } = this.data;
    const svg = drawMatrix(block, this.numbersOf(block), geometry, theme, `card-${block.id}`);
    const card = html("figure", { class: main ? "card main" : "card", "data-block": block.id, style: `--role:${roleColour(theme, block.role)}` }, [
      html("figcaption", {}, [
        html("div", { class: "title" }, [html("b", {}, formula(block.title, theme, theme.text)), html("span", { class: "chip" }, block.shape), main && this.saveOne(block)]),
        html("div", { class: "law" }, formula(block.formula, theme)),
      ]),
      svg,
      main && this.legend(block),
    ]);
    for (const [name, value] of Object.entries({
      tabindex: 0,
      "data-place": `card ${block.id}`,
      role: "application",
      "aria-roledescription": words.matrix,
      "aria-label": `${block.title}, ${block.shape}. ${words.keys}`,
    })) {
      svg.setAttribute(name, value);
    }
    svg.addEventListener("keydown", (event) => this.cellKeys(event, block));
    svg.addEventListener("click", (event) => {
      const cell = cellAt(geometry, ...this.place(event, svg, geometry));
      if (cell) this.pinned({ id: block.id, ...cell });
    });
    svg.addEventListener("blur", () => this.rest());
    this.register(block, geometry, svg, svg);
    return card;
  }

  register(block, geometry, svg, target) {
    const drawing = { block, geometry, svg, marks: svg.querySelector(".marks") };
    this.drawings.push(drawing);
    target.addEventListener("pointermove", (event) => {
      const cell = cellAt(geometry, ...this.place(event, svg, geometry));
      if (!cell) return this.rest();
      this.hover({ id: block.id, ...cell }, event.clientX, event.clientY);
    });
    target.addEventListener("pointerleave", () => this.rest());
  }

  place(event, svg, geometry) {
    const box = svg.getBoundingClientRect();
    const scale = geometry.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  hover(cell, x, y) {
    this.tip.show(this.lines(cell), x, y);
    const same = this.hovered && cell.id === this.hovered.id && cell.row === this.hovered.row && cell.col === this.hovered.col;
    if (same) return;
    this.hovered = cell;
    this.mark(cell);
    this.tell(cell);
  }

  rest() {
    this.tip.hide();
    if (!this.hovered) return;
    this.hovered = null;
    this.mark(this.pin);
    this.tell(this.pin);
  }

  // Other pictures of the page hear which cell it is, and which positions of which axes.
  tell(cell) {
    const block = cell && this.at.get(cell.id);
    this.channel.send(block ? { cell, axes: { [block.rows.name]: cell.row, [block.cols.name]: cell.col } } : null);
  }

  lines({ id, row, col }) {
    const block = this.at.get(id);
    const { words } = this.data;
    const reason = reasonAt(block, row, col);
    const value = this.numbers.get(id)[row * block.cols.labels.length + col];
    const place = (axis, index) => [axis.short, axis.words ? `${visible(axis.labels[index])}  (${index})` : visible(axis.labels[index])];
    return [
      [formula(block.title, this.data.theme), block.plain],
      place(block.rows, row),
      place(block.cols, col),
      reason ? words[reason] : [words.value, exact(value)],
    ];
  }

  pinned(cell) {
    const same = this.pin && cell.id === this.pin.id && cell.row === this.pin.row && cell.col === this.pin.col;
    this.pin = same ? null : cell;
    this.cursor = cell;
    this.mark(this.pin ?? cell);
    this.say(this.pin);
    if (this.data.picks) this.setStateValue("pick", this.pin);
  }

  cellKeys(event, block) {
    const own = this.cursor?.id === block.id ? this.cursor : { id: block.id, row: 0, col: 0 };
    const next = this.cursor?.id === block.id ? walked(event.key, own, block.rows.labels.length, block.cols.labels.length) : walked(event.key, own, 1, 1);
    if (next) {
      this.cursor = { id: block.id, ...next };
      this.hovered = this.cursor;
      this.mark(this.cursor);
      this.tell(this.cursor);
      this.say(this.cursor);
      this.tipAtCell(block, next);
    } else if (event.key === "Enter" || event.key === " ") {
      this.pinned(own);
    } else if (event.key === "Escape") {
      this.pin = null;
      this.rest();
      this.mark(null);
      if (this.data.picks) this.setStateValue("pick", null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  tipAtCell(block, { row, col }) {
    const { geometry, svg } = this.drawings.find((drawing) => drawing.block.id === block.id && drawing.geometry.type);
    const box = svg.getBoundingClientRect();
    const scale = box.width / geometry.width;
    const [x, y] = [geometry.left + (col + 1) * geometry.cw, geometry.top + (row + 1) * geometry.ch];
    this.tip.show(this.lines({ id: block.id, row, col }), box.left + x * scale - 10, box.top + y * scale - 10);
  }

  say(cell) {
    if (!cell) return this.said.replaceChildren();
    const lines = this.lines(cell).slice(1); // without the title, which the matrix's own label has said
    this.said.textContent = lines.map((line) => (Array.isArray(line) ? line.join(" ") : line)).join(", ");
  }

  /** Outline a cell and light what it is made from; `axes` lights rows and columns that another picture names. */
  mark(cell, axes = null) {
    const { theme } = this.data;
    const named = cell ?? this.data.named;
    const lit = cell ? litBy(this.blocks, cell.id, cell.row, cell.col) : {};
    for (const drawing of this.drawings) {
      const { block, geometry, marks, svg } = drawing;
      const shapes = [];
      const { left, top, cw, ch, rows, cols } = geometry;
      const area = { rows: [0, rows - 1], cols: [0, cols - 1] };
      const box = (part) => {
        const [r, c] = [part.rows ?? area.rows, part.cols ?? area.cols];
        return { x: left + c[0] * cw, y: top + r[0] * ch, width: (c[1] - c[0] + 1) * cw, height: (r[1] - r[0] + 1) * ch };
      };
      const outline = (part, stroke, width) => {
        const b = box(part);
        shapes.push(el("rect", { x: b.x - 0.5, y: b.y - 0.5, width: b.width, height: b.height, fill: "none", stroke, "stroke-width": width, rx: 2 }));
      };
      const veil = (part) => {
        const b = box(part);
        const all = box(area);
        const d = `M${all.x},${all.y}h${all.width}v${all.height}h${-all.width}zM${b.x},${b.y}v${b.height}h${b.width}v${-b.height}z`;
        shapes.push(el("path", { d, fill: theme.background, "fill-opacity": 0.66 }));
      };
      const part = lit[block.id];
      if (part) {
        veil(part);
        outline(part, roleColour(theme, block.role), geometry.type ? 2.5 : 1.5);
      }
      if (named && named.id === block.id) {
        if (!geometry.type) outline({ rows: [named.row, named.row], cols: null }, theme.focus, 1);
        outline({ rows: [named.row, named.row], cols: [named.col, named.col] }, theme.focus, geometry.type ? 3 : 2);
      }
      const heard = axes && !cell ? { rows: axes[block.rows.name], cols: axes[block.cols.name] } : {};
      if (heard.rows < rows && block.rows.words) outline({ rows: [heard.rows, heard.rows], cols: null }, theme.focus, 2);
      if (heard.cols < cols && block.cols.words) outline({ rows: null, cols: [heard.cols, heard.cols] }, theme.focus, 2);
      const quiet = shapes.length === 0 && !drawing.marked;
      drawing.marked = shapes.length > 0;
      if (quiet) continue;
      marks.replaceChildren(...shapes);
      // Side by side, the same row of the others is what one compares with.
      const twin = cell && this.data.layout === "row" && this.at.get(cell.id);
      if (twin && twin !== block && twin.rows.name === block.rows.name && cell.row < rows) {
        outline({ rows: [cell.row, cell.row], cols: null }, theme.focus, 2);
      }
      const own = cell && cell.id === block.id ? { rows: [cell.row, cell.row], cols: [cell.col, cell.col] } : part;
      this.embolden(svg, own);
    }
  }

  embolden(svg, part) {
    for (const [name, range] of [["row-labels", part?.rows], ["col-labels", part?.cols]]) {
      for (const label of svg.querySelector(`.${name}`)?.childNodes ?? []) {
        const at = Number(label.getAttribute("data-at"));
        const bold = range && at >= range[0] && at <= range[1];
        if (bold) label.setAttribute("font-weight", 700);
        else label.removeAttribute("font-weight");
      }
    }
  }

  legend(block) {
    const { theme, words } = this.data;
    const colour = colourOf(block, theme);
    const stops = Array.from({ length: 13 }, (_, i) => i / 12);
    const signedRange = block.scale === "signed";
    const value = (t) => (signedRange ? (2 * t - 1) * block.limit : t);
    const id = `bar-${block.id}`;
    const bar = el("svg", { width: 120, height: 10, "aria-hidden": "true" }, [
      el("defs", {}, el("linearGradient", { id }, stops.map((t) => el("stop", { offset: t, "stop-color": colour(value(t)) })))),
      el("rect", { x: 0.5, y: 0.5, width: 119, height: 9, rx: 2, fill: `url(#${id})`, stroke: theme.line }),
    ]);
    const kinds = ["causal", "padding", "window", "hand"].filter((kind) => block.hidden?.includes(kind[0]));
    return html("div", { class: "legend" }, [
      html("span", { class: "range" }, [short(value(0)), bar, short(value(1))]),
      kinds.map((kind) =>
        html("span", { class: "range" }, [
          el("svg", { width: 18, height: 14, "aria-hidden": "true" }, [
            el("defs", {}, hatch(`legend-${block.id}-${kind}`, kind, theme)),
            el("rect", { x: 0.5, y: 0.5, width: 17, height: 13, rx: 2, fill: `url(#legend-${block.id}-${kind})`, stroke: theme.line }),
          ]),
          words[kind],
        ]),
      ),
    ]);
  }

  saveOne(block) {
    return saveMenu({
      words: this.data.words,
      theme: this.data.theme,
      name: `${this.data.filename}_${block.id}`,
      label: block.title,
      svg: () => sheet([block], this.numbersOf, this.data.theme, `${block.title} ${block.shape}`),
      rows: () => table(block, this.numbersOf(block), this.data.words),
    });
  }

  saveAll() {
    return saveMenu({
      words: { ...this.data.words, save: this.data.words.save_all },
      theme: this.data.theme,
      name: this.data.filename,
      svg: () => sheet(this.blocks, this.numbersOf, this.data.theme, this.data.alt),
      rows: () => longTable(this.blocks, this.numbersOf, this.data.words),
    });
  }
}
