"""Positions in a browser: one picture at a time, chosen by one control; arrows, waves and matrices that answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]

PICTURES = {
    "table": ".matrices .card svg",
    "waves": ".plot-live .scatterlayer",
    "similarity": ".plot-live .heatmaplayer image",
    "rotation": ".plot-live .scatterlayer",
    "relative": ".plot-live .heatmaplayer image",
    "shuffle": ".matrices .card svg",
    "longer": ".plot-live .scatterlayer",
}


def choose(page: Page, name: str) -> None:
    page.get_by_role("radiogroup", name="What to look at").get_by_text(name, exact=True).click()


def test_one_control_leads_through_all_pictures_and_the_link_follows(visit):
    page = visit("positions")
    expect(page.locator(PICTURES["table"]).first).to_be_visible()
    for aspect in list(PICTURES)[1:]:
        choose(page, aspect.capitalize())
        page.wait_for_url(re.compile(f"aspect={aspect}"))
        expect(page.locator(PICTURES[aspect]).first).to_be_visible()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("aspect", PICTURES)
def test_the_picture_begins_near_the_top_of_a_laptop(visit, aspect, language):
    page = visit("positions", v="1", aspect=aspect, lang=language)
    picture = page.locator(PICTURES[aspect].split(" ")[0]).first
    expect(page.locator(PICTURES[aspect]).first).to_be_visible()
    box = picture.bounding_box()
    assert box is not None and box["y"] < 260


def test_a_product_of_the_check_lights_the_turn_and_the_vector(visit):
    page = visit("positions", v="1", aspect="rotation")
    product = page.locator('.card[data-block="product"] svg[role="application"]')
    product.focus()
    page.keyboard.press("ArrowDown")
    for operand in ("turn_rows", "before"):
        expect(page.locator(f'.card[data-block="{operand}"] .marks rect').first).to_be_visible()


def test_without_positions_the_difference_is_nothing(visit):
    page = visit("positions", v="1", aspect="shuffle")
    expect(page.get_by_text("the words get other numbers")).to_be_visible()
    page.get_by_role("radiogroup", name="Position rule").get_by_text("None", exact=True).click()
    expect(page.get_by_text("the very same numbers")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["rule"] == ["none"]


@pytest.mark.parametrize("aspect", PICTURES)
def test_it_fits_a_phone_in_the_dark(visit, aspect):
    page = visit("positions", v="1", aspect=aspect, lang="zh", size="phone", theme="dark")
    expect(page.locator(PICTURES[aspect]).first).to_be_visible()
