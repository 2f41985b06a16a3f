"""The leak: what a decoder learns when it may look at the answer. Two tiny models, the same random letters, two masks.

There is nothing to learn in random letters, so an honest model stays at ln V. Without the causal mask each position may
look one place on, where its answer stands. Then its loss falls, and what it writes by itself is still worth nothing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from models import NO_TAP, ModelConfig, Tap, Transformer, inspecting
from playground.tasks import BOS

LETTERS = tuple("abcdefghij")
FIRST = 3  # id of the first letter, after padding, beginning and end
LENGTH = 8
STEPS = 130
BATCH = 64
RATE = 5e-3
SEED = 0
TESTED = 512  # sequences that neither model has seen
SHOWN = 3  # of those, written out

CHANCE = log(len(LETTERS))
# All answers but the last stand in what the model reads: only that one is left to guess.
LEAST = CHANCE / LENGTH


class Open(Tap):
    """Lets every query look everywhere: the mask of every layer is replaced as it passes."""

    watches = True

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Return `tensor`, or all True in the place of a mask."""
        return torch.ones_like(tensor) if name == "mask" else tensor


@dataclass(frozen=True, eq=False)
class Learnt:
    """What became of one model.

    Attributes:
        loss: Of each training step, nats a letter.
        along: Share of letters it gets right where it reads the answer along, as in training.
        alone: The same where it writes by itself, each letter from those that it wrote before.
        honest: Loss of predicting each letter from the right letters before it alone, nats.
        read, written: What it said of each sequence of `Leak.wanted`, along and alone.
    """

    loss: npt.NDArray[np.float64]
    along: float
    alone: float
    honest: float
    read: tuple[str, ...]
    written: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Leak:
    """Both models, and the first sequences that they were tested on."""

    masked: Learnt
    open: Learnt
    wanted: tuple[str, ...]


_LOCK = threading.Lock()
_MADE: dict[int, Leak] = {}


def leak() -> Leak:
    """Train both models: about two seconds once, then remembered, since nothing about them can be chosen.

    Whoever asks meanwhile waits for the first: two trainings never run beside each other.
    """
    with _LOCK:
        if SEED not in _MADE:
            _MADE[SEED] = train(SEED, STEPS)
        return _MADE[SEED]


def train(seed: int, steps: int) -> Leak:
    """Train both models from the same first weights on the same letters, and test them on others.

    Args:
        seed: Of weights and letters.
        steps: Updates of each.
    """
    unseen = _letters(torch.Generator().manual_seed(seed + 1_000_003), TESTED)
    masked, opened = (_learnt(tap, seed, steps, unseen) for tap in (NO_TAP, Open()))
    return Leak(masked, opened, _texts(unseen[:SHOWN]))


def config() -> ModelConfig:
    """Return the sizes of both models: a decoder alone, one layer."""
    return ModelConfig(
        vocab_size=FIRST + len(LETTERS),
        architecture="decoder-only",
        d_model=48,
        n_heads=2,
        d_ff=96,
        n_layers=1,
        max_len=LENGTH + 1,
        dropout=0.0,
    )


def _learnt(tap: Tap, seed: int, steps: int, unseen: Tensor) -> Learnt:
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(config(), generator=generator)
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    losses = []
    for _ in range(steps):
        letters = _letters(generator, BATCH)
        loss = _loss(model(_given(letters), tap=tap), letters)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        losses.append(float(loss.detach()))
    with inspecting(model):
        along = model(_given(unseen), tap=tap)[..., FIRST:].argmax(dim=-1) + FIRST
        honest = torch.stack([model(_given(unseen)[:, : n + 1], tap=tap)[:, -1] for n in range(LENGTH)], dim=1)
        alone = _written(model, tap, len(unseen))
    return Learnt(
        np.array(losses),
        float((along == unseen).float().mean()),
        float((alone == unseen).float().mean()),
        float(_loss(honest, unseen)),
        _texts(along[:SHOWN]),
        _texts(alone[:SHOWN]),
    )


def _written(model: Transformer, tap: Tap, n: int) -> Tensor:
    """Write letter by letter, the likeliest each time, from nothing but a beginning: `[n, LENGTH]`.

    Nothing is given and nothing is drawn, so every row is the same.
    """
    ids = torch.full((1, 1), BOS)
    for _ in range(LENGTH):
        following = model(ids, tap=tap)[:, -1, FIRST:].argmax(dim=-1) + FIRST
        ids = torch.cat([ids, following[:, None]], dim=1)
    return ids[:, 1:].expand(n, LENGTH)


def _letters(generator: torch.Generator, n: int) -> Tensor:
    return torch.randint(FIRST, FIRST + len(LETTERS), (n, LENGTH), generator=generator)


def _given(letters: Tensor) -> Tensor:
    """Return what the decoder reads: the beginning, then every letter but the last."""
    return F.pad(letters[:, :-1], (1, 0), value=BOS)


def _loss(logits: Tensor, letters: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), letters.flatten())


def _texts(ids: Tensor) -> tuple[str, ...]:
    return tuple("".join(LETTERS[i - FIRST] for i in row) for row in ids.tolist())
