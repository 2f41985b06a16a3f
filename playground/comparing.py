"""Runs side by side: in what they differ, what they share, how soon each was good, and what each makes of a sentence.

A comparison shows a cause only if all else is the same. So what is the same is not promised but looked up: the
settings field by field, the first weights tensor by tensor, the batches by what draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models import ModelConfig, Transformer, capture
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.measures import agreement
from playground.plan import ALL, FOLLOWS, SETTINGS
from playground.reading import Reading
from playground.recipe import Recipe, RunConfig
from playground.subject import Subject

Numbers = npt.NDArray[np.float64]

MOST = 4  # runs that are compared at once
GOOD = 0.99  # share of held-out sentences exactly right from which on a run counts as having learnt its task
LETTERS = "ABCD"

# What a field follows when it is not set by hand, and so is no difference of its own.
_FOLLOWS = {
    "n_kv_heads": "n_heads",
    "final_norm": "norm_placement",
    "vocab_size": "task",
    "max_len": "task",
    "pad_id": "task",
}

# Schedules whose every rate depends on how many steps there will be.
_PLANNED = frozenset({"cosine", "one_cycle"})


@dataclass(frozen=True)
class Difference:
    """One setting in which runs differ.

    Attributes:
        name: A field of `ModelConfig` or `Recipe`, or `task`.
        values: What each run has, in the order of the runs.
    """

    name: str
    values: tuple[object, ...]


@dataclass(frozen=True)
class Shared:
    """What runs have in common besides their settings.

    Attributes:
        seed: Whether all have one seed.
        batches: Whether all read the same sentences, in the same order, in the same batches.
        tensors: How many tensors of the first weights all of them have, in one shape.
        same: How many of those are the same numbers in all of them.
        until: The last step up to which all settings are the same; 0 if they differ from the start, None if always.
    """

    seed: bool
    batches: bool
    tensors: int
    same: int
    until: int | None

    @property
    def is_causal(self) -> bool:
        """Whether seed, batches and first weights are the same, so that only the settings can have made a difference.

        What only one of the models has (a last norm, a narrower key) began as it does in that model.
        """
        return self.seed and self.batches and self.same == self.tensors


@dataclass(frozen=True)
class Learnt:
    """How soon and how well a run learnt.

    Attributes:
        step: The first measured step at which it was good; None if it never was, or was not measured.
        seconds: Training time until then, as it was measured on the machine that trained it.
        tokens: Target tokens read until then.
        share: The last measured share of held-out sentences exactly right, 0–1; None if there is none.
        at: The step of that measurement.
    """

    step: int | None
    seconds: float | None
    tokens: int | None
    share: float | None
    at: int | None


def settings(config: RunConfig) -> dict[str, object]:
    """Return every setting of a training by name, as they are at its end."""
    last = config.at(config.recipe.steps)
    return {"task": config.task, **last.model.to_dict(), **last.recipe.to_dict()}


def differences(configs: Sequence[RunConfig]) -> tuple[Difference, ...]:
    """Return the settings in which trainings differ, the task first, then the model's and the recipe's.

    A field that only follows another (as many key/value heads as heads, a vocabulary of its task) is left out, and so
    is the number of steps, unless the learning rate depends on it: until the shorter one ends it changes nothing.
    """
    found = [settings(config) for config in configs]
    names = ["task", *(each.name for each in (*fields(ModelConfig), *fields(Recipe)))]
    differing = {name for name in names if len({repr(each[name]) for each in found}) > 1}
    for name, leader in _FOLLOWS.items():
        if name in differing and leader in differing and all(_follows(name, each) for each in found):
            differing.discard(name)
    if not any(each["schedule"] in _PLANNED for each in found):
        differing.discard("steps")
    return tuple(Difference(name, tuple(each[name] for each in found)) for name in names if name in differing)


def shared(configs: Sequence[RunConfig]) -> Shared:
    """Say what trainings have in common: seed, batches, first weights, and settings up to some step."""
    ends = min(config.recipe.steps for config in configs)
    turns = sorted({turn for config in configs for turn in config.turns if turn <= ends})
    moments = [[config.at(turn) for config in configs] for turn in turns]
    seeds = {config.recipe.seed for config in configs}
    readings = [{(_data(each), each.recipe.seed, each.recipe.batch_size) for each in moment} for moment in moments]
    weights = [first_weights(config.at(1).model, config.recipe.seed) for config in configs]
    common = [name for name in weights[0] if len({each[name].shape if name in each else None for each in weights}) == 1]
    same = sum(all(torch.equal(each[name], weights[0][name]) for each in weights[1:]) for name in common)
    apart = next((turn - 1 for turn, moment in zip(turns, moments, strict=True) if differences(moment)), None)
    return Shared(len(seeds) == 1, all(len(each) == 1 for each in readings), len(common), same, apart)


@lru_cache(maxsize=32)
def first_weights(model: ModelConfig, seed: int) -> Mapping[str, Tensor]:
    """Return the weights that a training of this model with this seed begins with; a test compares the `Trainer`'s."""
    first = np.random.SeedSequence(seed).spawn(3)[1]
    generator = torch.Generator().manual_seed(int(first.generate_state(1, np.uint64)[0] >> 1))
    return {name: each.detach() for name, each in Transformer(model, generator=generator).state_dict().items()}


def learnt(metrics: Mapping[str, Numbers], exact_match: Sequence[tuple[int, float]], good: float = GOOD) -> Learnt:
    """Return how soon and how well a run learnt, from what it measured.

    Args:
        metrics: An array a name in `playground.runs.COLUMNS`.
        exact_match: Pairs of step and share of held-out sentences exactly right, by rising steps.
        good: The share that counts as learnt.
    """
    step = next((step for step, share in exact_match if share >= good), None)
    at, share = exact_match[-1] if exact_match else (None, None)
    seconds, tokens = None, None
    if step is not None and len(until := np.flatnonzero(metrics["step"] <= step)):
        seconds = float(metrics["seconds"][until[-1]])
        tokens = int(metrics["tokens"][until].sum())
    return Learnt(step, seconds, tokens, share, at)


@dataclass(frozen=True, eq=False)
class Together:
    """Passes of several models over the same words.

    Attributes:
        readings: A pass a model, in their order.
        given: What the decoder read in all of them, ⟨bos⟩ first; empty for an encoder alone.
        is_gold: Whether that is the grammar's own translation, rather than what the first model wrote.
    """

    readings: tuple[Reading, ...]
    given: tuple[str, ...]
    is_gold: bool


def read_together(subjects: Sequence[Subject]) -> Together:
    """Run every subject's model over the same source and the same target, so that a cell means the same in each map.

    Each model's own translation may be other words; so all read the grammar's, or, where it has none, the first's.

    Raises:
        ValueError: If the subjects are not of one task and one sentence.
    """
    first = subjects[0]
    if any(each.task.name != first.task.name or each.src != first.src for each in subjects):
        raise ValueError("maps are compared over one sentence of one task")
    if not first.reading.tgt:
        return Together(tuple(each.reading for each in subjects), (), False)
    example = first.example if first.reading.src else None
    given = ("⟨bos⟩", *example.tgt) if example else first.reading.tgt
    readings = []
    for each in subjects:
        vocabulary = each.task.vocabulary
        tgt = torch.tensor([vocabulary.encode(given)])
        src = torch.tensor([vocabulary.encode(each.reading.src)]) if each.reading.src else None
        trace = capture(each.model, tgt) if src is None else capture(each.model, src, tgt)
        readings.append(Reading(trace, src=each.reading.src, tgt=given, vocabulary=tuple(vocabulary.tokens)))
    return Together(tuple(readings), given, example is not None)


def best_aligned(reading: Reading, alignment: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return (layer, head) of the cross-attention that lays most weight on an alignment; the lowest on a tie.

    Args:
        reading: A pass over the aligned translation.
        alignment: Pairs (target position, source position).

    Raises:
        KeyError: If the model has no cross-attention.
    """
    scores: dict[tuple[int, int], float] = {}
    layer = 0
    while (name := f"decoder.{layer}.cross_attn.weights") in reading or not scores:
        weights = reading[name]
        for head in range(len(weights.axis("head"))):
            scores[layer, head] = agreement(weights.select(head=head), alignment)
        layer += 1
    return max(scores, key=scores.__getitem__)


def minus(second: LabelledArray, first: LabelledArray) -> LabelledArray:
    """Return the second map less the first, cell by cell: above 0 where the second looks more.

    Raises:
        ValueError: If the two have not the same words on their axes.
    """
    if [axis.labels for axis in second.axes] != [axis.labels for axis in first.axes]:
        raise ValueError(f"{second.name} and {first.name} have other words on their axes")
    return second.derived(f"{second.name} − {first.name}", second.values - first.values)


def _follows(name: str, found: Mapping[str, object]) -> bool:
    """Say whether a field is what it would be by itself."""
    match name:
        case "n_kv_heads":
            return found["n_kv_heads"] == found["n_heads"]
        case "final_norm":
            return found["final_norm"] == (found["norm_placement"] == "pre")
        case _:
            return True


def _data(config: RunConfig) -> str:
    """Return what tells one set of sentences from another."""
    return repr({name: value for name, value in config.to_dict().items() if name in ("task", "own")})


def phrase(name: str, value: object, t: Translate) -> str:
    """Return what a run has in one setting, in words that stand alone: `no positions`, `8 heads`."""
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    if t.has(key := f"compare.value.{name}.{text}"):
        return t(key)
    if t.has(key := f"compare.number.{name}"):
        return t(key, n=f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else text)
    return t(f"tasks.{text}.title") if t.has(f"tasks.{text}.title") else f"{name} = {text}"


def names(configs: Sequence[RunConfig], t: Translate) -> tuple[str, ...]:
    """Return a name for each training by what sets it apart from the others; empty where nothing does."""
    found = differences(configs)
    return tuple(listed([phrase(each.name, each.values[i], t) for each in found], t) for i in range(len(configs)))


def listed(parts: Sequence[str], t: Translate) -> str:
    """Return words one after the other, with the language's own comma between them."""
    return reduce(lambda before, after: t("compare.and", before=before, after=after), parts) if parts else ""


def changed(config: RunConfig, changes: Mapping[str, str]) -> RunConfig:
    """Return a training with some settings changed, and the rest as they are at its end.

    Args:
        config: Of the run that is to be forked.
        changes: New values as texts, by their names in `playground.plan.SETTINGS`.

    Raises:
        ValueError: If the settings do not fit together (`RunRefused`, with the words for it, if they exceed a limit).
        KeyError: If there is no such setting.
    """
    last = config.at(config.recipe.steps)
    new = {SETTINGS[name].of: text for name, text in changes.items()}
    model, recipe = last.model.to_dict(), last.recipe.to_dict()
    for name, leader in (("n_kv_heads", "n_heads"), ("final_norm", "norm_placement")):
        if _follows(name, model) and leader in new and name not in new:
            new[name] = FOLLOWS
    for name, text in new.items():
        plain = model if name in model else recipe
        plain[name] = None if text in (ALL, FOLLOWS) else _valued(text, plain[name])
    return replace(last, model=ModelConfig(**model), recipe=Recipe(**recipe))


def offered(config: RunConfig, changes: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the values that a setting can be changed to, the other changes given: others, and such as fit."""
    now = changed(config, {key: value for key, value in changes.items() if key != name})
    fitting = []
    for text in SETTINGS[name].options:
        try:
            then = changed(config, {**changes, name: text})
        except ValueError:
            continue
        if then != now:
            fitting.append(text)
    return tuple(fitting)


def _valued(text: str, like: object) -> object:
    """Return a text as a value of the same kind as another."""
    if isinstance(like, bool):
        return text == "yes"
    return int(text) if isinstance(like, int) else float(text) if isinstance(like, float) else text
