"""Comparing runs: what differs, what is the same, how soon each was good, and maps over the same words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from models import ModelConfig, Recorder, Transformer
from playground.comparing import (
    best_aligned,
    changed,
    differences,
    first_weights,
    learnt,
    minus,
    names,
    offered,
    phrase,
    read_together,
    settings,
    shared,
)
from playground.i18n import LANGUAGES, Translate
from playground.labelled import Axis, LabelledArray
from playground.recipe import Change, Recipe, RunConfig, model_for
from playground.runs import RunStore
from playground.subject import Subject
from playground.training.trainer import Trainer

SMALL = {"d_model": 8, "n_heads": 2, "d_ff": 8, "n_layers": 1}


def config(task: str = "reverse", *, recipe: Recipe | None = None, **choices: object) -> RunConfig:
    return RunConfig(task=task, model=model_for(task, **{**SMALL, **choices}), recipe=recipe or Recipe(steps=30))


def recipe(**choices: object) -> Recipe:
    return Recipe(**{"steps": 30, **choices})


# --- In what they differ ---------------------------------------------------------------------------------------------


def test_a_training_does_not_differ_from_itself():
    assert differences([config(), config()]) == ()


def test_one_changed_setting_is_the_one_difference():
    (found,) = differences([config(), config(positions="none")])
    assert (found.name, found.values) == ("positions", ("sinusoidal", "none"))


def test_what_follows_a_setting_is_no_difference_of_its_own():
    assert [each.name for each in differences([config(n_heads=2), config(n_heads=4)])] == ["n_heads"]
    assert [each.name for each in differences([config(), config(norm_placement="pre")])] == ["norm_placement"]
    assert [each.name for each in differences([config(), config("copy")])] == ["task"]


def test_what_was_set_by_hand_is_one():
    found = differences([config(n_heads=4), config(n_heads=2, n_kv_heads=1)])
    assert [each.name for each in found] == ["n_heads", "n_kv_heads"]


def test_the_number_of_steps_counts_only_where_the_rate_depends_on_it():
    assert differences([config(), config(recipe=recipe(steps=40))]) == ()
    long, short = (config(recipe=recipe(steps=steps, schedule="cosine")) for steps in (40, 30))
    assert [each.name for each in differences([long, short])] == ["steps"]


def test_three_runs_keep_their_order():
    (found,) = differences([config(recipe=recipe(batch_size=size)) for size in (5, 3, 7)])
    assert found.values == (5, 3, 7)


def test_a_change_on_the_way_counts_as_it_is_at_the_end():
    then = replace(config(), changes=(Change(11, "label_smoothing", 0.0),))
    (found,) = differences([config(), then])
    assert (found.name, found.values) == ("label_smoothing", (0.1, 0.0))


def test_every_setting_has_words_in_every_language():
    """Whatever field differs, it is told in words and not as a name of the code."""
    told = {name: value for name, value in settings(config()).items() if name != "pad_id"}  # of every task alike
    for language in LANGUAGES:
        t = Translate(language)
        for name, value in told.items():
            assert " = " not in phrase(name, value, t), f"{name} has no words in {language}"


def test_names_say_what_sets_each_apart():
    t = Translate("en")
    assert names([config(), config(positions="none")], t) == ("sinusoidal positions", "no positions")
    assert names([config(), config()], t) == ("", "")
    assert names([config(), config(n_heads=4, scale_scores=False)], t)[1] == "heads: 4, scores not scaled"


# --- What they share -------------------------------------------------------------------------------------------------


def test_first_weights_are_those_of_the_trainer():
    one = config(recipe=recipe(seed=5))
    trained = Trainer(one).state_dict()
    found = first_weights(one.model, 5)
    assert found.keys() == trained.keys()
    assert all(torch.equal(found[name], trained[name]) for name in found)


@pytest.mark.parametrize(
    "choices", [{"positions": "none"}, {"causal": False}, {"residual": False}, {"scale_scores": False}, {"n_heads": 1}]
)
def test_a_change_that_draws_nothing_leaves_everything_else_the_same(choices):
    found = shared([config(), config(**choices)])
    assert found.is_causal and found.until == 0 and found.same == found.tensors > 0


def test_a_norm_placed_elsewhere_has_the_same_weights_besides_its_last_norms():
    found = shared([config(), config(norm_placement="pre")])
    assert found.is_causal and found.tensors == len(first_weights(config().model, 0))


def test_narrower_keys_draw_other_numbers_and_that_is_said():
    found = shared([config(), config(n_kv_heads=1)])
    assert found.seed and found.batches and not found.is_causal
    assert 0 < found.same < found.tensors


def test_another_seed_or_batch_is_said():
    assert not shared([config(), config(recipe=recipe(seed=1))]).seed
    other = shared([config(), config(recipe=recipe(batch_size=3))])
    assert other.seed and not other.batches and not other.is_causal


def test_a_change_on_the_way_parts_the_runs_there():
    then = replace(config(), changes=(Change(11, "factor", 2.0),))
    found = shared([config(), then])
    assert found.is_causal and found.until == 10
    assert shared([config(), config()]).until is None


def test_a_batch_size_changed_on_the_way_is_said():
    then = replace(config(), changes=(Change(11, "batch_size", 7),))
    assert not shared([config(), then]).batches


# --- How soon --------------------------------------------------------------------------------------------------------


def test_learnt_is_the_first_measured_step_that_is_good():
    metrics = {name: np.array(values, dtype=float) for name, values in COLUMNS.items()}
    found = learnt(metrics, [(2, 0.5), (3, 0.99), (5, 0.75)])
    assert (found.step, found.seconds, found.tokens) == (3, 0.75, 23)
    assert (found.share, found.at) == (0.75, 5)


def test_never_learnt_and_never_measured():
    metrics = {name: np.array(values, dtype=float) for name, values in COLUMNS.items()}
    found = learnt(metrics, [(2, 0.5)])
    assert (found.step, found.seconds, found.tokens, found.share) == (None, None, None, 0.5)
    assert learnt(metrics, []).share is None


COLUMNS = {"step": [1, 2, 3, 4, 5], "tokens": [5, 7, 11, 13, 17], "seconds": [0.25, 0.5, 0.75, 1.0, 1.25]}


# --- Over the same words ---------------------------------------------------------------------------------------------


@pytest.fixture
def pair(make_run, runs) -> tuple[Subject, Subject]:
    ids = [make_run("reverse", steps=(0,), **SMALL), make_run("reverse", steps=(0,), **SMALL, positions="none")]
    return tuple(Subject(RunStore().open(each), 0, "a b c") for each in ids)


def test_all_models_read_the_right_translation(pair):
    together = read_together(pair)
    assert together.is_gold and together.given == ("⟨bos⟩", "c", "b", "a")
    assert [reading.tgt for reading in together.readings] == [together.given] * 2


def test_maps_are_those_of_the_models_over_these_words(pair):
    together = read_together(pair)
    name = "decoder.0.cross_attn.weights"
    for subject, reading in zip(pair, together.readings, strict=True):
        vocabulary = subject.task.vocabulary
        ids = [torch.tensor([vocabulary.encode(words)]) for words in (reading.src, reading.tgt)]
        seen = Recorder()
        with torch.no_grad():
            subject.model(*ids, tap=seen)
        np.testing.assert_array_equal(reading[name].values, seen.tensors[name][0].numpy())


def test_the_difference_is_the_second_less_the_first(pair):
    first, second = (reading["decoder.0.cross_attn.weights"].select(head=1) for reading in read_together(pair).readings)
    apart = minus(second, first)
    np.testing.assert_array_equal(apart.values, second.values - first.values)
    assert apart.axes == first.axes and not minus(first, first).values.any()


def test_maps_over_other_words_are_not_subtracted():
    one, other = (
        LabelledArray("weights", np.ones((1, 2)), (Axis("query", ("a",)), Axis("key", keys)))
        for keys in (("b", "c"), ("b", "d"))
    )
    with pytest.raises(ValueError, match="other words"):
        minus(one, other)


def test_other_sentences_are_not_compared(pair, make_run):
    other = Subject(RunStore().open(make_run("reverse", steps=(0,), **SMALL)), 0, "c b a")
    with pytest.raises(ValueError, match="one sentence"):
        read_together((pair[0], other))


def test_the_best_aligned_head_is_the_one_that_lays_most_weight_there(pair):
    reading = read_together(pair).readings[0]
    weights = reading["decoder.0.cross_attn.weights"].values  # [head, query, key]
    alignment = ((0, 2), (1, 1), (2, 0))
    on_it = [np.mean([head[row, column] for row, column in alignment]) for head in weights]
    assert best_aligned(reading, alignment) == (0, int(np.argmax(on_it)))


# --- What a fork changes ---------------------------------------------------------------------------------------------


def test_changed_settings_are_changed_and_no_others():
    then = changed(config(), {"positions": "none", "batch_size": "8", "train_causal": "no"})
    assert {each.name: each.values[1] for each in differences([config(), then])} == {
        "positions": "none",
        "causal": False,
        "batch_size": 8,
    }


def test_key_heads_follow_the_heads_unless_they_were_set():
    assert changed(config(n_heads=2), {"n_heads": "4"}).model.n_kv_heads == 4
    assert changed(config(n_heads=2, n_kv_heads=1), {"n_heads": "4"}).model.n_kv_heads == 1
    assert changed(config(n_heads=4, n_kv_heads=2), {"n_kv_heads": "all"}).model.n_kv_heads == 4


def test_only_other_values_that_fit_are_offered():
    assert offered(config(), {}, "positions") == ("learned", "rotary", "alibi", "none")
    assert offered(config(d_model=6, n_heads=2), {}, "n_heads") == ("1",)  # 4 and 8 do not divide 6
    assert "4" not in offered(config(n_heads=2), {}, "n_kv_heads")


def test_a_model_of_the_defaults_is_the_paper():
    """The phrases of a comparison read the same fields that a configuration has."""
    assert settings(config()).keys() >= {*ModelConfig.__dataclass_fields__, *Recipe.__dataclass_fields__}
    assert isinstance(Transformer(config().model), torch.nn.Module)
