"""Vocabulary: the one table of tokens that source and target share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cached_property

PAD, BOS, EOS = 0, 1, 2
SPECIALS = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩")

# In the vocabulary of a task with hidden words what stands in their places is the first word.
MASK, HIDDEN = 3, "⟨mask⟩"


class Vocabulary:
    """Tokens and their ids; ids 0, 1, 2 are padding, begin and end of a sentence.

    Attributes:
        tokens: Every token, each at its id.
    """

    def __init__(self, words: Iterable[str]) -> None:
        """Give each of `words` an id after those of the specials, in the order given.

        Raises:
            ValueError: If a word stands there twice.
        """
        self.tokens: tuple[str, ...] = (*SPECIALS, *words)
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            raise ValueError(f"a vocabulary needs distinct words, but {len(self.tokens) - len(self._ids)} repeat")

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the id of each token.

        Raises:
            KeyError: If a token is not in the table.
        """
        return [self._ids[token] for token in tokens]

    def decode(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Return the token of each id, specials among them.

        Raises:
            IndexError: If an id is outside the table.
        """
        found = []
        for i in ids:
            if not 0 <= i < len(self.tokens):
                raise IndexError(f"the vocabulary has {len(self.tokens)} tokens, so no id {i}")
            found.append(self.tokens[i])
        return tuple(found)

    def nearest(self, word: str, n: int = 3) -> tuple[str, ...]:
        """Return up to `n` known words that look like `word`, the nearest first."""
        return nearest(word, self._words, n)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return self.tokens[len(SPECIALS) :]


def nearest(word: str, known: Sequence[str], n: int = 3) -> tuple[str, ...]:
    """Return up to `n` of the `known` words that look like `word`, the nearest first."""
    # Longer than any word by far: nothing looks like it, and comparing would take long.
    return tuple(difflib.get_close_matches(word, known, n, cutoff=0.5)) if len(word) <= 64 else ()
