"""Masks: by law on the subject's model, against torch, by hand; what a link may say of a painted one."""

from __future__ import annotations

import numpy as np
import pytest

from playground.head import Head
from playground.masking import (
    KINDS,
    PAINT,
    WAYS,
    WIDEST,
    batch_under,
    companion,
    flips_in,
    nowhere,
    paint,
    window_mask,
    written,
)
from playground.runs import RunStore
from playground.subject import Subject
from playground.tasks import TASKS
from playground.ui.components.paint import painted_in

CROSS, SELF = "decoder.1.cross_attn", "decoder.1.self_attn"


@pytest.fixture(scope="module", params=["english-french", "english-chinese", "reverse"])
def subject(request) -> Subject:
    run = RunStore().open(request.param)
    return Subject(run, run.steps[-1], TASKS[run.config.task].examples[0])


@pytest.fixture(scope="module")
def pair(subject) -> tuple[Subject, Subject]:
    return subject, companion(subject)


def test_the_other_sentence_has_another_length(pair):
    assert len(pair[1].src) < len(pair[0].src)
    assert pair[1].model is pair[0].model
    shortest = Subject(pair[0].run, pair[0].step, pair[0].src[0])
    assert len(companion(shortest).src) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sample", [0, 1])
def test_what_is_hidden_weighs_exactly_0_and_the_rest_sums_to_1(pair, kind, sample):
    found = batch_under(pair, sample, kind, 1, 0, 2)
    weights, open_ = found.head["weights"].values, found.reasons == ""
    assert (weights[~open_] == 0).all()
    assert np.isneginf(found.head["masked_scores"].values[~open_]).all()
    np.testing.assert_allclose(weights.sum(axis=1), open_.any(axis=1), atol=1e-6)
    np.testing.assert_array_equal(found.allowed.values, open_)


@pytest.mark.parametrize("sample", [0, 1])
def test_padding_changes_nothing_for_real_words(pair, sample):
    """The batch's real rows are those of the sentence alone, under each mask that is the model's own."""
    alone = pair[sample].reading
    for kind in ("padding", "causal", "both", "cross"):
        found = batch_under(pair, sample, kind, 1, 0, 2)
        n = len(alone.tgt)
        np.testing.assert_allclose(found.reading["logits"].values[:n], alone["logits"].values, atol=1e-4)


def test_both_is_padding_and_causal(pair):
    found = batch_under(pair, 1, "both", 0, 0, 2).head
    np.testing.assert_array_equal(found["mask"].values, found["mask_padding"].values & found["mask_causal"].values)
    causal = batch_under(pair, 1, "causal", 0, 0, 2).allowed.values
    np.testing.assert_array_equal(causal, np.tri(len(causal)))


def test_a_window_by_hand():
    np.testing.assert_array_equal(window_mask(4, 2), [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    np.testing.assert_array_equal(window_mask(3, 1), np.eye(3))
    with pytest.raises(ValueError, match="at least the word itself"):
        window_mask(3, 0)


def test_no_other_masks(pair):
    with pytest.raises(ValueError, match="there are the masks"):
        batch_under(pair, 0, "diagonal", 0, 0, 2)


def test_a_painted_cell_weighs_0_in_every_head_and_what_came_before_stays(subject):
    own = subject.reading[f"{CROSS}.mask"].values
    flips = np.zeros_like(own)
    flips[1, :2] = True
    found = paint(subject, CROSS, flips)
    assert (found.after[f"{CROSS}.weights"].values[:, 1, :2] == 0).all()
    np.testing.assert_allclose(found.after[f"{CROSS}.weights"].values.sum(axis=-1), 1, atol=1e-6)
    for name in (f"{CROSS}.scores", "decoder.0.resid_post", "memory"):
        np.testing.assert_array_equal(found.after[name].values, found.before[name].values)
    assert (found.reasons[1, :2] == "hand").all()
    assert found.n_changed == 2
    # Another word's row of the last layer's cross-attention is not touched.
    np.testing.assert_allclose(found.after["logits"].values[0], found.before["logits"].values[0], atol=1e-5)


def test_nothing_painted_is_the_subject_itself(subject):
    found = paint(subject, SELF, np.zeros_like(subject.reading[f"{SELF}.mask"].values))
    assert found.after is subject.reading
    assert found.changed_words == ()
    np.testing.assert_array_equal(*found.certainty.values)


def test_a_row_painted_shut_writes_zeros_and_breaks_nothing(subject):
    flips = np.zeros_like(subject.reading[f"{SELF}.mask"].values)
    flips[0, 0] = True  # the first word sees itself alone
    found = paint(subject, SELF, flips)
    assert (found.after[f"{SELF}.z"].values[:, 0] == 0).all()
    assert np.isfinite(found.after["logits"].values).all()
    with pytest.raises(ValueError, match="what is painted is"):
        paint(subject, SELF, flips[1:])


def test_a_painted_mask_survives_a_link():
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (9, 7), (WIDEST, WIDEST)):
        flips = rng.random(shape) < 0.4
        text = written(CROSS, flips)
        assert PAINT.fullmatch(text)
        assert len(text) <= 2000
        np.testing.assert_array_equal(flips_in(text, CROSS, shape), flips)
        assert not flips_in(text, SELF, shape).any()
    assert written(CROSS, np.array([[False, True], [False, False]])) == "decoder.1.cross:2"
    with pytest.raises(ValueError, match="64 × 64"):
        written(CROSS, np.zeros((65, 2), dtype=bool))


@pytest.mark.parametrize("text", ["", "x", "decoder.1.cross:", "decoder.1.cross:zz", "decoder.1.cross:1--2"])
def test_what_is_no_painting_paints_nothing(text):
    assert not flips_in(text, CROSS, (3, 3)).any()


def test_what_lies_outside_the_mask_is_left_out():
    np.testing.assert_array_equal(flips_in("decoder.1.cross:f-0-1-1", CROSS, (2, 2)), [[True, True], [False, False]])


@pytest.mark.parametrize("value", [None, 3, "", "10", "10102", "1x10"])
def test_a_stroke_of_another_shape_is_not_heard(value):
    assert painted_in(value, (2, 2)) is None


def test_a_stroke_is_the_whole_mask():
    np.testing.assert_array_equal(painted_in("1011", (2, 2)), [[True, False], [True, True]])


def test_four_ways_to_look_nowhere(subject):
    head = Head(subject.reading, "cross", 1, 0)
    weights, z = nowhere(head, 1)
    shown = dict(zip(WAYS, weights.values, strict=True))
    mixed = dict(zip(WAYS, z.values, strict=True))
    n_key = len(head["k"].axes[0])
    for name in ("ours", "fused"):
        assert (shown[name] == 0).all()
        assert (mixed[name] == 0).all()
    assert np.isnan(shown["infinite"]).all()
    assert np.isnan(mixed["infinite"]).all()
    np.testing.assert_allclose(shown["finite"], 1 / n_key, atol=1e-6)
    np.testing.assert_allclose(mixed["finite"], head["v"].values.mean(axis=0), atol=1e-5)
