"""What is chosen on the page that compares runs, and what begins there: its widgets, their keys among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from playground.comparing import LETTERS, MOST, changed, listed, offered, phrase
from playground.head import PLACES
from playground.i18n import Translate
from playground.plan import SETTINGS
from playground.prepared import MEASURES, OVER, PREPARED, RECORDED, Prepared, experiment_name
from playground.recipe import RunConfig
from playground.runs import Run, RunRefused, RunStore, can_fork
from playground.training import shared_engine
from playground.ui.controls import ATTENTIONS, run_title
from playground.ui.session import Notice, Session

MOST_CHANGES = 4
BEST = "best"

# What a fork may change, in the order in which it is offered; the rest of `SETTINGS` is set on the page that trains.
FORKED = (
    *("positions", "train_causal", "scale_scores", "residual", "norm_placement", "n_heads", "n_kv_heads"),
    *("activation", "norm", "dropout", "label_smoothing", "schedule", "factor", "warmup", "batch_size", "seed"),
)


@dataclass(frozen=True)
class Choice:
    """What is compared.

    Attributes:
        runs: One to four runs.
        prepared: The prepared comparison that they are, if they are one.
        step: The subject's step, if it is one of the runs; else each is looked at as it is at its end.
    """

    runs: tuple[Run, ...]
    prepared: Prepared | None
    step: int | None


def chosen(state: Session) -> Choice:
    """Return what the link asks to compare: a prepared comparison, or runs by their ids; else the first prepared."""
    asked = str(state.picks.get("compare", ""))
    prepared = PREPARED.get(asked) if asked else next(iter(PREPARED.values()))
    runs = _opened(prepared.runs if prepared else asked.split(","))
    if not runs:
        return Choice((state.run,), None, state.step)
    return Choice(runs, prepared, state.step if state.run_id in {run.id for run in runs} else None)


def pick_prepared(choice: Choice, state: Session, t: Translate) -> None:
    """Offer the prepared comparisons, one click each."""
    key = "compare_prepared"
    st.session_state[key] = choice.prepared.id if choice.prepared else None
    st.pills(
        t("compare.prepared"),
        [*PREPARED],
        format_func=lambda each: t(f"experiments.{each}.title"),
        key=key,
        on_change=_open_prepared,
        args=(state, key),
    )


def pick_curves(choice: Choice, state: Session, t: Translate) -> None:
    """Let the visitor choose what is drawn, and over what."""
    measure, over = drawn(choice, state)
    _segments("curve", MEASURES, measure, state, t("compare.curve.label"), lambda each: t(f"compare.curve.{each}"))
    _segments("over", OVER, over, state, t("compare.over.label"), lambda each: t(f"compare.over.{each}"))


def drawn(choice: Choice, state: Session) -> tuple[str, str]:
    """Return what is drawn, and over what: as chosen, else as the prepared comparison has it."""
    default = choice.prepared or next(iter(PREPARED.values()))
    return str(state.picks.get("curve", default.measure)), str(state.picks.get("over", default.over))


def pick_maps(choice: Choice, state: Session, t: Translate) -> None:
    """Let the visitor choose whose maps are laid side by side: which attention, which head, against which run."""
    where, _, other = maps_of(choice, state)
    model = choice.runs[0].config.model
    places = [place for place in PLACES if place in ATTENTIONS[model.architecture]]
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="compare_maps_row"):
        _segments("where", places, where, state, t("frame.pick.where"), lambda each: t(f"frame.where.{each}"))
        heads = [f"{layer}-{head}" for layer in range(model.n_layers) for head in range(model.n_heads)]
        options = [BEST, *heads]
        shown = str(state.picks.get("compare_head", choice.prepared.head if choice.prepared else BEST))
        _select(
            "compare_head", options, shown if shown in options else BEST, state, t("compare.head.label"), _head_words(t)
        )
        if len(choice.runs) > 2:
            others = [str(i) for i in range(1, len(choice.runs))]
            _segments("against", others, str(other), state, t("compare.against"), lambda each: LETTERS[int(each)])


def maps_of(choice: Choice, state: Session) -> tuple[str, tuple[int, int] | None, int]:
    """Return whose maps are shown: a key of `PLACES`, (layer, head) or None for each run's best, and the other run."""
    places = [place for place in PLACES if place in ATTENTIONS[choice.runs[0].config.model.architecture]]
    default = choice.prepared.where if choice.prepared and choice.prepared.where in places else places[-1]
    pair = str(state.picks.get("compare_head", choice.prepared.head if choice.prepared else BEST))
    layer, _, head = pair.partition("-")
    against = state.picks.get("against", "1")
    other = min(max(int(against), 1), max(1, len(choice.runs) - 1))
    return state.place(places, default), None if pair == BEST else (int(layer), int(head)), other


def pick_runs(choice: Choice, state: Session, t: Translate) -> None:
    """Let the visitor choose the runs: the recordings, the own ones, and those that are compared already."""
    titles: dict[str, str] = {}
    for run in (*state.runs, *choice.runs):
        if run.id not in titles:
            title = called(run, state, t)
            # A browser tells options apart by their words.
            titles[run.id] = title if title not in titles.values() else f"{title} · {run.id[:8]}"
    key = "compare_runs"
    st.session_state[key] = [run.id for run in choice.runs]
    with st.popover(t("compare.runs"), icon=":material/checklist:", key="compare_runs_popover"):
        st.multiselect(
            t("compare.runs_say", n=MOST),
            list(titles),
            format_func=titles.__getitem__,
            key=key,
            max_selections=MOST,
            on_change=_choose_runs,
            args=(state, key),
        )


def called(run: Run, state: Session, t: Translate) -> str:
    """Return what a run is called where one is chosen, whether the subject bar has it or not."""
    if run.id in {each.id for each in state.runs}:
        return run_title(state, t, run.id)
    if run.id in RECORDED:
        return t("compare.recorded", name=experiment_name(run.id, t))
    return run.title or t(f"tasks.{run.task}.title")


def fork(state: Session, t: Translate) -> None:
    """Offer to train the subject on from the step that is looked at, with something changed."""
    key = f"compare_fork_popover_{len(state.own_runs)}"  # another one once a run has begun: so it closes
    with st.popover(t("compare.fork.label"), icon=":material/call_split:", key=key):
        parent, step = state.run, state.step
        title = run_title(state, t, parent.id)
        st.markdown(t.markdown("compare.fork.says", title=title, step=f"{step:,}"))
        changes = chosen_changes(state)
        key = "compare_changes"
        st.session_state[key] = [*changes]
        st.multiselect(
            t("compare.fork.what"),
            list(FORKED),
            format_func=lambda name: t(f"train.setting.{name}"),
            key=key,
            max_selections=MOST_CHANGES,
            on_change=_choose_changes,
            args=(state, parent.config, key),
        )
        for name, value in changes.items():
            _pick_change(name, value, changes, parent.config, state, t)
        if not changes:
            st.caption(t.markdown("compare.fork.unchanged"))
        unfit = _unfit(parent, changes)
        begins = 0 if unfit else step
        if unfit and step:
            named = listed([t(f"train.setting.{name}") for name in unfit], t)
            st.caption(t.markdown("compare.fork.fresh", names=named, step=f"{step:,}"))
        st.session_state["compare_beside"] = state.picks.get("twin") == "yes"
        st.toggle(
            t("compare.fork.beside"),
            key="compare_beside",
            help=t("compare.fork.beside_says"),
            on_change=_beside,
            args=(state,),
        )
        st.button(
            t("compare.fork.begin", step=f"{begins:,}"),
            type="primary",
            icon=":material/play_arrow:",
            key="compare_fork",
            on_click=_fork,
            args=(state, parent, begins),
        )


def chosen_changes(state: Session) -> dict[str, str]:
    """Return what a fork is to change, by names in `FORKED`, as far as it fits the subject."""
    found: dict[str, str] = {}
    for part in str(state.picks.get("change", "")).split(","):
        name, _, value = part.partition(":")
        if name in FORKED and value in SETTINGS[name].options and len(found) < MOST_CHANGES:
            try:
                changed(state.run.config, {**found, name: value})
            except ValueError:
                continue
            found[name] = value
    return found


def open_run(run: Run, state: Session, t: Translate, number: int) -> None:
    """Offer to make a run the subject of every page."""
    st.button(
        t("compare.open"),
        key=f"compare_open_{number}",
        type="tertiary",
        icon=":material/open_in_full:",
        disabled=run.id == state.run_id or not run.steps,
        on_click=state.choose_run,
        args=(run.id,),
    )


def train_now(choice: Choice, state: Session, t: Translate) -> None:
    """Offer to train the first two runs of a comparison again, live, side by side."""
    st.button(
        t("compare.live.begin"),
        icon=":material/play_circle:",
        key="compare_live",
        help=t("compare.live.says"),
        on_click=_train_both,
        args=(state, [run.config for run in choice.runs[:2]]),
    )


def _opened(ids: Sequence[str]) -> tuple[Run, ...]:
    store, found = RunStore(), {}
    for run_id in ids[:MOST]:
        try:
            found[run_id] = store.open(run_id)
        except RunRefused:
            continue
    return tuple(found.values())


def _open_prepared(state: Session, key: str) -> None:
    prepared = PREPARED.get(str(st.session_state.get(key)))
    if prepared is None:
        return
    state.choose_run(prepared.runs[0])
    state.choose(
        compare=prepared.id,
        curve=prepared.measure,
        over=prepared.over,
        where=prepared.where,
        compare_head=prepared.head,
    )


def _choose_runs(state: Session, key: str) -> None:
    ids = st.session_state.get(key)
    if ids:
        state.choose(compare=",".join(ids))


def _choose_changes(state: Session, config: RunConfig, key: str) -> None:
    """Take down which settings change: those chosen before keep their value, a new one gets the first other value."""
    before = chosen_changes(state)
    after: dict[str, str] = {}
    for name in st.session_state.get(key) or []:
        options = offered(config, after, name)
        if value := before.get(name) or next(iter(options), None):
            after[name] = value
    _take_down(state, after)


def _choose_change(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        _take_down(state, {**chosen_changes(state), name: value})


def _take_down(state: Session, changes: Mapping[str, str]) -> None:
    state.choose(change=",".join(f"{name}:{value}" for name, value in changes.items()) or "-")


def _pick_change(
    name: str, value: str, changes: Mapping[str, str], config: RunConfig, state: Session, t: Translate
) -> None:
    options = offered(config, {key: each for key, each in changes.items() if key != name}, name)
    field = SETTINGS[name].of
    before = changed(config, {})
    now = getattr(before.model, field) if SETTINGS[name].is_model else getattr(before.recipe, field)
    key = f"compare_change_{name}"
    st.session_state[key] = value if value in options else options[0]
    st.selectbox(
        t("compare.fork.instead", now=phrase(field, now, t)),
        options,
        format_func=lambda text: _would_be(config, changes, name, text, t),
        key=key,
        on_change=_choose_change,
        args=(state, name, key),
        filter_mode=None,
    )


def _would_be(config: RunConfig, changes: Mapping[str, str], name: str, text: str, t: Translate) -> str:
    then = changed(config, {**changes, name: text})
    return phrase(SETTINGS[name].of, {**then.model.to_dict(), **then.recipe.to_dict()}[SETTINGS[name].of], t)


def _unfit(parent: Run, changes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the changes for which the weights that there are do not fit, so that the fork needs fresh ones."""
    then = changed(parent.config, changes)
    values = {**then.model.to_dict(), **then.recipe.to_dict()}
    fits = can_fork(parent.config, {SETTINGS[name].of: values[SETTINGS[name].of] for name in changes})
    return tuple(name for name in changes if not fits[SETTINGS[name].of])


def _beside(state: Session) -> None:
    state.choose(twin="yes" if st.session_state.get("compare_beside") else "no")


def _fork(state: Session, parent: Run, step: int) -> None:
    """Begin the fork, beside it the same without a change if that is asked for, and compare the two."""
    then, engine = changed(parent.config, chosen_changes(state)), shared_engine()
    first, child = parent.id, ""
    try:
        child = engine.fork(parent.id, step, state.owner, model=then.model, recipe=then.recipe)
        state.began(child)
        if state.picks.get("twin") == "yes":
            first = engine.fork(parent.id, step, state.owner, companion_of=child)
            state.began(first)
    except RunRefused as error:
        state.notice = Notice(error.key, error.values)
    if child:
        state.choose(compare=f"{first},{child}")


def _train_both(state: Session, configs: Sequence[RunConfig]) -> None:
    engine = shared_engine()
    begun: list[str] = []
    try:
        for config in configs:
            begun.append(engine.submit(config, state.owner, companion_of=begun[0] if begun else None))
    except RunRefused as error:
        state.notice = Notice(error.key, error.values)
    for run_id in reversed(begun):
        state.began(run_id)
    if begun:
        state.choose(compare=",".join(begun))


def _head_words(t: Translate) -> Callable[[str], str]:
    def words(text: str) -> str:
        layer, _, head = text.partition("-")
        return t("compare.head.best") if text == BEST else t("figure.grid.tile", layer=layer, head=head)

    return words


def _segments(
    name: str, options: Sequence[str], shown: str, state: Session, label: str, words: Callable[[str], str]
) -> None:
    key = f"compare_pick_{name}"
    st.session_state[key] = shown
    st.segmented_control(
        label, options, format_func=words, key=key, on_change=_chose, args=(state, name, key), required=True
    )


def _select(
    name: str, options: Sequence[str], shown: str, state: Session, label: str, words: Callable[[str], str]
) -> None:
    key = f"compare_pick_{name}"
    st.session_state[key] = shown
    st.selectbox(
        label,
        options,
        format_func=words,
        key=key,
        on_change=_chose,
        args=(state, name, key),
        filter_mode=None,
        width=240,
    )


def _chose(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        state.choose(**{name: value})
