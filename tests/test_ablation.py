"""Heads switched off: against weights that are really zero, by law, by the text of a link."""

import copy

import pytest
import torch

from models import ModelConfig, capture, greedy
from playground.ablation import (
    HEADS,
    MEAN_OVER,
    HeadAt,
    ablated,
    all_heads,
    edits,
    heads_in,
    mean_outputs,
    places,
    written,
)
from playground.head import PLACES
from playground.runs import RunStore
from playground.subject import Subject
from playground.tasks import BOS, EOS, TASKS

CONFIG = ModelConfig(vocab_size=11, d_model=28, n_heads=4, n_layers=2)
OFF = (HeadAt("cross", 1, 0), HeadAt("encoder", 0, 2))


@pytest.fixture(scope="module")
def subject() -> Subject:
    run = RunStore().open("english-french")
    return Subject(run, run.steps[-1], TASKS[run.task].examples[0])


def without(subject: Subject, heads: tuple[HeadAt, ...]):
    """Return the model with the heads' rows of W_O set to 0: they then add nothing, whatever they look at."""
    model = copy.deepcopy(subject.model)
    width = model.config.d_head
    for each in heads:
        stack, part = PLACES[each.where]
        w_o = getattr(getattr(model, stack).layers[each.layer], part).W_O
        with torch.no_grad():
            w_o[each.head * width : (each.head + 1) * width] = 0.0
    return model


def test_a_head_that_is_off_is_a_head_whose_rows_of_w_o_are_zero(subject):
    found = ablated(subject, OFF, "zero")
    model = without(subject, OFF)
    encode = subject.task.vocabulary.encode
    source = torch.tensor([[*encode(subject.src), EOS]])
    steps = [int(step.token[0]) for step in greedy(model, source, bos_id=BOS, eos_id=EOS, max_len=15)]
    assert encode(found.output) == [token for token in steps if token != EOS]
    read = torch.tensor([encode(subject.reading.tgt)])
    trace = capture(model, source, read)
    for where in PLACES:
        name = f"{HeadAt(where, 1, 0).sublayer}.weights"
        torch.testing.assert_close(torch.tensor(found.reading[name].values), trace[name], atol=1e-5, rtol=0)


def test_with_no_head_off_nothing_changes(subject):
    found = ablated(subject, (), "zero")
    assert (found.output, found.finished) == (subject.output, subject.finished)
    assert (found.right.values[0] == found.right.values[1]).all()
    for name in subject.reading:
        assert (found.reading[name].values == subject.reading[name].values).all(), name


def test_the_first_row_is_the_probability_of_the_grammars_words(subject):
    found = ablated(subject, OFF, "zero")
    assert found.is_gold and found.right.axis("pos").labels == (*subject.example.tgt, "⟨eos⟩")
    probs = subject.reading["probs"]  # the model's own translation is the grammar's
    ids = subject.task.vocabulary.encode(found.right.axis("pos").labels)
    assert found.right.values[0] == pytest.approx([probs.values[row, i] for row, i in enumerate(ids)], abs=1e-6)


def test_a_text_out_of_the_grammar_is_judged_by_the_models_own_words(subject):
    other = Subject(subject.run, subject.step, "cat the")
    found = ablated(other, OFF, "mean")
    assert other.example is None and not found.is_gold
    assert found.right.axis("pos").labels[: len(other.output)] == other.output


def test_a_mean_is_over_every_word_of_the_held_out_sentences_one_by_one(subject):
    means = mean_outputs(subject.run.path, True, subject.step)
    encode = subject.task.vocabulary.encode
    totals: dict[str, torch.Tensor] = {}
    rows: dict[str, int] = {}
    names = [f"{each.sublayer}.z" for each in (HeadAt("encoder", 0, 0), HeadAt("cross", 1, 0))]
    for example in subject.task.heldout[:MEAN_OVER]:
        src, tgt = torch.tensor([[*encode(example.src), EOS]]), torch.tensor([[BOS, *encode(example.tgt)]])
        trace = capture(subject.model, src, tgt)
        for name in names:
            totals[name] = totals.get(name, 0) + trace[name].sum(dim=1)
            rows[name] = rows.get(name, 0) + trace[name].shape[1]
    for name in names:
        torch.testing.assert_close(means[name], totals[name] / rows[name], atol=1e-5, rtol=1e-5)


def test_an_edit_puts_the_mean_in_the_place_of_every_word_of_the_head_and_of_no_other(subject):
    means = mean_outputs(subject.run.path, True, subject.step)
    z = torch.randn(1, 4, 5, 16, generator=torch.Generator().manual_seed(0))
    (edit,) = edits([HeadAt("cross", 1, 3), HeadAt("cross", 1, 1)], means).values()
    changed = edit(z)
    for head in (1, 3):
        torch.testing.assert_close(changed[0, head], means["decoder.1.cross_attn.z"][head].expand(5, 16))
    assert (changed[:, [0, 2]] == z[:, [0, 2]]).all()


def test_another_way_is_refused(subject):
    with pytest.raises(ValueError, match="one of .*zero.*, but got 'half'"):
        ablated(subject, OFF, "half")


# --- The text of a link ----------------------------------------------------------------------------------------------


def test_heads_are_read_as_they_are_written():
    text = "decoder.1.cross.2,encoder.0.self.0,decoder.0.self.3"
    heads = (HeadAt("cross", 1, 2), HeadAt("encoder", 0, 0), HeadAt("decoder", 0, 3))
    assert heads_in(text, CONFIG) == heads
    assert written(heads) == text and HEADS.fullmatch(text)
    assert written(()) == "none" and heads_in("none", CONFIG) == ()


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("decoder.9.cross.99", (HeadAt("cross", 1, 3),)),
        ("encoder.0.self.1,encoder.0.self.1", (HeadAt("encoder", 0, 1),)),
        ("encoder.0.cross.1", ()),
        ("encoder.-1.self.0", ()),
        ("<script>", ()),
        ("", ()),
    ],
)
def test_whatever_a_link_says_the_heads_exist(text, heads):
    assert heads_in(text, CONFIG) == heads


def test_a_model_without_a_decoder_has_no_heads_there():
    config = ModelConfig(vocab_size=11, d_model=28, n_heads=4, n_layers=2, architecture="encoder-only")
    assert places(config) == ("encoder",)
    assert len(all_heads(config)) == 8 and len(all_heads(CONFIG)) == 24
    assert heads_in("decoder.0.self.1,encoder.1.self.1", config) == (HeadAt("encoder", 1, 1),)
