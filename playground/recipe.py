"""What is trained, and how: a `RunConfig` is a task, a model and a `Recipe`; by its seed a run can be made again.

A run may take other settings on its way: by a `Change` while it is trained, or after its `Origin`, where it was forked
from another. Both are part of its configuration, so that a configuration alone still makes the whole run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Self

from models import SCHEDULES, ModelConfig
from playground.tasks import TASKS, DataRefused, OwnData, Task

DEVICES = ("cpu", "cuda", "mps")

# Smallest and largest value of each number in a recipe. What a browser sends is checked against them again.
RECIPE_LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "steps": (1, 20_000),
        "batch_size": (1, 256),
        "factor": (0.001, 1_000.0),
        "warmup": (1, 20_000),
        "label_smoothing": (0.0, 0.9),
        "beta1": (0.0, 0.9999),
        "beta2": (0.0, 0.999999),
        "eps": (1e-12, 0.1),
        "seed": (0, 2**31 - 1),
    }
)

# Settings that may change while a run is trained, with their smallest and largest value.
CHANGEABLE: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        **{name: RECIPE_LIMITS[name] for name in ("factor", "batch_size", "label_smoothing")},
        "dropout": (0.0, 0.9),
    }
)
MAX_CHANGES = 100  # of a run
MAX_FORKS = 16  # of forks of forks

# Fields that recipes of before have not got: theirs are the defaults.
LATER = frozenset({"schedule"})

# What a fork has from the run it was forked from, so that it is written once.
_INHERITED = ("task", "own")

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

# Largest sizes of a model that is trained here, checked before anything is allocated.
MODEL_LIMITS: Mapping[str, int] = MappingProxyType(
    {"d_model": 512, "n_heads": 16, "d_ff": 2_048, "n_layers": 8, "max_len": 1_024, "n_parameters": 20_000_000}
)


class RunRefused(ValueError):
    """A run that can't be made or opened, with the reason in the reader's words.

    Attributes:
        key: The words, such as `training.refused.range`.
        values: What stands at their placeholders.
    """

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key, values)
        self.key = key
        self.values: Mapping[str, object] = values

    def __str__(self) -> str:
        return " ".join([self.key, *(f"{name}={value!r}" for name, value in self.values.items())])


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained: Adam with the learning rate of section 5.3 or another, label smoothing of section 5.4.

    Attributes:
        steps: Updates of the weights.
        batch_size: Sentence pairs an update.
        factor: Multiplies the learning rate; the paper's rate is 1.0.
        warmup: Steps over which the learning rate rises; the paper takes 4,000 of 100,000.
        schedule: Shape of the learning rate over the steps, a name in `models.SCHEDULES`.
        label_smoothing: Share of the target probability spread over the vocabulary.
        beta1: Decay a step of Adam's mean of gradients.
        beta2: Decay a step of Adam's mean of squared gradients.
        eps: Added to the root of that mean.
        seed: Of the first weights, the order of sentences and dropout, each with its own generator.
        device: `cpu`, `cuda` or `mps`. A seed gives the same run on `cpu` only.

    Raises:
        RunRefused: If a value is outside `RECIPE_LIMITS`, or of another type.

    Source: Vaswani et al. 2017, sections 5.3 and 5.4; factor and warm-up by trial (`tests/benchmarks/learning.py`).
    """

    steps: int = 600
    batch_size: int = 32
    factor: float = 0.5
    warmup: int = 100
    label_smoothing: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.98
    eps: float = 1e-9
    seed: int = 0
    device: str = "cpu"
    schedule: str = "noam"

    def __post_init__(self) -> None:
        for name, (low, high) in RECIPE_LIMITS.items():
            object.__setattr__(self, name, _checked(name, getattr(self, name), low, high))
        if self.device not in DEVICES:
            raise RunRefused("training.refused.device", device=_short(self.device))
        if self.schedule not in SCHEDULES:
            raise RunRefused("training.refused.schedule", schedule=_short(self.schedule))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` takes them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the recipe that `to_dict` wrote.

        Raises:
            RunRefused: If a field not in `LATER` is missing, or one is unknown, of another type or outside its limits.
        """
        names = {each.name for each in fields(cls)}
        return cls(**table(plain, "recipe", names, LATER))


@dataclass(frozen=True)
class Change:
    """A setting that takes another value while a run is trained.

    Attributes:
        step: Number of the first update that is made with it, from 1.
        name: A key of `CHANGEABLE`.
        value: From then on.

    Raises:
        RunRefused: If there is no such setting, or the value is outside its limits.
    """

    step: int
    name: str
    value: float

    def __post_init__(self) -> None:
        last = RECIPE_LIMITS["steps"][1]
        if type(self.step) is not int or not 1 <= self.step <= last:
            raise RunRefused("training.refused.range", name="step", value=_short(self.step), low=1, high=last)
        if not isinstance(self.name, str) or self.name not in CHANGEABLE:
            raise RunRefused("training.refused.setting", name=_short(self.name))
        object.__setattr__(self, "value", _checked(self.name, self.value, *CHANGEABLE[self.name]))

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the change that `asdict` wrote.

        Raises:
            RunRefused: If it is none.
        """
        return cls(**table(plain, "change", {"step", "name", "value"}))


@dataclass(frozen=True)
class Origin:
    """Where a run was forked from.

    Attributes:
        run_id: The run, which may be gone by now.
        step: Its last update that this run shares.
        config: How it was trained, of which the updates up to `step` are this run's own.
    """

    run_id: str
    step: int
    config: RunConfig


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that makes a run what it is.

    Attributes:
        task: A key of `TASKS`, or of `OWN` for a visitor's own data.
        model: The model's sizes and choices; architecture and vocabulary are the task's.
        recipe: How it is trained.
        changes: What was changed on the way, by rising steps; later ones of a step win.
        origin: What the run was forked from, and its settings until then; None if it began at step 0 by itself.
        own: The visitor's own data, if that is what is learnt.

    Raises:
        RunRefused: If there is no such task, the model does not fit it, or is larger than `MODEL_LIMITS`; or if changes
            or origin are not those of such a run.
    """

    task: str
    model: ModelConfig
    recipe: Recipe = field(default_factory=Recipe)
    changes: tuple[Change, ...] = ()
    origin: Origin | None = None
    own: OwnData | None = None

    def __post_init__(self) -> None:
        known = TASKS if self.own is None else (self.own.name,)
        if not isinstance(self.task, str) or self.task not in known:
            raise RunRefused("training.refused.task", task=_short(self.task))
        task = self.data
        for name, high in MODEL_LIMITS.items():
            if (value := getattr(self.model, name)) > high:
                raise RunRefused("training.refused.size", name=name, value=_short(value), high=high)
        if self.model.architecture != task.architecture:
            raise RunRefused("training.refused.architecture", architecture=self.model.architecture)
        if self.model.vocab_size != (wanted := len(task.vocabulary.tokens)):
            raise RunRefused("training.refused.vocabulary", value=_short(self.model.vocab_size), wanted=wanted)
        if self.model.max_len < task.max_len:
            raise RunRefused("training.refused.max_len", value=self.model.max_len, wanted=task.max_len)
        self._check_history()

    def _check_history(self) -> None:
        steps = [change.step for change in self.changes]
        if len(steps) > MAX_CHANGES:
            raise RunRefused("training.refused.changes", high=MAX_CHANGES)
        if steps != sorted(steps) or max(steps, default=0) > self.recipe.steps:
            raise RunRefused("training.refused.field", name="changes")
        if self.origin is None:
            return
        if self.origin.step and self.origin.config.recipe.seed != self.recipe.seed:
            raise RunRefused("training.refused.fresh", names="seed")
        if not 0 <= self.origin.step <= min(self.recipe.steps, self.origin.config.recipe.steps):
            raise RunRefused("training.refused.field", name="origin.step")
        if (self.origin.config.task, self.origin.config.own) != (self.task, self.own):
            raise RunRefused("training.refused.field", name="origin.task")
        if self.generation > MAX_FORKS:
            raise RunRefused("training.refused.forks", high=MAX_FORKS)

    @property
    def data(self) -> Task:
        """What is learnt: the one way from a run to its task."""
        return TASKS[self.task] if self.own is None else self.own.task()

    @property
    def generation(self) -> int:
        """How many forks lie between this run and one that began by itself."""
        return 1 + self.origin.config.generation if self.origin else 0

    def at(self, step: int) -> RunConfig:
        """Return the settings that update `step` (from 1) is made with, as a configuration without a history."""
        if self.origin and step <= self.origin.step:
            return self.origin.config.at(step)
        found: dict[str, float] = {change.name: change.value for change in self.changes if change.step <= step}
        dropout = found.pop("dropout", self.model.dropout)
        model = replace(self.model, dropout=dropout)
        recipe = replace(self.recipe, **found)  # type: ignore[arg-type]  # checked when the change was made
        return replace(self, model=model, recipe=recipe, changes=(), origin=None)

    @property
    def turns(self) -> tuple[int, ...]:
        """The numbers of the updates from which on other settings may hold, rising, 1 first."""
        before = (*self.origin.config.turns, self.origin.step + 1) if self.origin else (1,)
        since = (change.step for change in self.changes)
        past = self.origin.step if self.origin else 0
        return tuple(sorted({*(each for each in before if each <= past + 1), *(each for each in since if each > past)}))

    @property
    def chance_loss(self) -> float:
        """Loss of a model that thinks all tokens equally likely, nats a token: ln V, with or without smoothing."""
        return math.log(self.model.vocab_size)

    @property
    def least_loss(self) -> float:
        """Smallest loss that label smoothing leaves possible, nats a token: the entropy of the smoothed target."""
        size, share = self.model.vocab_size, self.recipe.label_smoothing
        right, other = 1 - share + share / size, share / size
        return -right * math.log(right) - ((size - 1) * other * math.log(other) if other else 0.0)

    @property
    def expected_seconds(self) -> float:
        """About how long the training takes on one free core of a laptop, right within a factor of two.

        What a step costs at any size, what each layer does, and six multiplications and additions a weight and token;
        the three constants were fitted to ten models from 9,000 to 7 million weights.
        """
        tokens = self.recipe.batch_size * 0.6 * self.data.max_len
        operations = 6 * self.model.n_parameters * tokens
        return self.recipe.steps * (2e-3 + 3.5e-3 * self.model.n_layers + 12e-12 * operations)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` takes them back."""
        origin = self.origin and {
            "run": self.origin.run_id,
            "step": self.origin.step,
            **{name: value for name, value in self.origin.config.to_dict().items() if name not in _INHERITED},
        }
        return {
            "task": self.task,
            "model": self.model.to_dict(),
            "recipe": self.recipe.to_dict(),
            "changes": [asdict(change) for change in self.changes],
            "origin": origin,
            **({} if self.own is None else {"own": self.own.to_dict()}),
        }

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the configuration that `to_dict` wrote.

        Raises:
            RunRefused: If anything in it is missing, unknown, of another type or outside its limits.
        """
        found = table(plain, "run", {each.name for each in fields(cls)}, {"changes", "origin", "own"})
        recipe = Recipe.from_dict(found["recipe"])
        try:
            model = ModelConfig.from_dict(found["model"])
        except (ValueError, TypeError, OverflowError) as error:
            raise RunRefused("training.refused.model") from error
        inherited = {name: found[name] for name in _INHERITED if name in found}
        changes, origin = _changes(found.get("changes")), _origin(found.get("origin"), inherited)
        if "own" in inherited:
            inherited["own"] = _own(inherited["own"])
        return cls(**inherited, model=model, recipe=recipe, changes=changes, origin=origin)


def _own(plain: object) -> OwnData:
    try:
        return OwnData.from_dict(plain)
    except DataRefused as error:
        raise RunRefused(error.key, **error.values) from error


def _changes(plain: object) -> tuple[Change, ...]:
    if plain is None:
        return ()
    if not isinstance(plain, list):
        raise RunRefused("training.refused.field", name="changes")
    if len(plain) > MAX_CHANGES:
        raise RunRefused("training.refused.changes", high=MAX_CHANGES)
    return tuple(Change.from_dict(each) for each in plain)


def _origin(plain: object, inherited: Mapping[str, object]) -> Origin | None:
    """Return the origin that `RunConfig.to_dict` wrote.

    Raises:
        RunRefused: If it is none, or forks lie in forks deeper than is kept, which is found out before going down.
    """
    if plain is None:
        return None
    depth, inner = 0, plain
    while isinstance(inner, dict):
        depth, inner = depth + 1, inner.get("origin")
        if depth > MAX_FORKS:
            raise RunRefused("training.refused.forks", high=MAX_FORKS)
    found = dict(table(plain, "origin", {"run", "step", "model", "recipe", "changes", "origin"}))
    run_id, step = found.pop("run"), found.pop("step")
    if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id):
        raise RunRefused("training.refused.field", name="origin.run")
    if type(step) is not int:
        raise RunRefused("training.refused.field", name="origin.step")
    return Origin(run_id, step, RunConfig.from_dict({**inherited, **found}))


def changed(config: RunConfig, settings: Mapping[str, object]) -> RunConfig:
    """Return a configuration with other settings from its beginning on; what it changed on the way goes with them.

    Args:
        config: What to start from.
        settings: Fields of `ModelConfig` or of `Recipe`, by their names. Fields that follow another (`n_kv_heads`,
            `final_norm`) follow it again, if they did.

    Raises:
        RunRefused: If there is no such setting, or the settings do not fit together.
    """
    of_model = {each.name for each in fields(ModelConfig)}
    of_recipe = {each.name for each in fields(Recipe)}
    for name in settings:
        if name not in of_model | of_recipe:
            raise RunRefused("training.refused.setting", name=_short(name))
    model: dict[str, Any] = {name: value for name, value in settings.items() if name in of_model}
    recipe: dict[str, Any] = {name: value for name, value in settings.items() if name in of_recipe}
    if config.model.n_kv_heads == config.model.n_heads and "n_heads" in model:
        model.setdefault("n_kv_heads", None)
    if config.model.final_norm == (config.model.norm_placement == "pre") and "norm_placement" in model:
        model.setdefault("final_norm", None)
    try:
        new_model = replace(config.model, **model)
    except ValueError as error:
        raise RunRefused("training.refused.model") from error
    new_recipe = replace(config.recipe, **recipe)
    left = tuple(each for each in config.changes if each.name not in settings and each.step <= new_recipe.steps)
    return replace(config, model=new_model, recipe=new_recipe, changes=left)


def altered(config: RunConfig, change: Change) -> RunConfig:
    """Return the configuration with one more change, which undoes what else was to change that setting from then on.

    Raises:
        RunRefused: If there are too many.
    """
    others = (each for each in config.changes if each.name != change.name or each.step < change.step)
    return replace(config, changes=tuple(sorted([*others, change], key=lambda each: each.step)))


def forked(
    config: RunConfig, run_id: str, step: int, *, model: ModelConfig | None = None, recipe: Recipe | None = None
) -> RunConfig:
    """Return the configuration of a fork: the same updates up to `step`, then other settings, on the same batches.

    What the run changes later on, the fork changes too, if it has not got another value for it.

    Whether the weights of then fit the settings is not checked here: see `playground.runs.can_fork`.

    Args:
        config: Of the run that is forked.
        run_id: Its id.
        step: Its last update that is shared; with 0 the fork begins with weights of its own.
        model: Sizes and choices from then on; as they were if None.
        recipe: How it is trained from then on; as it was if None.

    Raises:
        RunRefused: If there is nothing left to train, or these are too many forks of forks.
    """
    model, recipe = model or config.model, recipe or config.recipe
    if not step < recipe.steps:
        low, high = step + 1, RECIPE_LIMITS["steps"][1]
        raise RunRefused("training.refused.range", name="steps", value=recipe.steps, low=low, high=high)
    new = replace(config, model=model, recipe=recipe, changes=(), origin=Origin(run_id, step, config))
    ours = differences(config, new)
    kept = tuple(each for each in config.changes if each.name not in ours and each.step <= recipe.steps)
    return replace(new, changes=kept)


def differences(one: RunConfig, other: RunConfig) -> dict[str, tuple[object, object]]:
    """Return the settings in which two runs differ, each with both values: of the model, then of the recipe."""
    pairs = [(one.model, other.model), (one.recipe, other.recipe)]
    return {
        name.name: (getattr(left, name.name), getattr(right, name.name))
        for left, right in pairs
        for name in fields(left)  # type: ignore[arg-type]  # both are dataclasses
        if getattr(left, name.name) != getattr(right, name.name)
    }


def model_for(task: str | Task, **choices: Any) -> ModelConfig:
    """Return a small model with the paper's choices for a task: d_model 64, 4 heads, 2+2 layers, d_ff 256.

    Args:
        task: A key of `TASKS`, or a task; gives `architecture`, `vocab_size` and `max_len`.
        choices: Fields of `ModelConfig` that differ.

    Raises:
        ValueError: If the choices do not fit together.
    """
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 2}
    data = TASKS[task] if isinstance(task, str) else task
    room = {"vocab_size": len(data.vocabulary.tokens), "max_len": data.max_len}
    return ModelConfig(**{"architecture": data.architecture, **room, **sizes, **choices})


def recorded_steps(steps: int) -> tuple[int, ...]:
    """Return the steps whose weights are kept: 0, then about evenly on a logarithmic scale, then the last.

    10, 20, 40, 80, 120, 160, 240, 320, …: twice, from 80 on about √2 times the one before.
    """
    kept = [0]
    step = 10
    while step < steps:
        kept.append(step)
        if step >= 80 and step + step // 2 < steps:
            kept.append(step + step // 2)
        step *= 2
    return (*kept, steps)


def table(plain: object, name: str, wanted: set[str], later: Set[str] = frozenset()) -> dict[str, Any]:
    """Return `plain` if it is a table with exactly the fields `wanted`, of which those in `later` may be missing.

    Raises:
        RunRefused: If it is not; says which field is missing or unknown.
    """
    if not isinstance(plain, dict):
        raise RunRefused("training.refused.not_a_table", name=name)
    for field_name in sorted(wanted - plain.keys() - later):
        raise RunRefused("training.refused.missing", name=f"{name}.{field_name}")
    for field_name in sorted(plain.keys() - wanted):
        raise RunRefused("training.refused.unknown", name=f"{name}.{_short(field_name)}")
    return plain


def _checked(name: str, value: Any, low: float, high: float) -> float:
    """Return a number if it is between two others, whole if they are."""
    whole = isinstance(low, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise RunRefused("training.refused.type", name=name, value=_short(value))
    if not low <= value <= high:  # also refuses NaN
        raise RunRefused("training.refused.range", name=name, value=_short(value), low=low, high=high)
    return value if whole else float(value)


def _short(value: object) -> object:
    """Return a number or word as it is, and anything long or nested as its first 40 characters."""
    if isinstance(value, (int, float)) and abs(value) < 1e15:
        return value
    try:
        text = str(value)
    except ValueError:  # an integer of more digits than Python will write
        text = "…"
    return text if len(text) <= 40 else f"{text[:40]}…"
