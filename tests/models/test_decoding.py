"""Greedy decoding, one step at a time (rule 17)."""

import pytest
import torch
from torch.testing import assert_close

from models import POSITIONS, KVCache, greedy
from tests.models.examples import SRC, small

MANY = torch.tensor([[3, 4, 5, 6, 2], [7, 2, 0, 0, 0], [8, 9, 3, 2, 0]])


def written(model, src, **rest):
    """Return all tokens, `[batch, step]`."""
    return torch.stack([step.token for step in greedy(model, src, **rest)], dim=1)


def by_full_passes(model, src, n, bos_id=1, eos_id=2):
    """Decode greedily without a cache: the whole pass again for each token."""
    given, done = torch.full((len(src), 1), bos_id), torch.zeros(len(src), dtype=torch.bool)
    for _ in range(n):
        token = model(src, given)[:, -1].argmax(dim=-1).masked_fill(done, 0)
        done |= token == eos_id
        given = torch.cat([given, token[:, None]], dim=1)
        if done.all():
            break
    return given[:, 1:]


def speaking(seed=0, **choices):
    """Return a model that never writes padding, and ends its rows now and then."""
    model = small(seed=seed, unembed_bias=True, **choices)
    with torch.no_grad():
        model.unembed_bias[0] = -1e9
    return model


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("seed", range(3))
def test_greedy_writes_what_full_passes_write(positions, seed):
    model = speaking(seed, positions=positions)
    expected = by_full_passes(model, MANY, 9)
    assert torch.equal(written(model, MANY, max_len=9), expected)
    # A row beside others writes what it writes alone.
    for row in range(3):
        real = MANY[row : row + 1, : int((MANY[row] != 0).sum())]
        alone = written(model, real, max_len=9)
        assert torch.equal(alone[0], expected[row, : alone.shape[1]])


@pytest.mark.parametrize("seed", range(3))
def test_without_a_causal_mask_everything_is_read_again_for_every_token(seed):
    model = speaking(seed, causal=False)
    assert torch.equal(written(model, MANY, max_len=9), by_full_passes(model, MANY, 9))
    with pytest.raises(ValueError, match="nothing is kept"):
        model.decode(SRC, model.encode(SRC), cache=KVCache.empty(model.config, 1))


def test_a_step_says_what_it_chose_from():
    model = speaking()
    for index, step in enumerate(greedy(model, MANY, max_len=4)):
        assert step.index == index
        assert step.logits.shape == (3, 11)
        assert step.finished.dtype == torch.bool
        running = ~step.finished
        assert torch.equal(step.token[running], step.logits.argmax(dim=-1)[running])
    first = next(greedy(model, SRC))
    assert_close(first.logits, model(SRC, torch.tensor([[1]]))[:, -1], atol=1e-5, rtol=1e-5)


def always(model, token):
    """Make a model write one token for ever."""
    with torch.no_grad():
        model.unembed_bias[token] = 1e6
    return model


def test_a_row_that_has_ended_writes_padding():
    model = speaking()
    steps = list(greedy(always(model, 2), MANY))
    assert len(steps) == 1
    assert steps[0].token.tolist() == [2, 2, 2] and steps[0].finished.all()


@pytest.mark.parametrize(("max_len", "length"), [(1, 1), (5, 5), (17, 17), (100, 17), (None, 17)])
def test_length_counts_what_is_written(max_len, length):
    """The end counts, the beginning does not; a decoder of max_len tokens reads the beginning and all but the last."""
    tokens = written(always(speaking(), 7), SRC, max_len=max_len)
    assert tokens.tolist() == [[7] * length]


def test_equal_logits_give_the_lowest_id():
    model = speaking()
    with torch.no_grad():
        model.embedding.zero_()
        model.unembed_bias.zero_()
        model.unembed_bias[[5, 8]] = 3.0
    assert written(model, SRC, max_len=3).tolist() == [[5, 5, 5]]


def test_a_decoder_alone_goes_on_from_a_beginning():
    model = speaking(architecture="decoder-only")
    ids = torch.tensor([[1, 5, 6]])
    tokens = written(model, ids, eos_id=-1, max_len=6)
    given = ids
    for token in tokens[0]:
        assert token == model(given)[0, -1].argmax()
        given = torch.cat([given, token[None, None]], dim=1)
    # Padded on either side, beside a longer beginning.
    beside = torch.tensor([[1, 5, 6, 0, 0], [0, 0, 1, 5, 6], [1, 5, 6, 7, 8]])
    assert torch.equal(written(model, beside, eos_id=-1, max_len=6)[:2], tokens.expand(2, -1))


def test_a_decoder_alone_writes_until_it_is_full():
    model = always(speaking(architecture="decoder-only"), 7)
    assert written(model, torch.full((1, 17), 3)).shape == (1, 1)
    assert written(model, torch.full((1, 14), 3)).shape == (1, 4)
    with pytest.raises(ValueError, match="a sequence of 18 tokens is longer than max_len=17"):
        next(greedy(model, torch.full((1, 18), 3)))


def test_decoding_does_not_disturb_training():
    model = speaking(dropout=0.5).train()
    generator = torch.Generator().manual_seed(0)
    model.dropout.generator = generator
    before = generator.get_state()
    steps = greedy(model, SRC, max_len=3)
    next(steps)
    assert model.training and all(module.training for module in model.modules())
    assert torch.is_grad_enabled()
    assert len(list(steps)) == 2
    assert torch.equal(generator.get_state(), before)
    assert torch.equal(written(model, SRC, max_len=3), written(model.eval(), SRC, max_len=3))


@pytest.mark.parametrize(
    ("choices", "rest", "message"),
    [
        ({"architecture": "encoder-only"}, {}, "encoder-only writes nothing: greedy decoding needs a decoder"),
        ({}, {"max_len": 0}, "max_len is 1 or more, but got 0"),
    ],
)
def test_what_cannot_be_decoded_is_refused(choices, rest, message):
    with pytest.raises(ValueError, match=message):
        next(greedy(small(**choices), SRC, **rest))
