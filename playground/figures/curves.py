"""Curves over training steps: what a run measured, and the learning rate of section 5.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.figures.sheet import Figure, Plain, axis, layout, literal, note, numbers, percent
from playground.figures.theme import Theme
from playground.i18n import Translate

Numbers = npt.NDArray[np.float64]

# More points than pixels say nothing; a longer curve is drawn at every so many-th step, and says so.
MOST_POINTS = 1_000
MOST_STEPS = 1_000_000
SPAN = 20  # steps over which the loss is smoothed


@dataclass(frozen=True, eq=False)
class History:
    """What a run has measured so far.

    Attributes:
        step: Numbers of the updates, rising.
        loss: Of each step's batch, nats per real token.
        learning_rate: Of each update.
        grad_norm: Of each step, before the update.
        exact_match: Pairs of step and share of held-out sentences translated word for word, 0–1.
        steps: Updates planned: the width of the picture, so that it does not move while the curve grows.
        chance: Loss of guessing, ln V, nats.
        least: Smallest loss that label smoothing leaves possible, nats.
        planned: Pairs of step and learning rate of the whole schedule, for the part that is to come.
        at: Step that is looked at; None if it is the last measured.
        held_out: Pairs of step and loss on held-out sentences, nats per real token, without dropout.

    Raises:
        ValueError: If the columns are not equally long, or there are more than `MOST_STEPS`.
    """

    step: Numbers
    loss: Numbers
    learning_rate: Numbers
    grad_norm: Numbers
    exact_match: tuple[tuple[int, float], ...]
    steps: int
    chance: float
    least: float
    planned: tuple[tuple[int, float], ...] = ()
    at: int | None = None
    held_out: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in ("step", "loss", "learning_rate", "grad_norm")}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"columns of one run are equally long, but these are {lengths}")
        if len(self.step) > MOST_STEPS:
            raise ValueError(f"the run has {len(self.step)} steps; at most {MOST_STEPS} are drawn")

    @property
    def every(self) -> int:
        """Of how many steps one is drawn; 1 if all are."""
        return max(1, -(-len(self.step) // MOST_POINTS))


def smoothed(values: Numbers, span: int = SPAN) -> Numbers:
    """Return the exponential mean of each value and those before it, started without bias, as Adam's means are.

    Args:
        values: `[step]`.
        span: The share of a new value is 2 / (span + 1).

    Source: Kingma & Ba 2015, section 3 (the correction of the start).
    """
    share = 2.0 / (span + 1)
    out = np.empty_like(values, dtype=np.float64)
    mean, seen = 0.0, 0.0
    for i, value in enumerate(values.tolist()):
        mean += share * (value - mean)
        seen += share * (1.0 - seen)
        out[i] = mean / seen
    return out


@dataclass(frozen=True)
class Place:
    """Where a panel lies on the paper: plotly's names of its axes, and its ends across and up, 0 to 1."""

    x: str
    y: str
    across: tuple[float, float]
    up: tuple[float, float]


# Left the two that tell how well it goes, right the two that tell why; on a phone one under another.
WIDE = {
    "loss": Place("x", "y", (0.0, 0.66), (0.47, 1.0)),
    "exact_match": Place("x", "y2", (0.0, 0.66), (0.0, 0.32)),
    "learning_rate": Place("x2", "y3", (0.76, 1.0), (0.47, 1.0)),
    "grad_norm": Place("x2", "y4", (0.76, 1.0), (0.0, 0.32)),
}
NARROW = {
    "loss": Place("x", "y", (0.0, 1.0), (0.68, 1.0)),
    "exact_match": Place("x", "y2", (0.0, 1.0), (0.44, 0.59)),
    "learning_rate": Place("x2", "y3", (0.0, 1.0), (0.22, 0.34)),
    "grad_norm": Place("x2", "y4", (0.0, 1.0), (0.0, 0.12)),
}


def training_curves(history: History, t: Translate, theme: Theme, **choices: Any) -> Figure:
    """Draw a run's loss, exact match, learning rate and gradient norm: see `training_plain`."""
    return Figure(training_plain(history, t, theme, **choices))


def training_plain(
    history: History, t: Translate, theme: Theme, *, height: int = 316, is_narrow: bool = False
) -> Plain:
    """Draw a run's loss with the line of guessing and its smoothed course, exact match, learning rate, gradient norm.

    The four share the steps, from 0 to those planned. The scales of loss and exact match stand still during a run.

    Args:
        history: What was measured.
        t: Words.
        theme: Colours and type.
        height: Pixels.
        is_narrow: Whether the panels stand one under another, as on a phone.
    """
    places = NARROW if is_narrow else WIDE
    kept = _kept(history)
    step = history.step[kept]
    steps = max(history.steps, 1)
    top = _top(history)
    smooth = smoothed(history.loss)
    exact = np.array(history.exact_match, dtype=np.float64).reshape(-1, 2)
    held_out = np.array(history.held_out, dtype=np.float64).reshape(-1, 2)
    planned = np.array(history.planned, dtype=np.float64).reshape(-1, 2)
    names = {name: t(f"figure.{name}") for name in places}
    raw = t("figure.loss_each") if history.every == 1 else t("figure.loss_every", n=history.every)
    data = [
        _line("loss", step, history.loss[kept], raw, theme.hidden, width=1, opacity=0.55),
        _line("loss", step, smooth[kept], t("figure.loss_smooth", n=SPAN), theme.weights, width=2.5),
        _line("exact_match", exact[:, 0], exact[:, 1], names["exact_match"], theme.weights, form=".1%", dots=True),
        _line("learning_rate", planned[:, 0], planned[:, 1], t("figure.planned"), theme.hidden, dash="dot"),
        _line("learning_rate", step, history.learning_rate[kept], names["learning_rate"], theme.weights),
        _line("grad_norm", step, history.grad_norm[kept], names["grad_norm"], theme.weights),
    ]
    if len(held_out):
        name = t("figure.held_out_loss")
        data.append(_line("loss", held_out[:, 0], held_out[:, 1], name, theme.key, dash="dash", after=True))
    last = {
        "loss": f"{smooth[-1]:.2f}" if len(smooth) else "",
        "exact_match": percent(exact[-1, 1]) if len(exact) else "",
        "learning_rate": f"{history.learning_rate[-1]:.2g}" if len(step) else "",
        "grad_norm": f"{history.grad_norm[-1]:.2g}" if len(step) else "",
    }
    notes = [each for name in places for each in _heading(places[name], names[name], last[name], theme)]
    marks = [_across("y", history.chance, theme.text, "dash"), _across("y", history.least, theme.muted, "dot")]
    end = places["loss"].across[1]
    if len(held_out):
        notes.append(
            note(
                t("figure.held_out_last", loss=f"{held_out[-1, 1]:.2f}"),
                theme,
                x=places["loss"].across[1],
                y=places["loss"].up[1],
                xanchor="right",
                yanchor="bottom",
                yshift=5,
                xshift=-56,
                font={"size": theme.font_size, "color": theme.key},
            )
        )
    notes += [
        _on_line(t("figure.chance", loss=f"{history.chance:.2f}"), end, history.chance, "bottom", theme, theme.text),
        _on_line(t("figure.least", loss=f"{history.least:.2f}"), end, history.least, "top", theme, theme.muted),
    ]
    if history.at is not None:
        marks += [_upright(x, history.at, theme) for x in ("x", "x2")]
    loss, exact_match, rate, grad = places.values()
    told = {"text": f"{literal(t('figure.step'))} %{{x}}"}
    wide: Plain = {"range": [0, steps], "showgrid": False, "unifiedhovertitle": told}
    why: Plain = {"anchor": "x2", "rangemode": "tozero", "tickformat": "~g"}
    axes: Plain = {
        "xaxis": axis(theme, domain=[*loss.across], anchor="y2", nticks=5, **wide),
        "xaxis2": axis(theme, domain=[*rate.across], anchor="y4", nticks=5 if is_narrow else 3, matches="x", **wide),
        "yaxis": axis(theme, domain=[*loss.up], range=[0, top], nticks=5),
        "yaxis2": axis(theme, domain=[*exact_match.up], range=[0, 1.04], tickvals=[0, 0.5, 1], tickformat=".0%"),
        "yaxis3": axis(theme, domain=[*rate.up], nticks=4, **why),
        "yaxis4": axis(theme, domain=[*grad.up], nticks=3, **why),
    }
    return {
        "data": data,
        "layout": layout(
            theme,
            height=height,
            margin={"l": 50, "r": 36, "t": 30, "b": 26},
            hovermode="x unified",
            hoversubplots="axis",
            # A zoom stays as long as the scales do.
            uirevision=f"{steps} {top:.4g}",
            shapes=marks,
            annotations=[*notes, _step_title(t, theme)],
            **axes,
        ),
    }


def noam(
    planned: tuple[tuple[int, float], ...],
    t: Translate,
    theme: Theme,
    *,
    at: int | None = None,
    height: int = 180,
) -> Figure:
    """Draw a schedule of learning rates with its peak in numbers.

    Args:
        planned: Pairs of step, from 1, and learning rate.
        t: Words.
        theme: Colours and type.
        at: Step that is looked at, marked if there is one.
        height: Pixels.

    Raises:
        ValueError: If there is no step, or one is not finite.

    Source: Vaswani et al. 2017, section 5.3, equation 3.
    """
    return Figure(noam_plain(planned, t, theme, at=at, height=height))


def noam_plain(
    planned: tuple[tuple[int, float], ...],
    t: Translate,
    theme: Theme,
    *,
    at: int | None = None,
    height: int = 180,
) -> Plain:
    """Return `noam` as plain data.

    Raises:
        ValueError: As `noam`.
    """
    points = np.array(planned, dtype=np.float64).reshape(-1, 2)
    if not len(points) or not np.isfinite(points).all():
        raise ValueError(f"a schedule needs at least one step and finite rates, but got {planned[:3]!r}")
    step, rate = points[:, 0], points[:, 1]
    best = int(rate.argmax())
    peak = t("figure.peak", rate=f"{rate[best]:.3g}", step=f"{int(step[best]):,}")
    left = step[best] < step[-1] / 2
    return {
        "data": [_line("loss", step, rate, t("figure.learning_rate"), theme.weights, form="~g")],
        "layout": layout(
            theme,
            height=height,
            margin={"l": 56, "r": 36, "t": 26, "b": 26},
            hovermode="x unified",
            shapes=[] if at is None else [_upright("x", at, theme)],
            annotations=[
                _step_title(t, theme),
                {
                    **note(peak, theme, x=float(step[best]), y=float(rate[best])),
                    "xref": "x",
                    "yref": "y",
                    "xanchor": "left" if left else "right",
                    "yanchor": "bottom",
                    "font": {"size": theme.font_size, "color": theme.text},
                },
            ],
            xaxis=axis(theme, range=[0, float(step[-1])], showgrid=False),
            yaxis=axis(theme, range=[0, float(rate[best]) * 1.15], nticks=4, tickformat="~g"),
        ),
    }


def _kept(history: History) -> npt.NDArray[np.int64]:
    """Return which measurements are drawn: each `every`-th, counted back from the last."""
    n = len(history.step)
    return np.arange(n - 1, -1, -history.every, dtype=np.int64)[::-1]


def _top(history: History) -> float:
    """Return the top of the loss scale: over guessing and a first loss above it, but not over one that blew up."""
    worst = float(np.max(history.loss, initial=0.0, where=np.isfinite(history.loss)))
    return 1.12 * max(history.chance, min(worst, 1.6 * history.chance), 0.1)


def _line(
    panel: str,
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    name: str,
    colour: str,
    *,
    width: float = 2,
    form: str = ".3~g",
    dots: bool = False,
    after: bool = False,
    opacity: float = 1.0,
    dash: str = "solid",
) -> Plain:
    return {
        "type": "scatter",
        "mode": "lines+markers" if dots else "lines",
        "name": literal(name),
        "x": numbers(x),
        "y": numbers(y),
        "xaxis": WIDE[panel].x,
        "yaxis": WIDE[panel].y,
        "line": {"color": colour, "width": width, "dash": dash},
        "marker": {"size": 6, "color": colour},
        "opacity": opacity,
        "cliponaxis": False,
        # What is measured now and then is not of the step under the pointer, so it says of which.
        "hovertemplate": f"%{{y:{form}}}" + (" (%{x})" if dots or after else ""),
    }


def _heading(place: Place, title: str, last: str, theme: Theme) -> list[Plain]:
    """Return a panel's name over its left end, and the last value over its right end."""
    strong = {"size": theme.font_size, "color": theme.text}
    more: Plain = {"y": place.up[1], "yanchor": "bottom", "yshift": 5, "font": strong}
    # The numbers at the scale stand left of the panel, and its name begins over them.
    return [
        note(title, theme, x=place.across[0], xanchor="left", xshift=-50 if place.across[0] == 0 else -40, **more),
        note(last, theme, x=place.across[1], xanchor="right", **more),
    ]


def _on_line(text: str, x: float, y: float, anchor: str, theme: Theme, colour: str) -> Plain:
    return {
        **note(text, theme, x=x, y=y),
        "yref": "y",
        "xanchor": "right",
        "yanchor": anchor,
        "font": {"size": theme.font_size, "color": colour},
    }


def _across(y_axis: str, y: float, colour: str, dash: str) -> Plain:
    line = {"color": colour, "width": 1.2, "dash": dash}
    return {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "yref": y_axis, "y0": y, "y1": y, "line": line}


def _upright(x_axis: str, x: int, theme: Theme) -> Plain:
    line = {"color": theme.focus, "width": 2}
    return {"type": "line", "xref": x_axis, "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _step_title(t: Translate, theme: Theme) -> Plain:
    """Return the word beside the numbers of the steps: left of their 0."""
    return note(t("figure.step"), theme, x=0, y=0, xanchor="left", yanchor="top", yshift=-2, xshift=-50)
