"""What a visitor chooses on the page of all heads: how they are looked at, and of which heads more is to be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from models import ModelConfig
from playground.ablation import HeadAt, all_heads, heads_in, places, written
from playground.home import best_head
from playground.i18n import Translate
from playground.ui.controls import pick_head
from playground.ui.link import PICKS
from playground.ui.session import Session

VIEWS: tuple[str, ...] = PICKS["heads"]  # type: ignore[assignment]  # a tuple there
COLOURS: tuple[str, ...] = PICKS["colours"]  # type: ignore[assignment]
SHARES: tuple[str, ...] = PICKS["share"]  # type: ignore[assignment]
WAYS: tuple[str, ...] = PICKS["way"]  # type: ignore[assignment]

T = TypeVar("T", str, int)

# Heads whose lines stand side by side.
MOST_LINES = 4
# Heads that a link can name.
MOST_OFF = 64


@dataclass(frozen=True)
class Choice:
    """What is looked at; each view reads what it needs, the rest has its default.

    Attributes:
        view: One of `VIEWS`.
        where, layer, head: The head of which more is said.
        stack: `encoder` or `decoder`.
        own_range: Whether each map has a colour range of its own.
        lines: Heads that are drawn as lines.
        share: Share of the attention that the lines hold, 0 to 1.
        off: Heads that are switched off.
        way: How.
        n_kv_heads: Heads of keys and values.
    """

    view: str
    where: str = "encoder"
    layer: int = 0
    head: int = 0
    stack: str = "encoder"
    own_range: bool = False
    lines: tuple[HeadAt, ...] = ()
    share: float = 0.9
    off: tuple[HeadAt, ...] = ()
    way: str = "zero"
    n_kv_heads: int = 1


def pick_all_heads(state: Session, t: Translate) -> Choice:
    """Let the visitor choose a view of all heads, and what it asks for; all of it exists in this model."""
    view = _segments("heads", VIEWS, state, t, "all_heads.view")
    row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="all_heads_pick")
    return PICKERS[view](state, t, row)


def _grid(state: Session, t: Translate, row: DeltaGenerator) -> Choice:
    with row:
        colours = _segments("colours", COLOURS, state, t, "all_heads.colours")
    where, layer, head = pick_head(state, t)
    return Choice("grid", where, layer, head, own_range=colours == "own")


def _lines(state: Session, t: Translate, row: DeltaGenerator) -> Choice:
    heads = _several("lines", default_lines(state), MOST_LINES, state, t)
    with row:
        share = _segments("share", SHARES, state, t, "all_heads.share", default="90", words=lambda each: f"{each} %")
    return Choice("lines", lines=heads, share=int(share) / 100)


def _values(state: Session, t: Translate, row: DeltaGenerator) -> Choice:
    where, layer, head = pick_head(state, t)
    return Choice("values", where, layer, head)


def _rollout(state: Session, t: Translate, row: DeltaGenerator) -> Choice:
    config = state.run.config.model
    stacks = tuple(dict.fromkeys(where for where in places(config) if where != "cross"))
    layer, _ = state.layer_and_head(config.n_layers - 1, 0)
    with row:
        stack = _segments("stack", stacks, state, t, "frame.where", label=t("frame.pick.stack"))
        if config.n_layers > 1:
            _widget("layer", range(config.n_layers), layer, state, t("frame.pick.layer"), str)
    return Choice("rollout", layer=layer, stack=stack)


def _off(state: Session, t: Translate, row: DeltaGenerator) -> Choice:
    heads = _several("off", default_off(state), MOST_OFF, state, t)
    with row:
        way = _segments("way", WAYS, state, t, "all_heads.way")
    return Choice("off", off=heads, way=way)


def _shared(state: Session, t: Translate, row: DeltaGenerator) -> Choice:
    model = state.run.config.model
    options = [n for n in range(1, model.n_heads + 1) if model.n_heads % n == 0]
    chosen = state.picks.get("kv", model.n_kv_heads)
    shown = chosen if chosen in options else model.n_kv_heads

    def words(n: int) -> str:
        return t(f"all_heads.kv.{kind_of(n, model.n_heads)}", n=n)

    if len(options) > 1:
        with row:
            _widget("kv", options, shown, state, t("all_heads.kv.label"), words)
    return Choice("shared", n_kv_heads=int(shown))


PICKERS: dict[str, Callable[[Session, Translate, DeltaGenerator], Choice]] = {
    "grid": _grid,
    "lines": _lines,
    "values": _values,
    "rollout": _rollout,
    "off": _off,
    "shared": _shared,
}


def kind_of(n_kv_heads: int, n_heads: int) -> str:
    """Return what an attention with so many heads of keys and values is called: `mha`, `gqa` or `mqa`."""
    return "mha" if n_kv_heads == n_heads else "mqa" if n_kv_heads == 1 else "gqa"


def default_lines(state: Session) -> tuple[HeadAt, ...]:
    """Return the heads that are drawn as lines at first: the one that aligns best, and its like in another layer."""
    config = state.run.config.model
    where = places(config)[-1]
    layer, head = best_head(state.subject) if where == "cross" else (config.n_layers - 1, 0)
    other = layer - 1 if layer else min(1, config.n_layers - 1)
    return tuple(dict.fromkeys((HeadAt(where, layer, head), HeadAt(where, other, head))))


def default_off(state: Session) -> tuple[HeadAt, ...]:
    """Return the heads that are off at first: those of the attention and layer with the head that aligns best."""
    first, *_ = default_lines(state)
    return tuple(HeadAt(first.where, first.layer, head) for head in range(state.run.config.model.n_heads))


def name_of(head: HeadAt, t: Translate) -> str:
    """Return what a head is called: `Cross · layer 1 · head 0`."""
    return t("all_heads.name", where=t(f"frame.where.{head.where}"), layer=head.layer, head=head.head)


def picked_heads(text: object, default: tuple[HeadAt, ...], most: int, config: ModelConfig) -> tuple[HeadAt, ...]:
    """Return the heads that a pick names, at most so many; the default if it is no text."""
    return (heads_in(text, config) if isinstance(text, str) else default)[:most]


def _several(name: str, default: tuple[HeadAt, ...], most: int, state: Session, t: Translate) -> tuple[HeadAt, ...]:
    config = state.run.config.model
    shown = picked_heads(state.picks.get(name), default, most, config)
    key = f"pick_{name}"
    st.session_state[key] = list(shown)

    def tell() -> None:
        state.choose(**{name: written(st.session_state[key])})

    st.multiselect(
        t(f"all_heads.{name}.label"),
        all_heads(config),
        format_func=lambda head: name_of(head, t),
        key=key,
        on_change=tell,
        max_selections=most,
        placeholder=t(f"all_heads.{name}.empty"),
    )
    return shown


def _segments(
    name: str,
    options: Sequence[str],
    state: Session,
    t: Translate,
    area: str,
    *,
    default: str | None = None,
    label: str | None = None,
    words: Callable[[str], str] | None = None,
) -> str:
    chosen = state.picks.get(name)
    shown = str(chosen) if chosen in options else default or options[0]
    _widget(name, options, shown, state, label or t(f"{area}.label"), words or (lambda each: t(f"{area}.{each}")))
    return shown


def _widget(name: str, options: Sequence[T], shown: T, state: Session, label: str, words: Callable[[T], str]) -> None:
    key = f"pick_{name}"
    st.session_state[key] = shown

    def tell() -> None:
        if st.session_state.get(key) is not None:
            state.choose(**{name: st.session_state[key]})

    st.segmented_control(label, options, format_func=words, key=key, on_change=tell, required=True)
