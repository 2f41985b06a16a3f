"""The runs that are shipped with the project, each made by `python -m playground record` from what stands here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from playground.recipe import Recipe, RunConfig, model_for

# Sentences that were held out, and the share of them that a shipped model must translate word for word.
JUDGED_ON = 500
GOOD_ENOUGH = 0.99


def _recordings() -> Mapping[str, RunConfig]:
    small = {"d_model": 32, "n_heads": 4, "d_ff": 128}
    tiny = {"d_model": 32, "n_heads": 4, "d_ff": 64}
    return MappingProxyType(
        {
            "english-french": RunConfig(
                task="english-french", model=model_for("english-french"), recipe=Recipe(steps=800)
            ),
            "english-chinese": RunConfig(
                task="english-chinese", model=model_for("english-chinese"), recipe=Recipe(steps=800)
            ),
            "reverse": RunConfig(task="reverse", model=model_for("reverse", **small), recipe=Recipe(steps=1_200)),
            "induction": RunConfig(task="induction", model=model_for("induction", **tiny), recipe=Recipe(steps=1_000)),
            "masked": RunConfig(task="masked", model=model_for("masked", **tiny), recipe=Recipe(steps=800)),
        }
    )


SHIPPED = _recordings()
