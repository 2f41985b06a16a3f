"""The logit lens: its last row is what the model says, and every row is a distribution."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models import Transformer, capture
from playground.lens import lens_at
from playground.reading import Reading
from playground.runs import RunStore
from playground.subject import Subject
from tests.models.examples import SRC, TGT, VARIANTS, inputs, name_of, small


def read(model: Transformer) -> Reading:
    both = model.config.architecture == "encoder-decoder"
    words = tuple(map(str, range(11)))
    ids = inputs(model)
    src = tuple(words[i] for i in SRC[0]) if model.config.architecture != "decoder-only" else ()
    tgt = tuple(words[i] for i in (TGT if both else SRC)[0]) if model.config.architecture != "encoder-only" else ()
    return Reading(capture(model, *ids), src=src, tgt=tgt, vocabulary=words)


@pytest.mark.parametrize("choices", VARIANTS, ids=name_of)
def test_the_last_layer_says_what_the_model_says(choices):
    model = small(**choices)
    reading = read(model)
    for pos in range(len(reading.read)):
        found = lens_at(model, reading, pos)
        assert found.probs.shape == (3, 11)
        np.testing.assert_allclose(found.probs.values[-1], reading["probs"].values[pos], atol=1e-6)
        np.testing.assert_allclose(found.probs.values.sum(axis=-1), 1.0, atol=1e-5)
        assert found.has_norm == model.config.final_norm


def test_a_row_worked_by_hand():
    model = small(norm_placement="pre", unembed_bias=True)
    with torch.no_grad():
        model.unembed_bias.copy_(torch.linspace(-1, 1, 11))
    reading = read(model)
    x = torch.from_numpy(np.array(reading["decoder.0.resid_post"].values))
    x = (x - x.mean(dim=-1, keepdim=True)) / (x.var(dim=-1, keepdim=True, correction=0) + 1e-5).sqrt()
    expected = (x @ model.embedding.T + model.unembed_bias).softmax(dim=-1).detach().numpy()
    np.testing.assert_allclose(lens_at(model, reading, 2).probs.values[1], expected[2], atol=1e-6)


def test_ranks_and_likeliest_agree():
    here = Subject(RunStore().open("english-french"), 800, "the black cat does not eat the fish")
    for pos, (read_last, written) in enumerate(zip(here.reading.tgt, here.reading.predicted, strict=True)):
        found = lens_at(here.model, here.reading, pos)
        for layer in range(3):
            best = found.likeliest(layer, 5)
            assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
            for rank, (word, _) in enumerate(best):
                assert found.rank(layer, here.reading.vocabulary.index(word)) == rank
        # An embedding resembles itself most: at first the word just read is on top, in the end the one to be written.
        assert pos == 0 or found.likeliest(0, 1)[0][0] == read_last
        assert found.likeliest(2, 1)[0][0] == written
