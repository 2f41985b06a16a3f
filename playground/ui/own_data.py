"""What each task is about, and a visitor's own data to learn: widgets of the page on training, and their keys."""

from __future__ import annotations

import streamlit as st

from playground.i18n import Translate
from playground.tasks import OWN, TASKS, DataRefused, OwnData
from playground.tasks.own import MAX_BYTES, MOST_TEXT, Read, decoded, read_pairs, read_text
from playground.tasks.times import better, conditions, times
from playground.ui.session import Session

LEARNT = 0.99  # share of held-out sentences from which on a task is learnt
SHOWN = 6  # pairs or pieces of a text in the preview


def data_of(state: Session) -> OwnData | None:
    """Return the visitor's own data: what was given last, or what the model that is looked at has learnt."""
    return state.own_data or state.run.config.own


def task_options(state: Session) -> tuple[str, ...]:
    """Return the tasks that can be chosen: all there are, and the visitor's own."""
    data = data_of(state)
    return (*TASKS, *([data.name] if data else []))


def explain_task(name: str, state: Session, t: Translate) -> None:
    """Say what a task is, what it teaches, what attention grows, and how long that takes."""
    with st.popover(t("own_data.about"), icon=":material/info:", key="task_about"):
        st.markdown(f"**{t.markdown(f'tasks.{name}.title')}**  \n{t.markdown(f'tasks.{name}.sentence')}")
        for part in ("teaches", "attention"):
            st.markdown(f"**{t.markdown(f'own_data.{part}')}** {t.markdown(f'tasks.{name}.{part}')}")
        st.caption(time_of(name, t))
        if name in better():
            needs = better()[name]
            st.caption(t.markdown(f"own_data.better.{name}", seconds=f"{needs.seconds:.0f}", steps=f"{needs.steps:,}"))
            st.button(
                t("own_data.set_better"),
                icon=":material/tune:",
                key="task_better",
                on_click=_set_better,
                args=(state, name),
            )


def time_of(name: str, t: Translate) -> str:
    """Return, as Markdown, how long a task takes to be learnt, as it was measured."""
    if name in OWN:
        return t.markdown("own_data.time_own")
    learnt, under = times()[name], conditions()
    if learnt is None:
        return t.markdown("own_data.time_open")
    return t.markdown(
        "own_data.time" if learnt.reached >= LEARNT else "own_data.time_short",
        percent=f"{100 * learnt.reached:.0f} %",
        seconds=f"{learnt.seconds:.0f}",
        steps=f"{learnt.steps:,}",
        date=under.date,
        machine=under.machine,
    )


def offer_data(state: Session, t: Translate) -> None:
    """Let the visitor paste or bring pairs or a text, see what becomes of it, and choose it as the task."""
    with st.popover(t("own_data.offer"), icon=":material/upload_file:", key="own_data"):
        st.caption(t.markdown("own_data.says"))
        kind = st.segmented_control(
            t("own_data.kind"),
            [*OWN.values()],
            format_func=lambda each: t(f"own_data.kinds.{each}"),
            default="pairs",
            key="own_data_kind",
            required=True,
        )
        st.caption(t.markdown(f"own_data.format_{kind}"))
        pasted = st.text_area(
            t("own_data.paste"),
            key=f"own_data_text_{kind}",
            height=120,
            max_chars=10 * MOST_TEXT,  # what is over the limit is refused in words, not dropped
            label_visibility="collapsed",
        )
        file = st.file_uploader(
            t("own_data.file"), type=["csv", "tsv", "txt"], key=f"own_data_file_{kind}", max_upload_size=1
        )
        if file is None and not pasted.strip():
            return
        try:
            found = _read(kind, file.getvalue() if file is not None else pasted)
        except DataRefused as refusal:
            st.error(t.markdown(refusal.key, **refusal.values), icon=":material/block:")
            return
        _preview(found, t)
        st.button(
            t("own_data.use"),
            key="own_data_use",
            type="primary",
            icon=":material/check:" if found.data == state.own_data else None,
            on_click=_use,
            args=(state, found.data),
        )


def _set_better(state: Session, name: str) -> None:
    state.choose(**better()[name].settings)


def _read(kind: str, given: bytes | str) -> Read:
    if isinstance(given, bytes):
        if len(given) > MAX_BYTES:
            raise DataRefused("own_data.refused.large", limit=MAX_BYTES)
        text, notes = decoded(given)
    else:
        text, notes = given, ()
    found = read_pairs(text) if kind == "pairs" else read_text(text)
    return Read(found.data, (*notes, *found.notes))


def _preview(found: Read, t: Translate) -> None:
    """Draw how the data is read: its first tokens, how much there is of it, and what was done to it."""
    task = found.data.task()
    examples = [*task.train[:SHOWN], *task.heldout[:1]]
    # A grid is drawn on a canvas: whatever stands in a cell is text.
    st.dataframe(
        {
            t("own_data.source"): [_tokens(each.src) for each in examples],
            t("own_data.target"): [_tokens(each.tgt) for each in examples],
        },
        hide_index=True,
        height="content",
        key="own_data_preview",
    )
    st.caption(
        t.markdown(
            "own_data.read",
            train=f"{len(task.train):,}",
            heldout=f"{len(task.heldout):,}",
            symbols=f"{len(task.vocabulary.tokens):,}",
            longest=task.longest,
        )
    )
    for note in found.notes:
        st.caption(t.markdown(note.key, **note.values))


def _tokens(tokens: tuple[str, ...]) -> str:
    """Return tokens as text, a dot between any two: where they are parted is what matters."""
    return " · ".join(tokens)


def _use(state: Session, data: OwnData) -> None:
    state.own_data = data
    state.choose(task=data.name)
