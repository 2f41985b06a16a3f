"""Teacher forcing beside free running: the same sentence read right, and read as the model itself wrote it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from models import capture
from playground.decoding import Way, beginning, write
from playground.reading import Reading
from playground.subject import Subject
from playground.tasks import EOS

SPOILT = 2


@dataclass(frozen=True, eq=False)
class Pass:
    """What a decoder read and wrote at each place.

    Attributes:
        read: The word read last, place by place.
        wrote: The likeliest word there.
        right: P of the word that is wanted there; as long as both texts.
        passes: The pass and its row that each place comes from.
    """

    read: tuple[str, ...]
    wrote: tuple[str, ...]
    right: tuple[float, ...]
    passes: tuple[tuple[Reading, int], ...]

    def errors(self, wanted: tuple[str, ...]) -> tuple[int, ...]:
        """Return the places at which another word stands than the one wanted, or none, or one too many."""
        longest = max(len(wanted), len(self.wrote))
        return tuple(i for i in range(longest) if self.wrote[i : i + 1] != wanted[i : i + 1])


@dataclass(frozen=True, eq=False)
class Forcing:
    """The same sentence twice.

    Attributes:
        wanted: The grammar's own words, `⟨eos⟩` last.
        forced: As in training: whatever the model writes, it reads the right word next.
        free: As in use: it reads what it wrote.
    """

    wanted: tuple[str, ...]
    forced: Pass
    free: Pass

    @property
    def first_error(self) -> int | None:
        """The place of the first wrong word of the free run; None if all are right. The forced pass errs there too."""
        errors = self.free.errors(self.wanted)
        return errors[0] if errors else None


def forcing(subject: Subject) -> Forcing | None:
    """Run both; None if the grammar has no text of its own for the sentence."""
    example, task = subject.example, subject.task
    if example is None:
        return None
    vocabulary = task.vocabulary
    wanted = (*vocabulary.encode(example.tgt), EOS)
    source, begun = beginning(task, subject.src)
    read = [*begun, *wanted[:-1]]
    ids = (torch.tensor([source]), torch.tensor([read])) if source else (torch.tensor([read]),)
    decode = vocabulary.decode
    whole = Reading(
        capture(subject.model, *ids), src=decode(source), tgt=decode(read), vocabulary=tuple(vocabulary.tokens)
    )
    first = len(begun) - 1
    probs = whole["probs"].values[first:]  # [place, vocab]
    forced = Pass(
        whole.tgt[first:],
        whole.predicted[first:],
        tuple(float(row[token]) for row, token in zip(probs, wanted, strict=True)),
        tuple((whole, first + place) for place in range(len(wanted))),
    )
    written = write(subject, Way())
    own = Pass(
        tuple(moment.read for moment in written.moments),
        written.words,
        tuple(float(each.probs.values[token]) for each, token in zip(written.moments, wanted, strict=False)),
        tuple(written.pass_of(place) for place in range(len(written.ids))),
    )
    return Forcing(decode(wanted), forced, own)


def spoilt_step(subject: Subject) -> int | None:
    """Return the latest recorded step at which one wrong word leads to others; None if there is no such step.

    There the free run has at least `SPOILT` more errors than the forced one.
    """
    for step in reversed(subject.run.steps):
        both = forcing(Subject(subject.run, step, subject.task.join(subject.src)))
        if both is None:
            return None
        if len(both.free.errors(both.wanted)) - len(both.forced.errors(both.wanted)) >= SPOILT:
            return step
    return None


def surprise(right: tuple[float, ...]) -> float:
    """Return the mean of −ln P over the words that were wanted, in nats."""
    return float(-np.log(np.maximum(np.array(right, dtype=np.float64), 1e-45)).mean()) if right else 0.0
