"""A visitor's own data in a browser: pasted, previewed, learnt, and looked at."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

Visit = Callable[..., Page]

PAIRS = "\n".join(f"{a} {b},{b} {a}" for a in "abcdefgh" for b in "abcdefgh")


def test_pasted_pairs_are_learnt_and_then_the_subject(visit):
    page = visit("train", v="1", d_model="16", n_layers="1", steps="50")
    page.get_by_role("button", name="Your own data").click()
    box = page.locator(".st-key-own_data_text_pairs textarea")
    box.fill(PAIRS)
    box.press("Control+Enter")
    expect(page.locator(".st-key-own_data_use")).to_be_visible()
    page.locator(".st-key-own_data_use button").click()
    expect(page).to_have_url(re.compile("task=own"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"run=[A-Za-z0-9_-]{16,}"))
    expect(page.get_by_text(re.compile("step 50 of 50")).first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
