"""Laws of the whole model: padding never matters, the future does not leak (rules 4 and 5), and its refusals."""

import pytest
import torch
from torch.testing import assert_close

from models import accuracy, label_smoothed_loss, padding_mask
from tests.models.examples import SRC, TGT, VARIANTS, name_of, read, small

every_variant = pytest.mark.parametrize("choices", VARIANTS, ids=name_of)


def padded(ids, left, right, pad_id=0):
    """Return ids with padding on both sides, id 0 having been written as `pad_id`."""
    return torch.nn.functional.pad(ids, (left, right), value=pad_id)


def reads_target(model):
    return model.config.architecture == "encoder-decoder"


@every_variant
def test_padding_never_matters(choices):
    """Left or right, to any width, beside any other row: the same logits at the real tokens, loss and accuracy."""
    model = small(**choices)
    alone = read(model)
    n = alone.shape[1]
    targets = torch.tensor([[7, 8, 2, 9, 2]])[:, :n]
    loss, share = label_smoothed_loss(alone, targets, 0, 0.1), accuracy(alone, targets, 0)
    for left, right in ((0, 3), (2, 0), (4, 7)):
        src, tgt = padded(SRC, left, right), padded(TGT, 1 + left, right)
        start = 1 + left if reads_target(model) else left
        # Beside a row without padding.
        src, tgt = torch.cat([src, torch.full_like(src, 9)]), torch.cat([tgt, torch.full_like(tgt, 8)])
        logits = read(model, src, tgt)[:1]
        assert_close(logits[:, start : start + n], alone, atol=1e-5, rtol=1e-5)
        wide = padded(targets, start, logits.shape[1] - start - n)
        assert_close(label_smoothed_loss(logits, wide, 0, 0.1), loss, atol=1e-5, rtol=1e-5)
        assert accuracy(logits, wide, 0) == share


@pytest.mark.parametrize("pad_id", [0, 9, 10])
def test_any_id_may_be_the_padding(pad_id):
    model = small(pad_id=pad_id)
    alone = model(SRC, TGT)
    logits = model(padded(SRC, 1, 2, pad_id), padded(TGT, 2, 1, pad_id))[:, 2:5]
    assert_close(logits, alone, atol=1e-5, rtol=1e-5)


@every_variant
def test_training_is_not_touched_by_padding(choices):
    """The gradient of the loss is the same with and without padding."""
    model = small(dropout=0.0, **choices).train()

    def gradient(left, right):
        start = left
        src, tgt = padded(SRC, left, right), padded(TGT, left, right)
        logits = read(model, src, tgt)
        n = 3 if reads_target(model) else 5
        targets = padded(torch.tensor([[7, 8, 2, 9, 2]])[:, :n], start, right)
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        loss = label_smoothed_loss(logits, targets, 0, 0.1)
        return torch.autograd.grad(loss, weights)

    for mine, other in zip(gradient(0, 0), gradient(2, 3), strict=True):
        assert mine.isfinite().all() and other.isfinite().all()
        assert_close(mine, other, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("choices", [each for each in VARIANTS if each["architecture"] != "encoder-only"], ids=name_of)
def test_the_future_does_not_leak(choices):
    """Changing token j leaves the logits before j as they are, to the last bit, and changes those from j on."""
    model = small(**choices)
    ids = torch.tensor([[1, 7, 8, 5, 6]])

    def logits(written):
        return read(model, SRC, written) if reads_target(model) else read(model, written)

    before = logits(ids)
    for j in range(1, 5):
        changed = ids.clone()
        changed[0, j] = 9
        after = logits(changed)
        # An expert works on all tokens that chose it at once, and how many they are moves the last bit.
        assert (after[:, :j] - before[:, :j]).abs().max() <= (0 if model.config.n_experts == 1 else 1e-5)
        assert (after[:, j] - before[:, j]).abs().max() > (1e-4 if model.config.residual else 0)


def test_the_future_leaks_without_a_causal_mask():
    model = small(causal=False)
    changed = TGT.clone()
    changed[0, 2] = 9
    assert (model(SRC, changed)[0, 0] - model(SRC, TGT)[0, 0]).abs().max() > 1e-4


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_without_residual_a_sublayer_that_says_nothing_leaves_nothing(placement):
    """With the two last matrices of a layer at zero its output is that of no input: the stream goes no further."""
    model = small(residual=False, norm_placement=placement)
    with torch.no_grad():
        model.encoder.layers[1].ffn.W_2.zero_()
        model.encoder.layers[1].ffn.b_2.zero_()
    assert not model.encode(SRC).abs().max() > 0


def test_an_encoder_sees_both_ways():
    model = small(architecture="encoder-only")
    changed = SRC.clone()
    changed[0, 4] = 9
    assert (model(changed)[0, 0] - model(SRC)[0, 0]).abs().max() > 1e-4


def test_the_embedding_is_scaled_before_positions_are_added():
    model = small(positions="none")
    seen = []
    model.encoder.layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model.encode(SRC)
    assert_close(seen[0], model.embedding[SRC] * 24**0.5)


def test_tied_models_have_one_matrix_and_others_three():
    ids = torch.tensor([[5]])
    tied, free = small(), small(tied=False)
    assert sum(weight.shape == (11, 24) for weight in tied.parameters()) == 1
    assert sum(weight.shape == (11, 24) for weight in free.parameters()) == 3
    assert sum(weight.shape == (11, 24) for weight in small(tied=False, architecture="decoder-only").parameters()) == 2
    x = torch.randn(1, 1, 24)
    assert_close(tied.unembed(x), x @ tied.embedding.T)
    assert_close(free.unembed(x), x @ free.unembedding.T)
    before = free.encode(SRC)
    with torch.no_grad():
        free.tgt_embedding.mul_(2)
    assert torch.equal(free.encode(SRC), before)
    assert free(ids, ids).isfinite().all()


def test_weights_can_be_saved_and_loaded():
    model, other = small(seed=1), small(seed=2)
    other.load_state_dict(model.state_dict())
    assert torch.equal(model(SRC, TGT), other(SRC, TGT))
    storages = [weight.untyped_storage().data_ptr() for weight in model.state_dict().values()]
    assert len(set(storages)) == len(storages)


@every_variant
def test_a_model_in_16_bits_stays_in_16_bits(choices):
    model = small(**choices).to(torch.bfloat16)
    logits = read(model, padded(SRC, 1, 2), padded(TGT, 1, 1))
    assert logits.dtype == torch.bfloat16
    assert logits.isfinite().all()


@every_variant
def test_a_row_of_padding_alone_breaks_nothing(choices):
    model = small(dropout=0.0, **choices).train()
    src, tgt = torch.cat([SRC, SRC * 0]), torch.cat([TGT, TGT * 0])
    logits = read(model, src, tgt)
    assert logits.isfinite().all()
    assert_close(logits[:1], read(model), atol=1e-5, rtol=1e-5)
    logits.square().mean().backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_dropout_makes_runs_that_can_be_made_again():
    def losses():
        model = small(dropout=0.3).train()
        model.dropout.generator = torch.Generator().manual_seed(1)
        return [model(SRC, TGT).sum().item() for _ in range(3)]

    first = losses()
    torch.rand(5)  # another's draws
    assert losses() == first
    assert len(set(first)) == 3


def test_a_decoder_can_be_shown_part_of_the_memory():
    model = small()
    memory = model.encode(SRC)
    mask = padding_mask(torch.tensor([[1, 1, 0, 0, 0]]), 0)
    assert_close(model.decode(TGT, memory, mask), model.decode(TGT, memory[:, :2]), atol=1e-5, rtol=1e-5)


# --- Refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "call", "message"),
    [
        ({}, lambda m: m(SRC), "a model that is encoder-decoder reads 2 sequences, but got 1"),
        ({"architecture": "encoder-only"}, lambda m: m(SRC, TGT), "encoder-only reads 1 sequences, but got 2"),
        ({"architecture": "decoder-only"}, lambda m: m(SRC, TGT), "decoder-only reads 1 sequences, but got 2"),
        ({"architecture": "decoder-only"}, lambda m: m.encode(SRC), "decoder-only has no encoder"),
        ({"architecture": "encoder-only"}, lambda m: m.decode(TGT), "encoder-only has no decoder"),
        ({"architecture": "decoder-only"}, lambda m: m.decode(TGT, torch.ones(1, 2, 24)), "reads no memory"),
        ({}, lambda m: m.decode(TGT), "a decoder beside an encoder needs its memory"),
        ({}, lambda m: m.encode(SRC[0]), r"ids are whole numbers \[batch, pos\], but got torch.int64 \[5\]"),
        ({}, lambda m: m.encode(SRC.float()), r"ids are whole numbers \[batch, pos\], but got torch.float32 \[1, 5\]"),
        ({}, lambda m: m.encode(SRC[:, :0]), r"ids are whole numbers \[batch, pos\], but got torch.int64 \[1, 0\]"),
    ],
)
def test_what_does_not_fit_is_refused_plainly(choices, call, message):
    with pytest.raises(ValueError, match=message):
        call(small(**choices))
