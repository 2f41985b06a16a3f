"""Learning rate, loss and accuracy (rules 12 and 13), and training as a whole (rule 5)."""

import math
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler
from torch.testing import assert_close

from models import SCHEDULES, accuracy, label_smoothed_loss, learning_rate, noam_rate, peak_rate
from tests.models.examples import small


def test_the_rate_is_the_papers():
    base = {"d_model": 512, "warmup": 4000}
    assert noam_rate(4000, **base) == pytest.approx(6.99e-4, rel=1e-3)
    assert noam_rate(4000, **base) == pytest.approx((512 * 4000) ** -0.5)
    assert noam_rate(1, **base) == pytest.approx(512**-0.5 * 4000**-1.5)
    assert noam_rate(16000, **base) == pytest.approx(noam_rate(4000, **base) / 2)
    assert noam_rate(7, factor=2.0, **base) == 2 * noam_rate(7, **base)


def test_the_rate_rises_to_its_warmup_and_falls_from_there():
    rates = [noam_rate(step, d_model=64, warmup=10) for step in range(1, 31)]
    assert all(math.isfinite(rate) and rate > 0 for rate in rates)
    assert rates[:10] == sorted(rates[:10]) and rates[9:] == sorted(rates[9:], reverse=True)
    assert max(rates) == rates[9]


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_rate_without_warmup_only_falls(warmup):
    assert [noam_rate(step, d_model=4, warmup=warmup) for step in (1, 4)] == [0.5, 0.25]


@pytest.mark.parametrize(
    ("step", "warmup", "message"),
    [(0, 10, "steps count from 1, but got step=0"), (1, -1, "warmup is 0 or more steps, but got -1")],
)
def test_a_rate_before_the_first_step_is_refused(step, warmup, message):
    with pytest.raises(ValueError, match=message):
        noam_rate(step, d_model=4, warmup=warmup)


# --- Loss ------------------------------------------------------------------------------------------------------------

LOGITS = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
TARGETS = torch.tensor([[3, 4, 0], [1, 0, 0]])


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_the_loss_is_the_cross_entropy_to_the_smoothed_target(smoothing):
    """1 − ε on the right token plus ε / V on every token, averaged over the real ones."""
    expected = 0.0
    for row, pos in ((0, 0), (0, 1), (1, 0)):
        log_probs = LOGITS[row, pos].log_softmax(dim=-1)
        wanted = torch.full((5,), smoothing / 5)
        wanted[TARGETS[row, pos]] += 1 - smoothing
        expected -= (wanted * log_probs).sum().item() / 3
    assert label_smoothed_loss(LOGITS, TARGETS, 0, smoothing).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_torchs(smoothing):
    expected = F.cross_entropy(LOGITS.flatten(0, 1), TARGETS.flatten(), ignore_index=0, label_smoothing=smoothing)
    assert_close(label_smoothed_loss(LOGITS, TARGETS, 0, smoothing), expected)


def test_padding_does_not_count():
    wide_logits = torch.cat([LOGITS, torch.randn(2, 4, 5) * 100], dim=1)
    wide_targets = F.pad(TARGETS, (0, 4))
    assert_close(label_smoothed_loss(wide_logits, wide_targets, 0, 0.1), label_smoothed_loss(LOGITS, TARGETS, 0, 0.1))
    assert accuracy(wide_logits, wide_targets, 0) == accuracy(LOGITS, TARGETS, 0)


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_extreme_logits_have_a_finite_loss_and_gradient(size):
    logits = (torch.eye(5)[None] * size).requires_grad_()
    loss = label_smoothed_loss(logits, torch.tensor([[4, 3, 2, 1, 0]]), 0, 0.1)
    loss.backward()
    assert loss.isfinite() and logits.grad.isfinite().all()


def test_no_real_token_is_no_loss():
    logits = LOGITS.clone().requires_grad_()
    loss = label_smoothed_loss(logits, TARGETS * 0, 0, 0.1)
    loss.backward()
    assert loss == 0 and (logits.grad == 0).all()
    assert accuracy(LOGITS, TARGETS * 0, 0) == 0


def test_accuracy_is_the_share_of_real_tokens_that_are_right():
    logits = F.one_hot(torch.tensor([[3, 1, 0], [1, 2, 2]]), 5).float()
    assert accuracy(logits, TARGETS, 0).item() == pytest.approx(2 / 3)


# --- Learning --------------------------------------------------------------------------------------------------------


def train(targets_of, steps, **choices):
    """Train a small model on random sentences; return the mean of its last losses, nats a token."""
    model = small(vocab_size=12, max_len=6, d_ff=64, d_model=32, **choices).train()
    model.dropout.generator = torch.Generator().manual_seed(2)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    generator = torch.Generator().manual_seed(3)
    losses = []
    for step in range(1, steps + 1):
        src = torch.randint(3, 12, (32, 5), generator=generator)
        tgt = targets_of(src, generator)
        given = torch.cat([torch.ones(32, 1, dtype=torch.long), tgt[:, :-1]], dim=1)
        loss = label_smoothed_loss(model(src, given), tgt, 0, 0.0)
        for group in optimizer.param_groups:
            group["lr"] = noam_rate(step, d_model=32, warmup=40, factor=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-20:]) / 20


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_the_model_learns_to_copy(placement):
    assert train(lambda src, _: src, 150, dropout=0.0, norm_placement=placement) < 1.0


def test_random_targets_stay_at_chance():
    """Nine symbols that nothing foretells: ln 9, unless the decoder sees what it is to write (rule 5)."""
    loss = train(lambda src, generator: torch.randint(3, 12, src.shape, generator=generator), 80)
    assert loss == pytest.approx(math.log(9), abs=0.1)


# --- Schedules: torch's own schedulers are the oracles ----------------------------------------------------------------


def rates(schedule: str, *, steps: int = 97, warmup: int = 13, factor: float = 0.7, d_model: int = 24) -> list[float]:
    choices = {"schedule": schedule, "d_model": d_model, "warmup": warmup, "factor": factor, "steps": steps}
    return [learning_rate(step, **choices) for step in range(1, steps + 1)]


def scheduled(make: Callable[[torch.optim.Optimizer], LRScheduler], peak: float, steps: int) -> list[float]:
    """The rates that a scheduler of torch gives to the updates 1, 2, …"""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    scheduler = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


PEAK = 0.7 / math.sqrt(24 * 13)


def test_noam_is_the_papers_and_all_schedules_share_its_peak():
    assert rates("noam") == [noam_rate(step, d_model=24, warmup=13, factor=0.7) for step in range(1, 98)]
    assert peak_rate(d_model=24, warmup=13, factor=0.7) == pytest.approx(PEAK)
    for schedule in SCHEDULES:
        found = rates(schedule)
        assert max(found) == pytest.approx(PEAK) == pytest.approx(found[12])
        assert min(found) > 0


def test_constant_is_torchs_constant():
    oracle = scheduled(lambda each: lr_scheduler.ConstantLR(each, factor=1.0), PEAK, 97)
    assert rates("constant") == pytest.approx(oracle)


def test_inverse_square_root_is_t5s_after_the_same_peak():
    """T5 has 1/√max(step, warmup); here it is multiplied by factor / √d_model."""
    oracle = scheduled(
        lambda each: lr_scheduler.LambdaLR(each, lambda made: max(made + 1, 13) ** -0.5), 0.7 / math.sqrt(24), 97
    )
    assert rates("inverse_sqrt") == pytest.approx(oracle)
    assert rates("inverse_sqrt")[12:] == pytest.approx(rates("noam")[12:])


def test_cosine_is_torchs_linear_warm_up_and_cosine_annealing():
    def make(each: torch.optim.Optimizer) -> LRScheduler:
        rise = lr_scheduler.LinearLR(each, start_factor=1 / 13, total_iters=12)
        fall = lr_scheduler.CosineAnnealingLR(each, T_max=97 + 1 - 13)
        return lr_scheduler.SequentialLR(each, [rise, fall], milestones=[12])

    assert rates("cosine") == pytest.approx(scheduled(make, PEAK, 97))


def test_one_cycle_is_torchs_one_cycle():
    def make(each: torch.optim.Optimizer) -> LRScheduler:
        return lr_scheduler.OneCycleLR(each, max_lr=PEAK, total_steps=97, pct_start=13 / 97, cycle_momentum=False)

    assert rates("one_cycle") == pytest.approx(scheduled(make, PEAK, 97), rel=1e-6)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("warmup", "steps"), [(1, 1), (1, 5), (5, 5), (50, 5), (4, 5), (2, 3)])
def test_every_schedule_is_finite_and_positive_at_its_edges(schedule, warmup, steps):
    found = rates(schedule, warmup=warmup, steps=steps)
    assert all(0 < rate <= peak_rate(d_model=24, warmup=warmup, factor=0.7) * (1 + 1e-12) for rate in found)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"schedule": "linear"}, "schedule is one of noam, .* but got 'linear'"),
        ({"step": 0}, "steps count from 1 to steps=9, but got step=0"),
        ({"step": 10}, "steps count from 1 to steps=9, but got step=10"),
        ({"warmup": 0}, "a warm-up of 1 step or more, but got 0"),
    ],
)
def test_a_rate_that_makes_no_sense_is_refused(choice, message):
    given = {"step": 1, "schedule": "cosine", "d_model": 24, "warmup": 3, "factor": 1.0, "steps": 9, **choice}
    with pytest.raises(ValueError, match=message):
        learning_rate(given.pop("step"), **given)
