"""Workers and servers are killed at random moments; the runs open, and become what they would have become."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from playground.runs import Run, RunStore
from playground.training.nursery import FORKS
from tests.benchmarks.kills import kill_servers, kill_workers


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.skipif(not FORKS, reason="workers are not forked here")
def test_a_dozen_workers_are_killed(tmp_path):
    """`python -m tests.benchmarks kills` kills fifty, and fifty servers."""
    toll = kill_workers(RunStore(tmp_path), 12, seed=3)
    assert toll.kills == 12 and len(set(toll.states)) > 3
    for folder in tmp_path.iterdir():
        assert Run.load(folder).progress.state in ("running", "finished")


@pytest.mark.skipif(not FORKS, reason="workers are not forked here")
def test_two_servers_are_killed(tmp_path):
    assert kill_servers(RunStore(tmp_path), 2, seed=4).kills == 2
