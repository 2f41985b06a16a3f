"""What every test shares: one torch thread, a folder of its own for runs, and the app as a visitor's session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from models import ModelConfig, Transformer
from playground.runs import RunConfig, RunStore
from playground.training import Recipe, model_for

ROOT = Path(__file__).parents[1]
MAIN = ROOT / "playground/main.py"

# A shared machine need not be fast.
PATIENCE = 60.0  # seconds

App = Callable[..., AppTest]
MakeRun = Callable[..., str]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Compute with one thread, as the app does: more would only stand in each other's way."""
    torch.set_num_threads(1)


@pytest.fixture
def app() -> App:
    """Return what opens a page as a new visitor: `app("one_head", lang="zh")`. The script has run once."""

    def open_page(page: str | None = None, *, locale: str = "en-GB", **query: str) -> AppTest:
        visitor = AppTest.from_file(MAIN, default_timeout=PATIENCE)
        visitor.context = {"locale": locale, "theme": "light"}
        for name, value in query.items():
            visitor.query_params[name] = value
        if page is not None:
            visitor.switch_page(str(ROOT / "pages" / f"{page}.py"))
        return visitor.run()

    return open_page


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """Return an empty folder of runs that the app looks into."""
    monkeypatch.setenv("PLAYGROUND_RUNS", str(tmp_path / "runs"))
    return RunStore()


@pytest.fixture
def make_run(runs: RunStore) -> MakeRun:
    """Return what writes a run with the weights of fresh models at some steps, and gives its id."""

    def make(task: str = "reverse", *, steps: tuple[int, ...] = (0,), title: str = "", **choices: object) -> str:
        model: ModelConfig = model_for(task, **choices)
        writer = runs.create(RunConfig(task=task, model=model, recipe=Recipe(steps=max(1, *steps, 1))), title)
        for step in steps:
            weights = Transformer(model, generator=torch.Generator().manual_seed(step)).state_dict()
            writer.weights(step, weights)
        return writer.run_id

    return make
