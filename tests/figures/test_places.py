"""Pictures of places: the numbers in them, their labels, what they refuse."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from playground.figures.places import (
    Arrow,
    Curve,
    Dial,
    Strip,
    dials,
    map_of_places,
    over_distance,
    reach,
    wavelengths,
    waves,
)
from playground.figures.sheet import plain
from playground.figures.theme import DARK, LIGHT
from playground.i18n import LANGUAGES, Translate
from playground.labelled import Axis, LabelledArray
from playground.positions import between_places

T = Translate("en")


def unpacked(packed: Any) -> Any:
    """Return what `numbers` in sheet.py packed."""
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4")


def traces(figure: Any, **wanted: object) -> list[Any]:
    return [each for each in plain(figure)["data"] if all(each.get(name) == value for name, value in wanted.items())]


def texts(figure: Any) -> list[str]:
    return [each["text"] for each in plain(figure)["layout"]["annotations"]]


def test_a_map_of_places_has_few_ticks_and_marks_its_cell_and_diagonal():
    figure = map_of_places(between_places("x", np.arange(4096.0).reshape(64, 64)), T, LIGHT, at=(5, 2))
    paper = plain(figure)["layout"]
    assert list(paper["xaxis"]["ticktext"]) == [str(i) for i in range(0, 64, 4)]
    line, box = paper["shapes"]
    assert (box["x0"], box["x1"], box["y0"], box["y1"]) == (1.1, 2.9, 4.1, 5.9)
    assert (line["y0"] - line["x0"], line["y1"] - line["x1"]) == (3, 3)
    assert line["x0"] >= 0 and line["y1"] <= 63
    (drawn,) = traces(figure, type="heatmap")
    assert (drawn["zmin"], drawn["zmax"]) == (-4095, 4095)


def test_words_on_a_map_of_places_are_all_written():
    words = Axis("place", ("le", "chat", "<b>"))
    figure = map_of_places(LabelledArray("x", np.zeros((3, 2)), (words, Axis("d_model", ("0", "1")))), T, LIGHT)
    assert list(plain(figure)["layout"]["yaxis"]["ticktext"]) == ["le", "chat", "&lt;b&gt;"]


def strip(name: str, chosen: bool, n: int = 9) -> Strip:
    at = np.linspace(0, n - 1, 5 * n)
    return Strip(name, at, np.sin(at), np.cos(at), np.sin(np.arange(float(n))), chosen)


def test_waves_have_their_numbers_and_only_the_chosen_has_its_cosine():
    figure = waves([strip("one", False), strip("two", True)], T, LIGHT)
    assert len(traces(figure, name="cos · two")) == 1 and not traces(figure, name="cos · one")
    (dots,) = traces(figure, name="sin · one", mode="markers")
    np.testing.assert_allclose(unpacked(dots["y"]), np.sin(np.arange(9)), atol=1e-6)
    assert traces(figure, name="sin · two")[0]["yaxis"] == "y2"


def test_many_dots_are_left_out_except_on_the_chosen_wave():
    figure = waves([strip("one", False, 65), strip("two", True, 65)], T, LIGHT)
    assert [each["name"] for each in traces(figure, mode="markers")] == ["sin · two"]
    assert list(plain(figure)["layout"]["yaxis"]["ticktext"]) == ["one"]


@pytest.mark.parametrize("n", [0, 13])
def test_waves_and_dials_have_a_number_that_can_be_seen(n):
    with pytest.raises(ValueError, match=f"1 to 12 waves are drawn, but got {n}"):
        waves([strip("x", False)] * n, T, LIGHT)
    with pytest.raises(ValueError, match=f"1 to 12 dials are drawn, but got {n}"):
        dials([Dial("x", "", ())] * n, LIGHT)


def test_wavelengths_are_drawn_with_the_chosen_one_and_what_they_compare_with():
    figure = wavelengths(np.array([6.28, 63.0, 630.0]), 1, {"longest": 15.0}, T, LIGHT)
    line, spot = plain(figure)["data"]
    np.testing.assert_allclose(unpacked(line["y"]), [6.28, 63, 630], rtol=1e-6)
    assert list(spot["x"]) == [1] and list(spot["y"]) == [63.0]
    assert "longest" in texts(figure) and plain(figure)["layout"]["shapes"][0]["y0"] == 15


def test_strong_curves_are_drawn_over_the_others():
    x = np.arange(3.0)
    figure = over_distance([Curve("mean", x, x, strong=True), Curve("one", x, 2 * x)], "bias", T, LIGHT)
    assert [each["name"] for each in plain(figure)["data"]] == ["one", "mean"]
    np.testing.assert_allclose(unpacked(plain(figure)["data"][0]["y"]), [0, 2, 4])
    with pytest.raises(ValueError, match="at most 64 curves are drawn, but got 65"):
        over_distance([Curve("x", x, x)] * 65, "", T, LIGHT)


def test_an_arrow_ends_where_it_should_and_its_way_leads_there():
    turn = 2.5
    end = (np.cos(turn + 0.3), np.sin(turn + 0.3))
    figure = dials([Dial("a", "b", (Arrow("q", end, "#0072B2", turn),))], LIGHT)
    _, way, arrow = plain(figure)["data"]
    x, y = unpacked(arrow["x"]), unpacked(arrow["y"])
    assert (x[0], y[0]) == (0, 0)
    np.testing.assert_allclose([x[1], y[1]], end, atol=1e-6)
    angle = np.unwrap(np.arctan2(unpacked(way["y"]), unpacked(way["x"])))
    assert angle[-1] - angle[0] == pytest.approx(turn, abs=1e-4)
    assert angle[0] == pytest.approx(0.3, abs=1e-4)


def test_dials_stand_in_rows():
    figure = dials([Dial(str(i), "", (Arrow("q", (0.0, 0.0), "#000000", 1.0),)) for i in range(7)], LIGHT, columns=5)
    circles = [each for each in plain(figure)["data"] if len(unpacked(each["x"])) == 73]
    assert len(circles) == 7
    assert unpacked(circles[5]["x"]).mean() == pytest.approx(unpacked(circles[0]["x"]).mean(), abs=1e-6)
    assert unpacked(circles[5]["y"]).mean() < unpacked(circles[0]["y"]).mean() - 2


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_rule_that_refuses_ends_and_says_so(theme, language):
    t = Translate(language)
    right = {"learned": (1.0, 0.9, None), "alibi": (1.0, 0.9, 0.8)}
    figure = reach((2, 4, 6), right, {"learned": "L", "alibi": "A"}, 4, t, theme, chosen="alibi")
    curves = {each["name"]: unpacked(each["y"]) for each in plain(figure)["data"]}
    np.testing.assert_allclose(curves["A"], [1, 0.9, 0.8], rtol=1e-6)
    assert np.isnan(curves["L"][2])
    assert t("positions.longer.refuses", rule="L") in texts(figure) and "A" in texts(figure)
    shade = plain(figure)["layout"]["shapes"][0]
    assert (shade["x0"], shade["x1"]) == (1.7, 4.5)


def test_names_at_the_ends_do_not_cover_each_other():
    right = {rule: (1.0, level) for rule, level in zip("abcde", (0.2, 0.21, 0.19, 0.9, 0.2), strict=True)}
    figure = reach((2, 4), right, {rule: rule for rule in right}, 2, T, LIGHT, chosen="a")
    levels = sorted(each["y"] for each in plain(figure)["layout"]["annotations"] if each["text"] in right)
    assert min(np.diff(levels)) >= 0.074
