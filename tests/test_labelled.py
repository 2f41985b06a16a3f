"""Labelled arrays: numbers that know their labels, and can't be given wrong ones."""

import numpy as np
import pytest

from playground.labelled import Axis, LabelledArray

QUERY = Axis("query", ("⟨bos⟩", "le", "chat"))
KEY = Axis("key", ("the", "cat", "the", "cat", "⟨eos⟩"))
HEAD = Axis("head", ("0", "1"))


@pytest.fixture
def weights() -> LabelledArray:
    values = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    return LabelledArray("decoder.0.cross_attn.weights", values, (HEAD, QUERY, KEY))


def test_selecting_a_head_keeps_the_other_axes_and_their_words(weights):
    one = weights.select(head=1)
    assert one.axes == (QUERY, KEY)
    np.testing.assert_array_equal(one.values, np.arange(15, 30).reshape(3, 5))


def test_several_axes_are_selected_at_once(weights):
    np.testing.assert_array_equal(weights.select(head=0, key=3).values, [3, 8, 13])


def test_wrong_lengths_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="axis 'query' has 3 labels, but the array has 2 there"):
        LabelledArray("w", np.zeros((2, 5)), (QUERY, KEY))


def test_wrong_number_of_axes_is_refused():
    with pytest.raises(ValueError, match="w has 1 dimensions, but 2 axes"):
        LabelledArray("w", np.zeros(3), (QUERY, KEY))


def test_an_unknown_axis_names_those_there_are(weights):
    with pytest.raises(KeyError, match="no axis 'layer'.*'head', 'query', 'key'"):
        weights.select(layer=0)


@pytest.mark.parametrize("head", [-1, 2])
def test_a_position_outside_the_axis_is_refused(weights, head):
    with pytest.raises(IndexError, match="2 positions on 'head'"):
        weights.select(head=head)


def test_values_cannot_be_changed_but_the_callers_array_still_can():
    values = np.zeros((3, 5))
    array = LabelledArray("w", values, (QUERY, KEY))
    with pytest.raises(ValueError, match="read-only"):
        array.values[0, 0] = 1
    values[0, 0] = 2


def test_argmax_takes_the_lowest_position_on_a_tie():
    values = np.array([[0.0, 7.0], [7.0, 1.0]])
    assert LabelledArray("w", values, (Axis("query", ("a", "b")), Axis("key", ("c", "d")))).argmax() == (0, 1)


def test_relabelling_changes_words_and_no_number(weights):
    other = weights.relabelled({"query": ("le", "chat", "⟨eos⟩")})
    assert other.axis("query").labels == ("le", "chat", "⟨eos⟩")
    assert other.axis("key") == KEY
    np.testing.assert_array_equal(other.values, weights.values)


def test_relabelling_checks_the_length(weights):
    with pytest.raises(ValueError, match="axis 'query' has 1 labels, but the array has 3"):
        weights.relabelled({"query": ("le",)})
