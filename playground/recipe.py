"""What is trained, and how: a `RunConfig` is a task, a model and a `Recipe`; by its seed a run can be made again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self

from models import ModelConfig
from playground.tasks import TASKS

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
    """How a model is trained: Adam with the learning rate of section 5.3, label smoothing of section 5.4.

    Attributes:
        steps: Updates of the weights.
        batch_size: Sentence pairs an update.
        factor: Multiplies the learning rate; the paper's rate is 1.0.
        warmup: Steps over which the learning rate rises; the paper takes 4,000 of 100,000.
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

    def __post_init__(self) -> None:
        for name, (low, high) in RECIPE_LIMITS.items():
            value = getattr(self, name)
            whole = isinstance(low, int)
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise RunRefused("training.refused.type", name=name, value=_short(value))
            if not low <= value <= high:  # also refuses NaN
                raise RunRefused("training.refused.range", name=name, value=_short(value), low=low, high=high)
            if not whole:
                object.__setattr__(self, name, float(value))
        if self.device not in DEVICES:
            raise RunRefused("training.refused.device", device=_short(self.device))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` takes them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the recipe that `to_dict` wrote.

        Raises:
            RunRefused: If a field is missing, unknown, of another type or outside its limits.
        """
        names = {each.name for each in fields(cls)}
        return cls(**table(plain, "recipe", names))


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that makes a run what it is.

    Attributes:
        task: A key of `TASKS`.
        model: The model's sizes and choices; its vocabulary is the task's.
        recipe: How it is trained.

    Raises:
        RunRefused: If there is no such task, the model does not fit it, or is larger than `MODEL_LIMITS`.
    """

    task: str
    model: ModelConfig
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if not isinstance(self.task, str) or self.task not in TASKS:
            raise RunRefused("training.refused.task", task=_short(self.task))
        task = TASKS[self.task]
        for name, high in MODEL_LIMITS.items():
            if (value := getattr(self.model, name)) > high:
                raise RunRefused("training.refused.size", name=name, value=_short(value), high=high)
        if self.model.architecture != "encoder-decoder":
            raise RunRefused("training.refused.architecture", architecture=self.model.architecture)
        if self.model.vocab_size != (wanted := len(task.vocabulary.tokens)):
            raise RunRefused("training.refused.vocabulary", value=_short(self.model.vocab_size), wanted=wanted)
        if self.model.max_len < task.max_len:
            raise RunRefused("training.refused.max_len", value=self.model.max_len, wanted=task.max_len)

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
        tokens = self.recipe.batch_size * 0.6 * TASKS[self.task].max_len
        operations = 6 * self.model.n_parameters * tokens
        return self.recipe.steps * (2e-3 + 3.5e-3 * self.model.n_layers + 12e-12 * operations)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` takes them back."""
        return {"task": self.task, "model": self.model.to_dict(), "recipe": self.recipe.to_dict()}

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the configuration that `to_dict` wrote.

        Raises:
            RunRefused: If anything in it is missing, unknown, of another type or outside its limits.
        """
        found = table(plain, "run", {"task", "model", "recipe"})
        recipe = Recipe.from_dict(found["recipe"])
        try:
            model = ModelConfig.from_dict(found["model"])
        except (ValueError, TypeError, OverflowError) as error:
            raise RunRefused("training.refused.model") from error
        return cls(task=found["task"], model=model, recipe=recipe)


def model_for(task: str, **choices: Any) -> ModelConfig:
    """Return a small model with the paper's choices for a task: d_model 64, 4 heads, 2+2 layers, d_ff 256.

    Args:
        task: A key of `TASKS`; gives `vocab_size` and `max_len`.
        choices: Fields of `ModelConfig` that differ.

    Raises:
        ValueError: If the choices do not fit together.
    """
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 2}
    room = {"vocab_size": len(TASKS[task].vocabulary.tokens), "max_len": TASKS[task].max_len}
    return ModelConfig(**{"architecture": "encoder-decoder", **room, **sizes, **choices})


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


def table(plain: object, name: str, wanted: set[str]) -> dict[str, Any]:
    """Return `plain` if it is a table with exactly the fields `wanted`.

    Raises:
        RunRefused: If it is not; says which field is missing or unknown.
    """
    if not isinstance(plain, dict):
        raise RunRefused("training.refused.not_a_table", name=name)
    for field_name in sorted(wanted - plain.keys()):
        raise RunRefused("training.refused.missing", name=f"{name}.{field_name}")
    for field_name in sorted(plain.keys() - wanted):
        raise RunRefused("training.refused.unknown", name=f"{name}.{_short(field_name)}")
    return plain


def _short(value: object) -> object:
    """Return a number or word as it is, and anything long or nested as its first 40 characters."""
    if isinstance(value, (int, float)) and abs(value) < 1e15:
        return value
    try:
        text = str(value)
    except ValueError:  # an integer of more digits than Python will write
        text = "…"
    return text if len(text) <= 40 else f"{text[:40]}…"
