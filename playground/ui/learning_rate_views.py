"""Learning rates over a training, and what Adam makes of one weight's gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st

from playground.adam import Course, adam, descent, spread
from playground.figures.adam import adam_plain
from playground.figures.schedule import Rates, rate_plain
from playground.i18n import Translate
from playground.probes import Probe, probes
from playground.runs import Run, weight_shapes
from playground.schedule import factor_changes, logged, own_setting, planned
from playground.snippets import of_adam, of_rate
from playground.ui.learning_rate_controls import (
    chosen_others,
    chosen_probe,
    chosen_setting,
    is_log,
    pick_probe,
    pick_setting,
)
from playground.ui.session import Session
from playground.ui.show import show

# What a view is about, in KaTeX.
FORMULAS: Mapping[str, str] = {
    "rate": r"\eta_t=f\cdot d_{\text{model}}^{-0.5}\cdot\min\!\left(t^{-0.5},\ t\cdot w^{-1.5}\right)"
    r"\qquad\eta_w=\frac{f}{\sqrt{d_{\text{model}}\,w}}",
    "adam": r"\begin{aligned}m_t&=\beta_1m_{t-1}+(1-\beta_1)\,g_t&\hat m_t&=\frac{m_t}{1-\beta_1^t}\\"
    r"v_t&=\beta_2v_{t-1}+(1-\beta_2)\,g_t^2&\hat v_t&=\frac{v_t}{1-\beta_2^t}\end{aligned}"
    r"\qquad\theta_t=\theta_{t-1}-\eta_t\frac{\hat m_t}{\sqrt{\hat v_t}+\varepsilon}",
}


def draw(view: str, state: Session, t: Translate) -> None:
    """Draw one of `playground.schedule.VIEWS`, and what is chosen in it."""
    DRAW[view](state, t)


def _rate(state: Session, t: Translate) -> None:
    """Draw Noam's curve for what is chosen, with the rates that the run wrote down."""
    picture = st.container()
    if not state.present:
        pick_setting(state, t)
    now, own, run = chosen_setting(state), own_setting(state.run.config), state.run
    near = now.steps <= 30 * own.steps
    steps, rates = run.metrics["step"], run.metrics["learning_rate"]
    written = logged(steps[steps <= now.steps], rates[steps <= now.steps]) if near else logged(steps[:0], rates[:0])
    drawing = Rates(
        now.curve("noam"),
        now.branches(),
        tuple(now.curve(each) for each in chosen_others(state)),
        written,
        (now.warmup, now.peak),
        max(1, state.step) if near else None,
        is_log(state),
    )
    with picture:
        changes = factor_changes(run.config)
        key = "other" if now != own or run.config.recipe.schedule != "noam" else "changed" if changes else "own"
        st.markdown(
            t.markdown(
                f"learning_rate.look.{key}",
                warmup=f"{now.warmup:,}",
                peak=f"{now.peak:.3g}",
                first=f"{now.rate(1):.2g}",
                last=f"{now.rate(now.steps):.2g}",
                n=f"{len(steps):,}",
                apart=_apart(run),
                changes=", ".join(f"{step:,}: {factor:g}" for step, factor in changes),
            )
        )
        show(
            rate_plain(drawing, t, state.theme, height=430 if state.present else 400),
            narrow=rate_plain(drawing, t, state.theme, height=460, is_narrow=True),
            key="rate_curves",
            alt=t("learning_rate.alt.rate", warmup=f"{now.warmup:,}", peak=f"{now.peak:.3g}", d_model=now.d_model),
            t=t,
            theme=state.theme,
        )
        if not near:
            st.caption(t.markdown("learning_rate.far", steps=f"{own.steps:,}"))


def _apart(run: Run) -> str:
    """Return how far the rates that a run wrote down lie from those of its configuration at most, relative."""
    steps, rates = run.metrics["step"], run.metrics["learning_rate"]
    if not len(steps):
        return "–"
    wanted = planned(run.config, int(steps[-1]))[steps.astype(int) - 1]
    return f"{float(np.abs(rates / wanted - 1).max()):.0e}"


def course_of(run: Run, number: int) -> Course:
    """Return what Adam made of one of the weights whose gradients a run wrote down, over all its steps."""
    recipe = run.config.recipe
    return adam(
        run.gradients[:, number],
        run.metrics["learning_rate"],
        beta1=recipe.beta1,
        beta2=recipe.beta2,
        eps=recipe.eps,
    )


def _adam(state: Session, t: Translate) -> None:
    """Draw one weight's gradients, both means, its steps beside those of plain descent, and its way."""
    run = state.run
    chosen = probes(weight_shapes(run.config.model))
    if not len(run.gradients):
        st.info(t.markdown("learning_rate.no_gradients"), icon=":material/info:")
        return
    names = probe_names(run)
    picture = st.container()
    number = chosen_probe(state, names) if state.present else pick_probe(state, t, names)
    course = course_of(run, number)
    known = [step for step in run.steps if step <= len(course.gradient)]
    recorded = {step: _weight(run, step, chosen[number]) for step in known}
    plain, scale = descent(course)
    at = min(max(1, state.step), len(course.gradient))
    start = recorded[0]
    miss = max(abs(recorded[step] - start - (course.path[step - 1] if step else 0.0)) for step in known)
    with picture:
        st.markdown(
            t.markdown(
                "learning_rate.look.adam",
                adam=f"{spread(course.step):.0f}",
                descent=f"{spread(plain):.0f}",
                name=names[number],
            )
        )
        shown = (course, plain, start, recorded, t, state.theme)
        show(
            adam_plain(*shown, at=at, height=560 if state.present else 470),
            narrow=adam_plain(*shown, at=at, height=900, is_narrow=True),
            key="adam_course",
            alt=t("learning_rate.alt.adam", name=names[number], step=f"{at:,}"),
            t=t,
            theme=state.theme,
        )
        st.caption(t.markdown("learning_rate.checked", n=len(known), miss=f"{miss:.1e}", scale=f"{scale:.3g}"))


def _weight(run: Run, step: int, probe: Probe) -> float:
    return float(run.weights(step)[probe.name][probe.place])


def numbers(view: str, state: Session, t: Translate) -> str:
    """Return what happens at one step in numbers, as a table; empty if the run wrote down nothing of it."""
    return NUMBERS[view](state, t)


def _rate_numbers(state: Session, t: Translate) -> str:
    now = chosen_setting(state)
    step = min(max(1, state.step), now.steps)
    size = now.factor * now.d_model**-0.5
    falling, rising = step**-0.5, step * now.warmup**-1.5
    d_model, d_factor = f"{now.d_model}", f"{now.factor:g}"
    rows = [
        ("f / √d_model", f"{d_factor} / √{d_model}", _said(size)),
        ("t^−0.5", f"1 / √{step}", _said(falling)),
        ("t · w^−1.5", f"{step} / {now.warmup}^1.5", _said(rising)),
        ("η", f"{_said(size)} · {_said(min(falling, rising))}", _said(now.rate(step))),
    ]
    run = state.run
    if now == own_setting(run.config) and step <= len(run.metrics["step"]):
        rows.append((t("learning_rate.curve.logged"), "", _said(float(run.metrics["learning_rate"][step - 1]))))
    return _table(step, rows, t)


def _adam_numbers(state: Session, t: Translate) -> str:
    run, recipe = state.run, state.run.config.recipe
    if not len(run.gradients):
        return ""
    course = course_of(run, chosen_probe(state, probe_names(run)))
    step = min(max(1, state.step), len(course.gradient))
    i = step - 1
    m, v = (course.mean[i - 1], course.square[i - 1]) if i else (0.0, 0.0)
    g, b1, b2 = _said(course.gradient[i]), recipe.beta1, recipe.beta2
    m_hat, v_hat = _said(course.mean_corrected[i]), _said(course.square_corrected[i])
    rows = [
        ("g", "", g),
        ("m", f"{b1:g} · {_said(m)} + {1 - b1:.3g} · {g}", _said(course.mean[i])),
        ("v", f"{b2:g} · {_said(v)} + {1 - b2:.3g} · ({g})²", _said(course.square[i])),
        ("m̂", f"{_said(course.mean[i])} / (1 − {b1:g}^{step})", m_hat),
        ("v̂", f"{_said(course.square[i])} / (1 − {b2:g}^{step})", v_hat),
        ("m̂ / (√v̂ + ε)", f"{m_hat} / (√({v_hat}) + {recipe.eps:g})", _said(course.ratio[i])),
        ("Δθ", f"−{_said(course.rate[i])} · {_said(course.ratio[i])}", _said(course.step[i])),
    ]
    return _table(step, rows, t)


def _said(value: float) -> str:
    return f"{value:.5g}".replace("-", "−")


def _table(step: int, rows: list[tuple[str, str, str]], t: Translate) -> str:
    heads = (t.markdown(f"learning_rate.table.{name}", step=f"{step:,}") for name in ("what", "how", "value"))
    lines = [f"| {' | '.join(heads)} |", "|---|---|---:|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def program(view: str, state: Session) -> str:
    """Return short Python that prints a number of the picture, and once more by hand."""
    run = state.run
    if view == "rate":
        now = chosen_setting(state)
        step = min(max(1, state.step), now.steps)
        own = now == own_setting(run.config) and step <= len(run.metrics["step"])
        return of_rate(run, step, now, is_logged=own and run.config.recipe.schedule == "noam")
    step = min(max(1, state.step), max(1, len(run.gradients)))
    return of_adam(run, step, chosen_probe(state, probe_names(run)))


def probe_names(run: Run) -> tuple[str, ...]:
    """Return the weights whose gradients a run of now writes down, as one would write them in Python."""
    return tuple(each.text for each in probes(weight_shapes(run.config.model)))


DRAW: Mapping[str, Callable[[Session, Translate], None]] = {"rate": _rate, "adam": _adam}
NUMBERS: Mapping[str, Callable[[Session, Translate], str]] = {"rate": _rate_numbers, "adam": _adam_numbers}
