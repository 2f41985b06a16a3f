"""The embedding table from four sides: step by step, as lengths, as neighbours, as a map of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playground.embedding import lengths, neighbours, plane
from playground.figures.scatter import scatter
from playground.i18n import Translate
from playground.tasks import PAD, SPECIALS
from playground.ui.components.matrix import Block, matrices
from playground.ui.session import Session
from playground.ui.show import show
from playground.ui.stream import embedding

NEAREST = 3


# What `matrices` says of a picture in which nothing was clicked.
NOTHING: Mapping[str, Any] = {"pick": None}


def draw(view: str, state: Session, stack: str, t: Translate) -> Mapping[str, Any]:
    """Draw one of `VIEWS`; return what was clicked in it, as `matrices` does."""
    return VIEWS[view](state, stack, t)


def tokens(state: Session, t: Translate) -> str:
    """Return the way from the text to ids in words, as Markdown."""
    vocabulary = state.task.vocabulary
    words = state.reading.src
    ids = vocabulary.encode(words)
    if vocabulary.decode(ids) != words:
        raise ValueError(f"ids {ids} decode to {vocabulary.decode(ids)}, not to {words}")
    listed = " · ".join(f"{word} {i}" for word, i in zip(words, ids, strict=True))
    return t.markdown("embeddings.tokens.same", text=state.text, tokens=listed)


def _chain(state: Session, stack: str, t: Translate) -> Mapping[str, Any]:
    return matrices(
        embedding(state.subject, stack, t),
        start="resid_pre",
        alt=t("embeddings.alt", stack=t(f"frame.where.{stack}")),
        filename="embeddings",
        key="embeddings_chain",
        picks=True,
        t=t,
        theme=state.theme,
    )


def _lengths(state: Session, stack: str, t: Translate) -> Mapping[str, Any]:
    parts = {block.title: block.array for block in embedding(state.subject, stack, t)}
    block = Block(
        lengths(parts),
        id="lengths",
        title=t("embeddings.lengths.title"),
        formula="√Σ {residual:x}_i^2",
        role="residual",
        note=t("embeddings.lengths.note", d_model=state.run.config.model.d_model),
    )
    return _single(block, "embeddings.lengths.alt", state, t)


def _neighbours(state: Session, stack: str, t: Translate) -> Mapping[str, Any]:
    words = state.reading.src if stack == "encoder" else state.reading.tgt
    block = Block(
        neighbours(state.subject.table(stack), words, NEAREST, without=(SPECIALS[PAD],)),
        id="neighbours",
        title=t("embeddings.neighbours.title"),
        formula="cos({residual:a}, {residual:b}) = {residual:a} · {residual:b} / (|{residual:a}| |{residual:b}|)",
        role="residual",
        limit=1.0,
        note=t("embeddings.neighbours.note"),
    )
    return _single(block, "embeddings.neighbours.alt", state, t)


def _plane(state: Session, stack: str, t: Translate) -> Mapping[str, Any]:
    table = state.subject.table(stack)
    points, shares = plane(table)
    words = table.axis("vocab").labels
    spoken = {*state.reading.src, *state.reading.tgt}
    task = state.task
    groups: Mapping[str, list[int]] = {
        t("embeddings.plane.source", language=t(task.src_language)): [
            i for i, word in enumerate(words) if word in task.src_words
        ],
        t("embeddings.plane.target", language=t(task.tgt_language)): [
            i for i, word in enumerate(words) if word not in task.src_words and word not in SPECIALS
        ],
        t("embeddings.plane.marks"): [i for i, word in enumerate(words) if word in SPECIALS],
    }
    across, up = (f"{share:.0%}" for share in shares)
    model = state.run.config.model
    show(
        scatter(
            points,
            {title: rows for title, rows in groups.items() if rows},
            [i for i, word in enumerate(words) if word in spoken],
            titles=(t("embeddings.plane.across", share=across), t("embeddings.plane.up", share=up)),
            theme=state.theme,
        ),
        key="embeddings_plane",
        alt=t("embeddings.plane.alt", vocab_size=model.vocab_size),
        caption=t.markdown("embeddings.plane.caption", shares=f"{sum(shares):.0%}", d_model=model.d_model),
        t=t,
        theme=state.theme,
    )
    return NOTHING


def _single(block: Block, alt: str, state: Session, t: Translate) -> Mapping[str, Any]:
    matrices([block], layout="row", alt=t(alt), key=f"embeddings_{block.id}", t=t, theme=state.theme)
    return NOTHING


VIEWS: Mapping[str, Callable[[Session, str, Translate], Mapping[str, Any]]] = {
    "chain": _chain,
    "lengths": _lengths,
    "neighbours": _neighbours,
    "plane": _plane,
}
