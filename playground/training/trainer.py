"""The training loop: a step is a batch, a backward pass, an update. It knows nothing of processes, pages or files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models import Transformer, accuracy, label_smoothed_loss, learning_rate
from playground.parts import grouped
from playground.probes import probes
from playground.recipe import Change, RunConfig, RunRefused, altered
from playground.runs import Run
from playground.state import State
from playground.tasks import Batch, Task
from playground.training.watching import Peek, Sample, exact_matches, peek, samples

Ids = npt.NDArray[np.int64]

POOL = 16  # batches whose sentences are sorted by length together
# Steps between two closer looks: at first, while much changes, and from step `SOON` on.
CLOSER_EVERY, SOON, LATER_EVERY = 20, 100, 50
HELD_OUT = 64  # held-out sentences whose loss is measured


def looks_closely(step: int) -> bool:
    """Say whether more of a step is measured than of others, which costs as much as one or two steps."""
    return step == 1 or step % (CLOSER_EVERY if step <= SOON else LATER_EVERY) == 0


@dataclass(frozen=True)
class Closer:
    """What a closer look at a step measured, a number a part of the model (`playground.parts`).

    Attributes:
        grads: Root of the sum of the squared gradients.
        updates: Length of the update against that of the weights before it, ‖Δw‖ / ‖w‖.
    """

    grads: tuple[float, ...]
    updates: tuple[float, ...]


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
        closer: What a closer look measured, at the first step, every 20th up to 100, every 50th then; else None.
        gradients: Of each of `playground.probes`.
    """

    step: int
    loss: float
    accuracy: float
    learning_rate: float
    grad_norm: float
    tokens: int
    seconds: float
    closer: Closer | None = None
    gradients: tuple[float, ...] = ()

    @property
    def row(self) -> tuple[float, ...]:
        """The numbers in the order of `playground.runs.COLUMNS`."""
        return (
            self.step,
            self.loss,
            self.accuracy,
            self.learning_rate,
            self.grad_norm,
            self.tokens,
            self.seconds,
        )


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
    """A model in training, from its first weights on, or from a state that another trainer was in.

    First weights, order of sentences and dropout have a random generator each, seeded from the recipe and used by
    nothing else: on a CPU a seed gives the same run bit by bit, whatever else the process does.

    Args:
        config: Task, model and recipe.
        state: Where to go on from; the first weights if None.

    Raises:
        RunRefused: If the state is not one of such a model on such a device.

    Attributes:
        config: With the changes made on the way.
        model: The model being trained, on the recipe's device.
        step: Updates made.
        seconds: Time spent in steps.
        is_exact: Whether the steps until now are those that the configuration gives, bit by bit.

    Source: Vaswani et al. 2017, section 5.
    """

    def __init__(self, config: RunConfig, state: State | None = None) -> None:
        recipe = config.recipe
        order, first, dropout = np.random.SeedSequence(recipe.seed).spawn(3)
        self.config = config
        self.task = config.data
        self.step = 0
        self.seconds = 0.0
        self.is_exact = True
        self._diverged = False
        self._device = torch.device(recipe.device)
        self.model = Transformer(config.model, generator=_generator(first, torch.device("cpu"))).to(self._device)
        self._dropout = _generator(dropout, self._device)
        self.model.dropout.generator = self._dropout
        self._order = Order(self.task, np.random.default_rng(order))
        self._names = [name for name, _ in self.model.named_parameters()]
        self._parameters = [*self.model.parameters()]
        by_name = dict(self.model.named_parameters())
        chosen = probes({name: tuple(each.shape) for name, each in by_name.items()})
        self._probes = [(by_name[each.name], each.place) for each in chosen]
        self._optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=0.0,  # set before each step
            betas=(recipe.beta1, recipe.beta2),
            eps=recipe.eps,
            fused=self._device.type in ("cpu", "cuda"),
        )
        if state:
            self._take_up(state)
        self._settle()

    @classmethod
    def replayed(cls, config: RunConfig, step: int, *, between: Callable[[int], None] = lambda step: None) -> Self:
        """Return a trainer that has made all steps up to `step` again: those before a fork as they were made then.

        Args:
            config: Task, model and recipe.
            step: Where to go on from.
            between: Called after each step with its number; may raise, to break it off.

        Raises:
            RunRefused: If a step diverged, or what the run was forked from does not fit it.
        """
        past = config.origin
        if past and past.step:
            before = cls.replayed(past.config, min(step, past.step), between=between)
            trainer = cls(config, before.state())
        else:
            trainer = cls(config)
        while trainer.step < step:
            if isinstance(trainer.advance(), Diverged):
                raise RunRefused("training.refused.no_step", step=step)
            between(trainer.step)
        return trainer

    @classmethod
    def restored(cls, run: Run, step: int, *, between: Callable[[int], None] = lambda step: None) -> Self:
        """Return a trainer that goes on from a recorded step of a run.

        If the run kept its state there, that is read. If it did not, all steps until then are made again from the seed,
        and the weights compared to the recorded ones. Should they differ, because the arithmetic of this machine rounds
        in another way, the recorded ones are taken, and `is_exact` is False.

        Args:
            run: Whose configuration the trainer gets.
            step: A recorded step of it.
            between: As in `replayed`.

        Raises:
            RunRefused: If the step is not recorded, or its files are damaged.
        """
        if step in run.state_steps:
            return cls._exactly(run, run.state(step))
        weights = run.weights(step)
        trainer = cls.replayed(run.config, step, between=between)
        state = trainer.state()
        if not all(torch.equal(state.weights[name], weights[name]) for name in weights):
            trainer = cls(run.config, replace(state, weights=weights))
            trainer.is_exact = False
        trainer.is_exact = trainer.is_exact and run.is_exact
        return trainer

    @classmethod
    def continued(cls, run: Run, *, between: Callable[[int], None] = lambda step: None) -> Self:
        """Return a trainer that goes on where a run was broken off: at the last step that is on the disk.

        Raises:
            RunRefused: As `restored`.
        """
        if state := run.furthest():
            return cls._exactly(run, state)
        return cls.restored(run, run.steps[-1], between=between) if run.steps else cls(run.config)

    @classmethod
    def _exactly(cls, run: Run, state: State) -> Self:
        trainer = cls(run.config, state)
        trainer.is_exact = run.is_exact
        return trainer

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
        step = self.step + 1
        if step in self._turns:
            self._settle()
        recipe = self._now.recipe
        rate = learning_rate(
            step,
            schedule=recipe.schedule,
            d_model=self.config.model.d_model,
            warmup=recipe.warmup,
            factor=recipe.factor,
            steps=recipe.steps,
        )
        batch = self._order.batch(recipe.batch_size)
        tgt_out = torch.from_numpy(batch.tgt_out).to(self._device)  # [batch, pos]

        if not self.model.training:
            self.model.train()
        logits = self.model(*(torch.from_numpy(ids).to(self._device) for ids in batch.read))  # [batch, pos, vocab]
        loss = label_smoothed_loss(logits, tgt_out, self.config.model.pad_id, recipe.label_smoothing)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        grads = [each.grad for each in self._parameters if each.grad is not None]
        grad_norm = torch.nn.utils.get_total_norm(grads).item()
        nats = loss.item()
        if not (math.isfinite(nats) and math.isfinite(grad_norm)):
            self._diverged = True
            return Diverged(step, rate, nats, grad_norm)

        for group in self._optimizer.param_groups:
            group["lr"] = rate
        probed = self._probed()
        closer = self._closely() if looks_closely(step) else None
        if closer is None:
            self._optimizer.step()
        with torch.no_grad():
            right = float(accuracy(logits, tgt_out, self.config.model.pad_id))
            tokens = int((tgt_out != self.config.model.pad_id).sum())
        self.step = step
        self.seconds += time.perf_counter() - start
        return Report(step, nats, right, rate, grad_norm, tokens, self.seconds, closer, probed)

    def change(self, name: str, value: float) -> None:
        """Let a setting have another value from the next step on. It becomes part of the configuration.

        Args:
            name: A key of `playground.recipe.CHANGEABLE`.
            value: From the next step on.

        Raises:
            RunRefused: If there is no such setting, the value is outside its limits, or there are too many changes.
        """
        self.config = altered(self.config, Change(self.step + 1, name, value))
        self._settle()

    def state(self) -> State:
        """Return a copy of all that the coming steps depend on, on the CPU."""
        parameters = dict(self.model.named_parameters())
        slots = [self._optimizer.state.get(each, {}) for each in parameters.values()]

        def moment(kind: str) -> dict[str, Tensor]:
            return {
                name: slot.get(kind, torch.zeros_like(each)).detach().to("cpu", copy=True)
                for (name, each), slot in zip(parameters.items(), slots, strict=True)
            }

        counts = torch.tensor([int(slot["step"]) if slot else 0 for slot in slots])
        dropout = self._dropout.get_state().clone()
        mean, square = moment("exp_avg"), moment("exp_avg_sq")
        return State(self.step, self.state_dict(), mean, square, counts, dropout, self.seconds)

    def _take_up(self, state: State) -> None:
        """Be where another trainer was.

        Raises:
            RunRefused: If its model was another, or its device.
        """
        try:
            self.model.load_state_dict(dict(state.weights))
            self._dropout.set_state(state.dropout)
        except (RuntimeError, TypeError) as error:
            raise RunRefused("training.refused.state", file="state") from error
        parameters = dict(self.model.named_parameters())
        for name, count in zip(state.mean, state.counts.tolist(), strict=True):
            if count:
                like = parameters[name]
                self._optimizer.state[like] = {
                    "step": torch.tensor(float(count), device=like.device if self._on_device else None),
                    "exp_avg": state.mean[name].to(like, copy=True),
                    "exp_avg_sq": state.square[name].to(like, copy=True),
                }
        self.step, self.seconds = state.step, state.seconds
        for turn, following in pairwise((*self.config.turns, state.step + 1)):
            self._order.skip(self.config.at(turn).recipe.batch_size, min(following, state.step + 1) - turn)

    @property
    def _on_device(self) -> bool:
        """Whether Adam keeps its count of steps on the device: it does where all of an update is one kernel."""
        return bool(self._optimizer.defaults["fused"])

    def _settle(self) -> None:
        """Take the settings that the next step is made with."""
        self._turns = frozenset(self.config.turns)
        self._now = self.config.at(self.step + 1)
        self.model.dropout.share = self._now.model.dropout

    def _probed(self) -> tuple[float, ...]:
        """Return the gradients of the probes, 0 where a weight had no part in the batch."""
        found = [each.new_zeros(()) if each.grad is None else each.grad[place] for each, place in self._probes]
        return tuple(torch.stack(found).tolist())

    def _closely(self) -> Closer:
        """Update the weights, and measure the gradients and the updates of each part."""
        parameters = [each.detach() for each in self._parameters]
        before = [each.clone() for each in parameters]
        grads = [torch.zeros_like(each) if each.grad is None else each.grad for each in self._parameters]
        self._optimizer.step()
        moved = torch._foreach_sub(parameters, before)
        lengths = [torch.stack(torch._foreach_norm(each)).cpu() for each in (grads, moved, before)]  # 3 × [parameter]
        places = grouped(self.config.model, self._names).values()
        grad, update, weight = ([float(each[list(place)].norm()) for place in places] for each in lengths)
        return Closer(
            tuple(grad), tuple(one / other if other else 0.0 for one, other in zip(update, weight, strict=True))
        )

    def held_out_loss(self, n: int = HELD_OUT) -> float:
        """Return the loss of the first `n` held-out sentences, in nats per real token: smoothed as now, no dropout."""
        batch = held_out(self.task, n)
        with watching(self.model):
            logits = self.model(*(torch.from_numpy(ids).to(self._device) for ids in batch.read))
            wanted = torch.from_numpy(batch.tgt_out).to(self._device)
            smoothing = self._now.recipe.label_smoothing
            return label_smoothed_loss(logits, wanted, self.config.model.pad_id, smoothing).item()

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


@lru_cache(maxsize=32)
def held_out(task: Task, n: int) -> Batch:
    """Return the first held-out sentences of a task as ids; read them only."""
    return task.encode(task.heldout[:n])


class Order:
    """The order in which sentences are learnt: all of them in a random order, then again in another, for ever.

    Sentences of about the same length come together, so that little of a batch is padding: of each `POOL` batches in a
    row the sentences are sorted by length, cut into batches, and these shuffled.

    Args:
        task: Whose training sentences they are.
        rng: Where chance comes from; used by nothing else.

    Source: Vaswani et al. 2017, section 5.1.
    """

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        self._sentences = sentences(task)
        src, tgt_in, _ = self._sentences
        self._lengths = (src != 0).sum(axis=1) + (tgt_in != 0).sum(axis=1)  # [sentence]
        self._rng = rng
        self._waiting: Ids = np.empty(0, dtype=np.int64)
        self._pool: list[Ids] = []
        self._size = 0

    def batch(self, size: int) -> Batch:
        """Return the next batch of `size` sentences, padded to its longest only."""
        chosen = self.draw(size)
        src, tgt_in, tgt_out = (each[chosen] for each in self._sentences)
        read = _cut(src), _cut(tgt_in)
        # As many places as logits: those of the decoder, or of an encoder alone.
        places = read[1].shape[1] or read[0].shape[1]
        return Batch(*read, np.ascontiguousarray(tgt_out[:, :places]))

    def draw(self, size: int) -> Ids:
        """Return which sentences come next. After a change of size, those of the pool that are left come first."""
        if size != self._size:
            self._waiting = np.concatenate([*self._pool, self._waiting])
            self._pool, self._size = [], size
        if not self._pool:
            while len(self._waiting) < POOL * size:
                self._waiting = np.concatenate([self._waiting, self._rng.permutation(len(self._lengths))])
            pool, self._waiting = self._waiting[: POOL * size], self._waiting[POOL * size :]
            by_length = pool[np.argsort(self._lengths[pool], kind="stable")]
            self._pool = list(self._rng.permutation(by_length.reshape(POOL, size)))
        return self._pool.pop(0)

    def skip(self, size: int, batches: int) -> None:
        """Go past so many batches of `size` sentences."""
        for _ in range(batches):
            self.draw(size)


def _cut(ids: Ids) -> Ids:
    """Return the rows without the columns in which all of them are padding."""
    longest = int((ids != 0).sum(axis=1).max())
    return np.ascontiguousarray(ids[:, :longest])
