"""The words for the reader, a folder a language, a file a page: `locale/en/home.toml` holds `home.…`.

A missing key raises, in every language alike; tests compare the key sets and the placeholders.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LOCALE = Path(__file__).parent / "locale"

# The first is the default. Names are written in the language itself.
LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "简体中文"}

# What Markdown, KaTeX, Streamlit's directives and HTML give a meaning to.
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=\"'])")
# Characters that draw nothing or turn the text around, shown by their code point.
_INVISIBLE = re.compile("[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class Translate:
    """The words of one language, called as `t("home.title")` or `t("home.alt", word="chat")`.

    Attributes:
        language: A key of `LANGUAGES`.
    """

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ValueError(f"no words in {language!r}; there are {sorted(LANGUAGES)}")
        self.language = language
        self._words = words(language)

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the words as plain text, values put in as they are (for labels, alt texts, components).

        Raises:
            KeyError: If the key has no words, or a placeholder no value.
        """
        return self._words[key].format(**values)

    def markdown(self, key: str, /, **values: object) -> str:
        """Return the words as Markdown, values shown literally whatever characters they hold (rule 22)."""
        return self._words[key].format(**{name: literal(str(value)) for name, value in values.items()})

    def has(self, key: str) -> bool:
        """Say whether there are words under `key`."""
        return key in self._words


def literal(text: str) -> str:
    """Return Markdown that shows `text` character by character, whatever it holds."""
    return _MARKUP.sub(r"\\\1", visible(text))


def visible(text: str) -> str:
    """Return `text` with its control and direction characters shown as `⟨U+202E⟩`."""
    return _INVISIBLE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


@cache
def words(language: str) -> Mapping[str, str]:
    """Return every key of a language with its words.

    Raises:
        ValueError: If a file is not a table of tables of strings.
    """
    found: dict[str, str] = {}
    for path in sorted((LOCALE / language).glob("*.toml")):
        _flatten(path.stem, tomllib.loads(path.read_text(encoding="utf-8")), found)
    return found


def placeholders(text: str) -> frozenset[str]:
    """Return the names in braces in `text`."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name)


def _flatten(prefix: str, node: object, found: dict[str, str]) -> None:
    if isinstance(node, str):
        found[prefix] = node
    elif isinstance(node, dict):
        for name, inner in node.items():
            _flatten(f"{prefix}.{name}", inner, found)
    else:
        raise ValueError(f"{prefix} must be words or a table of words, not {node!r}")
