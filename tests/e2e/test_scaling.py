"""Scaling in a browser: the three pictures, what their controls change, and the door to a training."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

Visit = Callable[..., Page]


def values(page: Page) -> Locator:
    """Return what is written over the curves: names, and the values at the chosen d_k."""
    return page.locator(".st-key-scaling_curves .annotation-text")


def test_the_same_raw_scores_go_through_softmax_divided_and_not(visit):
    page = visit("scaling")
    cards = page.locator(".matrices .card")
    expect(cards).to_have_count(4)
    ids = cards.evaluate_all("all => all.map((card) => card.dataset.block)")
    assert ids == ["scores_undivided", "weights_undivided", "scores_divided", "weights_divided"]
    expect(page.get_by_text(re.compile("The largest weight of a row is"))).to_be_visible()
    expect(page.get_by_role("columnheader", name="÷ √16")).to_be_visible()


def test_d_k_and_the_seed_change_what_is_measured(visit):
    page = visit("scaling", v="1", scaling="drawn")
    said = page.get_by_text(re.compile("Drawn vectors, not the model"))
    expect(said).to_contain_text("64")
    expect(values(page).first).to_be_visible()
    before = values(page).all_text_contents()
    page.locator(".st-key-scaling_d_k").get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("128")
    expect(page).to_have_url(re.compile("d_k=128"))
    expect(values(page)).not_to_have_text(before)
    text = said.inner_text()
    page.get_by_label("Seed of the draw").fill("7")
    page.keyboard.press("Enter")
    expect(said).not_to_have_text(text)
    expect(page).to_have_url(re.compile("draw=7"))


def test_one_temperature_stands_in_two_places(visit):
    page = visit("scaling", v="1", scaling="temperature", lang="zh")
    expect(page.get_by_text("√16 = 4").first).to_be_visible()
    page.locator(".st-key-scaling_tau").get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("tau=2"))
    for place in ("attention", "sampling"):
        expect(page.locator(f".st-key-scaling_{place} .plot-container")).to_be_visible()


def test_the_door_opens_a_training_of_this_model_without_the_division(visit):
    page = visit("scaling", v="1", run="reverse")
    page.get_by_role("button", name=re.compile("Train it without")).click()
    page.wait_for_url(re.compile("/train"))
    expect(page).to_have_url(re.compile("scale_scores=no"))
    expect(page).to_have_url(re.compile("run=reverse"))
    expect(page.locator(".st-key-train_settings")).to_contain_text("changed")


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
@pytest.mark.parametrize("view", ["subject", "drawn", "temperature"])
def test_the_picture_begins_near_the_top_and_fits(visit, size, view):
    page = visit("scaling", v="1", scaling=view, size=size, theme="dark", lang="zh")
    kind = ".matrices" if view == "subject" else ".plot-container"
    picture = page.locator(kind).first
    expect(picture).to_be_visible()
    box, window = picture.bounding_box(), page.viewport_size
    assert box is not None and window is not None
    assert size == "phone" or box["y"] < 260
    assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"]
