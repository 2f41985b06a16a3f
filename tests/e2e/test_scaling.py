"""Scaling in a browser: the three pictures, what their controls change, and the door to a training."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]


def curves(page: Page) -> str:
    """Return the values that stand over the curves: not divided, divided, for each measure."""
    picture = page.locator(".st-key-scaling_curves .main-svg .annotation-text")
    expect(picture.first).to_be_visible()
    return " ".join(picture.all_inner_texts())


def test_the_same_raw_scores_go_through_softmax_divided_and_not(visit):
    page = visit("scaling")
    cards = page.locator(".matrices .card")
    expect(cards).to_have_count(4)
    ids = cards.evaluate_all("all => all.map((card) => card.dataset.block)")
    assert ids == ["scores_undivided", "weights_undivided", "scores_divided", "weights_divided"]
    expect(page.get_by_text(re.compile("The largest weight of a row is"))).to_be_visible()
    expect(page.get_by_role("cell", name="÷ √16")).to_be_visible()


def test_d_k_and_the_seed_change_what_is_measured(visit):
    page = visit("scaling", v="1", scaling="drawn")
    said = page.get_by_text(re.compile("Drawn vectors, not the model"))
    expect(said).to_contain_text("64")
    before = curves(page)
    page.get_by_role("slider", name="d").focus()
    page.keyboard.press("End")
    expect(said).to_contain_text("1,024")
    expect(page).to_have_url(re.compile("d_k=1024"))
    page.wait_for_function("b => [...document.querySelectorAll('.annotation-text')].length > 0 || !b", arg=before)
    text = said.inner_text()
    page.get_by_label("Seed of the draw").fill("7")
    page.keyboard.press("Enter")
    expect(said).not_to_have_text(text)
    expect(page).to_have_url(re.compile("draw=7"))


def test_one_temperature_stands_in_two_places(visit):
    page = visit("scaling", v="1", scaling="temperature", lang="zh")
    expect(page.get_by_text("√16 = 4").first).to_be_visible()
    page.get_by_role("slider", name="T").focus()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile("tau=0.25"))
    for place in ("attention", "sampling"):
        expect(page.locator(f".st-key-scaling_{place} .plot-container")).to_be_visible()


def test_the_door_opens_a_training_of_this_model_without_the_division(visit):
    page = visit("scaling", v="1", run="reverse")
    page.get_by_role("button", name=re.compile("Train it without")).click()
    page.wait_for_url(re.compile("/train"))
    expect(page).to_have_url(re.compile("scale_scores=no"))
    expect(page).to_have_url(re.compile("run=reverse"))
    page.locator(".st-key-train_model button").click()
    expect(page.get_by_role("combobox", name=re.compile("Scores"))).to_have_value("not scaled")


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
