"""A link and a view are two ways to say the same; whatever a stranger's link says does no harm."""

from __future__ import annotations

import itertools
import re

import pytest

from playground.ui.link import MAX_STEP, MAX_TEXT, PICKS, Turn, View, from_params, reconcile, to_params

FULL = View(
    language="zh",
    present=True,
    run="a_Run-of_16-chars",
    step=320,
    text="the black cat <b>&amp; $x$ 你好 % + ?",
    picks={"where": "cross", "stack": "decoder", "layer": 1, "head": 3},
)


def test_the_default_view_has_an_empty_link():
    assert to_params(View()) == {}
    assert from_params({}) == View()


def test_a_link_says_only_what_differs():
    assert to_params(View(step=0)) == {"v": "1", "step": "0"}
    assert to_params(View(picks={"head": 0})) == {"v": "1", "head": "0"}


@pytest.mark.parametrize("names", [*itertools.combinations(("language", "present", "run", "step", "text", "picks"), 3)])
def test_both_ways_give_the_same_view(names):
    view = View(**{name: getattr(FULL, name) for name in names})
    assert from_params(to_params(view)) == view


def test_a_whole_view_goes_both_ways():
    assert from_params(to_params(FULL)) == FULL
    assert all(isinstance(value, str) for value in to_params(FULL).values())


TEXTS = (
    "none",
    "2:57,5:12",
    "decoder.1.cross.2",
    "encoder.0.self.0,decoder.12.self.127",
    "1,-2,30,0",
    "32,32,8,128,8030",
    "1-2",
    "decoder.0.self:3-0-1f",
)


def test_every_pick_goes_both_ways():
    for name, allowed in PICKS.items():
        if isinstance(allowed, re.Pattern):
            values = tuple(text for text in TEXTS if allowed.fullmatch(text))
        else:
            values = (0, allowed) if isinstance(allowed, int) else allowed
        assert values, f"no example of {name}"
        for value in values:
            view = View(picks={name: value})
            assert from_params(to_params(view)) == view


NUMBERS = ["-1", "1.5", "\u0661\u0662", "1e3", "0x10", "nan"]  # Arabic digits are digits to int(), and to nobody here
NONSENSE = ["", " ", *NUMBERS, "true", "../../etc/passwd", "<script>", "\x00", "\u202e", "z" * 9999]


@pytest.mark.parametrize("name", ["lang", "present", "run", "step", "where", "stack", "layer", "head", "text"])
@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_is_as_if_it_were_not_there(name, value):
    view = from_params({name: value})
    if name == "text" and value.strip():
        assert view == View(text=value[:MAX_TEXT])  # the task refuses it, with a word about it
    elif name == "run" and value in {"true", "nan", "0x10", "1e3"}:
        assert view == View(run=value)  # could be one; the store says whether it is
    else:
        assert view == View()


@pytest.mark.parametrize(
    ("params", "view"),
    [
        ({"step": "999999999999"}, View(step=MAX_STEP)),
        ({"layer": "999"}, View(picks={"layer": 63})),
        ({"head": "4000"}, View(picks={"head": 127})),
        ({"text": "a" * 10_000}, View(text="a" * MAX_TEXT)),
        ({"off": "encoder.0.cross.2"}, View()),
        ({"off": ",".join(["encoder.0.self.0"] * 65)}, View()),
        ({"utm_source": "elsewhere", "v": "1"}, View()),
    ],
)
def test_numbers_and_texts_are_clamped_and_unknown_names_vanish(params, view):
    assert from_params(params) == view


def test_another_version_keeps_only_what_every_version_means():
    assert from_params({"v": "2", "lang": "zh", "present": "1", "step": "40"}) == View(language="zh", present=True)


def test_a_visitor_without_a_link_is_addressed_in_the_browsers_language():
    assert from_params({}, language="zh").language == "zh"
    assert from_params({"lang": "en"}, language="zh").language == "en"
    assert from_params({"lang": "xx"}, language="zh").language == "zh"


def test_a_link_means_the_same_whatever_the_browsers_language():
    link = to_params(View(step=40))
    assert from_params(link, language="zh") == from_params(link, language="en") == View(step=40)


def turn(**said):
    link = {"v": "1", "step": "40"}
    usual = {"is_new": False, "has_chosen": False, "has_moved": False, "was_bare": True, "found": link, "known": link}
    return reconcile(**{**usual, **said})


@pytest.mark.parametrize(
    ("said", "follows"),
    [
        ({"is_new": True}, Turn.READ),  # a link that was opened, or a reload
        ({}, Turn.WRITE),  # nothing has happened: both say the same
        ({"has_chosen": True}, Turn.WRITE),  # a control was used
        ({"has_chosen": True, "found": {}}, Turn.WRITE),  # again before the browser showed the first change
        ({"has_moved": True, "found": {}}, Turn.WRITE),  # the menu drops what the link said
        ({"has_moved": True, "found": {"v": "1", "step": "80"}}, Turn.READ),  # back to another page
        ({"found": {"v": "1", "step": "80"}}, Turn.READ),  # back on the same page
        ({"found": {}}, Turn.READ),  # back to the page as it was first opened
        ({"found": {}, "was_bare": False}, Turn.WRITE),  # back to where the menu had led, before the link was written
    ],
)
def test_who_follows_whom(said, follows):
    assert turn(**said) is follows
