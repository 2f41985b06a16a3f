"""The prepared experiments: each entry of the table, the recorded runs, and what their texts say of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from playground.comparing import GOOD, MOST, differences, learnt, shared
from playground.head import PLACES
from playground.i18n import LANGUAGES, Translate
from playground.prepared import (
    JUDGED_EVERY,
    MEASURES,
    OVER,
    PREPARED,
    RECORDED,
    SEEDS,
    experiment_name,
    measured,
    runs_of,
)
from playground.runs import EXPERIMENTS, RunStore
from playground.training.experiments import kept_steps, record_experiment
from playground.training.trainer import Trainer
from playground.ui.compare_views import expected, told

# What each comparison is about, and so all that its runs may differ in.
ABOUT = {
    "positions": {"positions"},
    "causal": {"causal"},
    "scaling": {"scale_scores", "n_heads"},
    "residual": {"residual"},
    "norm": {"norm_placement", "schedule"},
    "heads": {"n_heads"},
    "grouped": {"n_kv_heads"},
    "schedule": {"schedule", "factor"},
    "smoothing": {"label_smoothing"},
    "batch": {"batch_size"},
}

# Whose first weights or batches can't be the same, since a size of theirs is what differs.
DRAWN_ANEW = {"grouped", "batch"}


def shares(run_id: str) -> tuple[float, ...]:
    return measured()[run_id].shares


# --- The table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PREPARED)
def test_each_differs_in_what_it_is_about_and_in_nothing_else(name):
    prepared = PREPARED[name]
    configs = [RECORDED[run_id] for run_id in prepared.runs]
    assert prepared.id == name and 2 <= len(configs) <= MOST
    assert {each.name for each in differences(configs)} == ABOUT[name]
    same = shared(configs)
    assert same.seed and same.is_causal != (name in DRAWN_ANEW)
    assert prepared.measure in MEASURES and prepared.over in OVER and prepared.where in PLACES


def test_every_recorded_run_is_compared_with_something():
    assert {run_id for prepared in PREPARED.values() for run_id in prepared.runs} == set(RECORDED)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_has_its_words_with_what_was_measured(language):
    t = Translate(language)
    for prepared in PREPARED.values():
        assert told(prepared, t).count("\n") == len(prepared.runs) - 1
        assert "{" not in expected(prepared, t)
        assert t(f"experiments.{prepared.id}.try")
    assert len({experiment_name(run_id, t) for run_id in RECORDED}) == len(RECORDED)


# --- The recorded runs -----------------------------------------------------------------------------------------------


def test_they_are_those_of_the_table_and_at_most_12_megabytes():
    folders = {path.name for path in EXPERIMENTS.iterdir() if path.is_dir()}
    assert folders == set(RECORDED)
    assert sum(path.stat().st_size for path in EXPERIMENTS.rglob("*") if path.is_file()) <= 12e6


def test_they_open_by_their_ids_but_no_list_shows_them():
    store = RunStore()
    assert not {run.id for run in store.runs()} & set(RECORDED)
    for prepared in PREPARED.values():
        for run in runs_of(prepared):
            assert run.is_recording and run.config == RECORDED[run.id]
            assert run.progress.state == "finished"
            assert run.steps == kept_steps(run.id)
            assert len(run.metrics["loss"]) == run.config.recipe.steps
            assert [step for step, _ in run.exact_match] == [
                *range(JUDGED_EVERY, run.config.recipe.steps + 1, JUDGED_EVERY)
            ]
            for step in run.steps:
                assert run.weights(step)


def test_what_was_measured_is_what_the_recorded_runs_say():
    assert set(measured()) == set(RECORDED)
    for run_id, seeds in measured().items():
        run = RunStore().open(run_id)
        found = learnt(run.metrics, run.exact_match)
        assert (seeds.shares[0], seeds.steps[0]) == (round(found.share or 0, 4), found.step)
        assert seeds.losses[0] == pytest.approx(float(run.metrics["loss"][-20:].mean()), abs=1e-3)
        assert 1 <= len(seeds.shares) == len(seeds.steps) == len(seeds.losses) <= len(SEEDS)


def test_one_of_them_is_made_again_bit_for_bit():
    """On the processor that made it; another rounds otherwise, so what is held here is a few roundings."""
    run = RunStore().open("compare-base")
    trainer = Trainer(run.config)
    for name, weights in run.weights(0).items():
        torch.testing.assert_close(trainer.state_dict()[name], weights, atol=1e-6, rtol=1e-6)
    for step in range(10):
        report = trainer.advance()
        assert report.loss == pytest.approx(run.metrics["loss"][step], rel=1e-4)


def test_recording_twice_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tiny = RECORDED["compare-base"]
    tiny = type(tiny)(task=tiny.task, model=tiny.model, recipe=type(tiny.recipe)(steps=3))
    monkeypatch.setattr("playground.training.experiments.RECORDED", {"compare-base": tiny})
    monkeypatch.setattr("playground.training.experiments.SEEDS", range(1))
    monkeypatch.setattr("playground.training.experiments.JUDGED_EVERY", 3)
    monkeypatch.setattr("playground.training.experiments.JUDGED_ON", 3)
    files = []
    for _ in range(2):
        run = record_experiment("compare-base", tmp_path)
        assert run.steps == (0, 3) and run.progress.state == "finished" and len(run.exact_match) == 1
        files.append((tmp_path / "compare-base/weights/step-000003.safetensors").read_bytes())
        shutil.rmtree(tmp_path / "compare-base")
    assert files[0] == files[1]
    assert (tmp_path / "measured.json").is_file()


# --- What they show --------------------------------------------------------------------------------------------------


def test_without_positions_every_seed_ends_far_below():
    assert min(shares("compare-base")) >= 0.98
    assert max(shares("compare-no-positions")) <= 0.7


def test_a_model_that_looks_ahead_has_the_lower_loss_and_writes_nothing_right():
    opened, base = (sum(measured()[run_id].losses) for run_id in ("compare-look-ahead", "compare-base"))
    assert opened < base  # over all seeds; from one of them they end alike
    assert max(shares("compare-look-ahead")) == 0


def test_scaling_matters_where_heads_are_wide_and_hardly_where_they_are_narrow():
    assert min(shares("compare-wide")) - max(shares("compare-wide-unscaled")) > 0.5
    assert abs(measured()["compare-narrow"].share - measured()["compare-narrow-unscaled"].share) < 0.05


def test_without_residual_connections_nothing_is_learnt():
    assert max(shares("compare-no-residual")) == 0
    assert min(measured()["compare-no-residual"].losses) > 3


def test_only_post_norm_needs_the_warm_up():
    assert measured()["compare-post"].share >= 0.9
    assert measured()["compare-post-cold"].share <= 0.1
    assert min(shares("compare-pre") + shares("compare-pre-cold")) >= 0.9


def test_the_constant_peak_stays_behind_and_a_lower_constant_does_not():
    assert measured()["compare-constant"].share < measured()["compare-constant-low"].share
    assert measured()["compare-constant"].share < measured()["compare-base"].share


def test_heads_shared_keys_and_smoothing_change_little():
    for run_id in (
        "compare-one-head",
        "compare-eight-heads",
        "compare-grouped",
        "compare-one-key",
        "compare-no-smoothing",
    ):
        assert measured()[run_id].share >= 0.95


def test_large_batches_lead_over_steps_and_small_ones_over_words():
    runs = {run.config.recipe.batch_size: run for run in runs_of(PREPARED["batch"])}
    soon = {size: learnt(run.metrics, run.exact_match, 0.8) for size, run in runs.items()}
    assert soon[128].step < soon[32].step < soon[8].step
    assert soon[8].tokens < soon[32].tokens < soon[128].tokens


def test_good_is_what_the_texts_call_learnt():
    assert GOOD == 0.99
