"""One meaning everywhere: boolean, True = may attend (rules 1 and 2)."""

import pytest
import torch
from torch.testing import assert_close

from models import View, attend, attend_unwatched, capture, causal_mask, check_mask, padding_mask, window_mask
from tests.models.examples import inputs, read, small

T, F = True, False


def test_a_padding_mask_hides_what_is_padding():
    mask = padding_mask(torch.tensor([[5, 0, 3], [0, 0, 4]]), pad_id=0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[T, F, T], [F, F, T]]


def test_a_causal_mask_hides_the_future():
    assert causal_mask(3, 3).tolist() == [[T, F, F], [T, T, F], [T, T, T]]


def test_a_causal_mask_ends_in_the_bottom_right_corner():
    """One new query sees every cached key; torch's own `is_causal` would show it the first only."""
    assert causal_mask(1, 5).tolist() == [[T, T, T, T, T]]
    assert causal_mask(2, 4).tolist() == [[T, T, T, F], [T, T, T, T]]


def test_more_queries_than_keys_have_no_past():
    with pytest.raises(ValueError, match="3 queries can't be the last of 2 keys"):
        causal_mask(3, 2)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (2, 1, 5, 7), (1, 1, 1, 7), (5, 7), (7,), (1, 1, 5, 1), ()])
def test_what_broadcasts_is_a_mask(shape):
    check_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 5, 7))


@pytest.mark.parametrize("shape", [(2, 3, 7, 5), (3, 5, 7, 1), (1, 2, 3, 5, 7), (5,), (2, 5, 7), (4, 1, 5, 7)])
def test_another_shape_is_refused_and_both_are_named(shape):
    message = rf"a mask of shape \[{', '.join(map(str, shape))}\] does not broadcast to .* = \[2, 3, 5, 7\]"
    with pytest.raises(ValueError, match=message):
        check_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 5, 7))


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.int64, torch.float16])
def test_another_type_is_refused(dtype):
    q = torch.ones(1, 1, 2, 3)
    with pytest.raises(TypeError, match=f"a mask is torch.bool, True = may attend, but this one is {dtype}"):
        attend(q, q, q, torch.ones(2, 2, dtype=dtype))


def test_parts_are_combined_by_and():
    padding = padding_mask(torch.tensor([[1, 2, 0], [0, 1, 2]]), 0)
    view = View({"padding": padding, "causal": causal_mask(3, 3)})
    assert view.mask[0, 0].tolist() == [[T, F, F], [T, T, F], [T, T, F]]
    assert view.mask[1, 0].tolist() == [[F, F, F], [F, T, F], [F, T, T]]
    assert (view.addend == 0).tolist() == view.mask.tolist()
    assert (view.addend == -torch.inf).tolist() == (~view.mask).tolist()


# --- A query that may look nowhere -----------------------------------------------------------------------------------

LENGTHS = [5, 23]  # on either side of where the unwatched path changes kernels


def ways(mask, **rest):
    """Return the two paths of attention under one mask."""
    addend = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return {
        "watched": lambda q, k, v: attend(q, k, v, mask, **rest),
        "unwatched": lambda q, k, v: attend_unwatched(q, k, v, addend, **rest),
    }


def drawn(n, dtype=torch.float32, n_kv_heads=4):
    generator = torch.Generator().manual_seed(n)
    shapes = [(2, 4, n, 6), (2, n_kv_heads, n, 6), (2, n_kv_heads, n, 6)]
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def some_hidden(n):
    """Return a mask in which one query, and one whole sample, may look nowhere."""
    mask = torch.rand(2, 1, n, n, generator=torch.Generator().manual_seed(0)) < 0.5
    mask[0, :, 1] = False
    mask[1] = False
    mask[0, :, 0, 0] = True
    return mask


@pytest.mark.parametrize("way", ["watched", "unwatched"])
@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_query_with_no_key_weighs_nothing_and_breaks_nothing(way, n, dtype, n_kv_heads):
    inputs = drawn(n, dtype, n_kv_heads)
    z = ways(some_hidden(n))[way](*inputs)
    assert z.dtype == dtype
    assert (z[0, :, 1] == 0).all() and (z[1] == 0).all()
    assert (z[0, :, 0] != 0).all()
    grads = torch.autograd.grad(z.float().square().sum(), inputs)
    assert z.isfinite().all() and all(grad.isfinite().all() for grad in grads)
    assert all((grad[1] == 0).all() for grad in grads)


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("scale", [None, 1.0])
def test_both_paths_agree_in_values_and_gradients(n, n_kv_heads, scale):
    inputs = drawn(n, n_kv_heads=n_kv_heads)
    results = []
    for way in ways(some_hidden(n), scale=scale).values():
        z = way(*inputs)
        results.append((z, *torch.autograd.grad((z**3).sum(), inputs)))
    for watched, unwatched in zip(*results, strict=True):
        assert_close(watched, unwatched, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("way", ["watched", "unwatched"])
@pytest.mark.parametrize("n", LENGTHS)
def test_hidden_keys_weigh_exactly_nothing_however_large_the_scores(way, n):
    mask = torch.ones(2, 1, n, n, dtype=torch.bool)
    mask[..., -1] = False
    q, k, v = (each.detach() for each in drawn(n))
    before = ways(mask)[way](q * 1e4, k, v)
    k[:, :, -1] = 1e4
    v[:, :, -1] = 1e4
    assert torch.equal(before, ways(mask)[way](q * 1e4, k, v))
    assert before.isfinite().all()


def test_a_window_reaches_as_far_as_it_says():
    where = torch.tensor([[0, 1, 2, 3]])
    seen = window_mask(where, where, 2)[0, 0]
    assert seen.tolist() == [[abs(q - k) < 2 for k in range(4)] for q in range(4)]
    with pytest.raises(ValueError, match="at least the query's own position, but got 0"):
        window_mask(where, where, 0)


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only", "encoder-only"])
@torch.no_grad()
def test_a_model_with_a_window_looks_no_further(architecture):
    model = small(architecture=architecture, window=2)
    trace = capture(model, *inputs(model))
    for name, weights in trace.items():
        if name.endswith("self_attn.weights"):
            n = weights.shape[-1]
            far = torch.tensor([[abs(q - k) >= 2 for k in range(n)] for q in range(n)])
            assert far.any() and (weights[:, far] == 0).all(), name
            assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))
        if name.endswith("cross_attn.weights"):
            assert (weights > 0).all()


@torch.no_grad()
def test_a_window_as_long_as_the_sentence_changes_nothing():
    for architecture in ("encoder-decoder", "decoder-only", "encoder-only"):
        narrow, wide = (small(architecture=architecture, window=window) for window in (5, 0))
        assert_close(read(narrow), read(wide), atol=1e-6, rtol=1e-6)
