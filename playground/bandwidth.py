"""What one word costs on this machine: bytes that are read and operations, against what the machine can do at most."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from statistics import median

import torch

from models import CrossAttention, ModelConfig, Transformer
from playground.caching import SEED, SHAPES, cache_bytes, growth, shape_of, timed
from playground.calculator import Cost, Hardware
from playground.operations import step
from playground.runs import Run
from playground.subject import Subject

LARGE = 2**24  # numbers of a tensor that no cache of a processor holds: 64 MiB
SQUARE = 384  # rows of the matrices that are multiplied
TRIES = 4
LENGTH = 128  # words that a text of the larger models has


@dataclass(frozen=True)
class Speed:
    """How fast a model writes here, beside the bound.

    Attributes:
        name: `subject`, or a key of `playground.caching.SHAPES`.
        parameters: Of the model.
        cost: Bytes and operations of a word; bytes are those of the real tensors of weights and cache.
        measured: Words a second.
    """

    name: str
    parameters: int
    cost: Cost
    measured: float


@cache
def machine() -> Hardware:
    """Measure how fast this machine multiplies matrices and reads memory, in this process. Bytes of memory: unknown."""
    a = torch.rand(SQUARE, SQUARE, generator=torch.Generator().manual_seed(SEED))
    large = torch.ones(LARGE)
    multiply = 2 * SQUARE**3 / _shortest(lambda: a @ a)
    read = large.numel() * large.element_size() / _shortest(large.sum)
    return Hardware(flops=multiply, bandwidth=read, memory=0.0, source="")


def speeds(subject: Subject) -> tuple[Speed, ...]:
    """Return how fast the subject's model writes its text, and how fast larger untrained ones write a longer text."""
    run = subject.run
    return _speeds(run.path, run.is_recording, subject.step, subject.src)


@lru_cache(maxsize=8)
def _speeds(path: Path, is_recording: bool, step_: int, src: tuple[str, ...]) -> tuple[Speed, ...]:
    run = Run.load(path, is_recording=is_recording)
    subject = Subject(run, step_, run.config.data.join(src))
    moments = growth(subject).moments
    later = moments[1:] or moments
    own = cost_of(subject.model, len(subject.reading.tgt), len(subject.reading.src))
    found = [Speed("subject", run.config.model.n_parameters, own, 1 / median(each.seconds_cached for each in later))]
    for name in SHAPES:
        config = shape_of(subject, name)
        seconds = next(each.cached for each in timed(config) if each.length == LENGTH)
        model = Transformer(replace(config, dropout=0.0), torch.Generator().manual_seed(SEED))
        found.append(Speed(name, config.n_parameters, cost_of(model, LENGTH), 1 / seconds))
    return tuple(found)


def cost_of(model: Transformer, n_read: int, n_memory: int = 0) -> Cost:
    """Return what one more word takes, the bytes being those of the tensors that are read.

    Args:
        model: With a decoder.
        n_read: Words that have been read, the new one among them.
        n_memory: Positions of the memory, in a decoder beside an encoder.
    """
    config = model.config
    assert model.decoder is not None
    matrix = model.embedding if model.unembedding is None else model.unembedding
    weights = sum(each.numel() * each.element_size() for each in (*model.decoder.parameters(), matrix))
    # The memory's keys and values are made once: their matrices are not read again.
    for part in model.decoder.modules():
        if isinstance(part, CrossAttention):
            made = part.W_QKV[:, part.widths[0] :]
            weights -= made.numel() * made.element_size()
    weights -= _idle(config) * model.embedding.element_size()
    held = cache_bytes(config, n_read + n_memory, number=model.embedding.element_size())
    return Cost(weights, held, 2.0 * step(config, n_read, is_cached=True, n_memory=n_memory).total, tokens=1)


def _idle(config: ModelConfig) -> int:
    """Return the decoder's parameters of experts that no word of one text goes to."""
    stacks = 2 if config.architecture == "encoder-decoder" else 1
    return (config.n_parameters - config.n_parameters_active) // stacks


def _shortest(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(TRIES):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
