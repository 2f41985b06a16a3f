"""The blackboard in a browser: a number that is changed changes everything after it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]


def opened(visit: Visit, **query: str) -> Page:
    page = visit("blackboard", **query)
    expect(page.locator(".matrices .thumb").first).to_be_visible()
    return page


def test_the_tiny_example_is_there_with_its_numbers(visit):
    page = opened(visit)
    steps = page.locator(".thumb").evaluate_all("all => all.map((thumb) => thumb.dataset.block)")
    assert steps == ["q", "k", "v", "raw_scores", "scores", "weights", "z"]
    expect(page.locator('.card.main[data-block="weights"] svg[role="application"]')).to_contain_text("0.670")
    expect(page.locator(".katex", has_text="2.028").first).to_be_visible()


def test_a_changed_number_answers_at_once_and_goes_into_the_link(visit):
    page = opened(visit)
    weights = page.locator('.card.main[data-block="weights"] svg[role="application"]')
    page.get_by_label("Q, row 0, column 0").fill("3")
    page.keyboard.press("Enter")
    expect(weights).to_contain_text("0.893")  # 1 / (1 + e^(−3/√2))
    expect(page).to_have_url(re.compile("board_q=3%2C0%2C0%2C2"))
    page.get_by_role("button", name="The first numbers again").click()
    expect(weights).to_contain_text("0.670")


def test_the_arrow_keys_step_through_the_numbers_within_bounds(visit):
    page = opened(visit, v="1", board_v="9,0,0,1")
    number = page.get_by_label("V, row 0, column 0")
    expect(number).to_have_value("9")
    number.focus()
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile("board_v=8%2C0%2C0%2C1"))


def test_the_mask_adds_a_step_and_the_other_row_is_written_out(visit):
    page = opened(visit, lang="zh")
    page.locator(".st-key-blackboard_causal label").click()
    expect(page.locator('.thumb[data-block="masked_scores"]')).to_be_visible()
    expect(page.locator(".card.main .legend")).to_contain_text("被遮住：后面的词")
    page.locator(".st-key-blackboard_line button").nth(1).click()
    expect(page).to_have_url(re.compile("line=1"))
    expect(page.locator(".katex", has_text="1.414").first).to_be_visible()


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
def test_the_picture_begins_near_the_top_and_fits(visit, size):
    page = opened(visit, v="1", causal="yes", size=size, theme="dark", lang="zh")
    box, window = page.locator(".matrices").first.bounding_box(), page.viewport_size
    assert box is not None and window is not None
    assert size == "phone" or box["y"] < 260
    assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"]
