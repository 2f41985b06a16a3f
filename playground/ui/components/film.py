"""The heads of a model over its training, played in the browser: all recorded steps are sent once, none is asked for.

A track with the loss is the way through the steps; under it the maps of every head at one step, one of them large, and
that head as a strip of all steps. Which step and which head are looked at is told to the server when a move has ended.

What is sent is one run of bytes: the length of the header (4 bytes, little-endian), the header as JSON, then the
weights, step by step, map by map, row by row: float32 up to `MOST_EXACT` of them, else bytes of 1/255.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.ui.components import register
from playground.ui.components.shared import common

_MOUNT = register("film")

MOST_EXACT = 400_000  # weights: 1.6 MB
MOST_CELLS = 4_500_000

REASONS = {"": ".", "causal": "c", "padding": "p", "window": "w"}
WORDS = (
    *("play", "pause", "step", "loss", "held_out", "guessing", "writes", "nothing", "strip", "choose", "keys"),
    *("query", "key", "weight", "rounded", "tile", "attention", "layer", "head", "range"),
)


@dataclass(frozen=True, eq=False)
class Reel:
    """The heads of one attention of every layer, at every step.

    Attributes:
        id: A key of `playground.head.PLACES`.
        title: What it is, in words.
        layers: Weights of each layer, `[step, head, query, key]`, 0–1.
        queries, keys: The words at the sides.
        hidden: Why each cell is hidden by a mask, `[query, key]` of `causal`, `padding` or empty; None if none is.
    """

    id: str
    title: str
    layers: tuple[npt.NDArray[np.float32], ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    hidden: npt.NDArray[Any] | None = None

    def plain(self) -> dict[str, Any]:
        """Return what the browser has to know besides the weights."""
        return {
            "id": self.id,
            "title": self.title,
            "layers": len(self.layers),
            "heads": self.layers[0].shape[1],
            "rows": list(self.queries),
            "cols": list(self.keys),
            "hidden": None if self.hidden is None else "".join(REASONS[str(why)] for why in self.hidden.flat),
        }


def film(
    reels: Sequence[Reel],
    steps: Sequence[int],
    *,
    key: str,
    at: int,
    head: tuple[str, int, int],
    loss: Sequence[tuple[float, float]],
    held_out: Sequence[tuple[float, float]],
    chance: float,
    written: Sequence[str],
    on_step: Callable[[int], None],
    on_head: Callable[[str, int, int], None],
    alt: str,
    note: str,
    t: Translate,
    theme: Theme,
    filename: str | None = None,
) -> None:
    """Draw the film of a training. New numbers under the same key are drawn in place.

    Args:
        reels: What is drawn, in order.
        steps: The recorded steps, rising, one a picture.
        key: The element's own name on the page.
        at: The step that is shown first, and again whenever it changes here.
        head: The head that is large: attention, layer, head.
        loss: Pairs of step and loss, for the track; a few hundred at most.
        held_out: The same on held-out sentences.
        chance: The loss of guessing.
        written: What the model writes at each of the steps.
        on_step: Called with the step at which the visitor came to rest, before the script runs again.
        on_head: Called with the head that was clicked.
        alt: What a screen reader says the picture is.
        note: Whose attention this is, in a line.
        t: Words.
        theme: Colours and type.
        filename: Stem of saved files; the key if None.

    Raises:
        ValueError: If there are more than `MOST_CELLS` weights, or not as many pictures as steps.
    """
    known = tuple(steps)

    def stepped() -> None:
        value = st.session_state[key].get("step")
        if value in known:
            on_step(int(value))

    def chose() -> None:
        if (found := head_in(st.session_state[key].get("head"), reels)) is not None:
            on_head(*found)

    words = {word: t(f"train.film.{word}", layer="{layer}", head="{head}", step="{step}") for word in WORDS}
    reasons = {why: t(f"matrix.{why}") for why in REASONS if why}
    header = {
        **common(theme, t, alt=alt, filename=filename or key, **words, **reasons),
        "note": note,
        "steps": list(known),
        "at": at,
        "head": list(head),
        "loss": [list(pair) for pair in loss],
        "held_out": [list(pair) for pair in held_out],
        "chance": chance,
        "written": list(written),
        "reels": [each.plain() for each in reels],
    }
    _MOUNT(key=key, data=packed_film(header, reels), on_step_change=stepped, on_head_change=chose)


def packed_film(header: Mapping[str, Any], reels: Sequence[Reel]) -> bytes:
    """Return header and weights as the browser reads them; `exact` in the header says whether they are float32.

    Raises:
        ValueError: If there are more than `MOST_CELLS` weights, or not as many pictures as steps.
    """
    n = len(header["steps"])
    if counts := {len(layer) for reel in reels for layer in reel.layers} - {n}:
        raise ValueError(f"a film of {n} steps has {n} pictures of each head, but got {sorted(counts)}")
    parts = [layer[i].reshape(-1) for i in range(n) for reel in reels for layer in reel.layers]
    weights = np.concatenate(parts)
    if weights.size > MOST_CELLS:
        raise ValueError(f"the film has {weights.size} cells; at most {MOST_CELLS} are sent")
    exact = weights.size <= MOST_EXACT
    cells = weights.astype("<f4") if exact else np.rint(np.clip(weights, 0, 1) * 255).astype(np.uint8)
    text = json.dumps({**header, "exact": exact}, ensure_ascii=False, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "little") + text + cells.tobytes()


def head_in(value: object, reels: Sequence[Reel]) -> tuple[str, int, int] | None:
    """Return the head that the browser sent as [attention, layer, head]; None if there is no such head."""
    match value:
        case [str(where), int(layer), int(head)]:
            for reel in reels:
                if reel.id == where and 0 <= layer < len(reel.layers) and 0 <= head < reel.layers[0].shape[1]:
                    return where, layer, head
    return None
