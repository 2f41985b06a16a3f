"""The colours and type of every picture, light and dark, in one place (components read them from here too)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

Role = Literal["query", "key", "value", "residual", "memory", "weights", "plain"]


@dataclass(frozen=True)
class Theme:
    """What a picture is drawn with. Roles colour frames and symbols; the two scales colour cells.

    Attributes:
        name: `light` or `dark`.
        background, surface, text, muted, line: Page, raised box, words, quiet words, hairlines.
        query, key, value, residual, memory: One colour a role, on every page.
        weights: Colour of 1 on the sequential scale, which starts at `background`.
        negative, positive: Ends of the diverging scale, whose middle is `background`.
        hidden: Hatch of a cell hidden by a mask.
        focus: Outline of what is pinned or named in the text.
        runs: One colour a run where several are compared; no role's.
        presenting: Whether type is set for a hall.
    """

    name: str
    background: str
    surface: str
    text: str
    muted: str
    line: str
    query: str
    key: str
    value: str
    residual: str
    memory: str
    weights: str
    negative: str
    positive: str
    hidden: str
    focus: str
    runs: tuple[str, ...]
    presenting: bool = False

    @property
    def font_size(self) -> int:
        """Pixels of a tick label."""
        return 18 if self.presenting else 13

    def role(self, role: str) -> str:
        """Return a role's colour; quiet text for `plain`, the scale's end for `weights`."""
        return self.muted if role == "plain" else str(getattr(self, role))

    def plain(self) -> Mapping[str, object]:
        """Return the theme as plain data, for a browser component."""
        return {**asdict(self), "font_size": self.font_size}


LIGHT = Theme(
    name="light",
    background="#FFFFFF",
    surface="#F5F7FA",
    text="#1B2430",
    muted="#566171",
    line="#D5DBE3",
    query="#0072B2",
    key="#B84F00",
    value="#007D5B",
    residual="#5B6472",
    memory="#A84A80",
    weights="#08306B",
    negative="#B2182B",
    positive="#2166AC",
    hidden="#8A94A3",
    focus="#E6A700",
    runs=("#1B2430", "#D01C6F", "#2F6FDE", "#6B7A00"),
)

DARK = Theme(
    name="dark",
    background="#10151C",
    surface="#19212B",
    text="#E8EDF3",
    muted="#A4B0BF",
    line="#333E4B",
    query="#5CB3E8",
    key="#FF9350",
    value="#3FD0A6",
    residual="#A9B3C1",
    memory="#E09BC4",
    weights="#B7DCFF",
    negative="#FF7A7A",
    positive="#6FB1FF",
    hidden="#788596",
    focus="#FFD24A",
    runs=("#E8EDF3", "#FF6FA8", "#7FB0FF", "#C3D14A"),
)

THEMES: Mapping[str, Theme] = {"light": LIGHT, "dark": DARK}
