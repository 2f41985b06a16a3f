"""Reading token by token with all looked up once is what `Transformer.decode` does, to the last bit."""

import pytest
import torch
from torch.testing import assert_close

from models import POSITIONS, KVCache, Stepper, greedy, padding_mask
from tests.models.examples import VARIANTS, name_of, small

SRC = torch.tensor([[3, 4, 5, 6, 2], [7, 2, 0, 0, 0], [0, 0, 8, 9, 2]])
TGT = torch.tensor([[1, 5, 6, 7, 8, 9, 2, 4], [1, 3, 3, 1, 4, 4, 3, 9], [1, 6, 5, 4, 5, 8, 9, 7]])
READ = [each for each in VARIANTS if each["architecture"] != "encoder-only" and not each.get("window")]


@pytest.mark.parametrize("room", [0, 16])
@pytest.mark.parametrize("choices", READ, ids=name_of)
@torch.no_grad()
def test_a_step_is_a_decoding_to_the_last_bit(choices, room):
    model = small(**choices)
    memory = mask = None
    if model.encoder is not None:
        memory, mask = model.encode(SRC), padding_mask(SRC, 0)
    plain, stepped = (KVCache.empty(model.config, 3, room=room) for _ in range(2))
    for cache in (plain, stepped):
        model.decode(TGT[:, :2], memory, mask, cache=cache)
    step = Stepper(model, stepped, mask)
    for token in TGT[:, 2:].split(1, dim=1):
        assert step.reads(token)
        assert torch.equal(step(token), model.decode(token, memory, mask, cache=plain))
    assert torch.equal(stepped.where, plain.where) and torch.equal(stepped.n_tokens(), plain.n_tokens())


def test_a_step_has_neither_dropout_nor_gradients():
    model = small(architecture="decoder-only", dropout=0.5)
    caches = [KVCache.empty(model.config, 3) for _ in range(2)]
    with torch.no_grad():
        for cache in caches:
            model.decode(TGT[:, :1], cache=cache)
        expected = model.decode(TGT[:, 1:2], cache=caches[0])
    logits = Stepper(model.train(), caches[1])(TGT[:, 1:2])
    assert torch.equal(logits, expected) and not logits.requires_grad


def test_padding_and_several_tokens_are_left_to_decode():
    model = small(architecture="decoder-only")
    cache = KVCache.empty(model.config, 2)
    with torch.no_grad():
        model.decode(torch.tensor([[1, 5], [1, 6]]), cache=cache)
        step = Stepper(model, cache)
        assert step.reads(torch.tensor([[4], [4]]))
        assert not step.reads(torch.tensor([[4], [0]]))
        assert not step.reads(torch.tensor([[4, 4], [4, 4]]))
        model.decode(torch.tensor([[4], [0]]), cache=cache)
        assert not step.reads(torch.tensor([[4], [4]]))


@pytest.mark.parametrize("choices", [{"window": 2}, {"causal": False}, {"architecture": "encoder-only"}], ids=str)
def test_what_cannot_be_read_so_is_refused(choices):
    model = small(**{"architecture": "decoder-only", **choices})
    with pytest.raises(ValueError, match="only a causal decoder without a window"):
        Stepper(model, KVCache.empty(model.config, 1))


def test_a_row_that_is_too_long_is_refused_as_ever():
    model = small(architecture="decoder-only", max_len=3)
    cache = KVCache.empty(model.config, 1)
    with torch.no_grad():
        model.decode(torch.tensor([[1, 5, 6]]), cache=cache)
    with pytest.raises(ValueError, match="a sequence of 4 tokens is longer than max_len=3"):
        Stepper(model, cache)(torch.tensor([[4]]))


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_where_keys_lie_changes_no_bit_where_heads_fill_whole_lines_of_memory(positions):
    """16 numbers of 4 bytes are a line of 64. A head of another width lies askew, and is then summed in other order."""
    model = small(d_model=64, positions=positions, architecture="decoder-only")
    plain, roomy = (KVCache.empty(model.config, 3, room=room) for room in (0, 16))
    for token in TGT.split(1, dim=1):
        assert torch.equal(model.decode(token, cache=plain), model.decode(token, cache=roomy))


@pytest.mark.parametrize("choices", [each for each in VARIANTS if each["architecture"] != "encoder-only"], ids=name_of)
@torch.no_grad()
def test_greedy_chooses_from_the_logits_of_reading_all_again(choices):
    model = small(**choices)
    steps = list(greedy(model, SRC[:1], max_len=6))
    begun = torch.ones(1, 1, dtype=torch.long) if model.encoder is not None else SRC[:1]
    tgt = torch.cat([begun, torch.stack([step.token for step in steps[:-1]], dim=1)], dim=1) if steps[1:] else begun
    logits = model(SRC[:1], tgt) if model.encoder is not None else model(tgt)
    n_read = int((tgt[0] != 0).cumprod(dim=0).sum())  # a token of padding has no place of its own
    for step, row in zip(steps, logits[0, begun.shape[1] - 1 : n_read], strict=False):
        assert_close(step.logits[0], row, atol=1e-5, rtol=1e-5)
