"""What is said of the cache is read from real tensors, and writing with it is writing without it."""

import numpy as np
import pytest
import torch

from playground.caching import (
    SHAPES,
    Timed,
    batch,
    cache_bytes,
    can_cache,
    filled,
    growth,
    kv_choices,
    shape_of,
    shared,
    timed,
    windowed,
)
from playground.runs import RunStore
from playground.subject import Subject


@pytest.fixture(params=["english-french", "induction", "grouped"])
def subject(request, make_run) -> Subject:
    if request.param == "english-french":
        run = RunStore().open("english-french")
    else:
        # A decoder alone, and one beside an encoder that shares its keys and values.
        task, choices = ("induction", {}) if request.param == "induction" else ("reverse", {"n_kv_heads": 2})
        run = RunStore().open(make_run(task, **choices))
    return Subject(run, run.steps[-1], run.config.data.examples[0])


def test_each_word_adds_a_column_and_nothing_else(subject):
    found, config = growth(subject), subject.model.config
    alone = config.architecture == "decoder-only"
    assert found.moments[0].read == (0, 1 + len(subject.src) if alone else 1)
    for before, after in zip(found.moments, found.moments[1:], strict=False):
        assert after.read == (before.read[1], before.read[1] + 1)
        assert after.bytes_own - before.bytes_own == cache_bytes(config, 1)
        assert after.bytes_cross == before.bytes_cross
    assert found.moments[-1].read[1] == len(found.words) == len(subject.reading.tgt)


def test_bytes_are_numbers_times_their_size_and_what_the_formula_says(subject):
    found = growth(subject)
    for moment in found.moments:
        held = moment.held[1] - moment.held[0]
        own = sum(array.values[:, :held].size * array.values.itemsize for pair in found.own for array in pair)
        cross = sum(array.values.size * array.values.itemsize for pair in found.cross for array in pair)
        assert moment.bytes_own == moment.formula_own == own
        assert moment.bytes_cross == moment.formula_cross == cross
    assert (found.moments[0].bytes_cross > 0) == (subject.model.config.architecture == "encoder-decoder")


def test_logits_and_tensors_are_those_of_the_pass(subject):
    found, reading = growth(subject), subject.reading
    assert max(moment.difference for moment in found.moments) < 1e-5
    for pair in (*found.own, *found.cross):
        for array in pair:
            np.testing.assert_allclose(array.values, reading[array.name].values, atol=2e-5, rtol=1e-4)
            assert array.axis("key").labels == reading[array.name].axis("key").labels


def test_without_a_cache_more_is_multiplied_from_the_second_word_on(subject):
    first, *later = growth(subject).moments
    assert first.cached == first.full
    assert all(moment.cached.total < moment.full.total for moment in later)
    assert all(moment.seconds_cached > 0 and moment.seconds_full > 0 for moment in (first, *later))


def test_fewer_heads_take_fewer_bytes_in_proportion(subject):
    found, config = shared(subject), subject.model.config
    assert [each.n_kv_heads for each in found] == list(kv_choices(config)) == [4, 2, 1]
    for each in found:
        assert each.n_bytes == each.formula == found[0].n_bytes * each.n_kv_heads // 4
        assert each.own[0][0].shape[0] == each.n_kv_heads == len(set(each.readers))
        assert sorted(each.readers) == list(each.readers)  # in blocks of neighbours
        assert each.is_subject == (each.n_kv_heads == config.n_kv_heads)


def test_sentences_of_a_batch_say_what_they_say_alone():
    run = RunStore().open("english-french")
    found = batch(Subject(run, run.steps[-1], run.config.data.examples[0]))
    lengths = [sum(real) for real in found.real]
    assert len(set(lengths)) > 1 and found.difference < 1e-5
    assert {len(row) for row in found.rows} == {max(lengths)}
    assert found.needed < found.n_bytes
    for words, real, where in zip(found.rows, found.real, found.where, strict=True):
        assert [word == "⟨pad⟩" for word in words] == [not each for each in real]
        assert list(where)[: sum(real)] == list(range(sum(real)))


@pytest.mark.parametrize("window", [2, 4, 8])
def test_a_window_keeps_one_fewer_than_it_sees_and_decodes_alike(window):
    run = RunStore().open("english-french")
    subject = Subject(run, run.steps[-1], run.config.data.examples[0])
    found = windowed(subject, window)
    assert found.off < 1e-5
    held = [end - start for start, end in found.held]
    assert held == [min(i + 1, window - 1) for i in range(len(held))]
    assert list(found.bytes_own) == [cache_bytes(run.config.model, n) for n in held]
    assert list(found.full_own) == [cache_bytes(run.config.model, i + 1) for i in range(len(held))]
    assert all(sum(row) == min(i + 1, window) for i, row in enumerate(found.seen))


def test_a_window_that_hides_nothing_changes_nothing():
    run = RunStore().open("english-french")
    subjects = [Subject(run, run.steps[-1], text) for text in run.config.data.examples]
    found = windowed(min(subjects, key=lambda each: len(each.reading.tgt)), 8)
    assert len(found.words) <= 8
    assert found.difference < 1e-5 and found.writes == found.full_writes


def test_who_looks_ahead_or_does_not_write_keeps_nothing(make_run):
    config = RunStore().open("english-french").config.model
    assert can_cache(config)
    assert not can_cache(RunStore().open(make_run("reverse", causal=False)).config.model)


def test_larger_shapes_are_measured_at_each_length():
    run = RunStore().open("english-french")
    subject = Subject(run, run.steps[-1], run.config.data.examples[0])
    found = timed(shape_of(subject, "subject"))
    assert all(isinstance(each, Timed) and each.cached > 0 and each.full > 0 for each in found)
    assert {name: round(config.n_parameters / 1e6, 1) for name, config in SHAPES.items()} == {
        "small": 0.9,
        "large": 5.0,
    }


def test_a_filled_cache_has_the_rows_and_columns_of_what_was_read():
    run = RunStore().open("english-french")
    subject = Subject(run, run.steps[-1], run.config.data.examples[0])
    cache = filled(subject.model, *(torch.tensor([row]) for row in subject.reading.ids))
    assert len(cache) == len(subject.reading.tgt)
    assert cache.n_bytes_cross() == cache_bytes(run.config.model, len(subject.reading.src))
