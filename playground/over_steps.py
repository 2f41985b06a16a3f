"""A run over its recorded steps: one sentence under the weights of each, and what can be measured from weights alone.

Everything is a real pass with recorded weights. The sentence pair is the same at every step, so that a cell of a map
always means the same two words: the right translation where the task knows it, else what the model writes at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from models import Transformer, capture, label_smoothed_loss
from playground.embedding import axes_over, on_axes
from playground.head import PLACES
from playground.labelled import Axis, LabelledArray
from playground.parts import grouped
from playground.patterns import SHARES, Score, scores
from playground.runs import Run
from playground.tasks import Batch, Example
from playground.training.trainer import HELD_OUT, held_out, sentences, watching
from playground.training.watching import Peek, translate_tokens

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

MOST_STEPS = 48  # recorded steps of a film; of more an even selection with the first and the last
MOST_CELLS = 4_000_000  # weights of a film: so many bytes are sent
LEARNT_FROM = 64  # sentences of a gradient that is measured afterwards
DRAWS = 199  # shuffled heads that a score is compared with: one layer after the other, at every step


@dataclass(frozen=True, eq=False)
class Film:
    """The attention of one sentence pair at every recorded step.

    Attributes:
        steps: The steps, rising.
        src: Source tokens, ⟨eos⟩ last; none of a decoder alone.
        tgt: Decoder input, ⟨bos⟩ first; none of an encoder alone.
        example: The pair; its alignment is empty where the task has none.
        is_gold: Whether the target is the task's own, not the model's.
        maps: Weights by tensor name, float32 `[step, head, query, key]`, 0–1.
        allowed: Where a query may look, by the same names, `[query, key]`.
        written: What the model itself makes of the source at each step.
    """

    steps: tuple[int, ...]
    src: tuple[str, ...]
    tgt: tuple[str, ...]
    example: Example
    is_gold: bool
    maps: Mapping[str, npt.NDArray[np.float32]]
    allowed: Mapping[str, Bools]
    written: tuple[str, ...]

    def at(self, step: int) -> dict[str, npt.NDArray[np.float32]]:
        """Return the maps of the recorded step that is nearest, `[head, query, key]` by tensor name."""
        place = self.place(step)
        return {name: maps[place] for name, maps in self.maps.items()}

    def place(self, step: int) -> int:
        """Return the place of the recorded step that is nearest."""
        return min(range(len(self.steps)), key=lambda i: abs(self.steps[i] - step))

    @cached_property
    def emergence(self) -> tuple[Emergence, ...]:
        """What each head does by each pattern's measure, at every step, with the baselines of the last step."""
        return tuple(_emergence(self))


@dataclass(frozen=True, eq=False)
class Emergence:
    """How one head comes to a pattern.

    Attributes:
        kind: The pattern, one of `playground.patterns.SHARES`.
        where: A key of `playground.head.PLACES`.
        layer, head: Counted from 0.
        scores: The measure with its baselines at each step.
        steps: The steps.
    """

    kind: str
    where: str
    layer: int
    head: int
    scores: tuple[Score, ...]
    steps: tuple[int, ...]

    @property
    def values(self) -> Floats:
        """The measure at each step, 0–1."""
        return np.array([score.value for score in self.scores])

    @property
    def beats(self) -> int | None:
        """The first step from which on the head beats every shuffled one; None if at the end it does not."""
        return self._first([score.value > score.high for score in self.scores])

    @property
    def clears(self) -> int | None:
        """The first step from which on it may be called after the pattern; None if at the end it may not."""
        return self._first([score.clears for score in self.scores])

    def _first(self, is_so: Sequence[bool]) -> int | None:
        last = next((i for i in range(len(is_so) - 1, -1, -1) if not is_so[i]), -1)
        return self.steps[last + 1] if last + 1 < len(self.steps) else None


def film(run: Run, text: str) -> Film:
    """Return the attention of a sentence at every recorded step of a run.

    Args:
        run: With at least one recorded step.
        text: One that the run's task can read.

    Raises:
        TextRefused: If it cannot.
        RunRefused: If weights cannot be read.
    """
    return _film(run.path, run.is_recording, run.steps, run.config.data.tokenize(text))


def glance(run: Run, step: int, text: str) -> Peek:
    """Return the attention of a sentence at one recorded step, of the same pair of sentences as in a film.

    Args:
        run: With at least one recorded step.
        step: One of them.
        text: One that the run's task can read.

    Raises:
        TextRefused, RunRefused: As `film`.
    """
    src = run.config.data.tokenize(text)
    example, _ = _pair(run.path, run.is_recording, run.steps[-1], src)
    frame = _frame(run.path, run.is_recording, step, example)
    return Peek(step, frame.src, frame.tgt, frame.maps)


def selected(steps: Sequence[int], most: int) -> tuple[int, ...]:
    """Return at most so many of the steps, evenly chosen, the first and the last among them."""
    if len(steps) <= most:
        return tuple(steps)
    places = {round(i * (len(steps) - 1) / (most - 1)) for i in range(most)} if most > 1 else {len(steps) - 1}
    return tuple(steps[i] for i in sorted(places))


def held_out_losses(run: Run) -> tuple[tuple[int, float], ...]:
    """Return pairs of recorded step and loss on held-out sentences, in nats per real token, without dropout.

    As measured while it was trained; where that was not done, from the recorded weights now.
    """
    return run.held_out_loss or tuple(
        (step, _held_out_loss(run.path, run.is_recording, step)) for step in selected(run.steps, MOST_STEPS)
    )


def held_out_loss(run: Run, step: int) -> float:
    """Return the loss on held-out sentences at a recorded step: measured while it was trained, else now."""
    measured = dict(run.held_out_loss)
    return measured[step] if step in measured else _held_out_loss(run.path, run.is_recording, step)


def part_grads(run: Run) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return recorded steps, and the length of each part's gradient there, `[step, part]`, from the weights alone.

    Of the loss on the first sentences that were learnt from, without dropout: the same ones at every step.
    """
    steps = selected(run.steps, MOST_STEPS)
    rows = [_part_grads(run.path, run.is_recording, step) for step in steps]
    return np.array(steps, dtype=np.int64), np.array(rows, dtype=np.float64)


def planes(run: Run) -> tuple[tuple[int, ...], tuple[LabelledArray, ...], tuple[float, float]]:
    """Return the embedding table at every recorded step, seen from one side: steps, `[vocab, component]`, shares.

    The axes are the same at all of them, so nothing turns while it learns: see `playground.embedding.axes_over`. The
    shares are those of the last table's variance that lie along the two, 0–1.
    """
    return _planes(run.path, run.is_recording, run.steps)


@lru_cache(maxsize=12)
def _film(path: Path, is_recording: bool, recorded: tuple[int, ...], src: tuple[str, ...]) -> Film:
    example, is_gold = _pair(path, is_recording, recorded[-1], src)
    last = _frame(path, is_recording, recorded[-1], example)
    cells = sum(maps.size for maps in last.maps.values())
    steps = selected(recorded, max(2, min(MOST_STEPS, MOST_CELLS // max(1, cells))))
    frames = [_frame(path, is_recording, step, example) for step in steps]
    return Film(
        steps,
        last.src,
        last.tgt,
        example,
        is_gold,
        {name: np.stack([frame.maps[name] for frame in frames]) for name in last.maps},
        last.allowed,
        tuple(frame.written for frame in frames),
    )


@dataclass(frozen=True, eq=False)
class _Frame:
    """One step of a film."""

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    maps: Mapping[str, npt.NDArray[np.float32]]
    allowed: Mapping[str, Bools]
    written: str


@lru_cache(maxsize=256)
def _pair(path: Path, is_recording: bool, last: int, src: tuple[str, ...]) -> tuple[Example, bool]:
    """Return the sentence with its target, and whether that is the task's own."""
    run = Run.load(path, is_recording=is_recording)
    task = run.config.data
    own = task.reference(src) or next((each for each in task.heldout if each.src == src), None)
    if own is not None:
        return own, True
    # One that was cut off for its length was written to the last word, and is read but for that.
    room = task.max_len - 1 - (len(src) if task.architecture == "decoder-only" else 0)
    return Example(src, _written(run.model(last), run, src)[:room], ()), False


@lru_cache(maxsize=160)
def _frame(path: Path, is_recording: bool, step: int, example: Example) -> _Frame:
    run = Run.load(path, is_recording=is_recording)
    task, model = run.config.data, run.model(step)
    batch = task.encode([example])
    trace = capture(model, *(torch.tensor(ids) for ids in batch.read))
    names = [name for name in trace if name.endswith(".weights")]
    words = task.vocabulary.decode
    return _Frame(
        words(batch.src[0].tolist()),
        words(batch.tgt_in[0].tolist()),
        {name: trace[name].float().numpy() for name in names},
        {name: trace[name.removesuffix("weights") + "mask"].numpy() for name in names},
        task.detokenize(_written(model, run, example.src)),
    )


def _written(model: Transformer, run: Run, src: tuple[str, ...]) -> tuple[str, ...]:
    with watching(model):
        return next(translate_tokens(model, run.config.data, [src]))


def _emergence(film: Film) -> list[Emergence]:
    found: list[Emergence] = []
    for where, (stack, part) in PLACES.items():
        layer = 0
        while (name := f"{stack}.{layer}.{part}.weights") in film.maps:
            queries = film.src if where == "encoder" or not film.tgt else film.tgt
            keys = film.src if where in ("encoder", "cross") or not film.tgt else film.tgt
            gold = film.example.alignment if where == "cross" and film.is_gold else None
            of_steps = [
                scores(
                    LabelledArray(name, maps, (_heads(len(maps)), Axis("query", queries), Axis("key", keys))),
                    film.allowed[name],
                    itself=where != "cross",
                    alignment=gold or None,
                    draws=DRAWS,
                )
                for maps in film.maps[name]
            ]
            found += [
                Emergence(kind, where, layer, head, tuple(each[kind][head] for each in of_steps), film.steps)
                for kind in SHARES
                if kind in of_steps[0]
                for head in range(film.maps[name].shape[1])
            ]
            layer += 1
    return found


def _heads(n: int) -> Axis:
    return Axis("head", tuple(map(str, range(n))))


def _tensors(batch: Batch) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Return what the model is called with, and what it is asked for; copies, for a batch is read only."""
    return [torch.tensor(ids) for ids in batch.read], torch.tensor(batch.tgt_out)


@lru_cache(maxsize=1024)
def _held_out_loss(path: Path, is_recording: bool, step: int) -> float:
    run = Run.load(path, is_recording=is_recording)
    read, wanted = _tensors(held_out(run.config.data, HELD_OUT))
    with torch.no_grad():
        logits = run.model(step)(*read)
    smoothing = run.config.at(max(1, step)).recipe.label_smoothing
    return label_smoothed_loss(logits, wanted, run.config.model.pad_id, smoothing).item()


@lru_cache(maxsize=1024)
def _part_grads(path: Path, is_recording: bool, step: int) -> tuple[float, ...]:
    run = Run.load(path, is_recording=is_recording)
    model = run.model(step).requires_grad_(True)
    read, wanted = _tensors(Batch(*(ids[:LEARNT_FROM] for ids in sentences(run.config.data))))
    smoothing = run.config.at(max(1, step)).recipe.label_smoothing
    loss = label_smoothed_loss(model(*read), wanted, run.config.model.pad_id, smoothing)
    loss.backward()  # type: ignore[no-untyped-call]
    named = dict(model.named_parameters())
    squares = [float((each.grad**2).sum()) if each.grad is not None else 0.0 for each in named.values()]
    parts = grouped(run.config.model, named)
    return tuple(sum(squares[place] for place in places) ** 0.5 for places in parts.values())


@lru_cache(maxsize=12)
def _planes(
    path: Path, is_recording: bool, recorded: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[LabelledArray, ...], tuple[float, float]]:
    run = Run.load(path, is_recording=is_recording)
    steps = selected(recorded, MOST_STEPS)
    words = Axis("vocab", tuple(run.config.data.vocabulary.tokens))
    tables = []
    for step in steps:
        rows = run.weights(step)["embedding"].numpy()
        tables.append(LabelledArray("embedding", rows, (words, Axis("d_model", tuple(map(str, range(rows.shape[1])))))))
    axes = axes_over(tables)
    seen = [on_axes(table, axes) for table in tables]
    return steps, tuple(points for points, _ in seen), seen[-1][1]
