"""The loop: the paper's recipe, the same run from the same seed, nothing disturbed by being watched."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from models import accuracy, label_smoothed_loss, noam_rate
from playground.recipe import Recipe, RunConfig, model_for
from playground.tasks import TASKS
from playground.training.engine import at_chance
from playground.training.recording import diverged
from playground.training.trainer import POOL, Diverged, Ids, Order, Report, Trainer, available_devices

TINY = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=13, batch_size=5, warmup=7, seed=3),
)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(config: RunConfig = TINY) -> tuple[dict[str, Tensor], list[float]]:
    trainer = Trainer(config)
    losses = [report.loss for report in trainer.run()]
    return trainer.state_dict(), losses


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_one_step_is_adam_on_the_smoothed_loss_at_noams_rate():
    """The oracle: torch's own Adam, one tensor at a time, on the same first batch."""
    config = replace(TINY, model=replace(TINY.model, dropout=0.0))
    ours, oracle = Trainer(config), Trainer(config)
    report = ours.advance()

    src, tgt_in, tgt_out = (torch.from_numpy(each) for each in oracle._order.batch(5))
    rate = noam_rate(1, d_model=12, warmup=7, factor=config.recipe.factor)
    adam = torch.optim.Adam(oracle.model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9, foreach=False)
    logits = oracle.model(src, tgt_in)
    loss = label_smoothed_loss(logits, tgt_out, 0, 0.1)
    loss.backward()
    norm = math.sqrt(sum(float((each.grad**2).sum()) for each in oracle.model.parameters()))
    adam.step()

    assert isinstance(report, Report)
    assert report.step == 1
    assert report.loss == pytest.approx(loss.item(), abs=1e-6)
    assert report.learning_rate == rate
    assert report.grad_norm == pytest.approx(norm, rel=1e-5)
    assert report.tokens == int((tgt_out != 0).sum())
    assert report.accuracy == pytest.approx(float(accuracy(logits, tgt_out, 0)))
    for mine, theirs in zip(ours.model.parameters(), oracle.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-5)


def test_the_first_loss_is_near_chance_and_falls():
    _, losses = trained(replace(TINY, recipe=replace(TINY.recipe, steps=60, batch_size=32, factor=1.0, warmup=20)))
    assert abs(losses[0] - TINY.chance_loss) < 1.5
    assert np.mean(losses[-5:]) < losses[0] - 0.2
    assert TINY.least_loss < min(losses)


def test_a_seed_gives_the_same_run_bit_by_bit():
    weights, losses = trained()
    again, losses_again = trained()
    assert same(weights, again) and losses == losses_again
    other, _ = trained(replace(TINY, recipe=replace(TINY.recipe, seed=4)))
    assert not same(weights, other)


def test_a_seed_gives_the_same_run_beside_others_and_leaves_the_global_generators_alone():
    alone, _ = trained()
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    found: list[dict[str, Tensor]] = []
    seeds = (3, 5, 3, 8)
    configs = [replace(TINY, recipe=replace(TINY.recipe, seed=seed)) for seed in seeds]
    threads = [threading.Thread(target=lambda config=config: found.append(trained(config)[0])) for config in configs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(same(each, alone) for each in found) == 2
    assert torch.equal(torch_before, torch.get_rng_state())
    assert np.array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002


def test_what_else_draws_random_numbers_changes_nothing():
    weights, _ = trained()
    torch.manual_seed(99)
    trainer = Trainer(TINY)
    for _ in trainer.run():
        torch.rand(3)
    assert same(weights, trainer.state_dict())


def test_dropout_takes_part():
    without = replace(TINY, model=replace(TINY.model, dropout=0.0))
    assert not same(trained()[0], trained(without)[0])


def test_being_watched_changes_nothing():
    """Rule 14: maps, samples and matches are taken in eval mode, and the run goes on as if nobody had looked."""
    weights, losses = trained()
    trainer, seen = Trainer(TINY), []
    for report in trainer.run():
        seen.append(report.loss)
        before = trainer.model.training
        one, two = trainer.peek(), trainer.peek()
        trainer.samples(2)
        trainer.evaluate(3)
        assert trainer.model.training == before
        assert one.step == report.step
        for name, values in one.maps.items():
            np.testing.assert_array_equal(values, two.maps[name])  # no dropout in it
            np.testing.assert_allclose(values.sum(axis=-1), 1.0, atol=1e-6)
    assert seen == losses
    assert same(weights, trainer.state_dict())


def test_a_peek_has_every_map_of_one_held_out_sentence():
    peek = Trainer(TINY).peek()
    assert peek.maps.keys() == {
        "encoder.0.self_attn.weights",
        "decoder.0.self_attn.weights",
        "decoder.0.cross_attn.weights",
    }
    assert peek.src[-1] == "⟨eos⟩" and peek.tgt[0] == "⟨bos⟩"
    cross = peek.maps["decoder.0.cross_attn.weights"]
    assert cross.shape == (3, len(peek.tgt), len(peek.src)) and cross.dtype == np.float32
    assert peek.shades("decoder.0.cross_attn.weights").dtype == np.uint8
    assert np.abs(peek.shades("decoder.0.cross_attn.weights") / 255 - cross).max() <= 0.5 / 255 + 1e-6


def test_weights_are_handed_out_as_copies():
    trainer = Trainer(TINY)
    first = trainer.state_dict()
    kept = {name: each.clone() for name, each in first.items()}
    trainer.advance()
    assert same(first, kept) and not same(first, trainer.state_dict())


def test_every_sentence_is_seen_once_before_any_is_seen_twice():
    n = len(TASKS["reverse"].train)
    size = 97
    order = Order(TASKS["reverse"], np.random.default_rng(1))
    whole_pools = n // (POOL * size) * POOL
    seen = [tuple(row) for _ in range(whole_pools) for row in _wide(order.batch(size).src)]
    assert len(set(seen)) == len(seen)
    everything = seen + [tuple(row) for _ in range(2 * POOL) for row in _wide(order.batch(size).src)]
    assert len(set(everything)) == n


def _wide(ids: Ids) -> list[list[int]]:
    return np.pad(ids, ((0, 0), (0, TASKS["reverse"].max_len - ids.shape[1]))).tolist()


def test_sentences_of_one_length_come_together():
    """Of a batch in any order, nearly a third would be padding."""
    order = Order(TASKS["reverse"], np.random.default_rng(1))
    padding = [(order.batch(32).src == 0).mean() for _ in range(5 * POOL)]
    assert np.mean(padding) < 0.06


def test_batches_are_padded_to_their_longest_sentence_only():
    src, tgt_in, tgt_out = Trainer(TINY)._order.batch(5)
    for ids in (src, tgt_in, tgt_out):
        assert (ids[:, -1] != 0).any()
    assert tgt_in.shape == tgt_out.shape and (tgt_in[:, 0] == 1).all()
    np.testing.assert_array_equal(tgt_in[:, 1:][tgt_out[:, 1:] != 0], tgt_out[:, :-1][tgt_out[:, 1:] != 0])


def test_exact_match_counts_whole_sentences():
    trainer = Trainer(TINY)
    rights = [sample.right for sample in trainer.samples(7)]
    assert trainer.evaluate(7) == sum(rights) / 7
    assert 0.0 <= trainer.evaluate(200) <= 1.0


def test_an_evaluation_can_be_broken_off():
    trainer = Trainer(TINY)
    trainer.model.train()

    def enough() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        trainer.evaluate(3, between=enough)
    assert trainer.model.training and torch.is_grad_enabled()


@pytest.mark.parametrize("poison", ["weight", "gradient"])
def test_a_step_that_is_not_finite_is_not_made_and_ends_the_run(poison):
    trainer = Trainer(TINY)
    for _ in range(3):
        trainer.advance()
    kept = trainer.state_dict()
    parameter = next(trainer.model.parameters())
    if poison == "gradient":
        parameter.register_hook(lambda grad: grad * math.inf)
    else:
        with torch.no_grad():
            parameter.mul_(1e30)
        kept = trainer.state_dict()
    *_, last = trainer.run()
    assert isinstance(last, Diverged) and last.step == 4
    assert trainer.step == 3 and same(kept, trainer.state_dict())
    assert all(torch.isfinite(each).all() for each in kept.values())
    assert list(trainer.run()) == []
    assert diverged(last).message == "training.ended.diverged" and diverged(last).step == 3


def test_the_largest_factor_leaves_finite_weights():
    trainer = Trainer(replace(TINY, recipe=replace(TINY.recipe, factor=1_000.0, warmup=1, steps=30)))
    for _ in trainer.run():
        pass
    assert all(torch.isfinite(each).all() for each in trainer.state_dict().values())


def test_a_model_at_chance_is_told_from_one_that_learns():
    chance = TINY.chance_loss
    assert at_chance(TINY, np.full(60, chance)) is not None
    assert at_chance(TINY, np.full(20, chance)) is None  # too early to say
    assert at_chance(TINY, np.linspace(chance, chance / 2, 60)) is None
    assert at_chance(TINY, np.full(60, 3 * chance)) is not None


def test_the_cpu_is_always_there():
    assert available_devices()[0] == "cpu"


def test_the_least_loss_is_the_entropy_of_the_smoothed_target():
    size = TINY.model.vocab_size
    logits = torch.log(torch.full((1, 1, size), 0.1 / size) + 0.9 * torch.eye(size)[5])
    assert TINY.least_loss == pytest.approx(label_smoothed_loss(logits, torch.tensor([[5]]), 0, 0.1).item(), abs=1e-5)
