"""The page on the cache: its seven views, what is chosen, and what no link can break."""

from __future__ import annotations

import numpy as np
import pytest

from playground.caching import VIEWS, growth
from playground.calculator import LARGEST, MODELS
from playground.figures.theme import LIGHT
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray
from playground.runs import RunStore
from playground.subject import Subject
from playground.ui.components.cache_grid import MOST_NUMBERS, KeptLayer, KeptStep, cache_grid, picked
from playground.ui.kv_cache_views import FORMULAS, PICTURES, size

T = Translate("en")


def kept(heads=2, words=3, dims=5) -> LabelledArray:
    axes = tuple(
        Axis(name, tuple(map(str, range(n)))) for name, n in (("kv_head", heads), ("key", words), ("d_head", dims))
    )
    return LabelledArray("decoder.0.self_attn.k", np.zeros((heads, words, dims), dtype=np.float32), axes)


def text(page) -> str:
    return " ".join(each.value for each in (*page.markdown, *page.caption, *page.info))


def test_there_is_a_picture_and_a_formula_for_each_view():
    assert set(VIEWS) == set(PICTURES) == set(FORMULAS)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("view", VIEWS)
def test_each_view_is_drawn_in_each_language_for_either_kind_of_decoder(app, make_run, view, lang):
    for run in ("english-french", make_run("induction", steps=(0,))):
        page = app("kv_cache", v="1", cache=view, lang=lang, run=run)
        assert not page.exception


def test_a_model_that_keeps_nothing_says_so(app, make_run):
    page = app("kv_cache", v="1", run=make_run("reverse", causal=False))
    assert not page.exception and "keeps nothing" in text(page)


@pytest.mark.parametrize("depth", ["numbers", "formula", "code"])
def test_the_number_that_is_looked_at_is_taken_apart(app, depth):
    page = app("kv_cache", v="1", depth=depth, moment="3")
    assert not page.exception
    if depth == "numbers":
        assert "self\\_attn\\.k" in text(page) or "self_attn.k" in text(page).replace("\\", "")


def test_the_calculator_says_what_is_published(app):
    page = app("kv_cache", v="1", cache="calculator", known="Llama 2 70B")
    assert "**1\\.25 GiB**" in text(page) or "1.25 GiB" in text(page).replace("\\", "")
    page.number_input(key="kv_context").set_value(8192).run()
    assert "2.5 GiB" in text(page).replace("\\", "")
    page.number_input(key="kv_kv_heads").set_value(64).run()
    assert "own values" in text(page) and "20 GiB" in text(page).replace("\\", "")
    page.selectbox(key="kv_known").set_value("GPT-2 small").run()
    assert "36 MiB" in text(page).replace("\\", "") and not page.exception


@pytest.mark.parametrize(
    "query",
    [
        {"cache": "calculator", "sizes": "0,0,0,0,0", "context": "0", "texts": "0"},
        {"cache": "calculator", "sizes": "9999999,9999999,7,9999999,9999999", "context": "999999999"},
        {"cache": "calculator", "sizes": "3,8,7,5,1"},
        {"cache": "calculator", "known": "no such model", "bits": "3"},
        {"cache": "bandwidth", "teraflops": "0", "gigabytes": "0", "texts": "5"},
        {"cache": "bandwidth", "machine": "here"},
        {"cache": "bandwidth", "known": "Mixtral 8x7B", "texts": "64"},
        {"cache": "heads", "kv": "3"},
        {"cache": "grow", "moment": "998"},
        {"cache": "window", "slide": "99"},
        {"cache": "compare", "span": "all", "shape": "large"},
    ],
    ids=str,
)
def test_no_link_breaks_the_page(app, query):
    assert not app("kv_cache", v="1", **query).exception


def test_writing_over_a_machines_numbers_moves_the_bound(app):
    page = app("kv_cache", v="1", cache="bandwidth", known="Llama 2 7B", context="1")
    before = text(page)
    page.number_input(key="kv_gigabytes").set_value(6700).run()
    assert text(page) != before and not page.exception


def test_sizes_are_told_with_their_unit():
    assert [size(n) for n in (0, 1023, 1024, 36 * 2**20, 1.25 * 2**30, 3 * 2**50)] == [
        "0 B",
        "1,023 B",
        "1 KiB",
        "36 MiB",
        "1.25 GiB",
        "3,072 TiB",
    ]


def test_only_numbers_that_are_there_can_be_clicked():
    array = kept()
    where = {"name": array.name, "kv_head": 1, "key": 2, "d_head": 4}
    assert picked(where, [array]) == where
    for wrong in (
        None,
        "x",
        {**where, "name": "encoder"},
        {**where, "key": 3},
        {**where, "d_head": -1},
        {"name": array.name},
    ):
        assert picked(wrong, [array]) is None


def test_more_numbers_than_a_page_can_hold_are_refused():
    wide = kept(dims=MOST_NUMBERS // 6 + 1)
    with pytest.raises(ValueError, match="numbers are to be drawn; at most 900000 are"):
        cache_grid(
            [KeptLayer(0, (wide, wide))],
            [KeptStep((0, 1), (0, 1), "", "")],
            at=0,
            token="",
            readers=(0, 1),
            key="k",
            on_step=lambda _: None,
            alt="",
            t=T,
            theme=LIGHT,
        )


def test_the_longest_sentence_of_the_largest_model_stays_within_what_is_sent():
    """Rule 20: of a large model one layer is drawn."""
    largest = max(
        (run.config.model for run in RunStore().runs()), key=lambda c: c.n_kv_heads * c.d_head * c.max_len, default=None
    )
    assert largest is not None
    assert 4 * largest.n_layers * largest.n_kv_heads * largest.d_head * largest.max_len < MOST_NUMBERS


def test_links_hold_what_the_calculator_takes():
    assert all(
        config.max_len <= LARGEST["context"] and config.n_layers <= LARGEST["layers"] for config in MODELS.values()
    )


def test_the_bytes_on_screen_are_those_of_the_tensors(app, monkeypatch):
    seen: list[KeptStep] = []
    plain = KeptStep.__init__

    def watch(self, *args, **kwargs) -> None:
        plain(self, *args, **kwargs)
        seen.append(self)

    monkeypatch.setattr(KeptStep, "__init__", watch)
    assert not app("kv_cache", v="1").exception
    run = RunStore().open("english-french")
    found = growth(Subject(run, run.steps[-1], run.config.data.examples[0]))
    assert len(seen) == len(found.moments)
    for step, moment in zip(seen, found.moments, strict=True):
        own = sum(array.values[:, : moment.held[1]].nbytes for pair in found.own for array in pair)
        cross = sum(array.values.nbytes for pair in found.cross for array in pair)
        assert f"{own:,} bytes in storage" in step.count and f"{cross:,} bytes in storage" in step.count
