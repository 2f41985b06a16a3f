"""How long visitors' runs are kept: an age from when a run was last written or opened, and so many a visitor."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from playground.recipe import RunRefused
from playground.runs import OPENED_EVERY, REMOVED, Label, RunStore, digest, owner_of

DAY = 86_400.0  # seconds

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kept:
    """One folder of a visitor's run.

    Attributes:
        run_id: Its name.
        used: When it was last written or opened, seconds since 1970, up to `OPENED_EVERY` too early.
        owner: Digest of the visitor's token; empty if nobody is known.
    """

    run_id: str
    used: float
    owner: str


def mark(path: Path, owner: str) -> None:
    """Write down in a run's folder whose run it is, on its label."""
    with suppress(OSError):  # then it is nobody's, and is removed by its age alone
        replace(Label.read(path), owner=digest(owner)).write(path)


def overdue(
    kept: Collection[Kept], *, now: float, days: float | None, runs: int | None, spare: Collection[str] = ()
) -> tuple[str, ...]:
    """Return which runs have expired, or are more than a visitor may keep; of these the longest unused go.

    Args:
        kept: All there are.
        now: Seconds since 1970.
        days: Days since a run was used after which it has expired; None never.
        runs: Ended runs that one visitor keeps; None any number.
        spare: Runs that are trained or paused, or wait. They stay, and are not counted.

    Returns:
        Their ids, the longest unused first. None was used within the last two times `OPENED_EVERY`: whoever has a run
        open does not lose it.
    """
    quiet = now - 2 * OPENED_EVERY
    old = now - days * DAY if days is not None else float("-inf")
    ended = sorted((each for each in kept if each.run_id not in spare), key=lambda each: each.used, reverse=True)
    counted: dict[str, int] = {}
    found = []
    for each in ended:
        counted[each.owner] = counted.get(each.owner, 0) + 1
        surplus = runs is not None and each.owner and counted[each.owner] > runs
        if each.used < quiet and (each.used < old or surplus):
            found.append(each.run_id)
    return tuple(reversed(found))


def folders(root: Path) -> Iterator[Kept]:
    """Yield what lies in the folder of visitors' runs."""
    with suppress(OSError):
        for path in root.iterdir():
            if path.name.startswith(".") or path.is_symlink() or not path.is_dir():
                continue
            with suppress(OSError):  # somebody removes it at this moment
                yield Kept(path.name, path.stat().st_mtime, owner_of(path))


def prune(
    store: RunStore,
    *,
    days: float | None,
    runs: int | None,
    spare: Collection[str] = (),
    now: float | None = None,
) -> tuple[str, ...]:
    """Remove what is `overdue`, and what is left of removals that were broken off. Recordings are never touched.

    Args:
        store: Where the runs are.
        days: As in `overdue`.
        runs: As in `overdue`.
        spare: As in `overdue`.
        now: Seconds since 1970; the clock's if None.

    Returns:
        The ids of the runs removed.
    """
    removed = []
    wanted = overdue(
        list(folders(store.root)), now=time.time() if now is None else now, days=days, runs=runs, spare=spare
    )
    for run_id in wanted:
        try:
            store.remove(run_id)
        except (OSError, RunRefused) as error:
            _log.warning("run %s is overdue and can't be removed: %s", run_id, error)
        else:
            removed.append(run_id)
    with suppress(OSError):
        for path in store.root.glob(f"{REMOVED}*"):
            shutil.rmtree(path, ignore_errors=True)
    return tuple(removed)
