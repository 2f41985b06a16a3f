"""What a model writes, one choice after the other: greedily, drawn, along a beam, or with a word put in its mouth."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from models import Branch, Draw, Growth, Transformer, beam, capture, greedy, sampled, winner
from playground.labelled import Axis, LabelledArray
from playground.measures import agreement
from playground.reading import Reading
from playground.runs import Run
from playground.subject import Subject
from playground.tasks import BOS, EOS, Task

Kind = Literal["greedy", "sample", "beam"]
Cut = Literal["", "k", "p"]

# What a visitor may choose; `Way` has the defaults.
VIEWS = ("write", "align", "forcing", "lens")
KINDS: tuple[Kind, ...] = ("greedy", "sample", "beam")
TEMPERATURES = ("0", "0.3", "0.5", "0.7", "0.85", "1", "1.2", "1.5", "2", "3", "5")
TOP_K = ("all", "50", "20", "10", "5", "3", "2", "1")
TOP_P = ("1", "0.99", "0.95", "0.9", "0.8", "0.6", "0.4", "0.2", "0")
WIDTHS = ("1", "2", "3", "4", "5", "6")
PENALTIES = ("0", "0.3", "0.6", "1", "2", "5")
LARGEST_SEED = 999

# Tokens that were put in the model's mouth: `3:57,5:12`, each the number of the token and its id.
FORCED = re.compile(r"[0-9]{1,3}:[0-9]{1,5}(,[0-9]{1,3}:[0-9]{1,5}){0,31}")


@dataclass(frozen=True)
class Way:
    """How the next token is chosen.

    Attributes:
        kind: `greedy`, `sample` or `beam`.
        temperature: For `sample`; see `models.sift`.
        top_k: The same.
        top_p: The same.
        seed: Of the draws.
        width: For `beam`; see `models.beam`.
        penalty: The same.
        forced: Tokens that are written whatever the model says, as (number of the token, id), by number.
    """

    kind: Kind = "greedy"
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0
    width: int = 4
    penalty: float = 0.6
    forced: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Share:
    """The probability of some words together.

    Attributes:
        tokens: Their ids.
        p: What the model gives them.
        tempered: What they have after the temperature.
        final: What they have in the distribution that is drawn from.
        cut: Which filter took them away: `k`, `p`, or none; of the first of them.
    """

    tokens: tuple[int, ...]
    p: float
    tempered: float
    final: float
    cut: Cut


@dataclass(frozen=True, eq=False)
class Moment:
    """One choice.

    Attributes:
        index: Number of the token, from 0.
        row: The query of the pass that chose, which is the place of the token read last.
        read: The token read last.
        written: The token chosen.
        token: Its id.
        is_forced: Whether it was put in the model's mouth.
        probs: What the model said, `[vocab]`.
        tempered: What the temperature made of that, `[vocab]`; None unless it was drawn.
        in_k: The words that top-k left, `[vocab]`; None unless it was drawn.
        in_p: The words that top-p left of them, `[vocab]`; None unless it was drawn.
        final: What was drawn from, `[vocab]`; None unless it was drawn.
        at: Where the draw fell, 0 to below 1; None unless it was drawn.
        free: Id of what would have been written had nothing been forced here.
    """

    index: int
    row: int
    read: str
    written: str
    token: int
    is_forced: bool
    probs: LabelledArray
    tempered: npt.NDArray[np.float64] | None
    in_k: npt.NDArray[np.bool_] | None
    in_p: npt.NDArray[np.bool_] | None
    final: npt.NDArray[np.float64] | None
    at: float | None
    free: int

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """Ids of the words from the likeliest down, the lowest of equals first."""
        return np.argsort(-self.probs.values, kind="stable")

    def rank(self, token: int) -> int:
        """Return how many words the model thinks likelier than this one."""
        return int(np.flatnonzero(self.order == token)[0])

    def cut(self, token: int) -> Cut:
        """Return which filter took a word away: `k`, `p`, or none."""
        if self.in_k is None or self.in_p is None or self.in_p[token]:
            return ""
        return "p" if self.in_k[token] else "k"

    def removed(self, name: Cut) -> tuple[int, float]:
        """Return how many words a filter took away, and their share of what it was given.

        Args:
            name: `k`: top-k, of all words at this temperature; `p`: top-p, of what top-k left.
        """
        if self.tempered is None or self.in_k is None or self.in_p is None:
            return 0, 0.0
        before = np.ones_like(self.in_k) if name == "k" else self.in_k
        gone = before & ~(self.in_k if name == "k" else self.in_p)
        return int(gone.sum()), float(self.tempered[gone].sum() / self.tempered[before].sum())

    def shown(self, n: int) -> tuple[int, ...]:
        """Return the ids of the `n` likeliest words, the likeliest first, and of the one written if it is not there."""
        best = [int(token) for token in self.order[:n]]
        return tuple(best if self.token in best else [*best, self.token])

    def share(self, tokens: Sequence[int]) -> Share:
        """Return the probabilities of some words together, at each stage."""
        at = list(tokens)
        p, tempered, final = (
            float(values[at].sum(dtype=np.float64))
            for values in (
                self.probs.values,
                self.probs.values if self.tempered is None else self.tempered,
                self.probs.values if self.final is None else self.final,
            )
        )
        return Share(tuple(at), p, tempered, final, self.cut(at[0]) if at else "")

    def rest(self, shown: Sequence[int]) -> Share:
        """Return the probabilities of all other words together."""
        return self.share([int(token) for token in self.order if int(token) not in set(shown)])

    def line(self, shown: Sequence[int]) -> tuple[Share, ...]:
        """Cut the whole distribution, likeliest first, into pieces: one for each word shown, others run together."""
        pieces: list[list[int]] = []
        for token in map(int, self.order):
            own = token in shown
            if pieces and not own and pieces[-1][0] not in shown and self.cut(pieces[-1][0]) == self.cut(token):
                pieces[-1].append(token)
            else:
                pieces.append([token])
        return tuple(self.share(piece) for piece in pieces)


@dataclass(frozen=True, eq=False)
class Tree:
    """A beam search.

    Attributes:
        growths: Its steps.
        words: Every word, each at its id.
        best: The path that won, the first token first.
    """

    growths: tuple[Growth, ...]
    words: tuple[str, ...]
    best: tuple[Branch, ...]

    @cached_property
    def branches(self) -> Mapping[int, Branch]:
        """Every branch by its number."""
        return {branch.number: branch for growth in self.growths for branch in growth.branches}

    def path(self, number: int) -> tuple[Branch, ...]:
        """Return the branches that lead to one, the first token first."""
        found: list[Branch] = []
        at: int | None = number
        while at is not None:
            found.append(self.branches[at])
            at = found[-1].parent
        return tuple(reversed(found))


class Written:
    """What a subject's model wrote, and the pass that wrote it.

    Attributes:
        way: How it was written.
        begun: Ids that the decoder read before it wrote: `⟨bos⟩`, and the beginning that a decoder alone continues.
        ids: What was written, `⟨eos⟩` included if it was.
        words: The same in words.
        tree: The search, if it was one.
    """

    def __init__(self, run: Run, step: int, src: tuple[str, ...], way: Way) -> None:
        self.way = way
        self._run = run
        self._step = step
        self._src = src
        self._task: Task = run.config.data
        self._model: Transformer = run.model(step)
        vocabulary = self._task.vocabulary
        self._source, self.begun = beginning(self._task, src)
        self._vocabulary = tuple(vocabulary.tokens)
        self.tree: Tree | None = None
        self._draws: list[Draw] = []
        self._free: list[int] = []
        self.ids: tuple[int, ...] = tuple(self._write())
        self.words = vocabulary.decode(self.ids)

    @property
    def finished(self) -> bool:
        """Whether the model ended its text itself, rather than being cut off at the greatest length."""
        return bool(self.ids) and self.ids[-1] == EOS

    @property
    def output(self) -> tuple[str, ...]:
        """The words without `⟨eos⟩`."""
        return self.words[:-1] if self.finished else self.words

    @cached_property
    def reading(self) -> Reading:
        """The pass over all that was written; row i of a causal decoder is what it saw when it wrote token i."""
        return self._read(len(self.ids))

    def pass_of(self, index: int) -> tuple[Reading, int]:
        """Return the pass that chose token `index`, and the row of it that did.

        Under a causal mask it is a row of the one pass over everything; without, what comes later changes what was
        before, and each choice has a pass of its own.
        """
        if self._model.config.causal:
            return self.reading, len(self.begun) - 1 + index
        return self._read(index + 1), len(self.begun) - 1 + index

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """Every choice, in order."""
        forced = dict(self.way.forced)
        found = []
        for index, (token, word) in enumerate(zip(self.ids, self.words, strict=True)):
            reading, row = self.pass_of(index)
            sieve = self._draws[index].sieve if self._draws else None
            found.append(
                Moment(
                    index=index,
                    row=row,
                    read=reading.tgt[row],
                    written=word,
                    token=token,
                    is_forced=index in forced,
                    probs=reading["probs"].select(pos=row),
                    tempered=None if sieve is None else sieve.tempered[0].numpy(),
                    in_k=None if sieve is None else sieve.in_k[0].numpy(),
                    in_p=None if sieve is None else sieve.in_p[0].numpy(),
                    final=None if sieve is None else sieve.final[0].numpy(),
                    at=float(self._draws[index].at[0]) if self._draws else None,
                    free=self._free[index] if self._free else token,
                )
            )
        return tuple(found)

    def attention(self, sublayer: str, head: int) -> list[npt.NDArray[Any]]:
        """Return what each choice looked at with one head: for each token that was written `[key]`.

        Args:
            sublayer: Such as `decoder.1.cross_attn`.
            head: Counted from 0.
        """
        found = []
        for index in range(len(self.ids)):
            reading, row = self.pass_of(index)
            found.append(reading[f"{sublayer}.weights"].values[head, row])
        return found

    def map(self, sublayer: str, head: int) -> LabelledArray:
        """Return the weights of one head, a row for each token that was written, named by that token.

        Returns:
            `[query, key]`. A self-attention has a key for every token read in the end; what was not yet read has 0.
        """
        rows = self.attention(sublayer, head)
        keys = self.reading[f"{sublayer}.weights"].axis("key")
        values = np.zeros((len(rows), len(keys)), dtype=np.float32)
        for row, weights in zip(values, rows, strict=True):
            row[: len(weights)] = weights
        return LabelledArray(f"{sublayer}.weights", values, (Axis("query", self.words), keys))

    def log_probability(self) -> float:
        """Return ln P of all that was written, by the model's own distribution."""
        return float(sum(np.log(moment.probs.values[moment.token].astype(np.float64)) for moment in self.moments))

    def _write(self) -> list[int]:
        # A decoder alone reads its beginning where the other one reads its source.
        given = torch.tensor([self._source or list(self.begun)])
        longest = self._task.max_len - (0 if self._source else len(self.begun) - 1)
        limits: dict[str, Any] = {"bos_id": BOS, "eos_id": EOS, "max_len": max(longest, 1)}
        forced = dict(self.way.forced)
        if self.way.kind == "beam":
            growths = tuple(
                beam(self._model, given, width=self.way.width, penalty=self.way.penalty, forced=forced, **limits)
            )
            self.tree = Tree(growths, self._vocabulary, winner(growths))
            return [branch.token for branch in self.tree.best]
        if self.way.kind == "greedy":
            steps = list(greedy(self._model, given, forced=forced, **limits))
            self._free = [int(step.logits[0].argmax()) for step in steps]
            return [int(step.token[0]) for step in steps]
        generator = torch.Generator().manual_seed(self.way.seed)
        self._draws = list(
            sampled(
                self._model,
                given,
                temperature=self.way.temperature,
                top_k=self.way.top_k,
                top_p=self.way.top_p,
                generator=generator,
                forced=forced,
                **limits,
            )
        )
        self._free = [int(draw.sieve.pick(draw.at)[0]) for draw in self._draws]
        return [int(draw.token[0]) for draw in self._draws]

    def _read(self, n: int) -> Reading:
        """Return the pass that wrote token number `n` - 1: over all that stood before it."""
        given = [*self.begun, *self.ids[: n - 1]]
        target = torch.tensor([given])
        ids = (torch.tensor([self._source]), target) if self._source else (target,)
        decode = self._task.vocabulary.decode
        return Reading(
            capture(self._model, *ids), src=decode(self._source), tgt=decode(given), vocabulary=self._vocabulary
        )


def beginning(task: Task, src: Sequence[str]) -> tuple[list[int], tuple[int, ...]]:
    """Return what the encoder reads, nothing where there is none, and what the decoder reads before it writes."""
    ids = task.vocabulary.encode(src)
    return ([], (BOS, *ids)) if task.architecture == "decoder-only" else ([*ids, EOS], (BOS,))


def write(subject: Subject, way: Way) -> Written:
    """Let a subject's model write; what was written last is kept, for all visitors."""
    run = subject.run
    return _written(run.path, run.is_recording, subject.step, subject.src, way)


@lru_cache(maxsize=24)
def _written(path: Path, is_recording: bool, step: int, src: tuple[str, ...], way: Way) -> Written:
    return Written(Run.load(path, is_recording=is_recording), step, src, way)


# --- What was forced, in a link --------------------------------------------------------------------------------------


def forced_in(text: object, vocab_size: int) -> tuple[tuple[int, int], ...]:
    """Return what a link says was forced, by number; what the model has no word for is as if it were not there."""
    if not isinstance(text, str) or not FORCED.fullmatch(text):
        return ()
    pairs = [tuple(map(int, each.split(":"))) for each in text.split(",")]
    return tuple(sorted({number: token for number, token in pairs if token < vocab_size}.items()))


def forced_text(forced: Sequence[tuple[int, int]]) -> str:
    """Return the same as a link has it; empty for nothing."""
    return ",".join(f"{number}:{token}" for number, token in forced)


def put_in(forced: Sequence[tuple[int, int]], number: int, token: int) -> tuple[tuple[int, int], ...]:
    """Return what is forced once a word is put in; what was forced after it followed another text, and is gone."""
    return (*(each for each in forced if each[0] < number), (number, token))


# --- Alignment -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Alignment:
    """One cross-attention head beside the gold alignment, in the pass that wrote the words.

    Attributes:
        weights: `[query, key]`, a row for each token that was written.
        gold: Pairs (target position, source position) that translate each other, as far as the output is the
            grammar's own.
        share: Mean weight that lies on them; None where there are none.
        even: The same if every word looked everywhere alike.
        best: (layer, head) with the largest share, and that share; None where there is nothing to compare with.
    """

    weights: LabelledArray
    gold: tuple[tuple[int, int], ...]
    share: float | None
    even: float
    best: tuple[tuple[int, int], float] | None


def alignment(subject: Subject, written: Written, layer: int, head: int) -> Alignment:
    """Compare a cross-attention head with the gold alignment.

    Raises:
        KeyError: If the model has no cross-attention.
    """
    config = subject.run.config.model
    weights = written.map(f"decoder.{layer}.cross_attn", head)
    gold = _gold(subject, written)
    if not gold:
        return Alignment(weights, gold, None, 0.0, None)
    shares = {
        (at, which): agreement(written.map(f"decoder.{at}.cross_attn", which), gold)
        for at in range(config.n_layers)
        for which in range(config.n_heads)
    }
    best = max(shares, key=shares.__getitem__)
    even = agreement(weights.derived("even", np.full(weights.shape, 1 / weights.shape[1])), gold)
    return Alignment(weights, gold, shares[layer, head], even, (best, shares[best]))


def _gold(subject: Subject, written: Written) -> tuple[tuple[int, int], ...]:
    example = subject.example
    if example is None:
        return ()
    right = 0
    for wanted, word in zip(example.tgt, written.words, strict=False):
        if wanted != word:
            break
        right += 1
    return tuple(pair for pair in example.alignment if pair[0] < right)
