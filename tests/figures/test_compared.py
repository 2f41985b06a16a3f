"""Runs on one picture: the numbers in the figure are the runs' numbers, its words, its refusals."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from playground.figures.compared import DASHES, Course, compared, compared_plain
from playground.figures.curves import smoothed
from playground.figures.theme import DARK, LIGHT
from playground.i18n import LANGUAGES, Translate
from playground.runs import COLUMNS, RunStore

T = Translate("en")


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4")


def course(name: str = "A", n: int = 7, scale: float = 1.0) -> Course:
    columns = {each: np.arange(1.0, n + 1) * scale for each in COLUMNS}
    return Course(name, {**columns, "step": np.arange(1.0, n + 1)}, ((3, 0.5), (7, 1.0)), 11)


def test_what_is_drawn_are_the_runs_numbers():
    run = RunStore().open("reverse")
    drawn = compared_plain([Course("A", dict(run.metrics), run.exact_match, 1_200)], T, LIGHT)
    faint, mean, exact = drawn["data"]
    every = -(-len(run.metrics["loss"]) // 1_000)
    np.testing.assert_allclose(unpacked(faint["y"]), run.metrics["loss"][::every], rtol=1e-6)
    np.testing.assert_allclose(unpacked(mean["y"]), smoothed(run.metrics["loss"])[::every], rtol=1e-6)
    np.testing.assert_allclose(unpacked(exact["x"]), [step for step, _ in run.exact_match])
    np.testing.assert_allclose(unpacked(exact["y"]), [share for _, share in run.exact_match], rtol=1e-6)


def test_over_words_each_step_lies_where_its_words_end():
    drawn = compared_plain([course()], T, LIGHT, over="tokens")
    np.testing.assert_allclose(unpacked(drawn["data"][0]["x"]), [1, 3, 6, 10, 15, 21, 28])
    np.testing.assert_allclose(unpacked(drawn["data"][2]["x"]), [6, 28])


def test_a_rate_is_drawn_as_it_is():
    first, exact = compared_plain([course()], T, LIGHT, measure="learning_rate")["data"]
    np.testing.assert_allclose(unpacked(first["y"]), np.arange(1, 8))
    assert exact["yaxis"] == "y2"


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_four_runs_are_told_apart_by_colour_and_by_dash(theme):
    data = compared_plain([course(name) for name in "ABCD"], T, theme, measure="learning_rate")["data"]
    lines = [trace["line"] for trace in data if "yaxis" not in trace]
    assert [line["dash"] for line in lines] == list(DASHES)
    assert len({line["color"] for line in lines}) == 4


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_colours_can_be_seen_and_are_no_role_s(theme):
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    roles = {theme.query, theme.key, theme.value, theme.residual, theme.memory}
    for colour in theme.runs:
        light, dark = sorted((luminance(colour), luminance(theme.background)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3 and colour not in roles


def test_guessing_and_the_step_looked_at_are_lines():
    plain = compared_plain([course()], T, LIGHT, chance=3.5, at=5)["layout"]
    assert [(shape["y0"], shape.get("yref")) for shape in plain["shapes"][:2]] == [(0.99, "y2"), (3.5, "y")]
    assert plain["shapes"][2]["x0"] == 5
    assert any("3.50" in note["text"] for note in plain["annotations"])


def test_a_name_is_never_markup():
    drawn = compared_plain([course("<b>$x$")], T, LIGHT)
    assert all("<b>$" not in trace["name"] for trace in drawn["data"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_plotly_takes_it_in_every_language_and_width(language):
    for narrow in (False, True):
        figure = compared([course("A"), course("B", 3)], Translate(language), LIGHT, is_narrow=narrow)
        assert len(figure.data) == 6


def test_a_run_that_has_just_begun_is_drawn():
    empty = {name: np.empty(0) for name in COLUMNS}
    assert compared([Course("A", empty, (), 10)], T, LIGHT, over="seconds").data


def test_too_many_none_or_crooked_are_refused():
    for n in (0, 5):
        with pytest.raises(ValueError, match=f"there are {n}"):
            compared_plain([course()] * n, T, LIGHT)
    with pytest.raises(ValueError, match="equally long"):
        Course("A", {"step": np.ones(3), "loss": np.ones(2)}, (), 3)
