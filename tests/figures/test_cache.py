"""Costs over length, bytes in bars and the roofline: the numbers in the figure, its words, its refusals."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from playground.figures.cache import Bar, Course, Panel, Spot, bars, panels, roofline
from playground.figures.sheet import Figure
from playground.figures.theme import DARK, LIGHT
from playground.i18n import Translate

T = Translate("en")


def read(packed):
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4").tolist()


def two_panels():
    words = Panel(
        "up", "across", (Course([0, 1, 2], [5, 7, 9], "one", "#123456"),), words=("a", "<b>", "c"), is_log=False
    )
    logs = (Course([16, 64, 256], [1, 4, 16], "grows", "#123456"), Course([16, 64, 256], [1, 1, 1], "stays", "#654321"))
    return [words, Panel("cost", "length", logs)]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("is_narrow", [False, True])
def test_each_line_has_its_numbers_and_stands_in_its_panel(theme, is_narrow):
    plain = panels(two_panels(), theme, is_narrow=is_narrow)
    Figure(plain)  # plotly takes it
    assert [(read(each["x"]), read(each["y"]), each["xaxis"]) for each in plain["data"]] == [
        ([0, 1, 2], [5, 7, 9], "x"),
        ([16, 64, 256], [1, 4, 16], "x2"),
        ([16, 64, 256], [1, 1, 1], "x2"),
    ]
    layout = plain["layout"]
    assert layout["xaxis"]["ticktext"] == ["a", "&lt;b&gt;", "c"] and "type" not in layout["xaxis"]
    assert layout["xaxis2"]["type"] == layout["yaxis2"]["type"] == "log"
    assert layout["xaxis2"]["tickvals"] == [16, 64, 256]
    across, up = layout["xaxis2"]["domain"], layout["yaxis2"]["domain"]
    assert (across == [0, 1]) == is_narrow and (up == [0, 1]) != is_narrow
    assert {"one", "grows", "stays", "up", "cost"} <= {each["text"] for each in layout["annotations"]}


def test_a_line_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="odd has 2 places across, but 1 upward"):
        panels([Panel("p", "x", (Course([1, 2], [1], "odd", "#000000"),))], LIGHT)
    with pytest.raises(ValueError, match="no panel"):
        panels([], LIGHT)


def test_bars_add_up_and_a_line_stands_at_the_limit():
    drawn = [Bar("8 tokens", (2.0, 1.0), "three"), Bar("16 tokens", (2.0, 2.0), "four", strong=True)]
    plain = bars(drawn, ["weights", "cache"], "GB", LIGHT, limits=[(3.5, "card")])
    Figure(plain)
    assert [read(each["x"]) for each in plain["data"]] == [[2, 2], [1, 2]]
    assert plain["layout"]["barmode"] == "stack" and plain["layout"]["yaxis"]["autorange"] == "reversed"
    assert [each["x0"] for each in plain["layout"]["shapes"]] == [3.5]
    assert [each["x"] for each in plain["layout"]["annotations"]] == [3.0, 4.0, 3.5]
    assert plain["data"][0]["marker"]["line"]["width"] == [0, 3]


def test_bars_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match=r"each bar has 2 parts, but got \[1\]"):
        bars([Bar("a", (1.0,), "")], ["x", "y"], "t", LIGHT)
    with pytest.raises(ValueError, match="no logarithmic scale"):
        bars([Bar("a", (1.0, 2.0), "")], ["x", "y"], "t", LIGHT, is_log=True)


def test_work_stands_under_the_roof():
    plain = roofline([Spot(1.0, "1", strong=True), Spot(100.0, "256")], flops=50.0, bandwidth=5.0, t=T, theme=LIGHT)
    Figure(plain)
    roof, work = plain["data"]
    assert read(work["y"]) == [5.0, 50.0]
    xs, ys = np.asarray(read(roof["x"])), np.asarray(read(roof["y"]))
    np.testing.assert_allclose(ys, np.minimum(50, 5 * xs), rtol=1e-5)
    assert xs[0] < 1.0 and xs[-1] > 100.0
    assert plain["layout"]["shapes"][0]["x0"] == 10.0  # the ridge: 50 / 5
    assert "10 operations a byte" in [each["text"] for each in plain["layout"]["annotations"]]


def test_a_machine_that_does_nothing_is_refused():
    with pytest.raises(ValueError, match="all is above 0"):
        roofline([Spot(1.0, "1")], flops=0.0, bandwidth=1.0, t=T, theme=LIGHT)
