"""What the first page shows of a subject: which head's map, and at which word the drawing starts."""

from __future__ import annotations

from dataclasses import dataclass

from playground.labelled import LabelledArray
from playground.subject import Subject
from playground.tasks import HIDDEN


@dataclass(frozen=True, eq=False)
class Shown:
    """One cross-attention head at work.

    Attributes:
        layer, head: Which one.
        weights: Its map, `[query, key]`: each query labelled with the word that it writes.
        share: How much of its weight lies on the gold alignment, 0 to 1; None where there is none to compare with.
        is_best: Whether no other head follows the gold alignment better at the run's last step.
    """

    layer: int
    head: int
    weights: LabelledArray
    share: float | None
    is_best: bool


def best_head(subject: Subject) -> tuple[int, int]:
    """Return (layer, head) of the cross-attention to begin with: the best aligned, else head 0 of the last layer."""
    return subject.aligned_head() or (subject.run.config.model.n_layers - 1, 0)


def cross_attention(subject: Subject, layer: int, head: int) -> Shown:
    """Return one head's cross-attention over the subject's sentence and its own translation.

    Raises:
        KeyError: If the model has no cross-attention.
    """
    reading = subject.reading
    weights = reading[f"decoder.{layer}.cross_attn.weights"].select(head=head)
    return Shown(
        layer,
        head,
        weights.relabelled({"query": reading.predicted}),
        subject.head_score(layer, head),
        subject.aligned_head() == (layer, head),
    )


def verdict(subject: Subject) -> tuple[str, str]:
    """Return how the translation stands against the grammar's own, as a locale key, and the grammar's translation."""
    if subject.example is None:
        return "tasks.unchecked", ""
    wanted = subject.task.detokenize(subject.example.tgt)
    if not subject.finished:
        return "home.verdict.unfinished", wanted
    if not subject.exact:
        return "home.verdict.differs", wanted
    return f"home.verdict.{'exact_seen' if subject.task.trained_on(subject.src) else 'exact'}", wanted


def shown_as(shown: Shown) -> tuple[str, str]:
    """Return what there is to say about a head, as a locale key, and its share of the alignment in words."""
    if shown.share is None:
        return "home.shown_plain", ""
    return "home.shown_best" if shown.is_best else "home.shown", f"{100 * shown.share:.0f} %"


def turning_word(subject: Subject) -> int:
    """Return the position that writes the first target word for which the order turns back in the source.

    In "le chat noir", "noir" comes after "chat", but "black" before "cat". Without such a word, or without a gold
    alignment, the middle one. Positions count what the last stack reads. A decoder alone writes its first word where
    its beginning ends, and an encoder alone is asked for the first word that is hidden.
    """
    last = len(subject.reading.tgt or subject.reading.src) - 1
    if subject.task.architecture == "decoder-only":
        return min(len(subject.src), last)
    if HIDDEN in subject.src:
        return subject.src.index(HIDDEN)
    if subject.example is not None:
        reached = -1
        first: dict[int, int] = {}
        for target, source in subject.example.alignment:
            first[target] = min(source, first.get(target, source))
        for target, source in sorted(first.items()):
            if source < reached:
                return min(target, last)
            reached = source
    return last // 2
