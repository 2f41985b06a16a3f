"""What may be chosen for a training: always something that can be trained, whatever a link says."""

import itertools

import pytest

from models import ModelConfig, learning_rate
from playground.plan import (
    DEFAULTS,
    EXPERIMENTS,
    GROUPS,
    LIVE,
    OPTIONS,
    PAPER,
    SETTINGS,
    changed,
    choices_of,
    chosen,
    departures,
    notch,
    plan,
    planned_rate,
    planned_rates,
    repeated,
    value_of,
)
from playground.recipe import CHANGEABLE, Change, Recipe, RunRefused, model_for
from playground.tasks import TASKS


def test_the_default_is_the_small_model_and_its_recipe():
    config = plan({})
    assert config.model == model_for(config.task)
    assert config.recipe == Recipe()


def test_every_default_is_an_option():
    assert {name: value in OPTIONS[name] for name, value in DEFAULTS.items()} == dict.fromkeys(OPTIONS, True)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, options in OPTIONS.items() for value in options])
def test_every_option_can_be_trained_and_read_back(name, value):
    # What needs more of another setting is given it: four shared heads need eight, four experts of a word as many.
    room = {"n_kv_heads": {"n_heads": "8"}, "n_active": {"n_experts": "8", "d_model": "32"}}.get(name, {})
    # With Post-LN no norm after a stack is what follows.
    same = {"final_norm": {"no": "follows"}}.get(name, {})
    assert choices_of(plan({name: value} | room))[name] == same.get(value, value)


def test_every_field_of_a_model_and_of_a_recipe_can_be_set():
    """But what the task gives: words, length, padding, and which stacks there are."""
    given = {"vocab_size", "max_len", "pad_id", "architecture"}
    fields = {each.of for each in SETTINGS.values()}
    assert fields == (set(ModelConfig.__annotations__) - given) | set(Recipe.__annotations__)
    assert {each.group for each in SETTINGS.values()} == set(GROUPS)


def test_what_may_change_on_the_way_is_what_the_engine_takes_over():
    assert {SETTINGS[name].of for name in LIVE} == set(CHANGEABLE)
    for name in LIVE:
        for option in OPTIONS[name]:
            Change(1, SETTINGS[name].of, value_of(name, option))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_sentence_sets_one_thing_that_is_an_option_and_no_default(name):
    (setting,) = EXPERIMENTS[name]
    value = EXPERIMENTS[name][setting]
    assert value in OPTIONS[setting]
    assert value != DEFAULTS[setting]
    assert changed(EXPERIMENTS[name]) == (setting,)


def test_what_does_not_fit_together_is_made_to_fit():
    assert plan({"n_heads": "2", "n_kv_heads": "4"}).model.n_kv_heads == 2
    assert plan({"n_active": "4", "n_experts": "2"}).model.n_active == 2


def test_a_model_that_is_too_large_is_refused_in_words():
    largest = {"d_model": "256", "n_layers": "6", "d_ff": "1024", "n_experts": "8", "n_active": "2"}
    with pytest.raises(RunRefused) as refused:
        plan(largest)
    assert refused.value.key == "training.refused.size"


def test_a_notch_is_the_next_option_in_order_of_size():
    assert notch("factor", "0.5", -1) == "0.25"
    assert notch("factor", "0.3", -1) == "0.25"
    assert notch("warmup", "100", 2) == "400"
    assert notch("factor", "0.1", -1) is None
    assert notch("steps", "4000", 1) is None


def test_a_run_can_be_repeated_but_for_one_thing():
    run = plan({"d_model": "128", "warmup": "10"})
    again = repeated(run, {}, warmup="200")
    assert again == {"d_model": "128", "warmup": "200"}
    assert plan(again).recipe.warmup == 200


@pytest.mark.parametrize("schedule", OPTIONS["schedule"])
def test_the_planned_rate_is_the_models_own_formula(schedule):
    config = plan({"schedule": schedule, "steps": "200"})
    made = {"d_model": 64, "warmup": 100, "factor": 0.5, "steps": 200}
    assert planned_rate(config, 37) == learning_rate(37, schedule=schedule, **made)


def test_the_ends_of_the_sizes_fit_together():
    sizes = [(OPTIONS[name][0], OPTIONS[name][-1]) for name in ("d_model", "n_heads", "n_layers", "d_ff")]
    for d_model, n_heads, n_layers, d_ff in itertools.product(*sizes):
        for positions in OPTIONS["positions"]:
            picks = {"d_model": d_model, "n_heads": n_heads, "n_layers": n_layers, "d_ff": d_ff, "positions": positions}
            assert plan(picks).model.n_parameters > 0


@pytest.mark.parametrize("nonsense", ["", "-1", "1e9", "__class__", 64, None, ["64"], "٦٤"])
def test_nonsense_is_the_default(nonsense):
    picks = dict.fromkeys(OPTIONS, nonsense) | {"unknown": "x"}
    assert chosen(picks) == DEFAULTS


def test_departures_are_those_from_the_paper():
    assert departures(plan({}))["d_model"] == ("64", "512")
    assert "norm_placement" not in departures(plan({}))
    assert departures(plan({"norm_placement": "pre"}))["norm_placement"] == ("pre", "post")
    assert set(PAPER) < set(OPTIONS)


def test_a_task_brings_its_own_vocabulary():
    for task in TASKS:
        assert plan({"task": task}).model.vocab_size == len(TASKS[task].vocabulary.tokens)


@pytest.mark.parametrize("steps", OPTIONS["steps"])
@pytest.mark.parametrize("warmup", OPTIONS["warmup"])
def test_the_schedule_begins_at_1_ends_at_the_last_step_and_has_its_peak(steps, warmup):
    config = plan({"steps": steps, "warmup": warmup})
    rates = planned_rates(config)
    assert (rates[0][0], rates[-1][0]) == (1, int(steps))
    best = max(rates, key=lambda pair: pair[1])
    assert best[0] == min(int(warmup), int(steps))
    # By hand: at its end the warm-up's line meets the root's curve.
    if int(warmup) <= int(steps):
        assert best[1] == pytest.approx(config.recipe.factor * 64**-0.5 * int(warmup) ** -0.5)
