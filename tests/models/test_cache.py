"""Cached decoding equals full decoding, and the cache's numbers are true (rules 7 and 8)."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from models import POSITIONS, KVCache, ModelConfig, padding_mask
from tests.models.examples import SMALL, name_of, small

SRC = torch.tensor([[3, 4, 5, 6, 2], [7, 2, 0, 0, 0], [0, 0, 8, 9, 2]])
# Rows of different lengths, padded on the right, on the left, and in the middle: a row that has ended, then goes on.
TGT = torch.tensor([[1, 5, 6, 7, 8, 9, 2, 0], [0, 0, 0, 1, 4, 4, 3, 9], [1, 6, 0, 0, 5, 8, 0, 7]])
# What else a decoder may be, and still be cached.
OTHERS = [
    {"norm_placement": "pre", "norm": "rms", "activation": "swiglu", "ffn_bias": False},
    {"window": 2},
    {"window": 3, "positions": "rotary", "n_kv_heads": 2},
    {"window": 1, "positions": "alibi"},
    {"window": 50, "positions": "learned"},
    {"n_experts": 5, "n_active": 2, "n_kv_heads": 1},
    {"n_experts": 3},
    {"tied": False, "attention_bias": True, "scale_scores": False, "embed_norm": True},
    {"residual": False},
]
CHUNKS = [(8,), (1,) * 8, (3, 1, 4), (5, 3), (1, 7)]

kinds = pytest.mark.parametrize(
    ("positions", "n_kv_heads", "architecture"),
    list(product(POSITIONS, (4, 2, 1), ("encoder-decoder", "decoder-only"))),
)


def decoded(model, chunks, **kind):
    """Return the logits of decoding in chunks of these sizes, and the cache."""
    cache = KVCache.empty(model.config, len(TGT), **kind)
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


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("choices", OTHERS, ids=name_of)
@torch.no_grad()
def test_every_other_choice_is_cached_alike(choices, architecture):
    model = small(architecture=architecture, **choices)
    expected = full(model)
    for chunks in CHUNKS:
        logits, cache = decoded(model, chunks)
        assert_close(logits[TGT != 0], expected[TGT != 0], atol=1e-5, rtol=1e-5)
        assert cache.n_tokens().tolist() == (TGT != 0).sum(dim=1).tolist()


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("window", [0, 5])
@torch.no_grad()
def test_rows_without_padding_are_cached_alike(positions, window):
    """Where no mask is made: one query after the other, each of which sees all that is kept."""
    model = small(positions=positions, window=window, max_len=43, architecture="decoder-only", n_kv_heads=2)
    ids = torch.randint(1, 11, (3, 41), generator=torch.Generator().manual_seed(0))
    for room in (0, 17, 64):
        cache = KVCache.empty(model.config, 3, room=room)
        logits = torch.cat([model.decode(chunk, cache=cache) for chunk in ids.split(1, dim=1)], dim=1)
        assert_close(logits, model(ids), atol=1e-5, rtol=1e-5)


@kinds
@torch.no_grad()
def test_room_taken_ahead_changes_no_bit(positions, n_kv_heads, architecture):
    """Enough of it, and too little."""
    model = small(positions=positions, n_kv_heads=n_kv_heads, architecture=architecture)
    for chunks in CHUNKS[1:]:
        expected, without = decoded(model, chunks)
        for room in (3, 8, 13):
            logits, cache = decoded(model, chunks, room=room)
            assert torch.equal(logits, expected)
            for ours, theirs in zip(cache.layers, without.layers, strict=True):
                assert torch.equal(ours.own.k, theirs.own.k) and torch.equal(ours.own.v, theirs.own.v)


@torch.no_grad()
def test_room_is_counted_in_full_while_it_is_used():
    model = small(architecture="decoder-only")
    sizes = [decoded(model, (8,), room=room)[1].n_bytes() for room in (0, 3, 8, 16)]
    assert sizes == [sizes[0], sizes[0], sizes[0], 2 * sizes[0]]  # 3 were too few, and given up


@torch.no_grad()
def test_rows_are_followed_in_any_order_with_room_and_without():
    model = small(architecture="decoder-only", positions="rotary")
    rows = torch.tensor([2, 2, 0])
    expected = model(torch.cat([TGT[rows][:, :5], TGT[:, 5:]], dim=1))[:, 5:]
    for room in (0, 8):
        cache = KVCache.empty(model.config, 3, room=room)
        model.decode(TGT[:, :5], cache=cache)
        cache.reorder(rows)
        logits = torch.cat([model.decode(chunk, cache=cache) for chunk in TGT[:, 5:].split(1, dim=1)], dim=1)
        real = TGT[:, 5:] != 0
        assert_close(logits[real], expected[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("window", [1, 2, 3, 7])
@torch.no_grad()
def test_a_window_keeps_no_more_than_it_sees(window):
    """The entries that the next token sees are its window but for itself; of these none is dropped, all others are."""
    model = small(architecture="decoder-only", window=window)
    cache = KVCache.empty(model.config, 1)
    ids = torch.tensor([[1, 5, 6, 7, 8, 9, 3, 4]])
    for n_read, token in enumerate(ids.split(1, dim=1), start=1):
        model.decode(token, cache=cache)
        assert len(cache) == len(cache.layers[0].own) == min(n_read, window - 1)
        assert cache.n_bytes() == 2 * 2 * 4 * 6 * 4 * len(cache)
        assert cache.where[0].tolist() == list(range(n_read))[n_read - len(cache) :]


@torch.no_grad()
def test_of_rows_of_different_lengths_a_window_keeps_what_any_row_still_sees():
    model = small(architecture="decoder-only", window=2)
    cache = KVCache.empty(model.config, 2)
    model.decode(torch.tensor([[1, 5, 6, 7], [1, 5, 0, 0]]), cache=cache)
    assert cache.where.tolist() == [[1, 2, 3], [1, 2, 2]]
    assert cache.real.tolist() == [[True, True, True], [True, False, False]]
    assert cache.n_tokens().tolist() == [4, 2]


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
