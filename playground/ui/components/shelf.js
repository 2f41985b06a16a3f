// Cards on a shelf, a run each. Tab reaches the one that is picked out, arrows walk from card to card, Enter or Space picks.

const CURVE = [240, 66]; // of a card's small curve, in its own units

/** The line of a curve whose points are shares of the width and of the loss of guessing, which lies at a fifth from the top. */
export function line(points, [width, height] = CURVE) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${(x * width).toFixed(1)},${level(y, height).toFixed(1)}`).join("");
}

/** Where a loss lies: 0 at the bottom, that of guessing a fifth from the top. */
export function level(y, height = CURVE[1]) {
  return height * (1 - 0.8 * y);
}

/** Which card an arrow key leads to; null for another key. */
export function next(at, name, n, columns) {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[name];
  if (step === undefined) return { Home: 0, End: n - 1 }[name] ?? null;
  return at + step >= 0 && at + step < n ? at + step : at;
}

export default function shelf({ data, parentElement, setTriggerValue }) {
  const view = kept(parentElement, () => {
    const root = html("div", { class: "pg shelf" });
    parentElement.append(root);
    return { root };
  });
  const { root } = view;
  const { theme } = data;
  themed(root, theme).classList.toggle("presenting", Boolean(theme.presenting));
  const active = root.getRootNode().activeElement?.dataset?.run;
  const cards = data.cards.map((card) => drawn(card, data));
  const empty = data.empty ? [html("div", { class: "card none" }, data.empty)] : [];
  const list = html("div", { class: "cards", role: "group", "aria-label": data.alt }, [...cards, ...empty]);
  const columns = () => getComputedStyle(list).gridTemplateColumns.split(" ").length;
  cards.forEach((card, i) => {
    card.addEventListener("click", () => setTriggerValue("chosen", data.cards[i].id));
    card.addEventListener("keydown", (event) => {
      const to = next(i, event.key, cards.length, columns());
      if (to === null) return;
      cards[to].focus();
      event.preventDefault();
      event.stopPropagation();
    });
    card.addEventListener("focus", () => cards.forEach((each, j) => each.setAttribute("tabindex", j === i ? "0" : "-1")));
  });
  if (cards.length && !cards.some((card) => card.getAttribute("tabindex") === "0")) cards[0].setAttribute("tabindex", "0");
  root.replaceChildren(list);
  if (active) cards.find((card) => card.dataset.run === active)?.focus();
}

function drawn(card, { theme, words, chosen }) {
  const [width, height] = CURVE;
  const guessing = level(1);
  const picture = el("svg", { viewBox: `0 -4 ${width} ${height + 8}`, preserveAspectRatio: "none", "aria-hidden": "true" }, [
    el("path", { d: `M0,${guessing}H${width}`, stroke: theme.hidden, "stroke-dasharray": "2 4", "vector-effect": "non-scaling-stroke" }),
    el("path", { d: `M0,${height}H${width}`, stroke: theme.line, "vector-effect": "non-scaling-stroke" }),
    el("path", { d: line(card.curve), fill: "none", stroke: theme.weights, "stroke-width": 2, "stroke-linejoin": "round", "vector-effect": "non-scaling-stroke" }),
  ]);
  const share = card.share ? [html("b", { class: "share" }, card.share), html("span", { class: "matched" }, words.matched)] : [];
  return html(
    "button",
    { type: "button", class: `card${card.id === chosen ? " chosen" : ""}`, "data-run": card.id, "aria-pressed": String(card.id === chosen), tabindex: card.id === chosen ? "0" : "-1" },
    [
      html("span", { class: "head" }, [html("b", { class: "title" }, visible(card.title)), html("span", { class: "whose" }, card.subject ? `${card.whose} · ${words.on_every_page}` : card.whose)]),
      card.problem
        ? html("span", { class: "problem" }, card.problem)
        : html("span", { class: "curve" }, [picture, html("i", {}, words.guessing)]),
      html("span", { class: "right" }, share),
      ...card.facts.map((fact) => html("span", { class: "fact" }, fact)),
    ],
  );
}
