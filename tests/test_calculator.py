"""The calculator says what is published, and what one can work out by hand."""

import pytest

from models import ModelConfig
from playground.bandwidth import cost_of, machine, speeds
from playground.calculator import CARDS, FORMATS, HARDWARE, MODELS, Hardware, Sizes, cost, weights_read
from playground.runs import RunStore
from playground.subject import Subject

KIB, MIB, GIB = 2**10, 2**20, 2**30

# layers, heads, K/V heads, d_head, bytes a token, context, bytes at the context: at 16 bits
PUBLISHED = {
    "GPT-2 small": (12, 12, 12, 64, 36 * KIB, 1024, 36 * MIB),
    "Llama 2 7B": (32, 32, 32, 128, 512 * KIB, 4096, 2 * GIB),
    "Llama 2 70B": (80, 64, 8, 128, 320 * KIB, 4096, 1.25 * GIB),
    "Llama 3 8B": (32, 32, 8, 128, 128 * KIB, 8192, 1 * GIB),
    "Mistral 7B": (32, 32, 8, 128, 128 * KIB, 8192, 1 * GIB),
    "SmolLM2 135M": (30, 9, 3, 64, 22.5 * KIB, 2048, 45 * MIB),
}
PARAMETERS = {
    "GPT-2 small": 124_439_808,
    "Llama 2 7B": 6_738_415_616,
    "Llama 2 70B": 68_976_648_192,
    "Llama 3 8B": 8_030_261_248,
    "Mistral 7B": 7_241_732_096,
    "Mixtral 8x7B": 46_702_792_704,
    "SmolLM2 135M": 134_515_008,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_known_model_takes_what_is_published(name):
    sizes = Sizes.of(MODELS[name])
    found = (sizes.layers, sizes.heads, sizes.kv_heads, sizes.d_head, sizes.per_token, sizes.context, sizes.cache)
    assert found == PUBLISHED[name]


@pytest.mark.parametrize("name", MODELS)
def test_every_known_model_has_the_parameters_that_are_published(name):
    assert MODELS[name].n_parameters == PARAMETERS[name]


def test_of_mixtral_13_billion_work_for_a_token():
    """Jiang et al. 2024: "each token has access to 47B parameters, but only uses 13B active parameters"."""
    assert MODELS["Mixtral 8x7B"].n_parameters_active == pytest.approx(12.9e9, rel=0.002)


def test_own_values_by_hand():
    """2 · 3 layers · 2 K/V heads · 5 numbers · 2 bytes = 120 bytes a token; 7 tokens of 11 texts: 9240."""
    sizes = Sizes(layers=3, heads=4, kv_heads=2, d_head=5, context=7, batch=11, parameters=1000)
    assert (sizes.per_token, sizes.cache, sizes.weights) == (120, 9240, 2000)
    assert sizes.tokens_in(2000 + 360) == 3 and sizes.tokens_in(2000) == 0 and sizes.tokens_in(1) == 0
    quarter = Sizes(layers=3, heads=4, kv_heads=2, d_head=5, context=7, batch=11, parameters=1000, number=0.5)
    assert 4 * quarter.cache == sizes.cache


def test_values_that_make_no_model_are_refused():
    with pytest.raises(ValueError, match="kv_heads=3 does not divide heads=4"):
        Sizes(layers=1, heads=4, kv_heads=3, d_head=1, context=1, parameters=1)
    with pytest.raises(ValueError, match="context is above 0, but got 0"):
        Sizes(layers=1, heads=4, kv_heads=2, d_head=1, context=0, parameters=1)


def test_formats_are_bits_over_eight_and_cards_rise():
    assert all(value * 8 == int(name) for name, value in FORMATS.items())
    assert list(CARDS) == sorted(CARDS)


def test_a_token_of_one_text_takes_about_one_operation_a_byte():
    """Every 16-bit weight is read, two bytes, for one multiply-add, two operations."""
    for name, config in MODELS.items():
        if config.n_experts == 1:
            assert cost(config, 1, 1).intensity == pytest.approx(1.0, rel=0.01), name


def test_a_batch_shares_the_weights_and_not_the_cache():
    config = MODELS["Llama 3 8B"]
    one, many = cost(config, 1000, 1), cost(config, 1000, 64)
    assert many.weights == one.weights and many.cache == 64 * one.cache and many.operations == 64 * one.operations
    hardware = HARDWARE["H100"]
    assert one.tokens_a_second(hardware) < many.tokens_a_second(hardware) < 64 * one.tokens_a_second(hardware)
    assert one.intensity < many.intensity < hardware.ridge


def test_a_mixture_reads_its_active_experts_and_a_batch_more_and_more_of_them():
    config = MODELS["Mixtral 8x7B"]
    tables = config.vocab_size * config.d_model
    assert weights_read(config, 1) == pytest.approx(config.n_parameters_active - tables)
    found = [weights_read(config, n) for n in (1, 2, 8, 64, 4096)]
    assert found == sorted(found) and found[-1] == pytest.approx(config.n_parameters - tables)


def test_a_roof_has_a_slope_and_a_flat_part():
    hardware = Hardware(flops=100.0, bandwidth=20.0, memory=1.0, source="")
    assert hardware.ridge == 5.0
    assert [hardware.attainable(x) for x in (1, 5, 50)] == [20, 100, 100]


def test_here_bytes_are_those_of_the_tensors_that_are_read():
    run = RunStore().open("english-french")
    subject = Subject(run, run.steps[-1], run.config.data.examples[0])
    model = subject.model
    found = cost_of(model, n_read=9, n_memory=8)
    d, layers = model.config.d_model, model.config.n_layers
    read = sum(p.numel() for p in model.decoder.parameters()) + model.embedding.numel() - layers * 2 * d * d
    assert found.weights == 4 * read
    assert found.cache == 2 * layers * d * (9 + 8) * 4
    for speed in speeds(subject):
        assert speed.measured > 0 and speed.cost.tokens_a_second(machine()) > 0
    assert [each.name for each in speeds(subject)] == ["subject", "small", "large"]


def test_a_decoder_alone_reads_all_but_what_it_looks_up():
    config = ModelConfig(vocab_size=11, architecture="decoder-only", d_model=24, n_heads=4, d_ff=29, n_layers=2)
    assert weights_read(config) == config.n_parameters
