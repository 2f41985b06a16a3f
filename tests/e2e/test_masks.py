"""Masks in a browser: painted by mouse and keys, one answer a stroke; the masks of a batch; the two trainings."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect


def cell(page, row, col):
    box = page.locator(".board rect.cell").nth(row * 9 + col).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_stroke_is_painted_and_the_model_answers(visit):
    page = visit("masks", v="1", masks="paint")
    expect(page.locator(".board")).to_be_visible()
    page.mouse.move(*cell(page, 2, 1))
    page.mouse.down()
    page.mouse.move(*cell(page, 2, 4))
    assert "paint=" not in page.url  # the stroke is not done
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"paint=decoder\.1\.cross(:|%3A)0-0-1e"))
    expect(page.get_by_text("cells differ")).to_contain_text("4")
    page.get_by_role("button", name="The model's own mask").click()
    expect(page.get_by_text("Draw over the cells")).to_be_visible()


def test_keys_paint_too(visit):
    page = visit("masks", v="1", masks="paint")
    page.locator(".board").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile(r"paint=decoder\.1\.cross(:|%3A)2(&|$)"))
    page.keyboard.press("ArrowDown")  # the focus is still there
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile(r"(:|%3A)2-2"))


def test_a_mask_of_the_batch_is_chosen_and_stands_in_the_link(visit):
    page = visit("masks", v="1")
    page.get_by_role("radio", name="Window").click()
    expect(page).to_have_url(re.compile("mask=window"))
    expect(page.get_by_text("hidden: outside the window").first).to_be_visible()


def test_both_models_are_trained_when_asked(visit):
    page = visit("masks", v="1", masks="leak")
    page.get_by_role("button", name="Train both now").click()
    expect(page.locator(".st-key-masks_leak_curves .plot-container")).to_be_visible()
    expect(page).to_have_url(re.compile("leak=yes"))


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
@pytest.mark.parametrize("view", ["batch", "paint", "nowhere"])
def test_the_picture_begins_near_the_top_and_fits(visit, size, view):
    page = visit("masks", v="1", masks=view, size=size, theme="dark", lang="zh")
    picture = page.locator(".paint" if view == "paint" else ".matrices").first
    expect(picture).to_be_visible()
    box, window = picture.bounding_box(), page.viewport_size
    assert box is not None and window is not None
    assert size == "phone" or box["y"] < 260
    assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"]


def test_a_finger_paints(visit):
    page = visit("masks", v="1", masks="paint", size="phone")
    page.locator(".board").scroll_into_view_if_needed()
    (x0, y0), (x1, y1) = cell(page, 2, 1), cell(page, 2, 4)
    finger = page.context.new_cdp_session(page)
    for kind, points in (
        ("touchStart", [{"x": x0, "y": y0}]),
        ("touchMove", [{"x": (x0 + x1) / 2, "y": y0}]),
        ("touchMove", [{"x": x1, "y": y1}]),
        ("touchEnd", []),
    ):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(page).to_have_url(re.compile(r"paint=decoder\.1\.cross(:|%3A)0-0-1e"))
