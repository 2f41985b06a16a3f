"""The residual stream's pictures: every array drawn is one of the pass, and every link leads to its operands."""

import itertools

import numpy as np
import pytest
import torch

from models import ModelConfig, Transformer, capture
from playground.i18n import LANGUAGES, Translate
from playground.reading import Reading
from playground.ui import stream

VOCABULARY = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩", *(f"word{i}" for i in range(3, 31)))
SRC, TGT = (5, 7, 11, 2), (1, 13, 17, 19, 23)
T = Translate("en")


def reading_of(config: ModelConfig) -> Reading:
    model = Transformer(config, torch.Generator().manual_seed(0))
    trace = capture(model, torch.tensor([SRC]), torch.tensor([TGT]))
    return Reading(
        trace,
        src=tuple(VOCABULARY[i] for i in SRC),
        tgt=tuple(VOCABULARY[i] for i in TGT),
        vocabulary=VOCABULARY,
    )


def config_of(**choices) -> ModelConfig:
    sizes = {"vocab_size": len(VOCABULARY), "d_model": 12, "n_heads": 3, "d_ff": 20, "n_layers": 2, "max_len": 16}
    return ModelConfig(**{**sizes, **choices})


CONFIGS = [
    config_of(),
    config_of(norm_placement="pre"),
    config_of(norm="rms", activation="swiglu", positions="rotary", ffn_bias=False),
    config_of(norm_placement="pre", norm="rms", activation="gelu", positions="learned", tied=False),
]
IDS = ["paper", "pre", "rms-swiglu-rotary", "pre-rms-gelu-untied"]


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
@pytest.mark.parametrize(("stack", "index"), [*itertools.product(("encoder", "decoder"), (0, 1))])
def test_every_matrix_of_a_layer_is_a_tensor_of_the_pass(config, stack, index):
    reading = reading_of(config)
    for block in stream.layer(reading, config, stack, index, T):
        assert block.array.name.startswith(f"{stack}.{index}.")
        np.testing.assert_array_equal(block.array.values, reading[block.array.name].values)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_layer_has_its_sublayers_and_each_only_adds_to_the_stream(config, stack):
    blocks = {block.id: block.array.values for block in stream.layer(reading_of(config), config, stack, 0, T)}
    wanted = ["self_attn", "ffn"] if stack == "encoder" else ["self_attn", "cross_attn", "ffn"]
    assert [name.removesuffix("_out") for name in blocks if name.endswith("_out")] == wanted
    place = blocks["resid_pre"]
    for part, result in zip(
        wanted, [r for r in ("resid_mid", "resid_mid_cross", "resid_post") if r in blocks], strict=True
    ):
        added = blocks[result] if config.norm_placement == "pre" else blocks[f"{part}_added"]
        np.testing.assert_allclose(place + blocks[f"{part}_out"], added, atol=1e-5)
        place = blocks[result]


def test_layer_norm_is_the_biased_one_by_hand():
    config = config_of()
    blocks = {block.id: block.array.values for block in stream.layer(reading_of(config), config, "encoder", 0, T)}
    x = blocks["self_attn_added"].astype(np.float64)
    # γ is 1 and β is 0 before any training.
    normed = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + config.norm_eps)
    np.testing.assert_allclose(blocks["resid_mid"], normed, atol=1e-5)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_the_probabilities_are_those_of_the_whole_vocabulary(config):
    reading = reading_of(config)
    last, logits, probs = stream.output(reading, config, T)
    final = "decoder.final_norm" if config.norm_placement == "pre" else "decoder.1.resid_post"
    np.testing.assert_array_equal(last.array.values, reading[final].values)
    np.testing.assert_allclose(probs.array.values.sum(axis=1), 1.0, atol=1e-5)
    whole = reading["logits"]
    for column, word in enumerate(logits.array.axis("vocab").labels):
        at = whole.axis("vocab").labels.index(word)
        np.testing.assert_array_equal(logits.array.values[:, column], whole.values[:, at])
        np.testing.assert_array_equal(probs.array.values[:, column], reading["probs"].values[:, at])
    assert probs.whole == logits.whole == (len(TGT), len(VOCABULARY))


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_operand_is_a_block_and_fits(config, language):
    t = Translate(language)
    reading = reading_of(config)
    chains = [stream.layer(reading, config, stack, 1, t) for stack in ("encoder", "decoder")]
    for blocks in (*chains, stream.output(reading, config, t)):
        by_id = {block.id: block for block in blocks}
        assert len(by_id) == len(blocks)
        for block in blocks:
            for operand in block.operands:
                other = by_id[operand.block].array
                if operand.row == "row":
                    assert other.shape[0] == block.array.shape[0]
                if operand.col == "col":
                    assert other.shape[1] == block.array.shape[1]


def test_shown_residuals_of_pre_and_post_norm_have_their_own_formulas():
    post, pre = (stream.layer(reading_of(config), config, "encoder", 0, T) for config in CONFIGS[:2])
    laws = [{block.id: block.formula for block in blocks} for blocks in (post, pre)]
    assert laws[0]["resid_mid"] == "LayerNorm({residual:x} + SelfAttn({residual:x}))"
    assert laws[1]["resid_mid"] == "{residual:x} + SelfAttn(LayerNorm({residual:x}))"
