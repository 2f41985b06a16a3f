"""Going deeper in a browser: a clicked cell tells where its number comes from, and the depth stays between pages."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect


def choose(page: Page, key: str, name: str) -> None:
    page.locator(f".st-key-{key}").get_by_role("radio", name=name, exact=True).click()


def test_a_clicked_cell_tells_where_its_number_comes_from(visit):
    page = visit("one_head")
    expect(page.locator(".st-key-origin")).to_have_count(0)
    cells = page.locator('.matrices .card.main svg[role="application"]').first
    box = cells.bounding_box()
    cells.click(position={"x": box["width"] * 0.6, "y": box["height"] * 0.6})
    origin = page.locator(".st-key-origin")
    expect(origin).to_contain_text("cross_attn.weights")
    expect(origin).to_contain_text("Computed again")
    expect(origin).to_contain_text("models/attention.py, line")


def test_the_depth_stays_from_page_to_page_and_in_the_link(visit):
    page = visit("layer", depth="numbers")
    expect(page.locator(".st-key-origin")).to_contain_text("ffn.hidden")
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="The next word").click()
    expect(page.locator(".st-key-origin")).to_contain_text("probs")
    expect(page).to_have_url(re.compile("depth=numbers"))
    choose(page, "pick_depth", "Code")
    expect(page.get_by_test_id("stCode").last).to_contain_text("capture(model, src, tgt)")
    choose(page, "pick_depth", "Formula")
    expect(page.locator(".katex").first).to_be_visible()
    choose(page, "pick_depth", "Story")
    expect(page.get_by_text("What it means")).to_be_visible()


@pytest.mark.parametrize(
    ("view", "seen"), [("lengths", "Length of each row"), ("neighbours", "Nearest words in the table")]
)
def test_the_table_is_looked_at_from_other_sides(visit, view, seen):
    page = visit("embeddings", table=view)
    expect(page.locator(".matrices figcaption").first).to_contain_text(seen)


def test_words_stand_on_their_map(visit):
    page = visit("embeddings", table="plane")
    for word in ("cat", "chat"):
        expect(page.locator(".js-plotly-plot .scatterlayer text").get_by_text(word, exact=True)).to_be_visible()


def test_another_layer_and_stack_have_their_own_stream(visit):
    page = visit("layer")
    thumbs = page.locator(".matrices .thumb")
    expect(thumbs).to_have_count(8)
    choose(page, "pick_stack", "Decoder")
    expect(thumbs).to_have_count(11)
    expect(page.locator(".matrices .group-name", has_text="Cross-attention")).to_be_visible()


def test_a_weight_of_an_enlarged_head_tells_where_it_comes_from(visit):
    page = visit("all_heads")
    stage = page.locator(".attention-grid .stage").first
    expect(page.locator(".attention-grid canvas.base").first).to_be_visible()
    stage.click(position={"x": 40, "y": 80})
    card = page.locator(".attention-grid .card svg").first
    expect(card).to_be_visible()
    box = card.bounding_box()
    card.click(position={"x": box["width"] * 0.7, "y": box["height"] * 0.7})
    origin = page.locator(".st-key-origin")
    expect(origin).to_contain_text("encoder.0.self_attn.weights")
    expect(origin).to_contain_text("Computed again")
    expect(card).to_be_visible()  # the map stays open
    stage.focus()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(origin).to_have_count(0)


def test_a_score_of_a_padded_sentence_tells_why_it_is_hidden(visit):
    page = visit("masks", mask="padding", sample="shorter", depth="numbers")
    origin = page.locator(".st-key-origin")
    expect(origin).to_contain_text("masked_scores")
    expect(origin).to_contain_text("it is padding")
    cells = page.locator('.matrices svg[role="application"]').nth(2)
    box = cells.bounding_box()
    cells.click(position={"x": box["width"] * 0.4, "y": box["height"] * 0.4})
    expect(origin).to_contain_text("encoder.0.self_attn.weights")
