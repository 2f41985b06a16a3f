"""The pictures of a training: all together, layer by layer, the heads as a film, patterns as they come, words.

Two of them follow a training twice a second; the others show recorded weights, and change when more are recorded.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import streamlit as st

from playground.figures.curves import History, smoothed, training_plain
from playground.figures.emergence import Growth, emergence_plain
from playground.figures.layers import Paces, layers_plain
from playground.figures.scatter import scatter
from playground.head import PLACES
from playground.i18n import Translate, literal
from playground.labelled import Axis, LabelledArray
from playground.over_steps import Emergence, Film, film, held_out_losses, part_grads, planes
from playground.parts import parts
from playground.patterns import SHARES
from playground.plan import planned_rates
from playground.recipe import RunConfig
from playground.runs import Run
from playground.tasks import SPECIALS
from playground.training import Peek, Sample
from playground.ui.components import film as film_component
from playground.ui.components.attention_grid import HeadMaps, attention_grid
from playground.ui.session import Session
from playground.ui.show import show
from playground.ui.train_controls import pick_of

SAMPLES = 4
MOST_POINTS = 300  # of the loss on the film's track
LISTED = 6  # heads that are told in words beside their curves


@dataclass(frozen=True, eq=False)
class Seen:
    """One moment of a training, whether it is under way or long ended.

    Attributes:
        config: Task, model and recipe.
        metrics: An array a name in `playground.runs.COLUMNS`.
        exact_match: Pairs of step and share of held-out sentences translated word for word.
        held_out: Pairs of step and loss on held-out sentences; empty if it was not measured.
        part_steps: Steps at which the parts of the model were measured, `[n]`.
        part_grads: Length of each part's gradient, `[n, part]`.
        part_updates: Length of each part's update against its weights, `[n, part]`.
        step: The step that the samples are of.
        at: The same, if it is to be marked on the curves.
        samples: Held-out sentences and what the model makes of them.
        peek: Attention maps of one sentence; None before the first look.
        run: The same training as far as it is recorded; None before anything is.
        is_behind: Whether the maps are of the last recorded step, the training being further.
    """

    config: RunConfig
    metrics: Mapping[str, npt.NDArray[np.float64]]
    exact_match: tuple[tuple[int, float], ...]
    held_out: tuple[tuple[int, float], ...]
    part_steps: npt.NDArray[np.int64]
    part_grads: npt.NDArray[np.float64]
    part_updates: npt.NDArray[np.float64]
    step: int
    at: int | None
    samples: tuple[Sample, ...]
    peek: Peek | None
    run: Run | None
    is_behind: bool = False


def draw_live(panel: str, seen: Seen, state: Session, t: Translate) -> None:
    """Draw the picture of a moment, if that is what is chosen."""
    if panel == "together":
        _together(seen, state, t)
    elif panel == "layers":
        _layers(seen, state, t)


def draw_recorded(panel: str, state: Session, t: Translate) -> None:
    """Draw the picture of the subject's recorded steps, if that is what is chosen."""
    if panel in RECORDED:
        with st.container(key="train_recorded", gap="xsmall"):
            RECORDED[panel](state, t)


def history(seen: Seen) -> History:
    """Return what is drawn as curves. What was not measured while it was trained is measured on recorded weights."""
    column = seen.metrics
    held_out = seen.held_out
    if not held_out and seen.run is not None and seen.run.is_recording:
        held_out = held_out_losses(seen.run)
    return History(
        step=column["step"],
        loss=column["loss"],
        learning_rate=column["learning_rate"],
        grad_norm=column["grad_norm"],
        exact_match=seen.exact_match,
        steps=seen.config.recipe.steps,
        chance=seen.config.chance_loss,
        least=seen.config.least_loss,
        planned=planned_rates(seen.config),
        at=seen.at,
        held_out=held_out,
    )


def head_maps(looked: Peek, t: Translate) -> tuple[HeadMaps, ...]:
    """Return the maps of a look, encoder, decoder and cross-attention, each with the words at its sides."""
    groups = []
    for where, (query, key, name) in _sides(looked.src, looked.tgt).items():
        layers: list[LabelledArray] = []
        while (full := name.format(len(layers))) in looked.maps:
            heads = Axis("head", tuple(str(i) for i in range(len(looked.maps[full]))))
            layers.append(LabelledArray(full, looked.maps[full], (heads, Axis("query", query), Axis("key", key))))
        if not layers:
            continue
        later = np.where(np.triu(np.ones((len(query), len(key)), dtype=bool), k=1), "causal", "")
        hides = where == "decoder" and not any(layer.values[:, later == "causal"].any() for layer in layers)
        groups.append(HeadMaps(where, t(f"train.maps.{where}"), tuple(layers), later if hides else None))
    return tuple(groups)


def reels(shown: Film, t: Translate) -> tuple[film_component.Reel, ...]:
    """Return a film's maps, encoder, decoder and cross-attention, as the browser plays them."""
    found = []
    for where, (query, key, name) in _sides(shown.src, shown.tgt).items():
        layers: list[npt.NDArray[np.float32]] = []
        while (full := name.format(len(layers))) in shown.maps:
            layers.append(shown.maps[full])
        if layers:
            allowed = shown.allowed[name.format(0)]
            later = np.triu(np.ones(allowed.shape, dtype=bool), k=1)
            hidden = None if allowed.all() else np.where(allowed, "", np.where(later, "causal", "window"))
            title = t(f"train.maps.{where}")
            found.append(film_component.Reel(where, title, tuple(layers), query, key, hidden))
    return tuple(found)


def marked(got: str, wanted: str) -> str:
    """Return a translation as Markdown, what is not as it should be in red; a text without spaces by its characters."""
    gap = " " if " " in wanted else ""
    ours, theirs = (text.split(" ") if gap else list(text) for text in (got, wanted))
    pieces = []
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        text = literal(gap.join(ours[start:end]))
        if text:
            pieces.append(text if kind == "equal" else f":red[{text}]")
    return gap.join(pieces)


def _sides(src: tuple[str, ...], tgt: tuple[str, ...]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]:
    """Return for each attention its queries, its keys, and how its tensors are called."""
    reads = (*tgt[1:], "⟨eos⟩")
    crossing = tuple(f"{word} → {then}" for word, then in zip(tgt, reads, strict=True)) if tgt else ()
    words = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (crossing, src)}
    return {where: (*words[where], f"{stack}.{{}}.{part}.weights") for where, (stack, part) in PLACES.items()}


# --- A moment --------------------------------------------------------------------------------------------------------


def _together(seen: Seen, state: Session, t: Translate) -> None:
    """Draw curves and translations side by side, and the maps under them."""
    theme = state.theme
    curves, words = st.columns([62, 38], gap="medium")
    measured = history(seen)
    with curves:
        show(
            training_plain(measured, t, theme, height=380 if state.present else 296),
            narrow=training_plain(measured, t, theme, height=620, is_narrow=True),
            key="train_curves",
            alt=t("train.curves_alt", task=t(f"tasks.{seen.config.task}.title")),
            filename="training",
            t=t,
            theme=theme,
        )
    with words, st.container(key="train_samples", gap=None):
        st.markdown(t.markdown("train.samples", step=f"{seen.step:,}"))
        for sample in seen.samples[:SAMPLES]:
            sign = ":green[✓]" if sample.right else ":red[✗]"
            got = marked(sample.got, sample.wanted) or t("train.nothing")
            src, wanted = (f":small[:gray[{literal(text)}]]" for text in (sample.src, sample.wanted))
            st.markdown(f"{src}  \n{sign} **{got}**  \n{wanted}")
    if seen.peek is None:
        return
    looked = seen.peek
    task = seen.config.data
    attention_grid(
        head_maps(looked, t),
        key="train_heads",
        alt=t("train.maps_alt", step=f"{looked.step:,}"),
        note=t(
            "train.maps_behind" if seen.is_behind else "train.maps_of",
            step=f"{looked.step:,}",
            src=" ".join(looked.src[:-1] if looked.src and looked.tgt else looked.src),
            tgt=task.detokenize(looked.tgt[1:]),
        ),
        filename="attention",
        t=t,
        theme=theme,
    )


def _layers(seen: Seen, state: Session, t: Translate) -> None:
    """Draw each part's gradient and how far a step moves its weights; the gradient alone where only that is known."""
    names = parts(seen.config.model)
    said = "measured"
    if len(seen.part_steps):
        panels = [
            Paces("grads", seen.part_steps, seen.part_grads),
            Paces("updates", seen.part_steps, seen.part_updates),
        ]
    elif seen.run is not None:
        panels, said = [Paces("grads", *part_grads(seen.run))], "computed"
    else:
        panels, said = [Paces("grads", seen.part_steps, seen.part_grads.reshape(0, len(names)))], "waits"
    steps = seen.config.recipe.steps
    theme = state.theme

    show(
        layers_plain(panels, names, t, theme, steps=steps, at=seen.at),
        narrow=layers_plain(panels, names, t, theme, steps=steps, at=seen.at, height=700, is_narrow=True),
        key="train_layers",
        alt=t("train.layers.alt"),
        caption=t.markdown(f"train.layers.{said}"),
        t=t,
        theme=theme,
    )


# --- Recorded steps --------------------------------------------------------------------------------------------------


def _film(state: Session, t: Translate) -> None:
    """Draw every head at every recorded step, to be played in the browser."""
    run = state.run
    shown = film(run, state.text)
    found = reels(shown, t)
    places = [reel.id for reel in found]
    where = state.place(places, places[-1])
    layer, head = state.layer_and_head(run.config.model.n_layers - 1, 0)
    whose = "gold" if shown.is_gold else "own"
    film_component.film(
        found,
        shown.steps,
        key="train_film",
        at=state.step,
        head=(where, layer, head),
        loss=_track(run),
        held_out=held_out_losses(run),
        chance=run.config.chance_loss,
        written=shown.written,
        on_step=state.choose_step,
        on_head=lambda where, layer, head: state.choose(where=where, layer=layer, head=head),
        alt=t("train.film.alt", n=len(shown.steps)),
        note=t(f"train.film.note.{whose}"),
        filename="film",
        t=t,
        theme=state.theme,
    )


def _track(run: Run) -> list[tuple[float, float]]:
    step, loss = run.metrics["step"], smoothed(run.metrics["loss"])
    if not len(step):
        return []
    # As dense at the beginning, where recorded steps are, as at the end.
    kept = np.unique(np.geomspace(1, len(step), MOST_POINTS).round().astype(np.int64)) - 1
    return [(float(step[i]), round(float(loss[i]), 4)) for i in kept]


def _patterns(state: Session, t: Translate) -> None:
    """Draw how heads come to one pattern, and say from which step on they are beyond chance."""
    shown = film(state.run, state.text)
    kinds = [kind for kind in SHARES if any(each.kind == kind for each in shown.emergence)]
    if not kinds:
        st.info(t.markdown("train.patterns.none"))
        return
    default = next((kind for kind in reversed(kinds) if any(_is(each, kind) for each in shown.emergence)), kinds[-1])
    picked = str(state.picks.get("pattern"))
    kind = picked if picked in kinds else default
    lines = [each for each in shown.emergence if each.kind == kind]
    picture, words = st.columns([68, 32], gap="large")
    with picture:
        growths = [
            Growth(
                _called(each, t),
                each.values,
                np.array([score.high for score in each.scores]),
                each.scores[-1].uniform,
                each.beats,
                each.clears,
            )
            for each in lines
        ]
        at = None if state.step == state.run.steps[-1] else state.step
        show(
            emergence_plain(growths, shown.steps, t, state.theme, at=at, height=470 if state.present else 400),
            key="train_patterns",
            alt=t("train.patterns.alt", pattern=t(f"all_heads.pattern.{kind}")),
            t=t,
            theme=state.theme,
        )
    with words:
        pick_of("pattern", [kind, *(each for each in kinds if each != kind)], state, t, lambda each: _kind(each, t))
        st.markdown(t.markdown(f"train.patterns.is.{kind}"))
        for each in sorted((each for each in lines if each.beats is not None), key=_rank)[:LISTED]:
            said = "clears" if each.clears is not None else "beats"
            st.markdown(
                t.markdown(
                    f"train.patterns.{said}",
                    head=_called(each, t),
                    beats=f"{each.beats:,}",
                    clears=f"{each.clears or 0:,}",
                    share=f"{each.values[-1]:.0%}",
                )
            )
        if not any(each.beats is not None for each in lines):
            st.markdown(t.markdown("train.patterns.nobody"))
        st.caption(t.markdown("train.patterns.baseline"))


def _words(state: Session, t: Translate) -> None:
    """Draw the embedding table at the subject's step, seen from the side that is the same at all steps."""
    run = state.run
    steps, tables, shares = planes(run)
    place = min(range(len(steps)), key=lambda i: abs(steps[i] - state.step))
    points = tables[place]
    task = run.config.data
    words = points.axes[0].labels
    spoken = {*state.reading.src, *state.reading.tgt}
    groups = {
        t("train.words.source", language=t(task.src_language)): [
            i for i, word in enumerate(words) if word in task.src_words and word not in SPECIALS
        ],
        t("train.words.target", language=t(task.tgt_language)): [
            i for i, word in enumerate(words) if word not in task.src_words and word not in SPECIALS
        ],
    }
    reach = 1.08 * max(float(np.abs(each.values).max()) for each in tables)
    across, up = (f"{share:.0%}" for share in shares)
    figure = scatter(
        points,
        {title: rows for title, rows in groups.items() if rows},
        [i for i, word in enumerate(words) if word in spoken],
        titles=(t("train.words.across", share=across), t("train.words.up", share=up)),
        theme=state.theme,
        height=560 if state.present else 500,
    )
    # The same window at every step, so that it is the words that move.
    figure.update_xaxes(range=[-reach, reach]).update_yaxes(range=[-reach, reach])
    show(
        figure,
        key="train_words",
        alt=t("train.words.alt", step=f"{steps[place]:,}"),
        caption=t.markdown("train.words.caption", step=f"{steps[place]:,}", d_model=run.config.model.d_model),
        t=t,
        theme=state.theme,
    )


RECORDED: Mapping[str, Callable[[Session, Translate], None]] = {
    "film": _film,
    "patterns": _patterns,
    "words": _words,
}


def _is(each: Emergence, kind: str) -> bool:
    return each.kind == kind and each.clears is not None


def _rank(each: Emergence) -> tuple[bool, int]:
    return each.clears is None, each.clears if each.clears is not None else each.beats or 0


def _kind(kind: str, t: Translate) -> str:
    return t(f"all_heads.pattern.{kind}")


def _called(each: Emergence, t: Translate) -> str:
    return t("train.patterns.head", where=t(f"frame.where.{each.where}"), layer=each.layer, head=each.head)
