"""Decoding in a browser: stepped, played, forced, followed along a branch; each view fits every window."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect


def test_steps_move_at_once_and_the_link_follows(visit):
    page = visit("decode", v="1", at="0")
    expect(page.locator(".why p:not(.other)")).to_contain_text("⟨bos⟩")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".slot text")).to_have_text("chat")
    expect(page.locator(".step-said")).to_have_text("2 of 9")
    expect(page).to_have_url(re.compile(r"[?&]at=1(&|$)"))
    page.locator(".step-slider").fill("8")
    expect(page.locator(".slot text")).to_have_text("⟨eos⟩")
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Back", exact=True).press("ArrowLeft")
    expect(page.locator(".slot text")).to_have_text("poisson")
    expect(page).to_have_url(re.compile(r"[?&]at=7(&|$)"))


def test_it_plays_to_the_end(visit):
    page = visit("decode", v="1", at="6")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".step-said")).to_have_text("9 of 9")
    expect(page).to_have_url(re.compile(r"[?&]at=8(&|$)"))
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_another_word_is_put_in_and_taken_out(visit):
    page = visit("decode", v="1", at="2")
    page.locator(".bar[data-token]").nth(1).click()
    expect(page).to_have_url(re.compile(r"forced=2(:|%3A)\d+"))
    expect(page.locator(".slot text")).to_have_text("noirs")
    expect(page.locator(".why p:not(.other)")).to_contain_text("You put in “noirs”")
    expect(page.locator(".tail")).to_contain_text("le chat noir ne mange pas le poisson")
    page.get_by_role("button", name="Let the model choose again").click()
    expect(page.locator(".slot text")).to_have_text("noir")
    expect(page.locator(".tail")).to_be_empty()


def test_keys_put_a_word_in_too(visit):
    page = visit("decode", v="1", at="4")
    page.locator(".bar[data-token]").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".slot text")).to_have_text("mangent")


def test_a_line_is_taken_apart(visit):
    page = visit("decode", v="1", at="4")
    expect(page.locator(".hit").first).to_be_attached()
    page.locator(".hit").first.click(force=True)
    expect(page.locator(".st-key-origin")).to_contain_text(re.compile(r"decoder\.1\.(cross|self)_attn\.weights"))


def test_a_drawn_text_says_where_the_draw_fell(visit):
    page = visit("decode", v="1", choice="sample", temperature="2", top_k="10")
    expect(page.locator(".strip")).to_be_visible()
    before = page.locator(".strip text").last.text_content()
    page.get_by_role("button", name="Increment").click()
    expect(page).to_have_url(re.compile("dice=1"))
    expect(page.locator(".strip text").last).not_to_have_text(before)


def test_a_branch_of_the_tree_is_followed(visit):
    page = visit("decode", v="1", choice="beam", step="80")
    expect(page.locator(".beam-tree .node.pruned").first).to_be_visible()
    page.locator(".beam-tree .node.pruned").first.click()
    expect(page).to_have_url(re.compile(r"forced=0(:|%3A)\d+(,|%2C)1(:|%3A)\d+"))
    expect(page.locator(".beam-tree")).to_have_count(0)
    expect(page.locator(".why p:not(.other)")).to_contain_text("You put in")


def test_the_step_where_one_error_spoils_the_rest_is_found(visit):
    page = visit("decode", v="1", decode="forcing")
    page.get_by_role("button", name="Look at step 160").click()
    expect(page.get_by_text("Left to itself, the model first errs at place 2")).to_be_visible()


def test_a_clicker_steps_in_a_hall(visit):
    page = visit("decode", v="1", at="0", present="1", size="projector")
    expect(page.locator(".step-said")).to_have_text("1 of 9")
    page.wait_for_timeout(200)  # keys are heard a little after the page is shown
    page.keyboard.press("PageDown")
    expect(page.locator(".step-said")).to_have_text("2 of 9")
    page.keyboard.press("PageUp")
    expect(page.locator(".step-said")).to_have_text("1 of 9")


PICTURES = {
    "write": ({}, ".writing svg.picture"),
    "sample": ({"choice": "sample", "temperature": "3"}, ".writing svg.picture"),
    "beam": ({"choice": "beam", "step": "80"}, ".beam-tree .stage"),
    "align": ({"decode": "align"}, ".alignment .stage"),
    "forcing": ({"decode": "forcing", "step": "120"}, ".word-grid .stage"),
    "lens": ({"decode": "lens"}, ".word-grid .stage"),
}


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
@pytest.mark.parametrize("view", PICTURES)
def test_the_picture_begins_near_the_top_and_fits(visit, size, view):
    query, where = PICTURES[view]
    page = visit("decode", v="1", size=size, theme="dark", lang="zh", **query)
    picture = page.locator(where).first
    expect(picture).to_be_visible()
    box, window = picture.bounding_box(), page.viewport_size
    assert box is not None and window is not None
    assert size == "phone" or box["y"] < 260
    assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"] + 0.5
