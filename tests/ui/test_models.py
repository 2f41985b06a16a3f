"""The page Models: what is said of each run, and what may be done to it by whom."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from playground.capsule import write_capsule
from playground.i18n import Translate, literal
from playground.runs import Label, RunStore, digest
from playground.training import shared_engine
from playground.ui.components.shelf import Card
from playground.ui.session import Session

SMALL = {"d_model": 12, "n_heads": 3, "d_ff": 7, "n_layers": 1}
HOSTILE = "<script>alert(1)</script> **x** $a$ \u202e"
T = Translate("en")


@pytest.fixture
def cards(monkeypatch) -> list[list[Card]]:
    """Collect what the shelf is given."""
    found: list[list[Card]] = []

    def seen(cards, chosen, **_) -> None:
        found.append(list(cards))

    monkeypatch.setattr("playground.ui.models_views.shelf", seen)
    return found


def mine(visitor, runs: RunStore, run_id: str) -> str:
    """Make a run the visitor's own."""
    session: Session = visitor.session_state["session"]
    Label(owner=digest(session.owner)).write(runs.root / run_id)
    session.own_runs = (*session.own_runs, run_id)
    session.choose(kept=run_id)
    return run_id


def keys(visitor) -> set[str]:
    return {each.key for each in visitor.button}


def test_a_card_says_what_a_run_is(app, runs, make_run, cards):
    run_id = make_run("english-chinese", steps=(0, 5), title=HOSTILE, **SMALL)
    app("models", v="1", run=run_id)
    french, *_, shared = cards[-1]
    assert (french.title, french.whose, french.share) == ("English → French", "recorded run", "99.6%")
    assert (
        french.facts[0] == "d_model 64 · 2 + 2 layers · 4 heads" and "800 steps · 12 recorded · 12" in french.facts[1]
    )
    assert len(french.curve) > 50 and not french.is_subject
    assert (shared.title, shared.whose, shared.is_subject) == (HOSTILE, "somebody's run", True)
    assert shared.problem == T("models.card.nothing") and not shared.curve


def test_only_one_s_own_run_is_named_and_deleted(app, runs, make_run):
    run_id = make_run(steps=(0, 5), **SMALL)
    visitor = app("models", v="1", run=run_id)
    assert not visitor.text_area and "models_delete_sure" not in keys(visitor)
    mine(visitor, runs, run_id)
    visitor.run()
    assert visitor.text_area and "models_delete_sure" in keys(visitor)
    visitor.text_input(key=f"models_title_{run_id}").input(HOSTILE)
    visitor.text_area(key=f"models_note_{run_id}").input("tried <b>this</b>")
    next(each for each in visitor.button if each.label == T("models.label.save")).click().run()
    assert runs.open(run_id).title == HOSTILE.strip()
    assert literal(HOSTILE.strip()) in [each.value for each in visitor.subheader]
    assert literal("tried <b>this</b>") in [each.value for each in visitor.markdown]


def test_deleting_the_subject_leaves_a_recording(app, runs, make_run):
    run_id = make_run(steps=(0, 5), **SMALL)
    visitor = app("models", v="1", run=run_id)
    mine(visitor, runs, run_id)
    visitor.run()
    visitor.button(key="models_delete_sure").click().run()
    assert not visitor.exception and not (runs.root / run_id).exists()
    session: Session = visitor.session_state["session"]
    assert session.run.is_recording and session.own_runs == () and "kept" not in session.picks


def test_an_active_run_is_not_deleted(app, runs, make_run, monkeypatch):
    run_id = make_run(steps=(0, 5), **SMALL)
    visitor = app("models", v="1")
    mine(visitor, runs, run_id)
    monkeypatch.setattr("playground.ui.models_controls._is_active", lambda run: True)
    visitor.run()
    assert "models_delete_sure" not in keys(visitor)
    assert T.markdown("models.delete.active") in [each.value for each in visitor.markdown]


def test_a_card_makes_a_run_the_subject(app, runs, make_run):
    run_id = make_run(steps=(0, 5), **SMALL)
    visitor = app("models", v="1", kept="english-chinese")
    visitor.button(key="models_use").click().run()
    session: Session = visitor.session_state["session"]
    assert session.run_id == "english-chinese" and visitor.button(key="models_use").disabled
    session.choose(kept=run_id)  # of somebody: not on this visitor's shelf
    visitor.run()
    assert "English → Chinese" in visitor.subheader[0].value.replace("\\", "")


def capsule(runs: RunStore, run_id: str) -> bytes:
    file = io.BytesIO()
    write_capsule(file, runs.open(run_id))
    return file.getvalue()


def test_what_is_brought_stands_on_the_shelf_and_the_subject_stays(app, runs, make_run):
    data = capsule(runs, make_run(steps=(0, 5), title=HOSTILE, **SMALL))
    visitor = app("models", v="1", run="english-chinese")
    visitor.file_uploader[0].set_value(("../../x.capsule", data, "application/x-sh")).run()
    assert not visitor.exception and not visitor.error
    session: Session = visitor.session_state["session"]
    [brought] = session.own_runs
    assert session.run_id == "english-chinese"
    assert runs.kept_by(session.owner) == (brought,) and runs.open(brought).label.is_imported
    assert literal(HOSTILE) in visitor.success[0].value
    visitor.button(key="models_bring_use").click().run()
    assert session.run_id == brought


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_no_capsule_is_refused_in_words(app, runs, make_run, language):
    data = capsule(runs, make_run(steps=(0, 5), **SMALL))
    before = sorted(runs.root.rglob("*"))
    visitor = app("models", v="1", run="english-chinese", lang=language)
    for bad, key in ((b"PK", "other"), (data[:-9], "changed"), (data[:999], "short"), (b"x" * 99, "other")):
        visitor.file_uploader[0].set_value(("x.capsule", bad, "application/octet-stream")).run()
        assert [each.value for each in visitor.error] == [Translate(language).markdown(f"capsule.refused.{key}")]
        assert visitor.session_state["session"].run_id == "english-chinese"
    assert sorted(runs.root.rglob("*")) == before


def test_a_visitor_keeps_only_so_many(app, runs, make_run, monkeypatch):
    run_id = make_run(steps=(0, 5), **SMALL)
    data = capsule(runs, run_id)
    visitor = app("models", v="1")
    mine(visitor, runs, run_id)
    monkeypatch.setattr(shared_engine(), "limits", replace(shared_engine().limits, runs=1))
    visitor.file_uploader[0].set_value(("x.capsule", data, "application/octet-stream")).run()
    assert [each.value for each in visitor.error] == [T.markdown("models.refused.full", n=1)]
    assert [path.name for path in runs.root.iterdir()] == [run_id]


def test_runs_are_there_again_after_a_reload(app, runs, make_run, monkeypatch):
    run_id = make_run(steps=(0, 5), **SMALL)
    owner = "c" * 32
    monkeypatch.setattr("playground.ui.session._known_visitor", lambda: owner)
    Label(owner=digest(owner)).write(runs.root / run_id)
    assert app("models").session_state["session"].own_runs == (run_id,)


def test_an_empty_place_says_what_to_do(app, runs, monkeypatch):
    said = []
    monkeypatch.setattr("playground.ui.models_views.shelf", lambda *_, empty, **__: said.append(empty))
    app("models")
    assert said == [T("models.none")]


def test_a_hall_sees_pictures_only(app, runs):
    visitor = app("models", v="1", present="1")
    assert not visitor.file_uploader and "models_use" not in keys(visitor)
