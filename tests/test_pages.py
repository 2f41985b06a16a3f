"""The walk: each page opens in every language, with every recording, and with the smallest and largest models."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from models import Transformer
from playground.i18n import LANGUAGES, Translate
from playground.recipe import MODEL_LIMITS, RunConfig
from playground.runs import RunStore
from playground.tasks import TASKS
from playground.training import Recipe, model_for
from playground.ui.frame import PAGES

ROOT = Path(__file__).parents[1]
RECORDINGS = [run.id for run in RunStore().runs()]

# The largest sizes that are trained here, each in one of two models: together they would be too many numbers.
WIDE = {"d_model": 512, "n_heads": 16, "d_ff": 2048, "n_layers": 2}
DEEP = {"d_model": 128, "n_heads": 16, "d_ff": 512, "n_layers": 8}
CONFIGS = {
    "smallest": {"d_model": 1, "n_heads": 1, "d_ff": 1, "n_layers": 1},
    "wide": WIDE,
    "deep": DEEP,
    "other-parts": {
        "n_kv_heads": 1,
        "positions": "rotary",
        "norm_placement": "pre",
        "norm": "rms",
        "activation": "swiglu",
        "scale_scores": False,
        "attention_bias": True,
        "ffn_bias": False,
        "embed_scale": False,
        "embed_norm": True,
        "tied": False,
        "unembed_bias": True,
    },
    "no-positions": {"positions": "none", "activation": "gelu"},
    "learned": {"positions": "learned", "activation": "gelu_tanh"},
    "alibi": {"positions": "alibi", "n_kv_heads": 2},
    "open": {"causal": False, "residual": False},
    "experts": {"n_experts": 4, "n_active": 2, "window": 3},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def made(store: RunStore) -> dict[str, str]:
    """Return the id of a run for each configuration, untrained, with one recorded step."""
    ids = {}
    for name, choices in CONFIGS.items():
        model = model_for("english-chinese", **choices)
        writer = store.create(RunConfig(task="english-chinese", model=model, recipe=Recipe(steps=1)))
        writer.weights(0, Transformer(model, generator=torch.Generator().manual_seed(5)).state_dict())
        ids[name] = writer.run_id
    return ids


def check(visitor: AppTest, page: str, language: str) -> None:
    assert not visitor.exception, [each.value for each in visitor.exception]
    assert not visitor.error, [each.value for each in visitor.error]
    t = Translate(language)
    heading = "sentence" if page == PAGES[0].name else "title"
    assert [title.value for title in visitor.title] == [t(f"{page}.{heading}")]


def test_the_largest_sizes_are_walked():
    for name in ("d_model", "n_heads", "d_ff", "n_layers"):
        assert max(WIDE[name], DEEP[name]) == MODEL_LIMITS[name]


def test_each_file_is_a_page_and_each_page_a_file():
    assert sorted(path.stem for path in (ROOT / "pages").glob("*.py")) == sorted(page.name for page in PAGES)


def test_pages_only_compose():
    """10 to 60 lines, and the first statement opens the page."""
    for page in PAGES:
        lines = (ROOT / "pages" / f"{page.name}.py").read_text(encoding="utf-8").splitlines()
        code = [line for line in lines if line.strip() and not line.startswith(("import ", "from ", '"""', "#"))]
        assert code[0] == f'state, t = open_page("{page.name}")', page.name
        assert len(lines) <= 90, page.name


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("run", RECORDINGS)
@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_a_page_opens_with_each_recording(app, page, run, language):
    check(app(page, v="1", run=run, lang=language), page, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_a_page_opens_while_presenting_and_before_training(app, page, language):
    visitor = app(page, v="1", lang=language, present="1", step="0")
    check(visitor, page, language)
    assert not visitor.sidebar.children
    assert "pick_run" not in [box.key for box in visitor.selectbox]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_a_page_opens_with_any_model(app, store, made, monkeypatch, page, config, language):
    monkeypatch.setenv("PLAYGROUND_RUNS", str(store.root))
    check(app(page, v="1", run=made[config], lang=language), page, language)


@pytest.mark.parametrize("config", ["wide", "deep"])
@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_no_page_is_heavy_even_with_the_largest_models(app, store, made, monkeypatch, page, config):
    """What a browser is sent: at most 5 MB for one element, and 20 MB for a page."""
    monkeypatch.setenv("PLAYGROUND_RUNS", str(store.root))
    task = TASKS["english-chinese"]
    longest = max(task.heldout, key=lambda example: len(example.src))
    visitor = app(page, v="1", run=made[config], text=" ".join(longest.src))
    sizes = [proto.ByteSize() for each in visitor if (proto := getattr(each, "proto", None)) is not None]
    assert max(sizes) <= 5e6
    assert sum(sizes) <= 20e6


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_a_page_opens_with_the_shortest_sentence_and_the_longest(app, page):
    task = TASKS["reverse"]
    longest = max(task.heldout, key=lambda example: len(example.src))
    for src in (longest.src[:1], longest.src):
        check(app(page, v="1", run="reverse", text=" ".join(src)), page, "en")
