"""A text while it is written, in the browser: what is looked at, what may come next, which word is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from playground.decoding import Moment, Share
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.ui.components import register
from playground.ui.components.shared import common

_MOUNT = register("writing")

BARS = 10  # words that are drawn of a distribution; the others stand together

STEP_WORDS = ("back", "play", "pause", "next", "slider")
WORDS = (
    *("source", "sofar", "next_word", "cut_k", "cut_p", "chosen", "force", "release", "origin", "taken", "number"),
    *("reads", "word", "probability", "tempered", "final", "logit", "query", "key", "weight", "removed"),
)


@dataclass(frozen=True, eq=False)
class Choice:
    """One choice as it is drawn.

    Attributes:
        moment: What was chosen from.
        logits: Of the same, `[vocab]`.
        why: One sentence for the reader.
        cross: What a cross-attention head looked at, `[key]`; empty without one.
        own: What a self-attention head looked at, `[key]`.
    """

    moment: Moment
    logits: npt.NDArray[Any]
    why: str
    cross: npt.NDArray[Any]
    own: npt.NDArray[Any]

    def plain(self, t: Translate) -> dict[str, Any]:
        """Return what the browser has to know."""
        moment = self.moment
        words = moment.probs.axes[0].labels
        shown = moment.shown(BARS)
        rest = moment.rest(shown)

        def of(share: Share) -> dict[str, Any]:
            return {"p": share.p, "tempered": share.tempered, "final": share.final, "cut": share.cut}

        def named(share: Share) -> str:
            first = share.tokens[0]
            return words[first] if first in shown else t("decode.write.others", n=len(share.tokens))

        return {
            "read": moment.read,
            "written": moment.written,
            "forced": moment.is_forced,
            "why": self.why,
            "cross": [float(weight) for weight in self.cross],
            "self": [float(weight) for weight in self.own],
            "bars": [
                {
                    "id": token,
                    "word": words[token],
                    "logit": float(self.logits[token]),
                    "chosen": token == moment.token,
                    **of(moment.share([token])),
                }
                for token in shown
            ],
            "rest": {"n": len(rest.tokens), **of(rest)},
            "at": moment.at,
            "parts": []
            if moment.at is None
            else [
                {"word": named(share), "chosen": share.tokens == (moment.token,), **of(share)}
                for share in moment.line(shown)
            ],
        }


def writing(
    choices: Sequence[Choice],
    *,
    source: Sequence[str],
    begun: Sequence[str],
    at: int,
    token: str,
    instead: str,
    clicker: bool,
    key: str,
    on_step: Callable[[int], None],
    on_force: Callable[[int, int], None],
    on_release: Callable[[], None],
    alt: str,
    t: Translate,
    theme: Theme,
) -> Mapping[str, Any] | None:
    """Draw a text while it is written. Next, Back and play move without the server, which hears where they rest.

    Args:
        choices: One a token.
        source: What the encoder read; empty for a decoder alone.
        begun: What the decoder read before it wrote.
        at: The choice that is shown at first.
        token: Names the text: with another one the picture goes to `at`.
        instead: What would have been written without the words that were forced; empty if none was.
        clicker: Whether it is this picture that a clicker moves in a hall.
        key: The element's own name on the page.
        on_step: Called with the choice that is looked at, when it stays.
        on_force: Called with a choice and the id of the word to write there; −1 for the model's own.
        on_release: Called when nothing shall be forced any more.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.

    Returns:
        The line that was clicked: `{"step": 3, "which": "cross", "key": 5}`, or None.
    """

    def heard(name: str) -> Any:
        return st.session_state[key].get(name)

    def stepped() -> None:
        if (step := _whole(heard("step"), len(choices))) is not None:
            on_step(step)

    def forced() -> None:
        value = heard("force")
        if isinstance(value, Mapping) and (step := _whole(value.get("step"), len(choices))) is not None:
            if value.get("token") == -1:
                on_force(step, -1)
            elif (token := _whole(value.get("token"), len(choices[step].logits))) is not None:
                on_force(step, token)

    def released() -> None:
        if heard("release") is not None:
            on_release()

    words = {word: t(f"decode.write.{word}") for word in WORDS}
    words |= {word: t(f"decode.player.{word}") for word in STEP_WORDS}
    words["step"] = t("decode.player.step", at="{at}", n="{n}")
    words["others"] = t("decode.write.others", n="{n}")
    words["draw"] = t("decode.write.draw", at="{at}")
    data: Mapping[str, Any] = {
        **common(theme, t, alt=alt, filename=t("decode.file"), **words),
        "source": list(source),
        "begun": list(begun),
        "steps": [choice.plain(t) for choice in choices],
        "at": at,
        "token": token,
        "instead": instead,
        "clicker": clicker,
    }
    result = _MOUNT(
        key=key,
        data=data,
        on_step_change=stepped,
        on_force_change=forced,
        on_release_change=released,
        default={"pick": None},
        on_pick_change=lambda: None,
    )
    return picked(result.get("pick"), choices)


def picked(value: object, choices: Sequence[Choice]) -> Mapping[str, Any] | None:
    """Return the line that a browser says was clicked, or None if there is no such line."""
    if not isinstance(value, Mapping) or value.get("which") not in ("cross", "self"):
        return None
    step = _whole(value.get("step"), len(choices))
    if step is None:
        return None
    weights = choices[step].cross if value["which"] == "cross" else choices[step].own
    key = _whole(value.get("key"), len(weights))
    return None if key is None else {"step": step, "which": str(value["which"]), "key": key}


def _whole(value: object, size: int) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < size else None


NOTHING: npt.NDArray[Any] = np.empty(0)
