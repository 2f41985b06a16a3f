"""What goes wrong in a training is recognised: on small runs that really go wrong so, and by hand at the edges."""

import numpy as np
import pytest
import torch

from models import ModelConfig
from playground.diagnosis import KINDS, Course, Finding, diagnose, frequency_loss, remedies
from playground.plan import OPTIONS, choices_of, plan
from playground.recipe import Recipe, RunConfig
from playground.runs import RunStore
from playground.tasks import TASKS, OwnData
from playground.training.trainer import Report, Trainer, sentences

SMALL = {"task": "reverse", "d_model": "32", "n_heads": "2", "n_layers": "1", "d_ff": "64", "steps": "200"}


def trained(config: RunConfig, *, every: int = 0, shares: bool = True) -> Course:
    """Train, and return the course of it."""
    trainer = Trainer(config)
    losses, held_out = [], []
    state = "finished"
    for report in trainer.run():
        if not isinstance(report, Report):
            state = "diverged"
            break
        losses.append(report.loss)
        if every and report.step % every == 0:
            held_out.append((report.step, trainer.held_out_loss()))
    share = ((trainer.step, trainer.evaluate(32)),) if shares else ()
    steps = np.arange(1, len(losses) + 1, dtype=np.float64)
    return Course(config, np.array(losses), steps, tuple(held_out), share, state)


def of(config: RunConfig, loss: np.ndarray, state: str = "running", share: float | None = None) -> Finding | None:
    shares = () if share is None else ((len(loss), share),)
    return diagnose(Course(config, loss, np.arange(1.0, len(loss) + 1), (), shares, state))


# --- Real runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", ["english-french", "english-chinese", "reverse"])
def test_nothing_is_wrong_with_the_recorded_runs(run):
    found = RunStore().open(run)
    course = Course(
        found.config, found.metrics["loss"], found.metrics["step"], found.held_out_loss, found.exact_match, "finished"
    )
    assert diagnose(course) is None


def test_far_too_fast_a_rate_leaves_a_model_at_chance():
    found = diagnose(trained(plan(SMALL | {"factor": "20", "warmup": "10", "steps": "100"})))
    assert found is not None
    assert found.kind in ("at_chance", "diverged", "broke_down")
    assert found.remedies["factor"] == {"factor": "0.5"}


def test_without_warm_up_six_layers_learn_how_frequent_words_are_and_no_more():
    choices = SMALL | {"task": "english-french", "d_model": "16", "n_layers": "6", "warmup": "1", "batch_size": "8"}
    found = diagnose(trained(plan(choices | {"steps": "100"}), shares=False))
    assert found is not None
    assert found.kind == "frequencies"
    assert found.values["loss"] == pytest.approx(found.values["frequencies"], abs=0.35)
    assert found.remedies["norm_placement"] == {"norm_placement": "pre"}
    assert found.remedies["warmup"] == {"warmup": "100"}


def test_a_decoder_that_sees_the_answer_copies_it():
    found = diagnose(
        trained(plan(SMALL | {"task": "copy", "n_heads": "4", "train_causal": "no", "factor": "1", "steps": "400"}))
    )
    assert found is not None
    assert found.kind == "copies"
    assert found.remedies == {"train_causal": {"train_causal": "yes"}}


def test_pairs_without_a_rule_are_learnt_by_heart():
    rng = np.random.default_rng(7)
    words = [f"{a}{b}" for a in "bdfgk" for b in "aeiou"]
    lines = {" ".join(rng.choice(words, 3)): " ".join(rng.choice(words, 3)) for _ in range(60)}
    data = OwnData("pairs", "\n".join(f"{src}\t{tgt}" for src, tgt in lines.items()))
    task = data.task()
    sizes = {"d_model": 32, "n_heads": 2, "d_ff": 64, "n_layers": 1, "dropout": 0.0}
    model = ModelConfig(vocab_size=len(task.vocabulary.tokens), max_len=task.max_len, **sizes)
    recipe = Recipe(steps=240, batch_size=16, factor=1.0, warmup=50, label_smoothing=0.0)
    found = diagnose(trained(RunConfig(task=data.name, model=model, recipe=recipe, own=data), every=20))
    assert found is not None
    assert found.kind == "overfitting"
    assert found.values["held_out"] > found.values["least"]
    assert found.values["loss"] < found.values["least"]
    assert found.remedies["dropout"] == {"dropout": "0.1"}


def test_a_run_that_ends_too_early_is_told_to_go_on():
    found = diagnose(trained(plan(SMALL | {"steps": "100", "warmup": "50", "factor": "1"})))
    assert found is not None
    assert found.kind in ("unfinished", "frequencies")
    assert found.remedies["steps"] == {"steps": "200"}


# --- By hand ---------------------------------------------------------------------------------------------------------


def test_knowing_how_frequent_words_are_costs_the_entropy_of_the_counts():
    """Against torch: the loss of the best constant distribution, on the very sentences that were counted."""
    task = TASKS["reverse"]
    targets = torch.tensor(sentences(task)[2])
    real = targets[targets != 0]
    counts = torch.bincount(real, minlength=len(task.vocabulary.tokens)).double()
    for smoothing in (0.0, 0.1):
        best = (1 - smoothing) * counts / counts.sum() + smoothing / len(counts)
        logits = best.clamp(min=1e-300).log().expand(len(real), -1)
        loss = torch.nn.functional.cross_entropy(logits, real, label_smoothing=smoothing)
        assert frequency_loss(task, smoothing) == pytest.approx(loss.item(), rel=1e-6)


def test_too_few_steps_say_nothing():
    config = plan({})
    assert of(config, np.full(49, config.chance_loss)) is None


def test_a_loss_that_breaks_away_is_told_with_both_numbers():
    config = plan({})
    found = of(config, np.concatenate([np.linspace(5.4, 1.5, 150), np.full(100, 4.4)]))
    assert found is not None
    assert found.kind == "diverged"
    assert found.values["least"] == pytest.approx(1.5, abs=0.7)
    assert found.values["loss"] == pytest.approx(4.4)


def test_a_run_that_could_not_go_on_speaks_for_itself_and_gets_remedies():
    found = of(plan({"factor": "20"}), np.full(10, 9.0), state="diverged")
    assert found is not None
    assert (found.kind, found.values) == ("broke_down", {})
    assert found.remedies["factor"] == {"factor": "0.5"}


def test_a_loss_that_falls_is_well():
    config = plan({})
    assert of(config, np.linspace(5.4, 1.0, 300)) is None
    assert of(config, np.full(300, config.least_loss + 0.05), state="finished", share=1.0) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choices", [{}, {"factor": "5", "warmup": "10", "residual": "no", "positions": "none"}])
def test_remedies_are_options_and_change_something(kind, choices):
    config = plan(choices)
    now = choices_of(config)
    for changes in remedies(kind, config).values():
        assert all(value in OPTIONS[name] and value != now[name] for name, value in changes.items())
