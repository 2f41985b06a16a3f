"""Layer by layer, and patterns as they come: every measurement is in the figure, with what it is compared to."""

from dataclasses import replace

import numpy as np
import pytest

from playground.figures.curves import training_plain
from playground.figures.emergence import Growth, emergence_plain
from playground.figures.layers import USUAL, Paces, layers_plain, part_title
from playground.figures.sheet import Figure
from playground.figures.theme import DARK, LIGHT
from playground.i18n import LANGUAGES, Translate
from tests.figures.test_sheet import history, unpacked

T = Translate("en")
PARTS = ("embedding", "encoder.0", "encoder.1", "decoder.0", "decoder.1")
STEPS = np.array([1, 20, 40])
VALUES = np.arange(1.0, 16.0).reshape(3, 5) / 100


def panels() -> list[Paces]:
    return [Paces("grads", STEPS, VALUES), Paces("updates", STEPS, VALUES / 10)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_part_has_a_curve_in_each_panel(language):
    t = Translate(language)
    figure = layers_plain(panels(), PARTS, t, DARK, steps=60, at=20)
    Figure(figure)
    data = figure["data"]
    assert [trace["name"] for trace in data] == 2 * [part_title(part, t) for part in PARTS]
    assert [trace["showlegend"] for trace in data] == 5 * [True] + 5 * [False]
    for number, trace in enumerate(data):
        np.testing.assert_array_equal(unpacked(trace["x"]), STEPS)
        expected = VALUES[:, number % 5] / (10 if number >= 5 else 1)
        np.testing.assert_allclose(unpacked(trace["y"]), expected, rtol=1e-6)
    assert {figure["layout"][name]["type"] for name in ("yaxis", "yaxis2")} == {"log"}
    assert [shape["y0"] for shape in figure["layout"]["shapes"]].count(USUAL) == 1
    assert [shape["x0"] for shape in figure["layout"]["shapes"]].count(20) == 2


def test_nothing_has_no_logarithm():
    zero = Paces("grads", STEPS, np.zeros((3, 5)))
    assert np.isnan(unpacked(layers_plain([zero], PARTS, T, LIGHT, steps=60)["data"][0]["y"])).all()


def test_what_does_not_fit_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match="3 steps"):
        Paces("grads", STEPS, VALUES[:2])
    with pytest.raises(ValueError, match="5 columns for 2 parts"):
        layers_plain(panels(), PARTS[:2], T, LIGHT, steps=60)


def growth(name: str, values, beats, clears) -> Growth:
    return Growth(name, np.array(values), np.full(3, 0.3), 0.2, beats, clears)


def test_each_head_is_a_line_and_a_dot_stands_where_it_first_beats_chance():
    lines = [growth("a", [0.1, 0.2, 0.9], 40, 40), growth("b", [0.1, 0.1, 0.1], None, None)]
    figure = emergence_plain(lines, (0, 10, 40), T, LIGHT, at=10)
    Figure(figure)
    curves = {trace["name"]: trace for trace in figure["data"] if trace["mode"] == "lines"}
    np.testing.assert_allclose(unpacked(curves["a"]["y"]), [0.1, 0.2, 0.9], rtol=1e-6)
    np.testing.assert_array_equal(unpacked(curves["a"]["x"]), [0, 1, 2])
    np.testing.assert_allclose(unpacked(curves[T("figure.shuffled")]["y"]), 0.3, rtol=1e-6)
    (dot,) = [trace for trace in figure["data"] if trace["mode"] == "markers"]
    assert (unpacked(dot["x"])[0], dot["hovertemplate"]) == (2, T("figure.beats", step="40"))
    assert figure["layout"]["xaxis"]["ticktext"] == ["0", "10", "40"]
    levels = [shape["y0"] for shape in figure["layout"]["shapes"]]
    assert levels[0] == pytest.approx(0.6)
    assert figure["layout"]["shapes"][-1]["x0"] == 1


def test_no_head_is_an_empty_picture_and_a_line_too_short_is_refused():
    Figure(emergence_plain([], (0, 10), T, LIGHT))
    with pytest.raises(ValueError, match="3 values for 2 steps"):
        emergence_plain([growth("a", [0.1, 0.2, 0.9], None, None)], (0, 10), T, LIGHT)


def test_the_loss_on_held_out_sentences_is_a_line_of_its_own():
    run = replace(history(), held_out=((1, 4.0), (2, 3.0)))
    (line,) = [trace for trace in training_plain(run, T, LIGHT)["data"] if trace["name"] == T("figure.held_out_loss")]
    np.testing.assert_allclose(unpacked(line["y"]), [4.0, 3.0])
    assert line["yaxis"] == "y"
