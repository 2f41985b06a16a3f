"""What one visitor's session remembers. The session is the truth: widgets and the link show what it says."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import streamlit as st

from playground.figures.theme import LIGHT, THEMES, Theme
from playground.i18n import LANGUAGES
from playground.reading import Reading
from playground.runs import Run, RunRefused, RunStore
from playground.subject import Subject
from playground.tasks import OwnData, Task, TextRefused
from playground.training import ACTIVE
from playground.ui import COOKIE
from playground.ui.link import DEFAULT_LANGUAGE, MAX_TEXT, PICKS, Turn, View, from_params, reconcile, to_params

_TOKEN = re.compile(r"[A-Za-z0-9_-]{32}")

# Longer texts are cut before they are looked at; every task's longest sentence is far shorter.
MAX_TYPED = 20_000  # characters


@dataclass(frozen=True)
class Notice:
    """Something to tell the visitor: a locale key and what stands at its placeholders."""

    key: str
    values: Mapping[str, object]


@dataclass(frozen=True)
class Shown:
    """What a widget was drawn with.

    Attributes:
        words: What its options are called.
        was_told: Whether it showed another value before, and was told the present one.
        value: The present one.
        replaced: The last value that the page, not the visitor, put another one in the place of.
        replaced_at: When, in seconds of the monotonic clock.
    """

    words: tuple[str, ...]
    was_told: bool
    value: object = None
    replaced: object = None
    replaced_at: float = float("-inf")


class Session:
    """What one visitor looks at, and what the visitor's own is.

    Attributes:
        view: What a link would hold.
        owner: An unguessable token; who shows it may command the runs that were begun with it.
        own_runs: Ids of the runs that this visitor began, the latest last.
        runs: What the visitor may choose from: the recordings, then the visitor's own and the one looked at.
        unseen: The own run that was begun last, until it has ended and been the subject.
        told: The run whose end is told on this page, which it is the subject of.
        own_data: What this visitor gave to be learnt; None if nothing.
        pages: The pages there are, by the stem of their files.
        typed: The text as it stands in the input; differs from `text` while it is refused.
        refused: Why `typed` is not what the model reads; None if it is.
        notice: What there is to say about the run that was asked for; None if nothing.
        widgets: What is known of the widgets that this page has drawn, by their keys.
    """

    def __init__(self) -> None:
        self.view = View()
        self.owner = secrets.token_urlsafe(24)
        self.own_runs: tuple[str, ...] = ()
        self.runs: tuple[Run, ...] = ()
        self.pages: Mapping[str, st.Page] = {}
        self.unseen: str | None = None
        self.told: str | None = None
        self.own_data: OwnData | None = None
        self.typed = ""
        self.refused: TextRefused | None = None
        self.notice: Notice | None = None
        self.widgets: dict[str, Shown] = {}
        self._is_new = True
        self._has_chosen = False
        self._page: str | None = None
        self._known: dict[str, str] = {}
        self._bare: set[str] = set()
        self._texts: dict[str, str | None] = {}
        self._run: Run | None = None
        self._subject: Subject | None = None

    @classmethod
    def here(cls) -> Session:
        """Return the session of the visitor whose script is running."""
        if "session" not in st.session_state:
            st.session_state["session"] = cls()
        session: Session = st.session_state["session"]
        return session

    # --- What pages read -----------------------------------------------------------------------------------------

    @property
    def lang(self) -> str:
        """A key of `LANGUAGES`."""
        return self.view.language

    @property
    def present(self) -> bool:
        """Whether the page is shown in a hall."""
        return self.view.present

    @property
    def theme(self) -> Theme:
        """Colours of what the visitor's browser shows, and the type for a hall while presenting."""
        theme = THEMES.get(st.context.theme.type or "", LIGHT)
        return replace(theme, presenting=self.present)

    @property
    def run(self) -> Run:
        """The run whose model is shown."""
        if self._run is None:
            self._settle()
        assert self._run is not None
        return self._run

    @property
    def run_id(self) -> str:
        """Id of `run`."""
        return self.run.id

    @property
    def task(self) -> Task:
        """What the model was trained to do."""
        return self.run.config.data

    @property
    def step(self) -> int:
        """The recorded step that is shown: the one nearest to what was chosen."""
        return _nearest(self.run.steps, self.view.step)

    @property
    def text(self) -> str:
        """What the model reads: the last text that was not refused."""
        return self.view.text or self.task.examples[0]

    @property
    def subject(self) -> Subject:
        """The model at this step, and what it makes of the text."""
        if self._subject is None:
            self._subject = Subject(self.run, self.step, self.text)
        return self._subject

    @property
    def reading(self) -> Reading:
        """The forward pass of the subject."""
        return self.subject.reading

    @property
    def picks(self) -> Mapping[str, str | int]:
        """What was chosen on pages, by its name in a link; check it against what there is."""
        return self.view.picks

    def layer_and_head(self, layer: int, head: int) -> tuple[int, int]:
        """Return what was chosen, clamped to the model's layers and heads; these where nothing was."""
        model = self.run.config.model
        return self._number("layer", layer, model.n_layers), self._number("head", head, model.n_heads)

    def place(self, options: Iterable[str], default: str) -> str:
        """Return which attention was chosen, if the model has it, else `default`."""
        chosen = str(self.picks.get("where"))
        return chosen if chosen in options else default

    @property
    def may_train(self) -> bool:
        """Whether there can be a training to speak of: the launcher has met this visitor, or one was begun."""
        return bool(self.own_runs) or _known_visitor() is not None

    # --- What a visitor does -------------------------------------------------------------------------------------

    def choose_language(self, language: str) -> None:
        """Speak another language from now on."""
        if language in LANGUAGES:
            self._choose(language=language)

    def choose_present(self, present: bool) -> None:
        """Begin or end presenting."""
        self._choose(present=present)

    def choose_run(self, run_id: str) -> None:
        """Look at another run: at its last step, with the same sentence if its task knows the words."""
        try:
            run = RunStore().open(run_id)
        except RunRefused as error:
            self.notice = Notice(error.key, error.values)
            return
        before, task = self.task, run.config.data
        self._texts[before.name] = self.view.text
        text = self.view.text
        if task is not before and (text is None or _refusal(task, text)):
            text = self._texts.get(task.name)
        if run_id == self.unseen and run.progress.state not in ACTIVE:
            self.unseen = None
        self.refused = None
        default = next(each.id for each in self.runs if each.is_recording)
        self._choose(run=None if run_id == default else run_id, step=None, text=text)

    def choose_step(self, step: int) -> None:
        """Look at the same model at another step of its training."""
        self._choose(step=None if step == self.run.steps[-1] else step)

    def say(self, text: str) -> None:
        """Give the model another text to read. A text that is refused changes nothing but the message."""
        text = " ".join(text[:MAX_TYPED].split())
        self.typed, self.refused = text, _refusal(self.task, text)
        if self.refused is None:
            if len(text) > MAX_TEXT:  # of marks, since words there are few: the words alone fit in a link
                text = " ".join(self.task.tokenize(text))
            self._choose(text=None if text == self.task.examples[0] else text)

    def choose(self, **picks: str | int) -> None:
        """Take down what was chosen on a page; `names` are those of `PICKS`."""
        if unknown := picks.keys() - PICKS.keys():
            raise KeyError(f"no pick {sorted(unknown)}; links have {sorted(PICKS)}")
        self._choose(picks=MappingProxyType({**self.view.picks, **picks}))

    def forget(self, *names: str) -> None:
        """Let what was chosen on a page be the default again; `names` are those of `PICKS`."""
        self._choose(picks=MappingProxyType({name: pick for name, pick in self.picks.items() if name not in names}))

    def began(self, run_id: str) -> None:
        """Take down that this visitor began a run."""
        self.own_runs = (*(each for each in self.own_runs if each != run_id), run_id)
        self.unseen = run_id

    def brought(self, run_id: str) -> None:
        """Take down that this visitor brought a run; what is looked at stays."""
        self.own_runs = (*self.own_runs, run_id)

    def let_go(self, run_id: str) -> None:
        """Take down that a run is no more; if it was the subject, the first recording is."""
        self.own_runs = tuple(each for each in self.own_runs if each != run_id)
        self.unseen = None if self.unseen == run_id else self.unseen
        if self.view.run == run_id:
            self._choose(run=None, step=None)

    def open(self, page: str, picks: Mapping[str, str | int] | None = None) -> None:
        """Leave for another page, with something chosen there; does not return.

        Args:
            page: Stem of its file.
            picks: As for `choose`.
        """
        if picks:
            self.choose(**picks)
        self._known = to_params(self.view)
        st.switch_page(self.pages[page], query_params=self._known)

    # --- One run of the script -----------------------------------------------------------------------------------

    def begin(self, page: str) -> None:
        """Bring session and link together, and open what they ask for. Called once a run, before anything is drawn."""
        self.owner = _known_visitor() or self.owner
        found = {name: value for name, value in st.query_params.items() if isinstance(value, str)}
        turn = reconcile(
            is_new=self._is_new,
            has_chosen=self._has_chosen,
            has_moved=page != self._page,
            was_bare=page in self._bare,
            found=found,
            known=self._known,
        )
        if self._has_chosen or page != self._page or turn is Turn.READ:
            self.notice = None
        if turn is Turn.READ:
            self.view = from_params(found, language=_language_of_browser() if self._is_new else self.lang)
            self.typed, self.refused = "", None
        if page != self._page:
            self.widgets.clear()  # those of another page are others, be their keys the same
            self.unseen = None if self.unseen == self.told else self.unseen
            self.told = None
        if self._is_new or page != self._page:  # those of another window, or of before a reload, are the visitor's too
            kept = RunStore().kept_by(self.owner)
            self.own_runs = (*self.own_runs, *sorted(set(kept) - set(self.own_runs)))
        self._is_new = self._has_chosen = False
        self._page = page
        self._subject = None
        self._settle()
        self._known = to_params(self.view)
        if not self._known:
            self._bare.add(page)
        if found != self._known:
            st.query_params.from_dict(self._known)

    def end(self) -> None:
        """Let go of the subject's tensors: a session that waits holds nothing that others could not share."""
        self._subject = None

    def _settle(self) -> None:
        """Open the run and the text that the view names; where they are refused fall back, with a word about it."""
        store = RunStore()
        self.runs = store.runs([*self.own_runs, *([self.view.run] if self.view.run else [])])
        self._run = self._open(store)
        if self.view.text is not None and (refused := _refusal(self.task, self.view.text)):
            self.typed, self.refused = self.view.text, refused
            self.view = replace(self.view, text=None)
        if self.refused is None:
            self.typed = self.text
        try:
            self._subject = Subject(self._run, self.step, self.text)
        except RunRefused as error:
            if self.view.run is None:
                raise
            self.notice = Notice(error.key, error.values)
            self.view = replace(self.view, run=None, step=None)
            self._settle()

    def _open(self, store: RunStore) -> Run:
        if self.view.run is not None:
            try:
                run = store.open(self.view.run)
                if run.steps:
                    return run
                # It was only just begun: the link stays, for it will open soon.
                self.notice = Notice("frame.notice.not_yet", {})
            except RunRefused as error:
                self.notice = Notice(error.key, error.values)
                self.view = replace(self.view, run=None, step=None)
        return next(each for each in self.runs if each.is_recording)

    def _choose(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]  # fields of View
        self._has_chosen = True

    def _number(self, name: str, default: int, size: int) -> int:
        chosen = self.picks.get(name)
        return min(chosen if isinstance(chosen, int) else default, size - 1)


def _nearest(steps: tuple[int, ...], wanted: int | None) -> int:
    return steps[-1] if wanted is None else min(steps, key=lambda step: abs(step - wanted))


def _refusal(task: Task, text: str) -> TextRefused | None:
    try:
        task.tokenize(text)
    except TextRefused as error:
        return error
    return None


def _known_visitor() -> str | None:
    """Return the token that the launcher gave this browser, if it did."""
    token = st.context.cookies.get(COOKIE)
    return token if isinstance(token, str) and _TOKEN.fullmatch(token) else None


def _language_of_browser() -> str:
    locale = (st.context.locale or "").lower()
    return next((language for language in LANGUAGES if locale.split("-")[0] == language), DEFAULT_LANGUAGE)
