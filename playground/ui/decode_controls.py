"""What is chosen on the page on decoding: how the next word is chosen, what is put in, which head is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from models import Branch
from playground.decoding import (
    KINDS,
    LARGEST_SEED,
    PENALTIES,
    TEMPERATURES,
    TOP_K,
    TOP_P,
    VIEWS,
    WIDTHS,
    Way,
    forced_in,
    forced_text,
    put_in,
)
from playground.i18n import Translate
from playground.ui.controls import mirror
from playground.ui.link import PICKS
from playground.ui.session import Session


def views_of(state: Session) -> tuple[str, ...]:
    """Return the views that this model has: alignment takes a source beside the target."""
    architecture = state.run.config.model.architecture
    if architecture == "encoder-only":
        return ()
    return VIEWS if architecture == "encoder-decoder" else tuple(view for view in VIEWS if view != "align")


def chosen_view(state: Session) -> str:
    """Return the view that is chosen, if the model has it."""
    views = views_of(state)
    chosen = str(state.picks.get("decode", VIEWS[0]))
    return chosen if chosen in views else (*views, "")[0]


def chosen_way(state: Session) -> Way:
    """Return how the next word is chosen, within what there is."""
    picks, default = state.picks, Way()
    kind = str(picks.get("choice", default.kind))
    return Way(
        kind=next((each for each in KINDS if each == kind), default.kind),
        temperature=float(picks.get("temperature", default.temperature)),
        top_k=None if (top_k := str(picks.get("top_k", TOP_K[0]))) == TOP_K[0] else int(top_k),
        top_p=float(picks.get("top_p", default.top_p)),
        seed=int(picks.get("dice", default.seed)),
        width=int(picks.get("beam", default.width)),
        penalty=float(picks.get("penalty", default.penalty)),
        forced=forced_in(picks.get("forced"), state.run.config.model.vocab_size),
    )


def chosen_moment(state: Session, n: int) -> int:
    """Return the choice that is looked at, of `n`; in the middle at first, where there is something to see."""
    at = state.picks.get("at")
    return min(at, n - 1) if isinstance(at, int) else (n - 1) // 2


def pick_view(state: Session, t: Translate) -> None:
    """Let the visitor choose what is looked at."""
    views = views_of(state)
    if len(views) > 1:
        _segments("decode", views, chosen_view(state), state, t("decode.view.label"), lambda v: t(f"decode.view.{v}"))


def pick_choice(state: Session, t: Translate) -> None:
    """Let the visitor choose how the next word is chosen."""
    kind = chosen_way(state).kind
    _segments("choice", KINDS, kind, state, t("decode.choice.label"), lambda each: t(f"decode.choice.{each}"))


def pick_settings(state: Session, t: Translate) -> None:
    """Let the visitor choose the numbers that a way of choosing has."""
    way = chosen_way(state)
    if way.kind == "greedy":
        return
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="decode_settings_row"):
        if way.kind == "sample":
            _slider("temperature", TEMPERATURES, str(way.temperature), state, t("decode.temperature"))
            _slider("top_k", TOP_K, str(way.top_k or TOP_K[0]), state, t("decode.top_k"), lambda k: _all(k, t))
            _slider("top_p", TOP_P, str(way.top_p), state, t("decode.top_p"))
            mirror(state, "decode_seed", way.seed)
            st.number_input(
                t("decode.seed"),
                min_value=0,
                max_value=LARGEST_SEED,
                step=1,
                key="decode_seed",
                on_change=_chose_number,
                args=(state,),
                width=130,
            )
        else:
            _slider("beam", WIDTHS, str(way.width), state, t("decode.width"))
            _slider("penalty", PENALTIES, str(way.penalty), state, t("decode.penalty"))


def put_word(state: Session, t: Translate, words: Sequence[str], number: int) -> None:
    """Let the visitor put any word of the vocabulary where the choice on screen is made."""
    st.session_state["decode_word"] = None
    st.selectbox(
        t("decode.put.label", number=number),
        words,
        index=None,
        placeholder=t("decode.put.any"),
        key="decode_word",
        on_change=_chose_word,
        args=(state, tuple(words), number),
        width=220,
    )


def stay_at(state: Session) -> Callable[[int], None]:
    """Return what takes down which choice is looked at."""

    def stay(at: int) -> None:
        state.choose(at=at)

    return stay


def force(state: Session) -> Callable[[int, int], None]:
    """Return what puts a word in the model's mouth; −1 takes it out again, with what was put in after it."""

    def put(number: int, token: int) -> None:
        before = chosen_way(state).forced
        kept = [each for each in before if each[0] < number] if token < 0 else put_in(before, number, token)
        state.choose(forced=forced_text(kept), at=number)

    return put


def release(state: Session) -> Callable[[], None]:
    """Return what lets the model choose everything itself again."""

    def free() -> None:
        state.choose(forced="")

    return free


def follow(state: Session, path: Callable[[int], tuple[Branch, ...]]) -> Callable[[int], None]:
    """Return what goes on greedily from a branch of a beam search."""

    def go(number: int) -> None:
        branches = path(number)
        text = forced_text([(branch.index, branch.token) for branch in branches])
        state.choose(choice="greedy", forced=text, at=len(branches) - 1)

    return go


def look_at(state: Session, t: Translate, step: int) -> None:
    """Offer to look at another step of the training, where the model still makes mistakes."""
    st.button(
        t("decode.forcing.look_at", step=f"{step:,}"),
        key="decode_look_at",
        type="primary",
        on_click=state.choose_step,
        args=(step,),
    )


def _all(top_k: str, t: Translate) -> str:
    return t("decode.all") if top_k == TOP_K[0] else top_k


def _segments(
    name: str, options: Sequence[str], shown: str, state: Session, label: str, words: Callable[[str], str]
) -> None:
    assert name in PICKS
    key = f"decode_{name}"
    mirror(state, key, shown, map(words, options))
    st.segmented_control(
        label, options, format_func=words, key=key, on_change=_chose, args=(state, name, key), required=True
    )


def _slider(
    name: str,
    options: Sequence[str],
    shown: str,
    state: Session,
    label: str,
    words: Callable[[str], str] = str,
) -> None:
    assert name in PICKS
    key = f"decode_{name}"
    value = next((each for each in options if each == shown or _same(each, shown)), options[0])
    mirror(state, key, value, map(words, options))
    st.select_slider(label, options, format_func=words, key=key, on_change=_chose, args=(state, name, key), width=170)


def _same(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _chose(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        state.choose(**{name: value})


def _chose_number(state: Session) -> None:
    value = st.session_state.get("decode_seed")
    if value is not None:
        state.choose(dice=int(value))


def _chose_word(state: Session, words: tuple[str, ...], number: int) -> None:
    value = st.session_state.get("decode_word")
    if value in words:
        force(state)(number, words.index(value))
