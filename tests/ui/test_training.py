"""The Train page without a browser: what it says and offers, before a training and after one."""

import json

import numpy as np
import pytest
import torch

from models import Transformer
from playground.i18n import LANGUAGES, Translate
from playground.over_steps import film
from playground.plan import EXPERIMENTS, GROUPS, SETTINGS, plan
from playground.runs import RunStore
from playground.tasks import TASKS
from playground.training import model_for
from playground.training.watching import peek
from playground.ui.components.film import Reel, head_in, packed_film
from playground.ui.train_controls import duration
from playground.ui.train_views import head_maps, history, marked, reels
from playground.ui.training import of_run

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
    text = run.config.data.examples[0]
    early, late = of_run(run, run.steps[0], text), of_run(run, run.steps[-1], text)
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
    visitor = app("train", v="1", group="attention")
    visitor.selectbox(key="train_pick_positions").set_value("none").run()
    assert visitor.query_params["positions"] == "none"
    again = app("train", v="1", group="attention", positions="none")
    assert again.selectbox(key="train_pick_positions").value == "none"
    assert app("train", v="1", d_model="nonsense").selectbox(key="train_pick_d_model").value == "64"
    assert app("train", v="1", group="run", steps="50").selectbox(key="train_pick_steps").value == "50"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("group", GROUPS)
def test_each_setting_says_what_it_means_whose_it_is_and_what_the_paper_has(app, group, language):
    visitor = app("train", v="1", group=group, lang=language)
    assert not visitor.exception
    t = Translate(language)
    told = " ".join(caption.value for caption in visitor.caption)
    for name, setting in SETTINGS.items():
        if setting.group != group or name == "device":
            continue
        assert t.markdown(f"train.meaning.{name}") in told
        assert t.markdown(f"train.source.{name}") in told
        label = visitor.selectbox(key=f"train_pick_{name}").label
        assert t(f"train.setting.{name}") in label
        assert (setting.paper is None) == (t("train.paper", value="").strip() not in label)


def test_one_setting_is_put_back_and_so_are_all(app):
    visitor = app("train", v="1", group="size", d_model="128", n_heads="8", positions="none")
    visitor.button(key="train_reset_d_model").click().run()
    assert visitor.selectbox(key="train_pick_d_model").value == "64"
    assert visitor.query_params["n_heads"] == "8"
    assert visitor.button(key="train_reset_d_model").disabled
    visitor.button(key="train_reset_all").click().run()
    assert not {"n_heads", "positions"} & set(visitor.query_params)
    assert visitor.button(key="train_reset_all").disabled


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_sentence_sets_a_configuration(app, name):
    visitor = app("train", v="1", d_model="128")
    visitor.button(key=f"train_experiment_{name}").click().run()
    assert not visitor.exception
    (setting,) = EXPERIMENTS[name]
    assert visitor.query_params[setting] == EXPERIMENTS[name][setting]
    assert "d_model" not in visitor.query_params or setting == "d_model"


def test_a_model_that_is_too_large_is_refused_before_it_can_be_started(app):
    visitor = app("train", v="1", d_model="256", n_layers="6", d_ff="1024", n_experts="8")
    assert not visitor.exception
    assert visitor.button(key="train_start").disabled
    assert len(visitor.error) == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("depth", ["story", "numbers", "formula", "code"])
@pytest.mark.parametrize("panel", ["together", "layers", "film", "patterns", "words"])
def test_every_picture_opens_at_every_depth(app, panel, depth, language):
    visitor = app("train", v="1", panel=panel, depth=depth, lang=language, step="40")
    assert not visitor.exception


def test_a_text_of_ones_own_is_what_the_maps_are_of(app):
    visitor = app("train", v="1", text="the cat eats")
    assert not visitor.exception
    run = RunStore().open("english-french")
    looked = of_run(run, run.steps[-1], "the cat eats").peek
    assert looked is not None
    assert looked.src == ("the", "cat", "eats", "⟨eos⟩")


def test_the_film_has_the_maps_of_every_step(app):
    run = RunStore().open("reverse")
    shown = film(run, run.config.data.examples[0])
    found = reels(shown, T)
    assert [reel.id for reel in found] == ["encoder", "decoder", "cross"]
    encoder, decoder, cross = found
    assert (encoder.hidden, cross.hidden) == (None, None)
    assert decoder.hidden is not None
    assert (decoder.hidden == "causal").sum() == len(shown.tgt) * (len(shown.tgt) - 1) // 2
    np.testing.assert_array_equal(cross.layers[1], shown.maps["decoder.1.cross_attn.weights"])
    header = {"steps": list(shown.steps)}
    data = packed_film(header, found)
    size = int.from_bytes(data[:4], "little")
    assert json.loads(data[4 : 4 + size])["exact"]
    weights = np.frombuffer(data[4 + size :], dtype="<f4")
    np.testing.assert_array_equal(weights[: encoder.layers[0][0].size], encoder.layers[0][0].reshape(-1))
    with pytest.raises(ValueError, match="a film of 1 steps"):
        packed_film({"steps": [0]}, found)


@pytest.mark.parametrize(
    "sent", [None, "cross", ["cross", 0], ["cross", 0, 99], ["cross", -1, 0], ["x", 0, 0], [0, 0, 0]]
)
def test_a_head_that_is_none_is_not_taken_from_a_browser(sent):
    reel = Reel("cross", "", (np.zeros((1, 2, 3, 3), dtype=np.float32),), ("a",) * 3, ("a",) * 3)
    assert head_in(sent, [reel]) is None
    assert head_in(["cross", 0, 1], [reel]) == ("cross", 0, 1)


def test_the_task_is_that_of_the_subject_until_one_is_chosen(app):
    visitor = app("train", v="1", run="reverse")
    assert visitor.selectbox(key="train_pick_task").value == "reverse"
    assert app("train", v="1", run="reverse", task="copy").selectbox(key="train_pick_task").value == "copy"


def test_a_device_that_is_not_here_is_not_offered(app):
    visitor = app("train", v="1", device="mps")
    assert "train_pick_device" not in [box.key for box in visitor.selectbox] or not torch.backends.mps.is_available()
    assert not visitor.exception
