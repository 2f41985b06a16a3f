"""The drawing of a model: what stands in it is what the model does, and it is laid out without collisions."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from models import ModelConfig, Transformer, capture
from playground.blueprint import FORMS, NARROW, WIDE, Blueprint, Form, Rect, blueprint

ARCHITECTURES = ("encoder-decoder", "encoder-only", "decoder-only")
DOORS = {
    "embeddings": {"stack"},
    "positions": set(),
    "one_head": {"where"},
    "layer": {"stack", "part"},
    "output": set(),
}


def config(**changes: Any) -> ModelConfig:
    sizes = {"vocab_size": 29, "d_model": 12, "n_heads": 3, "d_ff": 17, "n_layers": 2, "max_len": 13}
    return ModelConfig(**{**sizes, **changes})


CONFIGS = [
    config(architecture=architecture, norm_placement=placement, positions=positions, embed_norm=embed_norm)
    for architecture, placement, positions, embed_norm in itertools.product(
        ARCHITECTURES, ("post", "pre"), ("sinusoidal", "rotary", "none"), (False, True)
    )
]
CONFIGS += [config(norm_placement=placement, residual=False, causal=False) for placement in ("post", "pre")]


def said(value: object) -> str:
    """Name a case by what sets it apart."""
    if isinstance(value, Form):
        return value.name
    assert isinstance(value, ModelConfig)
    rest = ("embed_norm" if value.embed_norm else "", "" if value.residual else "no-residual")
    parts = (value.architecture, value.norm_placement, value.positions, *rest)
    return " ".join(filter(None, parts))


DRAWINGS = [(c, form) for c in CONFIGS for form in FORMS]


def named(drawing: Blueprint, kind: str) -> list[str]:
    return [block.name for block in drawing.blocks if block.kind == kind]


def on_edge(x: float, y: float, rect: Rect) -> bool:
    within = rect.x - 0.01 <= x <= rect.x + rect.w + 0.01 and rect.y - 0.01 <= y <= rect.y + rect.h + 0.01
    edges = (x - rect.x, rect.x + rect.w - x, y - rect.y, rect.y + rect.h - y)
    return within and min(abs(edge) for edge in edges) < 0.01


@pytest.mark.parametrize("model", CONFIGS, ids=said)
def test_every_block_shows_a_tensor_of_the_models_own_pass(model):
    words = torch.tensor([[4, 5, 6, 2]])
    made = Transformer(model, generator=torch.Generator().manual_seed(0))
    trace = capture(made, words, words) if model.architecture == "encoder-decoder" else capture(made, words)
    assert set(blueprint(model).tensors()) <= set(trace)


@pytest.mark.parametrize(("model", "form"), DRAWINGS, ids=said)
def test_no_block_covers_another_and_all_are_inside(model, form):
    drawing = blueprint(model, form)
    for block in drawing.blocks:
        assert block.at.x >= 0 and block.at.x + block.at.w <= form.width, block.name
        assert block.at.y >= 0 and block.at.y + block.at.h <= drawing.height, block.name
    for one, other in itertools.combinations(drawing.blocks, 2):
        apart_x = one.at.x + one.at.w <= other.at.x or other.at.x + other.at.w <= one.at.x
        apart_y = one.at.y + one.at.h <= other.at.y or other.at.y + other.at.h <= one.at.y
        assert apart_x or apart_y, (one.name, other.name)


@pytest.mark.parametrize(("model", "form"), DRAWINGS, ids=said)
def test_every_arrow_ends_at_its_block(model, form):
    drawing = blueprint(model, form)
    blocks = {block.name: block.at for block in drawing.blocks}
    for arrow in drawing.arrows:
        last = arrow.points[-1]
        if arrow.target == "bars":
            continue
        forks = [other.points[0] for other in drawing.arrows if other.target == arrow.target and other is not arrow]
        assert on_edge(*last, blocks[arrow.target]) or last in forks, arrow


@pytest.mark.parametrize(("model", "form"), DRAWINGS, ids=said)
def test_every_arrow_begins_at_a_block_at_a_fork_or_on_another_way(model, form):
    drawing = blueprint(model, form)
    blocks = {block.name: block.at for block in drawing.blocks}
    for arrow in drawing.arrows:
        x, y = arrow.points[0]
        if arrow.source.endswith(".words") or on_edge(x, y, blocks[arrow.source]):
            continue
        ways = [pair for other in drawing.arrows if other is not arrow for pair in itertools.pairwise(other.points)]
        touched = [
            ((a, b), (c, d))
            for (a, b), (c, d) in ways
            if min(a, c) - 0.01 <= x <= max(a, c) + 0.01 and min(b, d) - 0.01 <= y <= max(b, d) + 0.01
        ]
        assert touched, arrow


@pytest.mark.parametrize("model", CONFIGS, ids=said)
def test_both_forms_draw_the_same_model(model):
    wide, narrow = blueprint(model, WIDE), blueprint(model, NARROW)
    assert [block.name for block in wide.blocks] == [block.name for block in narrow.blocks]
    assert [(a.source, a.target, a.role) for a in wide.arrows] == [(a.source, a.target, a.role) for a in narrow.arrows]


@pytest.mark.parametrize("model", CONFIGS, ids=said)
def test_every_block_is_a_door(model):
    drawing = blueprint(model)
    for block in drawing.blocks:
        page, picks = drawing.door(block.name, 1)
        assert picks.get("layer") == (1 if block.repeated else None)
        assert picks.keys() - {"layer"} == DOORS[page]


def test_without_residual_no_arrow_goes_around_a_sublayer():
    for placement in ("post", "pre"):
        assert any(arrow.skip for arrow in blueprint(config(norm_placement=placement)).arrows)
        assert not any(arrow.skip for arrow in blueprint(config(norm_placement=placement, residual=False)).arrows)


def test_figure_1_of_the_paper():
    drawing = blueprint(config())
    assert [block.name for block in drawing.blocks] == [
        "encoder.embed",
        "encoder.positions",
        "encoder.sum",
        "encoder.self_attn",
        "encoder.self_attn.add",
        "encoder.ffn",
        "encoder.ffn.add",
        "encoder.memory",
        "decoder.embed",
        "decoder.positions",
        "decoder.sum",
        "decoder.self_attn",
        "decoder.self_attn.add",
        "decoder.cross_attn",
        "decoder.cross_attn.add",
        "decoder.ffn",
        "decoder.ffn.add",
        "linear",
        "softmax",
    ]
    assert [tower.stack for tower in drawing.towers] == ["encoder", "decoder"]


def test_queries_come_from_the_decoder_and_keys_and_values_from_the_memory():
    drawing = blueprint(config())
    into = {arrow.role: arrow.source for arrow in drawing.arrows if arrow.target == "decoder.cross_attn"}
    assert into["query"] == "decoder.self_attn.add"
    assert into["key"] == into["value"] == into["memory"] == "encoder.memory"
    itself = {arrow.role: arrow.source for arrow in drawing.arrows if arrow.target == "decoder.self_attn"}
    assert itself["query"] == itself["key"] == itself["value"] == "decoder.sum"


@pytest.mark.parametrize("sublayer", ["self_attn", "cross_attn", "ffn"])
def test_norms_stand_where_the_configuration_puts_them(sublayer):
    after = blueprint(config())
    assert after.block(f"decoder.{sublayer}.add").kind == "add_norm"
    assert "decoder.final_norm" not in named(after, "norm")
    before = blueprint(config(norm_placement="pre"))
    assert before.block(f"decoder.{sublayer}.add").kind == "add"
    assert f"decoder.{sublayer}.norm" in before.inputs(f"decoder.{sublayer}")
    assert "decoder.final_norm" in before.inputs("linear")


def test_a_residual_goes_around_its_sublayer():
    for model in (config(), config(norm_placement="pre")):
        drawing = blueprint(model)
        skips = {arrow.target: arrow.source for arrow in drawing.arrows if arrow.skip}
        assert skips == {
            "encoder.self_attn.add": "encoder.sum",
            "encoder.ffn.add": "encoder.self_attn.add",
            "decoder.self_attn.add": "decoder.sum",
            "decoder.cross_attn.add": "decoder.self_attn.add",
            "decoder.ffn.add": "decoder.cross_attn.add",
        }


def test_positions_are_drawn_only_where_they_are_added():
    assert named(blueprint(config(positions="learned")), "positions") == ["encoder.positions", "decoder.positions"]
    for method in ("rotary", "alibi", "none"):
        drawing = blueprint(config(positions=method))
        assert named(drawing, "positions") == []
        assert drawing.block("decoder.self_attn").sizes["positions"] == method
        assert drawing.block("decoder.cross_attn").sizes["positions"] == "none"


def test_one_tower_has_no_memory():
    for architecture in ("encoder-only", "decoder-only"):
        drawing = blueprint(config(architecture=architecture))
        assert len(drawing.towers) == 1
        assert named(drawing, "memory") == []
        assert len(named(drawing, "attention")) == 1


def test_the_card_covers_no_block():
    for model, form in DRAWINGS:
        drawing = blueprint(model, form)
        card = drawing.slots["card"]
        assert card.w > 100 and card.h > 100
        for block in drawing.blocks:
            at = block.at
            assert (
                at.x >= card.x + card.w or at.x + at.w <= card.x or at.y >= card.y + card.h or at.y + at.h <= card.y
            ), (block.name, model, form.name)


def test_a_door_clamps_its_layer():
    drawing = blueprint(config())
    assert drawing.door("decoder.cross_attn", 99) == ("one_head", {"where": "cross", "layer": 1})
    assert drawing.door("encoder.ffn", -1) == ("layer", {"stack": "encoder", "part": "ffn", "layer": 0})
    assert drawing.door("decoder.cross_attn.add", 1) == (
        "layer",
        {"stack": "decoder", "part": "cross_attn", "layer": 1},
    )
    assert drawing.door("softmax", 1) == ("output", {})


def test_an_unknown_block_is_named_with_those_there_are():
    with pytest.raises(KeyError, match=r"no block 'router' in this drawing; it has \['encoder.embed'"):
        blueprint(config()).block("router")
