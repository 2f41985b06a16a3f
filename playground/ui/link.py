"""What a link holds, and both ways between it and a session. Pure: nothing here knows a browser.

    /one_head?v=1&run=reverse&step=40&layer=1

Only what differs from the default is written. Whatever a link says is taken for a stranger's text: it is clamped or
falls back to the default, and what nobody knows vanishes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from models import CHOICES
from playground.ablation import HEADS, WAYS
from playground.caching import SHAPES
from playground.caching import VIEWS as CACHE_VIEWS
from playground.caching import WINDOWS as SLIDES
from playground.calculator import CARDS, FORMATS, HARDWARE, LARGEST
from playground.calculator import MODELS as KNOWN_MODELS
from playground.decoding import FORCED, LARGEST_SEED, PENALTIES, TOP_K, TOP_P, WIDTHS
from playground.decoding import KINDS as WAYS_TO_CHOOSE
from playground.decoding import TEMPERATURES as LOGIT_TEMPERATURES
from playground.decoding import VIEWS as DECODE_VIEWS
from playground.head import PLACES
from playground.i18n import LANGUAGES
from playground.masking import KINDS, PAINT, WINDOWS
from playground.masking import VIEWS as MASK_VIEWS
from playground.patterns import SHARES
from playground.plan import GROUPS, OPTIONS
from playground.prepared import ASKED, CHANGES, MEASURES, OVER
from playground.probes import MOST
from playground.recipe import RUN_ID
from playground.scaling import ROOT, SIZES, TEMPERATURES
from playground.scaling import VIEWS as SCALING_VIEWS
from playground.schedule import OTHERS, SPEEDS
from playground.schedule import VIEWS as RATE_VIEWS

# A change of a default would change old links, so it needs a new version.
VERSION = "1"
DEFAULT_LANGUAGE = next(iter(LANGUAGES))

MAX_TEXT = 500  # characters
MAX_STEP = 10**9
MAX_PICK = 2000  # characters

FOUR = re.compile(r"-?[0-9]{1,3}(,-?[0-9]{1,3}){3}")  # whole numbers, row by row

# What pages let a visitor choose: the choices, the largest of whole numbers from 0, or how a text is written.
PICKS: Mapping[str, tuple[str, ...] | int | re.Pattern[str]] = MappingProxyType(
    {
        "where": tuple(PLACES),
        "depth": ("story", "numbers", "formula", "code"),
        "stack": ("encoder", "decoder"),
        "part": ("self_attn", "cross_attn", "ffn"),
        "table": ("chain", "lengths", "neighbours", "plane"),
        "aspect": ("table", "waves", "similarity", "rotation", "relative", "shuffle", "longer"),
        "rule": CHOICES["positions"],
        "rows": ("sentence", "32", "128", "512"),
        "width": ("model", "7", "128", "512"),
        "order": ("random", "reversed"),
        "place": 47,
        "shift": 64,
        "pair": 255,
        "draw": 999,
        "scaling": SCALING_VIEWS,
        "d_k": tuple(map(str, SIZES)),
        "tau": (*TEMPERATURES, ROOT),
        "heads": ("grid", "lines", "values", "rollout", "off", "shared"),
        "colours": ("all", "own"),
        "lines": HEADS,
        "share": ("50", "75", "90", "95", "99"),
        "off": HEADS,
        "way": WAYS,
        "kv": 128,
        "masks": MASK_VIEWS,
        "mask": tuple(KINDS),
        "window": WINDOWS,
        "sample": ("shorter", "longer"),
        "paint": PAINT,
        "leak": ("yes",),
        "kept": RUN_ID,
        "board_q": FOUR,
        "board_k": FOUR,
        "board_v": FOUR,
        "decode": DECODE_VIEWS,
        "choice": WAYS_TO_CHOOSE,
        "temperature": LOGIT_TEMPERATURES,
        "top_k": TOP_K,
        "top_p": TOP_P,
        "dice": LARGEST_SEED,
        "beam": WIDTHS,
        "penalty": PENALTIES,
        "forced": FORCED,
        "at": 999,
        "cache": CACHE_VIEWS,
        "moment": 999,
        "span": ("step", "all"),
        "shape": ("subject", *SHAPES),
        "slide": SLIDES,
        "known": tuple(KNOWN_MODELS),
        "sizes": re.compile(r"[0-9]{1,7}(,[0-9]{1,7}){4}"),
        "context": LARGEST["context"],
        "texts": LARGEST["batch"],
        "bits": tuple(FORMATS),
        "weight_bits": tuple(FORMATS),
        "card": tuple(map(str, CARDS)),
        "machine": (*HARDWARE, "here"),
        "teraflops": 1_000_000,
        "gigabytes": 1_000_000,
        "causal": ("yes", "no"),
        "panel": ("together", "layers", "film", "patterns", "words"),
        "group": GROUPS,
        "pattern": SHARES,
        "line": 1,
        "rates": RATE_VIEWS,
        "rate_width": SPEEDS["rate_width"],
        "rate_warmup": SPEEDS["rate_warmup"],
        "rate_factor": SPEEDS["rate_factor"],
        "rate_steps": SPEEDS["rate_steps"],
        "rate_scale": ("linear", "log"),
        "beside": ("all", *OTHERS, "none"),
        "probe": MOST - 1,
        "compare": ASKED,
        "curve": MEASURES,
        "over": OVER,
        "compare_head": re.compile(r"best|[0-9]{1,2}-[0-9]{1,3}"),
        "against": ("1", "2", "3"),
        "change": CHANGES,
        "twin": ("yes", "no"),
        "layer": 63,
        "head": 127,
        **OPTIONS,
    }
)


@dataclass(frozen=True)
class View:
    """What one visitor looks at, as far as it can be handed on.

    Attributes:
        language: A key of `LANGUAGES`.
        present: Whether it is shown in a hall: no menu, no controls, large type.
        run: Id of the run; the first recording if None.
        step: The training step; the run's last if None.
        text: What the model reads; the task's first example if None.
        picks: What was chosen on pages: each name is one of `PICKS`.
    """

    language: str = DEFAULT_LANGUAGE
    present: bool = False
    run: str | None = None
    step: int | None = None
    text: str | None = None
    picks: Mapping[str, str | int] = field(default_factory=lambda: MappingProxyType({}))


def to_params(view: View) -> dict[str, str]:
    """Return a link's parameters: what differs from the default, and the version if anything does."""
    params: dict[str, str] = {}
    if view.language != DEFAULT_LANGUAGE:
        params["lang"] = view.language
    if view.present:
        params["present"] = "1"
    if view.run is not None:
        params["run"] = view.run
    if view.step is not None:
        params["step"] = str(view.step)
    if view.text is not None:
        params["text"] = view.text
    params |= {name: str(view.picks[name]) for name in PICKS if name in view.picks}
    return {"v": VERSION, **params} if params else {}


def from_params(params: Mapping[str, str], *, language: str = DEFAULT_LANGUAGE) -> View:
    """Return the view that a link describes; what makes no sense is as if it were not there.

    Args:
        params: The parameters, of whatever origin.
        language: The visitor's own, for a link that says nothing: one without version was typed by hand.
    """
    default = DEFAULT_LANGUAGE if "v" in params else language
    chosen = params.get("lang", default)
    view = View(language=chosen if chosen in LANGUAGES else default, present=params.get("present") == "1")
    if params.get("v", VERSION) != VERSION:
        # Another version's defaults are unknown, so the rest would open as something else.
        return view
    run = params.get("run", "")
    text = params.get("text", "")[:MAX_TEXT]
    picks = {name: value for name in PICKS if (value := _picked(name, params.get(name))) is not None}
    return View(
        language=view.language,
        present=view.present,
        run=run if RUN_ID.fullmatch(run) else None,
        step=_whole(params.get("step"), MAX_STEP),
        text=text if text.strip() else None,
        picks=MappingProxyType(picks),
    )


class Turn(Enum):
    """Which side of session and link follows the other."""

    READ = "the session takes what the link says"
    WRITE = "the link takes what the session says"


def reconcile(
    *,
    is_new: bool,
    has_chosen: bool,
    has_moved: bool,
    was_bare: bool,
    found: Mapping[str, str],
    known: Mapping[str, str],
) -> Turn:
    """Decide who follows whom at the beginning of a run of the script.

    Args:
        is_new: Whether this is the session's first run.
        has_chosen: Whether the visitor has just used a control. The browser may then still show an older link.
        has_moved: Whether the page is another than in the run before.
        was_bare: Whether the page was ever shown, in its default view, by a link without parameters.
        found: The parameters that the browser shows.
        known: Those that the session wrote, or read, last.
    """
    if is_new:
        return Turn.READ
    if has_chosen or dict(found) == dict(known):
        return Turn.WRITE
    # The menu leads to a page without parameters, and the browser may keep that as a place to go back to. The view is
    # kept then; a link that was clicked has parameters, or is that of a default view that was gone back to.
    if not found and (has_moved or not was_bare):
        return Turn.WRITE
    return Turn.READ


def _picked(name: str, value: str | None) -> str | int | None:
    allowed = PICKS[name]
    if isinstance(allowed, int):
        return _whole(value, allowed)
    if isinstance(allowed, re.Pattern):
        return value if value is not None and len(value) <= MAX_PICK and allowed.fullmatch(value) else None
    return value if value in allowed else None


def _whole(value: str | None, largest: int) -> int | None:
    """Return a whole number from 0, at most `largest`; None if the text is none."""
    if value is None or not re.fullmatch(r"[0-9]{1,12}", value):
        return None
    return min(int(value), largest)
