"""The page about positions as a visitor meets it: each picture, its numbers, what a link brings."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from playground.i18n import Translate
from playground.positions import ADDED, RULES
from playground.ui.positions_controls import ASPECTS


def said(visitor: Any) -> str:
    return " ".join(each.value for each in [*visitor.markdown, *visitor.caption]).replace("\\", "")


@pytest.mark.parametrize("aspect", ASPECTS)
@pytest.mark.parametrize("rule", RULES)
def test_every_aspect_opens_with_every_rule(app, aspect, rule):
    visitor = app("positions", v="1", aspect=aspect, rule=rule, rows="512", width="7", order="reversed")
    assert not visitor.exception, [each.value for each in visitor.exception]
    assert visitor.segmented_control(key="positions_aspect").value == aspect


def test_a_rule_that_an_aspect_has_not_falls_back(app):
    visitor = app("positions", v="1", aspect="table", rule="alibi")
    assert visitor.segmented_control(key="positions_rule").value in ADDED


def test_choosing_an_aspect_is_in_the_link(app):
    visitor = app("positions")
    visitor.segmented_control(key="positions_aspect").set_value("rotation").run()
    assert visitor.query_params["aspect"] == "rotation"
    visitor.slider(key="positions_shift").set_value(17).run()
    assert visitor.query_params["shift"] == "17"
    assert re.search(r"R\(17\) · PE\(pos\) and PE\(pos \+ 17\) differ by \d\.\de−[78] at most", said(visitor))


def test_a_link_with_too_large_numbers_is_clamped(app):
    visitor = app("positions", v="1", aspect="waves", width="7", pair="255")
    assert visitor.slider(key="positions_pair").value == 3
    visitor = app("positions", v="1", aspect="relative", place="47", shift="64")
    assert visitor.slider(key="positions_shift").value == 16


def test_shuffling_changes_nothing_without_positions_and_much_with(app):
    visitor = app("positions", v="1", aspect="shuffle", rule="none")
    assert "the very same numbers" in said(visitor) and "positions set to 0" in said(visitor)
    visitor.segmented_control(key="positions_rule").set_value("sinusoidal").run()
    assert "the words get other numbers" in said(visitor)
    before = said(visitor)
    visitor.button(key="positions_draw").click().run()
    assert said(visitor) != before
    assert visitor.query_params["draw"] == "1"


def test_a_single_word_has_no_other_order(app):
    visitor = app("positions", v="1", aspect="shuffle", run="reverse", text="a")
    assert not visitor.exception and "has no other order" in said(visitor)


def test_alibi_takes_the_mirror_image_for_the_same(app):
    visitor = app("positions", v="1", aspect="shuffle", rule="alibi", order="reversed")
    assert "the very same numbers" in said(visitor) and "Laboratory" in said(visitor)


def test_the_subjects_own_is_told_from_the_laboratory(app, make_run):
    own = make_run("reverse", positions="learned")
    assert "own pass" in said(app("positions", v="1", run=own, text="a b c"))
    assert "own learned table" in said(app("positions", v="1", run=own, rows="32"))
    assert "Laboratory" in said(app("positions", v="1", rule="learned"))
    rotary = make_run("reverse", positions="rotary")
    assert "own query" not in said(app("positions", v="1", aspect="relative", run=rotary))
    assert "This model's last query" in said(app("positions", v="1", aspect="relative", run=rotary))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_aspect_says_what_to_look_at(language):
    t = Translate(language)
    for aspect in ASPECTS:
        for part in ("aspect", "means", "try"):
            assert t(f"positions.{part}.{aspect}")


def test_the_rows_of_the_sentence_are_those_of_the_trace(app, monkeypatch):
    drawn: list[Any] = []
    monkeypatch.setattr("playground.ui.positions.matrices", lambda blocks, **_: drawn.extend(blocks))
    visitor = app("positions")
    assert not visitor.exception
    state = visitor.session_state["session"]
    [block] = drawn
    np.testing.assert_array_equal(block.array.values, state.reading["encoder.pos_embed"].values)
    assert block.array.axes[0].labels[0] == f"{state.reading.src[0]} · 0"
