"""Attention against torch's own, its laws, and one example worked by hand (rules 3 and 9)."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from models import (
    CrossAttention,
    ModelConfig,
    Recorder,
    SelfAttention,
    View,
    attend,
    attend_unwatched,
    causal_mask,
    initialise,
)
from tests.models.examples import small

BATCH, HEADS, QUERY, KEY, WIDTH = 2, 6, 5, 7, 3
EVERYWHERE = torch.ones(1, 1, dtype=torch.bool)


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def qkv(n_kv_heads=HEADS):
    q = drawn(BATCH, HEADS, QUERY, WIDTH)
    k, v = (drawn(BATCH, n_kv_heads, KEY, WIDTH, seed=seed) for seed in (1, 2))
    return q, k, v


# --- Oracles ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, 1.0, 0.3])
def test_attend_agrees_with_torch(scale):
    q, k, v = qkv()
    mask = drawn(BATCH, 1, QUERY, KEY, seed=3) > -0.5
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    assert_close(attend(q, k, v, mask, scale=scale), expected, atol=1e-6, rtol=1e-6)


def test_a_bias_is_added_after_scaling():
    q, k, v = qkv()
    bias = drawn(1, HEADS, QUERY, KEY, seed=4)
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    assert_close(attend(q, k, v, EVERYWHERE, bias=bias), expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_grouped_keys_are_shared_by_blocks_of_neighbouring_heads(n_kv_heads):
    """Grouped attention is attention with each key and value head repeated: 0 0 0 1 1 1, not 0 1 0 1 0 1."""
    q, k, v = qkv(n_kv_heads)
    blocks = torch.arange(HEADS) // (HEADS // n_kv_heads)
    expected = F.scaled_dot_product_attention(q, k[:, blocks], v[:, blocks])
    assert_close(attend(q, k, v, EVERYWHERE), expected, atol=1e-6, rtol=1e-6)
    addend = torch.zeros(1, 1, 1, 1)
    assert_close(attend_unwatched(q, k, v, addend), expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("biased", [False, True])
def test_self_attention_agrees_with_torchs_module(biased):
    """Head h here is head h there, and heads are merged with the axis swap: a test of values, not of learning."""
    ours = self_attention(attention_bias=biased)
    theirs = torch.nn.MultiheadAttention(24, 4, bias=biased, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.W_QKV.T)
        theirs.out_proj.weight.copy_(ours.W_O.T)
        if biased:
            theirs.in_proj_bias.copy_(ours.b_QKV)
            theirs.out_proj.bias.copy_(ours.b_O)
    x = drawn(2, 5, 24)
    expected, weights = theirs(x, x, x, attn_mask=~causal_mask(5, 5), average_attn_weights=False)
    recorder = Recorder()
    got = ours(x, View({"causal": causal_mask(5, 5)}), tap=recorder)
    assert_close(got, expected, atol=1e-6, rtol=1e-5)
    assert_close(recorder.tensors["weights"], weights, atol=1e-6, rtol=1e-5)


def self_attention(**choices):
    model = small(**choices)
    attention = model.encoder.layers[0].self_attn
    if attention.b_QKV is not None:
        torch.nn.init.normal_(attention.b_QKV, generator=torch.Generator().manual_seed(1))
        torch.nn.init.normal_(attention.b_O, generator=torch.Generator().manual_seed(2))
    return attention


# --- By hand ---------------------------------------------------------------------------------------------------------


def test_a_small_example_worked_by_hand():
    """Two queries, two keys, d_head = 2.

    q kᵀ = [[1, 0], [2, 2]]. Divided by √2: [[0.7071, 0], [1.4142, 1.4142]]. Softmax: e^0.7071 = 2.0281, so the first
    row is [2.0281, 1] / 3.0281 = [0.6698, 0.3302]; equal scores share: [0.5, 0.5]. The values are the unit vectors, so
    what comes out is the weights.
    """
    q = torch.tensor([[[[1.0, 0.0], [0.0, 2.0]]]])
    k = torch.tensor([[[[1.0, 1.0], [0.0, 1.0]]]])
    v = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    recorder = Recorder()
    z = attend(q, k, v, EVERYWHERE, tap=recorder)
    seen = {name: tensor[0, 0] for name, tensor in recorder.tensors.items()}
    assert seen["raw_scores"].tolist() == [[1.0, 0.0], [2.0, 2.0]]
    assert_close(seen["scores"], torch.tensor([[0.7071, 0.0], [1.4142, 1.4142]]), atol=1e-4, rtol=0)
    assert_close(seen["weights"], torch.tensor([[0.6698, 0.3302], [0.5, 0.5]]), atol=1e-4, rtol=0)
    assert_close(z[0, 0], seen["weights"], atol=1e-7, rtol=0)
    # The second key hidden from the first query: all its weight goes to the first.
    z = attend(q, k, v, torch.tensor([[True, False], [True, True]]))
    assert z[0, 0].tolist() == [[1.0, 0.0], [0.5, 0.5]]


# --- Laws ------------------------------------------------------------------------------------------------------------


def test_scaled_and_unscaled_scores_come_from_the_same_products():
    q, k, v = qkv()
    scaled, unscaled = Recorder(), Recorder()
    attend(q, k, v, EVERYWHERE, tap=scaled)
    attend(q, k, v, EVERYWHERE, scale=1.0, tap=unscaled)
    assert torch.equal(scaled.tensors["raw_scores"], unscaled.tensors["raw_scores"])
    assert torch.equal(unscaled.tensors["scores"], unscaled.tensors["raw_scores"])
    assert_close(scaled.tensors["scores"], scaled.tensors["raw_scores"] / math.sqrt(WIDTH))


def test_rows_of_weights_sum_to_one_over_the_keys():
    q, k, v = qkv()
    recorder = Recorder()
    attend(q * 50, k, v, causal_mask(QUERY, KEY), tap=recorder)
    weights = recorder.tensors["weights"]
    assert weights.shape == (BATCH, HEADS, QUERY, KEY)
    assert_close(weights.sum(dim=-1), torch.ones(BATCH, HEADS, QUERY), atol=1e-6, rtol=0)
    assert (weights >= 0).all() and (weights <= 1).all()


def test_each_head_is_its_own_attention():
    """Head h, worked out from its own W_Q, W_K and W_V alone, as the paper writes it."""
    attention = self_attention(n_kv_heads=2)
    x = drawn(1, 5, 24)
    recorder = Recorder()
    out = attention(x, View({"padding": EVERYWHERE[None, None]}), tap=recorder)
    heads = []
    for head in range(4):
        q, k, v = x[0] @ attention.W_Q[head], x[0] @ attention.W_K[head // 2], x[0] @ attention.W_V[head // 2]
        heads.append(((q @ k.T) / math.sqrt(6)).softmax(dim=-1) @ v)
        assert_close(recorder.tensors["q"][0, head], q)
        assert_close(recorder.tensors["k"][0, head // 2], k)
        assert_close(recorder.tensors["z"][0, head], heads[-1])
    concat = torch.cat(heads, dim=-1)
    assert_close(recorder.tensors["concat"][0], concat)
    assert_close(out[0], concat @ attention.W_O)


def test_one_head_out_of_two_can_be_told_by_its_columns():
    """Concatenation puts head h into columns h · d_head to (h + 1) · d_head, at the same position."""
    attention = self_attention()
    recorder = Recorder()
    attention(drawn(2, 5, 24), View({"padding": EVERYWHERE[None, None]}), tap=recorder)
    z, concat = recorder.tensors["z"], recorder.tensors["concat"]
    for head in range(4):
        assert torch.equal(concat[:, :, head * 6 : (head + 1) * 6], z[:, head])


def test_cross_attention_asks_from_the_decoder_and_answers_from_the_memory():
    model = small()
    attention = model.decoder.layers[0].cross_attn
    assert isinstance(attention, CrossAttention)
    x, memory = drawn(1, 3, 24), drawn(1, 5, 24, seed=1)
    recorder = Recorder()
    attention(x, memory, View({"padding": EVERYWHERE[None, None]}), tap=recorder)
    seen = recorder.tensors
    assert torch.equal(seen["memory"], memory)
    assert_close(seen["q"][0, 1], x[0] @ attention.W_Q[1])
    assert_close(seen["k"][0, 1], memory[0] @ attention.W_K[1])
    assert_close(seen["v"][0, 1], memory[0] @ attention.W_V[1])
    assert seen["weights"].shape == (1, 4, 3, 5)


def test_more_heads_cost_no_more_parameters():
    counts = {ModelConfig(vocab_size=7, d_model=48, n_heads=n).n_parameters for n in (1, 2, 4, 8)}
    assert len(counts) == 1


def test_the_short_kernel_has_the_gradients_it_says():
    """Against the explicit path's, which torch works out by itself."""
    q, k, v = (each.requires_grad_() for each in qkv(2))
    mask = drawn(BATCH, 1, QUERY, KEY, seed=3) > 0
    addend = drawn(BATCH, HEADS, QUERY, KEY, seed=5).masked_fill(~mask, -torch.inf)
    expected = torch.autograd.grad((attend(q, k, v, mask, bias=addend) ** 3).sum(), (q, k, v))
    got = torch.autograd.grad((attend_unwatched(q, k, v, addend) ** 3).sum(), (q, k, v))
    for mine, other in zip(got, expected, strict=True):
        assert_close(mine, other, atol=1e-5, rtol=1e-5)


def test_the_first_weights_come_from_the_generator_alone():
    before = torch.get_rng_state()
    first, second = small(seed=3).state_dict(), small(seed=3).state_dict()
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["embedding"], small(seed=4).state_dict()["embedding"])


def test_each_projection_starts_with_its_own_spread():
    model = small(d_model=96, n_heads=4, n_kv_heads=1, vocab_size=501)
    initialise(model, torch.Generator().manual_seed(0))
    attention = model.encoder.layers[0].self_attn
    assert isinstance(attention, SelfAttention)
    assert attention.W_Q.abs().max().item() == pytest.approx(math.sqrt(6 / (96 + 96)), rel=0.01)
    assert attention.W_K.abs().max().item() == pytest.approx(math.sqrt(6 / (96 + 24)), rel=0.01)
    assert model.embedding.std().item() == pytest.approx(96**-0.5, rel=0.02)
