"""What a server does before its first visitor: it imports what is slow, and computes what the first page shows."""

from __future__ import annotations

import torch

from playground.runs import RunStore
from playground.subject import Subject
from playground.training import Engine, shared_engine


def start() -> Engine:
    """Start the engine, and compute the default recording's view while its workers warm up.

    Returns:
        The server's one engine; to be closed when the server ends.
    """
    # A second thread gains little alone, and loses much as soon as another visitor computes too.
    torch.set_num_threads(1)
    engine = shared_engine()
    run = next(run for run in RunStore().runs() if run.is_recording)
    subject = Subject(run, run.steps[-1], run.config.data.examples[0])
    subject.aligned_head()
    return engine
