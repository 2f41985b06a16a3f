"""The pictures of the page about positions: one an aspect, with what stands under it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import streamlit as st

from models import ModelConfig
from playground import longer, positions
from playground.figures.places import (
    Arrow,
    Curve,
    Dial,
    Strip,
    dials,
    map_of_places,
    over_distance,
    reach,
    wavelengths,
    waves,
)
from playground.figures.sheet import percent
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray
from playground.positions import ADDED, RULES
from playground.tasks import SPECIALS
from playground.ui.components.matrix import Block, Operand, largest, matrices
from playground.ui.positions_controls import (
    controls,
    pick_order,
    pick_pair,
    pick_place,
    pick_rows,
    pick_rule,
    pick_shift,
    pick_width,
)
from playground.ui.session import Session
from playground.ui.show import show

N_PLACES = 64  # of the maps over two places
N_CHECKED = 128  # places over which the rotation is checked
MOST_PLACE = 47
N_DIALS = 10
N_PAIRS = 8  # of a head
MOST_TURNS = 64  # places further on, on the dials

_SINUSOIDAL = (
    r"\begin{aligned}PE_{(pos,\,2i)}&=\sin\!\left(pos\,/\,10000^{2i/d}\right)\\"
    r"PE_{(pos,\,2i+1)}&=\cos\!\left(pos\,/\,10000^{2i/d}\right)\end{aligned}"
)
_RULES: Mapping[str, str] = MappingProxyType(
    {
        "sinusoidal": _SINUSOIDAL,
        "learned": r"x_{pos} = \sqrt{d}\,E[\mathrm{id}] + P[pos]",
        "rotary": r"(R_m q)^{\top}(R_n k) = q^{\top} R_{\,n-m}\, k",
        "alibi": r"\frac{q_m k_n^{\top}}{\sqrt{d_k}} - m_h\,|m-n|",
        "none": r"f(\Pi X) = \Pi f(X)",
    }
)
_ASPECTS: Mapping[str, str] = MappingProxyType(
    {
        "waves": r"\lambda_i = 2\pi \cdot 10000^{2i/d}",
        "rotation": (
            r"\begin{aligned}&PE_{pos+k} = R(k)\,PE_{pos}\\[2pt]"
            r"&R_i(k)=\begin{pmatrix}\cos k\omega_i&\sin k\omega_i\\-\sin k\omega_i&\cos k\omega_i\end{pmatrix}"
            r"\end{aligned}"
        ),
        "shuffle": r"f(\Pi X) = \Pi f(X)",
    }
)
_ALIKE: Mapping[str, str] = MappingProxyType(
    {
        "sinusoidal": r"PE_p^{\top} PE_q = \sum_i \cos\big((p-q)\,\omega_i\big)",
        "learned": r"\cos(P_p, P_q) = \frac{P_p^{\top} P_q}{\lVert P_p\rVert\,\lVert P_q\rVert}",
        "rotary": r"\frac{2}{d_k}\sum_i \cos\big((p-q)\,\omega_i\big)",
        "alibi": r"b_h(p,q) = -m_h\,|p-q|",
        "none": r"\text{1}",
    }
)


def show_aspect(aspect: str, state: Session, t: Translate) -> tuple[str, str]:
    """Draw one aspect of positions: what to look at, the picture, its controls.

    Args:
        aspect: A key of `ASPECTS`.
        state: The visitor's session.
        t: Words.

    Returns:
        A formula in KaTeX, and the end of the key of its source.
    """
    rule = _DRAWN[aspect](state, t)
    if aspect in _ASPECTS:
        return _ASPECTS[aspect], aspect
    return (_ALIKE if aspect == "similarity" else _RULES)[rule], rule


def _table(state: Session, t: Translate) -> str:
    """The table itself: the subject's own rows from its trace, or as many places and columns as one likes."""
    config = state.run.config.model
    picture = st.container()
    with controls():
        rule = pick_rule(state, t, ADDED, config.positions if config.positions in ADDED else ADDED[0])
        rows = pick_rows(state, t, ("sentence", "32", "128", "512"))
        width = pick_width(state, t) if rule == "sinusoidal" else config.d_model
    own = rule == config.positions and rows == "sentence" and width == config.d_model
    if own:
        array = state.reading[f"{_stack(config)}.pos_embed"]
        array = array.relabelled({"pos": [f"{word} · {i}" for i, word in enumerate(array.axes[0].labels)]})
        said = t.markdown("positions.look.table_own", n=len(array.values), d_model=config.d_model)
    else:
        n = len(state.reading.src or state.reading.tgt) if rows == "sentence" else int(rows)
        array, key = _laboratory_table(state, rule, n, width)
        said = t.markdown(f"positions.look.table_{key}", n=len(array.values), d_model=array.shape[1])
    alt = t("positions.alt.table", n=array.shape[0], d_model=array.shape[1])
    with picture:
        st.markdown(said)
        if own and array.shape[0] <= 20:
            block = Block(
                array,
                id="pos_embed",
                title=t(f"positions.rule.{rule}"),
                role="residual",
                limit=max(1.0, largest(array)),
            )
            matrices([block], layout="single", key="positions_own", alt=alt, t=t, theme=state.theme)
        else:
            limit = max(1.0, largest(array))
            show(
                map_of_places(array, t, state.theme, limits=(-limit, limit), height=470),
                key="positions_table",
                alt=alt,
                t=t,
                theme=state.theme,
                filename="positions",
            )
    if rule == "sinusoidal":
        st.caption(
            t.markdown(
                "positions.table.checked" if array.shape[1] % 2 == 0 else "positions.table.odd",
                off=_small(positions.off_formula(array)),
                d_model=array.shape[1],
            )
        )
    return rule


def _laboratory_table(state: Session, rule: str, n_places: int, width: int) -> tuple[LabelledArray, str]:
    if rule == "sinusoidal":
        return positions.sinusoidal(n_places, width), "formula"
    table, key = _learned(state)
    kept = table.values[:n_places]
    place, columns = table.axes
    return LabelledArray(table.name, kept, (Axis(place.name, place.labels[: len(kept)]), columns)), key


def _learned(state: Session) -> tuple[LabelledArray, str]:
    """Return a table of learned positions, and whether it is the subject's own or one that never learnt."""
    if state.run.config.model.positions == "learned":
        return positions.learned(state.subject.model), "learned"
    return positions.learned(positions.untrained("learned", len(SPECIALS))), "untrained"


def _waves(state: Session, t: Translate) -> str:
    """Pairs of columns as waves over the places, and the wavelength of every pair."""
    config = state.run.config.model
    picture = st.container()
    with controls():
        width = pick_width(state, t)
        rows = pick_rows(state, t, ("128", "32", "512"))
        lengths = positions.wavelengths(width)
        pair = pick_pair(state, t, len(lengths))
    n = int(rows)
    table = positions.sinusoidal(n, width)
    at = np.linspace(0, n - 1, 10 * n)
    strips = []
    for i in positions.spread_over(len(lengths), 6, among=pair):
        sine, cosine = positions.wave(width, i, at)
        name = t("positions.waves.pair", pair=i)
        strips.append(Strip(name, at, sine, cosine, table.values[:, 2 * i].astype(np.float64), i == pair))
    with picture:
        st.markdown(
            t.markdown("positions.look.waves", pair=pair, column=2 * pair, length=_places(float(lengths[pair])))
        )
        left, right = st.columns([7, 4], gap="medium")
        with left:
            show(
                waves(strips, t, state.theme, height=470),
                key="positions_waves",
                alt=t("positions.alt.waves", n=len(strips)),
                t=t,
                theme=state.theme,
                filename="waves",
            )
        with right:
            show(
                wavelengths(
                    lengths,
                    pair,
                    {t("positions.waves.longest", n=config.max_len): float(config.max_len)},
                    t,
                    state.theme,
                    height=470,
                ),
                key="positions_wavelengths",
                alt=t("positions.alt.wavelengths", first=_places(float(lengths[0])), last=_places(float(lengths[-1]))),
                t=t,
                theme=state.theme,
                filename="wavelengths",
            )
    return "sinusoidal"


def _similarity(state: Session, t: Translate) -> str:
    """How alike two places are, for each rule: a map of all pairs, and the same over their distance."""
    config = state.run.config.model
    picture = st.container()
    with controls():
        rule = pick_rule(state, t, RULES, config.positions)
    pairs, others, key = _alike(state, rule)
    limit = 1.0 if rule != "alibi" else largest(pairs)
    values = {"largest": _small(positions.unequal(pairs)), "n": len(pairs.values)}
    with picture:
        st.markdown(t.markdown(f"positions.look.similarity_{key}", **values))
        left, right = st.columns([5, 6], gap="medium")
        with left:
            show(
                map_of_places(pairs, t, state.theme, limits=(-limit, limit), height=460, square=True),
                key="positions_pairs",
                alt=t("positions.alt.pairs", rule=t(f"positions.rule.{rule}"), n=len(pairs.values)),
                t=t,
                theme=state.theme,
                filename="similarity",
            )
        with right:
            said = t("positions.similarity.bias" if rule == "alibi" else "positions.similarity.cosine")
            show(
                over_distance(_curves(pairs, others, rule, t), said, t, state.theme, height=460),
                key="positions_distance",
                alt=t("positions.alt.distance", rule=t(f"positions.rule.{rule}")),
                t=t,
                theme=state.theme,
                filename="similarity_by_distance",
            )
    return rule


def _alike(state: Session, rule: str) -> tuple[LabelledArray, LabelledArray | None, str]:
    """Return what a rule says of any two places, all heads of it if heads differ, and the end of the words' key."""
    config = state.run.config.model
    if rule == "sinusoidal":
        return positions.cosines(positions.sinusoidal(N_PLACES, max(2, config.d_model))), None, rule
    if rule == "learned":
        table, key = _learned(state)
        place, columns = table.axes
        n = min(N_PLACES, len(place))
        short = LabelledArray(table.name, table.values[:n], (Axis(place.name, place.labels[:n]), columns))
        return positions.cosines(short), None, key
    if rule == "rotary":
        ones = np.ones(_even(config.d_head))
        scores = positions.rotary_scores(ones, ones, N_PLACES, config.rope_theta)
        return scores.derived("cos", scores.values / np.float32(np.sqrt(len(ones)))), None, rule
    if rule == "alibi":
        heads = positions.alibi_bias(config.n_heads if config.positions == "alibi" else 8, N_PLACES)
        return heads.select(head=0), heads, rule
    return positions.between_places("1", np.ones((N_PLACES, N_PLACES))), None, rule


def _curves(pairs: LabelledArray, heads: LabelledArray | None, rule: str, t: Translate) -> list[Curve]:
    n = len(pairs.values)
    distance = np.arange(n, dtype=np.float64)
    if heads is not None:
        return [
            Curve(t("positions.similarity.head", head=h), distance, each[0].astype(np.float64), strong=h == 0)
            for h, each in enumerate(heads.values)
        ]
    mean = np.array([values.mean() for _, values in positions.apart(pairs)])
    thin = []
    for place in positions.spread_over(n, 24):
        for name, part in (("later", pairs.values[place, place:]), ("earlier", pairs.values[place, place::-1])):
            if len(part) > 1:
                said = t(f"positions.similarity.{name}", place=place)
                thin.append(Curve(said, distance[: len(part)], part.astype(np.float64)))
    return [*thin, Curve(t("positions.similarity.mean"), distance, mean, strong=True)]


def _rotation(state: Session, t: Translate) -> str:
    """PE(pos + k) as a rotation of PE(pos), pair by pair, and the check in numbers."""
    width = max(2, state.run.config.model.d_model)
    picture = st.container()
    with controls():
        place = pick_place(state, t, MOST_PLACE)
        shift = pick_shift(state, t, MOST_TURNS)
    table = positions.sinusoidal(N_CHECKED, width)
    shown = positions.spread_over(width // 2, N_DIALS)
    turns = shift * positions.frequencies(width)
    theme = state.theme
    before, after = (table.values[at, : 2 * (width // 2)].reshape(-1, 2).astype(float) for at in (place, place + shift))
    drawn = [
        Dial(
            t("positions.waves.pair", pair=i),
            _turn(turns[i]),
            (
                # Drawn with the cosine to the right, so that later places turn counter-clockwise.
                Arrow(f"PE({place})", (before[i, 1], before[i, 0]), theme.residual),
                Arrow(f"PE({place + shift})", (after[i, 1], after[i, 0]), theme.query, float(turns[i])),
            ),
        )
        for i in shown
    ]
    off = positions.off_by(table, shift)
    with picture:
        st.markdown(t.markdown("positions.look.rotation", place=place, shift=shift, to=place + shift))
        show(
            dials(drawn, theme, height=460),
            key="positions_dials",
            alt=t("positions.alt.dials", n=len(drawn), place=place, to=place + shift),
            t=t,
            theme=theme,
            filename="rotation",
        )
    st.markdown(
        t.markdown("positions.rotation.checked", n=N_CHECKED - shift, pairs=width // 2, shift=shift, off=_small(off))
    )
    matrices(
        _rotation_blocks(table, place, shift, shown, t),
        layout="row",
        key="positions_rotation",
        alt=t("positions.alt.rotation"),
        t=t,
        theme=theme,
        filename="rotation",
    )
    return "sinusoidal"


def _rotation_blocks(table: LabelledArray, place: int, shift: int, shown: tuple[int, ...], t: Translate) -> list[Block]:
    """Return R(k), PE(pos), their product and PE(pos + k) of the shown pairs, and what is left between the last two."""
    rows = [*shown]
    matrix = positions.rotations(table.shape[1], shift)[rows].reshape(-1, 4)
    product = positions.rotated(table, shift).values[place].reshape(-1, 2)[rows]
    before, after = (
        table.values[at, : 2 * (table.shape[1] // 2)].reshape(-1, 2)[rows] for at in (place, place + shift)
    )
    axis = Axis("pair", tuple(str(i) for i in shown))

    def block(name: str, values: object, columns: tuple[str, ...], limit: float, **more: object) -> Block:
        array = LabelledArray(name, np.asarray(values, dtype=np.float32), (axis, Axis("entry", columns)))
        title = t(f"positions.rotation.{name}", place=place, shift=shift, to=place + shift)
        return Block(array, id=name, title=title, limit=limit, **more)  # type: ignore[arg-type]

    pair = ("sin", "cos")
    both = (Operand("turn_rows", row="row"), Operand("before", row="row"))
    return [
        block("turn_rows", matrix, ("cos", "sin", "−sin", "cos"), 1.0, formula="φ = k · 10000^(−2i/d)"),
        block("before", before, pair, 1.0, role="residual"),
        block("product", product, pair, 1.0, operands=both),
        block("after", after, pair, 1.0, role="query"),
        block(
            "left",
            product - after,
            pair,
            1.0,
            operands=(Operand("product", "row", "col"), Operand("after", "row", "col")),
        ),
    ]


def _relative(state: Session, t: Translate) -> str:
    """Rules that work inside the attention: scores that depend on the offset only."""
    config = state.run.config.model
    offered = ("rotary", "alibi", "none")
    picture = st.container()
    with controls():
        rule = pick_rule(state, t, offered, config.positions if config.positions in offered else "rotary")
        place = pick_place(state, t, MOST_PLACE)
        shift = pick_shift(state, t, N_PLACES - MOST_PLACE - 1)
    row = place + shift
    theme = state.theme
    if rule == "alibi":
        scores = _alike(state, rule)[0]
        drawn = None
    else:
        q, k, whose = _query_and_key(state)
        if rule == "none":
            scores = positions.between_places(
                "q k / √d_head", np.full((N_PLACES, N_PLACES), float(q @ k) / np.sqrt(len(q)))
            )
            turned = (q, k)
        else:
            scores = positions.rotary_scores(q, k, N_PLACES, config.rope_theta)
            turned = (
                positions.turned_by_place(q, row + 1, config.rope_theta)[row],
                positions.turned_by_place(k, row + 1, config.rope_theta)[place],
            )
        drawn = _turning(turned, config, rule, row, place, state, t)
    said = {
        "row": row,
        "place": place,
        "shift": shift,
        "score": f"{float(scores.values[row, place]):.4f}".replace("-", "−"),
        "largest": _small(positions.unequal(scores)),
    }
    key = rule if rule == "alibi" else f"{rule}_{whose}" if rule == "rotary" else rule
    with picture:
        st.markdown(t.markdown(f"positions.look.relative_{key}", **said))
        left, right = st.columns([6, 5], gap="medium")
        with left:
            if drawn is None:
                heads = _alike(state, rule)[1]
                curves = _curves(scores, heads, rule, t)
                figure = over_distance(curves, t("positions.similarity.bias"), t, theme, height=460)
            else:
                figure = dials(drawn, theme, columns=4, height=460)
            show(
                figure,
                key="positions_curves" if drawn is None else "positions_turning",
                alt=t(f"positions.alt.relative_{rule}", row=row, place=place),
                t=t,
                theme=theme,
                filename="relative",
            )
        with right:
            show(
                map_of_places(_of_query_and_key(scores), t, theme, at=(row, place), height=460, square=True),
                key="positions_scores",
                alt=t("positions.alt.scores", rule=t(f"positions.rule.{rule}")),
                t=t,
                theme=theme,
                filename="scores",
            )
    along = np.diagonal(scores.values, -shift)[:12]
    places = tuple(f"{i + shift}, {i}" for i in range(len(along)))
    rows = Axis("distance", (str(shift),))
    st.markdown(t.markdown("positions.relative.checked", shift=shift, largest=said["largest"], n=N_PLACES))
    matrices(
        [
            Block(
                LabelledArray("offset", along[None], (rows, Axis("place", places))),
                id="offset",
                title=t("positions.relative.same", shift=shift),
                limit=largest(scores),
            )
        ],
        layout="row",
        key="positions_offset",
        alt=t("positions.alt.offset", shift=shift),
        t=t,
        theme=theme,
        filename="offset",
    )
    return rule


def _of_query_and_key(scores: LabelledArray) -> LabelledArray:
    place, other = scores.axes
    axes = (Axis("query_place", place.labels), Axis("key_place", other.labels))
    return LabelledArray(scores.name, scores.values, axes)


def _query_and_key(state: Session) -> tuple[np.ndarray, np.ndarray, str]:
    """Return a query and a key before any turning: the subject's own if it is rotary, else drawn ones."""
    config = state.run.config.model
    if config.positions != "rotary":
        return *positions.drawn_vectors(_even(config.d_head)), "drawn"
    sublayer = f"{_stack(config)}.0.self_attn"
    q, k = state.reading[f"{sublayer}.q_unrotated"].values, state.reading[f"{sublayer}.k_unrotated"].values
    return q[0, -1].astype(np.float64), k[0, 0].astype(np.float64), "own"


def _turning(
    turned: tuple[np.ndarray, np.ndarray],
    config: ModelConfig,
    rule: str,
    row: int,
    place: int,
    state: Session,
    t: Translate,
) -> list[Dial]:
    theme = state.theme
    q, k = (positions.half_split(each) for each in turned)
    longest = float(max(np.linalg.norm(q, axis=1).max(), np.linalg.norm(k, axis=1).max())) or 1.0
    frequency = (
        config.rope_theta ** (-np.arange(0, 2 * len(q), 2) / (2 * len(q))) if rule == "rotary" else np.zeros(len(q))
    )
    return [
        Dial(
            t("positions.relative.pair", first=i, second=i + len(q)),
            _turn((row - place) * frequency[i]),
            (
                Arrow(f"q({row})", (q[i, 0] / longest, q[i, 1] / longest), theme.query, float(row * frequency[i])),
                Arrow(f"k({place})", (k[i, 0] / longest, k[i, 1] / longest), theme.key, float(place * frequency[i])),
            ),
        )
        for i in positions.spread_over(len(q), N_PAIRS)
    ]


def _shuffle(state: Session, t: Translate) -> str:
    """The sentence and the same words in another order, through one encoder."""
    config = state.run.config.model
    picture = st.container()
    with controls():
        rule = pick_rule(state, t, RULES, config.positions)
        how, draw = pick_order(state, t)
    words = state.reading.src or state.reading.tgt
    marks = [word in SPECIALS for word in words]
    first = 1 if marks[0] else 0
    last = len(words) - (1 if marks[-1] and len(words) > 1 else 0)
    if how == "reversed":
        first, last = 0, len(words)
    moved = positions.other_order(last - first, how, draw)
    order = (*range(first), *(first + i for i in moved), *range(last, len(words)))
    ids = state.task.vocabulary.encode(words)
    has_encoder = config.architecture != "decoder-only"
    without = rule == "none" and positions.without_positions(config)
    own = has_encoder and (rule == config.positions or without)
    model = state.subject.model if own else positions.untrained(rule, config.vocab_size)
    found = positions.shuffle(model, ids, words, order, without=without)
    key = "same" if found.largest < SAME else "other"
    look = key if order != tuple(range(len(words))) else "alone"
    whose = "without" if without else "own" if own else "untrained"
    limit = largest(found.plain)
    shuffled = " ".join(words[i] for i in order[first:last])
    blocks = [
        Block(found.plain, id="plain", title=t("positions.shuffle.plain"), formula="f(X)", role="memory", limit=limit),
        Block(
            found.shuffled,
            id="shuffled",
            title=t("positions.shuffle.shuffled"),
            formula="f(ΠX)",
            role="memory",
            limit=limit,
        ),
        Block(
            found.difference,
            id="difference",
            title=t("positions.shuffle.difference"),
            formula="Π^T f(ΠX) − f(X)",
            limit=limit,
            operands=(Operand("plain", row="row", col="col"),),
        ),
    ]
    with picture:
        st.markdown(t.markdown(f"positions.look.shuffle_{look}", text=shuffled, share=_small(100 * found.largest)))
        matrices(
            blocks,
            layout="row",
            key="positions_shuffle",
            alt=t(f"positions.alt.shuffle_{key}", rule=t(f"positions.rule.{rule}")),
            t=t,
            theme=state.theme,
            filename="shuffle",
        )
    st.caption(t.markdown(f"positions.shuffle.{whose}"))
    return rule


# Two orders are the same if no number differs by more than this share of the largest: sums in another order round so.
SAME = 1e-4


def _longer(state: Session, t: Translate) -> str:
    """Sequences longer than those of the training, for each rule: models of the laboratory, trained beforehand."""
    config = state.run.config.model
    measured = longer.measured()
    picture = st.container()
    with controls():
        rule = pick_rule(state, t, RULES, config.positions)
    shares = dict(zip(measured.lengths, measured.right[rule], strict=True))
    twice = shares[2 * measured.trained]
    with picture:
        st.markdown(
            t.markdown(
                "positions.look.longer" if twice is not None else "positions.look.longer_refused",
                rule=t(f"positions.rule.{rule}"),
                trained=measured.trained,
                longest=2 * measured.trained,
                at_trained=percent(shares[measured.trained] or 0.0),
                at_twice=percent(twice or 0.0),
            )
        )
        show(
            reach(
                measured.lengths,
                measured.right,
                {each: t(f"positions.rule.{each}") for each in measured.right},
                measured.trained,
                t,
                state.theme,
                chosen=rule,
                height=460,
            ),
            key="positions_reach",
            alt=t("positions.alt.reach", n=measured.trained),
            t=t,
            theme=state.theme,
            filename="longer",
        )
    st.caption(
        t.markdown(
            "positions.longer.laboratory",
            models=len(measured.seeds),
            steps=f"{measured.steps:,}",
            tried=measured.tried,
            seeds=", ".join(map(str, measured.seeds)),
        )
    )
    turns = positions.full_turns(config)
    st.markdown(t.markdown(f"positions.longer.{rule}"))
    st.markdown(
        t.markdown(f"positions.longer.own_{config.positions}", max_len=config.max_len, whole=turns[0], pairs=turns[1])
    )
    return rule


_DRAWN: Mapping[str, Callable[[Session, Translate], str]] = MappingProxyType(
    {
        "table": _table,
        "waves": _waves,
        "similarity": _similarity,
        "rotation": _rotation,
        "relative": _relative,
        "shuffle": _shuffle,
        "longer": _longer,
    }
)


def _stack(config: ModelConfig) -> str:
    return "decoder" if config.architecture == "decoder-only" else "encoder"


def _even(d_head: int) -> int:
    """Return a head's width, or the laboratory's where the subject's could not be turned in pairs."""
    return d_head if d_head % 2 == 0 else 16


def _small(value: float) -> str:
    return (
        "0" if value == 0 else f"{value:.1e}".replace("e-0", "e-").replace("-", "−") if value < 1e-3 else f"{value:.3g}"
    )


def _places(length: float) -> str:
    return f"{length:,.1f}" if length < 100 else f"{length:,.0f}"


def _turn(angle: float) -> str:
    return f"{np.degrees(angle):,.3g}°" if angle < 100 else f"{np.degrees(angle):,.0f}°"
