"""What a visitor's text is refused for: plain data, put into words by the page."""

from __future__ import annotations

# A pasted wall of letters is named by its beginning.
_SHOWN = 40


class TextRefused(ValueError):
    """A text that cannot be tokenised.

    Attributes:
        key: The locale key of the message.
        values: What its placeholders are filled with, as the visitor typed it.
    """

    key = ""

    def __init__(self, message: str, **values: object) -> None:
        super().__init__(message)
        self.values = values


class UnknownWord(TextRefused):
    """A word outside the vocabulary.

    Attributes:
        word: The word as it was typed, cut to its beginning where it is very long.
        nearest: Known words that look like it, the nearest first; empty if nothing does.
    """

    def __init__(self, word: str, nearest: tuple[str, ...]) -> None:
        self.word = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"
        self.nearest = nearest
        self.key = "tasks.refused.unknown_word" if nearest else "tasks.refused.unknown_word_alone"
        values = {"nearest": " · ".join(nearest)} if nearest else {}
        super().__init__(f"unknown word {self.word!r}; the nearest are {list(nearest)}", word=self.word, **values)


class EmptyText(TextRefused):
    """A text without a word."""

    key = "tasks.refused.empty"

    def __init__(self) -> None:
        super().__init__("the text has no word")


class TextTooLong(TextRefused):
    """A text of more tokens than the task's longest sentence.

    Attributes:
        n: How many tokens there are.
        limit: How many there may be.
    """

    key = "tasks.refused.too_long"

    def __init__(self, n: int, limit: int) -> None:
        self.n = n
        self.limit = limit
        super().__init__(f"the text has {n} tokens, but at most {limit} fit", n=n, limit=limit)
