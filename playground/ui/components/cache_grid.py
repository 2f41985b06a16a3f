"""Keys and values as they are kept, in the browser: every layer, every head, a column a word, growing step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.ui.components import register
from playground.ui.components.shared import common, packed

_MOUNT = register("cache_grid")

# Numbers in all: 4 bytes each, a third more in base64, so 5 MB at most.
MOST_NUMBERS = 900_000

WORDS = ("own", "cross", "column", "dim", "value", "later", "dropped", "origin", "keys")
STEPS = ("back", "play", "pause", "next", "slider")


@dataclass(frozen=True, eq=False)
class KeptLayer:
    """What one layer keeps.

    Attributes:
        index: The layer's number.
        own: Keys and values of its self-attention, each `[kv_head, key, d_head]`.
        cross: The same of its cross-attention; None without one.
    """

    index: int
    own: tuple[LabelledArray, LabelledArray]
    cross: tuple[LabelledArray, LabelledArray] | None = None


@dataclass(frozen=True)
class KeptStep:
    """What is kept after one reading.

    Attributes:
        new: Columns of the self part that are new, the first and the one after the last.
        held: Columns that are held, as `new`.
        said: What happens, in a sentence.
        count: What it amounts to, in numbers.
    """

    new: tuple[int, int]
    held: tuple[int, int]
    said: str
    count: str


def cache_grid(
    layers: Sequence[KeptLayer],
    steps: Sequence[KeptStep],
    *,
    at: int,
    token: str,
    readers: Sequence[int],
    key: str,
    on_step: Callable[[int], None],
    alt: str,
    t: Translate,
    theme: Theme,
) -> Mapping[str, Any] | None:
    """Draw what is kept. Next, Back and play move without the server, which hears where they rest.

    Args:
        layers: Those that are drawn, each with as many heads and columns as the others.
        steps: One a reading.
        at: The reading that is shown at first.
        token: Names the text: with another one the picture goes to `at`.
        readers: For each head of queries, the head of keys and values that it reads.
        key: The element's own name on the page.
        on_step: Called with the reading that is looked at, when it stays.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.

    Returns:
        The number that was clicked, `{"name": "decoder.0.self_attn.k", "kv_head": 1, "key": 3, "d_head": 5}`, or None.

    Raises:
        ValueError: If there are more numbers than are drawn.
    """
    arrays = [each for layer in layers for pair in (layer.own, layer.cross) if pair for each in pair]
    if (n := sum(array.values.size for array in arrays)) > MOST_NUMBERS:
        raise ValueError(f"{n} numbers are to be drawn; at most {MOST_NUMBERS} are")

    def stepped() -> None:
        step = st.session_state[key].get("step")
        if isinstance(step, (int, float)) and 0 <= step < len(steps):
            on_step(int(step))

    words = {word: t(f"kv_cache.grid.{word}") for word in WORDS}
    words |= {word: t(f"decode.player.{word}") for word in STEPS}
    words |= {"slider": t("kv_cache.grid.slider"), "step": t("kv_cache.grid.step", at="{at}", n="{n}")}
    words |= {"layer": t("kv_cache.grid.layer", layer="{layer}"), "head": t("kv_cache.grid.head", head="{head}")}
    words |= {"readers": t("kv_cache.grid.readers", head="{head}", readers="{readers}")}
    data: Mapping[str, Any] = {
        **common(theme, t, alt=alt, filename=t("kv_cache.file"), **words),
        "layers": [
            {
                "index": layer.index,
                "own": [_plain(array) for array in layer.own],
                "cross": None if layer.cross is None else [_plain(array) for array in layer.cross],
            }
            for layer in layers
        ],
        "limit": max(float(np.abs(array.values).max(initial=0.0)) for array in arrays),
        "own_words": list(layers[0].own[0].axis("key").labels),
        "cross_words": [] if layers[0].cross is None else list(layers[0].cross[0].axis("key").labels),
        "steps": [
            {"new": list(each.new), "held": list(each.held), "said": each.said, "count": each.count} for each in steps
        ],
        "at": at,
        "token": token,
        "readers": list(readers),
    }
    result = _MOUNT(key=key, data=data, on_step_change=stepped, default={"pick": None}, on_pick_change=lambda: None)
    return picked(result.get("pick"), arrays)


def picked(value: object, arrays: Sequence[LabelledArray]) -> Mapping[str, Any] | None:
    """Return the number that a browser says was clicked, or None if there is no such number."""
    if not isinstance(value, Mapping):
        return None
    array = next((each for each in arrays if each.name == value.get("name")), None)
    if array is None:
        return None
    found: dict[str, Any] = {"name": array.name}
    for axis in array.axes:
        place = value.get(axis.name)
        if isinstance(place, bool) or not isinstance(place, (int, float)) or not 0 <= place < len(axis):
            return None
        found[axis.name] = int(place)
    return found


def _plain(array: LabelledArray) -> Mapping[str, object]:
    return {"name": array.name, **packed(array.values)}
