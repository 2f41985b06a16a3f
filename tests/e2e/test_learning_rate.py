"""Learning rate and Adam in a browser: the curve and its settings, one weight over a training."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

Visit = Callable[..., Page]


def choose(page: Page, key: str, name: str) -> None:
    page.locator(f".st-key-{key}").get_by_role("radio", name=name, exact=True).click()


def test_a_published_setting_moves_the_curve_and_the_link_holds_it(visit):
    page = visit("learning_rate")
    peak = page.locator(".st-key-rate_curves .annotation-text")
    expect(peak).to_contain_text("0.00625 at step 100")
    box = page.locator(".st-key-rate_curves").bounding_box()
    assert box is not None and box["y"] < 260
    page.get_by_role("button", name="Paper, base").click()
    expect(peak).to_contain_text("0.000699 at step 4,000")
    expect(page).to_have_url(re.compile("rate_warmup=4000"))
    choose(page, "rate_pick_rate_scale", "logarithmic")
    expect(page).to_have_url(re.compile("rate_scale=log"))
    expect(peak).to_contain_text("0.000699 at step 4,000")


def test_one_weight_is_followed_and_another_can_be_chosen(visit):
    page = visit("learning_rate", v="1", rates="adam")
    expect(page.locator(".st-key-adam_course .scatterlayer .trace")).to_have_count(9)
    expect(page.get_by_text(re.compile("misses them by at most"))).to_be_visible()
    before = page.get_by_text(re.compile("Adam's largest step is")).inner_text()
    page.locator(".st-key-rate_probe").get_by_role("combobox").click()
    page.get_by_role("option").nth(3).click()
    expect(page.get_by_text(re.compile("Adam's largest step is"))).not_to_have_text(before)
    expect(page).to_have_url(re.compile("probe=3"))
