"""One head, step by step, in a browser: every step, hover, pin, keys, files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

Visit = Callable[..., Page]

STEPS = {
    "cross": ["x", "memory", "q", "k", "v", "raw_scores", "scores", "masked_scores", "weights", "z", "concat", "out"],
    "decoder": ["x", "q", "k", "v", "raw_scores", "scores", "masked_scores", "weights", "z", "concat", "out"],
}


def chain(page: Page) -> Locator:
    return page.locator(".matrices").first


def opened(visit: Visit, **query: str) -> Page:
    """Open the page and wait until the chain is drawn: the browser does that after the script has come to rest."""
    page = visit("one_head", **query)
    expect(chain(page).locator(".thumb").first).to_be_visible()
    return page


def bring(page: Page, step: str) -> Locator:
    """Bring a step of the chain forward; returns its large matrix."""
    chain(page).locator(f'.thumb[data-block="{step}"]').click()
    return chain(page).locator(f'.card.main[data-block="{step}"] svg[role="application"]')


def over(matrix: Locator, row: int, col: int) -> None:
    """Hold the pointer over a cell."""
    place = matrix.evaluate(
        """(svg, [row, col]) => {
          const labels = [...svg.querySelectorAll(".row-labels text")].map((t) => t.getBoundingClientRect());
          const columns = [...svg.querySelectorAll(".col-labels text")].map((t) => t.getBoundingClientRect());
          const box = svg.getBoundingClientRect();
          const middle = (r, way) => (way === "y" ? r.top + r.height / 2 - box.top : r.left + r.width / 2 - box.left);
          return { x: middle(columns[col], "x"), y: middle(labels[row], "y") };
        }""",
        [row, col],
    )
    matrix.hover(position=place)


@pytest.mark.parametrize("where", STEPS)
def test_every_step_of_the_chain_comes_forward(visit, where):
    page = opened(visit, where=where)
    thumbs = chain(page).locator(".thumb")
    assert thumbs.evaluate_all("all => all.map((b) => b.dataset.block)") == STEPS[where]
    for step in STEPS[where]:
        bring(page, step)
        expect(chain(page).locator(f'.card.main[data-block="{step}"] .title')).to_be_visible()
        expect(chain(page).locator(".note")).not_to_be_empty()


def test_next_and_back_walk_through_the_chain(visit):
    page = opened(visit, where="cross")
    bring(page, "q")
    page.get_by_role("button", name="Next step").click()
    expect(chain(page).locator('.thumb[aria-selected="true"]')).to_have_attribute("data-block", "k")
    page.keyboard.press("Enter")  # the keys stay where they were
    expect(chain(page).locator('.thumb[aria-selected="true"]')).to_have_attribute("data-block", "v")
    page.get_by_role("button", name="Step back").click()
    expect(chain(page).locator('.thumb[aria-selected="true"]')).to_have_attribute("data-block", "k")


def test_a_score_lights_the_row_of_q_and_the_row_of_k(visit):
    page = opened(visit, where="cross")
    over(bring(page, "raw_scores"), 1, 2)
    bold = '.card[data-block="{}"] .row-labels [font-weight="700"]'
    expect(chain(page).locator(bold.format("q"))).to_have_attribute("data-at", "1")
    expect(chain(page).locator(bold.format("k"))).to_have_attribute("data-at", "2")
    expect(chain(page).locator(".tip").first).to_contain_text("raw_scores")
    page.mouse.move(0, 0)
    expect(chain(page).locator(bold.format("q"))).to_have_count(0)


def test_a_click_pins_escape_lets_go_and_the_keys_say_each_cell(visit):
    page = opened(visit, where="cross")
    matrix = bring(page, "weights")
    over(matrix, 0, 0)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(0, 0)
    pinned = chain(page).locator('.card[data-block="masked_scores"] .row-labels [font-weight="700"]')
    expect(pinned).to_have_attribute("data-at", "0")
    matrix.focus()
    page.keyboard.press("ArrowDown")
    said = chain(page).locator(".heard")
    expect(said).to_contain_text("value")
    before = said.inner_text()
    page.keyboard.press("ArrowRight")
    expect(said).not_to_have_text(before)
    page.keyboard.press("Escape")
    expect(pinned).to_have_count(0)


def test_masked_cells_are_hatched_and_say_why(visit):
    page = opened(visit, where="decoder", lang="zh")
    matrix = bring(page, "weights")
    over(matrix, 0, 2)
    expect(chain(page).locator(".tip").first).to_contain_text("被遮住：后面的词")
    expect(chain(page).locator(".card.main .legend")).to_contain_text("被遮住：后面的词")


def test_nothing_but_the_browser_is_needed_to_walk_and_hover(visit):
    page = opened(visit, where="cross")
    page.context.set_offline(True)
    for step, operand in (("raw_scores", "k"), ("weights", "masked_scores"), ("z", "v")):
        over(bring(page, step), 2, 0)
        lit = chain(page).locator(f'.card[data-block="{operand}"] .marks rect')
        expect(lit.first).to_be_visible()


def test_every_file_of_the_chain_is_made_in_the_browser(visit, tmp_path: Path):
    page = opened(visit, where="cross")
    for ending, begins in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", "\ufeffmatrix,row".encode())):
        page.locator(".turns .save").click()
        with page.expect_download() as saved:
            page.locator(f'.turns [data-file="{ending}"]').click()
        assert saved.value.suggested_filename == f"one_head.{ending}"
        saved.value.save_as(tmp_path / ending)
        assert (tmp_path / ending).read_bytes().startswith(begins)
    rows = list(csv.reader(io.StringIO((tmp_path / "csv").read_text(encoding="utf-8-sig"))))
    weights: dict[str, float] = {}
    for block, row, _, value in rows[1:]:
        if block == "Attention weights":
            weights[row] = weights.get(row, 0.0) + float(value)
    assert weights and all(total == pytest.approx(1, abs=1e-5) for total in weights.values())


def test_the_chain_lives_through_a_change_of_head(visit):
    page = opened(visit, where="cross", head="0")
    bring(page, "q")
    mounted = chain(page).element_handle()
    page.get_by_role("radiogroup", name="Head").get_by_text("3", exact=True).click()
    expect(chain(page).get_by_role("tablist")).to_have_attribute("aria-label", re.compile("head 3"))
    expect(chain(page).locator('.thumb[aria-selected="true"]')).to_have_attribute("data-block", "q")
    assert mounted is not None and mounted.is_visible()


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_its_window(visit, size, theme):
    page = opened(visit, size=size, theme=theme, where="cross")
    for step in ("x", "raw_scores", "z", "out"):
        matrix = bring(page, step)
        box, window = matrix.bounding_box(), page.viewport_size
        assert box is not None and window is not None
        assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"]
