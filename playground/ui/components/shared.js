// What every browser component is built from: colours, numbers, text, SVG, tooltip, save menu, links between pictures.
// A component's file is appended to this one and sees these names. Nothing here knows what is drawn.
// Text reaches the page through textContent only; nothing is ever parsed as markup, and nothing is fetched.

// ── Colours ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** "#0072B2" → [0, 114, 178]. */
export function rgb(hex) {
  const digits = hex.replace("#", "");
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16));
}

/** [0, 114, 178] → "#0072b2"; each part is rounded and clamped to 0–255. */
export function hex(parts) {
  return "#" + parts.map((p) => Math.max(0, Math.min(255, Math.round(p))).toString(16).padStart(2, "0")).join("");
}

const linear = (p) => (p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4);
const gamma = (p) => (p <= 0.0031308 ? p * 12.92 : 1.055 * p ** (1 / 2.4) - 0.055);

/** A colour in OKLab (Ottosson 2020), where equal distances look equal. */
export function oklab(colour) {
  const [r, g, b] = rgb(colour).map((p) => linear(p / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** The inverse of `oklab`. */
export function fromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return hex(
    [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ].map((p) => 255 * gamma(Math.max(0, p))),
  );
}

/** The colour `t` of the way from one to another, 0 to 1; `vivid` bends the way through stronger tones of the end's hue. */
export function between(from, to, t, vivid = 0) {
  const [a, b] = [oklab(from), oklab(to)];
  const strength = Math.hypot(b[1], b[2]);
  const [L, ...tone] = a.map((p, i) => p + (b[i] - p) * t);
  const more = strength > 0 ? (vivid * Math.sin(Math.PI * t)) / strength : 0;
  return fromOklab([L, ...tone.map((p, i) => p + more * b[i + 1])]);
}

const ramps = new Map();

/** `n` colours in even steps from `from` to `to`; kept, since every picture asks for the same few. */
export function ramp(from, to, vivid = 0, n = 128) {
  const key = `${from} ${to} ${vivid} ${n}`;
  if (!ramps.has(key)) ramps.set(key, Array.from({ length: n }, (_, i) => between(from, to, i / (n - 1), vivid)));
  return ramps.get(key);
}

const nth = (colours, t) => colours[Math.round(Math.max(0, Math.min(1, t)) * (colours.length - 1))];

/** Colour of signed numbers: negative · background (0) · positive, full at ±limit. */
export function signedScale(theme, limit) {
  const down = ramp(theme.background, theme.negative);
  const up = ramp(theme.background, theme.positive);
  return (value) => (limit > 0 ? nth(value < 0 ? down : up, Math.abs(value) / limit) : theme.background);
}

/** Colour of weights: background (0) to theme.weights (1). The range is fixed, so pictures can be compared. */
export function weightsScale(theme) {
  const colours = ramp(theme.background, theme.weights, 0.06);
  return (value) => nth(colours, value);
}

/** Relative luminance of a colour, 0 to 1 (WCAG 2.2). */
export function luminance(colour) {
  const [r, g, b] = rgb(colour).map((p) => linear(p / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast of two colours, 1 to 21 (WCAG 2.2). */
export function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The colour to write with on `colour`: text or background, or black or white where those are too weak (4.5 : 1). */
export function inkOn(colour, theme) {
  const best = (inks) => inks.reduce((a, b) => (contrast(colour, b) > contrast(colour, a) ? b : a));
  const ink = best([theme.text, theme.background]);
  return contrast(colour, ink) >= 4.5 ? ink : best(["#000000", "#FFFFFF"]);
}

// ── Numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────

const MINUS = "\u2212";

const signed = (text) => text.replace("-", MINUS).replace("e-", `e${MINUS}`).replace("e+", "e");

function special(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? `${MINUS}∞` : "∞";
  return value === 0 ? "0" : null;
}

/** Three significant digits: 0.0123, −12.3, 1.23e−5. */
export function short(value) {
  const size = Math.abs(value);
  return special(value) ?? signed(size >= 1e5 || size < 1e-4 ? value.toExponential(2) : plainPrecision(value, 3));
}

/** What fits in a cell: three significant digits, but never more than `decimals`. */
export function brief(value, decimals = 2) {
  const size = Math.abs(value);
  if (special(value) !== null) return special(value);
  if (size >= 1e4) return signed(value.toExponential(1));
  const whole = size >= 1 ? Math.floor(Math.log10(size)) + 1 : 1;
  const text = value.toFixed(Math.max(0, Math.min(decimals, 3 - whole + (size < 1 ? 1 : 0))));
  return signed(Number(text) === 0 ? text.replace("-", "") : text);
}

/** Every digit that a float32 has: the shortest decimal that gives the same number back. */
export function exact(value) {
  if (special(value) !== null) return special(value);
  for (let digits = 1; digits < 9; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === Math.fround(value)) return signed(plainPrecision(value, digits));
  }
  return signed(plainPrecision(value, 9));
}

// toPrecision turns 1234 into 1.23e+3; a reader wants 1230.
function plainPrecision(value, digits) {
  const text = value.toPrecision(digits);
  const size = Math.abs(value);
  return text.includes("e") && size < 1e7 && size >= 1 ? String(Number(text)) : text;
}

/** The numbers of `{shape, float32}` as Python packs them (little-endian, base64), row by row. */
export function unpacked({ float32 }) {
  const bytes = Uint8Array.from(atob(float32), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

// ── Text ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text with its control and direction characters as ⟨U+202E⟩, and spaces as ␠ where they would not be seen. */
export function visible(text) {
  const shown = String(text).replace(
    INVISIBLE,
    (c) => `\u27e8U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`,
  );
  return shown.trim() === shown && shown !== "" ? shown : shown.replace(/^\s+|\s+$/g, (s) => "\u2420".repeat(s.length));
}

/** Words with their {places} filled in, every value literally. */
export function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place));
}

/**
 * A formula with roles, "{query:Q}{key:Kᵀ} / √d_k", as [{role, text}, …]. Plain text: a part is coloured, nothing more.
 * What opens no known role stays as it is.
 */
export function formulaParts(formula) {
  const parts = [];
  const add = (role, text) => text && parts.push({ role, text });
  let rest = 0;
  for (const found of formula.matchAll(/\{(query|key|value|residual|memory|weights|plain):([^{}]*)\}/g)) {
    add("plain", formula.slice(rest, found.index));
    add(found[1], found[2]);
    rest = found.index + found[0].length;
  }
  add("plain", formula.slice(rest));
  return parts;
}

/** A text cut at its _sub and ^superscripts: "d_k" → [{text: "d", shift: ""}, {text: "k", shift: "sub"}]. */
export function shifted(text) {
  const parts = [];
  let rest = 0;
  for (const found of text.matchAll(/([_^])([\p{L}\p{N}]+)/gu)) {
    if (found.index > rest) parts.push({ text: text.slice(rest, found.index), shift: "" });
    parts.push({ text: found[2], shift: found[1] === "_" ? "sub" : "sup" });
    rest = found.index + found[0].length;
  }
  if (rest < text.length) parts.push({ text: text.slice(rest), shift: "" });
  return parts;
}

/** A role's colour; quiet text for "plain". */
export function roleColour(theme, role) {
  return role === "plain" ? theme.muted : (theme[role] ?? theme.muted);
}

/** Rows of cells as CSV (RFC 4180). Text that a spreadsheet would run as a formula is kept from running by a quote. */
export function csv(rows) {
  const cell = (value) => {
    const number = typeof value === "number";
    const text = number ? String(value) : /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** A file's name from any text: letters, digits, dots and dashes of any script, at most 80. */
export function filename(text) {
  return text.replace(/[^\p{L}\p{N}.\-]+/gu, "_").replace(/^[_.]+|_+$/g, "").slice(0, 80) || "picture";
}

// ── Elements ─────────────────────────────────────────────────────────────────────────────────────────────────────

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attrs, children) {
  for (const [name, value] of Object.entries(attrs)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of [children].flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** An SVG element: el("rect", {x: 1, onclick: f}, ["text", otherElement]). */
export function el(tag, attrs = {}, children = []) {
  return filled(document.createElementNS(SVG, tag), attrs, children);
}

/** The same for an HTML element. */
export function html(tag, attrs = {}, children = []) {
  return filled(document.createElement(tag), attrs, children);
}

/** A formula as an inline element, each symbol in the colour of its role (`ink` without one), with real sub- and superscripts. */
export function formula(text, theme, ink = theme.muted) {
  return html(
    "span",
    { class: "formula" },
    formulaParts(text).map(({ role, text: part }) =>
      html(
        "span",
        { style: `color:${role === "plain" ? ink : roleColour(theme, role)}` },
        shifted(part).map(({ text: piece, shift }) => (shift ? html(shift, {}, piece) : piece)),
      ),
    ),
  );
}

/** Give an element the theme's colours as `--c-text`, `--c-query`, …, which the style sheets read. */
export function themed(root, theme) {
  for (const [name, value] of Object.entries(theme)) {
    if (typeof value === "string" && value.startsWith("#")) root.style.setProperty(`--c-${name}`, value);
  }
  root.style.colorScheme = theme.name;
  return root;
}

/** What is kept for one mounted component from one call to the next; `make` runs once. */
export function kept(parentElement, make) {
  if (!memory.has(parentElement)) memory.set(parentElement, make());
  return memory.get(parentElement);
}
const memory = new WeakMap();

// What each hatch draws in a tile of 8 by 8 pixels.
const HATCHES = {
  causal: "M-2,10 l12,-12 M-2,2 l4,-4 M6,10 l4,-4",
  padding: "M-2,-2 l12,12 M-2,6 l4,4 M6,-2 l4,4",
  window: "M4,0 v8",
  hand: "M-2,10 l12,-12 M-2,-2 l12,12",
};

/** A hatch for hidden cells, told apart without colour: "causal" rises, "padding" falls, "window" stands, "hand" crosses. */
export function hatch(id, kind, theme) {
  return el("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" }, [
    el("rect", { width: 8, height: 8, fill: theme.surface }),
    el("path", { d: HATCHES[kind], stroke: theme.hidden, "stroke-width": 1.2, fill: "none" }),
  ]);
}

/** Whether the reader asked for no motion. */
export function still() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Pixels that a text takes, measured as it will be drawn. */
export function textWidth(text, size, weight = 400) {
  measure ??= document.createElement("canvas").getContext("2d");
  measure.font = `${weight} ${size}px ${FONT}`;
  return measure.measureText(text).width;
}
let measure;
export const FONT = '"Source Sans", "Source Sans 3", system-ui, "Noto Sans SC", "Noto Sans CJK SC", sans-serif';

// ── Links between pictures ───────────────────────────────────────────────────────────────────────────────────────

/**
 * A channel between the pictures of one page, without the server. Two groups on a page never hear each other.
 *
 *     const channel = link("one_head", (detail) => …);  channel.send({row: 3});  channel.close();
 *
 * The sender does not hear itself.
 */
export function link(group, listen) {
  const name = `playground:${group}`;
  const self = {};
  const heard = (event) => event.detail.from !== self && listen(event.detail.what);
  window.addEventListener(name, heard);
  return {
    send: (what) => window.dispatchEvent(new CustomEvent(name, { detail: { from: self, what } })),
    close: () => window.removeEventListener(name, heard),
  };
}

// ── Tooltip ──────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A box beside the pointer that never leaves the window.
 *
 *     const tip = tooltip(root, theme);  tip.show([["row", "chat"], ["value", "0.25"]], x, y);  tip.hide();
 *
 * Lines are [name, value], or one text; x and y are in client pixels. It is hidden from screen readers: say it in an
 * aria-live region as well.
 */
export function tooltip(root) {
  const box = html("div", { class: "tip", "aria-hidden": "true", popover: "manual" });
  root.append(box);
  const floats = typeof box.showPopover === "function";
  return {
    show(lines, x, y) {
      box.replaceChildren(
        ...lines.map((line) =>
          Array.isArray(line)
            ? html("div", { class: "tip-line" }, [html("span", {}, line[0]), html("b", {}, line[1])])
            : html("div", { class: "tip-text" }, line),
        ),
      );
      if (floats && !box.matches(":popover-open")) box.showPopover();
      box.style.display = "block";
      const { width, height } = box.getBoundingClientRect();
      const left = x + 16 + width > innerWidth ? x - width - 12 : x + 16;
      const top = y + 16 + height > innerHeight ? y - height - 12 : y + 16;
      box.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
      box.style.top = `${Math.max(4, top)}px`;
    },
    hide() {
      if (floats && box.matches(":popover-open")) box.hidePopover();
      box.style.display = "none";
    },
    remove: () => box.remove(),
  };
}

// ── Save menu ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Hand a file to the reader; nothing is sent anywhere. */
export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  html("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** An SVG element as the text of a file that stands alone: size, font and background included. */
export function svgText(svg, theme) {
  const copy = svg.cloneNode(true);
  const { width, height } = sizeOf(svg);
  for (const [name, value] of Object.entries({ xmlns: SVG, width, height, "font-family": FONT })) {
    copy.setAttribute(name, value);
  }
  for (const mark of copy.querySelectorAll("[data-passing]")) mark.remove();
  copy.removeAttribute("tabindex");
  copy.prepend(el("rect", { width: "100%", height: "100%", fill: theme.background }));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

function sizeOf(svg) {
  const box = svg.viewBox.baseVal;
  return box && box.width ? { width: box.width, height: box.height } : svg.getBoundingClientRect();
}

/** The same as a PNG with `density` pixels a pixel. */
export async function pngBlob(svg, theme, density = 2) {
  const { width, height } = sizeOf(svg);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg, theme))}`;
  await image.decode();
  const canvas = html("canvas", { width: Math.ceil(width * density), height: Math.ceil(height * density) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/**
 * A button that opens a menu: PNG at 2×, SVG, CSV. All is made in the browser, when asked for.
 *
 * @param {object} what
 * @param what.words {save, png, svg, csv}: what the entries say (shared.py sends them as data.words).
 * @param what.theme Colours.
 * @param what.name The file's name without its ending.
 * @param what.svg () => the SVG element to save; leave out where there is none.
 * @param what.rows () => rows of cells for the CSV; numbers stay numbers.
 * @param what.label What is saved, for screen readers: "Save: attention weights".
 * @param what.files More or other entries: [[word, ending, async () => Blob], …].
 * @returns The element to put on the page.
 */
export function saveMenu({ words, theme, name, svg, rows, label = "", files = null }) {
  const entries = files ?? [
    ...(svg
      ? [
          [words.png, "png", () => pngBlob(svg(), theme)],
          [words.svg, "svg", async () => new Blob([svgText(svg(), theme)], { type: "image/svg+xml" })],
        ]
      : []),
    // The mark of byte order lets spreadsheets read Chinese.
    ...(rows ? [[words.csv, "csv", async () => new Blob(["\ufeff", csv(rows())], { type: "text/csv" })]] : []),
  ];
  const close = (focus) => {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    if (focus) button.focus();
  };
  const outside = (event) => event.composedPath().includes(menu) || close(false);
  const open = () => {
    list.hidden = false;
    list.classList.toggle("left", button.getBoundingClientRect().right < 220);
    button.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside, true);
    list.firstChild.focus();
  };
  const keys = (event) => {
    const items = [...list.children];
    const at = items.findIndex((item) => item === menu.getRootNode().activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close(event.key === "Escape");
    if (to !== undefined) items.at(to % items.length).focus();
    if (to !== undefined || event.key === "Escape") event.preventDefault();
    event.stopPropagation();
  };
  const button = html(
    "button",
    {
      type: "button",
      class: "save",
      title: words.save,
      "aria-label": label ? `${words.save}: ${label}` : words.save,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      onclick: () => (list.hidden ? open() : close(true)),
    },
    el("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" }, [
      el("path", {
        d: "M8 2v8m-3.2-3L8 10.2 11.2 7M2.5 11v2.5h11V11",
        fill: "none",
        stroke: "currentColor",
        "stroke-width": 1.5,
        "stroke-linecap": "round",
        "stroke-linejoin": "round",
      }),
    ]),
  );
  const list = html(
    "div",
    { class: "save-list", role: "menu", hidden: true, onkeydown: keys },
    entries.map(([word, ending, make]) =>
      html(
        "button",
        {
          type: "button",
          role: "menuitem",
          tabindex: -1,
          "data-file": ending,
          onclick: async () => {
            close(true);
            download(await make(), `${filename(name)}.${ending}`);
          },
        },
        word,
      ),
    ),
  );
  const menu = html("div", { class: "save-menu" }, [button, list]);
  return menu;
}

// ── Steps ────────────────────────────────────────────────────────────────────────────────────────────────────────

const PAUSE = 1100; // ms between two steps of a playing picture

/** Where a key leads among `n` steps: arrows, Home, End, a clicker's keys; null for another key. */
export function stepBy(key, at, n) {
  const to = { ArrowRight: at + 1, PageDown: at + 1, " ": at + 1, ArrowLeft: at - 1, PageUp: at - 1, Home: 0, End: n - 1 }[key];
  return to === undefined ? null : Math.max(0, Math.min(n - 1, to));
}

/**
 * Back, play, Next and a slider over steps. In a hall a clicker moves it wherever the focus is.
 *
 *     const steps = player((at, rests) => …);  root.append(steps.node);  steps.set({ at, n, words, presenting });
 *
 * `go` is called with the step, and with whether it stays there: while it plays it does not.
 * Words: back, play, pause, next, step ("{at} of {n}"), slider.
 */
export function player(go) {
  const view = { at: 0, n: 1, words: {}, timer: null };
  const move = (to, rests = true) => {
    view.at = Math.max(0, Math.min(view.n - 1, to));
    show();
    go(view.at, rests);
  };
  const stop = () => {
    if (view.timer === null) return;
    clearInterval(view.timer);
    view.timer = null;
    show();
    go(view.at, true);
  };
  const play = () => {
    if (view.timer !== null) return stop();
    if (view.at === view.n - 1) move(0, false);
    view.timer = setInterval(() => (view.at < view.n - 1 ? move(view.at + 1, false) : stop()), PAUSE);
    show();
  };
  const button = (name, sign, act) => html("button", { type: "button", class: `step-button ${name}`, onclick: act }, sign);
  const back = button("back", "‹", () => [stop(), move(view.at - 1)]);
  const playing = button("play", "", play);
  const next = button("next", "›", () => [stop(), move(view.at + 1)]);
  const slider = html("input", { type: "range", min: 0, class: "step-slider", oninput: () => [stop(), move(Number(slider.value))] });
  const said = html("span", { class: "step-said" });
  const node = html("div", { class: "player" }, [back, playing, next, slider, said]);
  const show = () => {
    const { at, n, words } = view;
    back.disabled = at === 0;
    next.disabled = at === n - 1;
    playing.textContent = view.timer === null ? "▶" : "❚❚";
    for (const [each, name] of [[back, words.back], [next, words.next], [playing, view.timer === null ? words.play : words.pause]]) {
      each.title = name;
      each.setAttribute("aria-label", name);
    }
    slider.max = n - 1;
    slider.value = at;
    slider.disabled = n === 1;
    slider.setAttribute("aria-label", words.slider);
    said.textContent = fill(words.step, { at: at + 1, n });
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  const heard = (event) => {
    const typed = event.composedPath()[0];
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(typed?.tagName ?? "")) return;
    if (event.key === " " && typed?.closest?.("button, [role=button], [role=radio]")) return;
    const to = stepBy(event.key, view.at, view.n);
    if (to === null) return;
    event.preventDefault();
    stop();
    move(to);
  };
  return {
    node,
    get at() {
      return view.at;
    },
    /** Take new steps; `at` stands, without a word to `go`. */
    set({ at, n, words, presenting }) {
      Object.assign(view, { at: Math.max(0, Math.min(n - 1, at)), n, words });
      window.removeEventListener("keydown", heard);
      if (presenting) window.addEventListener("keydown", heard);
      show();
    },
    heard,
    stop,
    close() {
      clearInterval(view.timer);
      view.timer = null;
      window.removeEventListener("keydown", heard);
    },
  };
}
