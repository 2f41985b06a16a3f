"""The page on decoding: every view of every model that has it, hostile links, and what its controls ask for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from playground.decoding import KINDS, VIEWS, Way, write
from playground.i18n import Translate
from playground.runs import RunStore
from playground.subject import Subject
from playground.tasks import TASKS
from playground.ui.components.writing import Choice, picked
from playground.ui.decode_controls import chosen_moment, chosen_view, chosen_way, follow, force, release, views_of
from playground.ui.session import Session

WIDE = {"d_model": 512, "n_heads": 16, "d_ff": 2048, "n_layers": 2}
DEEP = {"d_model": 128, "n_heads": 16, "d_ff": 512, "n_layers": 8}
HOSTILE: tuple[Mapping[str, str], ...] = (
    {"forced": "0:99999", "at": "998"},
    {"forced": "3:1,3:2,3:0", "choice": "beam", "beam": "99", "penalty": "nan"},
    {"choice": "sample", "temperature": "-1", "top_k": "0", "top_p": "7", "dice": "-5"},
    {"decode": "<script>", "choice": "$x$"},
    {"forced": "0:0,1:1,2:2"},
)


def opened(visitor) -> None:
    assert not visitor.exception, [each.value for each in visitor.exception]
    sizes = [proto.ByteSize() for each in visitor if (proto := getattr(each, "proto", None)) is not None]
    assert max(sizes) <= 5e6


@pytest.mark.parametrize("depth", ["story", "numbers", "formula", "code"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_every_depth(app, view, depth):
    visitor = app("decode", v="1", decode=view, depth=depth, lang="zh")
    opened(visitor)
    t = Translate("zh")
    said = [each.value for each in (*visitor.markdown, *visitor.caption)]
    topic = "greedy" if view == "write" else view
    if depth == "story":
        assert t.markdown(f"decode.means.{topic}") in said and t.markdown(f"decode.try.{topic}") in said
    elif depth == "formula":
        assert t.markdown(f"decode.source.{topic}") in said
    elif depth == "code":
        assert t("decode.program") in said and any("from models import greedy" in each.value for each in visitor.code)
    else:
        assert any(t.markdown("depth.click") == each for each in said)
        assert any("cross" in each or "probs" in each for each in said)


@pytest.mark.parametrize("view", ["write", "align", "lens"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_view_has_every_way_of_choosing_at_every_stage(app, view, kind):
    for step in ("0", "160"):
        opened(app("decode", v="1", decode=view, choice=kind, step=step, temperature="3", top_k="5", top_p="0.6"))


@pytest.mark.parametrize("query", HOSTILE)
def test_a_hostile_link_opens_what_there_is(app, query):
    opened(app("decode", v="1", **query))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("size", [WIDE, DEEP], ids=["wide", "deep"])
def test_the_largest_models_and_the_longest_text_stay_light(app, make_run, view, size):
    task = TASKS["english-chinese"]
    longest = max(task.heldout, key=lambda example: len(example.src))
    run = make_run("english-chinese", **size)
    opened(app("decode", v="1", run=run, text=" ".join(longest.src), decode=view, choice="beam", beam="6"))


@pytest.mark.parametrize(("task", "view"), [*(("induction", view) for view in VIEWS), ("names", "write")])
def test_a_decoder_alone_has_all_views_but_alignment(app, make_run, task, view):
    run = make_run(task)
    for kind in ("beam", "sample"):
        visitor = app("decode", v="1", run=run, decode=view, choice=kind, depth="numbers")
        opened(visitor)
    assert Translate("en")("decode.view.align") not in visitor.segmented_control(key="decode_decode").options


def test_an_encoder_alone_is_said_to_write_nothing(app, make_run):
    visitor = app("decode", v="1", run=make_run("masked"))
    opened(visitor)
    assert [each.value for each in visitor.info] == [Translate("en").markdown("decode.no_decoder")]


def test_any_word_of_the_vocabulary_is_put_in(app):
    visitor = app("decode", v="1", at="2")
    visitor.selectbox(key="decode_word").set_value("chien").run()
    opened(visitor)
    chien = TASKS["english-french"].vocabulary.encode(["chien"])[0]
    assert visitor.query_params["forced"] == f"2:{chien}"
    assert visitor.selectbox(key="decode_word").value is None


def test_settings_are_taken_up(app):
    visitor = app("decode", v="1", choice="sample")
    for key, value, name in (("decode_temperature", "2", "temperature"), ("decode_top_k", "10", "top_k")):
        visitor.select_slider(key=key).set_value(value).run()
        opened(visitor)
        assert visitor.query_params[name] == value
    visitor.number_input(key="decode_seed").set_value(7).run()
    opened(visitor)
    assert visitor.query_params["dice"] == "7"


# --- What the controls ask for ---------------------------------------------------------------------------------------


@pytest.fixture
def state() -> Session:
    return Session()


def test_nothing_chosen_is_the_default(state):
    assert chosen_way(state) == Way() and chosen_view(state) == VIEWS[0] and views_of(state) == VIEWS
    assert chosen_moment(state, 9) == 4 and chosen_moment(state, 1) == 0


def test_a_word_is_put_in_and_taken_out(state):
    put = force(state)
    put(3, 57)
    put(5, 12)
    assert chosen_way(state).forced == ((3, 57), (5, 12)) and chosen_moment(state, 9) == 5
    put(4, 8)
    assert chosen_way(state).forced == ((3, 57), (4, 8))
    put(4, -1)
    assert chosen_way(state).forced == ((3, 57),) and chosen_moment(state, 9) == 4
    release(state)()
    assert chosen_way(state).forced == ()


def test_a_branch_is_followed_greedily(state):
    subject = Subject(RunStore().open("english-french"), 80, "the black cat does not eat the fish")
    tree = write(subject, Way("beam")).tree
    assert tree is not None
    state.choose(choice="beam")
    cut = next(branch for branch in tree.branches.values() if branch.fate == "pruned" and branch.index == 2)
    follow(state, tree.path)(cut.number)
    way = chosen_way(state)
    assert way.kind == "greedy" and chosen_moment(state, 9) == 2
    written = write(subject, way)
    assert written.ids[:3] == tuple(branch.token for branch in tree.path(cut.number))


def test_what_a_browser_says_was_clicked_is_checked():
    subject = Subject(RunStore().open("english-french"), 800, "the cat sleeps")
    written = write(subject, Way())
    cross, own = written.attention("decoder.1.cross_attn", 0), written.attention("decoder.1.self_attn", 0)
    choices = [Choice(m, m.probs.values, "", cross[m.index], own[m.index]) for m in written.moments]
    assert picked({"step": 1, "which": "cross", "key": 2}, choices) == {"step": 1, "which": "cross", "key": 2}
    assert picked({"step": 1.0, "which": "self", "key": 0.0}, choices) == {"step": 1, "which": "self", "key": 0}
    hostile = (None, 3, "x", {}, {"step": 99, "which": "cross", "key": 0}, {"step": 0, "which": "cross", "key": -1})
    for value in (*hostile, {"step": 0, "which": "other", "key": 0}, {"step": True, "which": "self", "key": 0}):
        assert picked(value, choices) is None
