"""Cached decoding equals full decoding, and the cache's numbers are true (rules 7 and 8)."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from models import POSITIONS, KVCache, ModelConfig, padding_mask
from tests.models.examples import SMALL, small

SRC = torch.tensor([[3, 4, 5, 6, 2], [7, 2, 0, 0, 0], [0, 0, 8, 9, 2]])
# Rows of different lengths, padded on the right, on the left, and in the middle: a row that has ended, then goes on.
TGT = torch.tensor([[1, 5, 6, 7, 8, 9, 2, 0], [0, 0, 0, 1, 4, 4, 3, 9], [1, 6, 0, 0, 5, 8, 0, 7]])
CHUNKS = [(8,), (1,) * 8, (3, 1, 4), (5, 3), (1, 7)]

kinds = pytest.mark.parametrize(
    ("positions", "n_kv_heads", "architecture"),
    list(product(POSITIONS, (4, 2, 1), ("encoder-decoder", "decoder-only"))),
)


def decoded(model, chunks):
    """Return the logits of decoding in chunks of these sizes, and the cache."""
    cache = KVCache.empty(model.config, len(TGT))
    memory = mask = None
    if model.encoder is not None:
        memory, mask = model.encode(SRC), padding_mask(SRC, 0)
    logits = [model.decode(chunk, memory, mask, cache=cache) for chunk in TGT.split(list(chunks), dim=1)]
    return torch.cat(logits, dim=1), cache


def full(model):
    return model(SRC, TGT) if model.encoder is not None else model(TGT)


@kinds
@torch.no_grad()
def test_decoding_in_any_chunks_equals_the_full_pass(positions, n_kv_heads, architecture):
    model = small(positions=positions, n_kv_heads=n_kv_heads, architecture=architecture)
    expected = full(model)
    for chunks in CHUNKS:
        logits, cache = decoded(model, chunks)
        assert_close(logits[TGT != 0], expected[TGT != 0], atol=1e-5, rtol=1e-5)
        assert len(cache) == 8
        assert cache.n_tokens().tolist() == (TGT != 0).sum(dim=1).tolist()


@pytest.mark.parametrize("placement", ["post", "pre"])
@torch.no_grad()
def test_long_rows_are_cached_alike(placement):
    """Beyond the length at which the unwatched path changes kernels."""
    model = small(norm_placement=placement, max_len=61, architecture="decoder-only", positions="rotary")
    ids = torch.randint(1, 11, (2, 41), generator=torch.Generator().manual_seed(0))
    cache = KVCache.empty(model.config, 2)
    logits = torch.cat([model.decode(chunk, cache=cache) for chunk in ids.split(7, dim=1)], dim=1)
    assert_close(logits, model(ids), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@torch.no_grad()
def test_bytes_are_those_of_real_tensors(n_kv_heads):
    """2 · layers · kv_heads · d_head · tokens · batch · bytes a number: linear in tokens, cross part constant."""
    model = small(n_kv_heads=n_kv_heads)
    cache = KVCache.empty(model.config, 3)
    assert cache.n_bytes() == 0
    memory, mask = model.encode(SRC), padding_mask(SRC, 0)
    entry = 2 * 2 * n_kv_heads * 6 * 3 * 4
    for n_read in range(1, 9):
        model.decode(TGT[:, n_read - 1 : n_read], memory, mask, cache=cache)
        assert cache.n_bytes_own() == entry * n_read
        assert cache.n_bytes_cross() == entry * 5
        assert cache.n_bytes() == entry * (n_read + 5)
        assert [len(layer.own) for layer in cache.layers] == [n_read, n_read]
        assert cache.layers[0].own.k.shape == (3, n_kv_heads, n_read, 6)


@torch.no_grad()
def test_half_as_many_kv_heads_take_half_the_bytes_and_so_do_half_as_many_bits():
    def n_bytes(**choices):
        dtype = choices.pop("dtype", torch.float32)
        model = small(architecture="decoder-only", **choices).to(dtype)
        cache = KVCache.empty(model.config, 3, dtype=dtype)
        model.decode(TGT, cache=cache)
        return cache.n_bytes()

    assert n_bytes() == 2 * n_bytes(n_kv_heads=2) == 4 * n_bytes(n_kv_heads=1) == 2 * n_bytes(dtype=torch.bfloat16)


@torch.no_grad()
def test_the_cross_part_is_computed_once():
    """The same tensors all along; a memory that changes later is not read again."""
    model = small()
    cache = KVCache.empty(model.config, 3)
    memory = model.encode(SRC)
    model.decode(TGT[:, :1], memory, cache=cache)
    entries = [layer.cross for layer in cache.layers]
    first = model.decode(TGT[:, 1:2], memory * 0, cache=cache)
    assert all(layer.cross is entry for layer, entry in zip(cache.layers, entries, strict=True))
    assert_close(first, model.decode(TGT[:, :2], memory)[:, 1:], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_keys_in_the_cache_are_the_ones_that_attention_uses():
    from models import capture

    model = small(positions="rotary", architecture="decoder-only")
    cache = KVCache.empty(model.config, 1)
    ids = torch.tensor([[1, 5, 6, 7]])
    for token in ids.split(1, dim=1):
        model.decode(token, cache=cache)
    trace = capture(model, ids)
    for index, layer in enumerate(cache.layers):
        assert_close(layer.own.k[0], trace[f"decoder.{index}.self_attn.k"], atol=1e-5, rtol=1e-5)
        assert_close(layer.own.v[0], trace[f"decoder.{index}.self_attn.v"], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_refused_token_leaves_the_cache_as_it_was():
    model = small(architecture="decoder-only", max_len=4)
    cache = KVCache.empty(model.config, 1)
    model.decode(torch.tensor([[1, 5, 6, 7]]), cache=cache)
    with pytest.raises(ValueError, match="a sequence of 5 tokens is longer than max_len=4"):
        model.decode(torch.tensor([[3]]), cache=cache)
    assert len(cache) == len(cache.layers[0].own) == 4


def test_rows_must_be_as_many_as_the_cache_has():
    model = small(architecture="decoder-only")
    with pytest.raises(ValueError, match="the cache is for 2 rows, but got 3"):
        model.decode(TGT, cache=KVCache.empty(model.config, 2))


@pytest.mark.parametrize(
    ("name", "layers", "heads", "d_head", "context", "mib"),
    [
        ("GPT-2 small", 12, 12, 64, 1024, 36),
        ("SmolLM2 135M", 30, 3, 64, 2048, 45),
    ],
)
def test_known_models_take_the_known_room(name, layers, heads, d_head, context, mib):
    """Real tensors of a sixteenth of the context, sixteen times."""
    config = ModelConfig(**{**SMALL, "n_layers": layers, "d_model": heads * d_head, "n_heads": heads})
    cache = KVCache.empty(config, 1, dtype=torch.float16)
    new = torch.zeros(1, heads, context // 16, d_head, dtype=torch.float16)
    for layer in cache.layers:
        layer.own.extend(new, new)
    assert 16 * cache.n_bytes() == mib * 2**20, name
