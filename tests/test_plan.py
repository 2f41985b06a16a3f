"""What may be chosen for a training: always something that can be trained, whatever a link says."""

import itertools

import pytest

from playground.plan import DEFAULTS, OPTIONS, PAPER, RECIPE, choices_of, chosen, departures, plan, planned_rates
from playground.recipe import Recipe, model_for
from playground.tasks import TASKS


def test_the_default_is_the_small_model_and_its_recipe():
    config = plan({})
    assert config.model == model_for(config.task)
    assert config.recipe == Recipe()


def test_every_default_is_an_option():
    assert {name: value in OPTIONS[name] for name, value in DEFAULTS.items()} == dict.fromkeys(OPTIONS, True)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, options in OPTIONS.items() for value in options])
def test_every_option_can_be_trained_and_read_back(name, value):
    assert choices_of(plan({name: value}))[name] == value


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


@pytest.mark.parametrize("steps", RECIPE["steps"])
@pytest.mark.parametrize("warmup", RECIPE["warmup"])
def test_the_schedule_begins_at_1_ends_at_the_last_step_and_has_its_peak(steps, warmup):
    config = plan({"steps": steps, "warmup": warmup})
    rates = planned_rates(config)
    assert (rates[0][0], rates[-1][0]) == (1, int(steps))
    best = max(rates, key=lambda pair: pair[1])
    assert best[0] == min(int(warmup), int(steps))
    # By hand: at its end the warm-up's line meets the root's curve.
    if int(warmup) <= int(steps):
        assert best[1] == pytest.approx(config.recipe.factor * 64**-0.5 * int(warmup) ** -0.5)
