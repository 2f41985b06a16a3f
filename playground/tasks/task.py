"""Task: what a model is trained to do, as pairs of sentences and the way from text to tokens and back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from playground.tasks.example import Architecture, Batch, Example, encode_batch
from playground.tasks.refusal import EmptyText, TextTooLong, UnknownWord
from playground.tasks.vocabulary import HIDDEN, SPECIALS, Vocabulary, nearest

if TYPE_CHECKING:
    import torch

# One sentence in so many is never trained on.
_HELD_OUT_ONE_IN = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """What a model reads and what it shall write. Everything is built on first use and then kept.

    An example's `src` and `tgt` are, by architecture, a sentence and its translation; the beginning of a text and what
    follows; a text with hidden words and the whole of it.

    Attributes:
        name: Its name in `TASKS`, in links and in run folders.
        src_language: Locale key of the source language's name.
        tgt_language: Locale key of the target language's name.
        examples: Source texts to offer a visitor, each held out; the first is the default.
        pairs: Draws the task's sentences, always the same ones in the same order.
        reference: Translates source tokens with their alignment; None if the sentence is not in the language.
        words: Splits a text into words as they were typed.
        spell: Gives the tokens that a typed word stands for (lower case, no punctuation; `don't` is two tokens).
        detokenize: Writes target tokens as the language is written.
        join: Writes source tokens as one types them; `tokenize` reads that again.
        architecture: Of the models that learn it.
        whole: Whether a decoder alone is asked for every token of a text, its beginning too.
        ends: Whether what is written ends with ⟨eos⟩; a piece of a longer text does not.
        split: Parts the sentences into those to learn from and those held out; by a hash of the source if None.
    """

    name: str
    src_language: str
    tgt_language: str
    examples: tuple[str, ...]
    pairs: Callable[[], Iterable[Example]]
    reference: Callable[[Sequence[str]], Example | None]
    words: Callable[[str], list[str]]
    spell: Callable[[str], tuple[str, ...]]
    detokenize: Callable[[Sequence[str]], str]
    join: Callable[[Sequence[str]], str] = " ".join
    architecture: Architecture = "encoder-decoder"
    whole: bool = False
    ends: bool = True
    split: Callable[[Sequence[Example]], tuple[tuple[Example, ...], tuple[Example, ...]]] | None = None

    @property
    def train(self) -> Sequence[Example]:
        """The sentences to learn from, all distinct."""
        return self._split[0]

    @property
    def heldout(self) -> Sequence[Example]:
        """The sentences never learnt from; each of their words stands in a sentence of `train`."""
        return self._split[1]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """One table for both languages: the specials, the source words, the other target words, each sorted."""
        src = {word for example in self._pairs for word in example.src}
        tgt = {word for example in self._pairs for word in example.tgt}
        hidden = [HIDDEN] if HIDDEN in src else []
        return Vocabulary([*hidden, *sorted(src - {HIDDEN}), *sorted(tgt - src)])

    @cached_property
    def max_len(self) -> int:
        """Length of the longest sequence the task has, specials included."""
        # The decoder reads ⟨bos⟩ and the target, the encoder the source and ⟨eos⟩; all three fit with both.
        if self.architecture == "decoder-only":
            return 2 + max(len(example.src) + len(example.tgt) for example in self._pairs)
        return 2 + max(max(len(example.src), len(example.tgt)) for example in self._pairs)

    @property
    def longest(self) -> int:
        """Most tokens of a text that a visitor gives the model: what it can hold, and room for ⟨bos⟩ and ⟨eos⟩."""
        return self.max_len - 2

    def batch(self, rng: np.random.Generator | torch.Generator, size: int) -> list[Example]:
        """Draw `size` training sentences, with replacement, by the caller's own generator.

        Raises:
            ValueError: If `size` is not positive.
        """
        if size < 1:
            raise ValueError(f"a batch needs at least 1 example, not {size}")
        train = self.train
        if isinstance(rng, np.random.Generator):
            drawn = rng.integers(len(train), size=size).tolist()
        else:
            import torch

            drawn = torch.randint(len(train), (size,), generator=rng).tolist()
        return [train[i] for i in drawn]

    def encode(self, examples: Sequence[Example]) -> Batch:
        """Return the ids of `examples` by this task's vocabulary, padded."""
        return encode_batch(examples, self.vocabulary, architecture=self.architecture, whole=self.whole, ends=self.ends)

    def tokenize(self, text: str) -> tuple[str, ...]:
        """Return the source tokens of what a visitor typed; known words in any order will do.

        Raises:
            EmptyText: If there is no word in it.
            TextTooLong: If there are more tokens than in the longest sentence of the task.
            UnknownWord: If a word is not in the source language; the first such is named.
        """
        limit = self.longest
        typed = [(word, tokens) for word in self.words(text) if (tokens := self.spell(word))]
        n = sum(len(tokens) for _, tokens in typed)
        if n == 0:
            raise EmptyText
        if n > limit:
            raise TextTooLong(n, limit)
        for word, tokens in typed:
            for token in tokens:
                if token not in self.src_words:
                    raise UnknownWord(word, nearest(token, sorted(self.src_words)))
        return tuple(token for _, tokens in typed for token in tokens)

    def trained_on(self, src: Sequence[str]) -> bool:
        """Say whether the sentence stands in `train`."""
        return tuple(src) in self._trained

    @property
    def _offered(self) -> list[tuple[str, ...]]:
        """The tokens of `examples`."""
        return [tuple(token for word in self.words(text) for token in self.spell(word)) for text in self.examples]

    @cached_property
    def _pairs(self) -> tuple[Example, ...]:
        offered = [self.reference(src) for src in self._offered]
        found = {self._key(example): example for example in offered if example is not None}
        for example in self.pairs():
            found.setdefault(self._key(example), example)
        return tuple(found.values())

    def _key(self, example: Example) -> tuple[str, ...]:
        """Return what no other example has: the source, or all of a text that may go on in several ways."""
        return (*example.src, *example.tgt) if self.whole else example.src

    @cached_property
    def _split(self) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
        if self.split is not None:
            return self.split(self._pairs)
        # Of texts that may go on in several ways, beginnings are offered: they are no text yet.
        offered = set[tuple[str, ...]]() if self.whole else set(self._offered)
        train: list[Example] = []
        heldout: list[Example] = []
        for example in self._pairs:
            out = example.src in offered or _held_out(self._key(example))
            (heldout if out else train).append(example)
        return tuple(train), tuple(heldout)

    @cached_property
    def src_words(self) -> frozenset[str]:
        """The words that a source sentence may have."""
        return frozenset(word for example in self._pairs for word in example.src)

    @cached_property
    def _trained(self) -> frozenset[tuple[str, ...]]:
        return frozenset(example.src for example in self.train)


def without_specials(tokens: Iterable[str]) -> list[str]:
    """Return `tokens` up to the first ⟨eos⟩, without ⟨bos⟩ and padding."""
    kept: list[str] = []
    for token in tokens:
        if token == SPECIALS[2]:
            break
        if token not in SPECIALS:
            kept.append(token)
    return kept


def _held_out(src: tuple[str, ...]) -> bool:
    # Not hash(): that one differs from process to process.
    digest = hashlib.blake2b(" ".join(src).encode(), digest_size=4).digest()
    return int.from_bytes(digest) % _HELD_OUT_ONE_IN == 0
