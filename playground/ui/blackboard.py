"""The tiny example on the screen: its matrices as a chain, and one row's arithmetic in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, isfinite

from playground.blackboard import Board, N
from playground.figures.theme import Role, Theme
from playground.i18n import Translate
from playground.ui.components.matrix import Block, Operand, largest
from playground.ui.steps import LAW

_GIVEN: tuple[tuple[str, Role, str], ...] = (("q", "query", "Q"), ("k", "key", "K"), ("v", "value", "V"))


def chain(board: Board, t: Translate) -> list[Block]:
    """Return Q, K, V → QKᵀ → ÷√2 → mask → softmax → ×V, each linked to its operands; the mask only if it is on.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    stage = t("blackboard.stage.given")
    given = [
        Block(
            board[name],
            id=name,
            title=t(f"one_head.{name}.title"),
            symbol=f"{{{role}:{letter}}}",
            role=role,
            limit=largest(board["q"], board["k"]) if name != "v" else None,
            note=t(f"blackboard.note.{name}"),
            stage=stage,
        )
        for name, role, letter in _GIVEN
    ]
    return [*given, *_comparison(board, t), _mixture(board, t)]


def written_out(board: Board, row: int, theme: Theme) -> str:
    """Return the arithmetic of one query in KaTeX, a line a step, symbols in the colours of the picture.

    Args:
        board: The numbers.
        row: Which query.
        theme: Colours.
    """
    return r"\begin{aligned}" + r"\\[4pt]".join(_steps(board, row, theme)) + r"\end{aligned}"


def _steps(board: Board, row: int, theme: Theme) -> Iterator[str]:
    q, k, v = (board[name].values for name in ("q", "k", "v"))
    raw, scores, masked = (board[name].values[row] for name in ("raw_scores", "scores", "masked_scores"))
    weights, z = board["weights"].values[row], board["z"].values[row]
    asks = _coloured("q", row, theme.query)
    for col in range(N):
        products = " + ".join(rf"{_factor(a)}\cdot {_factor(b)}" for a, b in zip(q[row], k[col], strict=True))
        yield rf"{asks}\cdot {_coloured('k', col, theme.key)} &= {products} = {_brief(raw[col])}"
    yield rf"{_vector(raw)} \div \sqrt{{2}} &= {_vector(scores)}"
    if board.is_causal:
        yield rf"{_vector(scores)} + M_{row} &= {_vector(masked)}"
    powers = [exp(score) if isfinite(score) else 0.0 for score in masked]
    shown = ",\\, ".join(f"e^{{{_brief(score)}}}" for score in masked)
    yield rf"({shown}) &= {_vector(powers)}"
    yield rf"{' + '.join(map(_brief, powers))} &= {_brief(sum(powers))}"
    yield rf"{_vector(powers)} \div {_brief(sum(powers))} &= {_vector(weights)}"
    mixed = " + ".join(
        rf"{_brief(weight)}\,\textcolor{{{theme.value}}}{{{_vector(value)}}}"
        for weight, value in zip(weights, v, strict=True)
    )
    yield rf"{mixed} &= {_vector(z)}"


def _comparison(board: Board, t: Translate) -> list[Block]:
    stage, limit = t("blackboard.stage.compare"), largest(board["raw_scores"])
    hidden = board.hidden if board.is_causal else None
    law = "{query:Q} {key:K}^T / √d_k"
    mask = t("one_head.masked_scores.symbol")
    before = "masked_scores" if board.is_causal else "scores"
    blocks = [
        Block(
            board["raw_scores"],
            id="raw_scores",
            title=t("one_head.raw_scores.title"),
            symbol="{query:Q}{key:K}^T",
            formula="{query:Q} {key:K}^T",
            limit=limit,
            operands=(Operand("q", row="row"), Operand("k", row="col")),
            note=t("blackboard.note.raw_scores"),
            stage=stage,
        ),
        Block(
            board["scores"],
            id="scores",
            title=t("one_head.scores.title"),
            symbol="÷ √d_k",
            formula=law,
            limit=limit,
            operands=(Operand("raw_scores", row="row", col="col"),),
            via="÷ √2",
            note=t("blackboard.note.scores"),
            stage=stage,
        ),
        Block(
            board["masked_scores"],
            id="masked_scores",
            title=t("one_head.masked_scores.title"),
            symbol=mask,
            formula=f"{law} + {mask}",
            limit=limit,
            hidden=hidden,
            operands=(Operand("scores", row="row", col="col"),),
            via=mask,
            note=t("blackboard.note.masked_scores"),
            stage=stage,
        ),
        Block(
            board["weights"],
            id="weights",
            title=t("one_head.weights.title"),
            symbol="softmax",
            formula=LAW,
            role="weights",
            scale="weights",
            hidden=hidden,
            operands=(Operand(before, row="row"),),
            via="softmax",
            note=t("blackboard.note.weights"),
            stage=stage,
        ),
    ]
    return [block for block in blocks if block.id != "masked_scores" or board.is_causal]


def _mixture(board: Board, t: Translate) -> Block:
    return Block(
        board["z"],
        id="z",
        title=t("one_head.z.title"),
        symbol="× {value:V}",
        formula=LAW + " {value:V}",
        role="value",
        limit=largest(board["v"]),
        operands=(Operand("weights", row="row"), Operand("v", col="col")),
        note=t("blackboard.note.z"),
        stage=t("blackboard.stage.mix"),
    )


def _coloured(letter: str, index: int, colour: str) -> str:
    return rf"\textcolor{{{colour}}}{{{letter}_{index}}}"


def _factor(value: float) -> str:
    return f"({_brief(value)})" if value < 0 else _brief(value)


def _vector(values: Sequence[float]) -> str:
    return "(" + r",\, ".join(map(_brief, values)) + ")"


def _brief(value: float) -> str:
    """Return a number in KaTeX: whole ones as they are, others with three significant digits, none with an e."""
    if not isfinite(value):
        return r"-\infty" if value < 0 else r"\infty"
    if value == round(value):
        return f"{value:.0f}" if abs(value) < 1e5 else _power(value)
    if abs(value) >= 1e5 or abs(value) < 5e-4:
        return _power(value)
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _power(value: float) -> str:
    digits, exponent = f"{value:.2e}".split("e")
    return rf"{digits}\cdot 10^{{{int(exponent)}}}"
