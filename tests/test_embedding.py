"""The embedding table as a space: against torch and numpy's own, by law, by hand."""

import numpy as np
import pytest
import torch

from playground.embedding import lengths, neighbours, plane
from playground.labelled import Axis, LabelledArray

WORDS = tuple(f"word{i}" for i in range(23))


@pytest.fixture
def table() -> LabelledArray:
    values = np.random.default_rng(0).normal(size=(23, 7)).astype(np.float32)
    return LabelledArray("embedding", values, (Axis("vocab", WORDS), Axis("d_model", tuple("0123456"))))


def test_cosines_are_torchs(table):
    found = neighbours(table, ("word3", "word5"), 4)
    rows = torch.tensor(table.values)
    for row, word in enumerate(("word3", "word5")):
        for column, other in enumerate(found.axis("vocab").labels):
            wanted = torch.nn.functional.cosine_similarity(rows[int(word[4:])], rows[int(other[4:])], dim=0)
            assert found.values[row, column] == pytest.approx(float(wanted), abs=1e-6)


def test_the_nearest_of_each_word_are_there_and_a_word_is_not_its_own_neighbour(table):
    found = neighbours(table, ("word3",), 4)
    assert "word3" not in found.axis("vocab").labels
    rows = table.values / np.linalg.norm(table.values, axis=1, keepdims=True)
    cosines = rows @ rows[3]
    wanted = [WORDS[i] for i in np.argsort(-cosines) if i != 3][:4]
    assert list(found.axis("vocab").labels) == wanted


def test_who_is_left_out_is_nobodys_neighbour(table):
    nearest = neighbours(table, ("word3",), 3).axis("vocab").labels
    assert neighbours(table, ("word3",), 2, without=nearest[:1]).axis("vocab").labels == nearest[1:]


def test_a_word_that_repeats_has_one_row(table):
    assert neighbours(table, ("word3", "word5", "word3"), 2).axis("pos").labels == ("word3", "word5")


def test_more_neighbours_than_words_are_refused_with_both_numbers(table):
    with pytest.raises(ValueError, match="23 neighbours of a word, but the table has 23 words"):
        neighbours(table, ("word3",), 23)


def test_the_plane_keeps_what_torchs_principal_components_keep(table):
    points, shares = plane(table)
    rows = torch.tensor(table.values, dtype=torch.float64)
    rows = rows - rows.mean(0)
    _, sizes, right = torch.linalg.svd(rows, full_matrices=False)
    np.testing.assert_allclose(np.abs(points.values), np.abs((rows @ right[:2].T).numpy()), atol=1e-5)
    np.testing.assert_allclose(shares, (sizes[:2] ** 2 / (sizes**2).sum()).numpy())
    assert 1 > shares[0] >= shares[1] > 0
    np.testing.assert_allclose(points.values.mean(axis=0), 0, atol=1e-6)


def test_the_plane_does_not_flip_when_the_table_is_computed_twice(table):
    np.testing.assert_array_equal(plane(table)[0].values, plane(table)[0].values)
    largest = np.abs(plane(table)[0].values).argmax(axis=0)
    assert (plane(table)[0].values[largest, [0, 1]] > 0).all()


def test_lengths_by_hand():
    pos, dims = Axis("pos", ("le", "chat")), Axis("d_model", ("0", "1"))
    one = LabelledArray("a", np.array([[3.0, 4.0], [0.0, 2.0]]), (pos, dims))
    other = LabelledArray("b", np.array([[6.0, 8.0], [0.0, 0.0]]), (pos, dims))
    found = lengths({"first": one, "second": other})
    np.testing.assert_allclose(found.values, [[5, 10], [2, 0]])
    assert (found.axis("pos"), found.axis("part").labels) == (pos, ("first", "second"))
