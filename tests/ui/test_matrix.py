"""The matrix component: what reaches the browser, and that the declared operands really make each cell."""

from __future__ import annotations

import base64
import json
import math

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from models import ModelConfig, Transformer, capture
from playground.figures.theme import LIGHT
from playground.head import PLACES, Head
from playground.i18n import LANGUAGES, Translate
from playground.labelled import Axis, LabelledArray
from playground.reading import Reading
from playground.ui.components.matrix import Block, Operand, largest, matrices
from playground.ui.components.shared import packed
from playground.ui.steps import beside, chain

T = Translate("en")
VOCABULARY = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "the", "black", "cat", "le", "chat", "noir")
CONFIG = ModelConfig(vocab_size=9, d_model=28, n_heads=4, d_ff=11, n_layers=2, max_len=13)


def array(values: object, rows: str = "query", cols: str = "key") -> LabelledArray:
    numbers = np.asarray(values, dtype=np.float32)
    axes = tuple(Axis(name, tuple(map(str, range(n)))) for name, n in zip((rows, cols), numbers.shape, strict=True))
    return LabelledArray("weights", numbers, axes)


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.set_num_threads(1)
    return Transformer(CONFIG, generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module")
def reading(model: Transformer) -> Reading:
    src, tgt = [3, 4, 5, 2], [1, 6, 7, 8, 8]
    trace = capture(model, torch.tensor([src]), torch.tensor([tgt]))
    words = [tuple(VOCABULARY[i] for i in ids) for ids in (src, tgt)]
    return Reading(trace, src=words[0], tgt=words[1], vocabulary=VOCABULARY)


# --- Plain data ------------------------------------------------------------------------------------------------------


def test_packed_numbers_keep_every_bit():
    values = np.array([[0.1, -math.inf, -0.0], [3.5e-12, 1 / 3, 7]], dtype=np.float32)
    sent = json.loads(json.dumps(packed(values)))
    back = np.frombuffer(base64.b64decode(sent["float32"]), dtype="<f4").reshape(sent["shape"])
    assert back.tobytes() == values.tobytes()


def test_a_hidden_cell_goes_with_its_reason():
    hidden = np.array([["", "causal"], ["padding", ""]], dtype=object)
    plain = Block(array([[1, 0], [0, 1]]), id="w", title="w", hidden=hidden).plain(T)
    assert plain["hidden"] == ".cp."


def test_the_limit_is_the_largest_finite_size():
    plain = Block(array([[1.5, -math.inf], [-2.5, 0]]), id="w", title="w").plain(T)
    assert plain["limit"] == 2.5
    assert largest(array([[1]]), array([[-3]])) == 3
    assert largest() == 0


def test_every_word_is_data_whatever_it_holds():
    words = ("<script>alert(1)</script>", "\u202e${x}\u0000")
    labelled = array([[1, 0], [0, 1]]).relabelled({"query": words})
    plain = json.loads(json.dumps(Block(labelled, id="w", title="<b>").plain(T)))
    assert tuple(plain["rows"]["labels"]) == words


def test_shape_is_that_of_the_whole_tensor():
    assert Block(array([[1, 0]]), id="w", title="w", whole=(4, 1, 2)).plain(T)["shape"] == "4 × 1 × 2"
    assert Block(array([[1, 0]]), id="w", title="w").plain(T)["shape"] == "1 × 2"


# --- Refusals --------------------------------------------------------------------------------------------------------


def test_a_block_of_three_axes_is_refused():
    cube = LabelledArray("q", np.zeros((1, 1, 1)), tuple(Axis(name, ("0",)) for name in ("head", "query", "key")))
    with pytest.raises(ValueError, match="needs 2 axes, but q has"):
        Block(cube, id="q", title="q")


def test_hidden_cells_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"\(1, 2\), but its hidden cells are \(2, 2\)"):
        Block(array([[1, 0]]), id="w", title="w", hidden=np.full((2, 2), "", dtype=object))


def test_two_blocks_of_one_id_and_an_unknown_start_are_refused():
    block = Block(array([[1, 0]]), id="w", title="w")
    with pytest.raises(ValueError, match="own id"):
        matrices([block, block], key="m", alt="", t=T, theme=LIGHT)
    with pytest.raises(ValueError, match="no block 'z' to start with"):
        matrices([block], key="m", alt="", t=T, theme=LIGHT, start="z")


# --- The chain of a head ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", PLACES)
def test_the_declared_operands_make_each_cell(model, reading, where):
    """Recompute each cell from the cells that light up for it, and from nothing else."""
    index, layer = 2, 1
    blocks = {block.id: block for block in chain(Head(reading, where, layer, index), CONFIG, T)}
    stack, part = PLACES[where]
    w_o = model.get_parameter(f"{stack}.layers.{layer}.{part}.W_O").detach().numpy()  # [n_heads · d_head, d_model]

    def lit(block: Block, row: int, col: int) -> list[np.ndarray]:
        found = []
        for operand in block.operands:
            values = blocks[operand.block].array.values
            place = {"row": row, "col": col, None: slice(None)}
            column = place[operand.col]
            found.append(values[place[operand.row], column if isinstance(column, slice) else column - operand.col_from])
        return found

    made = {
        "raw_scores": lambda cells, col: cells[0] @ cells[1],
        "scores": lambda cells, col: cells[0] / np.sqrt(7),
        "weights": lambda cells, col: (np.exp(cells[0]) / np.exp(cells[0]).sum())[col],
        "z": lambda cells, col: cells[0] @ cells[1],
        "out": lambda cells, col: cells[0] @ w_o[:, col],
    }
    for name, recomputed in made.items():
        values = blocks[name].array.values
        for row, col in np.ndindex(*values.shape):
            again = recomputed(lit(blocks[name], row, col), col)
            assert again == pytest.approx(values[row, col], abs=1e-5), (name, row, col)
    concat = blocks["concat"]
    for row, col in np.ndindex(len(concat.array.axes[0]), 7):
        assert concat.array.values[row, 14 + col] == lit(concat, row, 14 + col)[0]


def test_in_cross_attention_queries_come_from_the_decoder_and_keys_and_values_from_the_encoder(reading):
    blocks = {block.id: block for block in chain(Head(reading, "cross", 0, 0), CONFIG, T)}
    assert [blocks[name].operands[0].block for name in "qkv"] == ["x", "memory", "memory"]
    assert blocks["x"].array.axes[0].labels == reading.tgt
    assert blocks["memory"].array.axes[0].labels == reading.src


def test_scores_share_one_colour_scale_until_softmax(reading):
    blocks = {block.id: block for block in chain(Head(reading, "decoder", 0, 0), CONFIG, T)}
    assert len({blocks[name].limit for name in ("raw_scores", "scores", "masked_scores")}) == 1


def test_only_masked_cells_are_hidden(reading):
    blocks = {block.id: block for block in chain(Head(reading, "decoder", 0, 0), CONFIG, T)}
    assert blocks["raw_scores"].hidden is None and blocks["scores"].hidden is None
    np.testing.assert_array_equal(
        blocks["masked_scores"].hidden == "causal", np.isneginf(blocks["masked_scores"].array.values)
    )
    assert (blocks["weights"].array.values[blocks["weights"].hidden == "causal"] == 0).all()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize(
    "choices", [{"positions": "rotary"}, {"positions": "alibi", "n_kv_heads": 2}, {"scale_scores": False}]
)
def test_the_chain_has_words_for_every_kind_of_model(language, where, choices):
    config = ModelConfig(vocab_size=9, d_model=24, n_heads=4, d_ff=11, n_layers=1, max_len=13, **choices)
    src, tgt = torch.tensor([[0, 3, 4, 2]]), torch.tensor([[1, 6, 7]])
    trace = capture(Transformer(config), src, tgt)
    read = Reading(trace, src=("⟨pad⟩", "the", "black", "⟨eos⟩"), tgt=("⟨bos⟩", "le", "noir"), vocabulary=VOCABULARY)
    t = Translate(language)
    head = Head(read, where, 0, 1)
    for block in [*chain(head, config, t), *beside(head, config, t)]:
        plain = block.plain(t)
        assert plain["title"]
        assert "{" not in plain["note"]


# --- In Streamlit ----------------------------------------------------------------------------------------------------


def page() -> None:
    import numpy as np

    from playground.figures.theme import DARK
    from playground.i18n import Translate
    from playground.labelled import Axis, LabelledArray
    from playground.ui.components.matrix import Block, matrices

    axes = (Axis("query", ("a", "b")), Axis("key", ("c",)))
    block = Block(LabelledArray("w", np.ones((2, 1)), axes), id="w", title="w")
    for layout in ("chain", "row", "single"):
        matrices([block], key=layout, alt="w", t=Translate("zh"), theme=DARK, layout=layout, picks=layout == "row")


def test_every_layout_mounts():
    at = AppTest.from_function(page, default_timeout=60).run()
    assert not at.exception


def test_an_operand_names_rows_and_columns():
    operand = Operand("q", row="row")
    plain = Block(array([[1]]), id="s", title="s", operands=(operand,)).plain(T)
    assert plain["operands"] == [{"block": "q", "row": "row", "col": None, "row_from": 0, "col_from": 0}]
