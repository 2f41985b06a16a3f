"""Example: a sentence, its one right translation and which word came from which; and batches of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from playground.tasks.vocabulary import BOS, EOS, PAD, Vocabulary

Architecture = Literal["encoder-decoder", "encoder-only", "decoder-only"]

# A word of a phrase with its marks: words on the two sides that share a mark belong together.
Marked = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Example:
    """One sentence and its translation.

    Attributes:
        src: The source tokens.
        tgt: The target tokens.
        alignment: Pairs `(target position, source position)`, sorted; positions count from 0, without specials.
    """

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]


class Batch(NamedTuple):
    """Ids of several examples, `int64`, padded on the right with 0.

    Attributes:
        src: Source and ⟨eos⟩: what the encoder reads, `[batch, key]`; of a decoder alone `[batch, 0]`.
        tgt_in: ⟨bos⟩ and target (of a decoder alone the beginning before it): what the decoder reads, `[batch, query]`;
            of an encoder alone `[batch, 0]`.
        tgt_out: What shall be written, a place for each of the logits, 0 where nothing is asked: target and ⟨eos⟩,
            `[batch, query]`; of an encoder alone the hidden words, `[batch, key]`.
    """

    src: npt.NDArray[np.int64]
    tgt_in: npt.NDArray[np.int64]
    tgt_out: npt.NDArray[np.int64]

    @property
    def read(self) -> tuple[npt.NDArray[np.int64], ...]:
        """What a model of the task's architecture is called with: source, target, or both."""
        return tuple(ids for ids in (self.src, self.tgt_in) if ids.shape[1])


def aligned(src: Sequence[Marked], tgt: Sequence[Marked]) -> Example:
    """Return the example whose words belong together where they share a mark."""
    where: dict[str, list[int]] = {}
    for position, (_, marks) in enumerate(src):
        for mark in marks:
            where.setdefault(mark, []).append(position)
    pairs: list[tuple[int, int]] = []
    for i, (_, marks) in enumerate(tgt):
        found: Iterable[int] = where.get(marks[0], ())
        if len(marks) > 1:
            found = sorted({j for mark in marks for j in where.get(mark, ())})
        pairs += [(i, j) for j in found]
    return Example(tuple([word for word, _ in src]), tuple([word for word, _ in tgt]), tuple(pairs))


def encode_batch(
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    *,
    architecture: Architecture = "encoder-decoder",
    whole: bool = False,
    ends: bool = True,
) -> Batch:
    """Return the ids of `examples`, one row each.

    Args:
        examples: Of an encoder alone, source and target are of one length, and differ where something is asked.
        vocabulary: Has all their words.
        architecture: Of the model that reads them.
        whole: Whether a decoder alone is asked for the words of the beginning too.
        ends: Whether ⟨eos⟩ is asked for after the target.

    Raises:
        ValueError: If there is no example.
        KeyError: If a token is not in the vocabulary.
    """
    if not examples:
        raise ValueError("a batch needs at least one example, but there are 0")
    src = [vocabulary.encode(example.src) for example in examples]
    tgt = [vocabulary.encode(example.tgt) for example in examples]
    end = [EOS] if ends else []
    nothing = np.empty((len(examples), 0), dtype=np.int64)
    match architecture:
        case "encoder-decoder":
            return Batch(
                padded([*row, EOS] for row in src),
                padded([BOS, *row] for row in tgt),
                padded([*row, EOS] for row in tgt),
            )
        case "decoder-only":
            texts = [[BOS, *beginning, *row, *end] for beginning, row in zip(src, tgt, strict=True)]
            unasked = [0 if whole else len(beginning) for beginning in src]
            return Batch(
                nothing,
                padded(text[:-1] for text in texts),
                padded([PAD] * n + text[1 + n :] for n, text in zip(unasked, texts, strict=True)),
            )
        case "encoder-only":
            hidden = [
                [new if new != old else PAD for old, new in zip(*pair, strict=True)]
                for pair in zip(src, tgt, strict=True)
            ]
            return Batch(padded([*row, EOS] for row in src), nothing, padded([*row, PAD] for row in hidden))


def padded(rows: Iterable[Sequence[int]]) -> npt.NDArray[np.int64]:
    """Return `rows` as one array, `[row, longest]`, short rows filled up with padding on the right."""
    held = list(rows)
    array = np.full((len(held), max(map(len, held))), PAD, dtype=np.int64)
    for filled, row in zip(array, held, strict=True):
        filled[: len(row)] = row
    return array
