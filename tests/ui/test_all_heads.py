"""The page of all heads: every view with any model, its words against its numbers, what a link may ask for."""

from __future__ import annotations

import numpy as np
import pytest

from models import ModelConfig
from playground.ablation import HeadAt, ablated, all_heads
from playground.figures.sharing import sharing
from playground.figures.theme import LIGHT
from playground.grouping import grouping, readers_of
from playground.head import Head
from playground.i18n import LANGUAGES, Translate
from playground.patterns import MOST_WORDS, head_scores, pattern_of
from playground.reading import Reading
from playground.runs import RunStore
from playground.subject import Subject
from playground.tasks import TASKS
from playground.ui.all_heads_controls import VIEWS, kind_of
from playground.ui.all_heads_views import maps_of, told_as
from playground.ui.components.attention_grid import HeadMaps
from playground.ui.components.head_lines import HeadLines

T = Translate("en")
RECORDINGS = [run.id for run in RunStore().runs()]


def subject_of(run_id: str, step: int | None = None) -> Subject:
    run = RunStore().open(run_id)
    return Subject(run, run.steps[-1] if step is None else step, TASKS[run.task].examples[0])


def said(visitor: object) -> str:
    return "\n".join(each.value for each in [*visitor.markdown, *visitor.caption])


# --- The page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens_in_every_language(app, view, language):
    visitor = app("all_heads", v="1", heads=view, lang=language)
    assert not visitor.exception, [each.value for each in visitor.exception]
    assert Translate(language).markdown(f"all_heads.try.{view}") in said(visitor)
    assert Translate(language).markdown("all_heads.honest") in said(visitor)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "choices",
    [
        {"d_model": 1, "n_heads": 1, "d_ff": 1, "n_layers": 1},
        {"d_model": 128, "n_heads": 16, "n_kv_heads": 4, "d_ff": 64, "n_layers": 8},
        {"n_kv_heads": 1, "positions": "rotary", "norm_placement": "pre", "attention_bias": True, "tied": False},
    ],
    ids=["smallest", "deep", "other-parts"],
)
def test_every_view_opens_with_any_model_and_whatever_a_link_names(app, make_run, view, choices):
    run = make_run(**choices)
    names = "decoder.9.cross.99,encoder.0.self.0,decoder.3.self.2"
    visitor = app("all_heads", v="1", run=run, heads=view, lines=names, off=names, way="mean", kv="3", layer="63")
    assert not visitor.exception, [each.value for each in visitor.exception]


def test_no_head_is_an_empty_choice_with_words_for_it(app):
    for view in ("lines", "off"):
        visitor = app("all_heads", v="1", heads=view, lines="none", off="none")
        assert not visitor.exception
    assert T.markdown("all_heads.off.empty_says") in said(visitor)
    lines = app("all_heads", v="1", heads="lines", lines="none")
    assert [each.value for each in lines.info] == [T.markdown("all_heads.lines.choose")]


def test_what_is_chosen_is_in_the_link(app):
    visitor = app("all_heads", v="1", heads="off")
    visitor.multiselect(key="pick_off").set_value([HeadAt("encoder", 0, 1)]).run()
    assert visitor.query_params["off"] == "encoder.0.self.1"
    visitor.multiselect(key="pick_off").set_value([]).run()
    assert visitor.query_params["off"] == "none"
    assert not visitor.exception


def test_the_words_say_the_numbers_of_the_heads_that_are_off(app):
    subject = subject_of("english-french")
    found = ablated(subject, [HeadAt("cross", 1, head) for head in range(4)], "zero")
    before, after = found.right.values.mean(axis=1)
    visitor = app("all_heads", v="1", heads="off", run="english-french")
    right = T.markdown("all_heads.off.right_gold", before=f"{before:.2f}", after=f"{after:.2f}")
    assert right in said(visitor) and after < before
    assert subject.task.detokenize(found.output) in said(visitor).replace("\\", "")


def test_the_table_has_the_scores_of_the_head_that_is_chosen(app):
    visitor = app("all_heads", v="1", run="english-french", where="cross", layer="1", head="3")
    scores = head_scores(subject_of("english-french"), "cross", 1)
    for name, each in scores.items():
        for value in (each[3].value, each[3].uniform, each[3].low, each[3].high):
            assert told_as(name, value) in said(visitor).replace("\\", ""), name


@pytest.mark.parametrize("run_id", RECORDINGS)
def test_before_training_no_head_has_a_name_and_after_it_those_have_that_the_task_needs(run_id):
    def names(step: int | None) -> list[str | None]:
        subject = subject_of(run_id, step)
        config = subject.run.config.model
        return [pattern_of(head_scores(subject, each.where, each.layer), each.head) for each in all_heads(config)]

    assert set(names(0)) == {None}
    needed = {"encoder-decoder": "alignment", "decoder-only": "induction"}
    architecture = RunStore().open(run_id).config.model.architecture
    assert architecture not in needed or needed[architecture] in names(None)


# --- What is drawn ---------------------------------------------------------------------------------------------------


class Long:
    """A reading of one long sentence: uniform weights under a causal mask, as large as asked for."""

    def __init__(self, words: int, heads: int) -> None:
        import torch

        mask = torch.ones(words, words, dtype=torch.bool).tril()
        weights = (mask / mask.sum(dim=1, keepdim=True)).expand(heads, words, words)
        parts = {"weights": weights, "mask": mask, "mask_causal": mask}
        trace = {f"decoder.{layer}.self_attn.{name}": value for layer in range(2) for name, value in parts.items()}
        trace["logits"] = torch.zeros(words, 3)
        names = tuple(f"w{i}" for i in range(words))
        self.reading = Reading(trace, src=(), tgt=names, vocabulary=("a", "b", "c"))
        self.config = ModelConfig(
            vocab_size=3, d_model=heads, n_heads=heads, n_layers=2, architecture="decoder-only", max_len=words
        )


def test_up_to_256_words_are_drawn_and_beyond_that_the_limit_is_said():
    within, beyond = Long(MOST_WORDS, 2), Long(MOST_WORDS + 5, 2)
    (group,), limit = maps_of(within.reading, within.config, T, labels={}, keep="decoder")
    assert group.layers[0].shape == (2, 256, 256) and limit == ""
    (group,), limit = maps_of(beyond.reading, beyond.config, T, labels={}, keep="decoder")
    assert group.layers[0].shape == (2, 256, 256) and group.hidden.shape == (256, 256)
    assert limit == T("all_heads.limit.words", most=256, words=261)


def test_too_many_weights_for_one_picture_leave_the_attention_that_is_chosen(monkeypatch):
    monkeypatch.setattr("playground.ui.all_heads_views.MOST_CELLS", 500)
    subject = subject_of("english-french")
    groups, limit = maps_of(subject.reading, subject.run.config.model, T, labels={}, keep="decoder")
    assert [group.id for group in groups] == ["decoder"] and "500" in limit


def test_the_maps_are_those_of_the_pass():
    subject = subject_of("english-french")
    labels = {("cross", 1, 3): "alignment"}
    groups, _ = maps_of(
        subject.reading, subject.run.config.model, T, labels=labels, off=[HeadAt("cross", 0, 1)], keep="cross"
    )
    assert [group.id for group in groups] == ["encoder", "decoder", "cross"]
    for group in groups:
        for layer, array in enumerate(group.layers):
            np.testing.assert_array_equal(
                array.values, Head(subject.reading, group.id, layer, 0).whole("weights").values
            )
    assert (groups[2].labels, groups[2].off) == ({(1, 3): "alignment"}, {(0, 1)})
    assert groups[0].hidden is None and groups[1].hidden is not None
    assert HeadMaps(groups[2].id, "", groups[2].layers, None, groups[2].labels).plain(T)["labels"] == [
        [1, 3, "alignment"]
    ]


def test_lines_of_another_shape_are_refused():
    weights = subject_of("reverse").reading["decoder.0.cross_attn.weights"].select(head=0)
    with pytest.raises(ValueError, match="but its lines are"):
        HeadLines("cross", "", "", weights, np.ones((2, 2), dtype=bool))


# --- Shared keys and values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_kv_heads", "readers"), [(4, (0, 1, 2, 3)), (2, (0, 0, 1, 1)), (1, (0, 0, 0, 0))])
def test_who_reads_whose_keys_is_found_in_the_numbers(n_kv_heads, readers):
    subject = subject_of("english-french")
    found = grouping(subject, n_kv_heads)
    assert found.readers == readers
    assert found.off < 1e-4
    assert found.is_laboratory == (n_kv_heads != 4)
    assert found.k_shape == (n_kv_heads, len(subject.reading.src), 16)
    assert found.word_bytes == 2 * n_kv_heads * 16 * 4


def test_keys_that_are_read_crosswise_are_found_crosswise():
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(3, 5, 7)), rng.normal(size=(2, 5, 7))
    scores = np.stack([q[h] @ k[g].T for h, g in enumerate((1, 0, 1))])
    assert readers_of(q, k, scores)[0] == (1, 0, 1)


def test_the_drawing_has_a_box_a_head_and_a_line_to_what_it_reads():
    figure = sharing((0, 0, 1, 1), titles=("above", "below"), theme=LIGHT)
    lines, queries, keys, values = figure.data
    assert (len(queries.x), len(keys.x), len(values.x)) == (4, 2, 2)
    ends = [(lines.x[i], lines.x[i + 1]) for i in range(0, len(lines.x), 3)]
    assert ends == [(0, 0.5), (1, 0.5), (2, 2.5), (3, 2.5)]
    assert [each.text for each in figure.layout.annotations] == ["above", "below"]
    with pytest.raises(ValueError, match="of 3 only"):
        sharing((0, 2), titles=("", ""), theme=LIGHT)
    with pytest.raises(ValueError, match="but got 0"):
        sharing((), titles=("", ""), theme=LIGHT)


def test_what_sharing_is_called():
    assert [kind_of(n, 8) for n in (8, 4, 1)] == ["mha", "gqa", "mqa"]
    assert kind_of(1, 1) == "mha"
