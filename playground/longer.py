"""A longer sentence than trained: one small model for each position rule, trained on short sequences, tried on longer.

The task is to copy letters, each of which comes once. A decoder alone reads `⟨bos⟩ a b c ⟨eos⟩` and writes `a b c`.

    python -m playground.longer

trains all of them again, from one seed, and writes `longer.json` beside this file, which `measured()` reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor

from models import CHOICES, ModelConfig, Transformer, inspecting, label_smoothed_loss, noam_rate

FILE = Path(__file__).with_suffix(".json")

METHODS = CHOICES["positions"]
BOS, EOS = 1, 2
FIRST_LETTER = 3
N_LETTERS = 26

SHORTEST, TRAINED, LONGEST = 2, 8, 16  # letters: of the training, and of the longest sequence tried
STEPS = 1_500
BATCH = 64
TRIED = 100  # sequences of each length
SEEDS = (0, 1, 2)
TRIAL_SEED = 1_000


@dataclass(frozen=True)
class Measured:
    """How well models trained on short sequences copy longer ones.

    Attributes:
        trained: Longest sequence of the training, in letters.
        steps: Updates of each model.
        seeds: Of first weights and training: so many models for each rule.
        tried: Sequences of each length, the same for every model.
        lengths: The lengths tried, in letters.
        right: For each position rule the share of letters written rightly at each length, 0–1, the mean of its
            models; None where they have no position left and refuse.
    """

    trained: int
    steps: int
    seeds: tuple[int, ...]
    tried: int
    lengths: tuple[int, ...]
    right: Mapping[str, tuple[float | None, ...]]


def config(method: str, *, longest: int = TRAINED) -> ModelConfig:
    """Return the sizes of a model that copies sequences of up to `longest` letters."""
    return ModelConfig(
        vocab_size=FIRST_LETTER + N_LETTERS,
        architecture="decoder-only",
        d_model=64,
        n_heads=4,
        d_ff=128,
        n_layers=2,
        max_len=2 * longest + 1,
        positions=method,  # type: ignore[arg-type]  # one of METHODS
        norm_placement="pre",
        dropout=0.0,
    )


def sequences(length: int, n: int, generator: torch.Generator) -> Tensor:
    """Draw sequences of different letters, and what is to be written after each.

    Returns:
        Ids `[n, 2 · length + 2]`: `⟨bos⟩`, the letters, `⟨eos⟩`, the letters again.
    """
    letters = torch.rand(n, N_LETTERS, generator=generator).argsort(dim=1)[:, :length] + FIRST_LETTER
    mark = torch.ones(n, 1, dtype=torch.long)
    return torch.cat([mark * BOS, letters, mark * EOS, letters], dim=1)


def trained(method: str, *, steps: int = STEPS, seed: int = SEEDS[0]) -> Transformer:
    """Train a fresh model to copy sequences of `SHORTEST` to `TRAINED` letters.

    Returns:
        The model, in eval mode.
    """
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(config(method), generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, steps + 1):
        length = int(torch.randint(SHORTEST, TRAINED + 1, (), generator=generator))
        ids = sequences(length, BATCH, generator)
        wanted = ids[:, 1:].clone()
        wanted[:, : length + 1] = model.config.pad_id  # only what is copied counts
        loss = label_smoothed_loss(model(ids[:, :-1]), wanted, model.config.pad_id, 0.0)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        for group in optimizer.param_groups:
            group["lr"] = 0.5 * noam_rate(step, d_model=model.config.d_model, warmup=200)
        optimizer.step()
    return model.eval()


def stretched(model: Transformer, max_len: int) -> Transformer | None:
    """Return the same weights in a model that reads up to `max_len` tokens; None if a position has no row for that.

    Only learned positions are a table of weights; every other rule goes on by its formula.
    """
    config = replace(model.config, max_len=max_len)
    if config.positions == "learned" and max_len > model.config.max_len:
        return None
    longer = Transformer(config, generator=torch.Generator().manual_seed(0))
    longer.load_state_dict(model.state_dict())
    return longer.eval()


def share_right(model: Transformer, length: int, *, n: int = TRIED, seed: int = TRIAL_SEED) -> float:
    """Return the share of letters that the model writes rightly while it reads its own, at their places, 0–1."""
    ids = sequences(length, n, torch.Generator().manual_seed(seed))
    written = ids[:, : length + 2]
    with inspecting(model):
        for _ in range(length):
            written = torch.cat([written, model(written)[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    return float((written[:, length + 2 :] == ids[:, length + 2 :]).double().mean())


def measure(methods: Sequence[str] = METHODS, *, steps: int = STEPS, seeds: tuple[int, ...] = SEEDS) -> Measured:
    """Train models for each position rule, one a seed, and try them at every length."""
    lengths = tuple(range(SHORTEST, LONGEST + 1))
    right: dict[str, tuple[float | None, ...]] = {}
    for method in methods:
        models = [trained(method, steps=steps, seed=seed) for seed in seeds]
        right[method] = tuple(_mean_right(models, length) for length in lengths)
    return Measured(TRAINED, steps, seeds, TRIED, lengths, right)


def _mean_right(models: Sequence[Transformer], length: int) -> float | None:
    longer = [stretched(model, max(model.config.max_len, 2 * length + 1)) for model in models]
    shares = [share_right(model, length) for model in longer if model is not None]
    return round(fmean(shares), 4) if shares else None


@cache
def measured() -> Measured:
    """Return what was measured when the project was made."""
    plain = json.loads(FILE.read_text(encoding="utf-8"))
    return Measured(
        trained=plain["trained"],
        steps=plain["steps"],
        seeds=tuple(plain["seeds"]),
        tried=plain["tried"],
        lengths=tuple(plain["lengths"]),
        right={method: tuple(shares) for method, shares in plain["right"].items()},
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    FILE.write_text(json.dumps(asdict(measure()), indent=1) + "\n", encoding="utf-8")
