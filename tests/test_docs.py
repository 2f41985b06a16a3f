"""The documents say what is: every command, file, link, tree and table in them is compared with the project."""

from __future__ import annotations

import importlib.util
import re
import shlex
import struct
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from models import AXES

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
COMMANDS = {".", "pip", "streamlit", "pytest", "python", "git", "cd", "sh", "bash", "docker", "nginx", "curl"}


def read(place: str) -> str:
    return (ROOT / place).read_text(encoding="utf-8")


def blocks(text: str, kind: str) -> list[str]:
    """Return the fenced blocks of a kind: `sh`, `python`, `text`, `toml`."""
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def rows(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table under a heading, without its two head lines."""
    part = text.split(f"\n{heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n?)+", part, flags=re.MULTILINE)
    assert table, f"no table under {heading!r}"
    lines = table[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_documents_are_there():
    assert {ids(path) for path in DOCUMENTS} >= {
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/architecture.md",
        "docs/glossary.md",
        "docs/lecturing.md",
        "docs/hosting.md",
    }


# --- Commands, files, links ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", target):
            continue
        place, _, part = target.partition("#")
        there = path.parent / place if place else path
        assert there.exists(), f"{ids(path)} links to {target}"
        if part:
            headings = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert part in anchors, f"{ids(path)} links to {target}; there are {sorted(anchors)}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_files_named_are_there(path):
    """A text in backticks that has a slash or a source file's ending is a file or folder of the project."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = [word for word in re.findall(r"`([^`\n]+)`", text) if re.fullmatch(r"[\w.*/-]+", word)]
    endings = (".py", ".js", ".toml", ".txt", ".md", ".css")
    files = [word for word in named if re.fullmatch(r"\.?[a-z][\w.*-]*/[\w.*/-]*", word) or word.endswith(endings)]
    lost = [word for word in files if not any(True for _ in ROOT.glob(word.rstrip("/"))) and not is_elsewhere(word)]
    assert not lost, f"{ids(path)} names {lost}"


def is_elsewhere(word: str) -> bool:
    """Say whether a name is of a folder that only comes to be: a run, an environment, what git does not keep."""
    made = [line.strip("/\n") for line in read(".gitignore").splitlines()]
    return word.split("/")[0] in made


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield (document, words) for each command in a `sh` block."""
    for path in DOCUMENTS:
        for block in blocks(path.read_text(encoding="utf-8"), "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                for command in re.split(r"&&|\|\|", line.split(" #")[0]):
                    words = shlex.split(command.strip())
                    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                        words = words[1:]
                    if words:
                        yield ids(path), words


def test_commands_name_what_is_there():
    seen = list(commands())
    assert seen
    for document, words in seen:
        where = f"{document}: {shlex.join(words)}"
        match words:
            case ["pip", "install", "-r", requirements]:
                assert (ROOT / requirements).is_file(), where
            case ["streamlit", "run", script, *options]:
                assert (ROOT / script).is_file(), where
                assert_options_exist(options, where)
            case ["python", "-m", module, *_] if module in {"venv", "pip", "ruff", "mypy", "pytest"}:
                pass
            case ["python", "-m", module, *_]:
                spec = importlib.util.find_spec(module)
                assert spec, where
                if spec.submodule_search_locations:
                    assert importlib.util.find_spec(f"{module}.__main__"), where
            case [script, *_] if script.startswith(("./", ".ci")):
                assert (ROOT / script).is_file(), where
            case [command, *_]:
                assert command in COMMANDS, where
        for word in words[1:]:
            if re.fullmatch(r"(?:tests|models|pages|playground|docs)/[\w./-]+", word):
                assert (ROOT / word).exists(), where


def assert_options_exist(options: list[str], where: str) -> None:
    from streamlit import config

    for option in options:
        if option.startswith("--"):
            name = option[2:].partition("=")[0]
            assert name in config._config_options_template, f"{where}: no option {name}"


def test_each_command_of_the_project_answers():
    """`python -m … --help` of every module a document runs: the command is there and knows its own words."""
    modules = {
        (words[2], words[3] if len(words) > 3 and words[3].isalpha() else "")
        for _, words in commands()
        if words[:2] == ["python", "-m"] and words[2].startswith("playground")
    }
    for module, verb in sorted(modules):
        command = [sys.executable, "-m", module, *([verb] if verb else []), "--help"]
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_examples_run(path):
    """Every `python` block of a document, one after the other, in one place."""
    names: dict[str, object] = {}
    for block in blocks(path.read_text(encoding="utf-8"), "python"):
        exec(compile(block, ids(path), "exec"), names)  # noqa: S102  the project's own text


# --- The tree --------------------------------------------------------------------------------------------------------


def tree(text: str) -> Mapping[str, str]:
    """Return place → remark for a tree drawn by indentation, two spaces a level."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in text.splitlines():
        match = re.fullmatch(r"( *)(\S+)(?: +(.*))?", line)
        assert match, f"not a line of a tree: {line!r}"
        depth = len(match[1]) // 2
        above = [*above[:depth], match[2].rstrip("/")]
        found["/".join(above)] = match[3] or ""
    return found


def test_the_tree_is_the_tree():
    [drawn] = [block for block in blocks(read("README.md"), "text") if block.startswith("app.py")]
    places = tree(drawn)
    assert not [place for place in places if not (ROOT / place).exists()]
    assert not [place for place, remark in places.items() if not remark], "each line says what stands there"
    ignored = {".git", *(line.strip("/") for line in read(".gitignore").splitlines())}
    folders = {
        str(path.relative_to(ROOT))
        for folder in (ROOT, ROOT / "playground")
        for path in folder.iterdir()
        if path.is_dir() and path.name not in ignored and not path.name.endswith("_cache")
    }
    parts = {str(path.relative_to(ROOT)) for path in (ROOT / "models").glob("[!_]*.py")}
    assert not (folders | parts) - places.keys()


# --- Tables ----------------------------------------------------------------------------------------------------------


def test_the_glossary_has_a_row_for_every_tensor():
    table = {row[0].strip("`"): row for row in rows(read("docs/glossary.md"), "## Tensors")}
    assert table.keys() == AXES.keys()
    for name, (_, axes, english, chinese) in table.items():
        assert axes == "`[" + ", ".join(AXES[name]) + "]`", f"{name} is {AXES[name]}"
        assert english, name
        assert re.search("[\u4e00-\u9fff]", chinese), name


def test_the_glossary_says_what_each_axis_is():
    table = {row[0].strip("`") for row in rows(read("docs/glossary.md"), "## Axes")}
    assert table == {axis for axes in AXES.values() for axis in axes}


def test_the_readme_names_every_page_once():
    from playground.i18n import Translate
    from playground.ui.frame import PAGES

    for document, language in (("README.md", "en"), ("README.zh.md", "zh")):
        heading = {"en": "## Pages", "zh": "## 页面"}[language]
        table = [row[0].strip("*") for row in rows(read(document), heading)]
        t = Translate(language)
        assert table == [t(f"{page.name}.title") for page in PAGES], document


# --- Numbers and versions --------------------------------------------------------------------------------------------


def test_the_changelog_begins_with_this_version():
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    first = re.search(r"^## (\S+)", read("CHANGELOG.md"), flags=re.MULTILINE)
    assert first
    assert first[1] == version


def test_the_lowest_requirements_are_the_lower_ends():
    ranges = "\n".join([read("requirements.txt"), read("requirements-dev.txt")])
    lowest = dict(re.findall(r"^(\w+)==([\d.]+)$", read("requirements-lowest.txt"), flags=re.MULTILINE))
    ends = dict(re.findall(r"^(\w+)(?:>=|==)([\d.]+?)(?:\.\*|,.*)?$", ranges, flags=re.MULTILINE))
    assert lowest.keys() == ends.keys()
    for name, end in ends.items():
        assert lowest[name] == end or lowest[name] == f"{end}.0", name


def test_the_picture_is_a_picture():
    image = (ROOT / "docs/images/home.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", image[16:24])
    assert width >= 1200
    assert height >= 600
    assert len(image) < 400_000


def test_hosting_names_the_settings_that_are_set():
    """Each setting in the table of `docs/hosting.md` has the value that `.streamlit/config.toml` gives it."""
    config = tomllib.loads(read(".streamlit/config.toml"))
    for name, value, *_ in rows(read("docs/hosting.md"), "## Settings"):
        section, _, key = name.strip("`").partition(".")
        said = tomllib.loads(f"value = {value.strip('`')}")["value"]
        assert config[section][key] == said, name


def test_hosting_names_every_variable_that_is_read():
    """The table of environment variables is the set of those the app's code asks for."""
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in [*ROOT.glob("*.py"), *(ROOT / "playground").rglob("*.py"), *(ROOT / "models").rglob("*.py")]
    )
    asked = set(re.findall(r"\bPLAYGROUND_[A-Z_]+", source))
    table = {row[0].strip("`") for row in rows(read("docs/hosting.md"), "## Environment")}
    assert {name for name in table if name.startswith("PLAYGROUND_")} == asked


def test_lecturing_names_the_parameters_of_a_link():
    """Those that every page has must be there, those of single pages may; none that there is not."""
    from playground.ui.link import PICKS, View, to_params

    every_page = View(language="zh", present=True, run="r", step=1, text="x")
    named = {name for row in rows(read("docs/lecturing.md"), "## Links") for name in re.findall(r"`([^`]+)`", row[0])}
    assert to_params(every_page).keys() <= named <= to_params(every_page).keys() | PICKS.keys()


def test_lecturing_names_every_key_of_the_app():
    """The shortcuts that buttons have; a component's own keys are its own test's business."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "playground/ui").glob("*.py"))
    shortcuts = set(re.findall(r"shortcut=\"([^\"]+)\"", source))
    named = {name for row in rows(read("docs/lecturing.md"), "## Keys") for name in re.findall(r"`([^`]+)`", row[0])}
    assert shortcuts
    assert named >= shortcuts
