"""Who may import whom: the floors of the house, read from the source with `ast`, so that nothing has to be run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Floor:
    """A place and what it may import beside the standard library; the first row that fits a file is its floor.

    Attributes:
        place: A folder or a file, from the project's folder.
        may: Modules it may import, with all below them.
        never: Modules that it may not, although `may` would let them through.
    """

    place: str
    may: frozenset[str]
    never: frozenset[str] = frozenset()


SCREEN = frozenset({"playground.ui", "playground.main", "playground.figures"})
FLOORS = (
    Floor("app.py", frozenset({"streamlit", "starlette", "playground"})),
    Floor("pages", frozenset({"streamlit", "playground"})),
    Floor("playground/main.py", frozenset({"streamlit", "playground"})),
    Floor(
        "playground/ui",
        frozenset({"streamlit", "numpy", "models", "playground"}),
        frozenset({"playground.main"}),
    ),
    Floor(
        "playground/figures",
        frozenset({"numpy", "plotly", "playground.labelled", "playground.i18n", "playground.figures"}),
    ),
    # The one process that has Ray in it: it stands between the engine and a cluster.
    Floor("playground/training/bridge.py", frozenset({"ray", "models", "playground"}), SCREEN),
    Floor("playground", frozenset({"numpy", "torch", "safetensors", "models", "playground"}), SCREEN),
    Floor("models", frozenset({"torch", "models"})),
)


def is_within(module: str, names: frozenset[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each import of a file as (line, module), those inside functions and those by name among them."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package[: len(package) - level + 1] if level else ()
                # `from playground import runs` may mean a module, so what is imported counts as one.
                yield from ((node.lineno, ".".join(filter(None, [*above, module, name.name]))) for name in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield node.lineno, module


def floor_of(path: Path) -> Floor | None:
    place = path.relative_to(ROOT)
    return next((floor for floor in FLOORS if place.is_relative_to(floor.place)), None)


def breaches(path: Path, floor: Floor) -> list[str]:
    """Return what a file imports against the rules of its floor."""
    return [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for line, module in imports(path)
        if module.split(".")[0] not in sys.stdlib_module_names
        and (is_within(module, floor.never) or not is_within(module, floor.may))
    ]


def sources() -> list[Path]:
    folders = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")]
    inner = [
        path
        for folder in folders
        if folder.name not in {"tests", "runs", "shots", "venv"}
        for path in folder.rglob("*.py")
    ]
    return sorted([*ROOT.glob("*.py"), *inner])


def test_every_source_file_stands_on_a_floor():
    homeless = [str(path.relative_to(ROOT)) for path in sources() if floor_of(path) is None]
    assert not homeless, f"no floor for {homeless}: the house has {[floor.place for floor in FLOORS]}"


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.place)
def test_a_floor_imports_nothing_from_above(floor):
    mine = [path for path in sources() if floor_of(path) == floor]
    assert mine, f"nothing stands at {floor.place}"
    assert not [breach for path in mine for breach in breaches(path, floor)]


@pytest.mark.parametrize(
    ("place", "source", "module"),
    [
        ("models/norms.py", "import numpy as np", "numpy"),
        ("models/norms.py", "def f():\n    from playground import runs", "playground.runs"),
        ("models/norms.py", "from . import tap\nfrom .tap import NO_TAP\nimport plotly", "plotly"),
        ("playground/runs.py", "import importlib\nimportlib.import_module('streamlit')", "streamlit"),
        ("playground/runs.py", "from playground import figures", "playground.figures"),
        ("playground/figures/heatmap.py", "import torch", "torch"),
        ("playground/figures/heatmap.py", "from playground import measures", "playground.measures"),
        ("playground/ui/show.py", "import plotly.graph_objects as go", "plotly.graph_objects"),
        ("pages/home.py", "import numpy", "numpy"),
        ("app.py", "import torch.nn", "torch.nn"),
    ],
)
def test_a_breach_is_found(tmp_path, monkeypatch, place, source, module):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    floor = floor_of(path)
    assert floor
    assert [breach.split(" imports ")[1] for breach in breaches(path, floor)] == [module]


def test_nothing_that_is_read_can_run_code():
    """A run may come from a stranger: no pickle in any form, and `torch.load` not at all (safetensors are enough)."""
    forms = frozenset({"pickle", "marshal", "shelve", "dill", "joblib", "torch.load", "numpy.load"})
    named = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources()
        for line, module in imports(path)
        if is_within(module, forms)
    ]
    called = [
        f"{path.relative_to(ROOT)}:{node.lineno} calls {node.func.value.id}.{node.func.attr}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and (node.func.value.id, node.func.attr) in {("torch", "load"), ("np", "load"), ("pickle", "loads")}
    ]
    assert not named + called
