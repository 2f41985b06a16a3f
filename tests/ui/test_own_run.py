"""What the menu says of a training that waits: its place, the time, and what there is to see meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from playground.i18n import LANGUAGES, Translate
from playground.recipe import Recipe, RunConfig, RunRefused, model_for
from playground.runs import RunStore
from playground.training.engine import Engine, RunStatus, minutes
from playground.training.limits import Limits
from playground.training.nursery import Nursery
from playground.ui.own_run import wait

CONFIG = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=20_000, batch_size=5),
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine with no room for anybody."""
    nursery = Nursery(forks=False)
    nursery._room = {"cpu": 0}
    engine = Engine(RunStore(tmp_path), Limits(workers=1, waiting=2), nursery=nursery)
    yield engine
    engine.close()
    nursery.close()


@pytest.fixture
def queued(engine: Engine) -> RunStatus:
    return engine.status(engine.submit(CONFIG, "me"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wait_is_told_in_minutes_or_why_it_is_not_known(queued, language):
    t = Translate(language)
    assert wait(queued, t) == t.markdown("training.queued.nobody")
    known = replace(queued, message=None, wait=130.0)
    assert wait(known, t) == t.markdown("frame.own.wait", minutes=2)
    assert [minutes(seconds) for seconds in (0.0, 29.0, 91.0, 600.0)] == [1, 1, 2, 10]


def test_a_full_queue_with_nobody_to_train_says_so(engine, queued):
    engine.submit(CONFIG, "another")
    with pytest.raises(RunRefused, match="nobody_trains"):
        engine.submit(CONFIG, "a third")


def _menu(status, run_id):
    """A script with nothing but what is drawn of a run that waits, for a visitor who looks at `run_id`."""
    from types import SimpleNamespace

    from playground.i18n import Translate
    from playground.ui.own_run import _draw

    state = SimpleNamespace(own_runs=(status.run_id,), run_id=run_id, choose_run=lambda chosen: None)
    _draw(status, state, Translate("en"))


@pytest.mark.parametrize(("looked_at", "offered"), [("english-french", 1), ("reverse", 0)])
def test_a_run_that_waits_offers_the_recorded_one_meanwhile(queued, looked_at, offered):
    status = replace(queued, message=None, wait=200.0)
    menu = AppTest.from_function(_menu, args=(status, looked_at)).run()
    assert not menu.exception
    [told] = [caption.value for caption in menu.caption]
    t = Translate("en")
    assert t.markdown("frame.own.queued", place=1) in told and t.markdown("frame.own.wait", minutes=3) in told
    assert [button.key for button in menu.button] == ["own_run_meanwhile"] * offered
