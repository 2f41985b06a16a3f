"""The Train page without a browser: what it says and offers, before a training and after one."""

import numpy as np
import pytest
import torch

from models import Transformer
from playground.i18n import LANGUAGES, Translate
from playground.plan import plan
from playground.runs import RunStore
from playground.tasks import TASKS
from playground.training import model_for
from playground.training.watching import peek
from playground.ui.train_controls import duration
from playground.ui.training import head_maps, history, marked, of_run

T = Translate("en")


@pytest.mark.parametrize(
    ("got", "wanted", "shown"),
    [
        ("le chat noir", "le chat noir", "le chat noir"),
        ("", "le chat", ""),
        ("chat chat chat", "le chat noir", "chat :red[chat chat]"),
        ("le chat rouge dort", "le chat noir dort", "le chat :red[rouge] dort"),
        ("两本书", "一本书", ":red[两]本书"),
        ("**b** $x$", "a c", r":red[\*\*b\*\* \$x\$]"),
    ],
)
def test_what_is_wrong_is_red_and_text_is_never_markup(got, wanted, shown):
    assert marked(got, wanted) == shown


def test_the_maps_have_the_words_at_their_sides_and_hide_what_comes_later():
    task = TASKS["english-french"]
    model = Transformer(model_for("english-french"), generator=torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        looked = peek(model, task, 0)
    encoder, decoder, cross = head_maps(looked, T)
    assert [len(each.layers) for each in (encoder, decoder, cross)] == [2, 2, 2]
    assert encoder.hidden is None
    assert cross.hidden is None
    assert decoder.hidden is not None
    hides = decoder.hidden == "causal"
    for array in decoder.layers:
        assert np.all(array.values[:, hides] == 0)
        assert np.all(array.values[:, ~hides] > 0)
    np.testing.assert_array_equal(cross.layers[1].values, looked.maps["decoder.1.cross_attn.weights"])
    first, *_, last = cross.layers[0].axis("query").labels
    assert first.startswith("⟨bos⟩ → ")
    assert last.endswith(" → ⟨eos⟩")


def test_a_recorded_step_is_seen_as_it_was():
    run = RunStore().open("english-french")
    early, late = of_run(run, run.steps[0]), of_run(run, run.steps[-1])
    assert not any(sample.right for sample in early.samples)
    assert all(sample.right for sample in late.samples)
    assert (early.at, late.at) == (0, None)
    assert early.peek is not None
    assert early.peek.step == 0
    assert len(history(late).step) == run.config.recipe.steps


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "about 1 s"), (8.4, "about 8 s"), (43, "about 45 s"), (170, "about 3 min")]
)
def test_a_time_is_no_more_precise_than_an_estimate(seconds, said):
    assert duration(seconds, T) == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_before_a_training_the_page_says_what_it_would_take(app, language):
    visitor = app("train", v="1", lang=language)
    assert not visitor.exception
    t = Translate(language)
    config = plan({})
    said = " ".join(each.value for each in visitor.markdown)
    assert f"{config.model.n_parameters:,}" in said
    assert visitor.button(key="train_start").label == t("train.start")


def test_a_setting_is_kept_in_the_link_and_comes_back_from_it(app):
    visitor = app("train")
    visitor.selectbox(key="train_pick_positions").set_value("none").run()
    assert visitor.query_params["positions"] == "none"
    again = app("train", v="1", positions="none", d_model="nonsense", steps="50")
    assert again.selectbox(key="train_pick_positions").value == "none"
    assert again.selectbox(key="train_pick_d_model").value == "64"
    assert again.selectbox(key="train_pick_steps").value == "50"


def test_what_differs_from_the_paper_is_explained(app):
    visitor = app("train", v="1", positions="none")
    told = " ".join(caption.value for caption in visitor.caption)
    assert T("train.why.positions", ours="none", paper="sinusoidal") in told.replace("\\", "")
    assert "paper: sinusoidal" in visitor.selectbox(key="train_pick_positions").label


def test_the_task_is_that_of_the_subject_until_one_is_chosen(app):
    visitor = app("train", v="1", run="reverse")
    assert visitor.selectbox(key="train_pick_task").value == "reverse"
    assert app("train", v="1", run="reverse", task="copy").selectbox(key="train_pick_task").value == "copy"


def test_a_device_that_is_not_here_is_not_offered(app):
    visitor = app("train", v="1", device="mps")
    assert "train_pick_device" not in [box.key for box in visitor.selectbox] or not torch.backends.mps.is_available()
    assert not visitor.exception
