"""Masks: two sentences as one padded batch, a mask painted by hand, and the query that may look nowhere.

Every mask is an edit of a real pass: what the model computes from the changed mask on, it computes itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from models import Edit, ModelConfig, attend, capture
from playground.head import PLACES, Head
from playground.labelled import Axis, LabelledArray
from playground.reading import Reading
from playground.subject import Subject
from playground.tasks import PAD
from playground.variant import Variant

VIEWS = ("batch", "paint", "nowhere", "leak")

# Each mask, and the attention that shows it: a key of `playground.head.PLACES`.
KINDS: Mapping[str, str] = MappingProxyType(
    {"padding": "encoder", "causal": "decoder", "both": "decoder", "cross": "cross", "window": "decoder"}
)


def kinds(config: ModelConfig) -> tuple[str, ...]:
    """Return the masks that a model can have: those whose attention it has."""
    has = {"encoder-decoder": tuple(PLACES), "encoder-only": ("encoder",), "decoder-only": ("decoder",)}
    return tuple(kind for kind, where in KINDS.items() if where in has[config.architecture])


WINDOWS = ("1", "2", "3", "4", "6", "8")  # keys that a query may look at, itself among them

WIDEST = 64  # keys of a painted mask; no task has a longer sentence
# `decoder.1.self:0-8-3`: an attention, then row by row the cells that differ from the model's mask, bit c for key c.
PAINT = re.compile(r"(?:encoder|decoder)\.[0-9]{1,4}\.(?:self|cross):[0-9a-f]{1,16}(?:-[0-9a-f]{1,16}){0,63}")

Mask = npt.NDArray[np.bool_]


# --- Two sentences, one batch ----------------------------------------------------------------------------------------


def companion(subject: Subject) -> Subject:
    """Return the same model with another sentence of the same task, shorter if there is one, never equally long.

    Its length is as near as can be to six tenths of the subject's: then its padding is there to be seen.
    """
    task, n = subject.task, len(subject.src)
    offered = [task.tokenize(text) for text in task.examples] + [each.src for each in task.heldout[:200]]
    others = [words for words in offered if len(words) != n]
    shorter = [words for words in others if len(words) < n]
    chosen = min(shorter or others, key=lambda words: abs(len(words) - 0.6 * n))
    return Subject(subject.run, subject.step, task.join(chosen))


def window_mask(n: int, size: int) -> Mask:
    """Let each position look at itself and at the `size − 1` before it: `[query, key]`.

    Raises:
        ValueError: If `size` is below 1.

    Source: Beltagy et al. 2020, Longformer, section 3.1, for a decoder.
    """
    if size < 1:
        raise ValueError(f"a window holds at least the word itself, but its size is {size}")
    back = np.arange(n)[:, None] - np.arange(n)
    return (back >= 0) & (back < size)


@dataclass(frozen=True, eq=False)
class Masked:
    """One sentence of a padded batch under a mask.

    Attributes:
        variant: Its part of the batch's pass, padding included.
        head: The head that is shown.
    """

    variant: Variant
    head: Head

    @property
    def reading(self) -> Reading:
        """The pass of `variant`."""
        return self.variant.reading

    @property
    def reasons(self) -> npt.NDArray[Any]:
        """Why each key is hidden, `[query, key]` of `padding`, `causal`, `window` or empty."""
        return self.head.hidden

    @property
    def allowed(self) -> LabelledArray:
        """The mask as numbers, `[query, key]`: 1 where the query may look."""
        mask = self.head["mask"]
        return mask.derived(mask.name, mask.values.astype(np.float32))


def batch_under(subjects: tuple[Subject, Subject], sample: int, kind: str, layer: int, head: int, size: int) -> Masked:
    """Run two sentences as one padded batch under a mask, and return what becomes of one of them.

    `padding`, `both` and `cross` are the model's own masks; for `causal` the padding half of the decoder's mask is
    taken away, for `window` a band is added, in all layers.

    Args:
        subjects: The same model twice, with two sentences.
        sample: Which of them is returned, 0 or 1.
        kind: A key of `KINDS`.
        layer: Whose scores are looked at.
        head: The same.
        size: Of the window.

    Raises:
        ValueError: If there is no such mask.
    """
    if kind not in KINDS:
        raise ValueError(f"there are the masks {[*KINDS]}, but got {kind!r}")
    vocabulary = subjects[0].task.vocabulary
    given = [_padded(rows) for rows in zip(*(each.reading.ids for each in subjects), strict=True)]
    n = given[-1].shape[1]
    layers = range(subjects[0].model.config.n_layers)
    edits: dict[str, Edit] = {}
    program = ""
    if kind == "causal":
        edits = {f"decoder.{i}.self_attn.mask_padding": torch.ones_like for i in layers}
        program = f'{{f"decoder.{{i}}.self_attn.mask_padding": torch.ones_like for i in range({len(layers)})}}'
    elif kind == "window":
        band = torch.from_numpy(window_mask(n, size))
        edits = {f"decoder.{i}.self_attn.mask": band.logical_and for i in layers}
        seen = f"torch.from_numpy(window_mask({n}, {size})).logical_and"
        program = f'{{f"decoder.{{i}}.self_attn.mask": {seen} for i in range({len(layers)})}}'
    trace = capture(subjects[0].model, *given, edits=edits, sample=sample)
    # A model with one stack reads no source, or no target.
    nothing = torch.empty(2, 0, dtype=torch.long)
    src = given[0] if subjects[0].reading.src else nothing
    tgt = given[-1] if subjects[0].reading.tgt else nothing
    reading = Reading(
        trace,
        src=vocabulary.decode(src[sample].tolist()),
        tgt=vocabulary.decode(tgt[sample].tolist()),
        vocabulary=tuple(vocabulary.tokens),
        narrowed="window",
    )
    imports = "from playground.masking import window_mask" if kind == "window" else ""
    made = Variant(reading, program, imports, (src.tolist(), tgt.tolist()), sample)
    return Masked(made, Head(reading, KINDS[kind], layer, head))


# --- A mask painted by hand ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Painted:
    """A subject with the mask of one attention sublayer changed by hand.

    Attributes:
        before: The pass as it is.
        variant: The same words once more, with the painted mask in all heads of the sublayer.
        reasons: Why each key is hidden, `[query, key]` of `padding`, `causal`, `hand` or empty.
        n_changed: Cells that differ from the model's own mask.
    """

    before: Reading
    variant: Variant
    reasons: npt.NDArray[Any]
    n_changed: int

    @property
    def after(self) -> Reading:
        """The pass of `variant`."""
        return self.variant.reading

    @property
    def changed_words(self) -> tuple[int, ...]:
        """Positions whose likeliest next word is another one now."""
        pairs = zip(self.before.predicted, self.after.predicted, strict=True)
        return tuple(i for i, (one, other) in enumerate(pairs) if one != other)

    @property
    def certainty(self) -> LabelledArray:
        """Probability of the word that each position wrote before, `[part, pos]`: before and after the painting."""
        ids = [self.before.vocabulary.index(word) for word in self.before.predicted]
        rows = [each["probs"].values[np.arange(len(ids)), ids] for each in (self.before, self.after)]
        axes = Axis("part", ("before", "after")), Axis("pos", self.before.predicted)
        return LabelledArray("P(word written before)", np.stack(rows), axes)


def paint(subject: Subject, sublayer: str, flips: Mask) -> Painted:
    """Run the subject's sentence again with some cells of one mask turned round.

    Args:
        subject: The model, and its sentence.
        sublayer: Such as `decoder.1.cross_attn`.
        flips: `[query, key]`, True where the mask is turned round.

    Raises:
        ValueError: If `flips` is not of the mask's shape.
    """
    before = subject.reading
    own = before[f"{sublayer}.mask"].values
    if flips.shape != own.shape:
        raise ValueError(f"the mask of {sublayer} is {list(own.shape)}, but what is painted is {list(flips.shape)}")
    mask = own ^ flips
    variant = Variant(before)
    if flips.any():
        given = (torch.tensor([ids]) for ids in before.ids)
        trace = capture(subject.model, *given, edits={f"{sublayer}.mask": torch.from_numpy(mask)})
        reading = Reading(trace, src=before.src, tgt=before.tgt, vocabulary=before.vocabulary)
        rows = mask.astype(int).tolist()
        variant = Variant(reading, f'{{"{sublayer}.mask": torch.tensor({rows}, dtype=torch.bool)}}')
    return Painted(before, variant, variant.reading.hidden(sublayer), int(flips.sum()))


def flips_in(text: str, sublayer: str, shape: tuple[int, int]) -> Mask:
    """Return what a text such as `decoder.1.self:0-8-3` paints on a mask; what lies outside it is left out.

    Nothing is painted if the text is about another sublayer, or is none.
    """
    flips = np.zeros(shape, dtype=np.bool_)
    place, _, rows = text.partition(":")
    if not PAINT.fullmatch(text) or f"{place}_attn" != sublayer:
        return flips
    for row, bits in enumerate(rows.split("-")[: shape[0]]):
        flips[row] = [int(bits, 16) >> col & 1 for col in range(shape[1])]
    return flips


def written(sublayer: str, flips: Mask) -> str:
    """Return the text that `flips_in` reads.

    Raises:
        ValueError: If the mask is wider or higher than `WIDEST`.
    """
    if max(flips.shape) > WIDEST:
        raise ValueError(f"a mask up to {WIDEST} × {WIDEST} is painted, but this one is {list(flips.shape)}")
    rows = [sum(1 << int(col) for col in np.flatnonzero(row)) for row in flips]
    while len(rows) > 1 and rows[-1] == 0:
        rows.pop()
    return f"{sublayer.removesuffix('_attn')}:" + "-".join(f"{bits:x}" for bits in rows)


# --- The query that may look nowhere ---------------------------------------------------------------------------------

LARGE = -1e9  # the finite number that stands in for −∞ in much code


def _explicit(q: Tensor, k: Tensor, v: Tensor, low: float) -> Tensor:
    scores: Tensor = q @ k.mT * q.shape[-1] ** -0.5
    weights: Tensor = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool), low).softmax(dim=-1)
    return weights @ v


def _nowhere(q: Tensor, k: Tensor) -> Tensor:
    return torch.zeros(1, 1, q.shape[-2], k.shape[-2], dtype=torch.bool)


# Each way to attend with every key hidden: q, k, v of `[batch, head, pos, d_head]` → `[batch, head, query, d_head]`.
WAYS: Mapping[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = MappingProxyType(
    {
        "ours": lambda q, k, v: attend(q, k, v, _nowhere(q, k)),
        "fused": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=_nowhere(q, k)),
        "infinite": lambda q, k, v: _explicit(q, k, v, -torch.inf),
        "finite": lambda q, k, v: _explicit(q, k, v, LARGE),
    }
)


def nowhere(head: Head, row: int) -> tuple[LabelledArray, LabelledArray]:
    """Let one query of a head look nowhere, in each of `WAYS`.

    Args:
        head: Whose query, keys and values are taken.
        row: Which query.

    Returns:
        The weights, `[way, key]`, and what is mixed with them, `z`, `[way, d_head]`. Weights are read off any way by
        giving it the identity as values.
    """
    q, k, v = (torch.from_numpy(head[name].values.copy())[None, None] for name in ("q", "k", "v"))
    q = q[:, :, row : row + 1]
    n_key = k.shape[2]
    identity = torch.eye(n_key)[None, None]
    ways = Axis("way", tuple(WAYS))
    weights = torch.stack([way(q, k, identity)[0, 0, 0] for way in WAYS.values()])
    z = torch.stack([way(q, k, v)[0, 0, 0] for way in WAYS.values()])
    return (
        LabelledArray("weights", weights.numpy(), (ways, head["weights"].axis("key"))),
        LabelledArray("z", z.numpy(), (ways, head["z"].axis("d_head"))),
    )


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
