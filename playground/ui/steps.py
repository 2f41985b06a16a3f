"""One head's computation as the matrices of a chain, in the words of a language."""

from __future__ import annotations

from math import sqrt

from models import ModelConfig
from playground.figures.theme import Role, Theme
from playground.head import Head
from playground.i18n import Translate
from playground.ui.components.matrix import Block, Operand, largest

# Equation 1 of the paper in KaTeX, on two lines so that it fits a phone; its symbols wear the colours of the picture.
EQUATION = (
    r"\begin{{aligned}}"
    r"&\mathrm{{Attention}}(\textcolor{{{query}}}{{Q}},\textcolor{{{key}}}{{K}},\textcolor{{{value}}}{{V}})=\\[2pt]"
    r"&\quad\mathrm{{softmax}}\!\left("
    r"\frac{{\textcolor{{{query}}}{{Q}}\,\textcolor{{{key}}}{{K^{{\top}}}}}}{{\sqrt{{d_k}}}}"
    r"\right)\textcolor{{{value}}}{{V}}"
    r"\end{{aligned}}"
)
LAW = "softmax({query:Q} {key:K}^T / √d_k)"
UNSCALED_LAW = "softmax({query:Q} {key:K}^T)"


def chain(head: Head, config: ModelConfig, t: Translate) -> list[Block]:
    """Return X → Q, K, V → QKᵀ → ÷√d_k → mask → softmax → ×V → concat → W_O of one head, each linked to its operands.

    Source: Vaswani et al. 2017, sections 3.2.1 (equation 1) and 3.2.2.
    """
    return [*_sources(head, config, t), *_comparison(head, config, t), *_mixture(head, config, t)]


def look(head: Head, t: Translate) -> str:
    """Return one sentence of Markdown on where the head looks most: words and numbers of its own weights."""
    row, col = head.sharpest()
    weights = head["weights"]
    itself = head.where != "cross" and row == col
    return t.markdown(
        "one_head.look.self" if itself else f"one_head.look.{head.where}",
        word=head.asking(row),
        seen=weights.axes[1].labels[col],
        weight=f"{weights.values[row, col]:.2f}",
        even=f"{head.even(row):.2f}",
    )


def equation(theme: Theme) -> str:
    """Return equation 1 in KaTeX, its symbols in the colours of their roles."""
    return EQUATION.format(query=theme.query, key=theme.key, value=theme.value)


def beside(head: Head, config: ModelConfig, t: Translate) -> list[Block]:
    """Return the weights of one head with and without the division by √d_k, from the same raw scores."""
    return [
        Block(
            head.rescaled(scale),
            id=name,
            title=t(f"one_head.{name}.title"),
            formula=law,
            role="weights",
            scale="weights",
            hidden=head.hidden,
        )
        for name, scale, law in (("scaled", config.d_head**-0.5, LAW), ("unscaled", 1.0, UNSCALED_LAW))
    ]


def _sources(head: Head, config: ModelConfig, t: Translate) -> list[Block]:
    """Return what the head reads, and the three projections of it."""
    crossing = head.where == "cross"
    stage = t("one_head.stage.project")
    sizes = {"d_model": config.d_model, "d_head": config.d_head}
    x = Block(
        head["input"],
        id="x",
        title=t(f"one_head.x.title.{head.where}"),
        symbol="{residual:X}",
        role="residual",
        stage=stage,
        note=t(f"one_head.x.note.{head.where}"),
    )
    blocks = [x]
    if crossing:
        blocks.append(
            Block(
                head["memory"],
                id="memory",
                title=t("one_head.memory.title"),
                symbol="{memory:M}",
                role="memory",
                stage=stage,
                note=t("one_head.memory.note"),
            )
        )
    source, letter = ("memory", "{memory:M}") if crossing else ("x", "{residual:X}")
    kind = "cross" if crossing else "self"
    limit = largest(head["q"], head["k"])
    projections: tuple[tuple[str, Role, str, str], ...] = (
        ("q", "query", "x", "{residual:X}"),
        ("k", "key", source, letter),
        ("v", "value", source, letter),
    )
    for name, role, start, made_of in projections:
        capital = name.upper()
        matrix = f"{{{role}:W}}^{capital}"
        added = f" + {{{role}:b}}^{capital}" if config.attention_bias else ""
        turned = f"{name}_unrotated" in head
        projected = f"{made_of} {matrix}{added}"
        note = t(f"one_head.{name}.note.{kind}", **sizes)
        blocks.append(
            Block(
                head[name],
                id=name,
                title=t(f"one_head.{name}.title"),
                symbol=f"{{{role}:{capital}}}",
                formula=f"{{{role}:{capital}}} = " + (f"R({projected})" if turned else projected),
                role=role,
                limit=None if name == "v" else limit,
                operands=(Operand(start, row="row"),),
                via=f"× {matrix}",
                note=t("one_head.turned", note=note) if turned else note,
                stage=stage,
                whole=head.whole(name).shape,
            )
        )
    return blocks


def _comparison(head: Head, config: ModelConfig, t: Translate) -> list[Block]:
    """Return the scores on their way to weights, on one colour scale until softmax."""
    stage = t("one_head.stage.compare")
    raw, scores = head.between_words("raw_scores"), head.between_words("scores")
    limit = largest(raw)
    whole = head.whole("weights").shape
    root = f"√{config.d_head}"
    size = f"{sqrt(config.d_head):.3g}"
    biased = " + b" if "bias" in head else ""
    scaling = t("one_head.scores.note" if config.scale_scores else "one_head.scores.unscaled", root=root, size=size)
    law = "{query:Q} {key:K}^T" + (" / √d_k" if config.scale_scores else "") + biased
    hides = sorted({str(reason) for reason in head.hidden.flat} - {""})
    why = "_".join(hides) or "nothing"
    return [
        Block(
            raw,
            id="raw_scores",
            title=t("one_head.raw_scores.title"),
            symbol="{query:Q}{key:K}^T",
            formula="{query:Q} {key:K}^T",
            limit=limit,
            operands=(Operand("q", row="row"), Operand("k", row="col")),
            note=t("one_head.raw_scores.note", d_head=config.d_head),
            stage=stage,
            whole=whole,
        ),
        Block(
            scores,
            id="scores",
            title=t("one_head.scores.title"),
            symbol="÷ √d_k" if config.scale_scores else "÷ 1",
            formula=law,
            limit=limit,
            operands=(Operand("raw_scores", row="row", col="col"),),
            via=(f"÷ {root}" if config.scale_scores else "÷ 1") + biased,
            note=t("one_head.biased", note=scaling) if biased else scaling,
            stage=stage,
            whole=whole,
        ),
        Block(
            head.between_words("masked_scores"),
            id="masked_scores",
            title=t("one_head.masked_scores.title"),
            symbol=t("one_head.masked_scores.symbol"),
            formula=f"{law} + {t('one_head.masked_scores.symbol')}",
            limit=limit,
            hidden=head.hidden,
            operands=(Operand("scores", row="row", col="col"),),
            via=t("one_head.masked_scores.symbol"),
            note=t(f"one_head.masked_scores.note.{why}"),
            stage=stage,
            whole=whole,
        ),
        Block(
            head.between_words("weights"),
            id="weights",
            title=t("one_head.weights.title"),
            symbol="softmax",
            formula=LAW if config.scale_scores else UNSCALED_LAW,
            role="weights",
            scale="weights",
            hidden=head.hidden,
            operands=(Operand("masked_scores", row="row"),),
            via="softmax",
            note=t("one_head.weights.cross" if head.where == "cross" else "one_head.weights.note"),
            stage=stage,
            whole=whole,
        ),
    ]


def _mixture(head: Head, config: ModelConfig, t: Translate) -> list[Block]:
    """Return what the weights bring, all heads side by side, and what is added to the residual stream."""
    stage = t("one_head.stage.mix")
    first = head.index * config.d_head
    law = LAW if config.scale_scores else UNSCALED_LAW
    return [
        Block(
            head["z"],
            id="z",
            title=t("one_head.z.title"),
            symbol="× {value:V}",
            formula=law + " {value:V}",
            role="value",
            limit=largest(head["v"]),
            operands=(Operand("weights", row="row"), Operand("v", col="col")),
            note=t("one_head.z.note"),
            stage=stage,
            whole=head.whole("z").shape,
        ),
        Block(
            head["concat"],
            id="concat",
            title=t("one_head.concat.title"),
            symbol=t("one_head.concat.symbol"),
            formula=f"Concat(head_0, …, head_{config.n_heads - 1})" if config.n_heads > 1 else "head_0",
            role="value",
            operands=(Operand("z", row="row", col="col", col_from=first),),
            via=f"head_{head.index}",
            note=t(
                "one_head.concat.note",
                n=config.n_heads,
                head=head.index,
                first=first,
                last=first + config.d_head - 1,
            ),
            stage=stage,
        ),
        Block(
            head["out"],
            id="out",
            title=t("one_head.out.title"),
            symbol="× {residual:W}^O",
            formula="Concat(…) {residual:W}^O" + (" + {residual:b}^O" if config.attention_bias else ""),
            role="residual",
            operands=(Operand("concat", row="row"),),
            via="× {residual:W}^O",
            note=t("one_head.out.note"),
            stage=stage,
        ),
    ]
