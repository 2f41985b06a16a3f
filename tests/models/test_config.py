"""A configuration is checked when it is written down, and counts what it would build."""

from dataclasses import FrozenInstanceError, replace

import pytest

from models import CHOICES, ModelConfig
from models.config import LATER
from tests.models.examples import SMALL, VARIANTS, name_of, small


def test_defaults_are_the_papers_base_model():
    config = ModelConfig(vocab_size=37_000)
    sizes = (config.d_model, config.n_heads, config.n_kv_heads, config.d_ff, config.n_layers, config.d_head)
    assert sizes == (512, 8, 8, 2048, 6, 64)
    choices = (config.positions, config.norm_placement, config.norm, config.activation, config.dropout)
    assert choices == ("sinusoidal", "post", "layer", "relu", 0.1)
    assert config.tied and config.embed_scale and config.scale_scores and not config.final_norm
    # Table 3: 65 million.
    assert 62e6 < config.n_parameters < 66e6


def test_pre_norm_ends_in_a_norm_and_post_norm_does_not():
    assert ModelConfig(vocab_size=7, norm_placement="pre").final_norm
    assert not ModelConfig(vocab_size=7, norm_placement="post").final_norm
    assert not ModelConfig(vocab_size=7, norm_placement="pre", final_norm=False).final_norm


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"d_model": 32, "n_heads": 3}, "n_heads=3 does not divide d_model=32"),
        ({"n_kv_heads": 3}, "n_kv_heads=3 does not divide n_heads=4"),
        ({"d_model": 20, "positions": "rotary"}, "d_model=20 / n_heads=4 makes an odd d_head=5"),
        ({"vocab_size": 5, "pad_id": 5}, "pad_id=5 is not below vocab_size=5"),
        ({"d_ff": 0}, "d_ff is a whole number, 1 or more, but got 0"),
        ({"n_layers": 2.0}, "n_layers is a whole number, 1 or more, but got 2.0"),
        ({"n_heads": True}, "n_heads is a whole number, 1 or more, but got True"),
        ({"max_len": "12"}, "max_len is a whole number, 1 or more, but got '12'"),
        ({"tied": 1}, "tied is true or false, but got 1"),
        ({"dropout": 1.0}, "dropout is from 0 to below 1, but got 1.0"),
        ({"dropout": float("nan")}, "dropout is a finite number, but got nan"),
        ({"norm_eps": 0.0}, "norm_eps is above 0, but got 0.0"),
        ({"positions": "relative"}, "positions is one of sinusoidal, learned, rotary, alibi, none, but got 'relative'"),
        ({"activation": ["relu"]}, r"activation is one of relu, gelu, gelu_tanh, swiglu, but got \['relu'\]"),
    ],
)
def test_a_message_names_what_does_not_fit(choices, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**{**SMALL, **choices})


@pytest.mark.parametrize("choices", VARIANTS, ids=name_of)
def test_parameters_are_counted_without_building(choices):
    model = small(**choices)
    assert model.config.n_parameters == sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("choices", VARIANTS, ids=name_of)
def test_what_was_stored_comes_back(choices):
    config = ModelConfig(**{**SMALL, **choices})
    assert ModelConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plain: plain.pop("d_ff"), "lacks d_ff"),
        (lambda plain: plain.update(colour="red"), "unknown fields: colour"),
        (lambda plain: plain.update({3: 4}), "unknown fields: 3"),
        (lambda plain: plain.update(d_model="64"), "d_model is a whole number"),
        (lambda plain: plain.update(n_kv_heads=None), "n_kv_heads is written out"),
        (lambda plain: plain.update(norm={}), "norm is one of layer, rms, but got {}"),
    ],
)
def test_a_stored_configuration_is_checked(change, message):
    plain = ModelConfig(**SMALL).to_dict()
    change(plain)
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_dict(plain)


def test_what_configurations_of_before_have_not_got_is_the_default():
    plain = ModelConfig(**SMALL, causal=False).to_dict()
    for name in LATER:
        del plain[name]
    assert ModelConfig.from_dict(plain) == ModelConfig(**SMALL)


@pytest.mark.parametrize("plain", [None, [], "d_model", 3])
def test_what_is_no_table_is_refused(plain):
    with pytest.raises(ValueError, match="a model's configuration is a table, but got"):
        ModelConfig.from_dict(plain)


def test_a_configuration_cannot_be_changed():
    config = ModelConfig(**SMALL)
    with pytest.raises(FrozenInstanceError):
        config.d_model = 7
    assert replace(config, d_ff=31).d_ff == 31
    assert hash(config) == hash(ModelConfig(**SMALL))


def test_every_choice_is_a_model():
    for name, values in CHOICES.items():
        for value in values:
            assert getattr(small(**{name: value}).config, name) == value
