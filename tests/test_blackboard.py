"""The tiny example: every step by hand, then torch's own attention, then what a link may say."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from playground.blackboard import LARGEST, START, Board, read, written
from playground.figures.theme import LIGHT
from playground.i18n import LANGUAGES, Translate
from playground.ui.blackboard import chain, written_out


def test_the_whole_chain_by_hand():
    """Q = [[1, 0], [0, 2]], K = [[1, 1], [0, 1]], V = [[1, 0], [0, 1]]."""
    board = Board()
    np.testing.assert_array_equal(board["q"].values, [[1, 0], [0, 2]])
    np.testing.assert_array_equal(board["k"].values, [[1, 1], [0, 1]])
    np.testing.assert_array_equal(board["v"].values, [[1, 0], [0, 1]])
    # q_0·k_0 = 1·1 + 0·1, q_0·k_1 = 1·0 + 0·1, q_1·k_0 = 0·1 + 2·1, q_1·k_1 = 0·0 + 2·1
    np.testing.assert_array_equal(board["raw_scores"].values, [[1, 0], [2, 2]])
    root = 0.7071067811865475  # 1/√2
    np.testing.assert_allclose(board["scores"].values, [[root, 0], [2 * root, 2 * root]], rtol=1e-15)
    np.testing.assert_array_equal(board["masked_scores"].values, board["scores"].values)
    # e^0.7071 = 2.0281, and 2.0281 / (2.0281 + 1) = 0.6698
    first = exp(root) / (exp(root) + 1)
    assert round(exp(root), 4) == 2.0281
    assert round(first, 4) == 0.6698
    np.testing.assert_allclose(board["weights"].values, [[first, 1 - first], [0.5, 0.5]], rtol=1e-14)
    # V is the identity, so what is taken over is the weights.
    np.testing.assert_allclose(board["z"].values, [[first, 1 - first], [0.5, 0.5]], rtol=1e-14)


def test_with_the_mask_the_first_query_sees_the_first_key_only():
    board = Board(is_causal=True)
    assert board.hidden.tolist() == [["", "causal"], ["", ""]]
    assert board["masked_scores"].values[0, 1] == -np.inf
    np.testing.assert_allclose(board["weights"].values, [[1, 0], [0.5, 0.5]], rtol=1e-14)
    np.testing.assert_allclose(board["z"].values, [[1, 0], [0.5, 0.5]], rtol=1e-14)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_any_numbers_give_what_torchs_own_attention_does(seed, is_causal):
    numbers = np.random.default_rng(seed).integers(-LARGEST, LARGEST + 1, size=(3, 4))
    q, k, v = (tuple(map(int, each)) for each in numbers)
    ours = Board(q=q, k=k, v=v, is_causal=is_causal)["z"].values
    wanted = F.scaled_dot_product_attention(
        *(torch.tensor(each, dtype=torch.float64).view(1, 1, 2, 2) for each in (q, k, v)), is_causal=is_causal
    )
    np.testing.assert_allclose(ours, wanted[0, 0], atol=1e-12)


def test_too_many_numbers_and_too_large_ones_are_refused():
    with pytest.raises(ValueError, match="q is 4 numbers from -9 to 9"):
        Board(q=(1, 2, 3))
    with pytest.raises(ValueError, match="v is 4 numbers from -9 to 9"):
        Board(v=(1, 2, 3, 10))


def test_numbers_go_into_a_link_and_back():
    for numbers in (*START.values(), (-9, 9, 0, -1)):
        assert read(written(numbers), START["q"]) == numbers


@pytest.mark.parametrize("text", [None, "", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1,,2,3", "1.5,0,0,0", "<b>"])
def test_what_makes_no_sense_leaves_the_first_numbers(text):
    assert read(text, START["q"]) == START["q"]


def test_numbers_of_a_link_are_clamped():
    assert read("99,-99,0,10", START["q"]) == (9, -9, 0, 9)


# --- On the screen ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_matrix_of_the_chain_is_one_of_the_computation(language):
    t = Translate(language)
    for is_causal in (False, True):
        board = Board(is_causal=is_causal)
        blocks = chain(board, t)
        mask = ["masked_scores"] if is_causal else []
        assert [block.id for block in blocks] == ["q", "k", "v", "raw_scores", "scores", *mask, "weights", "z"]
        known = {block.id for block in blocks}
        for block in blocks:
            np.testing.assert_array_equal(block.array.values, board[block.id].values)
            assert {operand.block for operand in block.operands} <= known


def test_the_arithmetic_of_a_row_is_written_out_with_its_numbers():
    said = written_out(Board(), 0, LIGHT)
    for part in (
        r"1\cdot 1 + 0\cdot 1 = 1",
        r"1\cdot 0 + 0\cdot 1 = 0",
        r"(1,\, 0) \div \sqrt{2} &= (0.707,\, 0)",
        r"(e^{0.707},\, e^{0}) &= (2.028,\, 1)",
        r"2.028 + 1 &= 3.028",
        r"&= (0.670,\, 0.330)",
    ):
        assert part in said
    assert LIGHT.query in said and LIGHT.key in said and LIGHT.value in said
    assert "infty" not in said


def test_the_mask_is_a_step_of_the_arithmetic():
    said = written_out(Board(is_causal=True), 0, LIGHT)
    assert r"(0.707,\, 0) + M_0 &= (0.707,\, -\infty)" in said
    assert r"(e^{0.707},\, e^{-\infty}) &= (2.028,\, 0)" in said


def test_negative_factors_stand_in_brackets_and_large_powers_are_written_as_powers():
    said = written_out(Board(q=(-3, 9, 0, 0), k=(9, 9, -2, 0)), 0, LIGHT)
    assert r"(-3)\cdot 9 + 9\cdot 9 = 54" in said
    assert r"(-3)\cdot (-2) + 9\cdot 0 = 6" in said
    assert rf"{exp(54 / sqrt(2)):.2e}".split("e")[0] + r"\cdot 10^{16}" in said
