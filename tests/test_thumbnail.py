"""Thumbnails: one byte a number, and what that may cost."""

from __future__ import annotations

import numpy as np
import pytest

from playground.labelled import Axis, LabelledArray
from playground.thumbnail import COLUMNS, HIDDEN, PANELS, ROWS, TOP, thumbnail

RNG = np.random.default_rng(7)


def array(name, values):
    names = ("head", "query", "key")[-values.ndim :]
    axes = tuple(Axis(axis, tuple(map(str, range(size)))) for axis, size in zip(names, values.shape, strict=True))
    return LabelledArray(name, values, axes)


def test_signed_numbers_are_off_by_half_a_step_at_most():
    values = RNG.normal(size=(5, 7)).astype(np.float32)
    small = thumbnail(array("encoder.0.resid_mid", values))
    back = (small.cells[0].astype(float) * 2 / TOP - 1) * small.limit
    assert np.abs(back - values).max() <= small.limit / TOP + 1e-6
    assert small.limit == pytest.approx(np.abs(values).max())
    assert (small.shape, small.scale) == ((5, 7), "signed")


def test_zero_is_the_middle_whatever_the_range():
    small = thumbnail(array("x", np.array([[0.0, 3.0, -1.0]], dtype=np.float32)))
    assert small.cells.tolist() == [[[TOP // 2, TOP, 83]]]
    assert thumbnail(array("x", np.zeros((2, 3)))).cells.tolist() == [[[TOP // 2] * 3] * 2]


def test_weights_keep_their_range_of_0_to_1():
    small = thumbnail(array("encoder.0.self_attn.weights", np.full((2, 3, 5), 0.5)))
    assert (small.scale, small.limit) == ("weights", 1.0)
    assert set(small.cells.flat) == {TOP // 2}


def test_hidden_cells_say_why():
    hidden = np.array([["", "causal"], ["padding", ""]], dtype=object)
    small = thumbnail(array("weights", np.eye(2)), hidden)
    assert small.cells.tolist() == [[[TOP, HIDDEN["causal"]], [HIDDEN["padding"], TOP]]]


def test_no_number_is_taken_for_a_hidden_cell():
    values = np.array([[np.inf, -np.inf, np.nan, 2.0]])
    assert thumbnail(array("x", values)).cells.max() <= TOP < min(HIDDEN.values())


def test_a_large_tensor_is_pooled_and_its_strongest_cell_stays():
    values = np.zeros((3 * PANELS, 5 * ROWS + 1, 7 * COLUMNS + 3))
    values[2, 71, 511] = -4.0
    small = thumbnail(array("x", values))
    assert small.cells.shape == (PANELS, ROWS, COLUMNS)
    assert small.limit == 4.0
    assert (small.cells == 0).sum() == 1


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"a thumbnail needs 2 or 3 axes, but x has \['key'\]"):
        thumbnail(array("x", np.zeros(3)))
