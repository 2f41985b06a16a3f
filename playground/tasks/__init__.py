"""The tasks a model can be trained on: `TASKS["english-french"]`."""

from __future__ import annotations

from collections.abc import Mapping

from playground.tasks.copy import COPY
from playground.tasks.english_chinese import ENGLISH_CHINESE
from playground.tasks.english_french import ENGLISH_FRENCH
from playground.tasks.example import Architecture, Batch, Example, encode_batch
from playground.tasks.own import OWN, DataRefused, OwnData
from playground.tasks.refusal import EmptyText, TextRefused, TextTooLong, UnknownWord
from playground.tasks.reverse import REVERSE
from playground.tasks.task import Task
from playground.tasks.vocabulary import BOS, EOS, HIDDEN, MASK, PAD, SPECIALS, Vocabulary

# In the order in which they are offered.
TASKS: Mapping[str, Task] = {task.name: task for task in (ENGLISH_FRENCH, ENGLISH_CHINESE, COPY, REVERSE)}

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
