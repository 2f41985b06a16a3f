"""Words as points: the numbers in the figure, its words, its refusals."""

import base64

import numpy as np
import pytest

from playground.figures.scatter import scatter
from playground.figures.theme import DARK, LIGHT
from playground.labelled import Axis, LabelledArray

WORDS = ("<b>le</b>", "chat", "$x$", "noir & blanc", "cat")


def points(n=5) -> LabelledArray:
    values = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    words = WORDS if n == 5 else tuple(map(str, range(n)))
    return LabelledArray("plane", values, (Axis("vocab", words), Axis("component", ("0", "1"))))


def read(packed):
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4")


def test_every_point_stands_where_its_numbers_say():
    figure = scatter(points(), {"one": [0, 2], "two": [1, 3, 4]}, [1], titles=("a", "b"), theme=LIGHT).to_plotly_json()
    np.testing.assert_array_equal(read(figure["data"][0]["x"]), [0, 4])
    np.testing.assert_array_equal(read(figure["data"][0]["y"]), [1, 5])
    np.testing.assert_array_equal(read(figure["data"][1]["x"]), [2, 6, 8])
    assert list(figure["data"][1]["text"]) == ["chat", "", ""]


def test_words_are_never_markup():
    figure = scatter(points(), {"<i>": [0, 2, 3]}, [0, 2, 3], titles=("a", "b"), theme=DARK).to_plotly_json()
    assert list(figure["data"][0]["text"]) == ["&lt;b&gt;le&lt;/b&gt;", "&#36;x&#36;", "noir &amp; blanc"]
    assert figure["data"][0]["name"] == "&lt;i&gt;"


def test_groups_differ_in_shape_as_well_as_colour():
    figure = scatter(points(), {"one": [0], "two": [1], "three": [2]}, [], titles=("a", "b"), theme=LIGHT)
    marks = [trace["marker"] for trace in figure.to_plotly_json()["data"]]
    assert len({mark["symbol"] for mark in marks}) == len({mark["color"] for mark in marks}) == 3


def test_too_many_points_and_too_many_dimensions_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match="5001 points; at most 5000"):
        scatter(points(5001), {}, [], titles=("a", "b"), theme=LIGHT)
    wide = LabelledArray("w", np.zeros((1, 3)), (Axis("vocab", ("a",)), Axis("component", ("0", "1", "2"))))
    with pytest.raises(ValueError, match=r"2 components, but w is \(1, 3\)"):
        scatter(wide, {}, [], titles=("a", "b"), theme=LIGHT)
