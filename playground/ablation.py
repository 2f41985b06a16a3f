"""Heads switched off: what a model writes, how sure it is of the right words, and what its other heads do without them.

A head is switched off where its output is born, `z`, before the heads are laid side by side: by zeros, or by the mean
of its own output over every word of `MEAN_OVER` held-out sentences, which takes away what depends on the sentence and
leaves what does not. Both are edits of `models.capture`, at every step of the writing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models import Edit, ModelConfig, Tap, capture, inspecting
from playground.head import PLACES
from playground.labelled import Axis, LabelledArray
from playground.reading import Reading
from playground.runs import Run
from playground.subject import Subject
from playground.tasks import EOS, HIDDEN, PAD, SPECIALS
from playground.variant import Variant

WAYS = ("zero", "mean")
MEAN_OVER = 64  # held-out sentences

# What a link says of an empty choice, told apart from no choice.
NONE = "none"
# `decoder.1.cross.2,encoder.0.self.0`
_HEAD = r"(?:encoder\.[0-9]{1,4}\.self|decoder\.[0-9]{1,4}\.(?:self|cross))\.[0-9]{1,4}"
HEADS = re.compile(rf"{NONE}|{_HEAD}(?:,{_HEAD}){{0,63}}")


@dataclass(frozen=True, order=True)
class HeadAt:
    """A head by its place: a key of `PLACES`, layer and head counted from 0."""

    where: str
    layer: int
    head: int

    @property
    def sublayer(self) -> str:
        """The name that its tensors begin with."""
        stack, part = PLACES[self.where]
        return f"{stack}.{self.layer}.{part}"

    def __str__(self) -> str:
        stack, part = PLACES[self.where]
        return f"{stack}.{self.layer}.{part.removesuffix('_attn')}.{self.head}"


def heads_in(text: str, config: ModelConfig) -> tuple[HeadAt, ...]:
    """Return the heads that a text such as `decoder.1.cross.2,encoder.0.self.0` names.

    Whatever it says, they exist: a layer or head beyond the last is the last, an attention that the model does not have
    is left out, one named twice counts once.
    """
    found: dict[HeadAt, None] = {}
    for name in text.split(",") if HEADS.fullmatch(text) and text != NONE else ():
        stack, layer, part, head = name.split(".")
        where = next(place for place, at in PLACES.items() if at == (stack, f"{part}_attn"))
        if where in places(config):
            clamped = min(int(layer), config.n_layers - 1), min(int(head), config.n_heads - 1)
            found[HeadAt(where, *clamped)] = None
    return tuple(found)


def written(heads: Iterable[HeadAt]) -> str:
    """Return the text that `heads_in` reads: `none` for no head."""
    return ",".join(map(str, heads)) or NONE


def places(config: ModelConfig) -> tuple[str, ...]:
    """Return the attentions that a model has, of `PLACES`."""
    has = {
        "encoder-decoder": ("encoder", "decoder", "cross"),
        "encoder-only": ("encoder",),
        "decoder-only": ("decoder",),
    }
    return has[config.architecture]


def all_heads(config: ModelConfig) -> tuple[HeadAt, ...]:
    """Return every head of a model, attention by attention, layer by layer."""
    return tuple(
        HeadAt(where, layer, head)
        for where in places(config)
        for layer in range(config.n_layers)
        for head in range(config.n_heads)
    )


def edits(heads: Iterable[HeadAt], means: Mapping[str, Tensor] | None = None) -> dict[str, Edit]:
    """Return the edits that switch heads off, for `models.capture`.

    Args:
        heads: Which.
        means: What each head writes instead, `[head, d_head]` by the name of its `z`; zeros if None.
    """
    by_name: dict[str, list[int]] = {}
    for each in heads:
        by_name.setdefault(f"{each.sublayer}.z", []).append(each.head)
    return {name: _silencing(off, None if means is None else means[name]) for name, off in by_name.items()}


@dataclass(frozen=True, eq=False)
class Ablated:
    """A subject with heads switched off.

    Attributes:
        variant: The pass over the same words as the subject's own, so that maps can be compared.
        output: What the model writes, the heads off at every step, without `⟨eos⟩`.
        finished: Whether it ended its sentence itself.
        right: Probability of each right word after the right words before it, `[head, pos]`: with all heads, and with
            these off.
        is_gold: Whether the right words are the grammar's; else they are the model's own with all its heads.
    """

    variant: Variant
    output: tuple[str, ...]
    finished: bool
    right: LabelledArray
    is_gold: bool

    @property
    def reading(self) -> Reading:
        """The pass of `variant`."""
        return self.variant.reading


def ablated(subject: Subject, heads: Sequence[HeadAt], way: str) -> Ablated:
    """Return what becomes of a subject without some heads.

    Args:
        subject: The model, and its sentence.
        heads: Which are off.
        way: One of `WAYS`.

    Raises:
        ValueError: If there is no such way.
    """
    if way not in WAYS:
        raise ValueError(f"a head is switched off by one of {WAYS}, but got {way!r}")
    means = mean_outputs(subject.run.path, subject.run.is_recording, subject.step) if way == "mean" else None
    off = edits(heads, means)
    output, finished = _written(subject, off)
    gold = subject.example
    given, places, right = _asked(subject)
    ids = subject.task.vocabulary.encode(right)
    rows = []
    for changes in ({}, off):
        probs = capture(subject.model, *given, edits=changes)["probs"]  # [pos, vocab]
        rows.append(probs[places, ids].numpy())
    read = subject.reading
    trace = capture(subject.model, *(torch.tensor([row]) for row in read.ids), edits=off)
    reading = Reading(trace, src=read.src, tgt=read.tgt, vocabulary=read.vocabulary)
    return Ablated(
        _variant(subject, reading, heads, way),
        output,
        finished,
        LabelledArray("P(right word)", np.stack(rows), (Axis("head", WITH), Axis("pos", right))),
        gold is not None,
    )


def _variant(subject: Subject, reading: Reading, heads: Sequence[HeadAt], way: str) -> Variant:
    if not heads:
        return Variant(reading)
    program, names = f"heads_in({written(heads)!r}, model.config)", ["edits as silent", "heads_in"]
    if way == "mean":
        run = f"RunStore().open({subject.run.id!r})"
        program += f", mean_outputs({run}.path, {subject.run.is_recording}, {subject.step})"
        names.append("mean_outputs")
    return Variant(reading, f"silent({program})", f"from playground.ablation import {', '.join(names)}")


# The two rows of `Ablated.right`; the page has words for them.
WITH = ("all", "off")


@lru_cache(maxsize=32)
def mean_outputs(path: Path, is_recording: bool, step: int) -> Mapping[str, Tensor]:
    """Return the mean of each head's `z` over every real word of `MEAN_OVER` held-out sentences and their translations.

    Args:
        path: The run's folder.
        is_recording: Whether it is shipped with the project.
        step: One of its recorded steps, whose weights never change.

    Returns:
        `[head, d_head]` by the name of the `z`.
    """
    run = Run.load(path, is_recording=is_recording)
    model, task = run.model(step), run.config.data
    batch = task.encode(task.heldout[:MEAN_OVER])
    src, tgt = torch.from_numpy(batch.src), torch.from_numpy(batch.tgt_in)
    means: dict[str, Tensor] = {}

    def hear(name: str, tensor: Tensor) -> None:
        if name.endswith("_attn.z"):
            real = (src if name.startswith("encoder") else tgt) != PAD  # [batch, query]
            means[name] = tensor.transpose(1, 2)[real].mean(dim=0)  # [head, d_head]

    with inspecting(model):
        model(*map(torch.from_numpy, batch.read), tap=_Listener(hear))
    return means


class _Listener(Tap):
    """Hands every tensor to somebody and keeps none: a batch's tensors together would be large."""

    watches = True

    def __init__(self, hear: Callable[[str, Tensor], None], prefix: str = "") -> None:
        self._hear = hear
        self._prefix = prefix

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        self._hear(self._prefix + name, tensor)
        return tensor

    def within(self, place: str | int) -> _Listener:
        return _Listener(self._hear, f"{self._prefix}{place}.")


def _silencing(heads: list[int], mean: Tensor | None) -> Edit:
    def edit(z: Tensor) -> Tensor:
        silent = z.clone()  # [batch, head, query, d_head]
        silent[:, heads] = 0.0 if mean is None else mean[heads][:, None]
        return silent

    return edit


def _asked(subject: Subject) -> tuple[tuple[Tensor, ...], list[int], tuple[str, ...]]:
    """Return what the model reads when it is asked for the right words, at which places, and the right words."""
    example = subject.example
    right = subject.output if example is None else example.tgt
    if subject.task.architecture == "encoder-only":
        places = [place for place, word in enumerate(subject.src) if word == HIDDEN] or [*range(len(subject.src))]
        return subject.given(), places, tuple(right[place] for place in places)
    if (example is not None or subject.finished) and subject.task.ends:
        right = (*right, SPECIALS[EOS])
    given = subject.given(right[:-1])
    n = given[-1].shape[1]
    return given, [*range(n - len(right), n)], right


def _written(subject: Subject, off: Mapping[str, Edit]) -> tuple[tuple[str, ...], bool]:
    """Write the likeliest word again and again, each from a whole pass with the edits in place; or find the hidden."""
    words = subject.task.vocabulary.tokens
    if subject.task.architecture == "encoder-only":
        best = capture(subject.model, *subject.given(), edits=off)["logits"].argmax(dim=-1).tolist()  # [pos]
        found = zip(subject.src, best, strict=False)
        return tuple(words[likeliest] if word == HIDDEN else word for word, likeliest in found), True
    output: tuple[str, ...] = ()
    for _ in range(subject.room):
        logits = capture(subject.model, *subject.given(output), edits=off)["logits"]  # [pos, vocab]
        token = int(logits[-1].argmax())
        if token == EOS:
            return output, True
        output = (*output, words[token])
    return output, False
