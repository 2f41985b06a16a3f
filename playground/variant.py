"""A pass that is not quite the subject's own: of a padded batch, under a painted mask, with heads switched off."""

from __future__ import annotations

from dataclasses import dataclass

from playground.reading import Reading


@dataclass(frozen=True, eq=False)
class Variant:
    """A pass, and what a program needs to make it again.

    Attributes:
        reading: The pass.
        edits: A Python expression for the `edits` of `models.capture`; empty for none.
        imports: The line that `edits` needs besides torch; empty for none.
        batch: Source and target ids of every row, if the pass is of more than one sentence; else those of `reading`.
        sample: Which row of the batch is read.
    """

    reading: Reading
    edits: str = ""
    imports: str = ""
    batch: tuple[list[list[int]], list[list[int]]] | None = None
    sample: int = 0
