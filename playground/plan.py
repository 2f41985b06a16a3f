"""What a visitor may choose for a training: each choice is one of a few, so a link can hold it.

A choice is a text, as a link has it: `plan({"d_model": "128"})` is the default training, but 128 wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from models import ModelConfig, noam_rate
from models.config import CHOICES
from playground.recipe import DEVICES, Recipe, RunConfig, model_for
from playground.tasks import TASKS

MODEL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "d_model": ("16", "32", "64", "128", "256"),
        "n_heads": ("1", "2", "4", "8"),
        "n_layers": ("1", "2", "3", "4", "6"),
        "d_ff": ("64", "128", "256", "512", "1024"),
        "positions": CHOICES["positions"],
        "norm_placement": CHOICES["norm_placement"],
        "norm": CHOICES["norm"],
        "activation": CHOICES["activation"],
        "scale_scores": ("yes", "no"),
        "dropout": ("0", "0.1", "0.3"),
    }
)
RECIPE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "steps": ("50", "100", "200", "400", "600", "800", "1200", "2000", "4000"),
        "batch_size": ("8", "16", "32", "64", "128"),
        "factor": ("0.1", "0.25", "0.5", "1", "2", "5", "20"),
        "warmup": ("10", "50", "100", "200", "400", "1000", "4000"),
        "label_smoothing": ("0", "0.1", "0.2"),
        "seed": ("0", "1", "2", "3", "4", "5", "6", "7"),
        "device": DEVICES,
    }
)
OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({"task": tuple(TASKS), **MODEL, **RECIPE})

# The paper's base model and its recipe. Its batches are counted in words, about 25,000, and it names no seed.
PAPER: Mapping[str, str] = MappingProxyType(
    {
        "d_model": "512",
        "n_heads": "8",
        "n_layers": "6",
        "d_ff": "2048",
        "positions": "sinusoidal",
        "norm_placement": "post",
        "norm": "layer",
        "activation": "relu",
        "scale_scores": "yes",
        "dropout": "0.1",
        "steps": "100000",
        "factor": "1",
        "warmup": "4000",
        "label_smoothing": "0.1",
    }
)

_POINTS = 240  # of the learning rate's curve


def chosen(picks: Mapping[str, object]) -> dict[str, str]:
    """Return every choice: what is in `picks` and is one of the options, else the default."""
    found = {name: picks.get(name) for name in OPTIONS}
    return {name: str(found[name]) if found[name] in OPTIONS[name] else DEFAULTS[name] for name in OPTIONS}


def plan(picks: Mapping[str, object]) -> RunConfig:
    """Return the training that was chosen. What is missing, or is no option, is the default.

    Args:
        picks: Choices by their names in `OPTIONS`, of whatever origin.
    """
    choices = chosen(picks)
    model: dict[str, Any] = {name: _value(name, choices[name]) for name in MODEL}
    recipe: dict[str, Any] = {name: _value(name, choices[name]) for name in RECIPE}
    return RunConfig(task=choices["task"], model=model_for(choices["task"], **model), recipe=Recipe(**recipe))


def departures(config: RunConfig) -> dict[str, tuple[str, str]]:
    """Return what differs from the paper, by name: what is chosen, and what the paper has."""
    ours = choices_of(config)
    return {name: (ours[name], paper) for name, paper in PAPER.items() if ours[name] != paper}


def choices_of(config: RunConfig) -> dict[str, str]:
    """Return a training's settings as texts, by their names in `OPTIONS`; a run may have values that are no option."""
    model, recipe = config.model.to_dict(), config.recipe.to_dict()
    return {"task": config.task, **{name: _text((model | recipe)[name]) for name in (*MODEL, *RECIPE)}}


def repeated(config: RunConfig, picks: Mapping[str, object], **changes: str) -> dict[str, str]:
    """Return what has to be chosen so that the next training is that of a run, but for some changes.

    Args:
        config: Of the run. What of it is no option is left out.
        picks: What is chosen so far.
        changes: Other settings, by their names in `OPTIONS`.

    Returns:
        Choices that `picks` does not have yet, by their names in `OPTIONS`; `changes` always.
    """
    before = chosen(picks)
    wanted = {name: value for name, value in choices_of(config).items() if value in OPTIONS[name]}
    return {name: value for name, value in wanted.items() if value != before[name]} | changes


def planned_rates(config: RunConfig) -> tuple[tuple[int, float], ...]:
    """Return pairs of step and learning rate from the first step to the last, its peak among them."""
    recipe = config.recipe
    wanted = {1 + round(i * (recipe.steps - 1) / (_POINTS - 1)) for i in range(_POINTS)} | {recipe.warmup}
    return tuple(
        (step, noam_rate(step, d_model=config.model.d_model, warmup=recipe.warmup, factor=recipe.factor))
        for step in sorted(wanted)
        if step <= recipe.steps
    )


def _value(name: str, text: str) -> Any:
    """Return a choice as the field takes it."""
    if name == "scale_scores":
        return text == "yes"
    fields: Any = ModelConfig if name in MODEL else Recipe
    kind = str(fields.__annotations__[name])
    return int(text) if kind == "int" else float(text) if kind == "float" else text


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


# Those of the small models and of the recipe; each is one of the options.
DEFAULTS: Mapping[str, str] = MappingProxyType(
    choices_of(RunConfig(task=next(iter(TASKS)), model=model_for(next(iter(TASKS))), recipe=Recipe()))
)
