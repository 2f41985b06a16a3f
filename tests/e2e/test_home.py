"""Home in a browser: the drawing is legible and alive, every block is a door, time moves in place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Locator, Page, expect

Visit = Callable[..., Page]

RUN = "english-chinese"


def opened(visit: Visit, **query: str) -> Page:
    """Open the page and wait until the drawing is there: the browser draws after the script has come to rest."""
    page = visit("", **{"run": RUN, **query})
    expect(drawing(page)).to_be_visible()
    return page


def drawing(page: Page) -> Locator:
    return page.locator(".arch svg.drawing")


def block(page: Page, name: str) -> Locator:
    return page.locator(f'[data-block="{name}"]')


def card(page: Page) -> Locator:
    return page.locator(".arch .card")


def translation(page: Page) -> Locator:
    return page.locator('[data-testid="stMain"] h3').first


def step_slider(page: Page) -> Locator:
    return page.locator('.st-key-pick_step input[type="range"]')


def picks(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
def test_no_letter_is_too_small_and_none_leaves_its_block(visit, size, lang):
    page = opened(visit, size=size, lang=lang)
    small, outside = drawing(page).evaluate(
        """(svg) => {
          const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
          const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent);
          const small = texts.filter((text) => parseFloat(getComputedStyle(text).fontSize) * scale < 11.9);
          const outside = [...svg.querySelectorAll(".block")].flatMap((block) => {
            const body = block.querySelector(".body").getBoundingClientRect();
            const inside = (r) => r.left >= body.left - 1 && r.right <= body.right + 1
              && r.top >= body.top - 3 && r.bottom <= body.bottom + 3;
            return [...block.querySelectorAll("text")].filter((text) => !inside(text.getBoundingClientRect()));
          });
          return [small, outside].map((found) => found.map((text) => text.textContent));
        }"""
    )
    assert small == []
    assert outside == []


def test_a_block_under_the_pointer_shows_its_tensor_and_lights_what_feeds_it(visit):
    page = opened(visit)
    expect(card(page)).to_contain_text("This model")
    block(page, "decoder.cross_attn").hover()
    expect(card(page)).to_contain_text("decoder.1.cross_attn.weights")
    expect(card(page)).to_contain_text("head 3")
    lit = page.locator(".arch .feeds").evaluate_all("all => all.map((node) => node.dataset.block)")
    assert lit == ["encoder.memory", "decoder.self_attn.add"]
    page.mouse.move(0, 0)
    expect(card(page)).to_contain_text("This model")


def test_the_layer_of_the_drawing_is_chosen_in_place(visit):
    page = opened(visit)
    page.locator('.arch .decoder .floor[data-layer="0"]').click()
    block(page, "encoder.ffn").hover()
    expect(card(page)).to_contain_text("encoder.0.ffn.hidden")
    block(page, "encoder.ffn").click()
    page.wait_for_url(re.compile("/layer"))
    assert picks(page)["layer"] == "0"


@pytest.mark.parametrize(
    ("name", "page_name", "wanted"),
    [
        ("encoder.positions", "positions", {}),
        ("decoder.cross_attn", "one_head", {"where": "cross", "layer": "1"}),
        ("encoder.self_attn", "one_head", {"where": "encoder", "layer": "1"}),
        ("decoder.self_attn.add", "layer", {"stack": "decoder", "part": "self_attn", "layer": "1"}),
        ("softmax", "output", {}),
    ],
)
def test_a_block_is_a_door(visit, name, page_name, wanted):
    page = opened(visit)
    block(page, name).click()
    page.wait_for_url(re.compile(f"/{page_name}"))
    assert wanted.items() <= picks(page).items()


def test_a_door_opens_by_key(visit):
    page = opened(visit)
    block(page, "decoder.self_attn").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/one_head"))
    assert picks(page)["where"] == "decoder"


def test_a_finger_sees_first_and_opens_second(visit):
    page = opened(visit, size="phone")
    ffn = block(page, "decoder.ffn")
    touch = {"pointerType": "touch", "bubbles": True}
    ffn.dispatch_event("pointerdown", touch)
    ffn.dispatch_event("click")
    expect(card(page)).to_contain_text("decoder.1.ffn.hidden")
    assert "/layer" not in page.url
    ffn.dispatch_event("pointerdown", touch)
    ffn.dispatch_event("click")
    page.wait_for_url(re.compile("/layer"))


def test_every_block_has_a_name_and_the_drawing_a_description(visit):
    page = opened(visit)
    names = page.locator(".arch [data-block]").evaluate_all("all => all.map((node) => node.getAttribute('aria-label'))")
    assert len(names) == 19
    assert all(len(name) > 20 for name in names)
    assert "encoder and a decoder of 2 layers" in (drawing(page).get_attribute("aria-label") or "")


def test_time_moves_in_place_from_babble_to_the_sentence(visit):
    page = opened(visit, step="0")
    babble = translation(page).inner_text()
    drawing(page).evaluate("(svg) => { svg.dataset.passing = 'mine'; }")
    step_slider(page).focus()
    page.keyboard.press("End")
    expect(translation(page)).not_to_have_text(babble)
    expect(page.locator('[data-testid="stMain"]')).to_contain_text("Exactly right")
    assert drawing(page).get_attribute("data-passing") == "mine"


def test_a_word_so_far_is_chosen_and_the_lines_follow(visit):
    page = opened(visit)
    chips = page.locator(".arch .chip.choice")
    chips.nth(0).click()
    expect(chips.nth(0)).to_have_attribute("aria-pressed", "true")
    first = page.locator(".lines .word.target").nth(0)
    expect(first).to_have_class(re.compile("pinned"))
    assert page.locator(".arch .bar").count() == 5
    heard = page.locator(".arch .heard").inner_text()
    assert f": {first.text_content()} " in heard


def test_an_example_is_one_click(visit):
    page = opened(visit)
    before = translation(page).inner_text()
    page.locator('[class*="st-key-pick_example_"] button:not([disabled])').first.click()
    expect(translation(page)).not_to_have_text(before)


def test_a_word_nobody_knows_changes_nothing_but_the_message(visit):
    page = opened(visit)
    before = translation(page).inner_text()
    page.locator(".st-key-type_text input").fill("two <b>dragons</b> $x$ sleep")
    page.keyboard.press("Enter")
    expect(page.locator('[data-testid="stAlert"]')).to_contain_text("does not know")
    assert translation(page).inner_text() == before
    assert page.locator("b", has_text="dragons").count() == 0


def test_the_drawing_is_saved_as_a_picture_that_stands_alone(visit, tmp_path):
    page = opened(visit, theme="dark")
    page.locator(".arch .save").click()
    with page.expect_download() as saved:
        page.locator('.arch [data-file="svg"]').click()
    path = Path(tmp_path / "drawing.svg")
    saved.value.save_as(path)
    tree = ET.parse(path)
    texts = {"".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Encoder", "Decoder", "Softmax", "This model"} <= texts
    assert "var(" not in "".join(node.get("style", "") for node in tree.iter() if node.tag.endswith("text"))
