"""The cache in a browser: it grows word by word, the link follows, a click takes a number apart."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect


def test_a_word_more_is_a_column_more(visit):
    page = visit("kv_cache", v="1", moment="2")
    expect(page.locator(".cache-grid svg image").first).to_be_visible()
    expect(page.locator(".cache-grid .count p:not(.other)")).to_contain_text("3 columns, 3,072 bytes")
    width = page.locator(".cache-grid .cells").first.bounding_box()["width"]
    page.locator(".cache-grid .step-button.next").click()
    expect(page.locator(".cache-grid .count p:not(.other)")).to_contain_text("4 columns, 4,096 bytes")
    assert page.locator(".cache-grid .cells").first.bounding_box()["width"] == pytest.approx(width * 4 / 3, rel=0.02)
    expect(page).to_have_url(re.compile("moment=3"))


def test_a_number_of_a_key_is_taken_apart(visit):
    page = visit("kv_cache", v="1")
    page.locator(".cache-grid .cells").first.click(position={"x": 6, "y": 6})
    expect(page.get_by_text("decoder.0.self_attn.k").first).to_be_visible()


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
def test_the_picture_begins_near_the_top_and_fits(visit, size):
    page = visit("kv_cache", v="1", size=size, theme="dark", lang="zh")
    picture = page.locator(".cache-grid .stage")
    expect(picture.locator("svg")).to_be_visible()
    box = picture.bounding_box()
    assert box is not None
    if size == "laptop":
        assert box["y"] < 260
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
