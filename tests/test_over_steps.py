"""A run over its recorded steps: every picture of the film is the pass it says it is, every loss is measured again."""

import itertools

import numpy as np
import pytest
import torch

from models import capture, label_smoothed_loss
from playground.embedding import axes_over, on_axes, plane
from playground.labelled import Axis, LabelledArray
from playground.measured import lines_at, program
from playground.over_steps import (
    Emergence,
    film,
    glance,
    held_out_loss,
    held_out_losses,
    part_grads,
    planes,
    selected,
)
from playground.parts import parts
from playground.patterns import Score
from playground.runs import RunStore
from playground.training.trainer import held_out


@pytest.fixture(scope="module")
def run():
    return RunStore().open("reverse")


@pytest.fixture(scope="module")
def shown(run):
    return film(run, run.config.data.examples[0])


def test_each_picture_is_the_pass_of_its_step(run, shown):
    assert shown.steps == run.steps
    task = run.config.data
    batch = task.encode([task.reference(task.tokenize(task.examples[0]))])
    for place in (0, 3, -1):
        trace = capture(run.model(run.steps[place]), *(torch.tensor(ids) for ids in batch.read))
        for name, maps in shown.maps.items():
            np.testing.assert_array_equal(maps[place], trace[name].numpy())
            np.testing.assert_array_equal(shown.allowed[name], trace[name.removesuffix("weights") + "mask"].numpy())
    assert shown.is_gold
    assert len(shown.written) == len(run.steps)
    assert shown.written[-1] == task.detokenize(task.reference(task.tokenize(task.examples[0])).tgt)


def test_the_words_are_the_same_at_every_step(run, shown):
    assert shown.src[-1] == "⟨eos⟩"
    assert shown.tgt[0] == "⟨bos⟩"
    for step in (run.steps[0], run.steps[-1]):
        looked = glance(run, step, run.config.data.examples[0])
        assert (looked.src, looked.tgt, looked.step) == (shown.src, shown.tgt, step)
        np.testing.assert_array_equal(
            looked.maps["decoder.0.cross_attn.weights"], shown.at(step)["decoder.0.cross_attn.weights"]
        )


def test_a_text_without_a_right_answer_is_given_what_the_model_writes_last():
    run = RunStore().open("english-french")
    found = film(run, "cat the the eat")
    assert not found.is_gold
    assert found.written[-1].startswith(run.config.data.detokenize(found.example.tgt))
    assert not [each for each in found.emergence if each.kind == "alignment"]


def test_of_many_steps_an_even_few_are_shown():
    assert selected(range(100), 5) == (0, 25, 50, 74, 99)
    assert selected((0, 10, 20), 5) == (0, 10, 20)
    assert selected((0, 10, 20), 1) == (20,)


def test_the_loss_on_held_out_sentences_is_the_models():
    run = RunStore().open("english-chinese")
    batch = held_out(run.config.data, 64)
    measured = dict(held_out_losses(run))
    step = run.steps[-1]
    logits = run.model(step)(*(torch.tensor(ids) for ids in batch.read))
    loss = label_smoothed_loss(logits, torch.tensor(batch.tgt_out), 0, run.config.recipe.label_smoothing).item()
    assert measured[step] == pytest.approx(loss, abs=1e-5)
    assert held_out_loss(run, step) == pytest.approx(loss, abs=1e-5)
    assert held_out_loss(run, 0) > 5


def test_the_parts_gradients_are_together_the_whole_gradient(run):
    steps, grads = part_grads(run)
    assert grads.shape == (len(run.steps), len(parts(run.config.model)))
    assert tuple(steps) == run.steps
    assert (grads > 0).all()
    assert grads[0].sum() > grads[-1].sum()


# --- Patterns as they come -------------------------------------------------------------------------------------------


def growth(values, high, uniform=0.2) -> Emergence:
    scores = tuple(Score(value, uniform, 0.0, high) for value in values)
    return Emergence("previous", "encoder", 0, 0, scores, tuple(10 * i for i in range(len(values))))


def test_a_head_beats_its_baseline_from_the_step_on_from_which_it_stays_above():
    assert growth([0.1, 0.5, 0.2, 0.5, 0.7], 0.4).beats == 30
    assert growth([0.1, 0.5, 0.2, 0.5, 0.7], 0.4).clears == 40
    assert growth([0.5, 0.5], 0.4).beats == 0
    assert growth([0.5, 0.5, 0.3], 0.4).beats is None
    assert growth([0.1, 0.5], 0.4).clears is None


def test_the_heads_of_a_reversing_model_come_to_align(shown):
    aligned = [each for each in shown.emergence if each.kind == "alignment" and each.clears is not None]
    assert aligned
    assert all(each.beats <= each.clears for each in aligned)
    assert all(each.beats > 0 for each in aligned)
    assert {each.where for each in shown.emergence if each.kind == "alignment"} == {"cross"}


# --- Words in a plane ------------------------------------------------------------------------------------------------


def test_the_axes_do_not_turn_while_it_learns(run):
    """From one table to the next the pair is the nearest: a turned or mirrored one would lie further away."""
    steps, tables, shares = planes(run)
    assert steps == run.steps
    assert 0 < sum(shares) <= 1
    full = [run.weights(step)["embedding"].numpy() for step in steps]
    words = tables[0].axes[0]
    dims = Axis("d_model", tuple(map(str, range(full[0].shape[1]))))
    arrays = [LabelledArray("embedding", each, (words, dims)) for each in full]
    axes = [axes_over(arrays[: n + 1]) for n in range(len(arrays))]
    for before, after in itertools.pairwise(axes):
        np.testing.assert_allclose(after.T @ after, np.eye(2), atol=1e-9)
        near = np.trace(before.T @ after)
        for angle in np.linspace(0.1, 6.2, 30):
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            assert near >= np.trace(before.T @ after @ turn) - 1e-9
            assert near >= np.trace(before.T @ after @ turn @ np.diag([1.0, -1.0])) - 1e-9


def test_the_last_table_is_seen_along_its_principal_components(run):
    _, tables, shares = planes(run)
    rows = run.weights(run.steps[-1])["embedding"].numpy()
    words, dims = tables[0].axes[0], Axis("d_model", tuple(map(str, range(rows.shape[1]))))
    points, own = plane(LabelledArray("embedding", rows, (words, dims)))
    assert sum(shares) == pytest.approx(sum(own))
    # Turned within the plane, so lengths are the same.
    np.testing.assert_allclose(
        np.linalg.norm(tables[-1].values, axis=1), np.linalg.norm(points.values, axis=1), atol=1e-4
    )


def test_axes_by_hand():
    words, dims = Axis("vocab", ("a", "b", "c", "d")), Axis("d_model", ("0", "1", "2"))
    rows = np.array([[2.0, 0, 0], [-2.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0]])
    table = LabelledArray("embedding", rows, (words, dims))
    points, shares = on_axes(table, axes_over([table]))
    np.testing.assert_allclose(np.abs(points.values), np.abs(rows[:, :2]), atol=1e-6)
    assert shares == pytest.approx((0.8, 0.2))
    with pytest.raises(ValueError, match="0 tables"):
        axes_over([])


# --- Numbers of a step -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["english-french", "reverse"])
def test_every_number_is_computed_again(name):
    run = RunStore().open(name)
    for step in run.steps:
        for line in lines_at(run, step):
            if line.again is not None:
                assert line.again == pytest.approx(line.value, rel=1e-4), line.name
    assert [line.name for line in lines_at(run, run.steps[0])][:2] == ["chance", "least"]


@pytest.mark.parametrize("step", [0, -1])
def test_the_program_prints_what_is_on_screen(capsys, step):
    run = RunStore().open("english-chinese")
    step = run.steps[step]
    exec(program(run, step), {})  # noqa: S102  (what the page tells a visitor to run)
    printed = [float(each) for each in capsys.readouterr().out.split()]
    told = {line.name: line.value for line in lines_at(run, step)}
    assert printed[-1] == pytest.approx(told["held_out"], abs=1e-4)
    if step:
        assert printed[:3] == pytest.approx([told["loss"], told["learning_rate"], told["learning_rate"]])
