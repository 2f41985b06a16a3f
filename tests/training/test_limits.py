"""What an engine allows: set by the environment, refused in words, and the wait and the age of runs by arithmetic."""

from __future__ import annotations

import os
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from models import Transformer
from playground.i18n import LANGUAGES, Translate
from playground.recipe import Recipe, RunConfig, RunRefused, model_for
from playground.runs import OPENED_EVERY, REMOVED, RunStore, digest
from playground.training.engine import Engine
from playground.training.keeping import DAY, Kept, folders, mark, overdue, prune
from playground.training.limits import LEAST_MEMORY, SETTINGS, Limits, batch_tokens
from playground.training.nursery import Nursery
from playground.training.waiting import Pace, expected_waits

ROOT = Path(__file__).parents[2]
CONFIG = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=23, batch_size=5),
)
NOW = 1_900_000_000.0  # seconds since 1970


# --- Settings --------------------------------------------------------------------------------------------------------


def test_the_machine_gives_the_defaults():
    limits, plain = Limits.here({}), Limits()
    assert limits.workers >= 1 and limits.memory is not None and limits.memory >= LEAST_MEMORY
    assert replace(limits, workers=plain.workers, memory=plain.memory) == plain


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.variable)
def test_each_limit_is_set_by_its_variable(setting, caplog):
    assert getattr(Limits.here({setting.variable: " 7 "}), setting.field) == 7
    default = getattr(Limits.here({}), setting.field)
    for nonsense in ("many", "-1", "nan", "inf", *(["2.5"] if setting.whole else [])):
        caplog.clear()
        assert getattr(Limits.here({setting.variable: nonsense}), setting.field) == default
        assert setting.variable in caplog.text and repr(nonsense) in caplog.text
    none = getattr(Limits.here({setting.variable: "0"}), setting.field)
    if setting.least:
        assert none == default
    else:
        assert none == (0 if setting.field in ("waiting", "warm") else None)


def test_every_limit_but_two_of_the_engines_own_is_a_setting():
    assert {each.name for each in fields(Limits)} - {each.field for each in SETTINGS} == {"remember", "grace"}


def test_the_document_tells_every_setting_and_its_default():
    text = (ROOT / "docs/hosting.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(PLAYGROUND_\w+)` \| ([^|]+?) \|", text, flags=re.MULTILINE)
    told = {name: default for name, default in table if name in {each.variable for each in SETTINGS}}
    plain = Limits()
    wanted = {each.variable: f"{getattr(plain, each.field):,.0f}" for each in SETTINGS if each.field != "memory"}
    wanted |= {"PLAYGROUND_WORKERS": "by the machine", "PLAYGROUND_MEMORY": "by the machine"}
    assert told == wanted
    in_code = {
        name
        for path in (ROOT / "playground").rglob("*.py")
        for name in re.findall(r"\bPLAYGROUND_[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }
    assert in_code == {name for name, _ in table}


@pytest.mark.parametrize(
    ("limits", "key", "values"),
    [
        (Limits(steps=22), "training.refused.steps", {"value": 23, "high": 22}),
        (Limits(parameters=100), "training.refused.parameters", {"value": CONFIG.model.n_parameters, "high": 100}),
        (Limits(tokens=9), "training.refused.tokens", {"value": batch_tokens(CONFIG), "high": 9}),
    ],
)
def test_a_run_that_is_too_large_is_refused_in_both_languages(tmp_path, limits, key, values):
    nursery = Nursery(forks=False)
    engine = Engine(RunStore(tmp_path), replace(limits, warm=0), nursery=nursery)
    with pytest.raises(RunRefused) as refused:
        engine.submit(CONFIG, "me")
    engine.close()
    assert (refused.value.key, refused.value.values) == (key, values)
    for language in LANGUAGES:
        assert str(values["high"]) in Translate(language)(key, **values)
    assert not list(tmp_path.iterdir())
    Limits(steps=23, parameters=CONFIG.model.n_parameters, tokens=batch_tokens(CONFIG)).check(CONFIG)


# --- The wait --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "queue", "workers", "waits"),
    [
        ([], [7.0], 1, [0.0]),
        ([5.0], [7.0, 11.0, 0.0], 1, [5.0, 12.0, 23.0]),
        ([5.0, 3.0], [7.0, 11.0, 0.0], 2, [3.0, 5.0, 10.0]),  # free at 3 and 5; then at 10 and 16
        ([5.0, 3.0, 2.0], [7.0], 2, [3.0]),  # more runs than there may be: the first to end makes no room
        ([5.0], [7.0], 0, [float("inf")]),
    ],
)
def test_waits_by_hand(left, queue, workers, waits):
    assert expected_waits(left, queue, workers) == waits


def test_the_pace_is_the_median_of_what_was_measured():
    pace = Pace()
    assert pace.seconds(CONFIG) == CONFIG.expected_seconds
    for factor in (2.0, 3.0, 700.0):
        pace.measured(CONFIG, 23, factor * CONFIG.expected_seconds)
    pace.measured(CONFIG, 0, 0.0)  # ended before its first step: says nothing
    longer = replace(CONFIG, recipe=replace(CONFIG.recipe, steps=46))
    assert pace.seconds(longer) == pytest.approx(2 * 3.0 * CONFIG.expected_seconds)


# --- How long runs are kept ------------------------------------------------------------------------------------------


def test_what_is_overdue_by_hand():
    def kept(run_id: str, days: float, owner: str = "") -> Kept:
        return Kept(run_id, NOW - days * DAY, owner)

    runs = [kept("a1", 1, "a"), kept("a2", 2, "a"), kept("a3", 3, "a"), kept("b", 4, "b"), kept("old", 31)]
    assert overdue(runs, now=NOW, days=30, runs=2) == ("old", "a3")
    assert overdue(runs, now=NOW, days=30, runs=None) == ("old",)
    assert overdue(runs, now=NOW, days=None, runs=None) == ()
    assert overdue(runs, now=NOW, days=3.5, runs=1) == ("old", "b", "a3", "a2")
    # What is trained stays, and takes nobody's place.
    assert overdue(runs, now=NOW, days=30, runs=2, spare={"a1", "old"}) == ()
    # What was opened a moment ago stays, however many there are.
    fresh = [Kept(name, NOW - OPENED_EVERY, "a") for name in "xyz"]
    assert overdue(fresh, now=NOW, days=0.001, runs=1) == ()


def test_runs_are_removed_and_recordings_and_what_is_read_stay(tmp_path):
    recordings = tmp_path / "recordings"
    store = RunStore(tmp_path / "runs", recordings=recordings)
    shipped = RunStore(recordings).create(CONFIG).path
    paths = {}
    ages = {"old": 40, "surplus": 3, "newer": 2, "newest": 1, "read": 50}  # days
    for name in ages:
        writer = store.create(CONFIG, name)
        writer.weights(0, Transformer(CONFIG.model).state_dict())
        mark(writer.path, "" if name == "old" else "somebody")
        paths[name] = writer.path
    (store.root / f"{REMOVED}broken-off").mkdir()
    (store.root / "link").symlink_to(recordings)
    now = paths["old"].stat().st_mtime
    for name, age in ages.items():
        os.utime(paths[name], (now - age * DAY, now - age * DAY))
    os.utime(shipped, (now - 400 * DAY, now - 400 * DAY))
    open_run = store.open(paths["read"].name)  # which makes it young
    gone = prune(store, days=30, runs=3, now=now)
    assert gone == (paths["old"].name, paths["surplus"].name)
    assert {each.run_id for each in folders(store.root)} == {paths[name].name for name in ("newer", "newest", "read")}
    assert {each.owner for each in folders(store.root)} == {digest("somebody")}
    assert open_run.model(0) and shipped.is_dir() and not list(store.root.glob(f"{REMOVED}*"))
    with pytest.raises(RunRefused, match="no_run"):
        store.open(paths["old"].name)


def test_a_run_removed_while_it_is_read_is_refused_in_words(tmp_path):
    store = RunStore(tmp_path)
    writer = store.create(CONFIG)
    writer.weights(0, Transformer(CONFIG.model).state_dict())
    run = store.open(writer.run_id)
    assert run.steps == (0,)
    store.remove(writer.run_id)
    with pytest.raises(RunRefused, match="no_file"):
        run.weights(0)
    for wrong in ("../runs", "", "no-such-run"):
        with pytest.raises(RunRefused, match="no_run"):
            store.remove(wrong)


def test_the_engine_spares_what_it_trains(tmp_path):
    nursery = Nursery(forks=False)
    nursery._room = {"cpu": 0}
    engine = Engine(RunStore(tmp_path), Limits(warm=0, lease=None, keep=None, days=1.0, runs=1), nursery=nursery)
    waiting = engine.submit(CONFIG, "me")
    ended = engine.store.create(CONFIG).run_id
    later = tmp_path.stat().st_mtime + 2 * DAY
    assert engine.prune(now=later) == (ended,)
    assert engine.status(waiting).state == "queued" and engine.store.open(waiting)
    engine.close()
