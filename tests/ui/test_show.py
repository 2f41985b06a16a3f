"""The one way a figure reaches the screen, and the bytes of the attention grid: what the browser is sent."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from playground.figures.theme import LIGHT
from playground.i18n import LANGUAGES, Translate
from playground.labelled import Axis, LabelledArray
from playground.ui.components.attention_grid import MOST_CELLS, MOST_EXACT, HeadMaps, packed_maps

T = Translate("en")
WORDS = ("<b>", "$x$", "le")


def layer(heads=2, query=WORDS, key=("the", "cat"), seed=0) -> LabelledArray:
    raw = np.random.default_rng(seed).random((heads, len(query), len(key)), dtype=np.float32)
    axes = (Axis("head", tuple(map(str, range(heads)))), Axis("query", query), Axis("key", key))
    return LabelledArray("w", raw / raw.sum(axis=-1, keepdims=True), axes)


def opened(payload: bytes) -> tuple[dict, bytes]:
    size = int.from_bytes(payload[:4], "little")
    return json.loads(payload[4 : 4 + size]), payload[4 + size :]


def test_the_grid_is_sent_every_bit_of_every_weight():
    group = HeadMaps("cross", "Cross", (layer(seed=1), layer(seed=2)))
    header, body = opened(packed_maps({"groups": [group.plain(T)]}, [group]))
    assert header["exact"] is True
    wanted = np.concatenate([array.values.reshape(-1) for array in group.layers])
    np.testing.assert_array_equal(np.frombuffer(body, "<f4"), wanted)
    assert header["groups"][0]["rows"]["labels"] == list(WORDS)


def test_more_than_the_exact_ones_are_rounded_and_said_to_be():
    labels = tuple(map(str, range(120)))
    group = HeadMaps("encoder", "E", (layer(3, labels, labels),))
    assert group.layers[0].values.size > MOST_EXACT
    header, body = opened(packed_maps({}, [group]))
    assert header["exact"] is False
    rounded = np.frombuffer(body, np.uint8) / 255
    assert np.abs(rounded - group.layers[0].values.reshape(-1)).max() <= 0.5 / 255 + 1e-6


def test_hidden_cells_go_as_letters():
    hidden = np.array([["", "causal"], ["padding", ""], ["", ""]], dtype=object)
    assert HeadMaps("decoder", "D", (layer(),), hidden).plain(T)["hidden"] == ".cp..."


def test_maps_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match=r"one shape \[head, query, key\], but have"):
        HeadMaps("cross", "C", (layer(2), layer(3)))
    with pytest.raises(ValueError, match=r"are \(3, 2\), but its hidden cells are \(2, 2\)"):
        HeadMaps("cross", "C", (layer(),), np.full((2, 2), "", dtype=object))
    labels = tuple(map(str, range(1001)))
    wide = LabelledArray(
        "w", np.zeros((4, 1001, 1001), np.float32), (Axis("head", ("0",) * 4), *(Axis("pos", labels),) * 2)
    )
    with pytest.raises(ValueError, match=f"{wide.values.size} cells; at most {MOST_CELLS}"):
        packed_maps({}, [HeadMaps("encoder", "E", (wide,))])


def _page() -> None:
    import numpy as np
    import streamlit as st

    from playground.figures.heatmap import heatmap
    from playground.figures.theme import LIGHT
    from playground.i18n import Translate
    from playground.labelled import Axis, LabelledArray
    from playground.ui.show import show

    t = Translate(st.query_params["lang"])
    array = LabelledArray("w", np.eye(2, dtype=np.float32), (Axis("query", ("<i>", "b")), Axis("key", ("c", "d"))))
    show(heatmap(array, t, LIGHT), key="map", alt="what it is", caption=t.markdown("figure.value"), t=t, theme=LIGHT)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_figure_is_shown_with_its_description_and_its_caption(language):
    visitor = AppTest.from_function(_page)
    visitor.query_params["lang"] = language
    visitor.run()
    assert not visitor.exception
    assert [caption.value for caption in visitor.caption] == [Translate(language)("figure.value")]
    (element,) = visitor.get("bidi_component")
    data = json.loads(element.proto.json)
    assert data["alt"] == "what it is"
    assert data["filename"] == "map"
    assert data["plotly"] == "/assets/plotly.min.js"
    assert data["theme"]["background"] == LIGHT.background
    assert data["figure"]["layout"]["yaxis"]["ticktext"][0] == "&lt;i&gt;"
    assert {"png", "svg", "csv", "save", "box", "reset"} <= data["words"].keys()
