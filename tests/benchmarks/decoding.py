"""Writing token by token: against Hugging Face transformers, and with a cache against without one. One thread.

The decoder has GPT-2's parts at a tiny size, in both libraries the same shapes, with weights drawn by chance: nothing
is fetched. Both write the same number of tokens greedily, in turns, in one process.
"""

from __future__ import annotations

import os
import statistics
import time

import torch

from models import ModelConfig, Transformer, greedy, inspecting
from tests.benchmarks import Measure

PROMPT = torch.tensor([[1, 5, 6, 7]])
TOKENS, PAIRS = 128, 9
LENGTHS = (16, 64, 256, 1024)
CONFIG = ModelConfig(
    vocab_size=256,
    architecture="decoder-only",
    d_model=64,
    n_heads=4,
    d_ff=256,
    n_layers=2,
    max_len=1100,
    positions="learned",
    norm_placement="pre",
    activation="gelu_tanh",
    attention_bias=True,
    embed_scale=False,
)


def measure() -> list[Measure]:
    """Measure tokens a second against transformers, and the ratio of no cache to cache as the text grows."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [*_against_transformers(), *_against_no_cache()]
    finally:
        torch.set_num_threads(threads)


def _against_transformers() -> list[Measure]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import GPT2Config, GPT2LMHeadModel, __version__

    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=CONFIG.vocab_size,
            n_positions=CONFIG.max_len,
            n_embd=CONFIG.d_model,
            n_layer=CONFIG.n_layers,
            n_head=CONFIG.n_heads,
            n_inner=CONFIG.d_ff,
            bos_token_id=1,
            eos_token_id=None,
            pad_token_id=0,
        )
    ).eval()
    ours = _model()
    mask = torch.ones_like(PROMPT)

    def their_seconds() -> float:
        start = time.perf_counter()
        written = theirs.generate(
            PROMPT, attention_mask=mask, max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False, use_cache=True
        )
        assert written.shape[1] == PROMPT.shape[1] + TOKENS
        return time.perf_counter() - start

    def our_seconds() -> float:
        start = time.perf_counter()
        assert len(list(greedy(ours, PROMPT, eos_id=-1, max_len=TOKENS))) == TOKENS
        return time.perf_counter() - start

    pairs = [(our_seconds(), their_seconds()) for _ in range(PAIRS + 2)][2:]  # the first two warm up
    ours_ms, theirs_ms = (1e3 * statistics.median(column) / TOKENS for column in zip(*pairs, strict=True))
    ratio = statistics.median(our / their for our, their in pairs)
    return [
        Measure(
            f"a token greedily, against generate of transformers {__version__}",
            ratio,
            at_most=1 / 3,
            note=f"{1 / ratio:.2f} times as many tokens a second; {ours_ms:.3f} ms against {theirs_ms:.3f} ms a token, "
            f"{TOKENS} tokens, {PAIRS} pairs",
        )
    ]


def _against_no_cache() -> list[Measure]:
    model = _model()
    measures, first = [], 0.0
    for length in LENGTHS:
        repeats = max(1, min(9, 1024 // length))
        pairs = [(_seconds(model, length, True), _seconds(model, length, False)) for _ in range(repeats + 1)]
        pairs = pairs[1:] if repeats > 1 else pairs
        ratio = statistics.median(without / cached for cached, without in pairs)
        cached, without = (1e3 * statistics.median(column) / length for column in zip(*pairs, strict=True))
        first = first or ratio
        measures.append(
            Measure(
                f"{length} tokens without a cache, against with one",
                ratio,
                note=f"{without:.3f} ms against {cached:.3f} ms a token; {ratio / first:.2f} times the ratio at "
                f"{LENGTHS[0]}; {len(pairs)} pairs",
            )
        )
    return measures


def _seconds(model: Transformer, length: int, is_cached: bool) -> float:
    """Return how long it takes to write `length` tokens one after the other."""
    start = time.perf_counter()
    if is_cached:
        assert len(list(greedy(model, PROMPT[:, :1], eos_id=-1, max_len=length))) == length
    else:
        ids = PROMPT[:, :1]
        with inspecting(model):
            for _ in range(length):
                ids = torch.cat([ids, model.decode(ids)[:, -1:].argmax(dim=-1)], dim=1)
    return time.perf_counter() - start


def _model() -> Transformer:
    return Transformer(CONFIG, torch.Generator().manual_seed(0)).eval()
