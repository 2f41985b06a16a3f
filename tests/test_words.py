"""The words for the reader: the same in all languages, all used, none missing, none in the code."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from playground.i18n import LANGUAGES, LOCALE, placeholders, words

ROOT = Path(__file__).parents[1]
DEFAULT, *OTHERS = LANGUAGES
CJK = "\u3400-\u4dbf\u4e00-\u9fff"
# Where Chinese characters are data: the sentences that are translated, and the name of the language in the language.
CHINESE_IS_DATA = ("playground/tasks", "playground/i18n.py")
# Put together here, so that this file may be searched too.
FORBIDDEN = [
    "TO" + "DO",
    "FIX" + "ME",
    "XX" + "X",
    "coming" + " soon",
    "lorem" + " ipsum",
    "NotImplemented" + "Error",
    "/ro" + "ot/",
    "/wo" + "rk/",
    "py" + "pi.org",
    "pythonhosted" + ".org",
]


@cache
def app_sources() -> Mapping[str, ast.Module]:
    """Return every Python file that a visitor's words could stand in, parsed, by its place."""
    folders = ("models", "playground", "pages")
    paths = [*ROOT.glob("*.py"), *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths)}


def written_files() -> list[Path]:
    """Return every file of the project that people write."""
    kinds = {".py", ".js", ".mjs", ".css", ".html", ".toml", ".md", ".txt", ".yml", ".yaml"}
    folders = ("models", "playground", "pages", "tests", "docs", ".ci", ".streamlit")
    inner = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return sorted(
        path
        for path in [*ROOT.iterdir(), *inner]
        if path.is_file() and (path.suffix in kinds or path.parent.name == ".ci") and "recordings" not in path.parts
    )


# --- The languages agree ---------------------------------------------------------------------------------------------


def test_every_language_has_a_folder():
    assert {path.name for path in LOCALE.iterdir() if path.is_dir()} == set(LANGUAGES)


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_files(language):
    assert {path.name for path in (LOCALE / language).iterdir()} == {path.name for path in (LOCALE / DEFAULT).iterdir()}


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_keys(language):
    missing = sorted(words(DEFAULT).keys() - words(language).keys())
    extra = sorted(words(language).keys() - words(DEFAULT).keys())
    assert (missing, extra) == ([], [])


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_placeholders(language):
    shared = words(DEFAULT).keys() & words(language).keys()
    assert not {
        key: (sorted(placeholders(words(DEFAULT)[key])), sorted(placeholders(words(language)[key])))
        for key in shared
        if placeholders(words(DEFAULT)[key]) != placeholders(words(language)[key])
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_words_are_empty_or_padded(language):
    assert not [key for key, text in words(language).items() if not text or text != text.strip()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_file_of_words_is_read_as_it_is_written(language):
    for path in (LOCALE / language).glob("*.toml"):
        assert tomllib.loads(path.read_text(encoding="utf-8")), f"{path.name} has no words"


# --- They are well written -------------------------------------------------------------------------------------------

FORMULA = re.compile(r"\$[^$]*\$|`[^`]*`|\{[^}]*\}|\]\([^)]*\)")


def prose(text: str) -> str:
    """Return the words without formulas, code, placeholders and addresses."""
    return FORMULA.sub("·", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tone_is_quiet(language):
    loud = re.compile(r"[!\uff01]|\.\.\.|[\U0001F300-\U0001FAFF]")
    assert not {key: text for key, text in words(language).items() if loud.search(prose(text))}


def test_chinese_has_chinese_punctuation():
    """A half-width mark that touches a Chinese character, or a straight quote around one, is a slip of the keyboard."""
    slip = re.compile(rf"[{CJK}][,;:?()]|[,;?()\]][{CJK}]|[{CJK}]\.(?!\w)|[{CJK}]['\"]|['\"][{CJK}]|\.\.\.")
    assert not {key: text for key, text in words("zh").items() if slip.search(prose(text))}


def test_chinese_and_latin_words_are_set_apart_in_one_way():
    """A Latin word or number and a Chinese character have a space between them, as most Chinese technical texts do."""
    touching = re.compile(rf"[{CJK}][A-Za-z0-9]|[A-Za-z0-9][{CJK}]")
    assert not {key: text for key, text in words("zh").items() if touching.search(prose(text))}


def test_chinese_is_written_in_chinese():
    def is_said(text: str) -> bool:
        # Abbreviations are the same in both languages, and the name of a file has no spaces.
        return len(re.findall(r"[a-z]{3,}", prose(text))) >= 2 and " " in text

    chinese = re.compile(f"[{CJK}]")
    said = [key for key, text in words("en").items() if is_said(text) and key in words("zh")]
    assert not [key for key in said if not chinese.search(words("zh")[key])]


def test_english_is_written_in_english():
    chinese = re.compile(f"[{CJK}，。；：？！（）、]")
    quoted = re.compile(f"[{CJK}]+")
    found = {key: text for key, text in words("en").items() if chinese.search(prose(text))}
    # An example of a Chinese sentence may stand in the English text, Chinese punctuation may not.
    assert not [key for key, text in found.items() if chinese.search(quoted.sub("", prose(text)))]


# --- Code and words meet ---------------------------------------------------------------------------------------------


def text_of(node: ast.expr) -> str | None:
    """Return a pattern for the texts an expression can be, or None if nothing is known about them."""
    match node:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=values):
            return "".join(text_of(value) or ".+" for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pair = text_of(left), text_of(right)
            return None if pair == (None, None) else "".join(part or ".+" for part in pair)
        case ast.IfExp(body=body, orelse=orelse):
            pair = text_of(body), text_of(orelse)
            return None if None in pair else f"(?:{pair[0]}|{pair[1]})"
        case _:
            return None


def asked_keys() -> Iterator[tuple[str, str]]:
    """Yield (place, pattern) for each `t(…)` and `t.markdown(…)` in the app."""
    for place, tree in app_sources().items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="t") | ast.Attribute(attr="t"), args=[key, *_]):
                    pass
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="t") | ast.Attribute(attr="t"), attr="markdown"),
                    args=[key, *_],
                ):
                    pass
                case _:
                    continue
            pattern = text_of(key)
            if pattern is not None:
                yield f"{place}:{node.lineno}", pattern


def named_keys() -> set[str]:
    """Return patterns for all texts in the app that could be keys: in a table, an error, a call of `t`."""
    # A page's area may be what varies, as in `t(f"{page.name}.title")`; it is one word.
    found = {re.sub(r"^\.\+", "[^.]+", pattern) for _, pattern in asked_keys() if "\\." in pattern}
    stems = "|".join(re.escape(path.stem) for path in (LOCALE / DEFAULT).glob("*.toml"))
    for tree in app_sources().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                pattern = text_of(node)
                # Elsewhere a pattern must begin with an area, else `f"{a}.{b}"` would use up every key.
                if pattern and re.match(rf"(?:{stems})\\?\.", pattern):
                    found.add(pattern)
    return found


def test_every_key_asked_for_has_words():
    keys = words(DEFAULT)
    unsaid = [(place, key) for place, key in asked_keys() if not any(re.fullmatch(key, known) for known in keys)]
    assert not unsaid


def test_every_key_in_a_table_has_words():
    """A text that looks like a key of an area that exists is one: `"train.state.paused"`."""
    keys = words(DEFAULT)
    stems = {path.stem for path in (LOCALE / DEFAULT).glob("*.toml")}
    looks = re.compile(r"[a-z_]+(?:\.[a-z0-9_-]+)+")
    endings = {"py", "js", "css", "toml", "json", "md", "csv", "png", "svg", "html"}
    assert not [
        (f"{place}:{node.lineno}", node.value)
        for place, tree in app_sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and looks.fullmatch(node.value)
        if node.value.split(".")[0] in stems and node.value.split(".")[-1] not in endings
        if not any(key.startswith(node.value) for key in keys)  # a whole key, or how those of an f-string begin
    ]


def test_every_word_is_used():
    used = [re.compile(pattern) for pattern in named_keys()]
    assert not [key for key in words(DEFAULT) if not any(pattern.fullmatch(key) for pattern in used)]


# --- No words in the code --------------------------------------------------------------------------------------------


def docstrings(tree: ast.Module) -> set[int]:
    """Return the identities of the nodes that describe: docstrings, and the values of an enumeration."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "Enum" for base in node.bases):
            found |= {id(inner) for inner in ast.walk(node)}
        for statement in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            match statement:
                case ast.Expr(value=ast.Constant(value=str()) as text):
                    found.add(id(text))
    return found


def for_developers(tree: ast.Module) -> set[int]:
    """Return the identities of the nodes inside what only a programmer reads: what is raised, asserted, logged."""
    found: set[int] = set()
    for node in ast.walk(tree):
        is_logged = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id.lower().lstrip("_") in {"log", "logger", "logging", "warnings"}
        )
        is_error = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id.endswith(("Error", "Exception", "Warning"))
        )
        if is_logged or is_error or isinstance(node, ast.Raise | ast.Assert):
            found |= {id(inner) for inner in ast.walk(node)}
    return found


def test_no_chinese_stands_in_the_code():
    chinese = re.compile(f"[{CJK}]")
    assert not [
        f"{place}:{node.lineno} {node.value!r}"
        for place, tree in app_sources().items()
        if not place.startswith(CHINESE_IS_DATA)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and chinese.search(node.value)
    ]


def test_no_sentence_for_the_reader_stands_in_the_code():
    """What is drawn comes from `locale/`: three words in a row in a page, a control or a figure are a sentence."""
    sentence = re.compile(r"(?:\b[A-Za-z][a-z']+[,:]? ){2,}[A-Za-z][a-z']+")
    code = re.compile(r"[{};<>=]|--|\n")  # a style sheet, markup, an address
    assert not [
        f"{place}:{node.lineno} {node.value!r}"
        for place, tree in app_sources().items()
        if place.startswith(("pages/", "playground/ui/", "playground/figures/", "playground/main.py"))
        for skipped in [docstrings(tree) | for_developers(tree)]
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped
        if sentence.search(node.value) and not code.search(node.value)
    ]


LABELLED = {
    *("title", "header", "subheader", "caption", "markdown", "text", "write", "info", "warning", "error", "success"),
    *("button", "download_button", "toggle", "checkbox", "radio", "selectbox", "select_slider", "slider", "pills"),
    *("segmented_control", "multiselect", "number_input", "text_input", "text_area", "expander", "popover", "metric"),
    *("form_submit_button", "link_button", "page_link", "toast", "tabs", "spinner", "status", "file_uploader"),
}


def test_no_label_is_a_word_in_the_code():
    """`st.button("Start")` would speak English to everybody."""
    word = re.compile(r"[A-Za-z]{2,}")
    icon = re.compile(r":material/\w+:|^[a-z0-9_./?=&-]+$|<[^>]*>")  # an icon, a place, markup
    found = []
    for place, tree in app_sources().items():
        if not place.startswith(("pages/", "playground/ui/", "playground/main.py")):
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Constant(value=str(text)), *_]):
                    if attr in LABELLED and word.search(icon.sub("", text)):
                        found.append(f"{place}:{node.lineno} {attr}({text!r})")
                case ast.keyword(arg="label" | "help" | "placeholder" | "caption", value=ast.Constant(value=str(text))):
                    if word.search(icon.sub("", text)):
                        found.append(f"{place}:{node.value.lineno} {node.arg}={text!r}")
    assert not found


def test_no_sentence_for_the_reader_stands_in_a_component():
    """A component's words come with its data; a programmer's error may stay English."""
    text = re.compile(r"""(?<![\w])(["'`])((?:(?!\1)[^\\\n]|\\.)*)\1""")
    sentence = re.compile(r"^[A-Z][a-z']+ [a-z']+ [a-z']+|^[^{}();=<>]*[A-Za-z][a-z']+ [a-z']+ [a-z']+ [a-z']+")
    assert not [
        f"{path.relative_to(ROOT)}:{number} {match[2]!r}"
        for path in sorted((ROOT / "playground").rglob("*.js"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "Error(" not in line and not line.lstrip().startswith(("//", "*", "/*"))
        for match in text.finditer(line.split(" // ")[0])
        # The key of an object is a name, be it a sentence: plotly's dictionary is asked by its English texts.
        if sentence.search(match[2]) and not line[match.end() :].startswith(":")
    ]


# --- Nothing is left over --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", FORBIDDEN)
def test_nothing_is_put_off_and_no_machine_is_named(word):
    left = re.compile(rf"\b{word}\b" if word.isalpha() else re.escape(word))
    assert not [
        f"{path.relative_to(ROOT)}:{number}"
        for path in written_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if left.search(line)
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_value_stands_in_code_marks(language):
    """Values are escaped for Markdown, and between backticks the escapes would be seen."""
    found = {key: text for key, text in words(language).items() if re.search(r"`[^`]*\{\w+[^`]*`", text)}
    assert not found
