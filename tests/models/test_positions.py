"""How a model knows where a token stands (rule 6)."""

import math

import pytest
import torch
from torch.testing import assert_close

from models import NO_TAP, POSITIONS, ModelConfig, alibi_slopes, capture, sinusoidal_table
from tests.models.examples import SMALL, SRC, name_of, read, small


@pytest.mark.parametrize(("n_positions", "d_model"), [(512, 512), (50, 64), (13, 7), (5, 1), (1, 6)])
def test_the_sinusoidal_table_is_the_papers_formula(n_positions, d_model):
    """Adjacent sine and cosine, float64, then rounded; an odd width ends in a sine."""
    table = sinusoidal_table(n_positions, d_model)
    assert table.shape == (n_positions, d_model)
    assert table.dtype == torch.float32
    for pos in {0, n_positions // 3, n_positions // 2, n_positions - 1}:
        for column in range(d_model):
            angle = pos / 10000 ** (2 * (column // 2) / d_model)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[pos, column].item() == pytest.approx(expected, abs=6e-8)


def test_a_step_is_a_rotation_of_every_pair():
    """PE(pos + k) is PE(pos) turned by an angle that depends on k only: the reason for sines and cosines together."""
    table = sinusoidal_table(40, 6).double()
    for pair in range(3):
        angle = 5 / 10000 ** (2 * pair / 6)
        turn = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]], dtype=torch.float64
        )
        here, there = table[3, 2 * pair : 2 * pair + 2], table[8, 2 * pair : 2 * pair + 2]
        assert_close(turn @ here, there, atol=1e-6, rtol=0)


@pytest.mark.parametrize("positions", POSITIONS)
def test_positions_count_real_tokens_only(positions):
    """The same words after two paddings stand where they stood without them."""
    model = small(positions=positions)
    alone = model.encode(SRC)
    later = model.encode(torch.cat([torch.zeros(1, 2, dtype=torch.long), SRC], dim=1))[:, 2:]
    assert_close(alone, later, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("positions", [name for name in POSITIONS if name != "none"])
def test_order_matters(positions):
    model = small(positions=positions)
    swapped = [1, 0, 2, 3, 4]
    memory, other = model.encode(SRC), model.encode(SRC[:, swapped])[:, swapped]
    assert (memory - other).abs().max() > 1e-3


def test_alibi_cannot_tell_an_encoder_left_from_right():
    """It knows distances only; under a causal mask, what came before is all there is."""
    model = small(positions="alibi")
    assert_close(model.encode(SRC), model.encode(SRC.flip(1)).flip(1), atol=1e-5, rtol=1e-5)


def test_without_positions_a_sentence_is_a_bag_of_words():
    model = small(positions="none")
    assert_close(model.encode(SRC), model.encode(SRC.flip(1)).flip(1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_vectors_are_added_on_the_time_axis(positions):
    model = small(positions=positions)
    trace = capture(model, SRC, SRC)
    assert torch.equal(trace["encoder.pos_embed"], model.positions.table[:5])
    assert torch.equal(trace["encoder.0.resid_pre"], trace["encoder.embed"] + trace["encoder.pos_embed"])


def test_the_table_moves_with_the_model_but_is_not_among_its_weights():
    model = small().double()
    assert model.positions.table.dtype == torch.float64
    assert model.encode(SRC).dtype == torch.float64
    assert not any("table" in name for name in model.state_dict())
    assert "positions.table" in small(positions="learned").state_dict()


# --- Rotary ----------------------------------------------------------------------------------------------------------


def turned(x, where):
    rule = POSITIONS["rotary"](ModelConfig(**{**SMALL, "positions": "rotary"}))
    return rule.turn(torch.tensor([where]))("q", x, NO_TAP)


def test_rotary_turns_pairs_half_a_head_apart():
    """Number i goes with number i + d_head/2: (x, y) becomes (x cos − y sin, y cos + x sin), pair by pair."""
    x = torch.randn(1, 1, 1, 6, generator=torch.Generator().manual_seed(0))
    got = turned(x, [5])[0, 0, 0]
    for pair in range(3):
        angle = 5 * 10000 ** (-2 * pair / 6)
        first, second = x[0, 0, 0, pair].item(), x[0, 0, 0, pair + 3].item()
        expected = (
            first * math.cos(angle) - second * math.sin(angle),
            second * math.cos(angle) + first * math.sin(angle),
        )
        assert (got[pair].item(), got[pair + 3].item()) == pytest.approx(expected, abs=1e-5)


def test_rotary_scores_depend_on_the_distance_only():
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, 1, 1, 6, generator=generator) for _ in range(2))
    scores = [(turned(q, [a]) * turned(k, [b])).sum().item() for a, b in ((3, 1), (12, 10), (2, 0))]
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-5)
    assert abs(scores[0] - (turned(q, [3]) * turned(k, [2])).sum().item()) > 1e-3


def test_rotary_shows_queries_and_keys_before_and_after():
    trace = capture(small(positions="rotary"), SRC, SRC)
    q, before = trace["encoder.0.self_attn.q"], trace["encoder.0.self_attn.q_unrotated"]
    assert torch.equal(q[:, 0], before[:, 0])  # position 0 turns by nothing
    assert (q[:, 1:] - before[:, 1:]).abs().max() > 1e-3
    assert_close(q.norm(dim=-1), before.norm(dim=-1))
    assert "encoder.0.self_attn.k_unrotated" in trace
    assert "decoder.0.cross_attn.q_unrotated" not in trace


def test_rope_theta_changes_the_slow_pairs():
    slow, fast = small(positions="rotary", rope_theta=1e6), small(positions="rotary")
    assert (slow.encode(SRC) - fast.encode(SRC)).abs().max() > 1e-5


# --- ALiBi -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [
        (1, [2**-8]),
        (4, [2**-2, 2**-4, 2**-6, 2**-8]),
        (8, [2.0**-n for n in range(1, 9)]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
    ],
)
def test_alibi_slopes_are_the_papers(n_heads, slopes):
    assert alibi_slopes(n_heads).tolist() == slopes


def test_alibi_is_seen_as_bias_and_is_part_of_the_scores():
    trace = capture(small(positions="alibi"), SRC, SRC)
    bias = trace["decoder.0.self_attn.bias"]
    assert bias.shape == (4, 5, 5)
    distance = (torch.arange(5)[:, None] - torch.arange(5)).abs()
    assert_close(bias, -alibi_slopes(4)[:, None, None] * distance)
    raw = trace["decoder.0.self_attn.raw_scores"]
    assert_close(trace["decoder.0.self_attn.scores"], raw / math.sqrt(6) + bias)
    assert "decoder.0.cross_attn.bias" not in trace


# --- Limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_a_longer_sequence_is_refused_plainly(positions, architecture):
    model = small(positions=positions, architecture=architecture)
    longest = torch.full((1, 17), 3)
    assert read(model, longest).isfinite().all()
    with pytest.raises(ValueError, match="a sequence of 18 tokens is longer than max_len=17"):
        read(model, torch.full((1, 18), 3))


def test_padding_does_not_count_as_length():
    model = small()
    wide = torch.cat([SRC, torch.zeros(1, 40, dtype=torch.long)], dim=1)
    assert_close(model.encode(wide)[:, :5], model.encode(SRC), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "choices", [{"d_model": 25, "n_heads": 5}, {"d_model": 9, "n_heads": 3, "positions": "alibi"}], ids=name_of
)
def test_odd_widths_work(choices):
    assert read(small(**choices)).isfinite().all()
