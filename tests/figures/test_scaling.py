"""Curves over d_k and bars: the numbers in the figure, its words, its refusals."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from playground.figures.scaling import Bars, Panel, bars, brief, colours, scaling_curves
from playground.figures.theme import DARK, LIGHT
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray

T = Translate("en")
SIZES = (1, 2, 4)


def panels(n=4):
    return [Panel(f"p{i}", [i + 1, i + 2, i + 3], [0.5, 0.6, 0.7], [1, 2, 4], "law", is_log=i == 0) for i in range(n)]


def read(packed):
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4")


def weights(*values, labels=None):
    labels = labels or tuple(map(str, range(len(values))))
    return LabelledArray("w", np.asarray(values, dtype=np.float32), (Axis("key", labels),))


def test_every_curve_holds_its_numbers():
    data = scaling_curves(SIZES, panels(), 2, T, LIGHT).to_plotly_json()["data"]
    assert len(data) == 12
    for i in range(4):
        law, undivided, divided = data[3 * i : 3 * i + 3]
        np.testing.assert_allclose(read(law["y"]), [1, 2, 4])
        np.testing.assert_allclose(read(undivided["y"]), [i + 1, i + 2, i + 3])
        np.testing.assert_allclose(read(divided["y"]), [0.5, 0.6, 0.7], rtol=1e-6)
        assert [undivided["line"]["color"], divided["line"]["color"]] == [*colours(LIGHT)]
        assert undivided["marker"]["symbol"] != divided["marker"]["symbol"]


@pytest.mark.parametrize("is_narrow", [False, True])
def test_the_chosen_size_is_marked_and_its_values_are_written(is_narrow):
    paper = scaling_curves(SIZES, panels(), 2, T, DARK, is_narrow=is_narrow).to_plotly_json()["layout"]
    assert [shape["x0"] for shape in paper["shapes"]] == [1] * 4
    texts = [note["text"] for note in paper["annotations"]]
    assert texts.count("0.600") == 4
    assert {"2.00", "3.00", "4.00", "5.00"} <= set(texts)


def test_sizes_and_panels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="d_k = 3 is none of"):
        scaling_curves(SIZES, panels(), 3, T, LIGHT)
    with pytest.raises(ValueError, match="4 panels, not 3"):
        scaling_curves(SIZES, panels(3), 2, T, LIGHT)
    with pytest.raises(ValueError, match=r"needs 2 values of each kind, but has \[3\]"):
        scaling_curves((1, 2), panels(), 2, T, LIGHT)


def test_bars_hold_their_numbers_and_their_words_literally():
    labels = ("<b>le</b>", "$x$")
    shown = [
        Bars("T = 1", weights(0.25, 0.75, labels=labels), is_divided=False),
        Bars("÷ √d_k", weights(0.5, 0.5, labels=labels), is_divided=True),
    ]
    figure = bars(shown, LIGHT, title="<i>").to_plotly_json()
    np.testing.assert_allclose(read(figure["data"][0]["x"]), [0.25, 0.75])
    np.testing.assert_allclose(read(figure["data"][1]["x"]), [0.5, 0.5])
    assert list(figure["layout"]["yaxis"]["ticktext"]) == ["&lt;b&gt;le&lt;/b&gt;", "&#36;x&#36;"]
    assert figure["layout"]["annotations"][0]["text"] == "&lt;i&gt;"
    assert figure["data"][1]["name"] == "÷ √d<sub>k</sub>"
    assert list(figure["layout"]["xaxis"]["range"]) == [0, 1]


def test_bars_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="one axis with the same labels"):
        bars([Bars("a", weights(1.0), False), Bars("b", weights(0.5, 0.5), True)], LIGHT)
    with pytest.raises(ValueError, match="65 bars; at most 64"):
        bars([Bars("a", weights(*[0.0] * 65), False)], LIGHT)


def test_numbers_are_written_out_with_three_digits():
    assert [brief(x) for x in (1, 63.42, 432.1, 999.7, 1023.6, 0.0568)] == [
        "1.00",
        "63.4",
        "432",
        "1,000",
        "1,024",
        "0.0568",
    ]
