"""Every array that a page draws is a tensor of the subject's pass, or one of the few that are declared here."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from playground.decoding import Alignment
from playground.labelled import LabelledArray
from playground.reading import Reading
from playground.runs import RunStore
from playground.subject import Subject
from playground.ui.components.attention_grid import HeadMaps
from playground.ui.components.cache_grid import KeptLayer
from playground.ui.components.matrix import Block
from playground.ui.components.writing import Choice
from playground.ui.frame import PAGES
from playground.ui.link import PICKS

# The pick by which a page is looked at from another side.
VIEWS = {
    "embeddings": "table",
    "masks": "masks",
    "scaling": "scaling",
    "positions": "aspect",
    "all_heads": "heads",
    "decode": "decode",
    "kv_cache": "cache",
}

# Computed from tensors of the pass by a measure, which has tests of its own.
DERIVED = re.compile(
    r"(softmax|scaled|cosine|mean|rollout)\(.*\)|length|operands|‖v W_O‖|‖weight · v W_O‖"
    r"|(tgt_)?embedding"  # the weights themselves
)

# Another pass or a laboratory, and said to be one on the page.
DECLARED = {
    ("positions", "rotation"): {"turn_rows", "before", "product", "after", "left"},
    ("positions", "relative"): {"offset"},
    ("positions", "shuffle"): {"memory"},  # of the shuffled sentence
    ("masks", "batch"): {"mask", "masked_scores", "weights"},  # of the padded batch
    ("masks", "paint"): {"P(word written before)", "mask", "masked_scores", "weights", "z"},  # under the painted mask
    ("masks", "nowhere"): {"weights", "z"},
    ("all_heads", "off"): {"P(right word)", "weights"},  # without some heads
    # What the cache holds, equal to the pass but for rounding (tests/test_caching.py), or an untrained copy's.
    ("kv_cache", "grow"): {"k", "v"},
    ("kv_cache", "heads"): {"k", "v"},
    ("kv_cache", "window"): {"mask"},  # of the window
    ("compare", None): {"weights"},  # of the compared models, over the right translation, and their difference
    ("blackboard", None): {"q", "k", "v", "raw_scores", "scores", "masked_scores", "weights", "z"},
}

SIDES = [(page.name, side) for page in PAGES for side in (PICKS[VIEWS[page.name]] if page.name in VIEWS else [None])]


@pytest.fixture
def drawn(monkeypatch) -> list[LabelledArray]:
    """Collect every array that becomes part of a picture."""
    found: list[LabelledArray] = []

    def watch(cls: type, arrays) -> None:
        plain = cls.__init__

        def seen(self, *args, **kwargs) -> None:
            plain(self, *args, **kwargs)
            found.extend(arrays(self))

        monkeypatch.setattr(cls, "__init__", seen)

    watch(Block, lambda block: [block.array])
    watch(HeadMaps, lambda maps: maps.layers)
    watch(KeptLayer, lambda layer: [*layer.own, *(layer.cross or ())])
    watch(Choice, lambda choice: [choice.moment.probs])
    watch(Alignment, lambda alignment: [alignment.weights])
    return found


@pytest.fixture(scope="module")
def reading() -> Reading:
    run = RunStore().open("english-french")
    return Subject(run, run.steps[-1], "the black cat does not eat the fish").reading


def parts(reading: Reading, array: LabelledArray) -> Iterator[np.ndarray]:
    """Yield what of the pass an array may be: the whole tensor, one head or row of it, or the columns of some words."""
    whole = reading[array.name]
    yield whole.values
    if whole.values.ndim in (2, 3):
        yield from whole.values
    if array.axes[-1].name == "vocab":
        words = whole.axis("vocab").labels
        kept = [words.index(word) for word in array.axes[-1].labels if word in words]
        yield whole.values[:, kept]


def same(array: LabelledArray, part: np.ndarray) -> bool:
    # A column that stands for all other words is no part of the pass; what is left of the row's sum is.
    values = array.values[:, :-1] if part.shape[-1] == array.shape[-1] - 1 else array.values
    return values.shape == part.shape and np.array_equal(values, part)


@pytest.mark.parametrize(("page", "side"), SIDES)
def test_every_array_on_a_page_is_of_the_pass_or_declared(app, drawn, reading, page, side):
    chosen = {} if side is None else {VIEWS[page]: side}
    assert not app(page, v="1", depth="numbers", **chosen).exception
    declared = DECLARED.get((page, side), set())
    for array in drawn:
        is_tensor = array.name in reading and any(same(array, part) for part in parts(reading, array))
        is_known = DERIVED.fullmatch(array.name) or array.name.rsplit(".", 1)[-1] in declared
        assert is_tensor or is_known, f"{array.name} on {page} ({side}) is neither of the pass nor declared"


def test_the_law_would_see_a_number_that_is_not_of_the_pass(reading):
    weights = reading["decoder.1.cross_attn.weights"].select(head=1)
    assert any(same(weights, part) for part in parts(reading, weights))
    other = weights.derived(weights.name, weights.values + 1e-6)
    assert not any(same(other, part) for part in parts(reading, other))
