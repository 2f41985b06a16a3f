"""Laws of a run: it can be broken off, forked and changed, and still is what its configuration says, bit for bit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

from models import label_smoothed_loss
from playground.parts import parts
from playground.recipe import (
    CHANGEABLE,
    MAX_CHANGES,
    MAX_FORKS,
    Change,
    Recipe,
    RunConfig,
    RunRefused,
    changed,
    differences,
    forked,
    model_for,
)
from playground.runs import COLUMNS, Progress, Run, RunStore, RunWriter, can_fork
from playground.training.recording import Recording
from playground.training.trainer import CLOSER_EVERY, POOL, Order, Report, Trainer, watching

STEPS = 47
CONFIG = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=STEPS, batch_size=5, warmup=7, seed=3),
)
RECORDED = (0, 10, 20, 40, STEPS)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def whole(store: RunStore) -> Run:
    """A run that nothing disturbed. Not to be changed."""
    return trained(store, store.create(CONFIG).run_id)


@pytest.fixture
def folder(whole: Run, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(whole.path, tmp_path / "copied")


def trained(
    store: RunStore, run_id: str, until: int | None = None, change: dict[int, dict[str, float]] | None = None
) -> Run:
    """Go on with a run to its end, or break it off after a step; `change` are settings that are changed after steps."""
    recording = Recording.continued(RunWriter(store.root / run_id))
    if until != recording.trainer.step:
        for report in recording.run():
            for name, value in (change or {}).get(report.step, {}).items():
                recording.change(name, value)
            if report.step == until:
                recording.writer.flush()
                break
        else:
            recording.end(Progress("finished", recording.trainer.step))
    return store.open(run_id)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def assert_same(one: Run, other: Run) -> None:
    """All that was measured and recorded is the same, but the time it took."""
    assert one.steps == other.steps
    for step in one.steps:
        assert same(one.weights(step), other.weights(step)), step
    for name in COLUMNS[:-1]:
        np.testing.assert_array_equal(one.metrics[name], other.metrics[name])
    assert one.held_out_loss == other.held_out_loss
    np.testing.assert_array_equal(one.part_grads, other.part_grads)
    np.testing.assert_array_equal(one.part_updates, other.part_updates)


# --- Recording -------------------------------------------------------------------------------------------------------


def test_recording_changes_nothing(whole):
    trainer = Trainer(CONFIG)
    losses = [report.loss for report in trainer.run()]
    assert same(trainer.state_dict(), whole.weights(STEPS))
    np.testing.assert_allclose(losses, whole.metrics["loss"], rtol=1e-8)


def test_snapshots_are_what_was_trained_with_at_that_step():
    """Without dropout, the loss of a step is that of the weights recorded before it, on the step's own batch."""
    config = replace(CONFIG, model=replace(CONFIG.model, dropout=0.0))
    trainer, other = Trainer(config), Trainer(config)
    for _ in range(20):
        trainer.advance()
        other._order.batch(5)
    model = Trainer(config).model
    model.load_state_dict(trainer.state_dict())
    batch = other._order.batch(5)
    with watching(model):
        logits = model(*(torch.from_numpy(ids) for ids in batch.read))
    report = trainer.advance()
    assert isinstance(report, Report) and report.step == 21
    assert label_smoothed_loss(logits, torch.from_numpy(batch.tgt_out), 0, 0.1).item() == pytest.approx(report.loss)


def test_recorded_weights_are_those_of_the_step(whole):
    trainer = Trainer(CONFIG)
    for step in RECORDED:
        while trainer.step < step:
            trainer.advance()
        assert same(trainer.state_dict(), whole.weights(step))
    assert whole.steps == whole.state_steps == RECORDED


# --- A closer look ----------------------------------------------------------------------------------------------------


def test_a_closer_look_measures_each_part(whole):
    assert whole.parts == parts(CONFIG.model) == ("embedding", "encoder.0", "decoder.0")
    assert whole.part_steps.tolist() == [1, CLOSER_EVERY, 2 * CLOSER_EVERY]
    assert [step for step, _ in whole.held_out_loss] == whole.part_steps.tolist()
    # All parts together are the whole model.
    norms = whole.metrics["grad_norm"][whole.part_steps - 1]
    np.testing.assert_allclose(np.linalg.norm(whole.part_grads, axis=1), norms, rtol=1e-5)


def test_an_update_is_measured_against_the_weights_before_it(whole):
    """The oracle: weights of two trainers, one of which has made a step more."""
    before, after = Trainer(CONFIG), Trainer(CONFIG)
    while after.step < CLOSER_EVERY:
        after.advance()
    while before.step < CLOSER_EVERY - 1:
        before.advance()
    old, new = before.state_dict(), after.state_dict()
    for part, measured in zip(whole.parts, whole.part_updates[1], strict=True):
        stack, _, layer = part.partition(".")
        names = [name for name in old if name.startswith(f"{stack}.layers.{layer}." if layer else stack)]
        moved = sum(float(((new[name] - old[name]) ** 2).sum()) for name in names)
        assert measured == pytest.approx(
            (moved / sum(float((old[name] ** 2).sum()) for name in names)) ** 0.5, rel=1e-4
        )


def test_held_out_loss_is_that_of_held_out_sentences_without_dropout(whole):
    trainer = Trainer.restored(whole, 20)
    batch = trainer.task.encode(trainer.task.heldout[:64])
    model = whole.model(20)
    logits = model(*(torch.from_numpy(ids) for ids in batch.read))
    wanted = label_smoothed_loss(logits, torch.from_numpy(batch.tgt_out), 0, 0.1).item()
    assert dict(whole.held_out_loss)[20] == pytest.approx(wanted) == pytest.approx(trainer.held_out_loss())


@pytest.mark.parametrize(
    "choices", [{"tied": False, "norm_placement": "pre"}, {"positions": "learned", "unembed_bias": True}]
)
def test_every_weight_is_in_one_part(choices):
    config = replace(CONFIG, model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=2, **choices))
    report = Trainer(config).advance()
    assert isinstance(report, Report) and report.closer
    assert len(report.closer.grads) == len(report.closer.updates) == len(parts(config.model))
    assert np.linalg.norm(report.closer.grads) == pytest.approx(report.grad_norm, rel=1e-5)


# --- Broken off and resumed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 10, 33])
def test_a_run_that_was_broken_off_becomes_what_it_would_have_become(store, whole, step):
    run_id = store.create(CONFIG).run_id
    broken = trained(store, run_id, until=step)
    assert len(broken.metrics["loss"]) == step
    assert_same(trained(store, run_id), whole)


def test_a_run_that_is_broken_off_again_and_again_becomes_what_it_would_have_become(store, whole):
    run_id = store.create(CONFIG).run_id
    for step in (3, 12, 12, 25, 39, 41):
        trained(store, run_id, until=step)
    assert_same(trained(store, run_id), whole)


def test_a_run_goes_on_from_where_it_was_put_by(store, whole):
    run_id = store.create(CONFIG).run_id
    recording = Recording.continued(RunWriter(store.root / run_id))
    for report in recording.run():
        if report.step == 33:
            recording._put_by_now()
        if report.step == 36:
            break
    recording.writer.flush()
    state = store.open(run_id).furthest()
    assert state and state.step == 33 and max(store.open(run_id).steps) == 20
    assert_same(trained(store, run_id), whole)
    assert not (whole.path / "latest.safetensors").exists()


def test_a_torn_line_is_no_hindrance(store, whole):
    run_id = store.create(CONFIG).run_id
    path = trained(store, run_id, until=13).path / "metrics.jsonl"
    path.write_bytes(path.read_bytes() + b'{"step": 14, "lo')
    assert_same(trained(store, run_id), whole)


def test_what_was_done_again_is_told_apart_from_what_went_on(store, whole):
    """A run that kept no state is made again from its seed; where the weights differ, the recorded ones are taken."""
    bare = without_state(store, whole)
    told: list[int] = []
    trainer = Trainer.restored(bare, 20, between=told.append)
    assert told == list(range(1, 21)) and trainer.is_exact
    for _ in trainer.run():
        pass
    assert same(trainer.state_dict(), whole.weights(STEPS))

    path = bare.path / "weights" / "step-000020.safetensors"
    weights = bare.weights(20)
    weights["embedding"][3, 5] += 1e-6
    path.write_bytes(safetensors.torch.save(weights))
    bare = store.open(bare.id)
    other = Trainer.restored(bare, 20)
    assert not other.is_exact and same(other.state_dict(), weights)

    child = trained(store, store.fork(bare, 20, forked(bare.config, bare.id, 20)), until=25)
    assert not child.is_exact and not trained(store, child.id).is_exact
    assert trained(store, store.fork(bare, 10, forked(bare.config, bare.id, 10))).is_exact


def without_state(store: RunStore, run: Run) -> Run:
    """A copy as recordings are: weights, and no state."""
    path = shutil.copytree(run.path, store.root / RunStore.new_id())
    shutil.rmtree(path / "state")
    plain = json.loads((path / "run.json").read_text())
    for later in ("changes", "origin", "is_exact"):
        del plain[later]
    del plain["recipe"]["schedule"]
    (path / "run.json").write_text(json.dumps(plain))
    return store.open(path.name)


def test_shipped_recordings_are_made_again_exactly_or_it_is_said():
    run = RunStore().open("reverse")
    assert not run.state_steps and run.furthest() is None and run.config.recipe.schedule == "noam"
    trainer = Trainer.restored(run, 10)
    assert same(trainer.state_dict(), run.weights(10))
    assert trainer.is_exact == same(Trainer.replayed(run.config, 10).state_dict(), run.weights(10))


def test_a_run_of_before_has_none_of_what_was_measured_later(folder):
    path = folder / "metrics.jsonl"
    kept = [line for line in path.read_text().splitlines(keepends=True) if '"accuracy"' in line]
    path.write_text("".join(kept))
    run = Run.load(folder)
    assert len(run.metrics["loss"]) == STEPS and run.held_out_loss == () and run.gradients.shape[0] == 0
    assert len(run.part_steps) == 0 and run.part_grads.shape == run.part_updates.shape == (0, 3)


# --- Forks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", RECORDED[:-1])
def test_an_unchanged_fork_is_the_original(store, whole, step):
    child = store.fork(whole, step, forked(whole.config, whole.id, step))
    fresh = store.open(child)
    assert fresh.progress == Progress("running", step) and fresh.steps == (
        (*RECORDED[: RECORDED.index(step) + 1],) if step else ()
    )
    assert_same(trained(store, child), whole)
    assert store.open(child).config.origin.run_id == whole.id


def test_a_fork_of_a_run_without_state_is_the_original(store, whole):
    bare = without_state(store, whole)
    child = trained(store, store.fork(bare, 20, forked(bare.config, bare.id, 20)), until=21)
    assert 20 in child.state_steps, "what was made again once need not be made again"
    assert_same(trained(store, child.id), whole)


def test_a_fork_shares_what_was_and_learns_from_the_same_sentences(store, whole):
    config = forked(whole.config, whole.id, 20, recipe=replace(CONFIG.recipe, factor=2.0))
    child = trained(store, store.fork(whole, 20, config))
    for step in (0, 10, 20):
        assert same(child.weights(step), whole.weights(step))
    assert not same(child.weights(40), whole.weights(40))
    np.testing.assert_array_equal(child.metrics["tokens"], whole.metrics["tokens"])
    np.testing.assert_array_equal(child.metrics["loss"][:21], whole.metrics["loss"][:21])
    np.testing.assert_allclose(child.metrics["learning_rate"][20:], 4 * whole.metrics["learning_rate"][20:])


SETTINGS = [
    {"scale_scores": False},
    {"causal": False},
    {"residual": False},
    {"dropout": 0.0},
    {"positions": "none"},
    {"activation": "gelu"},
    {"n_heads": 2},
    {"schedule": "cosine", "warmup": 3},
    {"beta2": 0.999, "eps": 1e-6, "label_smoothing": 0.0},
    {"batch_size": 7},
    {"steps": 60},
    {"steps": 25},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: "-".join(each))
def test_a_forks_configuration_makes_all_of_it_again(store, whole, settings):
    """From the seed, without the run that it was forked from: the steps before it, the switch, the steps after."""
    new = changed(whole.config, settings)
    assert can_fork(whole.config, settings) == dict.fromkeys(settings, True)
    config = forked(whole.config, whole.id, 20, model=new.model, recipe=new.recipe)
    child = trained(store, store.fork(whole, 20, config))
    assert child.config == config == RunConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    last = config.recipe.steps
    assert same(Trainer.replayed(config, last).state_dict(), child.weights(last))
    again = trained(store, child.id)
    assert again.steps[-1] == last and same(again.weights(20), whole.weights(20))


def test_a_fork_of_a_fork_is_whole(store, whole):
    one = forked(whole.config, whole.id, 10, model=replace(CONFIG.model, scale_scores=False))
    first = trained(store, store.fork(whole, 10, one), change={12: {"factor": 0.9}, 30: {"dropout": 0.3}})
    two = forked(first.config, first.id, 20, recipe=replace(CONFIG.recipe, label_smoothing=0.0))
    second = trained(store, store.fork(first, 20, two))
    assert second.config.generation == 2
    assert second.config.at(10).model.scale_scores and not second.config.at(11).model.scale_scores
    assert [second.config.at(step).recipe.factor for step in (12, 13, 47)] == [0.5, 0.9, 0.9]
    assert [second.config.at(step).model.dropout for step in (30, 31)] == [0.1, 0.3]
    assert [second.config.at(step).recipe.label_smoothing for step in (20, 21)] == [0.1, 0.0]
    assert same(Trainer.replayed(second.config, STEPS).state_dict(), second.weights(STEPS))


def test_the_folder_of_a_fork_outlives_its_origin(store, whole):
    parent = store.fork(whole, 20, forked(whole.config, whole.id, 20))
    child = store.fork(store.open(parent), 10, forked(store.open(parent).config, parent, 10))
    store.remove(parent)
    assert_same(trained(store, child), whole)


def test_a_fork_where_nothing_can_be_linked_is_copied(store, whole, monkeypatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError

    monkeypatch.setattr("os.link", refuse)
    child = store.fork(whole, 20, forked(whole.config, whole.id, 20))
    assert_same(trained(store, child), whole)


def test_settings_that_need_weights_of_their_own_are_told_and_refused(store, whole):
    settings = {"d_model": 24, "n_layers": 2, "seed": 4, "factor": 2.0, "tied": False}
    answer = can_fork(CONFIG, settings)
    assert answer == {"d_model": False, "n_layers": False, "seed": False, "factor": True, "tied": False}
    assert can_fork(CONFIG, {"norm_placement": "pre"}) == {"norm_placement": False}  # it ends in a norm
    assert can_fork(CONFIG, {"norm_placement": "pre", "final_norm": False}) == {
        "norm_placement": True,
        "final_norm": True,
    }
    new = changed(CONFIG, {"d_model": 24})
    config = forked(CONFIG, whole.id, 20, model=new.model)
    with pytest.raises(RunRefused, match="fresh names='d_model'"):
        store.fork(whole, 20, config)
    child = trained(store, store.fork(whole, 0, forked(CONFIG, whole.id, 0, model=new.model)))
    assert child.weights(0)["embedding"].shape[1] == 24
    np.testing.assert_array_equal(child.metrics["tokens"], whole.metrics["tokens"])


def test_a_fork_of_what_is_not_there_is_refused(store, whole):
    with pytest.raises(RunRefused, match="no_step step=11"):
        store.fork(whole, 11, forked(CONFIG, whole.id, 11))
    with pytest.raises(RunRefused, match="range name='steps' value=47 low=48"):
        forked(CONFIG, whole.id, STEPS)
    with pytest.raises(RunRefused, match="setting name='colour'"):
        changed(CONFIG, {"colour": 1})
    with pytest.raises(RunRefused, match="training.refused.model"):
        changed(CONFIG, {"n_heads": 5})


def test_forks_of_forks_come_to_an_end():
    config = CONFIG
    for _ in range(MAX_FORKS):
        config = forked(config, "a-run", 0)
    with pytest.raises(RunRefused, match="forks high=16"):
        forked(config, "a-run", 0)


def test_differences_name_both_values():
    other = changed(CONFIG, {"scale_scores": False, "factor": 2.0})
    assert differences(CONFIG, other) == {"scale_scores": (True, False), "factor": (0.5, 2.0)}


def test_what_follows_another_setting_follows_it_still():
    assert changed(CONFIG, {"n_heads": 2}).model.n_kv_heads == 2
    assert changed(changed(CONFIG, {"n_kv_heads": 1}), {"n_heads": 2}).model.n_kv_heads == 1
    assert changed(CONFIG, {"norm_placement": "pre"}).model.final_norm


# --- Changes on the way -----------------------------------------------------------------------------------------------

CHANGES: dict[int, dict[str, float]] = {
    9: {"factor": 1.5},
    22: {"batch_size": 8, "dropout": 0.3},
    31: {"label_smoothing": 0.0},
}


@pytest.fixture(scope="module")
def bent(store: RunStore) -> Run:
    """A run that was changed on its way."""
    return trained(store, store.create(CONFIG).run_id, change=CHANGES)


def test_a_change_applies_from_the_next_step(bent, whole):
    assert bent.config.changes == (
        Change(10, "factor", 1.5),
        Change(23, "batch_size", 8),
        Change(23, "dropout", 0.3),
        Change(32, "label_smoothing", 0.0),
    )
    rate, plain = bent.metrics["learning_rate"], whole.metrics["learning_rate"]
    np.testing.assert_array_equal(rate[:9], plain[:9])
    np.testing.assert_allclose(rate[9:], 3 * plain[9:])
    assert bent.metrics["tokens"][22:].mean() > 1.3 * bent.metrics["tokens"][:22].mean()


def test_a_run_that_was_changed_is_made_again_by_its_configuration(bent):
    assert same(Trainer.replayed(bent.config, STEPS).state_dict(), bent.weights(STEPS))


@pytest.mark.parametrize("step", [15, 29])
def test_a_run_that_was_changed_can_be_broken_off_too(store, bent, step):
    run_id = store.create(CONFIG).run_id
    trained(store, run_id, until=step, change=CHANGES)
    assert_same(trained(store, run_id, change={31: CHANGES[31]} if step < 31 and step >= 22 else CHANGES), bent)


def test_a_fork_keeps_the_changes_to_come_but_those_that_it_overrides(store, bent):
    same_again = trained(store, store.fork(bent, 20, forked(bent.config, bent.id, 20)))
    assert_same(same_again, bent)
    config = forked(bent.config, bent.id, 20, recipe=replace(CONFIG.recipe, batch_size=6))
    assert [change.name for change in config.changes] == ["factor", "dropout", "label_smoothing"]
    assert [config.at(step).recipe.batch_size for step in (20, 21, 40)] == [5, 6, 6]


def test_a_change_by_hand_undoes_what_was_to_come():
    trainer = Trainer(replace(CONFIG, changes=(Change(5, "factor", 2.0), Change(5, "dropout", 0.0))))
    trainer.advance()
    trainer.change("factor", 3.0)
    trainer.change("factor", 4.0)
    assert trainer.config.changes == (Change(2, "factor", 4.0), Change(5, "dropout", 0.0))


def test_after_a_change_of_size_each_sentence_still_comes_once_before_any_comes_twice():
    task = CONFIG.data
    order = Order(task, np.random.default_rng(1))
    seen = [*np.concatenate([order.draw(5) for _ in range(7)])]
    seen += [*np.concatenate([order.draw(11) for _ in range(40)])]
    assert len(seen) == 35 + 440 and len(set(seen)) == len(seen)
    assert len(seen) > POOL * 5


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("seed", 1, "setting"),
        ("steps", 100, "setting"),
        ("factor", 0.0, "range"),
        ("dropout", 1.0, "range"),
        ("dropout", float("nan"), "range"),
        ("batch_size", 2.5, "type"),
        ("batch_size", True, "type"),
        ("batch_size", 10**9, "range"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(name, value, key):
    trainer = Trainer(CONFIG)
    with pytest.raises(RunRefused, match=f"training.refused.{key}"):
        trainer.change(name, value)
    assert trainer.config == CONFIG


def test_every_change_has_limits_and_there_is_an_end_to_them():
    assert CHANGEABLE.keys() == {"factor", "batch_size", "label_smoothing", "dropout"}
    changes = tuple(Change(1 + i % STEPS, "factor", 0.5) for i in range(MAX_CHANGES + 1))
    with pytest.raises(RunRefused, match="changes high=100"):
        replace(CONFIG, changes=tuple(sorted(changes, key=lambda each: each.step)))


# --- Hostile folders --------------------------------------------------------------------------------------------------


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(RunRefused) as caught:
        action()
    return caught.value.key.removeprefix("training.refused.")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda run: run.update(changes=7), "field"),
        (lambda run: run.update(changes=[7]), "not_a_table"),
        (lambda run: run.update(changes=[{"step": 1, "name": "factor"}]), "missing"),
        (lambda run: run.update(changes=[{"step": 1, "name": "factor", "value": 1, "x": 1}]), "unknown"),
        (lambda run: run.update(changes=[{"step": 1, "name": ["factor"], "value": 1}]), "setting"),
        (lambda run: run.update(changes=[{"step": 0, "name": "factor", "value": 1}]), "range"),
        (lambda run: run.update(changes=[{"step": 1e1, "name": "factor", "value": 1}]), "range"),
        (lambda run: run.update(changes=[{"step": 48, "name": "factor", "value": 1}]), "field"),
        (lambda run: run.update(changes=[{"step": n, "name": "factor", "value": 1} for n in (2, 1)]), "field"),
        (lambda run: run.update(changes=[{"step": 1, "name": "factor", "value": 1}] * 101), "changes"),
        (lambda run: run.update(origin=[]), "not_a_table"),
        (lambda run: run.update(origin=origin(run, run="../secret")), "field"),
        (lambda run: run.update(origin=origin(run, run=7)), "field"),
        (lambda run: run.update(origin=origin(run, step="1")), "field"),
        (lambda run: run.update(origin=origin(run, step=-1)), "field"),
        (lambda run: run.update(origin=origin(run, step=48)), "field"),
        (lambda run: run.update(origin=origin(run, recipe={**run["recipe"], "seed": 9})), "fresh"),
        (lambda run: run.update(origin=origin(run, model={})), "model"),
        (lambda run: run.update(origin=origin(run, extra=1)), "unknown"),
        (lambda run: run.update(origin=nested(run, 17)), "forks"),
        (lambda run: run["recipe"].update(schedule="linear"), "schedule"),
        (lambda run: run["recipe"].update(schedule=["noam"]), "schedule"),
        (lambda run: run.update(is_exact="yes"), "field"),
    ],
)
def test_a_history_that_lies_is_refused(folder, change, key):
    plain = json.loads((folder / "run.json").read_text())
    change(plain)
    (folder / "run.json").write_text(json.dumps(plain))
    assert refused(lambda: Run.load(folder)) == key


def origin(plain: dict[str, Any], **others: object) -> dict[str, Any]:
    settings = {name: plain[name] for name in ("model", "recipe", "changes", "origin")}
    return {"run": "a-run", "step": 10, **settings, **others}


def nested(run: dict[str, Any], depth: int) -> dict[str, Any] | None:
    return origin(run, origin=nested(run, depth - 1)) if depth else None


def test_the_longest_history_that_is_allowed_can_be_written_and_read(store):
    changes = tuple(Change(20_000, "label_smoothing", 0.123456789012345) for _ in range(MAX_CHANGES))
    config = replace(CONFIG, recipe=replace(CONFIG.recipe, steps=20_000), changes=changes)
    for _ in range(MAX_FORKS):
        config = forked(config, "x" * 64, 10)
    run_id = store.create(config).run_id
    assert store.open(run_id).config == config


def _resaved(change: Callable[[dict[str, Tensor]], object]) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        tensors = safetensors.torch.load(data)
        change(tensors)
        return safetensors.torch.save(tensors)

    return damage


@pytest.mark.parametrize(
    ("damage", "key"),
    [
        (lambda data: b"", "weights_size"),
        (lambda data: data[:-1], "weights_size"),
        (lambda data: data + b"\0" * 3_000_000, "large"),
        (lambda data: b"\xff" * 8 + data[8:], "weights_size"),
        (_resaved(lambda held: held.pop("counts")), "weights_size"),
        (_resaved(lambda held: held.update(more=torch.zeros(0))), "weights_name"),
        (_resaved(lambda held: held.update(counts=held["counts"].double())), "weights_shape"),
        (_resaved(lambda held: held["counts"].fill_(-1)), "state"),
        (_resaved(lambda held: held["counts"].fill_(21)), "state"),
        (_resaved(lambda held: held["seconds"].fill_(-1.0)), "state"),
        (_resaved(lambda held: held["seconds"].fill_(float("nan"))), "not_finite"),
        (_resaved(lambda held: held["v.embedding"].fill_(-1e-9)), "state"),
        (_resaved(lambda held: held["m.embedding"].fill_(float("inf"))), "not_finite"),
    ],
)
def test_a_damaged_state_is_refused(folder, damage, key):
    path = folder / "state" / "step-000020.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    assert refused(lambda: Run.load(folder).state(20)) == key


def test_a_generators_state_that_is_none_is_refused(folder):
    path = folder / "state" / "step-000020.safetensors"
    path.write_bytes(_resaved(lambda held: held["dropout"].fill_(255))(path.read_bytes()))
    assert refused(lambda: Trainer.restored(Run.load(folder), 20)) == "state"


def test_a_linked_state_is_refused_and_a_fork_takes_none_along(folder, tmp_path, store):
    state = folder / "state" / "step-000020.safetensors"
    state.rename(tmp_path / "elsewhere")
    state.symlink_to(tmp_path / "elsewhere")
    assert refused(lambda: Run.load(folder).state(20)) == "no_file"
    run = Run.load(folder)
    assert refused(lambda: store.fork(run, 20, forked(run.config, "a-run", 20))) == "no_file"


@pytest.mark.parametrize("step", [-1, STEPS + 1])
def test_a_put_by_training_that_lies_is_refused(folder, step):
    state = Run.load(folder).state(20)
    (folder / "latest.safetensors").write_bytes(replace(state, step=step).write_whole())
    assert refused(lambda: Run.load(folder).furthest()) == "state"
    (folder / "latest.safetensors").write_bytes(b"")
    assert refused(lambda: Run.load(folder).furthest()) == "weights_size"


@pytest.mark.parametrize(
    "line",
    [
        {"step": 20, "held_out_loss": 1.0, "grads": [1, 2, 3], "updates": [1, 2]},
        {"step": 20, "held_out_loss": 1.0, "grads": [1, 2, 3], "updates": [1, 2, "3"]},
        {"step": 20, "held_out_loss": 1.0, "grads": [1, 2, 3], "updates": [1, 2, True]},
        {"step": 20, "held_out_loss": 1.0, "grads": 7, "updates": [1, 2, 3]},
        {"step": 20, "held_out_loss": 1.0, "grads": [1, 2, 3]},
        {"step": 20, "held_out_loss": [1.0], "grads": [1, 2, 3], "updates": [1, 2, 3]},
        {"step": [20], "held_out_loss": 1.0, "grads": [1, 2, 3], "updates": [1, 2, 3]},
    ],
)
def test_a_closer_look_that_makes_no_sense_is_refused(folder, line):
    path = folder / "metrics.jsonl"
    path.write_bytes(path.read_bytes() + json.dumps(line).encode() + b"\n")
    assert refused(lambda: Run.load(folder).metrics) == "metrics"
