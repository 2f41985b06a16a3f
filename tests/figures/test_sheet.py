"""What all figures share: they are the same anywhere, never take text for markup, and pack numbers without loss."""

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from playground.figures.curves import History, noam, noam_plain, training_curves, training_plain
from playground.figures.heatmap import heatmap, heatmap_plain
from playground.figures.sheet import literal, numbers, percent, plain, scale
from playground.figures.theme import DARK, LIGHT
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray

ROOT = Path(__file__).parents[2]
T = Translate("en")


def unpacked(packed: dict) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4")
    shape = [int(size) for size in packed.get("shape", str(len(values))).split(",")]
    return values.reshape(shape)


def attention() -> LabelledArray:
    values = np.array([[0.25, 0.75, 0.0], [0.5, 0.125, 0.375]], dtype=np.float32)
    return LabelledArray("weights", values, (Axis("query", ("le", "chat")), Axis("key", ("the", "cat", "⟨eos⟩"))))


def history(n: int = 7, **changes) -> History:
    step = np.arange(1.0, n + 1)
    columns = {"step": step, "loss": 5 / step, "learning_rate": step / 1000, "grad_norm": 1 / step}
    given = {
        "exact_match": ((3, 0.5), (7, 1.0)),
        "steps": 11,
        "chance": 5.41,
        "least": 0.86,
        "planned": ((1, 0.1), (11, 0.2)),
    }
    return History(**{**columns, **given, **changes})


FIGURES = {
    "heatmap": (heatmap(attention(), T, LIGHT), heatmap_plain(attention(), T, LIGHT)),
    "training": (training_curves(history(), T, LIGHT), training_plain(history(), T, LIGHT)),
    "narrow": (
        training_curves(history(), T, LIGHT, is_narrow=True),
        training_plain(history(), T, LIGHT, is_narrow=True),
    ),
    "noam": (noam(((1, 0.1), (2, 0.2)), T, DARK), noam_plain(((1, 0.1), (2, 0.2)), T, DARK)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_and_its_plain_data_are_one_picture(name):
    """Plotly's own checks take every property, and change none."""
    checked, made = FIGURES[name]
    shown = checked.to_plotly_json()
    made = json.loads(json.dumps(made, allow_nan=False))
    assert {"shapes": [], **shown["layout"], "template": {}} == {"shapes": [], **made["layout"]}
    assert list(shown["data"]) == made["data"]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_no_template_a_height_and_no_dragging(name):
    layout = FIGURES[name][1]["layout"]
    assert layout["template"] == {}
    assert layout["height"] > 0
    assert layout["dragmode"] is False
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert layout["uirevision"]


def test_figures_are_the_same_with_and_without_streamlit():
    code = """
import sys
{}
from tests.figures.test_sheet import FIGURES
import json
print(json.dumps({{name: figure.to_json() for name, (figure, _) in FIGURES.items()}}, sort_keys=True))
assert ("streamlit" in sys.modules) is {}
"""
    said = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code.format(first, there)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for first, there in (("", False), ("import streamlit, streamlit.elements.plotly_chart", True))
    ]
    assert said[0] == said[1]
    assert json.loads(said[0]).keys() == FIGURES.keys()


@pytest.mark.parametrize(
    "text", ["<b>bold</b>", "a & b", "\"quoted\" 'too'", "$x^2$", "&lt;", "a<br>b", "%{y}", "a_b", "‮evil"]
)
def test_text_opens_no_markup(text):
    shown = literal(text)
    assert not set("<>$") & set(shown)
    assert "\u202e" not in shown
    entities = {"&lt;": "<", "&gt;": ">", "&#36;": "$", "&amp;": "&"}
    for entity, sign in entities.items():
        shown = shown.replace(entity, sign)
    assert shown == text.replace("\u202e", "⟨U+202E⟩")


@pytest.mark.parametrize("values", [np.array([0.1, -2.5, 3e30]), np.arange(6.0).reshape(2, 3), np.array([np.nan, 1.0])])
def test_numbers_keep_every_bit_of_a_float32(values):
    np.testing.assert_array_equal(unpacked(numbers(values)), values.astype(np.float32))


def test_plain_takes_both():
    checked, made = FIGURES["noam"]
    assert plain(made) == made
    assert plain(checked)["data"][0]["x"] == made["data"][0]["x"]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_scales_begin_and_end_where_the_theme_says(theme):
    weights, signed = scale(theme, "weights"), scale(theme, "signed")
    assert [weights[0][1], weights[-1][1]] == [theme.background.lower(), theme.weights.lower()]
    assert [signed[0][1], signed[-1][1]] == [theme.negative.lower(), theme.positive.lower()]
    assert signed[len(signed) // 2] == [0.5, theme.background.lower()]
    assert [place for place, _ in weights] == sorted(place for place, _ in weights)


def test_the_scale_is_that_of_the_components():
    """Both sides, Python and JavaScript, mix the same colours."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, and there is none on this machine")
    script = (ROOT / "playground/ui/components/shared.js").read_text(encoding="utf-8")
    ask = (
        'console.log(JSON.stringify(Array.from({length: 17}, (_, i) => between("#FFFFFF", "#08306B", i / 16, 0.06))));'
    )
    command = [node, "--input-type=module", "-e", f"{script}\n{ask}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [colour for _, colour in scale(LIGHT, "weights")]


@pytest.mark.parametrize(
    ("share", "said"),
    [(1, "100%"), (0.9996, "99.9%"), (0.996, "99.6%"), (0.93, "93%"), (0.004, "0.4%"), (1e-5, "0.1%"), (0, "0%")],
)
def test_all_and_none_are_said_only_where_they_are_so(share, said):
    assert percent(share) == said
