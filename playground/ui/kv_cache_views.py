"""The cache from seven sides: growing, against none, shared, in a batch, in a window, calculated, and as a limit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st

from playground.bandwidth import machine, speeds
from playground.caching import (
    LENGTHS,
    Growth,
    batch,
    growth,
    shape_of,
    shared,
    timed,
    windowed,
)
from playground.calculator import BATCHES, MODELS, Sizes, cost, weights_read
from playground.figures.cache import Bar, Course, Panel, Spot, bars, panels, roofline
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray
from playground.operations import step, whole
from playground.ui.components.cache_grid import KeptLayer, KeptStep, cache_grid
from playground.ui.components.matrix import Block, matrices
from playground.ui.components.word_grid import WordCell, WordRow, word_grid
from playground.ui.depth import Cell
from playground.ui.kv_cache_controls import (
    chosen_card,
    chosen_costs,
    chosen_hardware,
    chosen_kv,
    chosen_moment,
    chosen_sizes,
    chosen_view,
    chosen_window,
    name_of,
    pick_bandwidth,
    pick_costs,
    pick_kv,
    pick_sizes,
    pick_view,
    pick_window,
    stay_at,
)
from playground.ui.session import Session
from playground.ui.show import show

# What a view is about, in KaTeX.
FORMULAS: Mapping[str, str] = {
    "grow": r"\text{bytes}=2\cdot L\cdot h_{kv}\cdot d_{head}\cdot T\cdot b\qquad "
    r"\text{Attention}(q_t,\,[K_{<t};k_t],\,[V_{<t};v_t])",
    "compare": r"\text{a step: }\underbrace{2Td}_{O(T)}\ \text{against}\ \underbrace{2T^2d}_{O(T^2)}\qquad "
    r"\text{in all: }\sum_{t=1}^{T}2td=O(T^2)\ \text{against}\ \sum_{t=1}^{T}2t^2d=O(T^3)",
    "heads": r"\text{head}_i=\text{Attention}\bigl(XW^Q_i,\;XW^K_{\lfloor i\,h_{kv}/h\rfloor},\;"
    r"XW^V_{\lfloor i\,h_{kv}/h\rfloor}\bigr)",
    "batch": r"\text{bytes}=2\cdot L\cdot h_{kv}\cdot d_{head}\cdot\max_b T_b\cdot B\cdot b\qquad "
    r"\text{position}_b=\text{words that row }b\text{ has read}",
    "window": r"M_{ij}=[\,0\le i-j<w\,]\qquad \text{bytes}\le 2\cdot L\cdot h_{kv}\cdot d_{head}\cdot (w-1)\cdot b",
    "calculator": r"\text{bytes}=2\cdot L\cdot h_{kv}\cdot d_{head}\cdot T\cdot B\cdot b\qquad "
    r"\text{memory}\ge N\,b_w+\text{bytes}",
    "bandwidth": r"\text{operations a second}\le\min\Bigl(\pi,\;\beta\cdot\frac{\text{operations}}{\text{bytes}}\Bigr)"
    r"\qquad \text{tokens a second}\le\frac{B\,\beta}{\text{weights}+B\cdot\text{cache}}",
}

MOST_BLOCKS = 32  # heads of all layers; beyond, only the layer that is chosen is drawn
Shown = tuple[Cell | None, bool]


def draw(state: Session, t: Translate) -> Shown:
    """Draw the view that is chosen; return the number it is about, and whether the visitor clicked it."""
    return PICTURES[chosen_view(state)](state, t)


def control(state: Session, t: Translate) -> None:
    """Draw what is chosen in a view."""
    view = chosen_view(state)
    pick_view(state, t)
    if view == "compare":
        pick_costs(state, t)
    elif view == "heads":
        pick_kv(state, state.run.config.model, t)
    elif view == "window":
        pick_window(state, t)
    elif view == "calculator":
        pick_sizes(state, t)
    elif view == "bandwidth":
        pick_bandwidth(state, t)


def size(n_bytes: float) -> str:
    """Return bytes as people say them: with three digits, in powers of 1,024."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if n_bytes < 1024 or unit == "TiB":
            return f"{n_bytes:,.0f} {unit}" if unit == "B" else f"{n_bytes:,.4g} {unit}"
        n_bytes /= 1024
    raise AssertionError


def _drawn_layers(state: Session, found: Growth) -> list[KeptLayer]:
    heads = len(found.own[0][0].axis("kv_head"))
    layers = [KeptLayer(i, own, found.cross[i] if found.cross else None) for i, own in enumerate(found.own)]
    if len(layers) * heads <= MOST_BLOCKS:
        return layers
    return [layers[state.layer_and_head(0, 0)[0]]]


def _grow(state: Session, t: Translate) -> Shown:
    """Draw keys and values, step by step."""
    found = growth(state.subject)
    config = state.run.config.model
    steps = []
    for index, moment in enumerate(found.moments):
        start, end = moment.read
        words = " ".join(found.words[start:end])
        kind = "step" if index else "prefill" if found.source else "prefill_alone"
        said = t(f"kv_cache.grow.{kind}", n=end - start, read=words, writes=found.writes[end - 1])
        factors = f"2 · {config.n_layers} · {config.n_kv_heads} · {config.d_head}"
        n_held = moment.held[1] - moment.held[0]
        count = t(
            "kv_cache.grow.count",
            n=n_held,
            bytes=f"{moment.bytes_own:,}",
            formula=f"{factors} · {n_held} · 4 = {moment.formula_own:,}",
        )
        if found.source:
            n = len(found.source)
            formula = f"{factors} · {n} · 4 = {moment.formula_cross:,}"
            count += " " + t("kv_cache.grow.cross", n=n, bytes=f"{moment.bytes_cross:,}", formula=formula)
        steps.append(KeptStep(moment.read, moment.held, said, count))
    at = chosen_moment(state, len(steps))
    layers = _drawn_layers(state, found)
    key = hashlib.sha256(f"{state.run_id} {state.step} {found.words} {found.source}".encode()).hexdigest()[:16]
    picked = cache_grid(
        layers,
        steps,
        at=at,
        token=key,
        readers=[head * config.n_kv_heads // config.n_heads for head in range(config.n_heads)],
        key="kv_grid",
        on_step=stay_at(state),
        alt=t("kv_cache.grow.alt", layers=config.n_layers, heads=config.n_kv_heads, n=len(found.words)),
        t=t,
        theme=state.theme,
    )
    shown = Cell(
        f"decoder.{layers[0].index}.self_attn.k", {"kv_head": 0, "key": found.moments[at].read[1] - 1, "d_head": 0}
    )
    if picked is None:
        return shown, False
    where = {name: int(place) for name, place in picked.items() if name != "name"}
    return Cell(str(picked["name"]), where), True


def _compare(state: Session, t: Translate) -> Shown:
    """Draw what a word costs with a cache and without."""
    found = growth(state.subject)
    span, shape = chosen_costs(state)
    last = found.moments[-1]
    numbers = {
        "cached": f"{last.cached.total:,}",
        "full": f"{last.full.total:,}",
        "ratio": f"{last.full.total / last.cached.total:.1f}",
        "ms_cached": f"{1e3 * last.seconds_cached:.2f}",
        "ms_full": f"{1e3 * last.seconds_full:.2f}",
        "difference": f"{max(moment.difference for moment in found.moments):.1g}",
        "word": found.words[last.read[1] - 1],
    }
    st.markdown(t.markdown("kv_cache.compare.look", **numbers))
    theme = state.theme
    with_, without = (theme.runs[2], "solid"), (theme.runs[1], "dash")
    names = {True: t("kv_cache.figure.with"), False: t("kv_cache.figure.without")}

    def pair(x: list[float], cached: list[float], full: list[float], *, measured: bool = False) -> tuple[Course, ...]:
        return (
            Course(x, full, names[False], *without, is_measured=measured),
            Course(x, cached, names[True], *with_, is_measured=measured),
        )

    places = [float(i) for i in range(len(found.moments))]
    own = [(float(m.cached.total), float(m.full.total)) for m in found.moments]
    if span == "all":
        own = [tuple(map(float, column)) for column in np.cumsum(np.asarray(own), axis=0)]  # type: ignore[misc]
    config = shape_of(state.subject, shape)
    count = step if span == "step" else whole
    ops = [[float(count(config, n, is_cached=kept).attention) for n in LENGTHS] for kept in (True, False)]
    times = timed(config)
    xs = [float(n) for n in LENGTHS]
    labels = tuple(found.words[moment.read[1] - 1] for moment in found.moments)
    drawn = [
        Panel(
            t(f"kv_cache.figure.own_{span}"),
            t("kv_cache.figure.word"),
            pair(places, [a for a, _ in own], [b for _, b in own], measured=True),
            words=labels,
            is_log=False,
        ),
        Panel(t(f"kv_cache.figure.attention_{span}"), t("kv_cache.figure.length"), pair(xs, ops[0], ops[1])),
        Panel(
            t("kv_cache.figure.measured"),
            t("kv_cache.figure.length"),
            pair(xs, [1e3 * each.cached for each in times], [1e3 * each.full for each in times], measured=True),
        ),
    ]
    show(
        panels(drawn, theme, height=460 if state.present else 390),
        narrow=panels(drawn, theme, height=560, is_narrow=True),
        key="kv_costs",
        alt=t("kv_cache.compare.alt"),
        filename=t("kv_cache.file"),
        t=t,
        theme=theme,
        caption=t.markdown(
            "kv_cache.compare.caption",
            shape=t(f"kv_cache.shape.{shape}"),
            parameters=f"{config.n_parameters / 1e6:.2g}",
            n=LENGTHS[-1],
            ratio=f"{times[-1].full / times[-1].cached:.1f}",
        ),
    )
    return None, False


def _heads(state: Session, t: Translate) -> Shown:
    """Draw what sharing keys and values between heads leaves to be kept."""
    config = state.run.config.model
    all_ = shared(state.subject)
    n = chosen_kv(state, config)
    found = next(each for each in all_ if each.n_kv_heads == n)
    said = t.markdown(
        "kv_cache.heads.look" if n < config.n_heads else "kv_cache.heads.look_all",
        name=name_of(n, config.n_heads, t),
        bytes=size(found.n_bytes),
        share=f"{all_[0].n_bytes / found.n_bytes:.3g}",
        most=size(all_[0].n_bytes),
    )
    whose = t("kv_cache.heads.subject" if found.is_subject else "kv_cache.heads.untrained")
    st.markdown(f"{said} {whose}")
    grid, beside = st.columns([3, 2], gap="large")
    n_words = len(found.own[0][0].axis("key"))
    layers = [KeptLayer(i, own) for i, own in enumerate(found.own)]
    if len(layers) * n > MOST_BLOCKS:
        layers = layers[:1]
    with grid:
        cache_grid(
            layers,
            [KeptStep((0, 0), (0, n_words), "", t("kv_cache.heads.parameters", n=f"{found.n_parameters:,}"))],
            at=0,
            token=f"{state.run_id} {state.step} {n} {found.own[0][0].axis('key').labels}",
            readers=found.readers,
            key="kv_heads_grid",
            on_step=lambda _: None,
            alt=t("kv_cache.heads.alt", n=n),
            t=t,
            theme=state.theme,
        )
    with beside:
        drawn = [
            Bar(name_of(each.n_kv_heads, config.n_heads, t), (each.n_bytes,), size(each.n_bytes), each is found)
            for each in all_
        ]
        show(
            bars(drawn, [t("kv_cache.figure.bytes")], t("kv_cache.figure.bytes"), state.theme, height=300),
            key="kv_heads_bars",
            alt=t("kv_cache.heads.bars_alt"),
            filename=t("kv_cache.file"),
            t=t,
            theme=state.theme,
            caption=t.markdown("kv_cache.heads.caption", n=found.formula),
        )
    return None, False


def _batch(state: Session, t: Translate) -> Shown:
    """Draw sentences of different lengths in one cache."""
    found = batch(state.subject)
    wasted = 1 - found.needed / found.n_bytes
    st.markdown(
        t.markdown(
            "kv_cache.batch.look",
            n=len(found.rows),
            bytes=size(found.n_bytes),
            needed=size(found.needed),
            share=f"{wasted:.0%}",
            difference=f"{found.difference:.1g}",
        )
    )
    rows = [
        WordRow(
            title=t("kv_cache.batch.row", row=row),
            cells=tuple(
                WordCell(
                    word if real else "",
                    sub=str(where) if real else t("kv_cache.batch.padding"),
                    value=1.0 if real else 0.0,
                    said=(t("kv_cache.batch.cell", word=word, where=where) if real else t("kv_cache.batch.padded"),),
                )
                for word, real, where in zip(words, reals, wheres, strict=True)
            ),
            after=0.5,
        )
        for row, (words, reals, wheres) in enumerate(zip(found.rows, found.real, found.where, strict=True))
    ]
    word_grid(
        rows,
        colour=t("kv_cache.batch.colour"),
        key="kv_batch",
        alt=t("kv_cache.batch.alt", n=len(found.rows)),
        filename=t("kv_cache.file"),
        t=t,
        theme=state.theme,
    )
    return None, False


def _window(state: Session, t: Translate) -> Shown:
    """Draw what a sliding window keeps, and what it forgets."""
    found = windowed(state.subject, chosen_window(state))
    changed = [i for i, pair in enumerate(zip(found.full_writes, found.writes, strict=True)) if pair[0] != pair[1]]
    pairs = ", ".join(f"{found.full_writes[i]} → {found.writes[i]}" for i in changed[:4])
    look = t.markdown(
        "kv_cache.window.look",
        n=found.window,
        bytes=size(found.bytes_own[-1]),
        full=size(found.full_own[-1]),
        off=f"{found.off:.1g}",
    )
    told = t.markdown("kv_cache.window.changed", n=len(changed), pairs=pairs) if changed else t("kv_cache.window.same")
    st.markdown(f"{look} {told}")
    n = len(found.words)
    reasons = np.full((n, n), "", dtype=object)
    for query, key in np.ndindex(n, n):
        if not found.seen[query][key]:
            reasons[query, key] = "causal" if key > query else "window"
    axes = (Axis("query", found.words), Axis("key", found.words))
    seen = LabelledArray("mask", np.asarray(found.seen, dtype=np.float32), axes)
    left, right = st.columns([1, 1], gap="large")
    with left:
        matrices(
            [Block(seen, id="seen", title=t("kv_cache.window.seen"), formula="M", scale="weights", hidden=reasons)],
            layout="single",
            alt=t("kv_cache.window.alt", n=found.window),
            filename=t("kv_cache.file"),
            key="kv_window",
            t=t,
            theme=state.theme,
        )
    with right:
        places = [float(i) for i in range(n)]
        courses = (
            Course(places, found.full_own, t("kv_cache.figure.unlimited"), state.theme.runs[1], "dash", True),
            Course(places, found.bytes_own, t("kv_cache.figure.window"), state.theme.runs[2], "solid", True),
        )
        panel = Panel(t("kv_cache.figure.held"), t("kv_cache.figure.word"), courses, words=found.words, is_log=False)
        show(
            panels([panel], state.theme, height=360),
            key="kv_window_bytes",
            alt=t("kv_cache.window.bytes_alt"),
            filename=t("kv_cache.file"),
            t=t,
            theme=state.theme,
        )
    return None, False


def _calculator(state: Session, t: Translate) -> Shown:
    """Draw weights and cache of a known model, or of sizes of one's own, beside the memory of a card."""
    known, sizes = chosen_sizes(state)
    card = chosen_card(state) * 1e9
    fits = sizes.tokens_in(card)
    name = t("kv_cache.calc.own") if "sizes" in state.picks else known
    values = {
        "name": name,
        "token": size(sizes.per_token),
        "cache": size(sizes.cache),
        "weights": size(sizes.weights),
        "context": f"{sizes.context:,}",
        "batch": sizes.batch,
        "tokens": f"{fits:,}",
        "card": chosen_card(state),
    }
    st.markdown(t.markdown("kv_cache.calc.look", **values))
    st.markdown(t.markdown("kv_cache.calc.fits" if fits else "kv_cache.calc.too_large", **values))
    total = sizes.context * sizes.batch
    drawn = []
    for factor in (0.25, 0.5, 1, 2, 4):
        tokens = max(1, round(total * factor))
        cache = sizes.per_token * tokens
        ends = f"{size(cache)} · {(cache + sizes.weights) / 1e9:,.3g} GB"
        drawn.append(
            Bar(t("kv_cache.calc.tokens", n=f"{tokens:,}"), (sizes.weights / 1e9, cache / 1e9), ends, factor == 1)
        )
    show(
        bars(
            drawn,
            [t("kv_cache.figure.weights"), t("kv_cache.figure.cache")],
            t("kv_cache.figure.gigabytes"),
            state.theme,
            limits=[(card / 1e9, t("kv_cache.figure.card", n=chosen_card(state)))],
            height=440 if state.present else 360,
        ),
        key="kv_calculator",
        alt=t("kv_cache.calc.alt", **values),
        filename=t("kv_cache.file"),
        t=t,
        theme=state.theme,
    )
    return None, False


def table_of_models(t: Translate) -> str:
    """Return the known models as a table in Markdown, at 16 bits and their whole context."""
    head = [t(f"kv_cache.calc.{name}") for name in ("model", "layers", "heads", "kv_heads", "d_head", "per_token")]
    head += [t("kv_cache.calc.at_context"), t("kv_cache.calc.billions")]
    rows = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for name, config in MODELS.items():
        own = Sizes.of(config)
        cells = [name, own.layers, own.heads, own.kv_heads, own.d_head, size(own.per_token)]
        cells += [f"{own.context:,}: {size(own.cache)}", f"{own.parameters / 1e9:.3g}"]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def _bandwidth(state: Session, t: Translate) -> Shown:
    """Draw how fast words can be written at most, and how fast they are written here."""
    name, hardware = chosen_hardware(state)
    if hardware is None:
        return _here(state, t)
    known, sizes = chosen_sizes(state)
    config = MODELS[known]
    chosen = min(BATCHES, key=lambda each: abs(each - sizes.batch))
    costs = {n: cost(config, sizes.context, n, number=sizes.number, weight=sizes.weight) for n in BATCHES}
    mine = costs[chosen]
    values = {
        "model": known,
        "machine": name,
        "batch": chosen,
        "bytes": size(mine.bytes),
        "weights": size(mine.weights),
        "cache": size(mine.cache),
        "gflop": f"{mine.operations / 1e9:,.3g}",
        "intensity": f"{mine.intensity:.3g}",
        "ridge": f"{hardware.ridge:.3g}",
        "tokens": f"{mine.tokens_a_second(hardware):,.3g}",
    }
    st.markdown(t.markdown("kv_cache.bandwidth.look", **values))
    if config.n_experts > 1:
        shares = [f"{weights_read(config, n) / config.n_parameters:.0%}" for n in (1, chosen)]
        first, now = shares
        experts = {"n": config.n_experts, "k": config.n_active, "first": first, "now": now, "batch": chosen}
        active = f"{config.n_parameters_active / 1e9:.1f}"
        st.markdown(
            t.markdown("kv_cache.bandwidth.experts", active=active, total=f"{config.n_parameters / 1e9:.1f}", **experts)
        )
    spots = [
        Spot(each.intensity, str(n) if n in (1, 8, 64, 256, chosen) else "", n == chosen) for n, each in costs.items()
    ]
    show(
        roofline(spots, hardware.flops, hardware.bandwidth, t, state.theme, height=470 if state.present else 390),
        key="kv_roofline",
        alt=t("kv_cache.bandwidth.alt", **values),
        filename=t("kv_cache.file"),
        t=t,
        theme=state.theme,
        caption=t.markdown("kv_cache.bandwidth.source", source=hardware.source),
    )
    return None, False


def _here(state: Session, t: Translate) -> Shown:
    """Draw how fast words are written on this machine, beside the bound."""
    limits = machine()
    found = speeds(state.subject)
    mine = found[0]
    bound = mine.cost.tokens_a_second(limits)
    st.markdown(
        t.markdown(
            "kv_cache.bandwidth.measured",
            tokens=f"{mine.measured:,.3g}",
            bound=f"{bound:,.3g}",
            bytes=size(mine.cost.bytes),
            gigabytes=f"{limits.bandwidth / 1e9:.3g}",
            gflops=f"{limits.flops / 1e9:.3g}",
        )
    )
    drawn = []
    for each in found:
        who = t(f"kv_cache.shape.{each.name}")
        top = each.cost.tokens_a_second(limits)
        drawn.append(Bar(t("kv_cache.bandwidth.bound", who=who), (top,), f"{top:,.3g}"))
        share = f"{each.measured:,.3g} · {each.measured / top:.0%}"
        drawn.append(Bar(t("kv_cache.bandwidth.reached", who=who), (each.measured,), share, strong=True))
    show(
        bars(
            drawn,
            [t("kv_cache.figure.tokens")],
            t("kv_cache.figure.tokens"),
            state.theme,
            is_log=True,
            height=440 if state.present else 370,
        ),
        key="kv_here",
        alt=t("kv_cache.bandwidth.here_alt"),
        filename=t("kv_cache.file"),
        t=t,
        theme=state.theme,
    )
    return None, False


PICTURES: Mapping[str, Callable[[Session, Translate], Shown]] = {
    "grow": _grow,
    "compare": _compare,
    "heads": _heads,
    "batch": _batch,
    "window": _window,
    "calculator": _calculator,
    "bandwidth": _bandwidth,
}
