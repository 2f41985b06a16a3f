"""The words: one lookup, loud when a word is missing, literal when a value is the visitor's."""

import re
import string

import pytest

from playground.i18n import LANGUAGES, Translate, literal, placeholders, visible, words

HOSTILE = [
    "<b>bold</b>",
    "<img src=x onerror=alert(1)>",
    "a & b",
    "\"double\" and 'single'",
    "$x^2$",
    ":red[colour]",
    ":material/home:",
    "_under_ *star* `tick` ~strike~",
    "# heading",
    "- item",
    "1. item",
    "[link](javascript:alert(1))",
    "back\\slash",
    "a | b",
    "{brace} }{",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_every_character_with_a_meaning_is_escaped_and_none_is_lost(text):
    escaped = literal(text)
    assert re.sub(r"\\(.)", r"\1", escaped) == text
    bare = re.sub(r"\\.", "", escaped)
    assert not set(bare) & set(string.punctuation) - set("%,/;?@")


def test_characters_that_draw_nothing_or_turn_the_text_are_shown():
    assert visible("a\u202eb\u0000c\u200bd") == "a⟨U+202E⟩b⟨U+0000⟩c⟨U+200B⟩d"
    assert visible("le chat noir 黑猫 l'été") == "le chat noir 黑猫 l'été"


def test_values_are_literal_in_markdown_and_untouched_in_plain_text(tmp_path, monkeypatch):
    monkeypatch.setattr("playground.i18n.LOCALE", tmp_path)
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "page.toml").write_text('said = "You typed **{text}**."\n[deep]\ndown = "here"\n')
    words.cache_clear()
    try:
        t = Translate("en")
        assert t("page.said", text="<b>") == "You typed **<b>**."
        assert t.markdown("page.said", text="<b>") == "You typed **\\<b\\>**."
        assert t("page.deep.down") == "here"
        assert t.has("page.said") and not t.has("page.unsaid")
        with pytest.raises(KeyError, match="unsaid"):
            t("page.unsaid")
        with pytest.raises(KeyError, match="text"):
            t("page.said")
    finally:
        words.cache_clear()


def test_a_number_in_the_words_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("playground.i18n.LOCALE", tmp_path)
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "page.toml").write_text("count = 3\n")
    words.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"page\.count must be words .* not 3"):
            words("en")
    finally:
        words.cache_clear()


def test_an_unknown_language_names_those_there_are():
    with pytest.raises(ValueError, match=r"'xx'.*\['en', 'zh'\]"):
        Translate("xx")


def test_placeholders_are_the_names_in_braces():
    assert placeholders("step {step:,} of {steps}, {{literal}}") == {"step", "steps"}


def test_each_language_has_a_folder_of_words():
    assert all(words(language) for language in LANGUAGES)
