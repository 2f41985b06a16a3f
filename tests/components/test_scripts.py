"""The components' scripts: `node --test` of their pure functions, and what no script may do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE.parents[1] / "playground" / "ui" / "components").glob("*.js"))


@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.stem)
def test_pure_functions_hold(path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, and there is none on this machine")
    done = subprocess.run([node, "--test", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_no_script_parses_markup_or_asks_another_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    banned = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|https?://"
    assert re.findall(banned, text) == []
