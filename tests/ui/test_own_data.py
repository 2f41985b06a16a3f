"""A visitor's own pairs and text on the page on training: previewed, taken, refused in words, seen by nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from playground.i18n import Translate
from playground.tasks import TASKS
from playground.ui.own_data import time_of

PAIRS = "\n".join(f"{a} {b},{b} {a}" for a in "abcdefgh" for b in "abcdefgh")
TEXT = "to be or not to be, that is the question. " * 40


def said(visitor: Any) -> str:
    return " ".join(each.value for each in [*visitor.markdown, *visitor.caption, *visitor.error]).replace("\\", "")


def given(visitor: Any, kind: str, text: str) -> Any:
    visitor.segmented_control(key="own_data_kind").set_value(kind).run()
    visitor.text_area(key=f"own_data_text_{kind}").set_value(text).run()
    assert not visitor.exception
    return visitor


@pytest.mark.parametrize(("kind", "text"), [("pairs", PAIRS), ("text", TEXT)])
def test_what_is_pasted_is_previewed_and_becomes_the_task(app, kind, text):
    visitor = given(app("train"), kind, text)
    assert visitor.dataframe
    assert "own_data_use" in {each.key for each in visitor.button}
    visitor.button(key="own_data_use").click().run()
    assert not visitor.exception
    task = visitor.selectbox(key="train_pick_task").value
    assert task not in TASKS and visitor.query_params["task"] == task


def test_what_cannot_be_read_is_refused_in_words_and_nothing_is_lost(app):
    visitor = given(app("train"), "pairs", PAIRS)
    visitor.button(key="own_data_use").click().run()
    task = visitor.selectbox(key="train_pick_task").value
    visitor = given(visitor, "pairs", "only one column\nand no second")
    assert visitor.error
    assert "own_data_use" not in {each.key for each in visitor.button}
    assert visitor.selectbox(key="train_pick_task").value == task


def test_another_visitor_has_not_got_it(app):
    visitor = given(app("train"), "text", TEXT)
    visitor.button(key="own_data_use").click().run()
    task = visitor.selectbox(key="train_pick_task").value
    other = app("train", v="1", task=task)
    assert not other.exception
    assert other.selectbox(key="train_pick_task").value in TASKS


def test_markup_in_the_data_stays_text(app):
    rows = "\n".join(f"<b>{a}</b> {b},=cmd|{b} **{a}**" for a in "abcdefgh" for b in "abcdefgh")
    visitor = given(app("train"), "pairs", rows)
    assert "<b>" not in said(visitor)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", TASKS)
def test_every_task_says_how_long_it_takes(name, language):
    assert len(time_of(name, Translate(language))) > 10


def test_a_task_that_needs_other_settings_sets_them_in_one_click(app):
    visitor = app("train", v="1", task="addition")
    visitor.button(key="task_better").click().run()
    assert not visitor.exception
    assert visitor.query_params["dropout"] == "0" and visitor.query_params["batch_size"] == "64"
    assert "task_better" not in {each.key for each in app("train").button}
