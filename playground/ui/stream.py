"""The residual stream as matrices of a chain: into a model, through a layer, and out to the next word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from models import EncoderLayer, ModelConfig, Transformer
from playground.figures.theme import Role
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.measures import shortlist
from playground.reading import Reading
from playground.subject import Subject
from playground.ui.components.matrix import Block, Operand, largest

NORM = {"layer": "LayerNorm", "rms": "RMSNorm"}
WIDEN = {
    "relu": "max(0, {residual:x} W_1{b1})",
    "gelu": "GELU({residual:x} W_1{b1})",
    "gelu_tanh": "GELU({residual:x} W_1{b1})",
    "swiglu": "SiLU({residual:x} W_1{b1}) ⊙ ({residual:x} W_3{b1})",
}
# Each sublayer, and the place in the residual stream that it leads to.
SUBLAYERS = (("self_attn", "resid_mid"), ("cross_attn", "resid_mid_cross"), ("ffn", "resid_post"))


def embedding(subject: Subject, stack: str, t: Translate) -> list[Block]:
    """Return token → row of the table → × √d_model → + position → what layer 0 reads.

    Source: Vaswani et al. 2017, sections 3.4 and 3.5.
    """
    reading, config = subject.reading, subject.run.config.model
    rows, embed = subject.embedding(stack), reading[f"{stack}.embed"]
    factor = f"√{config.d_model}" if config.embed_scale else "1"
    law = "E[id] · √d_model" if config.embed_scale else "E[id]"
    into = t("embeddings.stage.into")
    added = ("pos_embed",) if f"{stack}.pos_embed" in reading else ()
    last = reading[f"{stack}.0.resid_pre"]
    limit = largest(embed, last)
    blocks = [
        Block(
            rows,
            id="rows",
            title=t("embeddings.rows.title"),
            symbol="E",
            formula="E[id]",
            role="residual",
            note=t("embeddings.rows.note", vocab_size=config.vocab_size, d_model=config.d_model),
            stage=t("embeddings.stage.look_up"),
            whole=rows.shape,
        ),
        Block(
            embed,
            id="embed",
            title=t("embeddings.embed.title"),
            symbol=f"× {factor}",
            formula=law,
            role="residual",
            limit=limit,
            operands=(Operand("rows", row="row", col="col"),),
            via=f"× {factor}",
            note=t("embeddings.embed.note.scaled" if config.embed_scale else "embeddings.embed.note.unscaled"),
            stage=t("embeddings.stage.look_up"),
        ),
    ]
    if added:
        blocks.append(
            Block(
                reading[f"{stack}.pos_embed"],
                id="pos_embed",
                title=t("embeddings.pos_embed.title"),
                symbol="PE" if config.positions == "sinusoidal" else "P",
                formula=_position_law(config),
                limit=limit,
                note=t(f"embeddings.pos_embed.note.{config.positions}"),
                stage=into,
            )
        )
    blocks.append(
        Block(
            last,
            id="resid_pre",
            title=t("embeddings.resid_pre.title"),
            symbol="X",
            formula=law + (" + PE" if added else ""),
            role="residual",
            limit=limit,
            operands=tuple(Operand(source, row="row", col="col") for source in ("embed", *added)),
            joined="+",
            note=t("embeddings.resid_pre.note.added" if added else "embeddings.resid_pre.note.alone"),
            stage=into,
        )
    )
    return blocks


def layer(reading: Reading, config: ModelConfig, stack: str, index: int, t: Translate) -> list[Block]:
    """Return the residual stream through the sublayers of one layer, Post-LN or Pre-LN as the model is.

    Source: Vaswani et al. 2017, sections 3.1 and 3.3; Xiong et al. 2020 for Pre-LN.
    """
    chain = _Layer(reading, config, f"{stack}.{index}", t)
    chain.add("resid_pre", chain["resid_pre"], "residual", symbol="{residual:x}", stage=t("layer.stage.in"))
    stream = "resid_pre"
    for part, result in SUBLAYERS:
        if f"{part}.out" in chain:
            stream = chain.sublayer(part, stream, result)
    return chain.blocks


def output(reading: Reading, config: ModelConfig, t: Translate) -> list[Block]:
    """Return the last residual → logits → probabilities, of the words that matter somewhere in the sentence.

    The probabilities are those of the softmax over the whole vocabulary; what is not shown stands in one column.

    Source: Vaswani et al. 2017, section 3.4.
    """
    stack = "encoder" if config.architecture == "encoder-only" else "decoder"
    normed = f"{stack}.final_norm"
    rows = {"pos": tuple(f"{read} → {written}" for read, written in zip(reading.read, reading.predicted, strict=True))}
    last = reading[normed if normed in reading else f"{stack}.{config.n_layers - 1}.resid_post"].relabelled(rows)
    probs, logits = reading["probs"].relabelled(rows), reading["logits"].relabelled(rows)
    logits_note = "output.logits.note.tied" if config.tied else "output.logits.note.untied"
    words, shown = shortlist(probs, logits, per_row=3, rest=t("output.rest"))
    return [
        Block(
            last,
            id="last",
            title=t("output.last.title"),
            symbol="{residual:x}",
            role="residual",
            note=t("output.last.note", d_model=config.d_model),
            stage=t("output.stage.score"),
        ),
        Block(
            words,
            id="logits",
            title=t("output.logits.title"),
            symbol="logits",
            formula="{residual:x} " + ("E^T" if config.tied else "W^T"),
            operands=(Operand("last", row="row"),),
            via="× E^T" if config.tied else "× W^T",
            note=t(logits_note, vocab_size=config.vocab_size),
            stage=t("output.stage.score"),
            whole=logits.shape,
        ),
        Block(
            shown,
            id="probs",
            title=t("output.probs.title"),
            symbol="softmax",
            formula="softmax({residual:x} " + ("E^T)" if config.tied else "W^T)"),
            role="weights",
            scale="weights",
            operands=(Operand("logits", row="row"),),
            via="softmax",
            note=t("output.probs.note", vocab_size=config.vocab_size),
            stage=t("output.stage.choose"),
            whole=probs.shape,
        ),
    ]


def entrance(blocks: Sequence[Block], part: object) -> str:
    """Return the id of the block that a door leads to: what a sublayer leaves, or what is inside the network.

    That is its hidden units, or, where there are several networks, the router that chooses among them.

    Args:
        blocks: Those of `layer`.
        part: A sublayer, or anything else for the network.
    """
    there = {block.id for block in blocks}
    wanted = dict(SUBLAYERS[:-1]).get(str(part), "hidden")
    return wanted if wanted in there else "hidden" if "hidden" in there else "router"


def laws(config: ModelConfig) -> list[str]:
    """Return the formulas of a layer in KaTeX: the network, and how a sublayer joins the stream.

    Source: Vaswani et al. 2017, section 3.3, equation 2, and section 3.1; Xiong et al. 2020 for Pre-LN.
    """
    b1, b2 = (" + b_1", " + b_2") if config.ffn_bias else ("", "")
    act = {
        "relu": rf"\max(0,\ xW_1{b1})",
        "gelu": rf"\operatorname{{GELU}}(xW_1{b1})",
        "gelu_tanh": rf"\operatorname{{GELU}}(xW_1{b1})",
        "swiglu": r"\big(\operatorname{SiLU}(xW_{gate}) \odot xW_{value}\big)",
    }[config.activation]
    norm = rf"\operatorname{{{NORM[config.norm]}}}"
    before = "x + " if config.residual else ""
    joined = rf"{before}\operatorname{{Sublayer}}({norm}(x))"
    if config.norm_placement == "post":
        joined = rf"{norm}({before}\operatorname{{Sublayer}}(x))"
    return [rf"\operatorname{{FFN}}(x) = {act}\,W_2{b2}", joined]


def layer_weights(model: Transformer, stack: str) -> dict[str, str]:
    """Return how many weights a layer has, and its feed-forward network: `all` and `ffn`, as text."""
    tower = model.encoder if stack == "encoder" else model.decoder
    if tower is None:
        raise ValueError(f"a model that is {model.config.architecture} has no {stack}")
    first = cast(EncoderLayer, tower.layers[0])
    counted = {"all": first, "ffn": first.ffn}
    return {name: f"{sum(p.numel() for p in part.parameters()):,}" for name, part in counted.items()}


class _Layer:
    """Collects the blocks of one layer, with one colour range along the stream."""

    def __init__(self, reading: Reading, config: ModelConfig, name: str, t: Translate) -> None:
        self.reading, self.config, self.name, self.t = reading, config, name, t
        self.blocks: list[Block] = []
        self.norm = NORM[config.norm]

    def __getitem__(self, name: str) -> LabelledArray:
        return self.reading[f"{self.name}.{name}"]

    def __contains__(self, name: str) -> bool:
        return f"{self.name}.{name}" in self.reading

    def add(
        self,
        name: str,
        array: LabelledArray,
        role: Role,
        *operands: Operand,
        symbol: str,
        stage: str,
        formula: str = "",
        via: str = "",
        joined: Literal["×", "+"] = "×",
        words: str = "",
    ) -> None:
        """Append one block; its words hang on `words`, or on its name."""
        words = words or name
        self.blocks.append(
            Block(
                array,
                id=name,
                title=self.t(f"layer.{words}.title"),
                symbol=symbol,
                formula=formula,
                role=role,
                operands=operands,
                via=via,
                joined=joined,
                note=self.t(f"layer.{words}.note", d_model=self.config.d_model, d_ff=self.config.d_ff, norm=self.norm),
                stage=stage,
            )
        )

    def sublayer(self, part: str, stream: str, result: str) -> str:
        """Append what one sublayer reads, writes and leaves in the stream; return the stream's new place."""
        stage = self.t(f"layer.stage.{part}")
        pre = self.config.norm_placement == "pre"
        norm = f"{self.norm}({{residual:x}})"
        source = stream
        if pre:
            source = f"{part}_input"
            self.add(
                source,
                self[f"{part}.input"],
                "residual",
                Operand(stream, row="row"),
                symbol=self.norm,
                formula=norm,
                via=self.norm,
                words="normed",
                stage=stage,
            )
        short = {"self_attn": "SelfAttn", "cross_attn": "CrossAttn", "ffn": "FFN"}[part]
        operand = Operand(source)
        is_mixed = part == "ffn" and self.config.n_experts > 1
        if is_mixed:
            self.add(
                "router",
                self["ffn.router"],
                "plain",
                Operand(source, row="row"),
                symbol="g",
                formula="softmax({residual:x} W_router)",
                via="× W_router",
                words="router",
                stage=stage,
            )
            operand, law = Operand("router", row="row"), "Σ g_e FFN_e({residual:x})"
        elif part == "ffn":
            b1, b2 = (" + b_1", " + b_2") if self.config.ffn_bias else ("", "")
            self.add(
                "hidden",
                self["ffn.hidden"],
                "plain",
                Operand(source, row="row"),
                symbol="W_1",
                formula=WIDEN[self.config.activation].replace("{b1}", b1),
                via="× W_1",
                words="hidden",
                stage=stage,
            )
            operand, law = Operand("hidden", row="row"), f"hidden W_2{b2}"
        else:
            law = f"{short}({{residual:x}})"
        self.add(
            f"{part}_out",
            self[f"{part}.out"],
            "value" if part != "ffn" else "plain",
            operand,
            symbol=short if part != "ffn" or is_mixed else "W_2",
            formula=law,
            via="× W_2" if part == "ffn" and not is_mixed else short,
            words=f"{part}_out",
            stage=stage,
        )
        parts = (Operand(stream, row="row", col="col"), Operand(f"{part}_out", row="row", col="col"))
        total = f"{short}({norm if pre else '{residual:x}'})"
        if self.config.residual:
            total = f"{{residual:x}} + {total}"
        added = result if pre else f"{part}_added"
        self.add(
            added,
            self[result if pre else f"{part}.added"],
            "residual",
            *(parts if self.config.residual else parts[1:]),
            symbol="+" if self.config.residual else "=",
            formula=total,
            joined="+",
            words="added" if self.config.residual else "replaced",
            stage=stage,
        )
        if not pre:
            self.add(
                result,
                self[result],
                "residual",
                Operand(added, row="row"),
                symbol=self.norm,
                formula=f"{self.norm}({total})",
                via=self.norm,
                words="post_normed" if self.config.norm == "layer" else "post_normed_rms",
                stage=stage,
            )
        return result


def _position_law(config: ModelConfig) -> str:
    if config.positions == "sinusoidal":
        return "sin, cos(pos / 10000^(2i/d_model))"
    return "P[pos]"
