"""Curves: every measurement is in the figure, the lines to compare with stand where they should."""

import itertools

import numpy as np
import pytest

from playground.figures.curves import MOST_POINTS, noam_plain, smoothed, training_plain
from playground.figures.theme import DARK, LIGHT
from playground.i18n import LANGUAGES, Translate
from tests.figures.test_sheet import history, unpacked

T = Translate("en")


def said(figure) -> list[str]:
    return [note["text"] for note in figure["layout"]["annotations"]]


def test_smoothing_by_hand():
    """Span 3: a new value counts half. Without bias: 4, then (2·1 + 1·4)/3, …"""
    np.testing.assert_allclose(smoothed(np.array([4.0, 1.0, 1.0]), span=3), [4.0, 2.0, 10 / 7])


def test_smoothing_leaves_what_does_not_change():
    np.testing.assert_allclose(smoothed(np.full(13, 2.5)), 2.5)
    assert len(smoothed(np.empty(0))) == 0


def test_every_measurement_is_in_the_figure():
    run = history()
    raw, smooth, exact, planned, rate, norm = training_plain(run, T, LIGHT)["data"]
    for trace, values in (
        (raw, run.loss),
        (smooth, smoothed(run.loss)),
        (rate, run.learning_rate),
        (norm, run.grad_norm),
    ):
        np.testing.assert_array_equal(unpacked(trace["x"]), run.step)
        np.testing.assert_allclose(unpacked(trace["y"]), values, rtol=1e-6)
    np.testing.assert_allclose(unpacked(exact["y"]), [0.5, 1.0])
    np.testing.assert_allclose(unpacked(planned["y"]), [0.1, 0.2], rtol=1e-6)


@pytest.mark.parametrize("language", LANGUAGES)
def test_guessing_and_the_least_loss_are_lines_with_their_numbers(language):
    t = Translate(language)
    figure = training_plain(history(), t, DARK)
    assert {shape["y0"] for shape in figure["layout"]["shapes"]} == {5.41, 0.86}
    assert t("figure.chance", loss="5.41") in said(figure)
    assert t("figure.least", loss="0.86") in said(figure)


def test_the_last_values_stand_at_their_panels():
    notes = said(training_plain(history(), T, LIGHT))
    assert "100%" in notes
    assert "0.007" in notes
    assert T("figure.exact_match") in notes


def test_the_scales_stand_still_while_the_run_goes_on():
    early, late = (training_plain(history(n), T, LIGHT)["layout"] for n in (2, 7))
    for name in ("xaxis", "yaxis", "yaxis2"):
        assert early[name]["range"] == late[name]["range"]
    assert early["xaxis"]["range"] == [0, 11]
    assert early["uirevision"] == late["uirevision"]
    assert early["uirevision"] != training_plain(history(7, steps=13), T, LIGHT)["layout"]["uirevision"]


def test_a_loss_that_blows_up_does_not_flatten_the_rest():
    run = history(loss=np.array([5.4, 5.0, 4.0, 1e6, np.inf, np.nan, 3.0]))
    assert training_plain(run, T, LIGHT)["layout"]["yaxis"]["range"][1] < 12


def test_the_step_looked_at_is_marked_in_every_panel():
    shapes = training_plain(history(at=3), T, LIGHT)["layout"]["shapes"]
    assert [(shape["xref"], shape["x0"]) for shape in shapes if shape["x0"] == 3] == [("x", 3), ("x2", 3)]


def test_a_run_without_measurements_has_a_picture():
    figure = training_plain(history(0, exact_match=(), planned=()), T, LIGHT)
    assert all(len(unpacked(trace["x"])) == 0 for trace in figure["data"])


def test_a_long_run_is_thinned_and_says_so():
    n = 2 * MOST_POINTS + 5
    raw, smooth, *_ = training_plain(history(n, steps=n), T, LIGHT)["data"]
    assert len(unpacked(raw["x"])) <= MOST_POINTS
    assert unpacked(raw["x"])[-1] == n
    assert raw["name"] == T("figure.loss_every", n=3)
    # Smoothed before it is thinned.
    np.testing.assert_allclose(unpacked(smooth["y"])[-1], smoothed(history(n).loss)[-1], rtol=1e-6)


def test_a_narrow_paper_has_the_same_data():
    wide, narrow = (training_plain(history(), T, LIGHT, is_narrow=choice) for choice in (False, True))
    assert wide["data"] == narrow["data"]
    ends = [narrow["layout"][name]["domain"] for name in ("yaxis4", "yaxis3", "yaxis2", "yaxis")]
    assert all(low[1] < high[0] for low, high in itertools.pairwise(ends))


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="'loss': 2"):
        history(loss=np.array([1.0, 2.0]))


def test_the_schedule_says_its_peak():
    figure = noam_plain(((1, 0.002), (100, 0.00625), (600, 0.0026)), T, LIGHT, at=50)
    assert T("figure.peak", rate="0.00625", step="100") in said(figure)
    assert figure["layout"]["shapes"][0]["x0"] == 50


@pytest.mark.parametrize("planned", [(), ((1, np.nan),), ((1, np.inf),)])
def test_a_schedule_without_finite_rates_is_refused(planned):
    with pytest.raises(ValueError, match="finite rates"):
        noam_plain(planned, T, LIGHT)
