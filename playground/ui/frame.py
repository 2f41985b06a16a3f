"""The frame of every page: menu, language, subject bar, title, presentation mode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import streamlit as st

from playground.i18n import Translate
from playground.ui.controls import pick_from_examples, pick_language, pick_run, pick_step, type_text, whose_run
from playground.ui.link import to_params
from playground.ui.own_run import show_own_run
from playground.ui.session import Session

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]

SIDEBAR = 232  # pixels


@dataclass(frozen=True)
class Page:
    """A page of the app.

    Attributes:
        name: Stem of its file in `pages/`, and of the locale file that has its `title` and `sentence`.
        section: What it stands under in the menu: a key of `frame.section`.
        icon: Name of a Material symbol.
    """

    name: str
    section: str
    icon: str


# In the order of the menu. The first is the one that opens.
PAGES = (
    Page("home", "start", "home"),
    Page("embeddings", "start", "text_fields"),
    Page("positions", "attention", "straighten"),
    Page("one_head", "attention", "visibility"),
    Page("blackboard", "attention", "draw"),
    Page("scaling", "attention", "tune"),
    Page("masks", "attention", "grid_off"),
    Page("all_heads", "attention", "grid_view"),
    Page("layer", "attention", "layers"),
    Page("output", "attention", "match_word"),
    Page("train", "learn", "model_training"),
    Page("learning_rate", "learn", "speed"),
    Page("compare", "learn", "compare_arrows"),
    Page("models", "learn", "inventory_2"),
    Page("decode", "use", "edit_note"),
    Page("kv_cache", "use", "memory"),
)


def navigate() -> None:
    """Draw the menu, open the page that the visitor is on, and let it draw itself."""
    state = Session.here()
    # Before the menu, whose page would otherwise give the browser an icon that it asks another host for.
    st.set_page_config(page_icon=str(FOLDER / "icon.svg"), layout="wide", initial_sidebar_state=SIDEBAR)
    drawn = state.lang, state.present
    page = _menu(state)
    state.begin(page.url_path)
    if drawn != (state.lang, state.present):
        page = _menu(state)
    t = Translate(state.lang)
    st.html(FOLDER / "frame.css")
    if state.present:
        st.html(FOLDER / "present.css")
    else:
        _sidebar(state, t)
    try:
        page.run()
    finally:
        state.end()


def open_page(name: str) -> tuple[Session, Translate]:
    """Draw what every page begins with: the subject, the title, and the sentence that says where to look.

    The first page is all picture: its sentence is its title.

    Args:
        name: Stem of the page's file.

    Returns:
        The visitor's session and words.
    """
    state = Session.here()
    t = Translate(state.lang)
    if state.present:
        _way_out(state, t)
    else:
        _subject_bar(state, t)
    if name == PAGES[0].name:
        with st.container(key="frame_line"):
            st.title(t(f"{name}.sentence"), anchor=False)
    else:
        with st.container(key="frame_title", gap=None):
            st.title(t(f"{name}.title"), anchor=False)
            st.markdown(t.markdown(f"{name}.sentence"))
    if state.notice:
        st.warning(t.markdown(state.notice.key, **state.notice.values), icon=":material/info:")
    return state, t


def badge(state: Session, t: Translate) -> str:
    """Return whose numbers are shown, and of which step of the training."""
    run = state.run
    whose = whose_run(state, run)
    how_far = "untrained" if state.step == 0 else "step"
    steps = f"{run.config.recipe.steps:,}"
    return t(
        "frame.badge.both",
        whose=t(f"frame.badge.{whose}"),
        step=t(f"frame.badge.{how_far}", step=f"{state.step:,}", steps=steps),
    )


def link(state: Session) -> str:
    """Return an address that opens what is shown, for whoever can reach this server."""
    return f"{st.context.url or ''}?{urlencode(to_params(state.view))}".rstrip("?")


def _menu(state: Session) -> st.Page:
    t = Translate(state.lang)
    state.pages = {
        page.name: st.Page(
            ROOT / "pages" / f"{page.name}.py",
            title=t(f"{page.name}.title"),
            icon=f":material/{page.icon}:",
            url_path=page.name,
            default=page is PAGES[0],
        )
        for page in PAGES
    }
    sections: dict[str, list[st.Page]] = {}
    for page in PAGES:
        sections.setdefault(t(f"frame.section.{page.section}"), []).append(state.pages[page.name])
    return st.navigation(sections, position="hidden" if state.present else "sidebar", expanded=True)


def _sidebar(state: Session, t: Translate) -> None:
    logo = (FOLDER / "logo.svg").read_text(encoding="utf-8")
    st.logo(logo.format(name=t("frame.app"), colour=state.theme.text), size="large")
    with st.sidebar:
        show_own_run(state, t)
        pick_language(state, t)


def _subject_bar(state: Session, t: Translate) -> None:
    with st.container(key="frame_bar", gap=None):
        with st.container(key="frame_subject", horizontal=True, vertical_alignment="bottom", gap="small"):
            pick_run(state, t)
            pick_step(state, t)
            type_text(state, t)
            with st.container(key="frame_state", gap=None, width="content"):
                st.badge(badge(state, t), color=_colour(state))
                with st.container(key="frame_actions", horizontal=True, gap="small"):
                    pick_from_examples(state, t)
                    with st.popover(t("frame.link.label"), icon=":material/link:", type="tertiary"):
                        st.caption(t.markdown("frame.link.says"))
                        st.code(link(state), language=None, wrap_lines=True)
                    st.button(
                        t("frame.present.begin"),
                        icon=":material/present_to_all:",
                        type="tertiary",
                        key="present_begin",
                        on_click=state.choose_present,
                        args=(True,),
                    )
        if state.refused:
            st.error(t.markdown(state.refused.key, **state.refused.values), icon=":material/spellcheck:")


def _way_out(state: Session, t: Translate) -> None:
    with st.container(key="frame_out", horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.badge(badge(state, t), color=_colour(state))
        st.button(
            t("frame.present.end"),
            icon=":material/close_fullscreen:",
            type="tertiary",
            key="present_end",
            on_click=state.choose_present,
            args=(False,),
            shortcut="Escape",
        )


def _colour(state: Session) -> Literal["orange", "gray"]:
    return "orange" if state.step == 0 else "gray"
