"""Multiply-adds counted from shapes are those that torch counts while the model runs."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from models import KVCache, ModelConfig, Recorder, Transformer, padding_mask
from playground.operations import Operations, operations, step, whole

SIZES = {"vocab_size": 19, "d_model": 24, "n_heads": 4, "d_ff": 29, "n_layers": 2, "max_len": 17}
CHOICES = [
    {},
    {"n_kv_heads": 2, "activation": "swiglu", "norm_placement": "pre"},
    {"n_kv_heads": 1, "positions": "alibi", "tied": False},
]
SRC, TGT = torch.tensor([[3, 4, 5, 6, 2]]), torch.tensor([[1, 7, 8, 9, 10, 11]])


def counted(work) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        work()
    assert counter.get_total_flops() % 2 == 0
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_torch_counts_the_same(choices, architecture):
    config = ModelConfig(architecture=architecture, **SIZES, **choices)
    model = Transformer(config, torch.Generator().manual_seed(0)).eval()
    memory = mask = None
    n = 0
    if model.encoder is not None:
        with torch.no_grad():
            memory, mask, n = model.encode(SRC), padding_mask(SRC, 0), SRC.shape[1]
    cache = KVCache.empty(config, 1)

    def decode(tgt, cache=None):
        return lambda: model.decode(tgt, memory, mask, cache=cache, tap=Recorder())  # a tap sees every product

    first = counted(decode(TGT[:, :1], cache))
    assert first == operations(config, 1, 1, n_memory=n, n_new=n).total
    total_cached, total_full = first, first
    for length in range(2, 7):
        cached, full = counted(decode(TGT[:, length - 1 : length], cache)), counted(decode(TGT[:, :length]))
        assert cached == step(config, length, is_cached=True, n_memory=n).total
        assert full == step(config, length, is_cached=False, n_memory=n).total
        total_cached, total_full = total_cached + cached, total_full + full
    assert total_cached == whole(config, 6, is_cached=True, n_memory=n).total
    assert total_full == whole(config, 6, is_cached=False, n_memory=n).total


def test_the_attention_part_grows_as_is_said():
    """A step: O(T) against O(T²). In all: O(T²) against O(T³). Never exponentially."""
    config = ModelConfig(architecture="decoder-only", **SIZES)
    for count, cached, full in ((step, 2, 4), (whole, 4, 8)):
        n = 1 << 9
        for is_cached, factor in ((True, cached), (False, full)):
            once, twice = (count(config, each, is_cached=is_cached).attention for each in (n, 2 * n))
            assert twice / once == pytest.approx(factor, rel=0.01)


def test_one_step_by_hand():
    """One layer, d 2, no vocabulary to speak of: Q, K, V and W_O 4 · 2 · 2, scores and mix 2 · 3 · 2, FFN 2 · 2 · 5."""
    config = ModelConfig(vocab_size=1, architecture="decoder-only", d_model=2, n_heads=1, d_ff=5, n_layers=1, max_len=9)
    assert operations(config, 1, 3) == Operations(attention=12, projections=16, feed_forward=20, unembedding=2)


def test_a_mixture_multiplies_its_active_experts_and_its_router():
    plain = ModelConfig(architecture="decoder-only", **SIZES)
    mixed = ModelConfig(architecture="decoder-only", n_experts=7, n_active=3, **SIZES)
    one, three = (operations(config, 1, 1).feed_forward for config in (plain, mixed))
    assert three == 3 * one + 2 * 24 * 7


def test_an_encoder_alone_decodes_nothing():
    with pytest.raises(ValueError, match="decodes nothing"):
        operations(ModelConfig(architecture="encoder-only", **SIZES), 1, 1)
