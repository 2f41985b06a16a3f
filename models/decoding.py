"""Writing a sequence token by token: greedily, by drawing, or along a beam, each as a generator of steps.

A length counts every token that is written, the end among them; the beginning is read, not written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from models.cache import KVCache
from models.masks import padding_mask
from models.stepping import Stepper
from models.trace import inspecting
from models.transformer import Transformer

Fate = Literal["kept", "ended", "pruned"]


@dataclass(frozen=True, eq=False)
class Step:
    """One token more in every row.

    Attributes:
        index: Number of the token, from 0.
        token: What each row writes, `[batch]`; the padding of a row that had finished before.
        logits: What the choice was made from, `[batch, vocab]`.
        finished: Rows that have written the end, now or before, `[batch]`.
    """

    index: int
    token: Tensor
    logits: Tensor
    finished: Tensor


@dataclass(frozen=True, eq=False)
class Sieve:
    """A distribution on its way to a draw: what each filter leaves of it. Every tensor is `[…, vocab]`, in float64.

    Attributes:
        probs: What the model says: softmax of the logits.
        tempered: Softmax of the logits over the temperature.
        in_k: The tokens that top-k leaves.
        in_p: Those that top-p leaves of them.
        final: `tempered` over what is left, so that it sums to 1 again.
        order: Token ids from the likeliest down, the lowest of equals first.
    """

    probs: Tensor
    tempered: Tensor
    in_k: Tensor
    in_p: Tensor
    final: Tensor
    order: Tensor

    def pick(self, at: Tensor) -> Tensor:
        """Return the token on which a draw falls.

        The tokens lie side by side from 0 to 1, likeliest first, each as wide as its probability.

        Args:
            at: From 0 to below 1, `[…]`.
        """
        edges = self.final.gather(-1, self.order).cumsum(dim=-1)  # [..., vocab]
        found = (edges <= at[..., None]).sum(dim=-1, keepdim=True)
        # The edges may end a rounding below 1.
        last = self.in_p.sum(dim=-1, keepdim=True) - 1
        return self.order.gather(-1, torch.minimum(found, last))[..., 0]


@dataclass(frozen=True, eq=False)
class Draw(Step):
    """One token more in every row, drawn.

    Attributes:
        sieve: How the logits became the distribution that was drawn from.
        at: Where in it the draw fell, `[batch]`, 0 to below 1.
    """

    sieve: Sieve
    at: Tensor


@dataclass(frozen=True)
class Branch:
    """A token in the tree of a beam search.

    Attributes:
        number: Its place in the tree, counted from 0 as branches are found.
        parent: Number of the branch that it continues; None at the beginning.
        index: Number of the token in its sequence, from 0.
        token: Its id.
        log_prob: ln P of the token, given all before it.
        total: ln P of the whole sequence up to it: the sum over its path.
        score: `total` over the length penalty.
        fate: `kept`: it goes on, or did when the length was reached; `ended`: it is complete; `pruned`: others of its
            step were better.
    """

    number: int
    parent: int | None
    index: int
    token: int
    log_prob: float
    total: float
    score: float
    fate: Fate


@dataclass(frozen=True, eq=False)
class Growth:
    """One step of a beam search.

    Attributes:
        index: Number of the token, from 0.
        branches: The `width` likeliest continuations of each sequence that was kept, the best of a sequence first.
        logits: What they were chosen from, `[kept, vocab]`.
        kept: Numbers of the branches that go on, best first: the rows of the next step, and of the cache.
    """

    index: int
    branches: tuple[Branch, ...]
    logits: Tensor
    kept: tuple[int, ...]


def greedy(
    model: Transformer,
    src: Tensor,
    *,
    bos_id: int = 1,
    eos_id: int = 2,
    max_len: int | None = None,
    forced: Mapping[int, int] | None = None,
) -> Iterator[Step]:
    """Write the likeliest token, the lowest id of equals, again and again.

    What was read is kept in a cache; a decoder without a causal mask reads everything again for every token.

    Args:
        model: With a decoder. Its mode does not matter, and is left as it was.
        src: The source, `[batch, pos]`; of a decoder alone, the beginning that it continues, padded on either side.
        bos_id: What a decoder beside an encoder reads first.
        eos_id: What ends a row.
        max_len: Most tokens that a row writes; what the model can hold if None.
        forced: Tokens to write whatever the logits say, by their number from 0.

    Yields:
        A step, until every row has ended or `max_len` is reached.

    Raises:
        ValueError: If the model has no decoder, or `max_len` is not 1 or more.
    """
    text = _Text(model, src, bos_id=bos_id, eos_id=eos_id, max_len=max_len, forced=forced)
    for index in range(text.room):
        logits = text.read()
        yield Step(index, text.write(index, logits.argmax(dim=-1)), logits, text.finished)
        if text.is_over:
            return


def sampled(
    model: Transformer,
    src: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    bos_id: int = 1,
    eos_id: int = 2,
    max_len: int | None = None,
    forced: Mapping[int, int] | None = None,
) -> Iterator[Draw]:
    """Draw each token from what temperature, top-k and top-p leave of the model's distribution.

    One number a row is drawn at every step, also where the row has ended or the token is forced: so the draws that
    follow stay the same.

    Args:
        model: As for `greedy`.
        src: As for `greedy`.
        temperature: As for `sift`.
        top_k: As for `sift`.
        top_p: As for `sift`.
        generator: Where the draws come from; torch's global generator if None.
        bos_id: As for `greedy`.
        eos_id: As for `greedy`.
        max_len: As for `greedy`.
        forced: As for `greedy`.

    Yields:
        A step, until every row has ended or `max_len` is reached.

    Raises:
        ValueError: As `greedy` and `sift` do.
    """
    text = _Text(model, src, bos_id=bos_id, eos_id=eos_id, max_len=max_len, forced=forced)
    device = generator.device if generator is not None else torch.device("cpu")
    for index in range(text.room):
        logits = text.read()
        sieve = sift(logits, temperature=temperature, top_k=top_k, top_p=top_p)
        at = torch.rand(len(src), dtype=torch.float64, generator=generator, device=device).to(logits.device)
        yield Draw(index, text.write(index, sieve.pick(at)), logits, text.finished, sieve, at)
        if text.is_over:
            return


def sift(logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0) -> Sieve:
    """Return what temperature, top-k and top-p, in this order, leave of a distribution.

    Args:
        logits: `[…, vocab]`.
        temperature: What logits are divided by; 0 leaves the likeliest token alone, the lowest id of equals.
        top_k: How many tokens are left, the lowest ids of equals; all if None or more than there are.
        top_p: The likeliest tokens are left until together they reach this share of what top-k left: always one, and
            all at 1.

    Raises:
        ValueError: If a number is out of range, or a logit is NaN or +∞.

    Source: Fan, Lewis and Dauphin 2018 (top-k); Holtzman et al. 2020 (top-p, section 3.1).
    """
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"a temperature is 0 or more, but got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is 1 or more, but got {top_k}")
    if not 0 <= top_p <= 1:
        raise ValueError(f"top_p is from 0 to 1, but got {top_p}")
    scores = logits.double()
    if not bool((scores < math.inf).all()):
        raise ValueError("a logit is NaN or infinite, so there is nothing to choose by")
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    size = scores.shape[-1]
    if temperature == 0:
        tempered = torch.zeros_like(scores).scatter_(-1, order[..., :1], 1.0)
    else:
        # The largest becomes 0 first: a tiny temperature would make it infinite.
        tempered = ((scores - scores.gather(-1, order[..., :1])) / temperature).softmax(dim=-1)
    falling = tempered.gather(-1, order)
    stays_k = (torch.arange(size, device=scores.device) < (size if top_k is None else top_k)).expand_as(falling)
    left = falling * stays_k
    left = left / left.sum(dim=-1, keepdim=True)
    before = left.cumsum(dim=-1) - left
    stays_p = stays_k if top_p == 1 else stays_k & (before < top_p)
    stays_p = stays_p.index_fill(-1, torch.tensor(0, device=scores.device), True)
    left = left * stays_p

    def back(values: Tensor) -> Tensor:
        return torch.empty_like(values).scatter_(-1, order, values)

    return Sieve(
        probs=scores.softmax(dim=-1),
        tempered=tempered,
        in_k=back(stays_k),
        in_p=back(stays_p),
        final=back(left / left.sum(dim=-1, keepdim=True)),
        order=order,
    )


def beam(
    model: Transformer,
    src: Tensor,
    *,
    width: int = 4,
    penalty: float = 0.6,
    bos_id: int = 1,
    eos_id: int = 2,
    max_len: int | None = None,
    forced: Mapping[int, int] | None = None,
) -> Iterator[Growth]:
    """Follow the `width` likeliest sequences at once, and keep every branch with its score.

    Of all continuations of a step the likeliest stay, the lowest row and id of equals. One that ends is complete and
    keeps its place, so the beam becomes narrower, until all places are taken by complete sequences or `max_len` is
    reached. With a width of 1 it is `greedy`.

    Args:
        model: As for `greedy`.
        src: One source, `[1, pos]`; of a decoder alone, the beginning that it continues.
        width: How many sequences are followed.
        penalty: Exponent of `length_penalty`; the paper's 0.6 unless said otherwise.
        bos_id: As for `greedy`.
        eos_id: As for `greedy`.
        max_len: As for `greedy`.
        forced: As for `greedy`.

    Yields:
        A step. `winner` says which of all branches won.

    Raises:
        ValueError: If the model has no decoder, there is not one source, or a number is out of range.

    Source: Sutskever, Vinyals and Le 2014, section 3.2; Vaswani et al. 2017, section 6.1 (width 4, penalty 0.6).
    """
    if width < 1:
        raise ValueError(f"a beam's width is 1 or more, but got {width}")
    if len(src) != 1:
        raise ValueError(f"a beam grows from one source, but got {len(src)}")
    if not math.isfinite(penalty):
        raise ValueError(f"a penalty is a finite number, but got {penalty}")
    text = _Text(model, src, bos_id=bos_id, eos_id=eos_id, max_len=max_len, forced=forced)
    rows: list[Branch | None] = [None]
    places, count = width, 0
    for index in range(text.room):
        logits = text.read()  # [row, vocab]
        log_probs = logits.double().log_softmax(dim=-1)
        totals = log_probs + log_probs.new_tensor([0.0 if row is None else row.total for row in rows])[:, None]
        if index in text.forced:
            only = torch.full_like(totals, -math.inf)
            only[:, text.forced[index]] = totals[:, text.forced[index]]
            totals = only
        found = _continued(rows, log_probs, totals, width, penalty, index, count)
        count += len(found)
        ranked = sorted(found, key=lambda branch: -branch.total)[:places]
        fates: dict[int, Fate] = {each.number: "ended" if each.token == eos_id else "kept" for each in ranked}
        branches = tuple(replace(each, fate=fates.get(each.number, "pruned")) for each in found)
        by_number = {branch.number: branch for branch in branches}
        on = [by_number[each.number] for each in ranked if fates[each.number] == "kept"]
        places -= len(ranked) - len(on)
        yield Growth(index, branches, logits, tuple(branch.number for branch in on))
        if not on or not places:
            return
        where = {None if row is None else row.number: i for i, row in enumerate(rows)}
        text.follow([where[branch.parent] for branch in on], [branch.token for branch in on])
        rows = list(on)


def length_penalty(length: int, penalty: float) -> float:
    """Return what a sequence's log-probability is divided by: ((5 + length) / 6) ** penalty.

    Source: Wu et al. 2016, equation 14.
    """
    return float(((5 + length) / 6) ** penalty)


def winner(growths: Sequence[Growth]) -> tuple[Branch, ...]:
    """Return the path to the branch with the best score, the shortest of equals, from the first token on.

    A sequence that was cut off at the greatest length counts as it stands.
    """
    branches = {branch.number: branch for growth in growths for branch in growth.branches}
    cut = set(growths[-1].kept)
    closed = [branch for branch in branches.values() if branch.fate == "ended" or branch.number in cut]
    return path(branches, max(closed, key=lambda branch: branch.score))


def path(branches: Mapping[int, Branch], branch: Branch) -> tuple[Branch, ...]:
    """Return the branches that lead to one, the first token first, by their numbers."""
    found = [branch]
    while found[-1].parent is not None:
        found.append(branches[found[-1].parent])
    return tuple(reversed(found))


def _continued(
    rows: Sequence[Branch | None],
    log_probs: Tensor,
    totals: Tensor,
    width: int,
    penalty: float,
    index: int,
    count: int,
) -> list[Branch]:
    """Return the `width` likeliest continuations of each row, numbered from `count`; none that is impossible."""
    found: list[Branch] = []
    best = totals.sort(dim=-1, descending=True, stable=True).indices[:, :width].tolist()  # [row, width]
    for row, (parent, tokens) in enumerate(zip(rows, best, strict=True)):
        for token in tokens:
            total = float(totals[row, token])
            if total == -math.inf:
                continue
            found.append(
                Branch(
                    number=count + len(found),
                    parent=None if parent is None else parent.number,
                    index=index,
                    token=token,
                    log_prob=float(log_probs[row, token]),
                    total=total,
                    score=total / length_penalty(index + 1, penalty),
                    fate="pruned",
                )
            )
    return found


class _Text:
    """What is written: the rows so far, and what the model keeps of them.

    Attributes:
        room: How many tokens may be written.
        forced: Tokens that are written whatever the logits say, by their number.
        finished: Rows that have ended, `[batch]`.
    """

    def __init__(
        self,
        model: Transformer,
        src: Tensor,
        *,
        bos_id: int,
        eos_id: int,
        max_len: int | None,
        forced: Mapping[int, int] | None,
    ) -> None:
        config = model.config
        if config.architecture == "encoder-only":
            raise ValueError("a model that is encoder-only writes nothing: decoding needs a decoder")
        if max_len is not None and max_len < 1:
            raise ValueError(f"max_len is 1 or more, but got {max_len}")
        self.forced = dict(forced or {})
        for token in self.forced.values():
            if not 0 <= token < config.vocab_size:
                raise ValueError(f"a forced token is 0 to {config.vocab_size - 1}, but got {token}")
        self._model = model
        self._eos_id = eos_id
        self._stepper: Stepper | None = None
        self.finished = torch.zeros(len(src), dtype=torch.bool, device=src.device)
        self._memory = self._src_mask = None
        if config.architecture == "encoder-decoder":
            with inspecting(model):
                self._memory = model.encode(src)
            self._src_mask = padding_mask(src, config.pad_id)
            self._given = torch.full_like(src[:, :1], bos_id)  # [batch, 1]
            room = config.max_len
        else:
            self._given = src
            room = config.max_len + 1 - int((src != config.pad_id).sum(dim=1).max())
        self.room = max(room if max_len is None else min(max_len, room), 1)
        self._cache: KVCache | None = None
        if config.causal:
            places = self._given.shape[1] + self.room
            dtype = model.embedding.dtype
            self._cache = KVCache.empty(config, len(src), room=places, device=src.device, dtype=dtype)
        # The last real token of each row says what follows.
        order = torch.arange(1, self._given.shape[1] + 1, device=src.device) * (self._given != config.pad_id)
        self._last = order.argmax(dim=1)  # [batch]

    @property
    def is_over(self) -> bool:
        """Whether every row has ended."""
        return bool(self.finished.all())

    def read(self) -> Tensor:
        """Return the logits of what follows, `[batch, vocab]`."""
        if self._stepper is not None and self._stepper.reads(self._given):
            return self._stepper(self._given)[:, 0]
        with inspecting(self._model):
            logits = self._model.decode(self._given, self._memory, self._src_mask, cache=self._cache)
        if self._cache is not None and not self._model.config.window:
            self._stepper = Stepper(self._model, self._cache, self._src_mask)
        return logits[torch.arange(len(logits), device=logits.device), self._last]

    def write(self, index: int, chosen: Tensor) -> Tensor:
        """Write token number `index` in every row that has not ended, and return what was written, `[batch]`."""
        if index in self.forced:
            chosen = torch.full_like(chosen, self.forced[index])
        token = chosen.masked_fill(self.finished, self._model.config.pad_id)
        self.finished = self.finished | (token == self._eos_id)
        self._append(token)
        return token

    def follow(self, rows: list[int], tokens: list[int]) -> None:
        """Go on with these rows, in this order, each with a token more."""
        taken = torch.tensor(rows, device=self._given.device)
        if self._cache is not None:
            self._cache.reorder(taken)
        else:
            self._given = self._given[taken]
        self.finished = self.finished[taken]
        if self._memory is not None and self._src_mask is not None:
            self._memory, self._src_mask = self._memory[taken], self._src_mask[taken]
            self._stepper = None
        self._append(torch.tensor(tokens, device=taken.device))

    def _append(self, token: Tensor) -> None:
        new = token[:, None]
        self._given = new if self._cache is not None else torch.cat([self._given, new], dim=1)
        self._last = torch.full_like(token, self._given.shape[1] - 1)
