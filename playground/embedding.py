"""The embedding table as a space: how long its rows are, which words lie near each other, and its flattest view."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from playground.labelled import Axis, LabelledArray


def lengths(parts: Mapping[str, LabelledArray]) -> LabelledArray:
    """Return the Euclidean length of each word's row in several matrices.

    Args:
        parts: `[pos, d_model]` each, of the same words, by what the reader calls them.

    Returns:
        `[pos, part]`, labelled with the words of the last matrix.
    """
    arrays = list(parts.values())
    values = np.stack([np.linalg.norm(a.values.astype(np.float64), axis=-1) for a in arrays], axis=1)
    return LabelledArray("length", values.astype(np.float32), (arrays[-1].axis("pos"), Axis("part", tuple(parts))))


def neighbours(table: LabelledArray, words: Sequence[str], n: int, *, without: Collection[str] = ()) -> LabelledArray:
    """Return the cosine between the rows of some words and those of the words that lie nearest to them.

    Args:
        table: `[vocab, d_model]`.
        words: Words of the table; one that repeats gets one row.
        n: How many neighbours of each word are kept, the word itself not counted.
        without: Words that are nobody's neighbours, such as the padding, whose row no sentence ever looks up.

    Returns:
        `[pos, vocab]`, −1 to 1: a row for each word, a column for each word that is among somebody's nearest, in the
        order in which they are met. A word's own column, if it has one, is 1.

    Raises:
        ValueError: If the table has no `n` other words.
    """
    names = table.axis("vocab").labels
    silent = [names.index(word) for word in without]
    if not 0 < n < len(names) - len(silent):
        raise ValueError(f"{n} neighbours of a word, but the table has {len(names) - len(silent)} words with itself")
    rows = table.values.astype(np.float64)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    asked = tuple(dict.fromkeys(words))
    index = [names.index(word) for word in asked]
    cosine = rows[index] @ rows.T  # [pos, vocab]
    others = cosine.copy()
    others[np.arange(len(index)), index] = -np.inf
    others[:, silent] = -np.inf
    nearest = np.argsort(-others, axis=1, kind="stable")[:, :n]
    kept = list(dict.fromkeys(int(i) for i in nearest.flat))
    axes = (Axis("pos", asked), Axis("vocab", tuple(names[i] for i in kept)))
    return LabelledArray(f"cosine({table.name})", cosine[:, kept].astype(np.float32), axes)


def plane(table: LabelledArray) -> tuple[LabelledArray, tuple[float, float]]:
    """Return the table seen from where it is widest: its rows on the first two principal components.

    Args:
        table: `[vocab, d_model]`.

    Returns:
        `[vocab, component]`, centred, the sign of each component such that its largest value is positive; and the
        share of the rows' variance that each of the two components holds, 0 to 1.
    """
    rows = table.values.astype(np.float64)
    rows = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    points = left[:, :2] * sizes[:2]
    largest = points[np.abs(points).argmax(axis=0), np.arange(2)]
    points = points * np.where(largest < 0, -1.0, 1.0)
    total = float((sizes**2).sum()) or 1.0
    shares = (float(sizes[0] ** 2) / total, float(sizes[1] ** 2) / total)
    axes = (table.axis("vocab"), Axis("component", ("0", "1")))
    return LabelledArray(f"plane({table.name})", points.astype(np.float32), axes), shares


def axes_over(tables: Sequence[LabelledArray]) -> npt.NDArray[np.float64]:
    """Return two directions from which a table is looked at over a whole training, without turning.

    They are the first two principal components of the last table. Which of them comes first, and with what sign, is
    chance, and in a long training they turn; so from the first table to the last each pair is turned within its plane
    to where it is nearest to the one before, and what is returned continues the first.

    Args:
        tables: `[vocab, d_model]` of one model at rising steps, at least one.

    Returns:
        `[d_model, 2]`, columns of length 1 at right angles.

    Source: Schönemann 1966 (the nearest rotation, from a singular value decomposition).
    """
    before: npt.NDArray[np.float64] | None = None
    for table in tables:
        rows = table.values.astype(np.float64)
        pair = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:2].T  # [d_model, 2]
        if pair.shape[1] < 2:  # a table of one column lies on a line
            pair = np.concatenate([pair, np.zeros_like(pair)], axis=1)
        if before is not None:
            left, _, right = np.linalg.svd(pair.T @ before)
            pair = pair @ left @ right
        before = pair
    if before is None:
        raise ValueError("axes over 0 tables; there must be at least one")
    return before


def on_axes(table: LabelledArray, axes: npt.NDArray[np.float64]) -> tuple[LabelledArray, tuple[float, float]]:
    """Return a table's rows along two directions, centred, and the share of their variance that lies along each.

    Args:
        table: `[vocab, d_model]`.
        axes: `[d_model, 2]`, as `axes_over` gives them.

    Returns:
        `[vocab, component]` and two shares, 0 to 1.
    """
    rows = table.values.astype(np.float64)
    rows = rows - rows.mean(axis=0)
    points = rows @ axes
    total = float((rows**2).sum()) or 1.0
    across, up = (points**2).sum(axis=0) / total
    where = (table.axis("vocab"), Axis("component", ("0", "1")))
    return LabelledArray(f"plane({table.name})", points.astype(np.float32), where), (float(across), float(up))
