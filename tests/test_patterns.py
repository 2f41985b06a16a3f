"""Measures of heads and their baselines: by hand, by law, against brute force and against the model's own output."""

import itertools

import numpy as np
import pytest
import torch

from models import ModelConfig, Transformer, capture
from playground.head import Head
from playground.labelled import Axis, LabelledArray
from playground.patterns import (
    MEASURES,
    SHARES,
    Score,
    cover,
    first_words,
    head_w_o,
    moved,
    pattern_of,
    rollout,
    scores,
    targets,
    value_lengths,
    value_weighted,
)
from playground.reading import Reading

WORDS = ("the", "cat", "sees", "the", "cat")


def maps(values: object, words: tuple[str, ...] | None = None) -> LabelledArray:
    numbers = np.asarray(values, dtype=np.float32)
    n_head, n_query, n_key = numbers.shape
    words = words or tuple(f"w{i}" for i in range(n_query))
    axes = (
        Axis("head", tuple(map(str, range(n_head)))),
        Axis("query", words),
        Axis("key", tuple(map(str, range(n_key)))),
    )
    return LabelledArray("weights", numbers, axes)


def drawn(n_head: int, n_query: int, n_key: int, *, seed: int = 0, causal: bool = False) -> LabelledArray:
    raised = np.exp(2 * np.random.default_rng(seed).normal(size=(n_head, n_query, n_key)))
    if causal:
        raised = np.tril(raised)
    return maps(raised / raised.sum(axis=-1, keepdims=True))


# --- Where a pattern lies --------------------------------------------------------------------------------------------


def test_the_places_of_each_pattern_by_hand():
    at = {kind: np.argwhere(targets(kind, WORDS, 5)).tolist() for kind in ("previous", "diagonal", "induction")}
    assert at == {
        "previous": [[1, 0], [2, 1], [3, 2], [4, 3]],
        "diagonal": [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]],
        "induction": [[3, 1], [4, 2]],  # after the first "the" came "cat", after the first "cat" came "sees"
    }
    assert np.argwhere(targets("alignment", WORDS, 3, [(0, 2), (4, 1)])).tolist() == [[0, 2], [4, 1]]


# --- Scores and baselines --------------------------------------------------------------------------------------------


def test_scores_by_hand_under_a_causal_mask():
    weights = maps([[[1, 0, 0], [0.25, 0.75, 0], [0.5, 0.3, 0.2]]])
    found = {name: each[0] for name, each in scores(weights, np.tri(3, dtype=bool), itself=True, draws=11).items()}
    # Row 0 may look at one key only: it says nothing, and does not count.
    assert found["previous"].value == pytest.approx((0.25 + 0.3) / 2)
    assert found["previous"].uniform == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found["diagonal"].value == pytest.approx((0.75 + 0.2) / 2)
    assert found["distance"].value == pytest.approx((0.25 * 1 + 0.5 * 2 + 0.3 * 1) / 2)
    assert found["distance"].uniform == pytest.approx((1 / 2 + (2 + 1) / 3) / 2)
    assert found["entropy"].uniform == pytest.approx((np.log(2) + np.log(3)) / 2)
    assert "induction" not in found and "alignment" not in found


def test_a_uniform_head_scores_what_is_said_of_a_uniform_head():
    allowed = np.tri(7, dtype=bool)
    even = allowed / allowed.sum(axis=1, keepdims=True)
    found = scores(maps(even[None], (*WORDS, *WORDS[:2])), allowed, itself=True, draws=7)
    assert set(found) == {"entropy", "distance", "previous", "diagonal", "induction"}
    for name, (score,) in found.items():
        assert score.value == pytest.approx(score.uniform, abs=1e-6), name
        if name != "entropy":  # shuffling equal weights changes nothing
            assert score.low == pytest.approx(score.high) == pytest.approx(score.value, abs=1e-6)


def test_shuffled_heads_stay_as_sharp_and_within_what_shuffling_can_reach():
    """Every head that chance draws is one of the shuffles of the rows: compared with all of them."""
    weights = drawn(1, 3, 3, causal=True)
    allowed = np.tri(3, dtype=bool)
    (score,) = scores(weights, allowed, itself=True, draws=400)["previous"]
    rows = [list(itertools.permutations(weights.values[0, row, : row + 1])) for row in (1, 2)]
    reachable = [(a[0] + b[1]) / 2 for a in rows[0] for b in rows[1]]
    assert score.low == pytest.approx(min(reachable), abs=1e-6)
    assert score.high == pytest.approx(max(reachable), abs=1e-6)


def test_the_mean_of_the_shuffles_is_the_uniform_head():
    weights, allowed = drawn(2, 6, 6, causal=True), np.tri(6, dtype=bool)
    one_by_one = [scores(weights, allowed, itself=True, draws=n)["previous"] for n in (1, 2000)]
    for head in range(2):
        low, high = one_by_one[1][head].low, one_by_one[1][head].high
        assert low < one_by_one[1][head].uniform < high


def test_the_same_heads_are_drawn_each_time_and_in_any_number_at_once(monkeypatch):
    weights, allowed = drawn(2, 5, 7), np.ones((5, 7), dtype=bool)
    first = scores(weights, allowed, itself=False, draws=50)
    monkeypatch.setattr("playground.patterns._MOST_DRAWN", 5 * 7 * 11)
    again = scores(weights, allowed, itself=False, draws=50)
    for name in first:
        for one, other in zip(first[name], again[name], strict=True):
            assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_a_label_needs_more_than_chance_and_more_than_a_little():
    assert Score(0.9, uniform=0.1, low=0.0, high=0.5).clears
    assert not Score(0.9, uniform=0.1, low=0.0, high=0.9).clears  # a shuffled head got as far
    assert not Score(0.5, uniform=0.1, low=0.0, high=0.2).clears  # well over chance, but not half way to all
    assert not Score(0.75, uniform=0.7, low=0.6, high=0.74).clears  # a uniform head has nearly as much


def test_a_previous_word_head_is_called_one_and_an_even_head_is_called_nothing():
    sharp = np.eye(9, k=-1) * 0.9 + 0.1 / 9
    sharp[0] = 1 / 9
    allowed = np.ones((9, 9), dtype=bool)
    found = scores(maps([sharp, np.full((9, 9), 1 / 9)]), allowed, itself=True)
    assert (pattern_of(found, 0), pattern_of(found, 1)) == ("previous", None)


def test_random_heads_get_no_label():
    """A hundred heads of random scores, under both kinds of mask."""
    for causal in (False, True):
        allowed = np.tri(9, dtype=bool) if causal else np.ones((9, 9), dtype=bool)
        found = scores(drawn(50, 9, 9, seed=3, causal=causal), allowed, itself=True)
        assert [pattern_of(found, head) for head in range(50)] == [None] * 50


def test_alignment_is_measured_where_there_is_gold_and_named_before_the_diagonal():
    sharp = np.eye(9) * 0.9 + 0.1 / 9
    allowed = np.ones((9, 9), dtype=bool)
    found = scores(maps([sharp]), allowed, itself=False, alignment=[(i, i) for i in range(9)])
    assert list(found) == [name for name in MEASURES if name not in ("previous", "induction")]
    assert pattern_of(found, 0) == "alignment"
    assert "alignment" in SHARES


def test_a_map_without_a_choice_has_no_scores():
    assert scores(maps([[[1.0]]]), np.ones((1, 1), dtype=bool), itself=True) == {}


def test_a_mask_of_another_shape_is_refused_with_both():
    with pytest.raises(ValueError, match=r"\(1, 2, 3\), but the mask is \(3, 2\)"):
        scores(drawn(1, 2, 3), np.ones((3, 2), dtype=bool), itself=False)


# --- The smallest set of lines ---------------------------------------------------------------------------------------


def test_the_cover_is_the_smallest_set_by_brute_force():
    weights = drawn(1, 3, 3).select(head=0)
    cells = weights.values.astype(np.float64).reshape(-1)
    for share in (0.2, 0.5, 0.8, 0.95):
        kept = cover(weights, share)
        sizes = [
            len(each)
            for size in range(10)
            for each in itertools.combinations(range(9), size)
            if cells[list(each)].sum() >= share * cells.sum()
        ]
        assert kept.sum() == min(sizes)
        assert cells[kept.reshape(-1)].sum() >= share * cells.sum()


def test_nothing_and_all_are_covered_by_no_cell_and_by_every_cell_that_has_weight():
    weights = drawn(1, 5, 5, causal=True).select(head=0)
    assert not cover(weights, 0).any()
    np.testing.assert_array_equal(cover(weights, 1), weights.values > 0)
    nothing = LabelledArray("weights", np.zeros((2, 3)), (Axis("query", ("a", "b")), Axis("key", ("c", "d", "e"))))
    assert not cover(nothing, 0.9).any()
    with pytest.raises(ValueError, match="a share is 0 to 1, but got 1.5"):
        cover(weights, 1.5)


# --- Value-weighted, rollout, difference -----------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[4, 2])
def reading_and_model(request) -> tuple[Reading, Transformer]:
    config = ModelConfig(vocab_size=11, d_model=28, n_heads=4, n_kv_heads=request.param, d_ff=13, n_layers=2, max_len=9)
    model = Transformer(config, generator=torch.Generator().manual_seed(2)).eval()
    src, tgt = torch.tensor([[3, 4, 5, 6, 2]]), torch.tensor([[1, 7, 8]])
    names = tuple(f"v{i}" for i in range(11))
    words = [tuple(names[int(i)] for i in ids[0]) for ids in (src, tgt)]
    return Reading(capture(model, src, tgt), src=words[0], tgt=words[1], vocabulary=names), model


@pytest.mark.parametrize("where", ["encoder", "decoder", "cross"])
def test_what_all_heads_and_keys_add_is_the_output_of_the_model(reading_and_model, where):
    """The pieces whose lengths are drawn, weight · v W_O, sum to `out` over keys and heads."""
    reading, model = reading_and_model
    total = 0.0
    for index in range(4):
        head = Head(reading, where, 1, index)
        pieces = head["weights"].values[..., None] * (head["v"].values @ head_w_o(model, head))  # [query, key, d_model]
        total = total + pieces.sum(axis=1)
        drawn_lengths = value_weighted(head["weights"], value_lengths(head["v"], head_w_o(model, head)))
        np.testing.assert_allclose(drawn_lengths.values, np.linalg.norm(pieces, axis=-1), atol=1e-6)
    np.testing.assert_allclose(total, head.whole("out").values, atol=1e-5)


def test_rollout_is_the_product_of_the_papers_formula():
    first, second = drawn(3, 5, 5, seed=1), drawn(3, 5, 5, seed=2)
    found = rollout([first, second])
    mixed = [0.5 * torch.tensor(a.values).double().mean(0) + 0.5 * torch.eye(5).double() for a in (first, second)]
    np.testing.assert_allclose(found[0].values, mixed[0].numpy(), atol=1e-6)
    np.testing.assert_allclose(found[1].values, (mixed[1] @ mixed[0]).numpy(), atol=1e-6)
    np.testing.assert_allclose(found[1].values.sum(axis=-1), 1, atol=1e-6)


def test_rollout_keeps_what_is_causal_causal_and_what_looks_nowhere_whole():
    weights = drawn(2, 5, 5, causal=True)
    assert not np.triu(rollout([weights, weights])[1].values, k=1).any()
    np.testing.assert_allclose(rollout([maps(np.zeros((2, 3, 3)))])[0].values, np.eye(3))


def test_rollout_of_cross_attention_is_refused():
    with pytest.raises(ValueError, match="rollout follows a sequence through itself"):
        rollout([drawn(2, 3, 5)])


def test_what_moved_is_total_variation():
    before = maps([[[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]]])
    after = maps([[[0, 1], [0.5, 0.5]], [[1, 0], [0, 1]]])
    np.testing.assert_allclose(moved(before, after), [0.5, 0])


def test_the_first_words_are_kept():
    cut = first_words(drawn(2, 7, 5), 3)
    assert cut.shape == (2, 3, 3)
    assert cut.axis("query").labels == ("w0", "w1", "w2")
