"""What is chosen on the page on the cache of keys and values: its widgets, their keys among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from models import ModelConfig
from playground.caching import SHAPES, VIEWS, WINDOWS, kv_choices
from playground.calculator import BATCHES, CARDS, FORMATS, HARDWARE, LARGEST, MODELS, Hardware, Sizes
from playground.i18n import Translate
from playground.ui.controls import mirror
from playground.ui.link import PICKS
from playground.ui.session import Session

T = TypeVar("T", str, int)

SPANS = ("step", "all")
HERE = "here"


def chosen_view(state: Session) -> str:
    """Return what is looked at: one of `playground.caching.VIEWS`."""
    return str(state.picks.get("cache", VIEWS[0]))


def pick_view(state: Session, t: Translate) -> None:
    """Let the visitor choose what is looked at."""
    shown = chosen_view(state)
    _segments("cache", VIEWS, shown, state, t("kv_cache.view.label"), lambda each: t(f"kv_cache.view.{each}"))


def chosen_moment(state: Session, n: int) -> int:
    """Return the reading that is looked at, of `n`; one in the middle at first, where there is something to see."""
    at = state.picks.get("moment")
    return min(at, n - 1) if isinstance(at, int) else (n - 1) // 2


def stay_at(state: Session) -> Callable[[int], None]:
    """Return what takes down which reading is looked at."""

    def stay(at: int) -> None:
        state.choose(moment=at)

    return stay


def chosen_costs(state: Session) -> tuple[str, str]:
    """Return whether one word or the whole text is counted, and of which model's sizes."""
    return str(state.picks.get("span", SPANS[0])), str(state.picks.get("shape", "subject"))


def pick_costs(state: Session, t: Translate) -> None:
    """Let the visitor choose whether one word or the whole text is counted, and of which model's sizes."""
    span, shape = chosen_costs(state)
    with _row("kv_costs_row"):
        _segments("span", SPANS, span, state, t("kv_cache.span.label"), lambda each: t(f"kv_cache.span.{each}"))
        shapes = ("subject", *SHAPES)
        _segments("shape", shapes, shape, state, t("kv_cache.shape.label"), lambda each: t(f"kv_cache.shape.{each}"))


def chosen_kv(state: Session, config: ModelConfig) -> int:
    """Return how many heads of keys and values are looked at; the subject's at first."""
    chosen = state.picks.get("kv")
    return chosen if isinstance(chosen, int) and chosen in kv_choices(config) else config.n_kv_heads


def pick_kv(state: Session, config: ModelConfig, t: Translate) -> None:
    """Let the visitor choose how many heads of keys and values there are."""
    choices = kv_choices(config)
    if len(choices) > 1:
        words = {n: name_of(n, config.n_heads, t) for n in choices}
        _segments("kv", choices, chosen_kv(state, config), state, t("kv_cache.heads.label"), words.__getitem__)


def name_of(n_kv_heads: int, n_heads: int, t: Translate) -> str:
    """Return what sharing between so many heads is called, with the number."""
    kind = "mha" if n_kv_heads == n_heads else "mqa" if n_kv_heads == 1 else "gqa"
    return t(f"kv_cache.heads.{kind}", n=n_kv_heads)


def chosen_window(state: Session) -> int:
    """Return how many positions a word sees."""
    return int(state.picks.get("slide", WINDOWS[1]))


def pick_window(state: Session, t: Translate) -> None:
    """Let the visitor choose how many positions a word sees."""
    _segments("slide", WINDOWS, str(chosen_window(state)), state, t("kv_cache.window.label"), str)


def chosen_sizes(state: Session) -> tuple[str, Sizes]:
    """Return the name of the known model, and the sizes that are calculated with: its own, or the visitor's."""
    picks = state.picks
    known = str(picks.get("known", "Llama 3 8B"))
    own = Sizes.of(MODELS[known])
    values = {"layers": own.layers, "heads": own.heads, "kv_heads": own.kv_heads, "d_head": own.d_head}
    parameters = own.parameters
    if isinstance(text := picks.get("sizes"), str):
        layers, heads, kv_heads, d_head, millions = (int(part) for part in text.split(","))
        values = {"layers": layers, "heads": heads, "kv_heads": kv_heads, "d_head": d_head}
        values = {name: max(1, min(value, LARGEST[name])) for name, value in values.items()}
        if values["heads"] % values["kv_heads"]:
            values["kv_heads"] = max(n for n in range(1, values["kv_heads"] + 1) if values["heads"] % n == 0)
        parameters = max(1, millions) * 10**6
    context = picks.get("context")
    batch = picks.get("texts")
    return known, Sizes(
        **values,
        parameters=parameters,
        context=max(1, context) if isinstance(context, int) else own.context,
        batch=max(1, batch) if isinstance(batch, int) else 1,
        number=FORMATS[str(picks.get("bits", "16"))],
        weight=FORMATS[str(picks.get("weight_bits", "16"))],
    )


def chosen_card(state: Session) -> int:
    """Return the memory of a card, in GB."""
    return int(state.picks.get("card", 24))


def pick_sizes(state: Session, t: Translate) -> None:
    """Let the visitor choose a known model, number formats and a card, and change any number."""
    _, sizes = chosen_sizes(state)
    with _row("kv_model_row"):
        _pick_known(state, t)
        bits = tuple(FORMATS)
        for name in ("bits", "weight_bits"):
            shown = str(state.picks.get(name, "16"))
            _segments(name, bits, shown, state, t(f"kv_cache.calc.{name}"), lambda each: t("kv_cache.calc.bit", n=each))
        shown = str(chosen_card(state))
        cards = tuple(map(str, CARDS))
        _select("card", cards, shown, state, t("kv_cache.calc.card"), lambda each: t("kv_cache.calc.gb", n=each))
    with _row("kv_sizes_row"):
        for name in ("layers", "heads", "kv_heads", "d_head"):
            _number(name, getattr(sizes, name), LARGEST[name], state, t(f"kv_cache.calc.{name}"), _chose_size)
        millions = max(1, round(sizes.parameters / 1e6))
        _number("parameters", millions, 9_999_999, state, t("kv_cache.calc.parameters"), _chose_size)
        _number("context", sizes.context, LARGEST["context"], state, t("kv_cache.calc.context"), _chose_whole)
        _number("texts", sizes.batch, LARGEST["batch"], state, t("kv_cache.calc.batch"), _chose_whole)


def chosen_hardware(state: Session) -> tuple[str, Hardware | None]:
    """Return a machine's name and its limits, with what the visitor wrote over them; None for this machine."""
    name = str(state.picks.get("machine", "H100"))
    if name == HERE:
        return name, None
    known = HARDWARE[name]
    flops, bandwidth = state.picks.get("teraflops"), state.picks.get("gigabytes")
    return name, Hardware(
        flops=max(1, flops) * 1e12 if isinstance(flops, int) else known.flops,
        bandwidth=max(1, bandwidth) * 1e9 if isinstance(bandwidth, int) else known.bandwidth,
        memory=known.memory,
        source=known.source,
    )


def pick_bandwidth(state: Session, t: Translate) -> None:
    """Let the visitor choose model, machine, batch and context, and write over the machine's numbers."""
    name, hardware = chosen_hardware(state)
    _, sizes = chosen_sizes(state)
    with _row("kv_machine_row"):
        _select(
            "machine",
            (*HARDWARE, HERE),
            name,
            state,
            t("kv_cache.bandwidth.machine"),
            lambda each: t("kv_cache.bandwidth.here") if each == HERE else each,
        )
        if hardware is not None:
            flops, bandwidth = round(hardware.flops / 1e12), round(hardware.bandwidth / 1e9)
            _number("teraflops", flops, 1_000_000, state, t("kv_cache.bandwidth.teraflops"), _chose_whole)
            _number("gigabytes", bandwidth, 1_000_000, state, t("kv_cache.bandwidth.gigabytes"), _chose_whole)
            _pick_known(state, t)
            _number("context", sizes.context, LARGEST["context"], state, t("kv_cache.calc.context"), _chose_whole)
            batch = min(BATCHES, key=lambda each: abs(each - sizes.batch))
            _select("texts", tuple(map(str, BATCHES)), str(batch), state, t("kv_cache.calc.batch"), str)


def _pick_known(state: Session, t: Translate) -> None:
    known, _ = chosen_sizes(state)
    mirror(state, "kv_known", known)
    st.selectbox(
        t("kv_cache.calc.model"),
        [*MODELS],
        key="kv_known",
        on_change=_chose_known,
        args=(state,),
        width=190,
        filter_mode=None,
    )


def _chose_known(state: Session) -> None:
    known = st.session_state.get("kv_known")
    if known is not None:
        state.forget("sizes", "context")
        state.choose(known=known)


def _chose_size(state: Session, name: str) -> None:
    value = st.session_state.get(f"kv_{name}")
    if value is None:
        return
    _, sizes = chosen_sizes(state)
    plain = {each: getattr(sizes, each) for each in ("layers", "heads", "kv_heads", "d_head")}
    plain["parameters"] = max(1, round(sizes.parameters / 1e6))
    plain[name] = int(value)
    state.choose(sizes=",".join(map(str, plain.values())))


def _chose_whole(state: Session, name: str) -> None:
    value = st.session_state.get(f"kv_{name}")
    if value is not None:
        state.choose(**{name: int(value)})


def _row(key: str) -> Any:
    return st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key=key)


def _number(
    name: str, shown: int, largest: int, state: Session, label: str, chose: Callable[[Session, str], None]
) -> None:
    key = f"kv_{name}"
    mirror(state, key, min(shown, largest))
    st.number_input(
        label, min_value=1, max_value=largest, step=1, key=key, on_change=chose, args=(state, name), width=132
    )


def _segments(name: str, options: Sequence[T], shown: T, state: Session, label: str, words: Callable[[T], str]) -> None:
    assert name in PICKS
    key = f"kv_{name}"
    mirror(state, key, shown, map(words, options))
    st.segmented_control(
        label, options, format_func=words, key=key, on_change=_chose, args=(state, name), required=True
    )


def _select(
    name: str, options: Sequence[str], shown: str, state: Session, label: str, words: Callable[[str], str]
) -> None:
    assert name in PICKS
    key = f"kv_{name}"
    mirror(state, key, shown, map(words, options))
    st.selectbox(
        label, options, format_func=words, key=key, on_change=_chose, args=(state, name), width=150, filter_mode=None
    )


def _chose(state: Session, name: str) -> None:
    value = st.session_state.get(f"kv_{name}")
    if value is not None:
        state.choose(**{name: int(value) if isinstance(PICKS[name], int) else value})
