"""The measurements can be run; pytest runs none of them."""

from __future__ import annotations

import importlib
import inspect

import pytest

from tests.benchmarks import Measure
from tests.benchmarks.__main__ import MODULES, main, table


def test_there_are_measurements():
    assert {"learning", "recorder", "start", "train_step"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_each_module_measures(name):
    measure = importlib.import_module(f"tests.benchmarks.{name}").measure
    assert not [each for each in inspect.signature(measure).parameters.values() if each.default is each.empty]


def test_a_table_tells_what_holds():
    measures = [Measure("a ratio", 0.8512, at_most=0.9), Measure("a wait", 2.0, "s", 1.5), Measure("a size", 7.0, "MB")]
    _, holds, breaks, watched = table(measures).splitlines()
    assert holds.split() == ["a", "ratio", "0.851", "×", "0.9", "×", "✓"]
    assert breaks.split() == ["a", "wait", "2", "s", "1.5", "s", "✗"]
    assert watched.split() == ["a", "size", "7", "MB"]


def test_an_unknown_name_is_answered(capsys):
    assert main(["nothing"]) == 2
    assert "nothing" in capsys.readouterr().err
