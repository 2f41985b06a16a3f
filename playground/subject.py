"""The subject: a run at one recorded step, and a sentence. Every page is a window onto its one forward pass."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import torch
from torch import Tensor

from models import Trace, Transformer, capture, greedy
from playground.labelled import Axis, LabelledArray
from playground.measures import agreement
from playground.reading import Reading
from playground.runs import Run
from playground.tasks import BOS, EOS, HIDDEN, Example, Task

T = TypeVar("T")


class Subject:
    """A model and an input, and what the one makes of the other.

    Args:
        run: The run that the weights come from.
        step: One of `run.steps`.
        text: What the visitor typed.

    Raises:
        TextRefused: If the text is empty, too long, or has a word that the task does not know.
        RunRefused: If the weights of that step cannot be read.
    """

    def __init__(self, run: Run, step: int, text: str) -> None:
        self.run = run
        self.step = step
        self.task: Task = run.config.data
        self.src: tuple[str, ...] = self.task.tokenize(text)
        self._read = _READ.found_or_made((run.path, step, self.src), self._pass, lambda read: read.reading.n_bytes)

    @property
    def model(self) -> Transformer:
        """The model at this step, in eval mode; shared between visitors, so only ever read."""
        return _model(self.run, self.step)

    @property
    def reading(self) -> Reading:
        """The forward pass over the text and what the model itself wrote after it, if it writes."""
        return self._read.reading

    @property
    def output(self) -> tuple[str, ...]:
        """The words that the model wrote, without `⟨eos⟩`; of an encoder alone the text, what was hidden found."""
        return self._read.output

    @property
    def finished(self) -> bool:
        """Whether the model ended its translation itself, rather than being cut off at the longest length."""
        return self._read.finished

    @property
    def translation(self) -> str:
        """What the model wrote, as one would write it."""
        return self.task.detokenize(self.output)

    @cached_property
    def example(self) -> Example | None:
        """The grammar's own translation with its alignment, if the sentence belongs to the language."""
        return self.task.reference(self.src)

    @property
    def exact(self) -> bool | None:
        """Whether the model wrote exactly what the grammar does; None if the grammar has no translation."""
        return None if self.example is None else self.finished and self.output == self.example.tgt

    def table(self, stack: str) -> LabelledArray:
        """Return the embedding table that a stack looks its words up in, as it stands in the weights.

        Args:
            stack: `encoder` or `decoder`.

        Returns:
            `[vocab, d_model]`.
        """
        own = self.model.tgt_embedding if stack == "decoder" else None
        table = self.model.embedding if own is None else own
        axes = (
            Axis("vocab", tuple(self.task.vocabulary.tokens)),
            Axis("d_model", tuple(str(i) for i in range(table.shape[1]))),
        )
        return LabelledArray("embedding" if own is None else "tgt_embedding", table.detach().cpu().numpy(), axes)

    def embedding(self, stack: str) -> LabelledArray:
        """Return the rows of the table that a stack looks up.

        Args:
            stack: `encoder` or `decoder`.

        Returns:
            `[pos, d_model]`, each row labelled with its word and the word's id.
        """
        words = self.reading.src if stack == "encoder" else self.reading.tgt
        ids = self.task.vocabulary.encode(words)
        table = self.table(stack)
        labels = tuple(f"{word} · {i}" for word, i in zip(words, ids, strict=True))
        return LabelledArray(table.name, table.values[ids], (Axis("pos", labels), table.axis("d_model")))

    def head_score(self, layer: int, head: int) -> float | None:
        """Return how much of a cross-attention head's weight lies on the gold alignment, 0 to 1.

        None if the translation is not the grammar's: then there is no alignment to compare with.
        """
        if not self.exact or self.example is None:
            return None
        weights = self.reading[f"decoder.{layer}.cross_attn.weights"].select(head=head)
        return agreement(weights, self.example.alignment)

    def aligned_head(self) -> tuple[int, int] | None:
        """Return (layer, head) of the cross-attention that follows the gold alignment best at the run's last step.

        The last step, whatever the step on screen: so the map stays with one head while the step moves. None if the
        model has no cross-attention or the grammar no translation to compare with.
        """
        config = self.run.config.model
        if config.architecture != "encoder-decoder":
            return None
        last = self.run.steps[-1]
        end = self if self.step == last else Subject(self.run, last, self.task.join(self.src))
        scores = {
            (layer, head): score
            for layer in range(config.n_layers)
            for head in range(config.n_heads)
            if (score := end.head_score(layer, head)) is not None
        }
        return max(scores, key=scores.__getitem__) if scores else None

    def given(self, written: Sequence[str] = ()) -> tuple[Tensor, ...]:
        """Return the ids that the model is called with: `model(*subject.given(written))`.

        Args:
            written: What the decoder has written so far; an encoder alone writes nothing.

        Returns:
            The source `[1, key]`, what the decoder reads `[1, query]`, or both, as the architecture has it.
        """
        encode = self.task.vocabulary.encode
        src, tgt = encode(self.src), encode(written)
        rows = {
            "encoder-decoder": ([*src, EOS], [BOS, *tgt]),
            "encoder-only": ([*src, EOS],),
            "decoder-only": ([BOS, *src, *tgt],),
        }
        return tuple(torch.tensor([row]) for row in rows[self.task.architecture])

    @property
    def room(self) -> int:
        """Most tokens that the model may write, ⟨eos⟩ among them."""
        return max(self.task.max_len - (1 + len(self.src) if self.task.architecture == "decoder-only" else 0), 1)

    def _pass(self) -> _Read:
        """Write greedily, or find what is hidden, then run the whole once more with every tensor recorded."""
        vocabulary = self.task.vocabulary
        words = vocabulary.decode
        if self.task.architecture == "encoder-only":
            source = self.given()[0]
            reading = self._reading(capture(self.model, source), source)
            found = zip(self.src, reading.predicted, strict=False)
            return _Read(reading, tuple(likeliest if word == HIDDEN else word for word, likeliest in found), True)
        ids: list[int] = []
        finished = False
        # A decoder alone goes on from its beginning; beside an encoder it begins with ⟨bos⟩.
        for step in greedy(self.model, self.given()[0], bos_id=BOS, eos_id=EOS, max_len=self.room):
            token = int(step.token[0])
            if token == EOS:
                finished = True
                break
            ids.append(token)
        # Cut off: the last word was written, but never read.
        given = self.given(words(ids if finished else ids[:-1]))
        return _Read(self._reading(capture(self.model, *given), *given), words(ids), finished)

    def _reading(self, trace: Trace, *given: Tensor) -> Reading:
        """Put the words of what the model was called with on the axes of its tensors."""
        words = self.task.vocabulary.decode
        read = [words(ids[0].tolist()) for ids in given]
        src = () if self.task.architecture == "decoder-only" else read[0]
        tgt = () if self.task.architecture == "encoder-only" else read[-1]
        return Reading(trace, src=src, tgt=tgt, vocabulary=tuple(self.task.vocabulary.tokens))


@dataclass(frozen=True)
class _Read:
    reading: Reading
    output: tuple[str, ...]
    finished: bool


class _Cache(Generic[T]):
    """What was made last, up to a number of bytes; shared between visitors, so it holds only what never changes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def found_or_made(self, key: Hashable, make: Callable[[], T], n_bytes: Callable[[T], int]) -> T:
        """Return what is kept under `key`, or make it and keep it in place of the longest unused."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
        # Made outside the lock: a slow sentence of one visitor must not hold up the others.
        made = make()
        size = n_bytes(made)
        with self._lock:
            if key not in self._held:
                self._held[key] = (made, size)
                self._bytes += size
            while self._bytes > self._limit and len(self._held) > 1:
                _, (_, freed) = self._held.popitem(last=False)
                self._bytes -= freed
        return made


_MODELS: _Cache[Transformer] = _Cache(256 * 2**20)
_READ: _Cache[_Read] = _Cache(256 * 2**20)


def _model(run: Run, step: int) -> Transformer:
    return _MODELS.found_or_made(
        (run.path, step),
        lambda: run.model(step),
        lambda model: sum(p.numel() * p.element_size() for p in model.parameters()),
    )
