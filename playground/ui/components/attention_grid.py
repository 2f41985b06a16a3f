"""All attention heads of a model as small maps, a row a layer: hover says words and weight, a click enlarges one.

Everything travels as one run of bytes, so that the maps of a training can follow it twice a second: the length of the
header (4 bytes, little-endian), the header as JSON, then the weights, map by map, row by row. Up to `MOST_EXACT` of
them are float32, and what is read off them is exact; more are bytes of 1/255, and the picture says that it is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.ui.components import register
from playground.ui.components.shared import common

_MOUNT = register("attention_grid")

MOST_EXACT = 40_000  # weights: 160 kB twice a second
MOST_CELLS = 4_000_000

REASONS = {"": ".", "causal": "c", "padding": "p", "window": "w"}
WORDS = (
    *("tile", "tile_short", "short_says", "weight", "range", "range_own", "top", "rounded"),
    *("keys", "closes", "picks", "off"),
    *("attention", "layer", "head"),
)


@dataclass(frozen=True, eq=False)
class HeadMaps:
    """The heads of one attention of every layer: they share their words, so a cell means the same in each.

    Attributes:
        id: Short name, such as `cross`.
        title: What it is, in words.
        layers: Weights of each layer, `[head, query, key]`, 0–1.
        hidden: Why each cell is hidden by a mask, `[query, key]` of `causal`, `padding` or empty; None if none is.
        labels: What there is to say of a head in a word or two, by (layer, head).
        off: Heads that are switched off, as (layer, head): drawn faint, with a line through.

    Raises:
        ValueError: If the layers have not the same three axes, or `hidden` has another shape.
    """

    id: str
    title: str
    layers: tuple[LabelledArray, ...]
    hidden: npt.NDArray[Any] | None = None
    labels: Mapping[tuple[int, int], str] = field(default_factory=dict)
    off: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        shapes = {array.shape for array in self.layers}
        if len(shapes) != 1 or len(shape := next(iter(shapes))) != 3:
            raise ValueError(f"the layers of {self.id} need one shape [head, query, key], but have {sorted(shapes)}")
        if self.hidden is not None and self.hidden.shape != shape[1:]:
            raise ValueError(f"the maps of {self.id} are {shape[1:]}, but its hidden cells are {self.hidden.shape}")

    def plain(self, t: Translate) -> dict[str, Any]:
        """Return what the browser has to know besides the weights."""
        heads, query, key = self.layers[0].axes
        return {
            "id": self.id,
            "title": self.title,
            "layers": len(self.layers),
            "heads": len(heads),
            "rows": {"labels": list(query.labels), "short": t(f"axis.short.{query.name}")},
            "cols": {"labels": list(key.labels), "short": t(f"axis.short.{key.name}")},
            "hidden": None if self.hidden is None else "".join(REASONS[str(why)] for why in self.hidden.flat),
            "labels": [[layer, head, label] for (layer, head), label in self.labels.items()],
            "off": sorted(self.off),
        }


def attention_grid(
    groups: Sequence[HeadMaps],
    *,
    key: str,
    alt: str,
    t: Translate,
    theme: Theme,
    note: str = "",
    own_range: bool = False,
    tall: int = 0,
    group: str | None = None,
    filename: str | None = None,
    picks: bool = False,
) -> Mapping[str, Any]:
    """Draw every head of some attentions. New weights under the same key are drawn in place.

    Args:
        groups: What is drawn, in order.
        key: The element's own name on the page.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.
        note: Whose maps these are: the step, the sentence. Plain text over the maps.
        own_range: Whether the colours of each map reach up to its own largest weight, which then is written beside it;
            else they reach from 0 to 1 in all of them.
        tall: Pixels that the maps may fill downward to be larger; as low as they can be read if 0.
        group: Pictures with the same group light up together; the picture's own key if None.
        filename: Stem of saved files; the key if None.
        picks: Whether a click on a weight of an enlarged map reaches Python, as a rerun, rather than closes the map.

    Returns:
        With `picks`: `pick`, `{"group": "cross", "layer": 1, "head": 2, "row": 3, "col": 5}` or None.

    Raises:
        ValueError: If there are more than `MOST_CELLS` weights.
    """
    # The browser fills in the numbers of each map.
    words = {word: t(f"figure.grid.{word}", layer="{layer}", head="{head}", value="{value}") for word in WORDS}
    reasons = {why: t(f"matrix.{why}") for why in REASONS if why}
    header = {
        **common(theme, t, alt=alt, filename=filename or key, **words, **reasons),
        "note": note,
        "own_range": own_range,
        "tall": tall,
        "group": group or key,
        "picks": picks,
        "groups": [each.plain(t) for each in groups],
    }
    data = packed_maps(header, groups)
    if not picks:
        return cast(Mapping[str, Any], _MOUNT(key=key, data=data))
    made = _MOUNT(key=key, data=data, default={"pick": None}, on_pick_change=lambda: None)
    return cast(Mapping[str, Any], made)


def packed_maps(header: dict[str, Any], groups: Sequence[HeadMaps]) -> bytes:
    """Return header and weights as the browser reads them; `exact` in the header says whether they are float32.

    Raises:
        ValueError: If there are more than `MOST_CELLS` weights.
    """
    weights = np.concatenate([array.values.reshape(-1) for each in groups for array in each.layers])
    if weights.size > MOST_CELLS:
        raise ValueError(f"the maps have {weights.size} cells; at most {MOST_CELLS} are drawn")
    exact = weights.size <= MOST_EXACT
    tiles = weights.astype("<f4") if exact else np.rint(np.clip(weights, 0, 1) * 255).astype(np.uint8)
    text = json.dumps({**header, "exact": exact}, ensure_ascii=False, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "little") + text + tiles.tobytes()
