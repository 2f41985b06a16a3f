"""All heads in a browser: linked hover, a click that enlarges, lines, heads switched off, what a link restores."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

Visit = Callable[..., Page]

# How many pixels of a canvas are drawn on.
LIT = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 3; i < data.length; i += 4) n += data[i] > 0 ? 1 : 0;
  return n;
}"""


def grid(page: Page) -> Locator:
    return page.locator(".attention-grid").first


def opened(visit: Visit, **query: str) -> Page:
    """Open the page and wait until its maps have a size: the browser draws after the script has come to rest."""
    page = visit("all_heads", **query)
    expect(grid(page).locator("canvas.base")).to_be_visible()
    page.wait_for_function(
        """() => [...document.querySelectorAll('[data-testid="stMain"] *')]
          .some((e) => (e.shadowRoot ?? e).querySelector?.("canvas.base")?.height > 200)"""
    )
    return page


def over(page: Page, x: float, y: float) -> None:
    """Hold the pointer over a place of the maps, in pixels from their top left."""
    grid(page).locator(".stage").hover(position={"x": x, "y": y})


def choose(page: Page, view: str) -> None:
    page.get_by_role("radiogroup", name="Look at").get_by_text(view, exact=True).click()


def test_the_picture_begins_high_on_the_page(visit):
    page = opened(visit)
    box = grid(page).locator(".stage").bounding_box()
    assert box is not None and box["y"] < 260
    assert box["height"] > 400


def test_hovering_lights_the_cell_in_every_map_of_its_attention_and_says_its_words(visit):
    page = opened(visit)
    marks = grid(page).locator("canvas.marks")
    assert marks.evaluate(LIT) == 0
    over(page, 40, 80)
    expect(grid(page).locator(".tip").first).to_contain_text("Encoder: source looks at source, layer 0 · head 0")
    one_map = marks.evaluate(
        """(canvas) => {
          const w = canvas.clientWidth, density = canvas.width / w, ink = canvas.getContext("2d");
          const part = (box) => ink.getImageData(...box.map((p) => p * density)).data;
          const lit = (...box) => part(box).some((v, i) => i % 4 === 3 && v > 0);
          const half = canvas.height / density / 2;
          return { left: lit(0, 0, w / 2, half), right: lit(w / 2, 0, w / 2, half), below: lit(0, half, w, half) };
        }"""
    )
    assert one_map["left"] and not one_map["right"] and not one_map["below"]  # the encoder's heads, and no other
    page.mouse.move(2, 2)
    page.wait_for_function(f"(canvas) => ({LIT})(canvas) === 0", arg=marks.element_handle())


def test_a_click_enlarges_a_map_and_escape_closes_it(visit):
    page = opened(visit)
    card = grid(page).locator(".card")
    expect(card).to_be_hidden()
    grid(page).locator(".stage").click(position={"x": 40, "y": 80})
    expect(card).to_be_visible()
    expect(card).to_contain_text("layer 0 · head 0")
    expect(card.locator("svg text").first).to_be_visible()
    grid(page).locator(".stage").focus()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_hover_and_click_need_nothing_but_the_browser(visit):
    page = opened(visit)
    page.context.set_offline(True)
    over(page, 40, 80)
    expect(grid(page).locator(".tip").first).to_contain_text("weight")
    grid(page).locator(".stage").click(position={"x": 40, "y": 80})
    expect(grid(page).locator(".card")).to_be_visible()


def test_a_range_of_its_own_is_labelled_on_the_picture(visit):
    page = opened(visit, colours="own")
    expect(grid(page).locator(".legend")).to_contain_text("the largest of each map")
    over(page, 40, 80)
    expect(grid(page).locator(".tip").first).to_contain_text("up to 0.")


def test_the_measures_stand_beside_their_baselines(visit):
    page = opened(visit, where="cross", layer="1", head="3")
    table = page.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(
        ["measure", "this head", "uniform head", "chance, 999 heads"]
    )
    expect(table).to_contain_text("alignment")
    page.get_by_role("radiogroup", name="Attention", exact=True).get_by_text("Decoder", exact=True).click()
    expect(table).to_contain_text("induction")


def test_pointing_at_a_word_lights_its_lines_in_every_head(visit):
    page = visit("all_heads", heads="lines", share="50")
    lines = page.locator(".head-lines").first
    expect(lines.locator(".line").first).to_be_attached()
    few = lines.locator(".line").count()
    lines.locator('[data-rows="0"]').first.hover()
    expect(lines.locator(".some")).to_have_count(2)
    assert 0 < lines.locator(".line.lit").count() < few
    expect(lines.locator(".tip").first).to_contain_text("query")
    lines.locator(".stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(lines.locator(".heard")).to_contain_text("query")
    page.get_by_role("radiogroup", name="Share of the attention").get_by_text("99 %", exact=True).click()
    expect(lines.locator(".stage svg > g").first).to_contain_text("hold 99.")
    assert lines.locator(".line").count() > few


def test_heads_are_switched_off_and_the_link_says_which(visit):
    page = opened(visit, heads="off", off="decoder.1.cross.0,decoder.1.cross.1,decoder.1.cross.2,decoder.1.cross.3")
    main = page.locator('[data-testid="stMain"]')
    expect(main).to_contain_text("With all heads le chat noir ne mange pas le poisson, without these")
    expect(main).to_contain_text("No other map changes")
    page.get_by_role("button", name="Clear all").click()
    expect(main).to_contain_text("no head is off")
    page.wait_for_url("**off=none**")
    page.reload()
    expect(main).to_contain_text("no head is off")


@pytest.mark.parametrize("ending", ["png", "svg", "csv"])
def test_the_maps_can_be_saved(visit, ending, tmp_path: Path):
    page = opened(visit)
    grid(page).locator(".save").click()
    with page.expect_download() as saved:
        grid(page).locator(f'[data-file="{ending}"]').click()
    assert saved.value.suggested_filename == f"all_heads.{ending}"
    saved.value.save_as(tmp_path / ending)
    if ending == "csv":
        rows = list(csv.reader(io.StringIO((tmp_path / ending).read_text(encoding="utf-8-sig"))))
        cross = [row for row in rows if row[0].startswith("Cross") and row[1:3] == ["1", "3"]]
        totals: dict[str, float] = {}
        for *_, query, _, weight in cross:
            totals[query] = totals.get(query, 0.0) + float(weight)
        assert totals and all(total == pytest.approx(1, abs=1e-5) for total in totals.values())


@pytest.mark.parametrize("view", ["grid", "lines", "values", "rollout", "off", "shared"])
@pytest.mark.parametrize("size", ["projector", "phone"])
def test_nothing_is_wider_than_its_window(visit, view, size):
    visit("all_heads", heads=view, size=size, lang="zh", theme="dark")


@pytest.mark.parametrize("kv", ["1", "2", "4"])
def test_shared_keys_and_values_are_drawn(visit, kv):
    page = visit("all_heads", heads="shared", kv=kv)
    boxes = page.locator(".js-plotly-plot .scatterlayer .point")
    expect(boxes).to_have_count(4 + 2 * int(kv))
    expect(page.locator(".js-plotly-plot .js-line").first).to_be_attached()
