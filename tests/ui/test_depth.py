"""From a cell of a picture to the number behind it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from playground.head import Head
from playground.i18n import Translate
from playground.provenance import explain
from playground.runs import RunStore
from playground.subject import Subject
from playground.ui import stream
from playground.ui.depth import cell
from playground.ui.steps import chain

ROOT = Path(__file__).parents[2]
T = Translate("en")


@pytest.fixture(scope="module")
def state():
    run = RunStore().open("english-french")
    subject = Subject(run, run.steps[-1], "the black cat does not eat the fish")
    return SimpleNamespace(subject=subject, reading=subject.reading, run=run)


@pytest.mark.parametrize("where", ["encoder", "decoder", "cross"])
def test_every_cell_of_a_heads_chain_is_the_number_that_is_explained(state, where):
    head = Head(state.reading, where, 1, 2)
    rng = np.random.default_rng(0)
    blocks = chain(head, state.run.config.model, T)
    for block in blocks:
        row, col = (int(rng.integers(n)) for n in block.array.shape)
        found = cell(state, blocks, (block.id, row, col), 2)
        assert found is not None, block.id
        origin = explain(state.subject.model, state.reading, found.name, **found.at)
        assert origin.value == block.array.values[row, col], block.id
        assert origin.value == origin.recomputed or origin.difference < 1e-4


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_every_cell_of_a_layer_and_of_the_entrance_is_explained(state, stack):
    config = state.run.config.model
    for blocks in (stream.layer(state.reading, config, stack, 1, T), stream.embedding(state.subject, stack, T)[1:]):
        for block in blocks:
            found = cell(state, blocks, {"id": block.id, "row": 2, "col": 3})
            assert found is not None, block.id
            origin = explain(state.subject.model, state.reading, found.name, **found.at)
            assert origin.value == block.array.values[2, 3]
            assert origin.difference < 1e-4


def test_words_of_a_shortlist_lead_to_their_place_in_the_vocabulary(state):
    blocks = stream.output(state.reading, state.run.config.model, T)
    logits, probs = blocks[1].array, blocks[2].array
    for column in range(logits.shape[1]):
        for block_id, array in (("logits", logits), ("probs", probs)):
            found = cell(state, blocks, (block_id, 1, column))
            origin = explain(state.subject.model, state.reading, found.name, **found.at)
            assert origin.value == array.values[1, column]
    rest = probs.shape[1] - 1
    assert cell(state, blocks, ("probs", 1, rest)) is None


def test_the_table_of_weights_has_no_origin_but_itself(state):
    blocks = stream.embedding(state.subject, "encoder", T)
    assert cell(state, blocks, ("rows", 0, 0)) is None


@pytest.mark.parametrize("where", [None, {}, ("weights", 99, 0), ("weights", 0, -1), ("nothing", 0, 0)])
def test_what_was_pinned_in_another_picture_is_let_go(state, where):
    blocks = chain(Head(state.reading, "cross", 1, 2), state.run.config.model, T)
    assert cell(state, blocks, where, 2) is None


@pytest.mark.parametrize(
    "page", ["home", "one_head", "layer", "output", "embeddings", "scaling", "positions", "all_heads", "masks"]
)
def test_each_depth_of_a_page_shows_something_of_its_own(page):
    shown = {}
    for depth in ("story", "numbers", "formula", "code"):
        app = AppTest.from_file(str(ROOT / "playground/main.py"), default_timeout=60)
        app.query_params.update({"v": "1", "depth": depth})
        app.run().switch_page(str(ROOT / f"pages/{page}.py")).run()
        assert not app.exception
        programs = [each.value for each in app.code]
        shown[depth] = (
            bool(app.latex),
            any("def " in each or " = " in each for each in programs if "capture" not in each),
            any("capture(model" in each for each in programs),
        )
    formula, origin, program = zip(*(shown[depth] for depth in ("formula", "numbers", "code")), strict=True)
    assert formula == (True, False, False)
    assert origin == (False, True, False)
    assert program == (False, False, True)
