"""Models in a browser: a card picked out, a run taken along as a file, the file brought back, and made the subject."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

CARDS = ".shelf .card[data-run]"


def test_a_card_is_picked_by_mouse_and_keys(visit):
    page = visit("models", v="1")
    cards = page.locator(CARDS)
    expect(cards.nth(1)).to_have_attribute("data-run", "english-chinese")
    cards.nth(1).click()
    expect(page).to_have_url(re.compile("kept=english-chinese"))
    expect(cards.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("heading", name="English → Chinese")).to_be_visible()
    cards.nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(cards.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    third = cards.nth(2).get_attribute("data-run")
    expect(page).to_have_url(re.compile(f"kept={third}"))
    expect(page.get_by_role("heading", name=cards.nth(2).locator(".title").inner_text())).to_be_visible()
    assert "run=" not in page.url  # the subject is as it was
    page.get_by_role("button", name="Show it on every page").click()
    expect(page).to_have_url(re.compile(f"run={third}"))


def test_a_run_goes_out_as_a_file_and_comes_back(visit, tmp_path):
    page = visit("models", v="1", kept="reverse")
    cards = page.locator(CARDS)
    expect(cards.first).to_be_visible()
    shipped = cards.count()
    page.get_by_role("button", name="Take it along").click()
    page.get_by_text("the last step only").click()
    expect(page.get_by_text(re.compile("kB in all"))).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the capsule").click()
    assert waiting.value.suggested_filename == "reverse.capsule"
    file = Path(tmp_path / "reverse.capsule")
    waiting.value.save_as(file)
    assert file.read_bytes()[:4] == b"PK\x03\x04" and file.stat().st_size < 2_000_000
    page.keyboard.press("Escape")

    page.locator('input[type="file"]').set_input_files(file)
    expect(page.get_by_text("Reverse stands on the shelf now: 1 recorded steps")).to_be_visible()
    expect(cards).to_have_count(shipped + 1)
    assert "run=" not in page.url
    file.write_bytes(file.read_bytes()[:-100])
    page.locator('input[type="file"]').set_input_files(file)
    expect(page.get_by_text("This capsule")).to_be_visible()
    expect(cards).to_have_count(shipped + 1)

    cards.last.click()
    expect(page.get_by_text("imported run · made")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(cards).to_have_count(shipped)


def test_a_hall_and_a_phone_have_the_shelf(visit):
    hall = visit("models", v="1", present="1", size="projector")
    expect(hall.locator(".shelf .card").first).to_be_visible()
    assert hall.locator('input[type="file"]').count() == 0
    phone = visit("models", v="1", size="phone", lang="zh")
    box = phone.locator(".shelf .card").first.bounding_box()
    assert box and box["width"] > 300
