"""What a visitor may choose for a training: each choice is one of a few, so a link can hold it.

A choice is a text, as a link has it: `plan({"d_model": "128"})` is the default training, but 128 wide. `SETTINGS` is
the table of all there is to choose; everything else here follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from models import SCHEDULES, ModelConfig
from models.config import CHOICES
from playground.recipe import CHANGEABLE, DEVICES, Recipe, RunConfig, model_for
from playground.schedule import own_setting
from playground.tasks import TASKS, OwnData

YES_NO = ("yes", "no")
SWITCH = ("no", "yes")

GROUPS = ("size", "attention", "layer", "experts", "embedding", "regular", "rate", "adam", "run")

# What follows another setting instead of having a value of its own.
ALL, FOLLOWS = "all", "follows"


@dataclass(frozen=True)
class Setting:
    """One thing that can be chosen for a training.

    Attributes:
        name: What a link calls it.
        group: One of `GROUPS`.
        options: What it can be, as texts.
        paper: What the paper's base model and its recipe have; None if the paper names nothing comparable.
        field: Its field of `ModelConfig` or `Recipe`, if a link calls it otherwise.
    """

    name: str
    group: str
    options: tuple[str, ...]
    paper: str | None = None
    field: str = ""

    @property
    def of(self) -> str:
        """The field's name."""
        return self.field or self.name

    @property
    def is_model(self) -> bool:
        """Whether it is a field of `ModelConfig`, not of `Recipe`."""
        return self.of in ModelConfig.__annotations__

    @property
    def is_live(self) -> bool:
        """Whether a training under way can take it over from its next step on; the others need fresh weights."""
        return self.of in CHANGEABLE


# The paper's batches are counted in words, about 25,000, and it names no seed.
SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        each.name: each
        for each in (
            Setting("d_model", "size", ("16", "32", "64", "128", "256"), "512"),
            Setting("n_heads", "size", ("1", "2", "4", "8"), "8"),
            Setting("n_kv_heads", "size", (ALL, "4", "2", "1"), ALL),
            Setting("n_layers", "size", ("1", "2", "3", "4", "6"), "6"),
            Setting("d_ff", "size", ("64", "128", "256", "512", "1024"), "2048"),
            Setting("scale_scores", "attention", YES_NO, "yes"),
            Setting("train_causal", "attention", YES_NO, "yes", field="causal"),
            Setting("attention_bias", "attention", SWITCH, "no"),
            Setting("positions", "attention", CHOICES["positions"], "sinusoidal"),
            Setting("rope_theta", "attention", ("100", "1000", "10000", "100000")),
            Setting("train_window", "attention", ("0", "1", "2", "3", "5"), "0", field="window"),
            Setting("residual", "layer", YES_NO, "yes"),
            Setting("norm_placement", "layer", CHOICES["norm_placement"], "post"),
            Setting("norm", "layer", CHOICES["norm"], "layer"),
            Setting("final_norm", "layer", (FOLLOWS, "yes", "no"), FOLLOWS),
            Setting("norm_eps", "layer", ("1e-06", "1e-05", "0.001")),
            Setting("activation", "layer", CHOICES["activation"], "relu"),
            Setting("ffn_bias", "layer", YES_NO, "yes"),
            Setting("n_experts", "experts", ("1", "2", "4", "8"), "1"),
            Setting("n_active", "experts", ("1", "2", "4"), "1"),
            Setting("tied", "embedding", YES_NO, "yes"),
            Setting("embed_scale", "embedding", YES_NO, "yes"),
            Setting("embed_norm", "embedding", SWITCH, "no"),
            Setting("unembed_bias", "embedding", SWITCH, "no"),
            Setting("dropout", "regular", ("0", "0.1", "0.3"), "0.1"),
            Setting("label_smoothing", "regular", ("0", "0.1", "0.2"), "0.1"),
            Setting("schedule", "rate", SCHEDULES, "noam"),
            Setting("factor", "rate", ("0.1", "0.25", "0.5", "1", "2", "5", "20"), "1"),
            Setting("warmup", "rate", ("1", "10", "50", "100", "200", "400", "1000", "4000"), "4000"),
            Setting("beta1", "adam", ("0", "0.5", "0.9", "0.99"), "0.9"),
            Setting("beta2", "adam", ("0.9", "0.98", "0.999"), "0.98"),
            Setting("eps", "adam", ("1e-09", "1e-08", "1e-06"), "1e-09"),
            Setting("steps", "run", ("50", "100", "200", "400", "600", "800", "1200", "2000", "4000"), "100000"),
            Setting("batch_size", "run", ("8", "16", "32", "64", "128")),
            Setting("seed", "run", ("0", "1", "2", "3", "4", "5", "6", "7")),
            Setting("device", "run", DEVICES),
        )
    }
)
OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"task": tuple(TASKS), **{name: each.options for name, each in SETTINGS.items()}}
)
PAPER: Mapping[str, str] = MappingProxyType(
    {name: each.paper for name, each in SETTINGS.items() if each.paper is not None}
)
LIVE = tuple(name for name, each in SETTINGS.items() if each.is_live)

# Sentences to click on, each a change to the default training: what is to be learnt from one thing alone.
EXPERIMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "no_warmup": {"warmup": "1"},
        "constant_rate": {"schedule": "constant"},
        "one_head": {"n_heads": "1"},
        "no_positions": {"positions": "none"},
        "no_scaling": {"scale_scores": "no"},
        "no_residual": {"residual": "no"},
        "look_ahead": {"train_causal": "no"},
        "pre_norm": {"norm_placement": "pre"},
        "deep": {"n_layers": "6"},
        "one_key": {"n_kv_heads": "1"},
        "rotary": {"positions": "rotary"},
        "too_fast": {"factor": "20"},
        "no_smoothing": {"label_smoothing": "0"},
    }
)

_POINTS = 240  # of the learning rate's curve


def chosen(picks: Mapping[str, object]) -> dict[str, str]:
    """Return every choice: what is in `picks` and is one of the options, else the default."""
    found = {name: picks.get(name) for name in OPTIONS}
    return {name: str(found[name]) if found[name] in OPTIONS[name] else DEFAULTS[name] for name in OPTIONS}


def plan(picks: Mapping[str, object], own: OwnData | None = None) -> RunConfig:
    """Return the training that was chosen. What is missing, or is no option, is the default.

    Args:
        picks: Choices by their names in `OPTIONS`, of whatever origin.
        own: The visitor's own data; learnt if `task` is its name.

    Raises:
        RunRefused: If the model is larger than what is trained here.
    """
    choices = chosen(picks)
    if choices["n_kv_heads"] != ALL and int(choices["n_kv_heads"]) >= int(choices["n_heads"]):
        choices["n_kv_heads"] = ALL
    choices["n_active"] = min(choices["n_active"], choices["n_experts"], key=int)
    fields = {name: _value(each, choices[name]) for name, each in SETTINGS.items()}
    model: dict[str, Any] = {each.of: fields[name] for name, each in SETTINGS.items() if each.is_model}
    recipe: dict[str, Any] = {each.of: fields[name] for name, each in SETTINGS.items() if not each.is_model}
    data = own if own is not None and own.name == picks.get("task") else None
    task = TASKS[choices["task"]] if data is None else data.task()
    return RunConfig(task=task.name, model=model_for(task, **model), recipe=Recipe(**recipe), own=data)


def departures(config: RunConfig) -> dict[str, tuple[str, str]]:
    """Return what differs from the paper, by name: what is chosen, and what the paper has."""
    ours = choices_of(config)
    return {name: (ours[name], paper) for name, paper in PAPER.items() if ours[name] != paper}


def choices_of(config: RunConfig) -> dict[str, str]:
    """Return a training's settings as texts, by their names in `OPTIONS`; a run may have values that are no option."""
    model, recipe = config.model.to_dict(), config.recipe.to_dict()
    found = {name: _text((model if each.is_model else recipe)[each.of]) for name, each in SETTINGS.items()}
    if config.model.n_kv_heads == config.model.n_heads:
        found["n_kv_heads"] = ALL
    if config.model.final_norm == (config.model.norm_placement == "pre"):
        found["final_norm"] = FOLLOWS
    return {"task": config.task, **found}


def changed(picks: Mapping[str, object], group: str | None = None) -> tuple[str, ...]:
    """Return the names of the settings that are not at their default, of one group or of all.

    The task is none of them.
    """
    now = chosen(picks)
    return tuple(name for name, each in SETTINGS.items() if now[name] != DEFAULTS[name] and group in (None, each.group))


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


def notch(name: str, value: str, by: int) -> str | None:
    """Return the option that lies `by` places after a value in order of size; None if there is none so far.

    Args:
        name: A setting whose options are numbers.
        value: What it is; need not be an option.
        by: Places, down if negative.
    """
    sizes = sorted(map(float, OPTIONS[name]))
    here = float(value)
    beyond = [size for size in sizes if (size > here if by > 0 else size < here)]
    if len(beyond) < abs(by):
        return None
    size = beyond[by - 1] if by > 0 else beyond[by]
    return next(option for option in OPTIONS[name] if float(option) == size)


def planned_rates(config: RunConfig) -> tuple[tuple[int, float], ...]:
    """Return pairs of step and learning rate from the first step to the last, its peak among them."""
    steps = config.recipe.steps
    wanted = {1 + round(i * (steps - 1) / (_POINTS - 1)) for i in range(_POINTS)} | {config.recipe.warmup}
    return tuple((step, planned_rate(config, step)) for step in sorted(wanted) if step <= steps)


def planned_rate(config: RunConfig, step: int) -> float:
    """Return the learning rate of an update, with what was changed on the way until then.

    Args:
        config: Of the run.
        step: Number of the update, from 1.
    """
    then = config.at(step)
    return own_setting(then).rate(step, then.recipe.schedule)


def value_of(name: str, text: str) -> Any:
    """Return a choice as its field takes it, such as 0.5 for `factor` and "0.5"."""
    return _value(SETTINGS[name], text)


def _value(setting: Setting, text: str) -> Any:
    if text in (ALL, FOLLOWS):
        return None
    fields: Any = ModelConfig if setting.is_model else Recipe
    match str(fields.__annotations__[setting.of]):
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "bool":
            return text == "yes"
    return text


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


# Those of the small models and of the recipe; each is one of the options.
DEFAULTS: Mapping[str, str] = MappingProxyType(
    choices_of(RunConfig(task=next(iter(TASKS)), model=model_for(next(iter(TASKS))), recipe=Recipe()))
)
