"""What was measured at one step of a training, each number beside the arithmetic that gives it, and computed again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from playground.over_steps import held_out_loss
from playground.plan import planned_rate
from playground.runs import Run
from playground.training.trainer import HELD_OUT


@dataclass(frozen=True)
class Line:
    """One number.

    Attributes:
        name: Key of its words in `train.number`.
        value: As it was written down, or as it is now.
        arithmetic: How it comes about, with the values in it; empty if it is a plain measurement.
        again: The same computed from the arithmetic; None for a plain measurement.
    """

    name: str
    value: float
    arithmetic: str = ""
    again: float | None = None


def lines_at(run: Run, step: int) -> tuple[Line, ...]:
    """Return the numbers of a recorded step: of the update that led to its weights, and of those weights.

    Before the first update there are those of the weights alone.
    """
    config = run.config.at(max(1, step))
    found = []
    column = run.metrics
    rows = (column["step"] == step).nonzero()[0]
    if len(rows):
        row = int(rows[-1])
        recipe, width = config.recipe, config.model.d_model
        rate = float(column["learning_rate"][row])
        if recipe.schedule == "noam":
            arithmetic = f"{recipe.factor:g} · {width}^−0.5 · min({step}^−0.5, {step} · {recipe.warmup}^−1.5)"
        else:
            arithmetic = f"{recipe.schedule}({step}) · {recipe.factor:g} · ({width} · {recipe.warmup})^−0.5"
        found.append(Line("learning_rate", rate, arithmetic, planned_rate(run.config, step)))
        found.append(Line("loss", float(column["loss"][row])))
        found.append(Line("grad_norm", float(column["grad_norm"][row])))
        parts = (run.part_steps == step).nonzero()[0]
        if len(parts):
            squares = [float(each) for each in run.part_grads[int(parts[-1])] ** 2]
            total = " + ".join(f"{each:.3g}" for each in squares)
            whole = math.sqrt(sum(squares))
            found.append(Line("parts", whole, f"√({total})", float(column["grad_norm"][row])))
    vocabulary = config.model.vocab_size
    found.append(Line("chance", config.chance_loss, f"ln {vocabulary}", math.log(vocabulary)))
    size, share = vocabulary, config.recipe.label_smoothing
    right, other = 1 - share + share / size, share / size
    arithmetic = f"−{right:.4g} · ln {right:.4g}" + (f" − {size - 1} · {other:.4g} · ln {other:.4g}" if share else "")
    rest = (size - 1) * other * math.log(other) if share else 0.0
    found.append(Line("least", config.least_loss, arithmetic, -right * math.log(right) - rest))
    found.append(Line("held_out", held_out_loss(run, step)))
    if shares := [share for at, share in run.exact_match if at == step]:
        found.append(Line("exact_match", shares[-1]))
    return tuple(found)


def program(run: Run, step: int) -> str:
    """Return a program that prints a step's logged loss, its learning rate computed, and its held-out loss measured.

    Args:
        run: A run that can be opened by its id.
        step: One of its recorded steps; of step 0 there is no update to speak of.
    """
    rate = [
        f"row = list(run.metrics['step']).index({step})",
        "print(run.metrics['loss'][row], run.metrics['learning_rate'][row])",
        "recipe = config.recipe",
        f"rate = learning_rate({step}, schedule=recipe.schedule, d_model=config.model.d_model,",
        "                     warmup=recipe.warmup, factor=recipe.factor, steps=recipe.steps)",
        "print(rate)",
    ]
    is_logged = step in run.metrics["step"]
    return "\n".join(
        [
            "import torch",
            "",
            f"from models import {'label_smoothed_loss, learning_rate' if is_logged else 'label_smoothed_loss'}",
            "from playground.runs import RunStore",
            "",
            f"run = RunStore().open({run.id!r})",
            f"config = run.config.at({max(1, step)})",
            *(["", *rate] if is_logged else []),
            "",
            "task = run.config.data",
            f"batch = task.encode(task.heldout[:{HELD_OUT}])",
            f"model = run.model({step})  # eval mode: no dropout",
            "logits = model(*map(torch.tensor, batch.read))",
            "targets = torch.tensor(batch.tgt_out)",
            "loss = label_smoothed_loss(logits, targets, pad_id=0, smoothing=config.recipe.label_smoothing)",
            "print(loss.item())",
            "",
        ]
    )
