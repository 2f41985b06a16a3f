"""Provenance: every number of a pass is made again from its operands, and the line that made it is named."""

import math

import numpy as np
import pytest
import torch

from models import ModelConfig, Transformer, capture
from playground.ablation import HeadAt, ablated
from playground.masking import batch_under, companion, paint
from playground.provenance import RULES, SOURCES, can_explain, explain
from playground.reading import Reading
from playground.runs import RunStore
from playground.subject import Subject

VOCABULARY = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩", *(f"word{i}" for i in range(3, 31)))
SRC, TGT = (5, 7, 11, 2), (1, 13, 17, 19, 23)
SIZES = {"vocab_size": len(VOCABULARY), "d_model": 12, "n_heads": 3, "d_ff": 20, "n_layers": 2, "max_len": 16}
MASKS = {"mask", "mask_causal", "mask_padding", "mask_window"}
VARIANTS = {
    "paper": {},
    "pre": {"norm_placement": "pre"},
    "rms-swiglu-rotary": {"norm": "rms", "activation": "swiglu", "positions": "rotary", "ffn_bias": False},
    "pre-rms-gelu-untied": {
        "norm_placement": "pre",
        "norm": "rms",
        "activation": "gelu",
        "positions": "learned",
        "tied": False,
        "unembed_bias": True,
    },
    "alibi-biased-unscaled": {
        "positions": "alibi",
        "attention_bias": True,
        "scale_scores": False,
        "embed_scale": False,
    },
    "gqa-normed-tanh": {"n_heads": 6, "n_kv_heads": 2, "embed_norm": True, "activation": "gelu_tanh"},
    "encoder-only": {"architecture": "encoder-only"},
    "open-no-residual": {"causal": False, "residual": False},
    "pre-no-residual": {"norm_placement": "pre", "residual": False},
    "decoder-only": {"architecture": "decoder-only", "positions": "none", "norm_placement": "pre"},
    "window-experts": {"window": 2, "n_experts": 5, "n_active": 2},
    "switch": {"n_experts": 3, "activation": "swiglu", "ffn_bias": False},
}


def read(**choices) -> tuple[Transformer, Reading]:
    config = ModelConfig(**{**SIZES, **choices})
    model = Transformer(config, torch.Generator().manual_seed(0))
    with torch.no_grad():  # biases and gains start at 0 and 1, where a mistake would not show
        generator = torch.Generator().manual_seed(1)
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator) * 0.2)
    both = config.architecture == "encoder-decoder"
    first = SRC if config.architecture != "decoder-only" else TGT
    trace = capture(model, torch.tensor([first]), torch.tensor([TGT]) if both else None)
    src = tuple(VOCABULARY[i] for i in SRC) if config.architecture != "decoder-only" else ()
    tgt = tuple(VOCABULARY[i] for i in TGT) if config.architecture != "encoder-only" else ()
    return model, Reading(trace, src=src, tgt=tgt, vocabulary=VOCABULARY)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_tensor_of_a_pass_can_be_made_again_from_its_operands(variant):
    model, reading = read(**VARIANTS[variant])
    rng = np.random.default_rng(0)
    for name in reading:
        if name.rsplit(".", 1)[-1] in MASKS:
            continue
        array = reading[name]
        for _ in range(4):
            at = {axis.name: int(rng.integers(len(axis))) for axis in array.axes}
            origin = explain(model, reading, name, **at)
            assert origin.value == array.values[tuple(at.values())], name
            if math.isinf(origin.value):
                assert origin.recomputed == origin.value and origin.hidden in ("causal", "window"), name
            else:
                assert origin.recomputed == pytest.approx(origin.value, abs=2e-5, rel=2e-5), (name, at)
                assert origin.difference < 1e-4


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_line_of_code_is_there_word_for_word_and_the_shapes_are_real(variant):
    model, reading = read(**VARIANTS[variant])
    for name in reading:
        if not can_explain(name):
            continue
        origin = explain(model, reading, name, **{axis.name: 0 for axis in reading[name].axes})
        file = SOURCES.parent / origin.line.file
        assert file.read_text(encoding="utf-8").splitlines()[origin.line.number - 1].strip() == origin.line.text
        shapes = dict(origin.shapes)
        assert shapes[name] == reading[name].shape
        assert all(shape == reading[other].shape for other, shape in shapes.items() if other in reading)


def test_only_masks_have_no_rule():
    named = {name.rsplit(".", 1)[-1] for choices in VARIANTS.values() for name in read(**choices)[1]}
    assert named - set(RULES) == MASKS
    assert set(RULES) <= named


def test_the_table_of_a_score_holds_its_products():
    model, reading = read()
    origin = explain(model, reading, "decoder.1.cross_attn.raw_scores", head=1, query=2, key=3)
    q, k, products = origin.table.values
    np.testing.assert_allclose(q * k, products, rtol=1e-5)
    assert products.sum() == pytest.approx(origin.value, abs=1e-5)
    assert origin.table.axes[0].labels == ("q", "k", "q × k")


def test_the_table_of_a_weight_sums_to_one_and_hides_what_is_hidden():
    model, reading = read()
    origin = explain(model, reading, "decoder.0.self_attn.weights", head=0, query=2, key=1)
    scores, raised, shares = origin.table.values
    assert np.isnan(scores[3:]).all() and (raised[3:] == 0).all()
    assert shares.sum() == pytest.approx(1.0)
    assert shares[1] == pytest.approx(origin.value, abs=1e-6)
    hidden = explain(model, reading, "decoder.0.self_attn.weights", head=0, query=2, key=4)
    assert (hidden.value, hidden.recomputed, hidden.hidden, hidden.difference) == (0.0, 0.0, "causal", 0.0)


def test_one_score_by_hand():
    """With q = (0, 2) and k = (1, 1): 0·1 + 2·1 = 2, and 2/√2 = 1.41421."""
    config = ModelConfig(**{**SIZES, "d_model": 2, "n_heads": 1, "n_layers": 1})
    model = Transformer(config, torch.Generator().manual_seed(0))
    trace = dict(capture(model, torch.tensor([SRC]), torch.tensor([TGT])))
    at = "decoder.0.cross_attn"
    trace[f"{at}.q"] = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    trace[f"{at}.k"] = torch.tensor([[[1.0, 1.0], [0.0, 1.0]]])
    trace[f"{at}.raw_scores"] = torch.tensor([[[1.0, 0.0], [2.0, 2.0]]])
    trace[f"{at}.scores"] = trace[f"{at}.raw_scores"] / math.sqrt(2)
    words = tuple(VOCABULARY[i] for i in (13, 17))
    reading = Reading(trace, src=words, tgt=words, vocabulary=VOCABULARY)
    raw = explain(model, reading, f"{at}.raw_scores", head=0, query=1, key=0)
    assert (raw.recomputed, raw.steps) == (2.0, ("Σ = 2",))
    scaled = explain(model, reading, f"{at}.scores", head=0, query=1, key=0)
    assert scaled.steps == ("2 / √2 = 1.41421",)
    assert scaled.difference < 1e-6


def test_a_mistake_is_seen():
    """If the pass said something else, the recomputation would not follow it."""
    model, reading = read()
    name = "encoder.0.ffn.out"
    wrong = {each: reading._trace[each] for each in reading}
    wrong[name] = wrong[name] + 1.0
    other = Reading(wrong, src=reading.src, tgt=reading.tgt, vocabulary=VOCABULARY)
    assert explain(model, other, name, pos=1, d_model=2).difference == pytest.approx(1.0, abs=1e-4)


def test_a_cell_without_a_position_and_a_tensor_without_a_rule_are_refused():
    model, reading = read()
    with pytest.raises(ValueError, match=r"encoder\.0\.self_attn\.weights needs a position on \['key'\]"):
        explain(model, reading, "encoder.0.self_attn.weights", head=0, query=1)
    with pytest.raises(KeyError, match="no rule for 'mask'"):
        explain(model, reading, "encoder.0.self_attn.mask", query=0, key=0)
    with pytest.raises(IndexError, match="4 positions on 'key'"):
        explain(model, reading, "encoder.0.self_attn.weights", head=0, query=1, key=9)


def test_a_pass_under_another_mask_is_explained_by_that_mask():
    """Padded, narrowed to a window, painted, and without a head: each number from its own operands, with its reason."""
    run = RunStore().open("english-french")
    subject = Subject(run, run.steps[-1], "the black cat does not eat the fish")
    flips = np.zeros((9, 9), dtype=bool)
    flips[2, :2] = True
    passes = {
        kind: batch_under((subject, companion(subject)), 1, kind, 1, 2, 2).variant.reading
        for kind in ("padding", "causal", "both", "window")
    }
    passes["hand"] = paint(subject, "decoder.1.self_attn", flips).variant.reading
    passes["off"] = ablated(subject, (HeadAt("decoder", 0, 1),), "zero").variant.reading
    found = {}
    for kind, reading in passes.items():
        for last in ("masked_scores", "weights", "z"):
            name = f"decoder.1.self_attn.{last}"
            array = reading[name]
            for query, key in np.ndindex(array.shape[1:]):
                at = dict(zip((axis.name for axis in array.axes), (2, query, key), strict=True))
                origin = explain(subject.model, reading, name, **at)
                assert origin.difference < 1e-4, (kind, at)
                if last == "masked_scores":
                    allowed = bool(reading["decoder.1.self_attn.mask"].values[query, key])
                    assert (origin.hidden == "") == allowed, (kind, at)
                    found.setdefault(kind, set()).add(origin.hidden)
    assert found == {
        "padding": {"", "padding", "causal"},
        "causal": {"", "causal"},
        "both": {"", "padding", "causal"},
        "window": {"", "padding", "causal", "window"},
        "hand": {"", "causal", "hand"},
        "off": {"", "causal"},
    }
