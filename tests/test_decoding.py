"""What a subject's model writes: each choice with the pass that made it, forced words, alignment."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models import length_penalty
from playground.decoding import (
    FORCED,
    Way,
    alignment,
    beginning,
    forced_in,
    forced_text,
    put_in,
    write,
)
from playground.runs import RunStore
from playground.subject import Subject
from playground.tasks import EOS, TASKS

TEXT = "the black cat does not eat the fish"
WAYS = {
    "greedy": Way(),
    "sample": Way("sample", temperature=2.0, top_k=40, top_p=0.95, seed=5),
    "beam": Way("beam", width=3),
    "forced": Way(forced=((2, 57), (4, 30))),
    "forced sample": Way("sample", temperature=1.5, seed=3, forced=((1, 40),)),
}


def subject(step: int = 800, text: str = TEXT, run: str = "english-french") -> Subject:
    return Subject(RunStore().open(run), step, text)


def own(make_run, task: str = "reverse", **choices) -> Subject:
    run = RunStore().open(make_run(task, **choices))
    return Subject(run, 0, TASKS[task].examples[0])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_each_choice_is_made_from_the_distribution_that_is_shown(way):
    written = write(subject(120), way)
    forced = dict(way.forced)
    for moment in written.moments:
        p = moment.probs.values
        assert p.shape == (224,) and p.sum() == pytest.approx(1.0, abs=1e-5)
        assert moment.token == written.ids[moment.index] and moment.written == written.words[moment.index]
        assert moment.is_forced == (moment.index in forced)
        assert moment.read == (("⟨bos⟩", *written.words)[moment.index])
        if moment.is_forced:
            assert moment.token == forced[moment.index]
        elif way.kind == "greedy":
            assert moment.token == moment.free == int(p.argmax()) and moment.rank(moment.token) == 0
        elif way.kind == "sample":
            assert moment.in_p is not None and moment.in_p[moment.token] and moment.cut(moment.token) == ""


def test_the_greedy_text_is_the_subjects_own():
    here = subject()
    written = write(here, Way())
    assert written.output == here.output and written.finished == here.finished
    np.testing.assert_array_equal(written.reading["logits"].values, here.reading["logits"].values)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("task", ["reverse", "induction", "names"])
def test_a_choice_is_the_row_of_the_pass_that_made_it(make_run, task, causal):
    """No off-by-one: the last row of a pass over what stood before the token, and nothing that came later."""
    here = own(make_run, task, causal=causal)
    for way in (Way(), Way("sample", seed=1), Way("beam")):
        written = write(here, way)
        source, begun = beginning(here.task, here.src)
        assert bool(source) == (task == "reverse")
        for moment in written.moments:
            given = torch.tensor([[*begun, *written.ids[: moment.index]]])
            with torch.no_grad():
                logits = here.model(torch.tensor([source]), given) if source else here.model(given)
            np.testing.assert_allclose(moment.probs.values, logits[0, -1].softmax(dim=-1).numpy(), atol=1e-5)
            reading, row = written.pass_of(moment.index)
            assert reading.tgt[row] == moment.read
            seen = reading["decoder.0.self_attn.weights"].values[0, row]
            assert seen[: row + 1].sum() == pytest.approx(1, abs=1e-5)
            np.testing.assert_array_equal(written.attention("decoder.0.self_attn", 0)[moment.index], seen)


def test_a_decoder_alone_goes_on_until_it_is_full(make_run):
    here = own(make_run, "names")
    written = write(here, Way())
    assert len(written.begun) - 1 + len(written.ids) <= here.task.max_len
    assert written.finished or len(written.begun) - 1 + len(written.ids) == here.task.max_len
    assert written.reading.src == () and written.reading.tgt[0] == "⟨bos⟩"


def test_what_a_filter_removes_worked_by_hand():
    moment = write(subject(160), Way("sample", temperature=2.0, top_k=10, top_p=0.8, seed=5)).moments[0]
    assert moment.tempered is not None and moment.in_k is not None and moment.in_p is not None
    falling = np.sort(moment.tempered)[::-1]
    kept = int(np.searchsorted(falling[:10].cumsum() / falling[:10].sum(), 0.8)) + 1
    assert moment.removed("k") == (214, pytest.approx(falling[10:].sum()))
    assert moment.removed("p") == (10 - kept, pytest.approx(falling[kept:10].sum() / falling[:10].sum()))
    assert write(subject(160), Way()).moments[0].removed("k") == (0, 0.0)


@pytest.mark.parametrize("way", [Way("sample", 2.0, 10, 0.8, 5), Way("sample", 0.0), Way("sample", 5.0), Way()])
def test_the_bars_and_the_strip_hold_the_whole_distribution(way):
    for moment in write(subject(160), way).moments:
        shown = moment.shown(10)
        assert moment.token in shown and len(shown) in (10, 11)
        rest = moment.rest(shown)
        assert len(rest.tokens) + len(shown) == 224
        for name in ("p", "tempered", "final"):
            assert sum(getattr(moment.share([i]), name) for i in shown) + getattr(rest, name) == pytest.approx(
                1, abs=1e-5
            )
            assert sum(getattr(piece, name) for piece in moment.line(shown)) == pytest.approx(1, abs=1e-5)
        line = moment.line(shown)
        assert sorted(token for piece in line for token in piece.tokens) == list(range(224))
        assert all(piece.final == 0 for piece in line if piece.cut)
        if moment.at is not None and not moment.is_forced:
            edges = np.cumsum([piece.final for piece in line])
            assert moment.token in line[int((edges <= moment.at).sum())].tokens, "the mark does not stand on the word"


def test_a_beam_s_tree_leads_to_its_text():
    written = write(subject(80), Way("beam", width=4, penalty=0.6))
    tree = written.tree
    assert tree is not None
    assert tuple(branch.token for branch in tree.best) == written.ids
    assert tree.path(tree.best[-1].number) == tree.best
    assert written.log_probability() == pytest.approx(tree.best[-1].total, abs=1e-4)
    assert tree.best[-1].score == pytest.approx(tree.best[-1].total / length_penalty(len(written.ids), 0.6))
    ended = [branch for branch in tree.branches.values() if branch.fate == "ended"]
    assert max(branch.score for branch in ended) == tree.best[-1].score
    # The survivor's own attention: a map row for each of its words.
    assert written.map("decoder.1.cross_attn", 3).axis("query").labels == written.words


def test_a_beam_of_one_is_greedy_for_every_text_of_the_examples():
    for name in ("english-french", "english-chinese", "reverse"):
        for text in TASKS[name].examples[:3]:
            here = subject(80, text, name)
            assert write(here, Way("beam", width=1)).ids == write(here, Way()).ids


def test_the_text_is_no_longer_than_the_task_allows():
    here = subject(0)
    for way in (Way(), Way("beam"), Way("sample", top_k=1)):
        written = write(here, way)
        assert not written.finished and len(written.ids) == here.task.max_len


def test_a_forced_end_ends_and_a_forced_word_leads_on():
    here = subject()
    assert write(here, Way(forced=((3, EOS),))).words == ("le", "chat", "noir", "⟨eos⟩")
    free, led = write(here, Way()), write(here, Way(forced=((2, 57),)))
    assert led.ids[:2] == free.ids[:2] and led.ids[2] == 57 and led.moments[2].free == free.ids[2]


# --- In a link -------------------------------------------------------------------------------------------------------


def test_what_is_forced_goes_through_a_link():
    forced = ((0, 5), (3, 57), (12, 0))
    assert FORCED.fullmatch(forced_text(forced))
    assert forced_in(forced_text(forced), 224) == forced
    assert forced_text(()) == "" and forced_in("", 224) == forced_in(None, 224) == forced_in(7, 224) == ()


@pytest.mark.parametrize("hostile", ["1", "1:2;", "a:b", "1:2,", "-1:2", "1:2" * 99, "9999:1"])
def test_what_a_stranger_writes_is_as_if_it_were_not_there(hostile):
    assert forced_in(hostile, 224) == ()


def test_words_that_the_model_does_not_have_and_doubles_vanish():
    assert forced_in("3:224,1:5,1:6", 224) == ((1, 6),)


def test_a_word_that_is_put_in_drops_those_after_it():
    assert put_in(((0, 5), (3, 57), (4, 1)), 3, 9) == ((0, 5), (3, 9))


# --- Alignment -------------------------------------------------------------------------------------------------------


def test_an_alignment_worked_by_hand():
    here = subject()
    written = write(here, Way())
    found = alignment(here, written, 1, 3)
    w = here.reading["decoder.1.cross_attn.weights"].values[3]
    np.testing.assert_array_equal(found.weights.values, w)
    assert found.gold == here.example.alignment
    # le-the, chat-cat, noir-black, ne-not, mange-does and -eat, pas-not, le-the, poisson-fish
    rows = [w[0, 0], w[1, 2], w[2, 1], w[3, 4], w[4, 3] + w[4, 5], w[5, 4], w[6, 6], w[7, 7]]
    assert found.share == pytest.approx(float(np.mean(rows)))
    assert found.even == pytest.approx((7 * 1 / 9 + 2 / 9) / 8)
    assert found.best is not None and found.best[0] == here.aligned_head()
    assert found.share == pytest.approx(here.head_score(1, 3))


def test_only_what_was_written_as_the_grammar_does_is_compared():
    here = subject(160)
    written = write(here, Way())  # le chat ne mange …: right up to the second word
    found = alignment(here, written, 1, 3)
    assert found.gold == ((0, 0), (1, 2))
    wrong = write(here, Way(forced=((0, 57),)))
    assert alignment(here, wrong, 1, 3).share is None


def test_the_map_of_a_drawn_text_is_of_its_own_pass():
    here = subject()
    written = write(here, Way("sample", temperature=3.0, seed=2))
    assert written.ids != write(here, Way()).ids
    found = alignment(here, written, 0, 1).weights
    assert found.axis("query").labels == written.words
    np.testing.assert_allclose(found.values.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(found.values, written.reading["decoder.0.cross_attn.weights"].values[1])
