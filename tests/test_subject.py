"""The subject: one forward pass of a run at a step, in the words of its sentence."""

import numpy as np
import pytest
import torch

from models import AXES, ModelConfig, Transformer, greedy
from playground.recipe import Recipe, RunConfig
from playground.runs import RunStore
from playground.subject import Subject
from playground.tasks import BOS, EOS, TASKS, TextRefused

TASK = TASKS["english-french"]
TEXT = TASK.examples[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    model = ModelConfig(
        vocab_size=len(TASK.vocabulary.tokens), max_len=TASK.max_len, d_model=24, n_heads=3, d_ff=40, n_layers=2
    )
    store = RunStore(tmp_path_factory.mktemp("runs"))
    writer = store.create(RunConfig(task="english-french", model=model, recipe=Recipe(steps=5)), "a test")
    for step in (0, 5):
        writer.weights(step, Transformer(model, torch.Generator().manual_seed(step)).state_dict())
    return store.open(writer.run_id)


@pytest.fixture
def subject(run):
    return Subject(run, 5, TEXT)


def test_every_number_of_a_reading_is_that_of_the_pass(run, subject):
    """The oracle is the model run by hand, without a recorder."""
    model = Transformer(run.config.model)
    model.load_state_dict(run.weights(5))
    model.eval()
    src = torch.tensor([[*TASK.vocabulary.encode(subject.src), EOS]])
    tgt = torch.tensor([TASK.vocabulary.encode(subject.reading.tgt)])
    with torch.no_grad():
        logits = model(src, tgt)[0]
    np.testing.assert_allclose(subject.reading["logits"].values, logits.numpy(), atol=1e-5)
    np.testing.assert_allclose(subject.reading["probs"].values, logits.softmax(-1).numpy(), atol=1e-6)


def test_every_tensor_has_its_axes_and_words(subject):
    reading = subject.reading
    src, tgt = (*subject.src, "⟨eos⟩"), reading.tgt
    assert (reading.src, tgt[0]) == (src, "⟨bos⟩")
    wanted = {
        "encoder.0.self_attn.weights": {"query": src, "key": src},
        "decoder.1.self_attn.weights": {"query": tgt, "key": tgt},
        "decoder.1.cross_attn.weights": {"query": tgt, "key": src},
        "decoder.0.cross_attn.q": {"query": tgt},
        "decoder.0.cross_attn.k": {"key": src},
        "decoder.0.cross_attn.memory": {"pos": src},
        "decoder.0.cross_attn.input": {"pos": tgt},
        "encoder.embed": {"pos": src},
        "memory": {"pos": src},
        "decoder.1.resid_post": {"pos": tgt},
        "logits": {"pos": tgt, "vocab": tuple(TASK.vocabulary.tokens)},
    }
    for name, axes in wanted.items():
        for axis, labels in axes.items():
            assert reading[name].axis(axis).labels == labels, (name, axis)
    for name in reading:
        assert tuple(axis.name for axis in reading[name].axes) == AXES[name.rsplit(".", 1)[-1]], name


def test_the_map_of_cross_attention_is_target_by_source(subject):
    """Queries come from the decoder, keys and values from the encoder; the other way round has other lengths."""
    weights = subject.reading["decoder.0.cross_attn.weights"]
    assert weights.shape[1:] == (len(subject.reading.tgt), len(subject.reading.src))
    assert len(subject.reading.tgt) != len(subject.reading.src)


def test_hidden_cells_are_those_of_the_mask_with_their_reason(subject):
    n = len(subject.reading.tgt)
    hidden = subject.reading.hidden("decoder.0.self_attn")
    later = np.triu(np.ones((n, n), dtype=bool), k=1)
    assert (hidden[later] == "causal").all() and (hidden[~later] == "").all()
    assert (subject.reading.hidden("decoder.0.cross_attn") == "").all()


def test_the_translation_is_what_greedy_decoding_writes(run, subject):
    model = Transformer(run.config.model)
    model.load_state_dict(run.weights(5))
    src = torch.tensor([[*TASK.vocabulary.encode(subject.src), EOS]])
    steps = greedy(model, src, bos_id=BOS, eos_id=EOS, max_len=TASK.max_len)
    ids = [int(step.token[0]) for step in steps]
    assert subject.finished == (EOS in ids)
    assert subject.output == TASK.vocabulary.decode([i for i in ids if i != EOS])
    written = subject.reading.predicted[: len(subject.output)]
    assert written == subject.output


def test_a_reading_cannot_be_changed_by_a_visitor(subject):
    with pytest.raises(ValueError, match="read-only"):
        subject.reading["logits"].values[0, 0] = 1.0


def test_the_rows_of_the_embedding_are_the_table_itself(run, subject):
    rows = subject.embedding("decoder")
    table = run.weights(5)["embedding"].numpy()
    ids = TASK.vocabulary.encode(subject.reading.tgt)
    np.testing.assert_array_equal(rows.values, table[ids])
    np.testing.assert_allclose(rows.values * 24**0.5, subject.reading["decoder.embed"].values, rtol=1e-5)
    assert rows.axis("pos").labels[0] == f"⟨bos⟩ · {BOS}"


def test_other_steps_give_other_numbers_and_the_same_step_the_same(run, subject):
    before = Subject(run, 0, TEXT).reading["encoder.0.self_attn.weights"].values
    after = subject.reading["encoder.0.self_attn.weights"].values
    assert not np.allclose(before, after)
    np.testing.assert_array_equal(after, Subject(run, 5, TEXT).reading["encoder.0.self_attn.weights"].values)


def test_gold_alignment_is_used_only_for_the_grammars_own_translation(subject):
    assert subject.example is not None
    assert subject.exact is False  # untrained: babble
    assert subject.head_score(0, 0) is None
    assert subject.aligned_head() is None


def test_a_refused_text_raises_what_the_page_can_say(run):
    for text in ("", "the xylophone sleeps", "cat " * 10_000):
        with pytest.raises(TextRefused):
            Subject(run, 5, text)


def test_an_unknown_tensor_names_those_that_end_alike(subject):
    with pytest.raises(KeyError, match=r"encoder\.0\.self_attn\.weights"):
        subject.reading["encoder.7.self_attn.weights"]
