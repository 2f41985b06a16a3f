// A text while it is written: what the model looks at, what it thinks comes next, and which word is taken.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

const HEAD = 1.9; // of the type's size, over each column
const FAINTEST = 0.02; // a line with less weight is not drawn

/**
 * Where everything stands in `room` pixels: two columns of words with lines between and arcs beside, then the bars,
 * which stand below where the room is narrow.
 *
 * @param rows How many words the longer column has in the end.
 * @param bars How many bars there are.
 * @param widths {source, target, word}: of the widest words of each column and of the bars.
 */
export function arranged(room, { rows, bars, size, widths, strip }) {
  const wide = room >= 760;
  const zone = wide ? Math.round(room * 0.5) : room;
  const step = Math.max(size * 1.3, Math.min(size * 2, (size * 28) / Math.max(rows, 1)));
  const top = size * HEAD;
  const source = { x: 0, w: widths.source ? Math.min(widths.source + 18, zone * 0.36) : 0 };
  const target = { w: Math.min(widths.target + 26, zone * 0.38) };
  const arcs = Math.max(44, Math.min(source.w ? 120 : 260, zone - source.w - target.w - 110));
  target.x = Math.max(source.w + (source.w ? 60 : 8), zone - arcs - target.w - (wide ? 24 : 6));
  if (!source.w) target.x = Math.min(target.x, wide ? 110 : 40);
  const height = top + rows * step + 6;
  const bar = size * 1.72;
  const panel = { x: wide ? zone + 24 : 0, y: wide ? 0 : height + size, w: wide ? room - zone - 24 : room };
  panel.label = Math.min(widths.word + 16, panel.w * 0.34);
  panel.number = size * 4.4;
  panel.bar = bar;
  panel.rows = panel.y + top;
  panel.strip = panel.rows + bars * bar + size * 1.9;
  const end = strip ? panel.strip + size * 6 : panel.rows + bars * bar + size * 0.6;
  return { wide, zone, step, top, source, target, arcs, panel, height: Math.max(height, end) };
}

/** Cut [0, 1] into the pieces of a strip: [{word, from, to, cut}], each as wide as its share. */
export function pieces(parts, name) {
  let from = 0;
  return parts
    .filter((part) => part[name] > 0)
    .map((part) => {
      const piece = { ...part, from, to: from + part[name] };
      from = piece.to;
      return piece;
    });
}

/** All choices as rows of cells. */
export function choiceTable({ steps, words }) {
  const drawn = steps.some((step) => step.at !== null);
  return [
    [words.number, words.reads, words.word, words.probability, ...(drawn ? [words.tempered, words.final] : []), words.taken],
    ...steps.flatMap((step, i) =>
      step.bars.map((bar) => [i, step.read, bar.word, bar.p, ...(drawn ? [bar.tempered, bar.final] : []), bar.chosen ? 1 : 0]),
    ),
  ];
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function writing({ data, parentElement, setStateValue, setTriggerValue }) {
  const view = kept(parentElement, () => {
    const why = html("div", { class: "why", "aria-live": "polite" });
    const stage = html("div", { class: "stage" });
    const tail = html("div", { class: "tail" });
    const saves = html("div", {});
    const root = html("div", { class: "pg writing" });
    const made = { root, why, stage, tail, saves, tip: tooltip(root), sent: null, shown: null, token: null };
    made.steps = player((at, rests) => {
      draw(made, at);
      clearTimeout(made.telling);
      if (rests) made.telling = setTimeout(() => made.tell(at), 450);
    });
    root.append(saves, why, stage, made.steps.node, tail);
    root.addEventListener("keydown", (event) => (made.data.theme.presenting && made.data.clicker) || made.steps.heard(event));
    parentElement.append(root);
    return made;
  });
  view.point = (cell) => {
    clearTimeout(view.telling);
    view.steps.stop();
    view.pointed = cell;
    setStateValue("pick", cell);
  };
  view.tell = (at) => {
    view.sent = at;
    if (view.pointed) setStateValue("pick", (view.pointed = null));
    setTriggerValue("step", at);
  };
  view.ask = (name, value) => {
    clearTimeout(view.telling);
    view.steps.stop();
    setTriggerValue(name, value);
  };
  // An answer to an older step does not move the picture back.
  const moved = data.token !== view.token || (data.at !== view.sent && data.at !== view.told);
  Object.assign(view, { data, token: data.token, told: data.at });
  themed(view.root, data.theme).classList.toggle("presenting", data.theme.presenting);
  view.steps.set({ at: moved ? data.at : view.steps.at, n: data.steps.length, words: data.words, presenting: data.theme.presenting && data.clicker });
  if (moved) view.sent = data.at;
  if (!view.watch) {
    view.watch = new ResizeObserver(() => view.stage.clientWidth !== view.room && draw(view, view.steps.at));
    view.watch.observe(view.stage);
  }
  draw(view, view.steps.at);
  return () => {
    view.steps.close();
    clearTimeout(view.telling);
    view.tip.hide();
    view.watch?.disconnect();
    view.watch = null;
  };
}

function draw(view, at) {
  const { data, stage } = view;
  const { theme, words } = data;
  const focused = view.root.getRootNode().activeElement?.dataset?.token;
  const before = view.shown;
  view.room = stage.clientWidth || 600;
  const size = theme.presenting ? (view.room < 760 ? 18 : 20) : view.room > 1000 ? 17 : 16;
  const step = data.steps[at];
  const written = data.steps.slice(0, at).map((each) => ({ text: each.written, forced: each.forced }));
  const read = [...data.begun.map((text) => ({ text, begun: true })), ...written];
  const all = [...data.begun, ...data.steps.map((each) => each.written)];
  const widest = (texts, weight) => Math.max(0, ...texts.map((text) => textWidth(visible(text), size, weight)));
  const plan = arranged(view.room, {
    rows: Math.max(data.source.length, all.length),
    bars: Math.max(...data.steps.map((each) => each.bars.length)) + 1,
    size,
    widths: {
      source: data.source.length ? Math.max(widest(data.source, 600), textWidth(words.source, size - 2)) : 0,
      target: Math.max(widest(all, 700), textWidth(words.sofar, size - 2) - 20),
      word: widest([...data.steps.flatMap((each) => each.bars.map((bar) => bar.word)), fill(words.others, { n: step.rest.n })], 600),
    },
    strip: step.at !== null,
  });
  const label = (text, attrs) => el("text", { "font-size": size, fill: theme.text, ...attrs }, text);
  const middle = (row) => plan.top + (row + 0.5) * plan.step;
  const slot = read.length;
  const { source, target } = plan;
  const chip = { x: target.x - 6, y: middle(slot) - plan.step * 0.46, width: target.w, height: plan.step * 0.92 };
  const lines = [];
  const reach = [];
  const line = (d, weight, stroke, tell) => {
    lines.push(el("path", { class: "line", d, fill: "none", stroke, "stroke-width": (1 + 6 * weight).toFixed(2), "stroke-opacity": (0.12 + 0.8 * weight).toFixed(3), "stroke-linecap": "round" }));
    const hit = el("path", { class: "hit", d, fill: "none", stroke: "transparent", "stroke-width": 12, "data-passing": "" });
    hit.addEventListener("pointermove", (event) => view.tip.show(tell.said, event.clientX, event.clientY));
    hit.addEventListener("pointerleave", () => view.tip.hide());
    hit.addEventListener("click", () => view.point(tell.cell));
    reach.push(hit);
  };
  const told = (which, key, word, weight) => ({
    said: [[words.query, `${visible(step.read)} → ${visible(step.written)}`], [words.key, visible(word)], [words.weight, exact(Math.fround(weight))], words.origin],
    cell: { step: at, which, key },
  });
  step.cross.forEach((weight, key) => {
    if (weight < FAINTEST) return;
    const [x0, y0, x1, y1] = [source.w, middle(key), chip.x, middle(slot)];
    const bend = (x0 + x1) / 2;
    line(`M${x0},${y0} C${bend},${y0} ${bend},${y1} ${x1},${y1}`, weight, "url(#writing-cross)", told("cross", key, data.source[key], weight));
  });
  step.self.forEach((weight, key) => {
    if (weight < FAINTEST) return;
    const [x, y0, y1] = [chip.x + chip.width + 2, middle(key), middle(slot)];
    const out = x + 8 + Math.min(plan.arcs - 14, (plan.arcs * 1.25 * (slot - key)) / Math.max(slot, 4));
    line(`M${x},${y0} C${out},${y0} ${out},${y1} ${x},${y1}`, weight, theme.key, told("self", key, read[key].text, weight));
  });
  const svg = el("svg", { class: "picture", width: view.room, height: Math.ceil(plan.height), viewBox: `0 0 ${view.room} ${Math.ceil(plan.height)}`, role: "group", "aria-label": data.alt }, [
    el("defs", {}, [
      el("linearGradient", { id: "writing-cross", gradientUnits: "userSpaceOnUse", x1: source.w, x2: chip.x, y1: 0, y2: 0 }, [
        el("stop", { offset: 0, "stop-color": theme.memory }),
        el("stop", { offset: 1, "stop-color": theme.query }),
      ]),
      hatch("writing-k", "causal", theme),
      hatch("writing-p", "padding", theme),
    ]),
    source.w && label(words.source, { x: source.w - 6, y: size, "text-anchor": "end", "font-size": size - 2, fill: theme.muted }),
    label(words.sofar, { x: target.x + 4, y: size, "font-size": size - 2, fill: theme.muted }),
    lines,
    data.source.map((word, key) => label(visible(word), { x: source.w - 8, y: middle(key) + size * 0.34, "text-anchor": "end", "font-weight": 600, fill: isMark(word) ? theme.muted : theme.memory })),
    read.map(({ text, begun, forced }, row) =>
      label(visible(text), {
        x: target.x + 4,
        y: middle(row) + size * 0.34,
        "font-weight": row === slot - 1 ? 700 : 400,
        fill: isMark(text) || begun ? theme.muted : row === slot - 1 ? theme.query : theme.text,
        "text-decoration": forced ? "underline" : null,
      }),
    ),
    data.steps.slice(at + 1).map((_, i) => el("circle", { cx: target.x + 8, cy: middle(slot + 1 + i), r: 2, fill: theme.line })),
    el("g", { class: "slot" }, [
      el("rect", { ...chip, rx: 8, fill: theme.surface, stroke: theme.focus, "stroke-width": 2.5 }),
      label(visible(step.written), { x: target.x + 4, y: middle(slot) + size * 0.34, "font-weight": 700, "text-decoration": step.forced ? "underline" : null }),
    ]),
    reach,
    panel(view, step, at, plan, size, label),
  ]);
  stage.replaceChildren(svg);
  view.svg = svg;
  // All sentences in one place, so that the longest gives the height and nothing jumps.
  view.why.replaceChildren(...data.steps.map(({ why }, i) => html("p", i === at ? {} : { class: "other", "aria-hidden": "true" }, why)));
  view.saves.replaceChildren(saveMenu({ words, theme, name: data.filename, label: data.alt, svg: () => view.svg, rows: () => choiceTable(view.data) }));
  view.tail.replaceChildren(...tail(view));
  if (focused !== undefined) svg.querySelector(`[data-token="${focused}"]`)?.focus({ preventScroll: true });
  // The word goes from its bar to its place in the text.
  if (before && before.token === data.token && before.at === at - 1 && !still()) {
    const bar = svg.querySelector(".bar.chosen");
    if (bar && plan.wide) {
      const [dx, dy] = [plan.panel.x - target.x, Number(bar.dataset.y) - middle(slot)];
      svg.querySelector(".slot").animate([{ transform: `translate(${dx}px,${dy}px)`, opacity: 0.4 }, { transform: "none", opacity: 1 }], { duration: 380, easing: "ease-out" });
    }
  }
  view.shown = { token: data.token, at };
}

const isMark = (word) => /^⟨.*⟩$/.test(word);

const percentOf = (p) => p === 0 ? "0 %" : p === 1 ? "100 %" : (p >= 0.9995 && p < 1 ? `> ${(99.9).toFixed(1)} %` : p > 0 && p < 0.0005 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);

function panel(view, step, at, plan, size, label) {
  const { theme, words } = view.data;
  const { x, w, label: room, number, bar, rows } = plan.panel;
  const drawn = step.at !== null;
  const start = x + room + 8;
  const length = w - room - number - 16;
  const rest = { ...step.rest, word: fill(words.others, { n: step.rest.n }), isRest: true };
  const nodes = [...step.bars, rest].map((each, i) => {
    const y = rows + i * bar;
    const tall = bar * 0.62;
    const top = y + (bar - tall) / 2;
    const hatched = each.cut === "k" ? "url(#writing-k)" : "url(#writing-p)";
    const value = drawn ? each.final : each.p;
    const shown = each.cut && !each.isRest ? words[`cut_${each.cut}`] : percentOf(value);
    const rect = (share, attrs) => el("rect", { x: start, y: top, width: Math.max(share * length, share > 0 ? 1 : 0), height: tall, rx: 2, ...attrs });
    const node = el(
      "g",
      {
        class: `bar${each.chosen ? " chosen" : ""}${each.isRest ? " rest" : ""}`,
        "data-y": y + bar / 2,
        ...(each.isRest ? {} : { role: "button", tabindex: 0, "data-token": each.id, "aria-label": `${visible(each.word)}, ${percentOf(each.p)}. ${words.force}` }),
      },
      [
        el("rect", { class: "area", x: x - 4, y: y + 1, width: w + 4, height: bar - 2, rx: 7, "fill-opacity": 0, ...(each.chosen ? { stroke: theme.focus, "stroke-width": 2.5 } : {}) }),
        label(visible(each.word), { x: x + room, y: y + bar / 2 + size * 0.34, "text-anchor": "end", "font-weight": each.chosen ? 700 : 400, fill: each.isRest || isMark(each.word) ? theme.muted : theme.text }),
        drawn && rect(each.tempered, each.cut ? { fill: hatched, stroke: theme.hidden } : { fill: "none", stroke: theme.hidden, "stroke-dasharray": "3 2" }),
        rect(value, { fill: each.isRest ? theme.hidden : theme.weights }),
        drawn && el("line", { x1: start + each.p * length, x2: start + each.p * length, y1: top - 2, y2: top + tall + 2, stroke: theme.key, "stroke-width": 2 }),
        el("line", { x1: start, x2: start, y1: y, y2: y + bar, stroke: theme.line }),
        label(shown, { x: x + w - 6, y: y + bar / 2 + size * 0.34, "text-anchor": "end", "font-size": size - 1, fill: each.cut ? theme.muted : theme.text, "font-weight": each.chosen ? 700 : 400 }),
      ],
    );
    const said = [
      visible(each.word),
      [words.probability, exact(Math.fround(each.p))],
      ...(drawn ? [[words.tempered, short(each.tempered)], [words.final, short(each.final)]] : []),
      ...(each.isRest ? [] : [[words.logit, short(each.logit)], each.chosen && !step.forced ? words.chosen : words.force]),
    ];
    node.addEventListener("pointermove", (event) => view.tip.show(said, event.clientX, event.clientY));
    node.addEventListener("pointerleave", () => view.tip.hide());
    if (!each.isRest) {
      const force = () => {
        view.tip.hide();
        if (!each.chosen || step.forced) view.ask("force", { step: at, token: each.chosen ? -1 : each.id });
      };
      node.addEventListener("click", force);
      node.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        force();
      });
    }
    return node;
  });
  return el("g", {}, [label(words.next_word, { x, y: plan.panel.y + size, "font-size": size - 2, fill: theme.muted }), nodes, drawn && strip(view, step, plan, size, label)]);
}

/** The whole of probability as a strip: above with what is cut away, below what is left, stretched, and where the draw fell. */
function strip(view, step, plan, size, label) {
  const { theme, words } = view.data;
  const { x, w, strip: y } = plan.panel;
  const tall = size * 1.3;
  const low = y + tall + size * 1.5;
  const above = pieces(step.parts, "tempered");
  const below = pieces(step.parts, "final");
  const left = above.filter((piece) => !piece.cut).reduce((sum, piece) => sum + piece.to - piece.from, 0);
  const box = (piece, top, i) => {
    const [x0, width] = [x + piece.from * w, (piece.to - piece.from) * w];
    const colour = piece.cut ? `url(#writing-${piece.cut})` : between(theme.background, theme.weights, i % 2 ? 0.55 : 0.85);
    const text = visible(piece.word);
    return [
      el("rect", { x: x0, y: top, width, height: tall, fill: colour, stroke: piece.chosen ? theme.focus : theme.background, "stroke-width": piece.chosen ? 2.5 : 0.5 }),
      textWidth(text, size - 3) + 6 < width && !piece.cut && label(text, { x: x0 + width / 2, y: top + tall * 0.68, "text-anchor": "middle", "font-size": size - 3, fill: inkOn(colour, theme) }),
    ];
  };
  const mark = x + step.at * w;
  return el("g", { class: "strip" }, [
    label(words.removed, { x, y: y - size * 0.45, "font-size": Math.min(size - 3, ((size - 3) * w) / textWidth(words.removed, size - 3)).toFixed(1), fill: theme.muted }),
    above.map((piece, i) => box(piece, y, i)),
    el("path", { d: `M${x},${y + tall} L${x},${low} M${x + left * w},${y + tall} L${x + w},${low}`, stroke: theme.hidden, "stroke-dasharray": "4 3", fill: "none" }),
    below.map((piece, i) => box(piece, low, i)),
    el("path", { d: `M${mark},${low + tall - 3} l-7,13 h14 z`, fill: theme.focus, stroke: theme.text, "stroke-width": 1 }),
    label(fill(words.draw, { at: step.at.toFixed(3) }), { x: Math.max(x + 40, Math.min(x + w - 40, mark)), y: low + tall + size * 1.6, "text-anchor": "middle", "font-size": size - 2, "font-weight": 600 }),
  ]);
}

function tail(view) {
  const { data } = view;
  if (!data.instead) return [];
  const release = html("button", { type: "button", class: "release", onclick: () => view.ask("release", data.token) }, data.words.release);
  return [html("span", {}, data.instead), release];
}
