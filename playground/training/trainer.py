"""The training loop: a step is a batch, a backward pass, an update. It knows nothing of processes, pages or files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models import Transformer, accuracy, label_smoothed_loss, noam_rate
from playground.recipe import RunConfig
from playground.tasks import Batch, Task
from playground.training.watching import Peek, Sample, exact_matches, peek, samples

Ids = npt.NDArray[np.int64]

POOL = 16  # batches whose sentences are sorted by length together


@dataclass(frozen=True)
class Report:
    """What one step measured, all of it on that step's batch and before its update.

    Attributes:
        step: Number of the update, from 1.
        loss: Label-smoothed, nats per real token.
        accuracy: Share of real tokens that were the likeliest, 0–1, dropout on.
        learning_rate: Rate of the update.
        grad_norm: Root of the sum of all squared gradients.
        tokens: Real target tokens in the batch.
        seconds: Time spent in steps so far.
    """

    step: int
    loss: float
    accuracy: float
    learning_rate: float
    grad_norm: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Diverged:
    """A step that was not made, because its loss or its gradients are not finite. The weights are those before it.

    Attributes:
        step: Number of the update that was not made.
        learning_rate: The rate that it would have had.
        loss: Nats per real token, perhaps not finite.
        grad_norm: Perhaps not finite.
    """

    step: int
    learning_rate: float
    loss: float
    grad_norm: float


class Trainer:
    """A model in training, from its first weights on.

    First weights, order of sentences and dropout have a random generator each, seeded from the recipe and used by
    nothing else: on a CPU a seed gives the same run bit by bit, whatever else the process does.

    Args:
        config: Task, model and recipe.

    Attributes:
        model: The model being trained, on the recipe's device.
        step: Updates made.
        seconds: Time spent in steps.

    Source: Vaswani et al. 2017, section 5.
    """

    def __init__(self, config: RunConfig) -> None:
        recipe = config.recipe
        order, first, dropout = np.random.SeedSequence(recipe.seed).spawn(3)
        self.config = config
        self.task = config.data
        self.step = 0
        self.seconds = 0.0
        self._diverged = False
        self._device = torch.device(recipe.device)
        self.model = Transformer(config.model, generator=_generator(first, torch.device("cpu"))).to(self._device)
        self.model.dropout.generator = _generator(dropout, self._device)
        self._batches = _batches(config.data, np.random.default_rng(order), recipe.batch_size)
        self._optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=0.0,  # set before each step
            betas=(recipe.beta1, recipe.beta2),
            eps=recipe.eps,
            fused=self._device.type in ("cpu", "cuda"),
        )

    def run(self) -> Iterator[Report | Diverged]:
        """Train from the present step to the recipe's last. Ends after a step that diverged."""
        while self.step < self.config.recipe.steps and not self._diverged:
            yield self.advance()

    def advance(self) -> Report | Diverged:
        """Make one step.

        A finite loss and finite gradients leave finite weights: Adam's update is never larger than a few learning
        rates, and those have limits. So looking before the update is enough to keep the last finite weights.
        """
        start = time.perf_counter()
        recipe = self.config.recipe
        step = self.step + 1
        rate = noam_rate(step, d_model=self.config.model.d_model, warmup=recipe.warmup, factor=recipe.factor)
        batch = next(self._batches)
        tgt_out = torch.from_numpy(batch.tgt_out).to(self._device)  # [batch, pos]

        self.model.train()
        logits = self.model(*(torch.from_numpy(ids).to(self._device) for ids in batch.read))  # [batch, pos, vocab]
        loss = label_smoothed_loss(logits, tgt_out, self.config.model.pad_id, recipe.label_smoothing)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        grads = [each.grad for each in self.model.parameters() if each.grad is not None]
        grad_norm = torch.nn.utils.get_total_norm(grads).item()
        nats = loss.item()
        if not (math.isfinite(nats) and math.isfinite(grad_norm)):
            self._diverged = True
            return Diverged(step, rate, nats, grad_norm)

        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
        with torch.no_grad():
            right = float(accuracy(logits, tgt_out, self.config.model.pad_id))
            tokens = int((tgt_out != self.config.model.pad_id).sum())
        self.step = step
        self.seconds += time.perf_counter() - start
        return Report(step, nats, right, rate, grad_norm, tokens, self.seconds)

    def state_dict(self) -> dict[str, Tensor]:
        """Return a copy of the weights, on the CPU, that later steps do not change."""
        return {name: each.detach().to("cpu", copy=True) for name, each in self.model.state_dict().items()}

    def evaluate(self, n: int = 500, *, between: Callable[[], None] = lambda: None) -> float:
        """Return the share of the first `n` held-out sentences that greedy decoding translates word for word, 0–1.

        Args:
            n: How many sentences, at most those there are.
            between: Called after each decoding step; may raise, to break it off.
        """
        with watching(self.model):
            right = exact_matches(self.model, self.task, self.task.heldout[:n], between=between)
        return sum(right) / len(right)

    def samples(self, n: int = 4, *, between: Callable[[], None] = lambda: None) -> tuple[Sample, ...]:
        """Return what the model makes of `n` held-out sentences, the same ones each time."""
        with watching(self.model):
            return samples(self.model, self.task, self.task.heldout[:n], between=between)

    def peek(self) -> Peek:
        """Return every attention map of the task's first example, at the present step."""
        with watching(self.model):
            return peek(self.model, self.task, self.step)


@contextmanager
def watching(model: Transformer) -> Iterator[None]:
    """Put a model in eval mode, without gradients, and back: no dropout is drawn, so watching changes no run."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


def available_devices() -> tuple[str, ...]:
    """Return the devices that training can run on here, `cpu` first."""
    found = ["cpu"]
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return tuple(found)


def _generator(seed: np.random.SeedSequence, device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(int(seed.generate_state(1, np.uint64)[0] >> 1))


@lru_cache(maxsize=32)
def sentences(task: Task) -> Batch:
    """Return all training sentences of a task as ids, padded to the longest: `[sentence, pos]`, read only."""
    encoded = task.encode(task.train)
    for each in encoded:
        each.flags.writeable = False
    return encoded


def _batches(task: Task, rng: np.random.Generator, size: int) -> Iterator[Batch]:
    """Give batches for ever: all training sentences in a random order, then again in another.

    Sentences of about the same length come together, so that little of a batch is padding: of each `POOL` batches in a
    row the sentences are sorted by length, cut into batches, and these shuffled.

    Yields:
        Batches padded to their longest sentence only.

    Source: Vaswani et al. 2017, section 5.1.
    """
    src, tgt_in, tgt_out = sentences(task)
    lengths = (src != 0).sum(axis=1) + (tgt_in != 0).sum(axis=1)  # [sentence]
    waiting = np.empty(0, dtype=np.int64)
    while True:
        while len(waiting) < POOL * size:
            waiting = np.concatenate([waiting, rng.permutation(len(src))])
        pool, waiting = waiting[: POOL * size], waiting[POOL * size :]
        by_length = pool[np.argsort(lengths[pool], kind="stable")]
        for chosen in rng.permutation(by_length.reshape(POOL, size)):
            read = _cut(src[chosen]), _cut(tgt_in[chosen])
            # As many places as logits: those of the decoder, or of an encoder alone.
            places = read[1].shape[1] or read[0].shape[1]
            yield Batch(*read, np.ascontiguousarray(tgt_out[chosen][:, :places]))


def _cut(ids: Ids) -> Ids:
    """Return the rows without the columns in which all of them are padding."""
    longest = int((ids != 0).sum(axis=1).max())
    return np.ascontiguousarray(ids[:, :longest])
