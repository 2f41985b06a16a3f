"""Whole models against `torch.nn.Transformer` and `torch.nn.TransformerEncoder` with the same weights."""

import math
import warnings

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from models import DecoderLayer, EncoderLayer, LayerNorm, MultiHeadAttention, Transformer, sinusoidal_table
from tests.models.examples import small

# Padding at the end of some rows, and in the batch's middle a full one.
SRC = torch.tensor([[3, 4, 5, 6, 2], [7, 3, 2, 0, 0], [9, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 5, 6, 0], [1, 9, 8, 7], [1, 4, 0, 0]])


def randomised(**choices) -> Transformer:
    """Return a model whose every weight, biases and gains included, is drawn."""
    model = small(attention_bias=True, final_norm=True, dropout=0.0, **choices)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator) * 0.1)
    return model


def copy_norm(ours: LayerNorm, theirs: nn.LayerNorm) -> None:
    theirs.load_state_dict({"weight": ours.gain, "bias": ours.bias})


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.W_QKV.T,
            "in_proj_bias": ours.b_QKV,
            "out_proj.weight": ours.W_O.T,
            "out_proj.bias": ours.b_O,
        }
    )


def copy_ffn(ours: EncoderLayer | DecoderLayer, theirs: nn.Module) -> None:
    theirs.linear1.load_state_dict({"weight": ours.ffn.W_1.T, "bias": ours.ffn.b_1})
    theirs.linear2.load_state_dict({"weight": ours.ffn.W_2.T, "bias": ours.ffn.b_2})


def copy_encoder(ours: Transformer, theirs: nn.TransformerEncoder) -> None:
    for mine, other in zip(ours.encoder.layers, theirs.layers, strict=True):
        copy_attention(mine.self_attn, other.self_attn)
        copy_norm(mine.self_attn_join.norm, other.norm1)
        copy_ffn(mine, other)
        copy_norm(mine.ffn_join.norm, other.norm2)
    copy_norm(ours.encoder.final_norm.norm, theirs.norm)


def copy_decoder(ours: Transformer, theirs: nn.TransformerDecoder) -> None:
    for mine, other in zip(ours.decoder.layers, theirs.layers, strict=True):
        copy_attention(mine.self_attn, other.self_attn)
        copy_norm(mine.self_attn_join.norm, other.norm1)
        copy_attention(mine.cross_attn, other.multihead_attn)
        copy_norm(mine.cross_attn_join.norm, other.norm2)
        copy_ffn(mine, other)
        copy_norm(mine.ffn_join.norm, other.norm3)
    copy_norm(ours.decoder.final_norm.norm, theirs.norm)


def embed(model: Transformer, ids: Tensor) -> Tensor:
    return model.embedding[ids] * math.sqrt(24) + sinusoidal_table(17, 24)[: ids.shape[1]]


PLACEMENTS = pytest.mark.parametrize("placement", ["post", "pre"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])


@PLACEMENTS
@ACTIVATIONS
def test_an_encoder_decoder_agrees_with_torch(placement, activation):
    ours = randomised(norm_placement=placement, activation=activation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch remarks that its shortcut does not take norms in this place
        theirs = nn.Transformer(24, 4, 2, 2, 29, 0.0, activation, batch_first=True, norm_first=placement == "pre")
    copy_encoder(ours, theirs.encoder)
    copy_decoder(ours, theirs.decoder)
    expected = theirs(
        embed(ours, SRC),
        embed(ours, TGT),
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        src_key_padding_mask=SRC == 0,
        tgt_key_padding_mask=TGT == 0,
        memory_key_padding_mask=SRC == 0,
    )
    real = TGT != 0
    logits = expected @ ours.embedding.T
    assert_close(ours(SRC, TGT)[real], logits[real], atol=2e-5, rtol=1e-5)

    def grads(model: nn.Module, out: Tensor) -> dict[str, Tensor]:
        names, weights = zip(*model.named_parameters(), strict=True)
        return dict(zip(names, torch.autograd.grad(out.square().mean(), weights), strict=True))

    mine, other = grads(ours, ours(SRC, TGT)[real]), grads(theirs, logits[real])
    pairs = {
        "encoder.layers.0.self_attn.W_QKV": "encoder.layers.0.self_attn.in_proj_weight",
        "decoder.layers.1.cross_attn.W_QKV": "decoder.layers.1.multihead_attn.in_proj_weight",
        "decoder.layers.0.self_attn.W_O": "decoder.layers.0.self_attn.out_proj.weight",
        "encoder.layers.1.ffn.W_1": "encoder.layers.1.linear1.weight",
    }
    for name, theirs_name in pairs.items():
        assert_close(mine[name].T, other[theirs_name], atol=1e-5, rtol=1e-3)


@PLACEMENTS
@ACTIVATIONS
def test_an_encoder_alone_agrees_with_torch(placement, activation):
    ours = randomised(architecture="encoder-only", norm_placement=placement, activation=activation)
    layer = nn.TransformerEncoderLayer(24, 4, 29, 0.0, activation, batch_first=True, norm_first=placement == "pre")
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(24), enable_nested_tensor=False)
    copy_encoder(ours, theirs)
    expected = theirs(embed(ours, SRC), src_key_padding_mask=SRC == 0)
    real = SRC != 0
    assert_close(ours.encode(SRC)[real], expected[real], atol=1e-5, rtol=1e-5)


@PLACEMENTS
def test_a_decoder_alone_agrees_with_torchs_encoder_under_a_causal_mask(placement):
    ours = randomised(architecture="decoder-only", norm_placement=placement)
    layer = nn.TransformerEncoderLayer(24, 4, 29, 0.0, batch_first=True, norm_first=placement == "pre")
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(24), enable_nested_tensor=False)
    ours.encoder = ours.decoder  # the same parts: only the name of the stack differs
    copy_encoder(ours, theirs)
    ours.encoder = None
    expected = theirs(embed(ours, SRC), mask=torch.ones(5, 5, dtype=torch.bool).triu(1)) @ ours.embedding.T
    real = SRC != 0
    assert_close(ours(SRC)[real], expected[real], atol=2e-5, rtol=1e-5)


def test_grouped_heads_agree_with_full_heads_whose_keys_are_repeated():
    grouped, full = small(n_kv_heads=2), small()
    weights = grouped.state_dict()
    for name, weight in weights.items():
        if name.endswith("W_QKV"):
            q, k, v = weight.split([24, 12, 12], dim=1)
            repeated = [part.view(24, 2, 6).repeat_interleave(2, dim=1).flatten(1) for part in (k, v)]
            weights[name] = torch.cat([q, *repeated], dim=1)
    full.load_state_dict(weights)
    assert_close(grouped(SRC, TGT), full(SRC, TGT), atol=1e-5, rtol=1e-5)
