"""The architecture of the subject's model, drawn as in figure 1 of the paper, alive: each block shows its real tensor
and is a door to the page that explains it.

The layout is `playground.blueprint`'s, the numbers are a reading's. Choosing a layer, a word or a block is done in
the browser; only a door that is opened comes back to Python.

Source of the figure's arrangement: Vaswani et al. 2017, figure 1. The drawing is our own.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from models import ModelConfig
from playground.blueprint import FORMS, WIDE, Block, Blueprint, Form, blueprint
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.measures import likeliest
from playground.reading import Reading
from playground.thumbnail import Thumbnail, thumbnail
from playground.ui.components import register
from playground.ui.components.shared import common, packed

# Next words that are drawn: a bar each.
LIKELIEST = 5

_architecture = register("architecture")
_lines = register("lines")


def architecture(
    config: ModelConfig,
    reading: Reading,
    *,
    theme: Theme,
    t: Translate,
    key: str,
    layer: int = 0,
    head: int = 0,
    at: int = 0,
) -> tuple[str, dict[str, str | int]] | None:
    """Draw the model at work on a sentence.

    Args:
        config: The model's.
        reading: Its pass over the sentence.
        theme: Colours and type.
        t: The words.
        key: Tells it from other components of the page.
        layer: Layer that the repeated blocks show at first.
        head: Head of that layer's cross-attention that shades the source words.
        at: Position whose next word is shown at first; counted in what the last stack reads.

    Returns:
        The page behind the block that was just opened, with what to choose there; None if none was.
    """
    plans = {form.name: _plan(config, form) for form in FORMS}
    words = reading.tgt or reading.src
    arrows = plans[WIDE.name]
    towers = t(f"architecture.towers.{config.architecture}", n=config.n_layers)
    data = common(
        theme,
        t,
        alt=t("architecture.alt", towers=towers),
        filename=t("architecture.saved"),
        **{name: _open(t, f"architecture.{name}", *places) for name, places in _SPOKEN.items()},
        hint=t("architecture.facts.hint"),
        hint_touch=t("architecture.facts.hint_touch"),
    )
    data |= {
        "plans": {name: _plain(plan) for name, plan in plans.items()},
        "blocks": {block.name: _said(block, config, t) for block in arrows.blocks},
        "facts": _facts(config, t),
        "tensors": {name: _small(reading, name) for name in arrows.tensors() if name in reading},
        "src": list(reading.src),
        "tgt": list(reading.tgt),
        "next": _next(reading["probs"]),
        "layer": max(0, min(layer, config.n_layers - 1)),
        "head": max(0, min(head, config.n_heads - 1)),
        "at": max(0, min(at, len(words) - 1)),
    }
    opened = _architecture(key=key, data=data, on_open_change=_nothing).open
    if not isinstance(opened, Mapping) or opened.get("block") not in {block.name for block in arrows.blocks}:
        return None
    chosen = opened.get("layer")
    return arrows.door(str(opened["block"]), chosen if isinstance(chosen, int) else 0)


def attention_lines(
    weights: LabelledArray, *, theme: Theme, t: Translate, key: str, layer: int, head: int, group: str
) -> None:
    """Draw one head's cross-attention as lines between the sentence and its translation.

    Args:
        weights: `[query, key]`, rows sum to 1; each query labelled with the word that it writes, which comes one word
            after the word that it reads.
        theme: Colours and type.
        t: The words.
        key: Tells it from other components of the page.
        layer: Layer of the head.
        head: Its number.
        group: Pictures of the same group light up together, as those of `matrices` do.
    """
    written, source = (axis.labels for axis in weights.axes)
    best = weights.values.argmax(axis=1)  # [query]
    strongest = " ".join(
        t("architecture.lines.strongest", target=word, source=source[int(at)])
        for word, at in zip(written, best, strict=True)
    )
    data = common(
        theme,
        t,
        alt=t("architecture.lines.alt", layer=layer, head=head, strongest=strongest),
        filename=t("architecture.lines.saved"),
    )
    data |= {"src": list(source), "written": list(written), "weights": packed(weights.values), "group": group}
    _lines(key=key, data=data)


# What the browser says, with the places that it fills in itself.
_SPOKEN: Mapping[str, tuple[str, ...]] = {
    "layers": ("n",),
    "layer": (),
    "choose_layer": ("layer",),
    "encoder": (),
    "decoder": (),
    "sentence": (),
    "so_far": (),
    "next": ("word",),
    "here": ("word",),
    "looks": ("layer", "head", "word"),
    "choose_word": ("word",),
    "shaded": ("word", "weight"),
    "open": (),
    "tap": (),
    "heads": ("head",),
    "range": ("limit",),
    "share": (),
    "coarser": (),
}


def _open(t: Translate, key: str, *places: str) -> str:
    """Return words whose places are left for the browser to fill in."""
    return t(key, **{place: f"{{{place}}}" for place in places})


def _nothing() -> None:
    """Take note of a trigger: Streamlit reports only those that somebody listens to."""


@cache
def _plan(config: ModelConfig, form: Form) -> Blueprint:
    return blueprint(config, form)


def _plain(plan: Blueprint) -> dict[str, Any]:
    """Return a layout as plain data; what the browser needs not is left out."""
    return {
        "width": plan.form.width,
        "height": plan.height,
        "n_layers": plan.n_layers,
        "blocks": [
            {
                "name": block.name,
                "kind": block.kind,
                "stack": block.stack,
                "tensor": block.tensor,
                "repeated": block.repeated,
                "at": asdict(block.at),
            }
            for block in plan.blocks
        ],
        "arrows": [
            {
                "source": arrow.source,
                "target": arrow.target,
                "role": arrow.role,
                "skip": arrow.skip,
                "points": [list(point) for point in arrow.points],
            }
            for arrow in plan.arrows
        ],
        "towers": [{"stack": tower.stack, "side": tower.side, "at": asdict(tower.at)} for tower in plan.towers],
        "slots": {name: asdict(rect) for name, rect in plan.slots.items()},
    }


def _word(block: Block) -> str:
    """Return the key of a block's words."""
    last = block.name.rsplit(".", 1)[-1]
    if block.kind == "attention":
        return "cross" if last == "cross_attn" else f"{block.stack}_self"
    return last if last in ("sum", "embed_norm", "final_norm") else block.kind


def _said(block: Block, config: ModelConfig, t: Translate) -> dict[str, Any]:
    """Return a block's name, its short name, a line of what it does, and the sizes to be written into it."""
    word = _word(block)
    lines = t(f"architecture.name.{word}").split("\n")  # Chinese has no spaces to break a line at
    name = "".join(lines)
    says = f"architecture.says.{word}"
    if word == "embed" and not config.embed_scale:
        says = "architecture.says.embed_plain"
    if word == "positions":
        says = f"architecture.says.positions_{config.positions}"
    values = {**block.sizes, "activation": t(f"architecture.activations.{config.activation}")}
    short = f"architecture.short.{word}"
    return {
        "name": name,
        "lines": lines,
        "short": t(short) if t.has(short) else name,
        "says": t(says, **values),
        "mark": _mark(block, t),
    }


def _mark(block: Block, t: Translate) -> str:
    """Return the sizes that a block is made with, in symbols."""
    sizes = block.sizes
    if block.kind == "attention" and t.has(f"architecture.inside.{sizes['positions']}"):
        return t(f"architecture.inside.{sizes['positions']}")
    if block.kind == "feed_forward":
        return f"{sizes['d_model']} → {sizes['d_ff']} → {sizes['d_model']}"
    if block.kind == "linear":
        return f"{sizes['d_model']} → {sizes['vocab_size']}"
    return f"{sizes['vocab_size']} × {sizes['d_model']}" if block.kind == "embed" else ""


def _facts(config: ModelConfig, t: Translate) -> list[list[str]]:
    """Return what the model is made of: a title, then rows of a name and a value."""
    kv = config.n_kv_heads
    heads = t(
        "architecture.facts.heads_wide" if kv == config.n_heads else "architecture.facts.heads_grouped",
        heads=config.n_heads,
        width=config.d_head,
        kv=kv,
    )
    both = config.architecture == "encoder-decoder"
    values = {
        "n": t("architecture.facts.layers_both", n=config.n_layers) if both else str(config.n_layers),
        "h": heads,
        "d_model": str(config.d_model),
        "d_ff": f"{config.d_ff} {t(f'architecture.activations.{config.activation}')}",
        "vocab_size": f"{config.vocab_size:,}",
        "norm": t(f"architecture.norms.{config.norm_placement}"),
        "positions": t(f"architecture.methods.{config.positions}"),
        "parameters": f"{config.n_parameters:,}",
    }
    rows = [[t(f"architecture.facts.{name}"), value] for name, value in values.items()]
    return [[t("architecture.facts.title"), ""], *rows]


def _small(reading: Reading, name: str) -> dict[str, Any]:
    """Return a tensor's thumbnail as plain data, with the words of its rows."""
    array = reading[name]
    sublayer, _, last = name.rpartition(".")
    small: Thumbnail = thumbnail(array, reading.hidden(sublayer) if last == "weights" else None)
    return {
        "shape": list(small.shape),
        "drawn": list(small.cells.shape),
        "scale": small.scale,
        "limit": small.limit,
        "rows": list(array.axes[-2].labels),
        "uint8": base64.b64encode(small.cells.tobytes()).decode("ascii"),
    }


def _next(probs: LabelledArray) -> list[list[list[str | float]]]:
    """Return the likeliest next words after each position, each with its probability."""
    found: list[list[list[str | float]]] = []
    for position in range(len(probs.axes[0])):
        best = likeliest(probs.select(pos=position), LIKELIEST)
        found.append([[word, float(p)] for word, p in zip(best.axes[0].labels, best.values, strict=True)])
    return found
