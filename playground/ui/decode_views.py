"""Decoding from four sides: word by word, as an alignment, with and without a teacher, and layer by layer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt
import streamlit as st

from playground.decoding import Moment, Way, Written, alignment, write
from playground.forcing import Forcing, Pass, forcing, spoilt_step, surprise
from playground.home import best_head
from playground.i18n import Translate
from playground.lens import lens_at
from playground.snippets import decoding
from playground.ui.components.alignment import alignment as draw_alignment
from playground.ui.components.beam_tree import beam_tree
from playground.ui.components.word_grid import Link, WordCell, WordRow, word_grid
from playground.ui.components.writing import NOTHING, Choice, writing
from playground.ui.controls import pick_cross_head
from playground.ui.decode_controls import (
    chosen_moment,
    chosen_view,
    chosen_way,
    follow,
    force,
    look_at,
    pick_choice,
    pick_settings,
    pick_view,
    put_word,
    release,
    stay_at,
)
from playground.ui.depth import Cell
from playground.ui.session import Session
from playground.variant import Variant

# What a way of choosing, or a view, is about, in KaTeX; the way's where the text is written.
FORMULAS: Mapping[str, str] = {
    "greedy": r"y_t=\arg\max_{w}\,P(w\mid y_{<t},x)",
    "sample": r"y_t\sim P_\tau(w)=\frac{e^{s_w/\tau}}{\sum_{v\in K}e^{s_v/\tau}}\qquad "
    r"K=\text{top-}k\,\cap\,\text{the fewest likeliest words with }\textstyle\sum P_\tau\geq p",
    "beam": r"\text{score}(Y)=\frac{\ln P(Y\mid x)}{\left(\frac{5+|Y|}{5+1}\right)^{\alpha}}\qquad "
    r"\ln P(Y\mid x)=\sum_{t}\ln P(y_t\mid y_{<t},x)",
    "align": r"w_{ij}=\mathrm{softmax}_j\!\left(\frac{q_i\cdot k_j}{\sqrt{d_k}}\right)\qquad "
    r"\text{share}=\frac1{|T|}\sum_{i\in T}\;\sum_{j\in A_i}w_{ij}",
    "forcing": r"P(y^*_t\mid y^*_{<t},x)\quad\text{against}\quad P(y^*_t\mid\hat y_{<t},x)",
    "lens": r"P_\ell(w)=\mathrm{softmax}\bigl(U\,\mathrm{norm}(x_\ell)\bigr)_w",
}

Shown = tuple[Cell | None, bool]


def topic(state: Session) -> str:
    """Return what the page is about now: the way of choosing where a text is written, else the view."""
    view = chosen_view(state)
    return chosen_way(state).kind if view == "write" else view


def draw(state: Session, t: Translate) -> Shown:
    """Draw the view that is chosen; return the number it is about, and whether the visitor clicked it."""
    return PICTURES[chosen_view(state)](state, t)


def control(state: Session, t: Translate) -> None:
    """Draw what is chosen in a view."""
    view = chosen_view(state)
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom", key="decode_first_row"):
        pick_view(state, t)
        if view != "forcing":
            pick_choice(state, t)
    if view != "forcing":
        pick_settings(state, t)
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom", key="decode_head_row"):
        if view == "write":
            written = write(state.subject, chosen_way(state))
            put_word(state, t, state.reading.vocabulary, chosen_moment(state, len(written.ids)))
        if view in ("write", "align"):
            pick_cross_head(state, t)


def program(state: Session) -> str:
    """Return a short program that writes what is on screen."""
    return decoding(state.subject, chosen_way(state))


# --- Word by word ----------------------------------------------------------------------------------------------------


def _write(state: Session, t: Translate) -> Shown:
    """Draw the text while it is written; the tree of a beam search over it."""
    way = chosen_way(state)
    written = write(state.subject, way)
    token = _token(state, way)
    if written.tree is not None:
        st.markdown(_look_beam(written, state, t))
        beam_tree(
            written.tree,
            start=written.reading.tgt[len(written.begun) - 1],
            token=token,
            key="decode_tree",
            on_branch=follow(state, written.tree.path),
            alt=t("decode.alt.tree", width=way.width, text=state.task.detokenize(written.output)),
            t=t,
            theme=state.theme,
        )
        st.markdown(t.markdown("decode.tree.survivor"))
    config = state.run.config.model
    layer, head = state.layer_and_head(*best_head(state.subject))
    crosses = config.architecture == "encoder-decoder"
    cross = written.attention(f"decoder.{layer}.cross_attn", head) if crosses else None
    own = written.attention(f"decoder.{layer}.self_attn", head)
    choices = [
        Choice(
            moment,
            _logits(written, moment),
            _why(moment, written, state, t),
            NOTHING if cross is None else cross[moment.index],
            own[moment.index],
        )
        for moment in written.moments
    ]
    at = chosen_moment(state, len(choices))
    picked = writing(
        choices,
        source=written.reading.src,
        begun=written.reading.tgt[: len(written.begun)],
        at=at,
        token=token,
        instead=_instead(written, state, t),
        clicker=written.tree is None,
        key="decode_writing",
        on_step=stay_at(state),
        on_force=force(state),
        on_release=release(state),
        alt=t("decode.alt.write", text=state.task.detokenize(written.output), layer=layer, head=head),
        t=t,
        theme=state.theme,
    )
    caption = t.markdown("decode.write.reads_cross" if crosses else "decode.write.reads_own", layer=layer, head=head)
    if way.kind == "sample":
        caption += " " + t.markdown("decode.write.marks")
    st.caption(caption)
    if picked is not None:
        sublayer = "cross_attn" if picked["which"] == "cross" else "self_attn"
        reading, row = written.pass_of(picked["step"])
        at_cell = {"head": head, "query": row, "key": picked["key"]}
        return Cell(f"decoder.{layer}.{sublayer}.weights", at_cell, Variant(reading)), True
    return _chosen(written, at), False


def _chosen(written: Written, at: int) -> Cell:
    """Return the probability of the word that is written at a choice."""
    reading, row = written.pass_of(at)
    return Cell("probs", {"pos": row, "vocab": written.ids[at]}, Variant(reading))


def _why(moment: Moment, written: Written, state: Session, t: Translate) -> str:
    words = moment.probs.axes[0].labels
    values = {
        "read": moment.read,
        "word": moment.written,
        "p": _percent(float(moment.probs.values[moment.token])),
        "rank": moment.rank(moment.token) + 1,
        "n": len(words),
    }
    if moment.is_forced:
        said = t("decode.why.forced", **values, free=words[moment.free])
    elif moment.at is not None and moment.final is not None:
        final = _percent(float(moment.final[moment.token]))
        said = t("decode.why.sample", **values, at=f"{moment.at:.3f}", final=final)
        said += _removed(moment, t)
    else:
        said = t(f"decode.why.{written.way.kind}", **values)
    if moment.index == len(written.ids) - 1:
        ends = "end" if written.finished else "limit"
        said += " " + t(f"decode.why.{ends}", n=len(written.ids))
    return said


def _removed(moment: Moment, t: Translate) -> str:
    """Return what top-k and top-p took away: how many words, and what share of the distribution before them."""
    said = ""
    for name in ("k", "p"):
        cut, share = moment.removed(name)
        if cut:
            said += " " + t(f"decode.why.cut_{name}", n=cut, share=_percent(share))
    return said


def _instead(written: Written, state: Session, t: Translate) -> str:
    """Return what would have been written without the words that were put in; empty if none was."""
    way = written.way
    if not any(moment.is_forced for moment in written.moments):
        return ""
    free = write(state.subject, Way(**{**vars(way), "forced": ()}))
    return t("decode.write.instead", text=state.task.detokenize(free.output))


def _look_beam(written: Written, state: Session, t: Translate) -> str:
    assert written.tree is not None
    alone = write(state.subject, Way(forced=written.way.forced))
    said = t.markdown(
        "decode.look.beam",
        width=written.way.width,
        text=state.task.detokenize(written.output),
        score=_number(written.tree.best[-1].score),
        n=len(written.tree.branches),
    )
    same = alone.ids == written.ids
    values = {"text": state.task.detokenize(alone.output), "own": _number(alone.log_probability())}
    total = _number(written.tree.best[-1].total)
    return said + " " + t.markdown(f"decode.look.{'as_greedy' if same else 'not_greedy'}", total=total, **values)


# --- Alignment -------------------------------------------------------------------------------------------------------


def _align(state: Session, t: Translate) -> Shown:
    """Draw one head's cross-attention beside the gold alignment."""
    written = write(state.subject, chosen_way(state))
    layer, head = state.layer_and_head(*best_head(state.subject))
    found = alignment(state.subject, written, layer, head)
    if found.share is None or found.best is None:
        st.markdown(t.markdown("decode.look.align_none", layer=layer, head=head))
    else:
        (best_layer, best), share = found.best
        values = {"layer": layer, "head": head, "share": _percent(found.share), "even": _percent(found.even)}
        is_best = (best_layer, best) == (layer, head)
        said = t.markdown("decode.look.align_best" if is_best else "decode.look.align", **values)
        if not is_best:
            said += " " + t.markdown("decode.look.best", layer=best_layer, head=best, share=_percent(share))
        st.markdown(said)
    picked = draw_alignment(
        found.weights,
        found.gold,
        head=f"{layer}.{head}",
        key="decode_alignment",
        alt=t("decode.alt.align", layer=layer, head=head),
        filename=t("decode.align.file"),
        t=t,
        theme=state.theme,
    )
    query, key = picked or found.weights.argmax()
    reading, row = written.pass_of(query)
    at = {"head": head, "query": row, "key": key}
    return Cell(f"decoder.{layer}.cross_attn.weights", at, Variant(reading)), picked is not None


# --- Teacher forcing -------------------------------------------------------------------------------------------------


def _forcing(state: Session, t: Translate) -> Shown:
    """Draw the same sentence read right, and read as the model wrote it."""
    both = forcing(state.subject)
    if both is None:
        st.markdown(t.markdown("decode.look.forcing_none"))
        return None, False
    st.markdown(_look_forcing(both, t))
    wrong = both.first_error
    rows = (
        WordRow(t("decode.forcing.wanted"), _plain(both.wanted), after=1.6),
        WordRow(t("decode.forcing.reads"), _plain(both.forced.read), role="query"),
        WordRow(t("decode.forcing.writes"), _judged(both.forced, both.wanted, t), role="key", after=2.4),
        WordRow(t("decode.forcing.reads_own"), _plain(both.free.read), role="query", after=1.9),
        WordRow(t("decode.forcing.writes"), _judged(both.free, both.wanted, t), role="key"),
    )
    n = len(both.wanted)
    links: list[Link] = [(0, i, 1, i + 1, "plain") for i in range(n - 1)]
    errors = set(both.free.errors(both.wanted))
    links += [(4, i, 3, i + 1, "wrong" if i in errors else "plain") for i in range(len(both.free.wrote) - 1)]
    picked = word_grid(
        rows,
        key="decode_forcing",
        alt=t("decode.alt.forcing", n=len(errors), m=len(both.forced.errors(both.wanted))),
        colour=t("decode.forcing.colour"),
        marked=t("decode.forcing.marked"),
        links=links,
        filename=t("decode.forcing.file"),
        picks=True,
        t=t,
        theme=state.theme,
    )
    if wrong is None and (step := spoilt_step(state.subject)) is not None:
        look_at(state, t, step)
    row, place = picked or (2, wrong or 0)
    each = {2: both.forced, 4: both.free}.get(row)
    if each is None or place >= min(len(each.passes), n):
        each, place, picked = both.forced, min(wrong or 0, n - 1), None
    reading, pos = each.passes[place]
    word = reading.vocabulary.index(both.wanted[place])
    return Cell("probs", {"pos": pos, "vocab": word}, Variant(reading)), picked is not None


def _look_forcing(both: Forcing, t: Translate) -> str:
    first = both.first_error
    values = {
        "forced": f"{surprise(both.forced.right):.2f}",
        "free": f"{surprise(both.free.right):.2f}",
        "m": len(both.forced.errors(both.wanted)),
        "n": len(both.free.errors(both.wanted)),
        "all": len(both.wanted),
    }
    if first is None:
        return t.markdown("decode.look.forcing_right", **values)
    wrote = both.free.wrote[first : first + 1]
    said = t.markdown(
        "decode.look.forcing",
        place=first,
        wrote=wrote[0] if wrote else "∅",
        wanted=both.wanted[first] if first < len(both.wanted) else "∅",
        **values,
    )
    return said


def _plain(words: tuple[str, ...]) -> tuple[WordCell, ...]:
    return tuple(WordCell(word, said=(word,)) for word in words)


def _judged(each: Pass, wanted: tuple[str, ...], t: Translate) -> tuple[WordCell, ...]:
    errors = each.errors(wanted)
    cells = []
    for i, word in enumerate(each.wrote):
        p = each.right[i] if i < len(each.right) else None
        wish = wanted[i] if i < len(wanted) else "∅"
        cells.append(
            WordCell(
                word,
                sub="" if p is None else _percent(p),
                value=p,
                mark="right" if i not in errors else "first" if i == errors[0] else "wrong",
                strong=i in errors,
                said=(
                    (t("decode.forcing.wrote"), word),
                    (t("decode.forcing.wish"), wish),
                    *(() if p is None else ((t("decode.forcing.p"), f"{p:.6g}"),)),
                ),
            )
        )
    return tuple(cells)


# --- Logit lens ------------------------------------------------------------------------------------------------------


def _lens(state: Session, t: Translate) -> Shown:
    """Draw what each layer would have said."""
    written = write(state.subject, chosen_way(state))
    seen = [lens_at(state.subject.model, *written.pass_of(index)) for index in range(len(written.ids))]
    n_layers = seen[0].probs.shape[0]
    rows = [
        WordRow(
            t("decode.lens.written"),
            tuple(WordCell(word, said=(word,), strong=True) for word in written.words),
            role="query",
            after=0.5,
        )
    ]
    for layer in reversed(range(n_layers)):
        cells = []
        for index, (token, word) in enumerate(zip(written.ids, written.words, strict=True)):
            best = seen[index].likeliest(layer, 4)
            p, rank = float(seen[index].probs.values[layer, token]), seen[index].rank(layer, token) + 1
            cells.append(
                WordCell(
                    best[0][0],
                    sub=t("decode.lens.rank", rank=rank, p=_percent(p)),
                    value=p,
                    strong=rank == 1,
                    said=(
                        t("decode.lens.of", word=word, rank=rank, p=f"{p:.6g}"),
                        *((each, f"{value:.4g}") for each, value in best),
                    ),
                )
            )
        title = t("decode.lens.before") if layer == 0 else t("decode.lens.after", layer=layer - 1)
        rows.append(WordRow(title, tuple(cells)))
    rows.append(
        WordRow(
            t("decode.lens.read"),
            tuple(WordCell(moment.read, said=(moment.read,)) for moment in written.moments),
            role="key",
        )
    )
    ranks = [[seen[i].rank(layer, token) for i, token in enumerate(written.ids)] for layer in range(n_layers)]
    shares = [sum(rank == 0 for rank in each) for each in ranks]
    st.markdown(
        t.markdown("decode.look.lens", n=len(written.ids), before=shares[0], middle=shares[-2], last=shares[-1])
    )
    picked = word_grid(
        rows,
        key="decode_lens",
        alt=t("decode.alt.lens", layers=n_layers - 1),
        colour=t("decode.lens.colour"),
        filename=t("decode.lens.file"),
        picks=True,
        t=t,
        theme=state.theme,
    )
    st.caption(t.markdown(f"decode.lens.caveat.{'norm' if seen[0].has_norm else 'plain'}"))
    # Only the last layer's are numbers of the pass: the model's own probabilities.
    at = picked[1] if picked is not None and picked[0] == 1 else chosen_moment(state, len(written.ids))
    return _chosen(written, at), picked is not None and picked[0] == 1


PICTURES: Mapping[str, Callable[[Session, Translate], Shown]] = {
    "write": _write,
    "align": _align,
    "forcing": _forcing,
    "lens": _lens,
}


def _logits(written: Written, moment: Moment) -> npt.NDArray[Any]:
    reading, row = written.pass_of(moment.index)
    logits: npt.NDArray[Any] = reading["logits"].values[row]
    return logits


def _token(state: Session, way: Way) -> str:
    """Return a short name of what is written: with another one a picture begins anew."""
    told = repr((state.run_id, state.step, state.subject.src, way))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _percent(p: float) -> str:
    if 0.9995 <= p < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < p < 0.0005 else f"{100 * p:.1f} %"


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
