"""What is done to a run on the page Models: shown, named, taken along, deleted; and one that is brought."""

from __future__ import annotations

from io import BytesIO

import streamlit as st

from playground.capsule import MOST_BYTES, capsule_name, capsule_size, read_capsule, write_capsule
from playground.i18n import Translate
from playground.library import LONGEST_TITLE, glance, relabel, remove
from playground.recipe import RunRefused
from playground.runs import MAX_NOTE, Run, RunStore, digest
from playground.training import RunStatus, shared_engine
from playground.ui.models_views import size, title
from playground.ui.session import Notice, Session


def act_on(run: Run, state: Session, t: Translate) -> None:
    """Draw what can be done to a run; deleting and naming only to one's own."""
    with st.container(key="models_acts", horizontal=True, vertical_alignment="bottom", gap="small"):
        is_subject = run.id == state.run_id
        st.button(
            t("models.do.is_subject" if is_subject else "models.do.use"),
            key="models_use",
            icon=":material/check:" if is_subject else ":material/visibility:",
            type="secondary" if is_subject else "primary",
            disabled=is_subject or not run.steps,
            on_click=state.choose_run,
            args=(run.id,),
        )
        status = _status(run) if is_own(run, state) else None
        if status and status.can_resume:
            st.button(
                t("models.do.go_on", step=f"{status.step:,}"),
                key="models_go_on",
                icon=":material/play_arrow:",
                on_click=_go_on,
                args=(run, state),
            )
        if run.steps:
            with st.popover(t("models.export.open"), icon=":material/download:"):
                _take_along(run, t)
        if is_own(run, state):
            with st.popover(t("models.delete.open"), icon=":material/delete:"):
                _delete(run, state, t)
    if is_own(run, state):
        _name(run, state, t)


def is_own(run: Run, state: Session) -> bool:
    """Say whether the visitor began or brought the run, and may so change it."""
    return not run.is_recording and run.label.owner == digest(state.owner)


def bring(state: Session, t: Translate) -> None:
    """Let the visitor bring a capsule. What is refused is said here, and nothing else is touched."""
    with st.container(key="models_bring", border=True):
        st.markdown(f"**{t('models.bring.heading')}**")
        # Streamlit's own button speaks English only; models.css writes this in its place.
        st.html(f"<style>.st-key-models_bring {{ --choose: '{t('models.bring.choose')}' }}</style>")
        # Under another name the widget is another, and the file that was brought is let go of at once.
        turn = st.session_state.setdefault("models_bring_turn", 0)
        brought = st.file_uploader(
            t("models.bring.label", most=MOST_BYTES // 2**20),
            key=f"models_bring_{turn}",
            max_upload_size=MOST_BYTES // 2**20,
        )
        st.caption(t.markdown("models.bring.says"))
        if brought is not None:
            st.session_state["models_bring_turn"] = turn + 1
            st.session_state["models_brought"] = _unpacked(brought.getbuffer(), state)
            st.rerun()
        _answer(st.session_state.get("models_brought"), state, t)


def _unpacked(data: memoryview, state: Session) -> str | RunRefused:
    """Return the id of the run in a capsule, or why there is none."""
    try:
        if len(data) > MOST_BYTES:
            raise RunRefused("capsule.refused.large", high=MOST_BYTES // 2**20)
        store, most = RunStore(), shared_engine().limits.runs
        if most is not None and len(store.kept_by(state.owner)) >= most:
            raise RunRefused("models.refused.full", n=most)
        run = read_capsule(data, store, digest(state.owner))
    except RunRefused as error:
        return error
    state.brought(run.id)
    return run.id


def _answer(brought: str | RunRefused | None, state: Session, t: Translate) -> None:
    if isinstance(brought, RunRefused):
        st.error(t.markdown(brought.key, **brought.values), icon=":material/block:")
        return
    run = next((run for run in state.runs if run.id == brought), None)
    if run is None:
        return
    st.success(t.markdown("models.bring.done", title=title(run, t), n=len(run.steps)), icon=":material/check:")
    if run.id != state.run_id:
        st.button(t("models.bring.open"), key="models_bring_use", on_click=state.choose_run, args=(run.id,))


def _take_along(run: Run, t: Translate) -> None:
    st.caption(t.markdown("models.export.says"))
    with st.container(key="models_export", width=420):
        ways = ("all", "last")
        words = {way: t(f"models.export.{way}", n=len(run.steps)) for way in ways}
        way = st.radio(t("models.export.steps"), ways, format_func=words.__getitem__, key="models_export_steps")
        steps = run.steps if way == "all" else run.steps[-1:]
        has_state = any(step in run.state_steps for step in steps)
        without, whole = capsule_size(run, steps), capsule_size(run, steps, states=has_state)
        along = has_state and st.checkbox(
            t("models.export.state", size=size(whole - without, t)),
            key="models_export_state",
            help=t("models.export.state_says"),
        )
        if not has_state:
            st.caption(t.markdown("models.export.state_none"))
        n_bytes = whole if along else without
        st.markdown(t.markdown("models.export.size", size=size(n_bytes, t)))
        if n_bytes > MOST_BYTES:
            st.caption(t.markdown("models.export.large", size=size(n_bytes, t), most=size(MOST_BYTES, t)))

        def made() -> bytes:
            file = BytesIO()
            write_capsule(file, run, steps, states=along)
            return file.getvalue()

        st.download_button(
            t("models.export.download"),
            made,
            file_name=capsule_name(run),
            mime="application/octet-stream",
            key="models_download",
            on_click="ignore",
            type="primary",
        )


def _delete(run: Run, state: Session, t: Translate) -> None:
    if _is_active(run):
        st.markdown(t.markdown("models.delete.active"))
        return
    st.markdown(t.markdown("models.delete.says", size=size(glance(run).size, t)))
    st.button(
        t("models.delete.sure"),
        key="models_delete_sure",
        icon=":material/delete_forever:",
        on_click=_deleted,
        args=(run, state, t),
    )


def _deleted(run: Run, state: Session, t: Translate) -> None:
    try:
        remove(run, RunStore(), state.owner, is_active=_is_active(run))
    except RunRefused as error:
        state.notice = Notice(error.key, error.values)
        return
    state.let_go(run.id)
    state.forget("kept")
    st.session_state.pop("models_brought", None)
    st.toast(t.markdown("models.delete.done", title=title(run, t)))


def _go_on(run: Run, state: Session) -> None:
    try:
        shared_engine().resume(run.id, state.owner)
    except RunRefused as error:
        state.notice = Notice(error.key, error.values)
        return
    state.began(run.id)


def _status(run: Run) -> RunStatus | None:
    try:
        return shared_engine().status(run.id)
    except RunRefused:
        return None


def _is_active(run: Run) -> bool:
    status = _status(run)
    return status is not None and status.is_active


def _name(run: Run, state: Session, t: Translate) -> None:
    with st.form("models_label", border=False):
        name = st.text_input(
            t("models.label.title"),
            run.title,
            max_chars=LONGEST_TITLE,
            key=f"models_title_{run.id}",
            autocomplete="off",
        )
        note = st.text_area(
            t("models.label.note"),
            run.label.note,
            max_chars=MAX_NOTE,
            height=90,
            key=f"models_note_{run.id}",
            placeholder=t("models.label.note_hint"),
        )
        if st.form_submit_button(t("models.label.save")):
            try:
                relabel(run, name or "", note or "")
            except RunRefused as error:
                state.notice = Notice(error.key, error.values)
            st.rerun()
