"""What a subject's decoder keeps while it writes, step by step, beside the same text written without keeping anything.

`growth(subject)` writes the subject's text twice: once with a cache, whose tensors are read, and once by reading all
words anew for each one. Nothing here is a formula but what is called one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models import Entries, KVCache, ModelConfig, Stepper, Transformer, inspecting, padding_mask
from playground.labelled import Axis, LabelledArray
from playground.operations import Operations, operations
from playground.runs import Run
from playground.subject import Subject

VIEWS = ("grow", "compare", "heads", "batch", "window", "calculator", "bandwidth")

FLOAT = 4  # bytes of a number of the models that are trained here
REPEATS = 4
SEED = 0


@dataclass(frozen=True)
class Moment:
    """One reading of the decoder: the beginning, or one word more.

    Attributes:
        read: Positions that are read, the first and the one after the last.
        held: Positions that self-attention holds afterwards, as `read`.
        bytes_own, bytes_cross: Read from the storage of the cache's tensors.
        formula_own, formula_cross: 2 · layers · kv_heads · d_head · positions · bytes a number.
        difference: The largest difference between a logit with the cache and without.
        cached, full: Multiply-adds with the cache and without.
        seconds_cached, seconds_full: The shortest of `REPEATS` measurements on this machine.
    """

    read: tuple[int, int]
    held: tuple[int, int]
    bytes_own: int
    bytes_cross: int
    formula_own: int
    formula_cross: int
    difference: float
    cached: Operations
    full: Operations
    seconds_cached: float
    seconds_full: float


@dataclass(frozen=True, eq=False)
class Growth:
    """A text written with a cache and without.

    Attributes:
        words: What the decoder reads, in order.
        writes: The likeliest word after each of them.
        source: What the encoder read; empty for a decoder alone.
        moments: The beginning first; then a word each.
        own: Keys and values of each layer's self-attention, each `[kv_head, key, d_head]`, of all words.
        cross: The same of its cross-attention, of the source; empty for a decoder alone.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...]
    source: tuple[str, ...]
    moments: tuple[Moment, ...]
    own: tuple[tuple[LabelledArray, LabelledArray], ...]
    cross: tuple[tuple[LabelledArray, LabelledArray], ...]


def cache_bytes(config: ModelConfig, positions: int, *, batch: int = 1, number: float = FLOAT) -> float:
    """Return 2 · layers · kv_heads · d_head · positions · batch · bytes a number."""
    return 2 * config.n_layers * config.n_kv_heads * config.d_head * positions * batch * number


def can_cache(config: ModelConfig) -> bool:
    """Say whether a model has what a cache is of: a decoder whose words don't change what stands before them."""
    return config.architecture != "encoder-only" and config.causal


def growth(subject: Subject) -> Growth:
    """Return a subject's text written with a cache and without; what was written last is kept, for all visitors."""
    run = subject.run
    return _growth(run.path, run.is_recording, subject.step, subject.src)


@lru_cache(maxsize=16)
def _growth(path: Path, is_recording: bool, step: int, src: tuple[str, ...]) -> Growth:
    run = Run.load(path, is_recording=is_recording)
    return grown(Subject(run, step, run.config.data.join(src)))


def grown(subject: Subject) -> Growth:
    """Write a subject's text with a cache and without, and measure both."""
    model, reading = subject.model, subject.reading
    config = model.config
    ids = [torch.tensor([row]) for row in reading.ids]
    tgt = ids[-1]
    alone = config.architecture == "decoder-only"
    # A decoder alone reads ⟨bos⟩ and what it is given at once; beside an encoder it begins with ⟨bos⟩.
    first = 1 + len(subject.src) if alone else 1
    ends = range(first, tgt.shape[1] + 1)
    memory = mask = None
    with inspecting(model):
        if not alone:
            memory, mask = model.encode(ids[0]), padding_mask(ids[0], config.pad_id)
        n_memory = 0 if memory is None else memory.shape[1]
        runs = [_written(model, tgt, memory, mask, ends) for _ in range(REPEATS)]
        everything = [_full(model, tgt[:, :end], memory, mask) for end in ends]
        everything_again = [_full(model, tgt[:, :end], memory, mask) for end in ends]
    moments = []
    for index, end in enumerate(ends):
        made = runs[0][index]
        full, seconds = everything[index]
        start = 0 if index == 0 else end - 1
        n_new = n_memory if index == 0 else 0
        held = end - made.n_held, end
        moments.append(
            Moment(
                read=(start, end),
                held=held,
                bytes_own=made.bytes_own,
                bytes_cross=made.bytes_cross,
                formula_own=int(cache_bytes(config, made.n_held)),
                formula_cross=int(cache_bytes(config, n_memory)),
                difference=float((made.logits - full).abs().max()),
                cached=operations(config, end - start, end, n_memory=n_memory, n_new=n_new),
                full=operations(config, end, end, n_memory=n_memory, n_new=n_memory),
                seconds_cached=min(run[index].seconds for run in runs),
                seconds_full=min(seconds, everything_again[index][1]),
            )
        )
    words = reading.tgt
    last = runs[0][-1].cache
    own = tuple(_own(subject, layer.own, i) for i, layer in enumerate(last.layers))
    cross = tuple(
        _pair(f"decoder.{i}.cross_attn", layer.cross.k, layer.cross.v, reading.src)
        for i, layer in enumerate(last.layers)
        if layer.cross is not None
    )
    return Growth(words, reading.predicted, reading.src, tuple(moments), own, cross)


@dataclass(frozen=True, eq=False)
class _Step:
    logits: Tensor
    seconds: float
    n_held: int
    bytes_own: int
    bytes_cross: int
    cache: KVCache


def _written(
    model: Transformer, tgt: Tensor, memory: Tensor | None, mask: Tensor | None, ends: Sequence[int]
) -> list[_Step]:
    """Read a text with a cache, in pieces that end at `ends`."""
    cache = KVCache.empty(model.config, 1)
    steps: list[_Step] = []
    start = 0
    for end in ends:
        piece = tgt[:, start:end]
        began = time.perf_counter()
        logits = model.decode(piece, memory, mask, cache=cache)
        seconds = time.perf_counter() - began
        steps.append(_Step(logits[0, -1], seconds, len(cache), cache.n_bytes_own(), cache.n_bytes_cross(), cache))
        start = end
    return steps


def _full(model: Transformer, tgt: Tensor, memory: Tensor | None, mask: Tensor | None) -> tuple[Tensor, float]:
    began = time.perf_counter()
    logits = model.decode(tgt, memory, mask)
    return logits[0, -1], time.perf_counter() - began


def _own(subject: Subject, entries: Entries, layer: int) -> tuple[LabelledArray, LabelledArray]:
    """Return what a layer's self-attention held: from the cache, or from the pass where a window let go of some."""
    name, words = f"decoder.{layer}.self_attn", subject.reading.tgt
    if len(entries) == len(words):
        return _pair(name, entries.k, entries.v, words)
    return subject.reading[f"{name}.k"], subject.reading[f"{name}.v"]


def _pair(name: str, k: Tensor, v: Tensor, words: tuple[str, ...]) -> tuple[LabelledArray, LabelledArray]:
    def labelled(last: str, tensor: Tensor) -> LabelledArray:
        axes = (
            Axis("kv_head", tuple(map(str, range(tensor.shape[1])))),
            Axis("key", words),
            Axis("d_head", tuple(map(str, range(tensor.shape[3])))),
        )
        return LabelledArray(f"{name}.{last}", tensor[0].cpu().numpy(), axes)

    return labelled("k", k), labelled("v", v)


# --- Fewer heads of keys and values ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shared:
    """The cache of one model that shares its keys and values in blocks of heads.

    Attributes:
        n_kv_heads: Heads of keys and values.
        readers: For each head of queries, the head of keys and values that it reads.
        n_bytes: Of the whole cache once the text is read, from the storage of its tensors.
        formula: The same by the formula.
        n_parameters: Of the model.
        own: Keys and values of each layer's self-attention.
        is_subject: Whether this is the subject itself; the others are untrained, drawn from a seed.
    """

    n_kv_heads: int
    readers: tuple[int, ...]
    n_bytes: int
    formula: int
    n_parameters: int
    own: tuple[tuple[LabelledArray, LabelledArray], ...]
    is_subject: bool


def kv_choices(config: ModelConfig) -> tuple[int, ...]:
    """Return how many heads of keys and values a model could have: the divisors of its heads, the most first."""
    return tuple(n for n in range(config.n_heads, 0, -1) if config.n_heads % n == 0)


def shared(subject: Subject) -> tuple[Shared, ...]:
    """Let the subject, and untrained copies of it with other numbers of K/V heads, read the subject's text."""
    run = subject.run
    return _shared(run.path, run.is_recording, subject.step, subject.src)


@lru_cache(maxsize=8)
def _shared(path: Path, is_recording: bool, step: int, src: tuple[str, ...]) -> tuple[Shared, ...]:
    run = Run.load(path, is_recording=is_recording)
    subject = Subject(run, step, run.config.data.join(src))
    ids = [torch.tensor([row]) for row in subject.reading.ids]
    found = []
    for n_kv in kv_choices(run.config.model):
        is_subject = n_kv == run.config.model.n_kv_heads
        config = replace(run.config.model, n_kv_heads=n_kv)
        model = subject.model if is_subject else Transformer(config, torch.Generator().manual_seed(SEED)).eval()
        cache = filled(model, *ids)
        n_memory = ids[0].shape[1] if len(ids) == 2 else 0
        own = tuple(
            _pair(f"decoder.{i}.self_attn", layer.own.k, layer.own.v, subject.reading.tgt[-len(layer.own) :])
            for i, layer in enumerate(cache.layers)
        )
        readers = tuple(head * n_kv // config.n_heads for head in range(config.n_heads))
        formula = int(cache_bytes(config, len(cache) + n_memory))
        found.append(Shared(n_kv, readers, cache.n_bytes(), formula, config.n_parameters, own, is_subject))
    return tuple(found)


@torch.no_grad()
def filled(model: Transformer, *ids: Tensor) -> KVCache:
    """Return the cache of a model that has read these ids: the source, if it has an encoder, and the target."""
    cache = KVCache.empty(model.config, len(ids[-1]), dtype=model.embedding.dtype)
    memory = mask = None
    with inspecting(model):
        if model.encoder is not None:
            memory, mask = model.encode(ids[0]), padding_mask(ids[0], model.config.pad_id)
        model.decode(ids[-1], memory, mask, cache=cache)
    return cache


# --- Several sentences at once ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentences of different lengths in one cache.

    Attributes:
        rows: What the decoder reads of each, with padding at the end of the shorter ones.
        real: Which entries are of words rather than of padding, `[row, key]`.
        where: The position of each entry, `[row, key]`.
        n_bytes: Of the whole cache, from its storage.
        needed: What the words alone would take.
        difference: The largest difference between a logit in the batch, read word by word, and of the sentence alone.
    """

    rows: tuple[tuple[str, ...], ...]
    real: tuple[tuple[bool, ...], ...]
    where: tuple[tuple[int, ...], ...]
    n_bytes: int
    needed: int
    difference: float


MOST_ROWS = 4


def batch(subject: Subject) -> Batch:
    """Put the subject's text in one cache with other examples of its task, read one word of each at a time."""
    run = subject.run
    return _batch(run.path, run.is_recording, subject.step, subject.src)


@lru_cache(maxsize=8)
def _batch(path: Path, is_recording: bool, step: int, src: tuple[str, ...]) -> Batch:
    run = Run.load(path, is_recording=is_recording)
    task = run.config.data
    mine = Subject(run, step, task.join(src))
    others = [Subject(run, step, text) for text in task.examples if task.tokenize(text) != src]
    # Different lengths say most: the shortest and the longest of the task's examples stand beside the subject.
    others.sort(key=lambda each: len(each.reading.tgt))
    chosen = [mine, *dict.fromkeys([*others[:1], *others[-2:]])][:MOST_ROWS]
    model, config = mine.model, mine.model.config
    ids = [[*map(list, each.reading.ids)] for each in chosen]
    tgt = _padded([each[-1] for each in ids], config.pad_id)
    with inspecting(model):
        memory = mask = None
        if config.architecture == "encoder-decoder":
            source = _padded([each[0] for each in ids], config.pad_id)
            memory, mask = model.encode(source), padding_mask(source, config.pad_id)
        cache = KVCache.empty(config, len(chosen))
        logits = torch.cat(
            [model.decode(piece, memory, mask, cache=cache) for piece in torch.split(tgt, 1, dim=1)], dim=1
        )
    real = tgt != config.pad_id
    differences = [
        float(np.abs(logits[row, : len(each.reading.tgt)].numpy() - each.reading["logits"].values).max())
        for row, each in enumerate(chosen)
    ]
    n_words = sum(len(each.reading.tgt) + len(each.reading.src) for each in chosen)
    words = task.vocabulary.decode
    return Batch(
        rows=tuple(words(row.tolist()) for row in tgt),
        real=tuple(tuple(map(bool, row)) for row in real.tolist()),
        where=tuple(map(tuple, (real.cumsum(dim=1) - real.long()).tolist())),
        n_bytes=cache.n_bytes(),
        needed=int(cache_bytes(config, n_words)),
        difference=max(differences),
    )


def _padded(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])


# --- A sliding window ------------------------------------------------------------------------------------------------

WINDOWS = ("2", "3", "4", "6", "8")


@dataclass(frozen=True, eq=False)
class Windowed:
    """The subject's text read through a window, by the subject's own weights.

    Attributes:
        window: Positions that each word sees, its own among them.
        words: What the decoder reads.
        seen: What each word sees, `[query, key]`: of the words before it only the last few.
        held: Positions that the cache holds after each word.
        bytes_own: Of the self-attentions after each word, from their storage; `full_own` without a window.
        writes: The likeliest next word after each word, through the window; `full_writes` without.
        difference: The largest difference of a logit between window and none.
        off: The largest difference of a logit between the cache that forgets and reading all anew under the mask.
    """

    window: int
    words: tuple[str, ...]
    seen: tuple[tuple[bool, ...], ...]
    held: tuple[tuple[int, int], ...]
    bytes_own: tuple[int, ...]
    full_own: tuple[int, ...]
    writes: tuple[str, ...]
    full_writes: tuple[str, ...]
    difference: float
    off: float


def windowed(subject: Subject, window: int) -> Windowed:
    """Read the subject's text with its own weights, each self-attention seeing `window` positions."""
    run = subject.run
    return _windowed(run.path, run.is_recording, subject.step, subject.src, window)


@lru_cache(maxsize=16)
def _windowed(path: Path, is_recording: bool, step: int, src: tuple[str, ...], window: int) -> Windowed:
    run = Run.load(path, is_recording=is_recording)
    subject = Subject(run, step, run.config.data.join(src))
    reading = subject.reading
    model = Transformer(replace(run.config.model, window=window)).eval()
    model.load_state_dict(subject.model.state_dict())
    ids = [torch.tensor([row]) for row in reading.ids]
    tgt = ids[-1]
    memory = mask = None
    with inspecting(model):
        if model.encoder is not None:
            # The encoder is the subject's own: the window is of the decoder, whose cache this is about.
            memory, mask = subject.model.encode(ids[0]), padding_mask(ids[0], model.config.pad_id)
        anew = model.decode(tgt, memory, mask)[0]
        steps = _written(model, tgt, memory, mask, range(1, tgt.shape[1] + 1))
        plain = _written(subject.model, tgt, memory, mask, range(1, tgt.shape[1] + 1))
    logits = torch.stack([each.logits for each in steps])
    n = tgt.shape[1]
    words = reading.vocabulary
    return Windowed(
        window=window,
        words=reading.tgt,
        seen=tuple(tuple(0 <= q - k < window for k in range(n)) for q in range(n)),
        held=tuple((i + 1 - each.n_held, i + 1) for i, each in enumerate(steps)),
        bytes_own=tuple(each.bytes_own for each in steps),
        full_own=tuple(each.bytes_own for each in plain),
        writes=tuple(words[int(i)] for i in logits.argmax(dim=-1)),
        full_writes=reading.predicted,
        difference=float((logits - torch.stack([each.logits for each in plain])).abs().max()),
        off=float((logits - anew).abs().max()),
    )


# --- Longer texts, larger models -------------------------------------------------------------------------------------

# Untrained, and so large that reading a word takes longer than calling what reads it.
SHAPES: Mapping[str, ModelConfig] = {
    "small": ModelConfig(vocab_size=1000, architecture="decoder-only", d_model=128, n_heads=4, d_ff=512, n_layers=4),
    "large": ModelConfig(vocab_size=1000, architecture="decoder-only", d_model=256, n_heads=8, d_ff=1024, n_layers=6),
}
LENGTHS = (16, 32, 64, 128, 256, 512)


def shape_of(subject: Subject, name: str) -> ModelConfig:
    """Return the sizes of one of `SHAPES`, or for another name the subject's, with room for every length."""
    config = SHAPES.get(name, subject.run.config.model)
    return replace(config, max_len=max(config.max_len, LENGTHS[-1] + REPEATS))


@dataclass(frozen=True)
class Timed:
    """How long reading one word took, once others had been read.

    Attributes:
        length: Words that the decoder had then read.
        cached, full: Seconds, the shortest of `REPEATS`, with a cache and without.
    """

    length: int
    cached: float
    full: float


@lru_cache(maxsize=8)
def timed(config: ModelConfig) -> tuple[Timed, ...]:
    """Measure on this machine what the last word of texts of `LENGTHS` words takes, in an untrained model.

    A decoder beside an encoder is given a source of one word: what is measured is its own text.
    """
    model = Transformer(replace(config, dropout=0.0), torch.Generator().manual_seed(SEED)).eval()
    ids = torch.randint(3, config.vocab_size, (1, LENGTHS[-1]), generator=torch.Generator().manual_seed(SEED))
    memory = mask = None
    found = []
    with inspecting(model):
        if model.encoder is not None:
            memory, mask = model.encode(ids[:, :1]), padding_mask(ids[:, :1], config.pad_id)
        model.decode(ids[:, :8], memory, mask)  # the first pass pays for what all use
        for length in LENGTHS:
            cache = KVCache.empty(config, 1, room=length + REPEATS)
            model.decode(ids[:, : length - 1], memory, mask, cache=cache)
            step = None if config.window else Stepper(model, cache, mask)
            # Each repeat reads a word more; the first stands at `length`.
            new = ids[:, length - 1 : length]
            cached = partial(model.decode, new, memory, mask, cache=cache) if step is None else partial(step, new)
            full = partial(model.decode, ids[:, :length], memory, mask)
            found.append(Timed(length, _shortest(cached), _shortest(full)))
    return tuple(found)


def _shortest(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
