"""Learning rates that a page draws: the published peaks, both branches, and the rates that a run wrote down."""

from dataclasses import replace

import numpy as np
import pytest

from models import SCHEDULES, learning_rate, noam_rate
from playground.recipe import Change, Recipe, RunConfig, model_for
from playground.runs import RunStore
from playground.schedule import OTHERS, PUBLISHED, SPEEDS, Setting, factor_changes, logged, own_setting, planned

RECORDINGS = [run.id for run in RunStore().runs()]


def test_the_papers_peak():
    assert PUBLISHED["base"].peak == pytest.approx(6.99e-4, rel=1e-3)
    assert PUBLISHED["big"].peak == pytest.approx(6.99e-4 / 2**0.5, rel=1e-3)
    assert PUBLISHED["tensor2tensor"].peak == pytest.approx(2 * 6.99e-4 / 2**0.5, rel=1e-3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_setting_can_be_chosen_part_by_part(name):
    setting = PUBLISHED[name]
    said = (f"{setting.d_model}", f"{setting.warmup}", f"{setting.factor:g}", f"{setting.steps}")
    assert all(value in offered for value, offered in zip(said, SPEEDS.values(), strict=True))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_curve_has_the_rates_of_the_model_at_its_steps(schedule):
    setting = Setting(d_model=48, warmup=70, factor=0.5, steps=900)
    curve = setting.curve(schedule)
    steps = [int(label) for label in curve.axis("step").labels]
    assert steps[0] == 1 and steps[-1] == 900 and 70 in steps and steps == sorted(set(steps))
    wanted = [learning_rate(s, schedule=schedule, d_model=48, warmup=70, factor=0.5, steps=900) for s in steps]
    np.testing.assert_allclose(curve.values, wanted)
    assert curve.values.max() <= setting.peak * (1 + 1e-9)


def test_noam_is_the_lower_of_both_branches_which_meet_at_the_warm_up():
    setting = Setting(d_model=48, warmup=70, factor=2.0, steps=900)
    rising, falling = setting.branches()
    np.testing.assert_allclose(np.minimum(rising.values, falling.values), setting.curve("noam").values)
    at = list(setting.at).index(70)
    assert rising.values[at] == pytest.approx(falling.values[at])
    assert rising.values[at] == pytest.approx(setting.peak)


def test_noam_is_not_offered_beside_itself():
    assert {"noam", *OTHERS} == set(SCHEDULES)


@pytest.mark.parametrize("run_id", RECORDINGS)
def test_a_recorded_run_wrote_down_the_rates_of_its_schedule(run_id):
    run = RunStore().open(run_id)
    setting, steps, rates = own_setting(run.config), run.metrics["step"], run.metrics["learning_rate"]
    wanted = [noam_rate(int(s), d_model=setting.d_model, warmup=setting.warmup, factor=setting.factor) for s in steps]
    np.testing.assert_allclose(rates, wanted, rtol=1e-8)
    kept = logged(steps, rates)
    labels = [int(label) for label in kept.axis("step").labels]
    assert labels[0] == 1 and labels[-1] == steps[-1] and len(labels) <= 60
    np.testing.assert_array_equal(kept.values, rates[np.array(labels) - 1])
    assert not logged(steps[:0], rates[:0]).values.size


def test_a_change_on_the_way_changes_the_rates_from_its_step_on():
    config = RunConfig(task="reverse", model=model_for("reverse"), recipe=Recipe(steps=50, factor=0.5, warmup=10))
    changed = replace(config, changes=(Change(20, "factor", 2.0),))
    plain, other = planned(config, 40), planned(changed, 40)
    np.testing.assert_allclose(plain, [own_setting(config).rate(step) for step in range(1, 41)])
    np.testing.assert_allclose(other[:19], plain[:19])
    np.testing.assert_allclose(other[19:], 4 * plain[19:])
    assert factor_changes(changed) == ((20, 2.0),) and factor_changes(config) == ()
