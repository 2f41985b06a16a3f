"""A visitor's own data: what is read, what is left out, what is refused, and the run that learns it."""

from __future__ import annotations

import random

import pytest

from playground.i18n import LANGUAGES, Translate
from playground.recipe import Recipe, RunConfig, RunRefused, model_for
from playground.runs import RunStore
from playground.tasks import OWN, DataRefused, OwnData
from playground.tasks.own import CONTEXT, MAX_BYTES, MOST_SYMBOLS, decoded, read_pairs, read_text
from playground.training.trainer import Trainer

WORDS = "stop live evil draw part star flow tops deer loop"
ROWS = [f"{word},{word[::-1]}" for word in WORDS.split()]
CSV = "\n".join(ROWS)
TEXT = "the cat sat on the mat and the dog sat on the log. " * 12


def test_pairs_are_read_by_any_separator_with_or_without_a_heading():
    plain = read_pairs(CSV).data
    for sign in ("\t", ";"):
        assert read_pairs(CSV.replace(",", sign)).data == plain
    found = read_pairs("Source,Target\r\n" + CSV.replace("\n", "\r\n") + "\r\n\r\n")
    assert found.data == plain and [note.key for note in found.notes] == ["own_data.note.heading"]
    task = plain.task()
    assert task.name == "own-pairs" and task is OwnData.from_dict(plain.to_dict()).task()
    assert task.tokenize("stop") == tuple("stop")
    assert task.reference(tuple("stop")).tgt == tuple("pots")
    assert {each.src for each in task.heldout}.isdisjoint(each.src for each in task.train)


def test_words_are_parted_where_cells_have_several():
    rows = [f'"the {noun}, it sleeps",猫{i}睡觉' for i, noun in enumerate(WORDS.split())]
    data = read_pairs("\n".join(rows)).data
    assert data.pairs[1] == (("the", "live", ",", "it", "sleeps"), ("猫", "1", "睡", "觉"))


def test_what_cannot_be_seen_is_left_out_and_said():
    found = read_pairs(CSV.replace("stop", "st\u202eo\u200bp\x07"))
    assert found.data == read_pairs(CSV).data
    assert [(note.key, note.values) for note in found.notes] == [("own_data.note.invisible", {"n": 3})]
    assert read_text(TEXT + "\u2066!").data.content.endswith("log. !")


def test_a_formula_is_text_like_any_other():
    found = read_pairs(CSV + '\n"=HYPERLINK(""x"")",=1+1')
    assert "".join(found.data.pairs[-1][0]) == '=HYPERLINK("x")'


def test_repeated_and_contradicting_rows_count_once():
    found = read_pairs(f"{CSV}\n{ROWS[0]}\n{ROWS[1].split(',')[0]},other")
    assert found.data == read_pairs(CSV).data
    assert {note.key for note in found.notes} == {"own_data.note.repeated", "own_data.note.other"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "empty"),
        ("\u200b\u202e", "empty"),
        (CSV + "\x00", "binary"),
        ("a,b", "few"),
        (CSV + "\nx", "columns"),
        (CSV + "\nx,y,z", "columns"),
        (CSV + "\nx,", "cell"),
        (CSV + "\n" + "ab " * 41 + ",y", "long"),
        (CSV + "\ntwo " + "w" * 41 + ",y z", "word"),
        (CSV + "\n" + '"' + "q" * 200_000 + '",y', "table"),
        ("x" * (MAX_BYTES + 1), "large"),
    ],
)
def test_what_is_no_table_is_refused_in_plain_words(text, key):
    with pytest.raises(DataRefused) as refused:
        read_pairs(text)
    assert refused.value.key == f"own_data.refused.{key}"
    for language in LANGUAGES:
        assert Translate(language).markdown(refused.value.key, **refused.value.values)


def test_every_encoding_is_read_or_refused():
    text = "".join(f"café {i},thé {i}\n" for i in range(9))
    assert decoded(text.encode()) == (text, ())
    assert decoded(text.encode("utf-8-sig"))[0] == text
    assert decoded(text.encode("utf-16"))[0] == text
    assert decoded(text.encode("cp1252"))[0] == text
    assert decoded("原文,译文".encode("gb2312"))[0] == "原文,译文"
    for bad in (b"PK\x03\x04\x00\x00", b"\xff\xfe\x00", b"\x81\x8d\x8f", b"x" * (MAX_BYTES + 1)):
        with pytest.raises(DataRefused):
            decoded(bad)


def test_a_text_is_bounded_and_its_end_is_held_out():
    data = read_text(TEXT + "\n\n\n\tEnd  of it").data
    assert "\n\nEnd of it" in data.content
    task = data.task()
    assert task.architecture == "decoder-only" and not task.ends
    assert not set(task.train) & set(task.heldout)
    assert all(len(each.src) + len(each.tgt) == CONTEXT for each in (*task.train, *task.heldout))
    assert task.tokenize("the cat") == ("t", "h", "e", "␠", "c", "a", "t")
    for text, key in (
        ("short", "short"),
        ("ab" * 60_000, "text_long"),
        ("".join(map(chr, range(0x4E00, 0x4E00 + 900))), "symbols"),
    ):
        with pytest.raises(DataRefused) as refused:
            read_text(text)
        assert refused.value.key == f"own_data.refused.{key}"
    assert MOST_SYMBOLS < 900


def test_what_a_run_says_it_learnt_is_checked_again():
    good = read_pairs(CSV).data.to_dict()
    assert OwnData.from_dict(good) == read_pairs(CSV).data
    bad = [None, [], {**good, "more": "x"}, {**good, "kind": "code"}, {**good, "content": 5}]
    bad += [{**good, "content": good["content"] + "\na\tb\tc"}, {**good, "content": good["content"] + "\n⟨eos⟩\ta"}]
    bad += [{**good, "content": good["content"] + "\n\u202ea\tb"}, {**good, "src_unit": "bytes"}]
    for plain in bad:
        with pytest.raises(DataRefused):
            OwnData.from_dict(plain)


def test_any_bytes_are_read_or_refused():
    draw = random.Random(3)
    for _ in range(300):
        data = bytes(draw.choices(b'ab,;"\n\r\t \x00\xff\xe9\xe4\xbd\xa0=', k=draw.randrange(200)))
        try:
            text, _ = decoded(data)
            read_pairs(text)
        except DataRefused:
            continue


@pytest.mark.parametrize("data", [read_pairs(CSV).data, read_text(TEXT).data], ids=[*OWN])
def test_a_run_learns_it_and_opens_again(data, tmp_path):
    task = data.task()
    model = model_for(task, d_model=8, n_heads=2, d_ff=8, n_layers=1)
    config = RunConfig(task=data.name, own=data, model=model, recipe=Recipe(steps=2, batch_size=4))
    trainer = Trainer(config)
    assert [report.step for report in trainer.run()] == [1, 2]
    assert 0 <= trainer.evaluate(4) <= 1 and trainer.samples(2) and trainer.peek().maps
    store = RunStore(tmp_path)
    writer = store.create(config)
    writer.weights(0, trainer.state_dict())
    run = store.open(writer.run_id)
    assert run.config == config and run.config.data is task
    own = tmp_path / writer.run_id / "own.json"
    own.write_text('{"kind": "pairs"}', encoding="utf-8")
    with pytest.raises(RunRefused):
        store.open(writer.run_id)
    own.unlink()
    with pytest.raises(RunRefused):
        store.open(writer.run_id)
