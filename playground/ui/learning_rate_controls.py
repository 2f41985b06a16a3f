"""What is chosen on the page on learning rates and Adam: its widgets, their keys among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from playground.i18n import Translate
from playground.schedule import OTHERS, PUBLISHED, SPEEDS, VIEWS, Setting, own_setting
from playground.ui.session import Session


def pick_view(state: Session, t: Translate) -> str:
    """Let the visitor choose what is looked at: one of `playground.schedule.VIEWS`."""
    return _segments("rates", VIEWS, VIEWS[0], state, t, "learning_rate.view")


def chosen_setting(state: Session) -> Setting:
    """Return what the rate depends on, as it is chosen; the run's own where nothing is."""
    own = own_setting(state.run.config)
    return Setting(
        d_model=int(state.picks.get("rate_width", own.d_model)),
        warmup=int(state.picks.get("rate_warmup", own.warmup)),
        factor=float(state.picks.get("rate_factor", own.factor)),
        steps=int(state.picks.get("rate_steps", own.steps)),
    )


def chosen_others(state: Session) -> tuple[str, ...]:
    """Return the schedules that are drawn beside Noam's."""
    chosen = str(state.picks.get("beside", "all"))
    return OTHERS if chosen == "all" else tuple(each for each in OTHERS if each == chosen)


def is_log(state: Session) -> bool:
    """Say whether both scales are logarithmic."""
    return state.picks.get("rate_scale") == "log"


def pick_setting(state: Session, t: Translate) -> None:
    """Let the visitor choose what the rate depends on, or one of the published settings, and what stands beside."""
    own = own_setting(state.run.config)
    now = chosen_setting(state)
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom", key="rate_row"):
        values = (now.d_model, now.warmup, now.factor, now.steps)
        owned = (own.d_model, own.warmup, own.factor, own.steps)
        for (name, offered), value, mine in zip(SPEEDS.items(), values, owned, strict=True):
            _slide(name, offered, value, mine, state, t)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="rate_presets"):
        st.button(
            t("learning_rate.preset.own"),
            key="rate_preset_own",
            type="primary" if now == own else "secondary",
            on_click=state.forget,
            args=tuple(SPEEDS),
        )
        for name, setting in PUBLISHED.items():
            st.button(
                t(f"learning_rate.preset.{name}"),
                key=f"rate_preset_{name}",
                type="primary" if now == setting else "secondary",
                help=t(f"learning_rate.preset_says.{name}"),
                on_click=_take,
                args=(state, setting),
            )
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom", key="rate_beside"):
        _segments("beside", ("all", *OTHERS, "none"), "all", state, t, "learning_rate.beside")
        _segments("rate_scale", ("linear", "log"), "linear", state, t, "learning_rate.scale")


def chosen_probe(state: Session, names: tuple[str, ...]) -> int:
    """Return the number of the weight that is chosen, of those whose gradients a run wrote down."""
    return min(_whole(state.picks.get("probe", 0)), len(names) - 1)


def pick_probe(state: Session, t: Translate, names: tuple[str, ...]) -> int:
    """Let the visitor choose one of the weights whose gradients a run wrote down; returns its number."""
    shown = chosen_probe(state, names)
    st.session_state["rate_probe"] = shown
    st.selectbox(
        t("learning_rate.probe"),
        range(len(names)),
        format_func=lambda number: names[number],
        key="rate_probe",
        on_change=_chose,
        args=(state, "probe", "rate_probe"),
        filter_mode=None,
    )
    return shown


def _segments(name: str, options: Iterable[str], default: str, state: Session, t: Translate, words: str) -> str:
    shown = str(state.picks.get(name, default))
    key = f"rate_pick_{name}"
    st.session_state[key] = shown
    st.segmented_control(
        t(f"{words}.label"),
        tuple(options),
        format_func=lambda option: t(f"{words}.{option}"),
        key=key,
        on_change=_chose,
        args=(state, name, key),
        required=True,
    )
    return shown


def _slide(name: str, offered: Iterable[str], value: float, own: float, state: Session, t: Translate) -> None:
    """Draw a slider over what is offered and the run's own value, at the place of the value."""
    options = sorted({*map(float, offered), float(own), float(value)})
    key = f"rate_slide_{name}"
    st.session_state[key] = float(value)
    st.select_slider(
        t(f"learning_rate.part.{name}"),
        options,
        format_func=_told(own, t),
        key=key,
        on_change=_slid,
        args=(state, name, key, tuple(offered)),
    )


def _told(own: float, t: Translate) -> Callable[[float], str]:
    def told(value: float) -> str:
        text = f"{value:,.0f}" if value >= 10 else f"{value:g}"
        return t("learning_rate.own", value=text) if value == own else text

    return told


def _slid(state: Session, name: str, key: str, offered: tuple[str, ...]) -> None:
    value = st.session_state.get(key)
    text = f"{value:g}" if isinstance(value, float) and value < 1e5 else f"{value:.0f}" if value else ""
    if text in offered:
        state.choose(**{name: text})
    else:
        state.forget(name)


def _take(state: Session, setting: Setting) -> None:
    values = {
        "rate_width": f"{setting.d_model}",
        "rate_warmup": f"{setting.warmup}",
        "rate_factor": f"{setting.factor:g}",
        "rate_steps": f"{setting.steps}",
    }
    state.forget(*SPEEDS)
    state.choose(**{name: value for name, value in values.items() if value in SPEEDS[name]})


def _chose(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        state.choose(**{name: value})


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
