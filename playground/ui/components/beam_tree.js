// A beam search as a tree that grows to the right: what was kept, what was cut, and the path that won.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

const TALLEST = 470; // px that a column may take in the type of a laptop

/** How many cut branches of one parent can be drawn so that no column is too tall. */
export function mostCut(columns, tall, low, room) {
  for (let most = 8; most > 0; most -= 1) {
    const height = (nodes) => {
      const cut = new Map();
      let sum = 0;
      for (const node of nodes) {
        if (node.fate !== "pruned") sum += tall;
        else {
          const n = (cut.get(node.parent) ?? 0) + 1;
          cut.set(node.parent, n);
          if (n <= most) sum += low;
          else if (n === most + 1) sum += low;
        }
      }
      return sum;
    };
    if (Math.max(...columns.map(height)) <= room) return most;
  }
  return 1;
}

/**
 * Where each node stands: parents above parents, the best child first, no two lines between them cross.
 *
 * @param columns Nodes, a list for each step: {number, parent, fate, total}.
 * @returns {spots: Map number → {column, y, h}, more: [{column, y, parent, n}], height}.
 */
export function placed(columns, tall, low, most) {
  const order = new Map([[null, 0]]);
  const all = columns.map((nodes) => {
    const kept = [];
    const groups = new Map();
    for (const node of [...nodes].sort((a, b) => order.get(a.parent) - order.get(b.parent) || b.total - a.total)) {
      if (!groups.has(node.parent)) groups.set(node.parent, []);
      groups.get(node.parent).push(node);
    }
    for (const [parent, group] of groups) {
      const cut = group.filter(({ fate }) => fate === "pruned");
      const gone = cut.slice(most);
      for (const node of group) if (!gone.includes(node)) kept.push({ node, h: node.fate === "pruned" ? low : tall });
      if (gone.length) kept.push({ more: gone.length, parent, h: low });
    }
    kept.forEach(({ node }, i) => node && order.set(node.number, i));
    return kept;
  });
  const height = Math.max(...all.map((kept) => kept.reduce((sum, { h }) => sum + h, 0)));
  const spots = new Map();
  const more = [];
  all.forEach((kept, column) => {
    let y = (height - kept.reduce((sum, { h }) => sum + h, 0)) / 2;
    for (const { node, parent, more: n, h } of kept) {
      if (node) spots.set(node.number, { column, y: y + h / 2, h });
      else more.push({ column, y: y + h / 2, parent, n });
      y += h;
    }
  });
  return { spots, more, height };
}

/** Every branch as a row of cells. */
export function branchTable({ columns, words }) {
  return [
    [words.number, words.parent, words.step_name, words.word, words.log_prob, words.total, words.score, words.fate],
    ...columns.flat().map((node) => [node.number, node.parent ?? "", node.index, node.word, node.log_prob, node.total, node.score, words[node.fate]]),
  ];
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

export default function beamTree({ data, parentElement, setTriggerValue }) {
  const view = kept(parentElement, () => {
    const stage = html("div", { class: "stage" });
    const saves = html("div", {});
    const legend = html("div", { class: "legend" });
    const root = html("div", { class: "pg beam-tree" });
    const made = { root, stage, saves, legend, tip: tooltip(root), token: null };
    made.steps = player((at) => draw(made, at));
    root.append(saves, stage, made.steps.node, legend);
    root.addEventListener("keydown", (event) => made.data.theme.presenting || made.steps.heard(event));
    parentElement.append(root);
    return made;
  });
  view.ask = (number) => setTriggerValue("branch", number);
  const fresh = view.token !== data.token;
  Object.assign(view, { data, token: data.token });
  themed(view.root, data.theme).classList.toggle("presenting", data.theme.presenting);
  const n = data.columns.length;
  view.steps.set({ at: fresh ? n - 1 : view.steps.at, n, words: data.words, presenting: data.theme.presenting });
  if (!view.watch) {
    view.watch = new ResizeObserver(() => view.stage.clientWidth !== view.room && draw(view, view.steps.at));
    view.watch.observe(view.stage);
  }
  draw(view, view.steps.at);
  return () => {
    view.steps.close();
    view.tip.hide();
    view.watch?.disconnect();
    view.watch = null;
  };
}

function draw(view, at) {
  const { data, stage } = view;
  const { theme, words, columns } = data;
  const focused = view.root.getRootNode().activeElement?.dataset?.number;
  view.room = stage.clientWidth || 600;
  const largest = theme.presenting ? 19 : 15;
  const shown = (node) => visible(node.word);
  const fitted = (size) => {
    const [tall, low] = [size * 2.7, size * 1.35];
    const most = mostCut(columns, tall, low, theme.presenting ? TALLEST * 1.15 : TALLEST);
    const plan = placed(columns, tall, low, most);
    const start = textWidth(visible(data.start), size, 600) + 14;
    const wide = (node) => textWidth(shown(node), node.fate === "pruned" ? size - 2 : size, 700);
    const drawn = (nodes) => nodes.filter((node) => plan.spots.has(node.number)).map(wide);
    const pitches = columns.map((nodes) => Math.max(...drawn(nodes), textWidth("\u22120.000", size - 3)) + 16);
    return { size, tall, low, start, pitches, ...plan, natural: start + pitches.reduce((sum, w) => sum + w, 0) };
  };
  // A little smaller type, rather than a tree that has to be scrolled.
  const tries = [0, 1, 2, 3].map((less) => fitted(largest - less));
  const { size, tall, low, start, pitches, spots, more, height, natural } =
    view.room < 640 ? tries[0] : (tries.find((each) => each.natural + 28 * columns.length <= view.room) ?? tries.at(-1));
  const gap = Math.max(26, Math.min(76, (view.room - natural - 8) / columns.length));
  const lefts = [];
  pitches.reduce((x, w, i) => {
    lefts[i] = x + gap;
    return x + gap + w;
  }, start);
  const last = columns.length - 1;
  const [width, top] = [Math.ceil(lefts[last] + pitches[last] + 6), size * 1.6];
  const best = new Set(data.best);
  const nodes = columns.slice(0, at + 1).flat().filter((node) => spots.has(node.number));
  const place = (node) => ({ x: lefts[node.index], y: top + spots.get(node.number).y });
  const from = (node) => {
    if (node.parent === null) return { x: start - 6, y: top + height / 2 };
    const parent = columns[node.index - 1].find(({ number }) => number === node.parent);
    return { x: lefts[node.index - 1] + boxOf(parent) - 5, y: top + spots.get(node.parent).y };
  };
  const boxOf = (node) =>
    node.fate === "pruned" ? textWidth(shown(node), size - 2, 700) + 12 : Math.max(textWidth(shown(node), size, 700), textWidth(short(node.score), size - 3)) + 12;
  const curve = (a, b) => `M${a.x},${a.y} C${(a.x + b.x) / 2},${a.y} ${(a.x + b.x) / 2},${b.y} ${b.x},${b.y}`;
  const won = (node) => at === last && best.has(node.number);
  const edges = [...nodes]
    .sort((a, b) => won(a) - won(b) || (a.fate === "pruned" ? -1 : 1))
    .map((node) => {
      const cut = node.fate === "pruned";
      const [a, b] = [from(node), place(node)];
      return el("path", {
        d: curve(a, { x: b.x - 5, y: b.y }),
        fill: "none",
        stroke: won(node) ? theme.query : cut ? theme.line : theme.hidden,
        "stroke-width": (cut ? 1.2 : 1.5 + 5 * Math.exp(node.log_prob)).toFixed(2),
        "stroke-dasharray": cut ? "3 3" : null,
        "stroke-linecap": cut ? null : "round",
      });
    });
  const label = (text, attrs) => el("text", { "font-size": size, fill: theme.text, ...attrs }, text);
  const marks = nodes.map((node) => {
    const { x, y } = place(node);
    const cut = node.fate === "pruned";
    const ended = node.fate === "ended";
    const act = () => {
      view.tip.hide();
      view.ask(node.number);
    };
    const g = el("g", { class: `node ${node.fate}`, role: "button", tabindex: 0, "data-number": node.number, "aria-label": `${shown(node)}, ${words.score} ${short(node.score)}, ${words[node.fate]}. ${words.follow}` }, [
      el("rect", { class: "area", x: x - 5, y: y - (cut ? low : tall) / 2 + 2, width: boxOf(node), height: (cut ? low : tall) - 4, rx: 7, fill: theme.background, "fill-opacity": cut ? 0 : 1, stroke: won(node) ? theme.focus : ended ? theme.text : "none", "stroke-width": won(node) ? 2.5 : 1 }),
      cut
        ? label(shown(node), { x, y: y + size * 0.28, "font-size": size - 2, fill: theme.muted })
        : [
            label(shown(node), { x, y: y - size * 0.12, "font-weight": won(node) ? 700 : 600, fill: won(node) ? theme.query : theme.text }),
            label(short(node.score), { x, y: y + size * 0.92, "font-size": size - 3, fill: theme.muted }),
          ],
      cut && el("line", { x1: x - 2, x2: x + textWidth(shown(node), size - 2) + 2, y1: y, y2: y, stroke: theme.negative, "stroke-width": 1, "stroke-opacity": 0.75 }),
    ]);
    g.addEventListener("pointermove", (event) => view.tip.show([shown(node), [words.log_prob, short(node.log_prob)], [words.total, short(node.total)], [words.score, short(node.score)], words[node.fate], words.follow], event.clientX, event.clientY));
    g.addEventListener("pointerleave", () => view.tip.hide());
    g.addEventListener("click", act);
    g.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      act();
    });
    return g;
  });
  const total = Math.ceil(top + height + 8);
  const svg = el("svg", { width, height: total, viewBox: `0 0 ${width} ${total}`, role: "group", "aria-label": data.alt }, [
    edges,
    label(visible(data.start), { x: 2, y: top + height / 2 + size * 0.34, fill: theme.muted }),
    columns.slice(0, at + 1).map((_, i) => label(String(i), { x: lefts[i], y: size * 0.9, "font-size": size - 3, fill: theme.muted })),
    more.filter(({ column }) => column <= at).map(({ column, y, n }) => label(`+ ${n}`, { x: lefts[column], y: top + y + size * 0.28, "font-size": size - 3, fill: theme.muted })),
    marks,
  ]);
  const scrolled = stage.scrollLeft;
  stage.replaceChildren(svg);
  stage.scrollLeft = scrolled;
  view.svg = svg;
  view.saves.replaceChildren(saveMenu({ words, theme, name: data.filename, label: data.alt, svg: () => view.svg, rows: () => branchTable(view.data) }));
  const swatch = (attrs) => el("svg", { width: 34, height: 12, "aria-hidden": "true" }, el("line", { x1: 1, x2: 33, y1: 6, y2: 6, ...attrs }));
  view.legend.replaceChildren(
    html("span", {}, [swatch({ stroke: theme.query, "stroke-width": 5 }), words.won]),
    html("span", {}, [swatch({ stroke: theme.hidden, "stroke-width": 4 }), words.kept]),
    html("span", {}, [swatch({ stroke: theme.negative, "stroke-width": 1.5 }), words.pruned]),
    html("span", {}, words.width_says),
  );
  if (focused !== undefined) svg.querySelector(`[data-number="${focused}"]`)?.focus({ preventScroll: true });
}
