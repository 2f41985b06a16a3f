"""Compare, in a browser: an experiment in one click, a fork trained before one's eyes, a link that opens the same."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect


def drawn(page: Page) -> None:
    """Wait until the curves stand."""
    page.wait_for_function("() => Number(document.querySelector('.plot-live')?.dataset.drawn) >= 1")


def test_an_experiment_is_one_click_away_and_stands_in_the_link(visit):
    page = visit("compare", v="1")
    drawn(page)
    expect(page.locator(".st-key-compare_line")).to_contain_text("no positions")
    page.locator(".st-key-compare_prepared").get_by_text("No causal mask").click()
    expect(page).to_have_url(re.compile("compare=causal"))
    expect(page.locator(".st-key-compare_line")).to_contain_text("Only this differs: A causal mask · B no causal mask")
    expect(page.locator(".st-key-compare_run_1")).to_contain_text("never")
    expect(page).to_have_url(re.compile("run=compare-base"))  # and is the subject of every page


def test_a_fork_is_trained_beside_its_original(visit):
    page = visit("compare", v="1", run="reverse", step="40", change="label_smoothing:0")
    drawn(page)
    page.get_by_role("button", name=re.compile("^Fork|call_split.*Fork")).first.click()
    page.get_by_role("button", name="Fork at step 40").click()
    expect(page).to_have_url(re.compile(r"compare=reverse(,|%2C)"))
    line = page.locator(".st-key-compare_line")
    expect(line).to_contain_text("the same run up to step 40")
    expect(line).to_contain_text("label smoothing 0")
    expect(page.locator(".st-key-compare_run_1")).to_contain_text(re.compile(r"step [4-9]\d|step \d{3}|step 1,\d{3}"))


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
def test_the_picture_begins_near_the_top_and_fits(visit, size):
    page = visit("compare", v="1", size=size, theme="dark", lang="zh")
    drawn(page)
    box, window = page.locator(".plot-live").first.bounding_box(), page.viewport_size
    assert box is not None and window is not None
    assert size == "phone" or box["y"] < 260
    assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"]
