"""The tasks a model can be trained on: `TASKS["english-french"]`."""

from __future__ import annotations

from collections.abc import Mapping

from playground.tasks.addition import ADDITION
from playground.tasks.chinese_english import CHINESE_ENGLISH
from playground.tasks.chinese_numbers import CHINESE_NUMBERS
from playground.tasks.copy import COPY
from playground.tasks.dates import DATES
from playground.tasks.english_chinese import ENGLISH_CHINESE
from playground.tasks.english_french import ENGLISH_FRENCH
from playground.tasks.english_numbers import ENGLISH_NUMBERS
from playground.tasks.example import Architecture, Batch, Example, encode_batch
from playground.tasks.induction import INDUCTION
from playground.tasks.masked import MASKED
from playground.tasks.names import NAMES
from playground.tasks.own import OWN, DataRefused, OwnData
from playground.tasks.refusal import EmptyText, TextRefused, TextTooLong, UnknownWord
from playground.tasks.reverse import REVERSE
from playground.tasks.roman import ROMAN
from playground.tasks.sort import SORT
from playground.tasks.task import Task
from playground.tasks.vocabulary import BOS, EOS, HIDDEN, MASK, PAD, SPECIALS, Vocabulary

# In the order in which they are offered: between languages, of symbols and numbers, for a decoder or an encoder alone.
TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        ENGLISH_FRENCH,
        ENGLISH_CHINESE,
        CHINESE_ENGLISH,
        COPY,
        REVERSE,
        SORT,
        ADDITION,
        ROMAN,
        DATES,
        ENGLISH_NUMBERS,
        CHINESE_NUMBERS,
        INDUCTION,
        NAMES,
        MASKED,
    )
}

__all__ = [
    "BOS",
    "EOS",
    "HIDDEN",
    "MASK",
    "OWN",
    "PAD",
    "SPECIALS",
    "TASKS",
    "Architecture",
    "Batch",
    "DataRefused",
    "EmptyText",
    "Example",
    "OwnData",
    "Task",
    "TextRefused",
    "TextTooLong",
    "UnknownWord",
    "Vocabulary",
    "encode_batch",
]
