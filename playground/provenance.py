"""Where a number comes from: its formula with its own values, the line of model code, and an independent recomputation.

`explain(model, reading, "decoder.1.cross_attn.weights", head=1, query=2, key=3)` takes one cell of a forward pass
apart. The operands are read from the same pass and from the model's weights; the result is computed again from them, in
float64 and without the model's code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import models
from models import LayerNorm, Transformer, alibi_slopes
from playground.labelled import Axis, LabelledArray
from playground.reading import Reading

Vector = npt.NDArray[np.float64]

SOURCES = Path(models.__file__).parent

# The largest probabilities that are shown of a softmax over a whole vocabulary; the sum is over all.
MOST_WORDS = 12


@dataclass(frozen=True)
class Line:
    """A line of the model's code.

    Attributes:
        file: Path from the project's folder.
        number: Counted from 1.
        text: The line, without its indentation.
    """

    file: str
    number: int
    text: str


@dataclass(frozen=True, eq=False)
class Origin:
    """One number taken apart.

    Attributes:
        name: The tensor's name.
        at: Position on each axis.
        value: The number in the pass.
        recomputed: The same from its operands, in float64.
        formula: How it is made, in symbols; `{role:…}` colours as in the matrices.
        table: The operands, a row each, and what is done to them place by place; None where there is one operand.
        steps: What then happens, in numbers, a line each.
        shapes: Name and shape of each operand and of the result.
        line: The line of model code that made it.
        hidden: Why the cell is hidden by a mask, or empty.
    """

    name: str
    at: Mapping[str, int]
    value: float
    recomputed: float
    formula: str
    table: LabelledArray | None
    steps: tuple[str, ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    line: Line
    hidden: str = ""

    @property
    def difference(self) -> float:
        """How far the pass and the recomputation lie apart; 0 for a hidden cell that both hide."""
        return 0.0 if self.value == self.recomputed else abs(self.value - self.recomputed)


def explain(model: Transformer, reading: Reading, name: str, **at: int) -> Origin:
    """Take one number of a pass apart.

    Args:
        model: The model that made the pass.
        reading: The pass.
        name: The tensor's full name.
        at: A position on each of its axes.

    Raises:
        KeyError: If the pass has no such tensor, or nobody knows how such a tensor is made.
        ValueError: If an axis has no position.
        IndexError: If a position is outside its axis.
    """
    array = reading[name]
    if missing := [axis.name for axis in array.axes if axis.name not in at]:
        raise ValueError(f"a cell of {name} needs a position on {missing}")
    last = name.rsplit(".", 1)[-1]
    if last not in RULES:
        raise KeyError(f"no rule for {last!r}; there are rules for {sorted(RULES)}")
    value = float(array.select(**{axis.name: at[axis.name] for axis in array.axes}).values)
    return RULES[last](_Cell(model, reading, name, dict(at), value))


def can_explain(name: str) -> bool:
    """Say whether there is a rule for the tensor called `name`."""
    return name.rsplit(".", 1)[-1] in RULES


@dataclass(frozen=True, eq=False)
class _Cell:
    """A number, and what stands around it."""

    model: Transformer
    reading: Reading
    name: str
    at: Mapping[str, int]
    value: float

    @property
    def last(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    @property
    def stack(self) -> str:
        return self.name.split(".")[0]

    @property
    def index(self) -> int:
        return int(self.name.split(".")[1])

    @property
    def part(self) -> str:
        return self.name.split(".")[2]

    @property
    def is_pre(self) -> bool:
        return self.model.config.norm_placement == "pre"

    @property
    def row(self) -> int:
        """The word that the cell belongs to."""
        return next(self.at[axis] for axis in ("query", "pos", "key") if axis in self.at)

    @property
    def layer(self) -> Any:
        tower: Any = self.model.encoder if self.stack == "encoder" else self.model.decoder
        return tower.layers[self.index]

    def near(self, last: str) -> str:
        """Return the name of another tensor of the same sublayer."""
        return f"{self.name.rsplit('.', 1)[0]}.{last}"

    def of_layer(self, last: str) -> str:
        """Return the name of a tensor of the same layer."""
        return f"{self.stack}.{self.index}.{last}"

    def numbers(self, name: str, **at: int) -> Vector:
        """Return part of another tensor, in float64."""
        return np.asarray(self.reading[name].select(**at).values, dtype=np.float64)

    def labels(self, name: str, axis: str) -> tuple[str, ...]:
        return self.reading[name].axis(axis).labels

    def shape(self, *names: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple((name, self.reading[name].shape) for name in (*names, self.name))

    def made(
        self,
        formula: str,
        recomputed: float,
        *,
        code: str,
        file: str = "attention.py",
        table: LabelledArray | None = None,
        steps: tuple[str, ...] = (),
        operands: tuple[str, ...] = (),
        weights: tuple[tuple[str, tuple[int, ...]], ...] = (),
        hidden: str = "",
    ) -> Origin:
        """Return the origin of this cell."""
        shapes = (*weights, *self.shape(*operands))
        line = code_line(file, code)
        return Origin(self.name, self.at, self.value, recomputed, formula, table, steps, shapes, line, hidden)

    def copied(self, other: str, *, code: str, file: str, **at: int) -> Origin:
        """Return the origin of a number that is another tensor's, unchanged."""
        value = float(self.numbers(other, **at))
        steps = (f"{other} = {_text(value)}",)
        return self.made(other, value, code=code, file=file, steps=steps, operands=(other,))


@cache
def code_line(file: str, code: str, after: str = "") -> Line:
    """Find a line of the model's code by how it begins.

    Args:
        file: Name in `models/`.
        code: How the line begins, without its indentation.
        after: How a line above it begins, where `code` alone would not do.

    Raises:
        LookupError: If it is not there, or more than once without `after`.
    """
    lines = [line.strip() for line in (SOURCES / file).read_text(encoding="utf-8").splitlines()]
    start = next((number for number, line in enumerate(lines) if line.startswith(after)), len(lines))
    found = [number for number, line in enumerate(lines) if number >= start and line.startswith(code)]
    if not found or (len(found) > 1 and not after):
        raise LookupError(f"models/{file} has {len(found)} lines that begin with {code!r}")
    return Line(f"models/{file}", found[0] + 1, lines[found[0]])


# ── What is done over and over ───────────────────────────────────────────────────────────────────────────────────


def _text(value: float) -> str:
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    return f"{value:.6g}".replace("-", "−")


def _tidy(sum_: str) -> str:
    """Write a sum with a negative number as a difference, and the other way round."""
    return sum_.replace("− −", "+ ").replace("+ −", "− ")


def _plain(tensor: torch.Tensor) -> Vector:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def _table(axis: Axis, rows: Mapping[str, Vector]) -> LabelledArray:
    values = np.stack(list(rows.values())).astype(np.float32)
    return LabelledArray("operands", values, (Axis("operand", tuple(rows)), axis))


def _numbered(name: str, n: int) -> Axis:
    return Axis(name, tuple(str(i) for i in range(n)))


def _dot(
    one: tuple[str, Vector], other: tuple[str, Vector], axis: Axis, bias: tuple[str, float] | None = None
) -> tuple[LabelledArray, float, tuple[str, ...]]:
    """Return the products of two rows, their sum with a bias, and the sum in words."""
    products = one[1] * other[1]
    total = float(products.sum())
    steps = [f"Σ = {_text(total)}"]
    if bias is not None:
        steps.append(f"{_text(total)} + {bias[0]} {_text(bias[1])} = {_text(total + bias[1])}")
        total += bias[1]
    table = _table(axis, {one[0]: one[1], other[0]: other[1], f"{one[0]} × {other[0]}": products})
    return table, total, tuple(steps)


def _softmax(scores: Vector, place: int) -> tuple[Vector, float, tuple[str, ...]]:
    """Return exp(score − largest) of each, the share of one, and how it comes about; all 0 if all is hidden."""
    if np.isneginf(scores).all():
        return np.zeros_like(scores), 0.0, ("Σ = 0",)
    top = float(scores.max())
    raised = np.exp(scores - top)
    total = float(raised.sum())
    share = float(raised[place]) / total
    steps = (
        f"exp({_text(float(scores[place]))} − {_text(top)}) = {_text(float(raised[place]))}".replace("− −", "+ "),
        f"Σ exp = {_text(total)}",
        f"{_text(float(raised[place]))} / {_text(total)} = {_text(share)}",
    )
    return raised, share, steps


def _normed(cell: _Cell, norm: Any, source: str) -> Origin:
    """Return the origin of a number that a norm made of a row of `source`."""
    x = cell.numbers(source, pos=cell.row)
    place = cell.at["d_model"]
    gain = _plain(norm.gain)
    axis = _numbered("d_model", len(x))
    g, here = _text(float(gain[place])), _text(float(x[place]))
    steps: tuple[str, ...]
    if isinstance(norm, LayerNorm):
        mean, variance = float(x.mean()), float(x.var())
        bias = _plain(norm.bias)
        size = math.sqrt(variance + norm.eps)
        plain = (x - mean) / size
        made = plain * gain + bias
        table = _table(axis, {"x": x, "(x − μ) / σ": plain, "γ": gain, "β": bias, "y": made})
        share = _text(float(plain[place]))
        steps = (
            f"μ = {_text(mean)},  σ = √({_text(variance)} + {norm.eps:g}) = {_text(size)}",
            _tidy(f"({here} − {_text(mean)}) / {_text(size)} = {share}"),
            _tidy(f"{share} · γ {g} + β {_text(float(bias[place]))} = {_text(float(made[place]))}"),
        )
        formula = "({residual:x} − μ) / √(σ^2 + ε) · γ + β"
        code = "return F.layer_norm("
    else:
        size = math.sqrt(float((x**2).mean()) + norm.eps)
        made = x / size * gain
        table = _table(axis, {"x": x, "x / r": x / size, "γ": gain, "y": made})
        steps = (
            f"r = √(mean(x²) + {norm.eps:g}) = {_text(size)}",
            f"{here} / {_text(size)} · γ {g} = {_text(float(made[place]))}",
        )
        formula = "{residual:x} / √(mean({residual:x}^2) + ε) · γ"
        code = "return F.rms_norm("
    value = float(made[place])
    return cell.made(formula, value, code=code, file="norms.py", table=table, steps=steps, operands=(source,))


def _summed(cell: _Cell, names: tuple[str, ...], *, code: str, file: str) -> Origin:
    """Return the origin of a number that is the sum of the same places of other tensors."""
    values = [float(cell.numbers(name, pos=cell.row, d_model=cell.at["d_model"])) for name in names]
    total = sum(values)
    steps = (" + ".join(map(_text, values)).replace("+ −", "− ") + f" = {_text(total)}",)
    return cell.made(" + ".join(names), total, code=code, file=file, steps=steps, operands=names)


# ── Rules: one a tensor ──────────────────────────────────────────────────────────────────────────────────────────


def _projected(cell: _Cell) -> Origin:
    """Return a query, key or value: a row of what is read times a column of the head's matrix."""
    letter = cell.last[0]
    which = "qkv".index(letter)
    attention = getattr(cell.layer, cell.part)
    head = cell.at["head" if letter == "q" else "kv_head"]
    column = cell.at["d_head"]
    if cell.last in ("q", "k") and cell.near(f"{letter}_unrotated") in cell.reading:
        return _turned(cell, letter)
    crossing = cell.part == "cross_attn" and letter != "q"
    source = cell.near("memory" if crossing else "input")
    row = cell.at["query" if letter == "q" else "key"]
    x = cell.numbers(source, pos=row)
    matrix = _plain((attention.W_Q, attention.W_K, attention.W_V)[which][head])
    bias = None
    if attention.b_QKV is not None:
        part = attention.b_QKV.split(attention.widths)[which]
        bias = (f"b_{letter.upper()}", float(_plain(part).reshape(-1, matrix.shape[1])[head, column]))
    role, source_letter = {"q": "query", "k": "key", "v": "value"}[letter], "M" if crossing else "X"
    symbol = f"W_{letter.upper()}"
    table, value, steps = _dot((source_letter, x), (symbol, matrix[:, column]), _numbered("d_model", len(x)), bias)
    if cell.part == "self_attn":
        code = "qkv = F.linear(x, self.W_QKV.T, self.b_QKV)"
    else:
        code = "k, v = self.split_heads(F.linear(memory" if crossing else "(q,) = self.split_heads(F.linear(x"
    return cell.made(
        f"{{{'memory' if crossing else 'residual'}:{source_letter}}} {{{role}:W}}^{letter.upper()}"
        + (f" + {{{role}:b}}^{letter.upper()}" if bias else ""),
        value,
        code=code,
        table=table,
        steps=steps,
        operands=(source,),
        weights=((symbol, matrix.shape),),
    )


def _turned(cell: _Cell, letter: str) -> Origin:
    """Return a query's or key's number after its pair was turned by its position."""
    plain = cell.near(f"{letter}_unrotated")
    position = "query" if letter == "q" else "key"
    heads = {"head": cell.at["head"]} if letter == "q" else {"kv_head": cell.at["kv_head"]}
    row, column = cell.at[position], cell.at["d_head"]
    x = cell.numbers(plain, **heads, **{position: row})
    half = len(x) // 2
    pair = column % half
    angle = row * cell.model.config.rope_theta ** (-2 * pair / len(x))
    first, second = float(x[pair]), float(x[pair + half])
    cos, sin = math.cos(angle), math.sin(angle)
    value = first * cos - second * sin if column < half else second * cos + first * sin
    law = "x_i cos − x_j sin" if column < half else "x_j cos + x_i sin"
    steps = (
        f"φ = {row} · {cell.model.config.rope_theta:g}^(−{2 * pair}/{len(x)}) = {_text(angle)}",
        f"x_i = {_text(first)},  x_j = {_text(second)},  cos φ = {_text(cos)},  sin φ = {_text(sin)}",
        f"{law} = {_text(value)}",
    )
    return cell.made(
        law + ",  j = i + d_head/2",
        value,
        code="return torch.cat([first * cos",
        file="positions.py",
        steps=steps,
        operands=(plain,),
    )


def _kv_head(cell: _Cell) -> int:
    shared = cell.model.config.n_heads // len(cell.reading[cell.near("k")].axis("kv_head"))
    return cell.at["head"] // shared


def _raw_scores(cell: _Cell) -> Origin:
    q = cell.numbers(cell.near("q"), head=cell.at["head"], query=cell.at["query"])
    k = cell.numbers(cell.near("k"), kv_head=_kv_head(cell), key=cell.at["key"])
    table, value, steps = _dot(("q", q), ("k", k), _numbered("d_head", len(q)))
    return cell.made(
        "{query:q} · {key:k}",
        value,
        code='raw_scores = tap("raw_scores"',
        table=table,
        steps=steps,
        operands=(cell.near("q"), cell.near("k")),
    )


def _bias(cell: _Cell) -> Origin:
    slope = float(alibi_slopes(cell.model.config.n_heads)[cell.at["head"]])
    distance = abs(cell.at["query"] - cell.at["key"])
    value = -slope * distance
    steps = (f"−{_text(slope)} · |{cell.at['query']} − {cell.at['key']}| = {_text(value)}",)
    return cell.made(
        "−m |i − j|", value, code="return -self.slopes[:, None, None] * distance", file="positions.py", steps=steps
    )


def _scores(cell: _Cell) -> Origin:
    raw = float(cell.numbers(cell.near("raw_scores"), **cell.at))
    d_head = cell.model.config.d_head
    operands = [cell.near("raw_scores")]
    root = math.sqrt(d_head) if cell.model.config.scale_scores else 1.0
    value = raw / root
    steps = [f"{_text(raw)} / √{d_head} = {_text(value)}" if cell.model.config.scale_scores else f"{_text(raw)} / 1"]
    if cell.near("bias") in cell.reading:
        bias = float(cell.numbers(cell.near("bias"), **cell.at))
        steps.append(f"{_text(value)} + {_text(bias)} = {_text(value + bias)}".replace("+ −", "− "))
        operands.append(cell.near("bias"))
        value += bias
    formula = "{query:q} · {key:k}" + (" / √d_k" if cell.model.config.scale_scores else "")
    return cell.made(
        formula + (" + b" if len(operands) > 1 else ""),
        value,
        code="scaled = raw_scores *",
        steps=tuple(steps),
        operands=tuple(operands),
    )


def _masked_scores(cell: _Cell) -> Origin:
    hidden = str(cell.reading.hidden(cell.name.rsplit(".", 1)[0])[cell.at["query"], cell.at["key"]])
    score = float(cell.numbers(cell.near("scores"), **cell.at))
    value = -math.inf if hidden else score
    return cell.made(
        "−∞" if hidden else cell.near("scores"),
        value,
        code='masked_scores = tap("masked_scores"',
        steps=(f"{_text(score)} → {_text(value)}",),
        operands=(cell.near("scores"), cell.near("mask")),
        hidden=hidden,
    )


def _weights(cell: _Cell) -> Origin:
    scores = cell.numbers(cell.near("masked_scores"), head=cell.at["head"], query=cell.at["query"])
    raised, value, steps = _softmax(scores, cell.at["key"])
    axis = Axis("key", cell.labels(cell.name, "key"))
    # A hidden key has no score to draw; its share is 0 all the same.
    shown = np.where(np.isneginf(scores), np.nan, scores)
    shares = raised / raised.sum() if raised.sum() > 0 else raised
    table = _table(axis, {"s": shown, "exp(s − max)": raised, "softmax": shares})
    hidden = str(cell.reading.hidden(cell.name.rsplit(".", 1)[0])[cell.at["query"], cell.at["key"]])
    return cell.made(
        "exp(s_j) / Σ_k exp(s_k)",
        value,
        code='weights = tap("weights"',
        table=table,
        steps=steps,
        operands=(cell.near("masked_scores"),),
        hidden=hidden,
    )


def _z(cell: _Cell) -> Origin:
    weights = cell.numbers(cell.near("weights"), head=cell.at["head"], query=cell.at["query"])
    v = cell.numbers(cell.near("v"), kv_head=_kv_head(cell), d_head=cell.at["d_head"])
    axis = Axis("key", cell.labels(cell.near("weights"), "key"))
    table, value, steps = _dot(("a", weights), ("v", v), axis)
    return cell.made(
        "{weights:a} · {value:v}",
        value,
        code='return tap("z", weights @ v)',
        table=table,
        steps=steps,
        operands=(cell.near("weights"), cell.near("v")),
    )


def _concat(cell: _Cell) -> Origin:
    head, place = divmod(cell.at["d_model"], cell.model.config.d_head)
    code = 'concat = tap("concat"'
    return cell.copied(cell.near("z"), code=code, file="attention.py", head=head, query=cell.row, d_head=place)


def _out(cell: _Cell) -> Origin:
    if cell.last == "out" and cell.near("expert_out") in cell.reading:
        return _mixed(cell)
    asked = {"expert": cell.at["expert"]} if cell.last == "expert_out" else {}
    if cell.part == "ffn":
        ffn = _network(cell)
        hidden = cell.near("expert_hidden" if asked else "hidden")
        source, matrix, bias, file = hidden, ffn.W_2, ffn.b_2, "feed_forward.py"
        names, axis, formula = ("h", "W_2", "b_2"), "d_ff", "{plain:h} W_2"
        code = "return F.linear(hidden"
    else:
        attention = getattr(cell.layer, cell.part)
        source, matrix, bias, file = cell.near("concat"), attention.W_O, attention.b_O, "attention.py"
        names, axis, formula = ("concat", "W_O", "b_O"), "d_model", "{value:concat} {residual:W}^O"
        code = 'return tap("out", F.linear(concat'
    if asked and not _is_asked(cell):
        return _unasked(cell)
    x, column = cell.numbers(source, pos=cell.row, **asked), cell.at["d_model"]
    added = None if bias is None else (names[2], float(_plain(bias)[column]))
    table, value, steps = _dot((names[0], x), (names[1], _plain(matrix)[:, column]), _numbered(axis, len(x)), added)
    return cell.made(
        formula + ("" if added is None else f" + {names[2]}"),
        value,
        code=code,
        file=file,
        table=table,
        steps=steps,
        operands=(source,),
        weights=((names[1], tuple(matrix.shape)),),
    )


def _network(cell: _Cell) -> Any:
    """Return the feed-forward network that made a number: the layer's, or the expert's whose number it is."""
    return [*cell.layer.ffn][cell.at["expert"]] if "expert" in cell.at else cell.layer.ffn


def _is_asked(cell: _Cell) -> bool:
    return bool(cell.numbers(cell.near("expert"), pos=cell.row, expert=cell.at["expert"]))


def _unasked(cell: _Cell) -> Origin:
    """Return the origin of a 0 of an expert that the router did not choose."""
    chosen = cell.near("expert")
    steps = (f"{chosen} = 0",)
    return cell.made("0", 0.0, code="rest = ~expert.transpose", file="feed_forward.py", steps=steps, operands=(chosen,))


def _shares(cell: _Cell) -> Vector:
    """Return the share of each expert in what is said at a position."""
    router = cell.numbers(cell.near("router"), pos=cell.row)
    share = router * cell.numbers(cell.near("expert"), pos=cell.row)
    return share if cell.model.config.n_active == 1 else share / share.sum()


def _mixed(cell: _Cell) -> Origin:
    """Return the origin of a number that several experts make together."""
    said = cell.numbers(cell.near("expert_out"), pos=cell.row, d_model=cell.at["d_model"])
    table, value, steps = _dot(("g", _shares(cell)), ("FFN_e", said), _numbered("expert", len(said)))
    return cell.made(
        "Σ_e g_e {plain:FFN_e}",
        value,
        code='return tap("out", self._watched(',
        file="feed_forward.py",
        table=table,
        steps=steps,
        operands=(cell.near("router"), cell.near("expert"), cell.near("expert_out")),
    )


def _router(cell: _Cell) -> Origin:
    """Return the origin of an expert's probability."""
    source = cell.near("input")
    x, matrix = cell.numbers(source, pos=cell.row), _plain(cell.layer.ffn.W_router)
    scores = x @ matrix
    raised, value, steps = _softmax(scores, cell.at["expert"])
    rows = {"x W": scores, "exp(s − max)": raised, "softmax": raised / raised.sum()}
    return cell.made(
        "softmax({residual:x} W_router)_e",
        value,
        code='router = tap("router"',
        file="feed_forward.py",
        table=_table(_numbered("expert", len(scores)), rows),
        steps=steps,
        operands=(source,),
        weights=(("W_router", tuple(matrix.shape)),),
    )


def _expert(cell: _Cell) -> Origin:
    """Return why an expert is chosen, or not: its place among the probabilities."""
    router = cell.numbers(cell.near("router"), pos=cell.row)
    place = [int(i) for i in np.argsort(-router, kind="stable")].index(cell.at["expert"]) + 1
    n_active = cell.model.config.n_active
    value = float(place <= n_active)
    return cell.made(
        "rank(p_e) ≤ n_active",
        value,
        code='expert = tap("expert"',
        file="feed_forward.py",
        table=_table(_numbered("expert", len(router)), {"p": router}),
        steps=(f"{place} ≤ {n_active}: {value:.0f}",),
        operands=(cell.near("router"),),
    )


def _before(cell: _Cell) -> str:
    """Return the place of the residual stream that a sublayer reads and is added to."""
    if cell.part == "self_attn":
        return cell.of_layer("resid_pre")
    crossed = cell.of_layer("resid_mid_cross")
    return crossed if cell.part == "ffn" and crossed in cell.reading else cell.of_layer("resid_mid")


def _input(cell: _Cell) -> Origin:
    place = {"pos": cell.row, "d_model": cell.at["d_model"]}
    if cell.is_pre:
        return _normed(cell, getattr(cell.layer, f"{cell.part}_join").norm, _before(cell))
    return cell.copied(_before(cell), code='return tap("input", x)', file="layers.py", **place)


def _added(cell: _Cell) -> Origin:
    code = 'return tap("added"' if cell.is_pre else 'return self.norm(tap("added"'
    if not cell.model.config.residual:
        place = {"pos": cell.row, "d_model": cell.at["d_model"]}
        return cell.copied(cell.near("out"), code=code, file="layers.py", **place)
    return _summed(cell, (_before(cell), cell.near("out")), code=code, file="layers.py")


def _resid(cell: _Cell) -> Origin:
    part = {"resid_mid": "self_attn", "resid_mid_cross": "cross_attn", "resid_post": "ffn"}[cell.last]
    added = cell.of_layer(f"{part}.added")
    if cell.is_pre:
        place = {"pos": cell.row, "d_model": cell.at["d_model"]}
        return cell.copied(added, code='return tap("added"', file="layers.py", **place)
    return _normed(cell, getattr(cell.layer, f"{part}_join").norm, added)


def _hidden(cell: _Cell) -> Origin:
    if cell.last == "expert_hidden" and not _is_asked(cell):
        return _unasked(cell)
    ffn = _network(cell)
    source, unit = cell.near("input"), cell.at["d_ff"]
    x = cell.numbers(source, pos=cell.row)
    matrix = _plain(ffn.W_1)
    axis = _numbered("d_model", len(x))
    bias = None if ffn.b_1 is None else _plain(ffn.b_1)

    def before(column: int) -> tuple[LabelledArray, float, tuple[str, ...]]:
        added = None if bias is None else ("b_1", float(bias[column]))
        return _dot(("x", x), ("W_1", matrix[:, column]), axis, added)

    kind = cell.model.config.activation
    table, total, steps = before(unit)
    if kind == "swiglu":
        # Gates are the first half of the columns, values the second.
        _, other, _ = before(unit + cell.model.config.d_ff)
        value = total / (1 + math.exp(-total)) * other
        steps = (*steps, f"SiLU({_text(total)}) · {_text(other)} = {_text(value)}")
        formula = "SiLU({residual:x} W_gate) · ({residual:x} W_value)"
    elif kind == "relu":
        value = max(0.0, total)
        steps = (*steps, f"max(0, {_text(total)}) = {_text(value)}")
        formula = "max(0, {residual:x} W_1" + (" + b_1)" if bias is not None else ")")
    else:
        value = _gelu(total, is_tanh=kind == "gelu_tanh")
        steps = (*steps, f"GELU({_text(total)}) = {_text(value)}")
        formula = "GELU({residual:x} W_1" + (" + b_1)" if bias is not None else ")")
    return cell.made(
        formula,
        value,
        code="return self.activation.function(",
        file="feed_forward.py",
        table=table,
        steps=steps,
        operands=(source,),
        weights=(("W_1", matrix.shape),),
    )


def _gelu(x: float, *, is_tanh: bool) -> float:
    if is_tanh:
        return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def _resid_pre(cell: _Cell) -> Origin:
    place = {"pos": cell.row, "d_model": cell.at["d_model"]}
    if cell.index > 0:
        below = f"{cell.stack}.{cell.index - 1}.resid_post"
        return cell.copied(
            below,
            code="x = layer(x, view, tap" if cell.stack == "encoder" else "x = layer(x, *context",
            file="transformer.py",
            **place,
        )
    if f"{cell.stack}.embed_norm" in cell.reading:
        return cell.copied(
            f"{cell.stack}.embed_norm", code="return self.dropout(stack.embed_norm", file="transformer.py", **place
        )
    return _entered(cell)


def _entered(cell: _Cell) -> Origin:
    """Return the sum of embedding and position."""
    names = tuple(name for name in (f"{cell.stack}.embed", f"{cell.stack}.pos_embed") if name in cell.reading)
    return _summed(cell, names, code="x = self.positions.add(x, where, tap)", file="transformer.py")


def _embed_norm(cell: _Cell) -> Origin:
    """Return a number of the norm at the entrance, whose operand is itself a sum."""
    names = [name for name in (f"{cell.stack}.embed", f"{cell.stack}.pos_embed") if name in cell.reading]
    x = np.sum([cell.numbers(name, pos=cell.row) for name in names], axis=0)
    tower: Any = cell.model.encoder if cell.stack == "encoder" else cell.model.decoder
    norm = tower.embed_norm.norm if hasattr(tower.embed_norm, "norm") else tower.embed_norm
    place = cell.at["d_model"]
    gain = _plain(norm.gain)
    if isinstance(norm, LayerNorm):
        value = float((x[place] - x.mean()) / math.sqrt(x.var() + norm.eps) * gain[place] + _plain(norm.bias)[place])
    else:
        value = float(x[place] / math.sqrt((x**2).mean() + norm.eps) * gain[place])
    steps = (f"norm({_text(float(x[place]))}) = {_text(value)}",)
    code = "return F.layer_norm(" if isinstance(norm, LayerNorm) else "return F.rms_norm("
    return cell.made(
        "norm(" + " + ".join(names) + ")", value, code=code, file="norms.py", steps=steps, operands=tuple(names)
    )


def _embed(cell: _Cell) -> Origin:
    word = cell.labels(cell.name, "pos")[cell.row]
    token = cell.reading.vocabulary.index(word)
    own = cell.model.tgt_embedding if cell.stack == "decoder" else None
    table = cell.model.embedding if own is None else own
    weight = float(_plain(table)[token, cell.at["d_model"]])
    factor = math.sqrt(cell.model.config.d_model) if cell.model.config.embed_scale else 1.0
    value = weight * factor
    root = f"√{cell.model.config.d_model}" if cell.model.config.embed_scale else "1"
    return cell.made(
        "E[id] · √d_model" if cell.model.config.embed_scale else "E[id]",
        value,
        code='x = tap("embed"',
        file="transformer.py",
        steps=(f"E[{token}, {cell.at['d_model']}] = {_text(weight)}", f"{_text(weight)} · {root} = {_text(value)}"),
        weights=(("E", tuple(table.shape)),),
    )


def _pos_embed(cell: _Cell) -> Origin:
    config, position, place = cell.model.config, cell.row, cell.at["d_model"]
    if config.positions == "learned":
        positions: Any = cell.model.positions
        value = float(_plain(positions.table)[position, place])
        steps: tuple[str, ...] = (f"P[{position}, {place}] = {_text(value)}",)
        formula = "P[pos]"
    else:
        wave = place - place % 2
        angle = position / 10000 ** (wave / config.d_model)
        value = math.cos(angle) if place % 2 else math.sin(angle)
        function = "cos" if place % 2 else "sin"
        steps = (
            f"{position} / 10000^({wave}/{config.d_model}) = {_text(angle)}",
            f"{function} {_text(angle)} = {_text(value)}",
        )
        formula = f"{function}(pos / 10000^(2i/d_model))"
    after = "class Learned" if config.positions == "learned" else "class Sinusoidal"
    line = code_line("positions.py", "return x + tap(", after)
    return Origin(cell.name, cell.at, cell.value, value, formula, None, steps, cell.shape(), line)


def _memory(cell: _Cell) -> Origin:
    place = {"pos": cell.row, "d_model": cell.at["d_model"]}
    if "." in cell.name:
        return cell.copied("memory", code='memory = tap("memory"', file="attention.py", **place)
    final = "encoder.final_norm"
    other = final if final in cell.reading else f"encoder.{cell.model.config.n_layers - 1}.resid_post"
    return cell.copied(other, code='return tap("memory"', file="transformer.py", **place)


def _final_norm(cell: _Cell) -> Origin:
    tower: Any = cell.model.encoder if cell.stack == "encoder" else cell.model.decoder
    norm = tower.final_norm.norm if hasattr(tower.final_norm, "norm") else tower.final_norm
    return _normed(cell, norm, f"{cell.stack}.{cell.model.config.n_layers - 1}.resid_post")


def _last(cell: _Cell) -> str:
    """Return the tensor that the logits are made from."""
    if cell.model.decoder is None:
        return "memory"
    final = "decoder.final_norm"
    return final if final in cell.reading else f"decoder.{cell.model.config.n_layers - 1}.resid_post"


def _logits(cell: _Cell) -> Origin:
    model = cell.model
    matrix = model.embedding if model.unembedding is None else model.unembedding
    letter = "E" if model.unembedding is None else "U"
    token = cell.at["vocab"]
    x = cell.numbers(_last(cell), pos=cell.row)
    bias = None if model.unembed_bias is None else ("b", float(_plain(model.unembed_bias)[token]))
    row = f"{letter}[{token}]"
    table, value, steps = _dot(("x", x), (row, _plain(matrix)[token]), _numbered("d_model", len(x)), bias)
    return cell.made(
        f"{{residual:x}} · {row}",
        value,
        code='logits = tap("logits"',
        file="transformer.py",
        table=table,
        steps=steps,
        operands=(_last(cell),),
        weights=((letter, tuple(matrix.shape)),),
    )


def _probs(cell: _Cell) -> Origin:
    logits = cell.numbers("logits", pos=cell.row)
    raised, value, steps = _softmax(logits, cell.at["vocab"])
    # The chosen word, and the likeliest; the sum in the steps is over all.
    best = [int(i) for i in np.argsort(-logits, kind="stable")[:MOST_WORDS]]
    shown = sorted({*best, cell.at["vocab"]}, key=lambda i: -logits[i])
    words = cell.labels("logits", "vocab")
    axis = Axis("vocab", tuple(words[i] for i in shown))
    shares = raised / raised.sum()
    table = _table(axis, {"logit": logits[shown], "exp(logit − max)": raised[shown], "softmax": shares[shown]})
    return cell.made(
        "exp(logit_j) / Σ_k exp(logit_k)",
        value,
        code='tap("probs"',
        file="transformer.py",
        table=table,
        steps=steps,
        operands=("logits",),
    )


RULES: Mapping[str, Callable[[_Cell], Origin]] = {
    "embed": _embed,
    "pos_embed": _pos_embed,
    "embed_norm": _embed_norm,
    "resid_pre": _resid_pre,
    "input": _input,
    "memory": _memory,
    "q_unrotated": _projected,
    "k_unrotated": _projected,
    "q": _projected,
    "k": _projected,
    "v": _projected,
    "raw_scores": _raw_scores,
    "bias": _bias,
    "scores": _scores,
    "masked_scores": _masked_scores,
    "weights": _weights,
    "z": _z,
    "concat": _concat,
    "out": _out,
    "added": _added,
    "resid_mid": _resid,
    "resid_mid_cross": _resid,
    "resid_post": _resid,
    "hidden": _hidden,
    "router": _router,
    "expert": _expert,
    "expert_hidden": _hidden,
    "expert_out": _out,
    "final_norm": _final_norm,
    "logits": _logits,
    "probs": _probs,
}
