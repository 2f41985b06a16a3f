"""Heat maps: the figure has the numbers of the array, words stand at the cells, and hidden is never a number."""

import numpy as np
import pytest

from playground.figures.heatmap import MOST_CELLS, heatmap_plain
from playground.figures.theme import DARK, LIGHT
from playground.i18n import LANGUAGES, Translate
from playground.labelled import Axis, LabelledArray
from tests.figures.test_sheet import unpacked

T = Translate("en")


def array(values, rows=("le", "chat", "le"), cols=("the", "cat")) -> LabelledArray:
    return LabelledArray("w", np.asarray(values, dtype=np.float32), (Axis("query", rows), Axis("key", cols)))


WEIGHTS = [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]]


def test_the_numbers_are_in_the_figure():
    figure = heatmap_plain(array(WEIGHTS), T, LIGHT)
    np.testing.assert_array_equal(unpacked(figure["data"][0]["z"]), np.float32(WEIGHTS))


def test_cells_sit_at_positions_and_words_are_tick_text():
    """A word that occurs twice has two rows."""
    layout = heatmap_plain(array(WEIGHTS), T, LIGHT)["layout"]
    assert layout["yaxis"]["tickvals"] == [0, 1, 2]
    assert layout["yaxis"]["ticktext"] == ["le", "chat", "le"]
    assert layout["yaxis"]["autorange"] == "reversed"
    assert layout["xaxis"]["side"] == "top"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_axes_say_what_they_are(language):
    t = Translate(language)
    layout = heatmap_plain(array(WEIGHTS), t, DARK)["layout"]
    assert layout["yaxis"]["title"]["text"] == t("axis.query")
    assert layout["xaxis"]["title"]["text"] == t("axis.key")


def test_labels_are_shown_literally():
    labels = ("<b>x</b>", "$a$ & b")
    layout = heatmap_plain(array(WEIGHTS, cols=labels), T, LIGHT)["layout"]
    assert layout["xaxis"]["ticktext"] == ["&lt;b&gt;x&lt;/b&gt;", "&#36;a&#36; &amp; b"]


def test_weights_go_from_0_to_1_and_any_other_range_is_written():
    drawn = heatmap_plain(array(WEIGHTS), T, LIGHT)["data"][0]
    assert (drawn["zmin"], drawn["zmax"]) == (0, 1)
    assert "title" not in drawn["colorbar"]
    signed = heatmap_plain(array([[-2.5, 1], [0, 0], [1, 2]]), T, LIGHT, kind="signed")["data"][0]
    assert (signed["zmin"], signed["zmax"]) == (-2.5, 2.5)
    assert signed["colorbar"]["title"]["text"] == T("figure.range", low="−2.5", high="2.5")
    chosen = heatmap_plain(array(WEIGHTS), T, LIGHT, limits=(0.0, 0.5))["data"][0]
    assert chosen["colorbar"]["title"]["text"] == T("figure.range", low="0", high="0.5")


def test_a_hidden_cell_is_on_a_layer_of_its_own_with_its_reason():
    hidden = np.array([["", "causal"], ["", ""], ["padding", ""]], dtype=object)
    figure = heatmap_plain(array(WEIGHTS), T, LIGHT, hidden=hidden)
    shown, causal, rising, padding, falling = figure["data"]
    np.testing.assert_array_equal(np.isnan(unpacked(shown["z"])), hidden != "")
    np.testing.assert_array_equal(~np.isnan(unpacked(causal["z"])), hidden == "causal")
    np.testing.assert_array_equal(~np.isnan(unpacked(padding["z"])), hidden == "padding")
    assert [rising["name"], falling["name"]] == [T("matrix.causal"), T("matrix.padding")]
    assert figure["layout"]["showlegend"] is True

    def slope(hatch):
        # Rows run downward, so a line that goes up on the screen has a falling row.
        return (hatch["y"][1] - hatch["y"][0]) / (hatch["x"][1] - hatch["x"][0])

    assert slope(rising) < 0 < slope(falling)
    assert "%{z" not in causal["hovertemplate"]


def test_minus_infinity_and_nan_are_gaps():
    shown = heatmap_plain(array([[-np.inf, 1], [np.nan, 0], [np.inf, 0]]), T, LIGHT)["data"][0]
    assert np.isnan(unpacked(shown["z"])[:, 0]).all()


def test_what_does_not_fit_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"needs 2 axes, but w has \['key'\]"):
        heatmap_plain(array(WEIGHTS).select(query=0), T, LIGHT)
    wide = LabelledArray(
        "w", np.zeros((2, MOST_CELLS)), (Axis("pos", ("a", "b")), Axis("d_model", ("0",) * MOST_CELLS))
    )
    with pytest.raises(ValueError, match=f"{2 * MOST_CELLS} cells; at most {MOST_CELLS}"):
        heatmap_plain(wide, T, LIGHT)
    with pytest.raises(ValueError, match=r"\(3, 2\), but its hidden cells are \(2, 2\)"):
        heatmap_plain(array(WEIGHTS), T, LIGHT, hidden=np.full((2, 2), "", dtype=object))
