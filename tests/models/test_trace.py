"""One pass, every tensor by name; watching changes nothing, edits change what they say (rules 10, 11, 14)."""

import pytest
import torch
from torch.testing import assert_close

from models import AXES, NO_TAP, Recorder, capture, zero_head
from tests.models.examples import SRC, TGT, VARIANTS, inputs, name_of, read, small

every_variant = pytest.mark.parametrize("choices", VARIANTS, ids=name_of)


@every_variant
def test_tapping_changes_nothing(choices):
    """To 1e-6 of the largest logit in 32 bits: the fused path rounds elsewhere. In 64 bits, to 1e-12."""
    model = small(**choices)
    for dtype, share in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
        model = model.to(dtype)
        logits = read(model)[0]
        seen = capture(model, *inputs(model))["logits"]
        assert_close(seen, logits, atol=share * max(1.0, logits.abs().max().item()), rtol=0)


@every_variant
def test_watching_a_training_model_changes_no_gradient(choices):
    model = small(dropout=0.2, **choices).train()

    def gradients(tap):
        model.dropout.generator = torch.Generator().manual_seed(1)
        return torch.autograd.grad(read(model, tap=tap).square().sum(), list(model.parameters()))

    for watched, unwatched in zip(gradients(Recorder()), gradients(NO_TAP), strict=True):
        assert_close(watched, unwatched, atol=2e-4, rtol=1e-4)


@every_variant
def test_every_tensor_has_the_axes_that_are_said(choices):
    model = small(**choices)
    config = model.config
    trace = capture(model, *inputs(model))
    sizes = {"head": 4, "kv_head": config.n_kv_heads, "d_head": 6, "d_model": 24, "d_ff": 29, "vocab": 11}
    sizes["expert"] = config.n_experts
    for name, tensor in trace.items():
        stack, last = name.split(".")[0], name.split(".")[-1]
        reads_tgt = stack != "encoder" and last != "memory" and config.architecture == "encoder-decoder"
        own = 3 if reads_tgt else 5
        here = {**sizes, "pos": own, "query": own, "key": 5 if ".cross_attn." in name else own}
        assert tensor.shape == tuple(here[axis] for axis in AXES[last]), name


def test_the_names_of_a_pass_in_its_order():
    attention = [
        "input", "q", "k", "v", "mask_padding", "mask", "raw_scores", "scores", "masked_scores", "weights", "z",
        "concat", "out", "added",
    ]  # fmt: skip
    causal = [*attention[:5], "mask_causal", *attention[5:]]
    cross = ["input", "memory", *attention[1:]]
    ffn = ["input", "hidden", "out", "added"]
    names = ["encoder.embed", "encoder.pos_embed"]
    for layer in ("encoder.0", "encoder.1"):
        names += [f"{layer}.resid_pre", *(f"{layer}.self_attn.{each}" for each in attention), f"{layer}.resid_mid"]
        names += [*(f"{layer}.ffn.{each}" for each in ffn), f"{layer}.resid_post"]
    names += ["memory", "decoder.embed", "decoder.pos_embed"]
    for layer in ("decoder.0", "decoder.1"):
        names += [f"{layer}.resid_pre", *(f"{layer}.self_attn.{each}" for each in causal), f"{layer}.resid_mid"]
        names += [*(f"{layer}.cross_attn.{each}" for each in cross), f"{layer}.resid_mid_cross"]
        names += [*(f"{layer}.ffn.{each}" for each in ffn), f"{layer}.resid_post"]
    assert list(capture(small(), SRC, TGT)) == [*names, "logits", "probs"]


def test_every_name_occurs_in_some_model():
    seen = {name.rsplit(".", 1)[-1] for choices in VARIANTS for name in capture(*trace_of(choices))}
    assert seen == set(AXES)


def trace_of(choices):
    model = small(**choices)
    return model, *inputs(model)


def test_a_trace_adds_up():
    """Each tensor follows from those before it, as the formulas say: Post-LN."""
    model = small()
    trace = capture(model, SRC, TGT)
    layer, first = model.decoder.layers[0], "decoder.0"
    assert torch.equal(trace[f"{first}.cross_attn.memory"], trace["memory"])
    assert torch.equal(trace["memory"], trace["encoder.1.resid_post"])
    assert torch.equal(trace["decoder.1.resid_pre"], trace["decoder.0.resid_post"])
    for sublayer, before, after in (
        ("self_attn", "resid_pre", "resid_mid"),
        ("cross_attn", "resid_mid", "resid_mid_cross"),
        ("ffn", "resid_mid_cross", "resid_post"),
    ):
        inner = f"{first}.{sublayer}"
        assert torch.equal(trace[f"{inner}.input"], trace[f"{first}.{before}"])
        assert_close(trace[f"{inner}.added"], trace[f"{inner}.input"] + trace[f"{inner}.out"])
        norm = getattr(layer, f"{sublayer}_join").norm
        assert_close(trace[f"{first}.{after}"], norm(trace[f"{inner}.added"]))
    inner = f"{first}.self_attn"
    assert_close(trace[f"{inner}.raw_scores"], trace[f"{inner}.q"] @ trace[f"{inner}.k"].mT)
    assert_close(trace[f"{inner}.z"], trace[f"{inner}.weights"] @ trace[f"{inner}.v"])
    assert torch.equal(trace[f"{inner}.mask"], trace[f"{inner}.mask_padding"] & trace[f"{inner}.mask_causal"])
    assert ((trace[f"{inner}.masked_scores"] == -torch.inf) == ~trace[f"{inner}.mask"]).all()
    assert ((trace[f"{inner}.weights"] == 0) == ~trace[f"{inner}.mask"]).all()
    assert_close(trace["probs"], trace["logits"].softmax(dim=-1))


def test_pre_norm_adds_up_too():
    """The sublayer reads the norm of the residual stream, and adds to it; the stack ends in a norm."""
    model = small(norm_placement="pre")
    trace = capture(model, SRC, TGT)
    join = model.encoder.layers[0].ffn_join
    before, inner = trace["encoder.0.resid_mid"], "encoder.0.ffn"
    assert_close(trace[f"{inner}.input"], join.norm(before))
    assert_close(trace[f"{inner}.added"], before + trace[f"{inner}.out"])
    assert torch.equal(trace["encoder.0.resid_post"], trace[f"{inner}.added"])
    assert torch.equal(trace["memory"], trace["encoder.final_norm"])
    assert_close(trace["memory"], model.encoder.final_norm.norm(trace["encoder.1.resid_post"]))


# --- One sample, one moment ------------------------------------------------------------------------------------------


def test_one_sample_of_a_batch_is_what_it_is_alone():
    model = small()
    src = torch.cat([torch.tensor([[9, 9, 9, 9, 9]]), SRC])
    tgt = torch.cat([torch.tensor([[1, 9, 9]]), TGT])
    trace, alone = capture(model, src, tgt, sample=1), capture(model, SRC, TGT)
    assert list(trace) == list(alone)
    for name, tensor in trace.items():
        assert_close(tensor, alone[name], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sample", [None, 2, -1])
def test_a_batch_needs_to_be_told_which_sample(sample):
    message = f"the batch has 2 samples, of which one is kept: sample is 0 to 1, got {sample}"
    with pytest.raises(ValueError, match=message):
        capture(small(), SRC.repeat(2, 1), TGT.repeat(2, 1), sample=sample)


def test_capture_is_without_dropout_and_leaves_the_mode():
    model = small(dropout=0.5).train()
    model.encoder.eval()  # a part that was at rest stays so
    model.dropout.generator = torch.Generator().manual_seed(0)
    modes = [module.training for module in model.modules()]
    state = model.dropout.generator.get_state()
    first = capture(model, SRC, TGT)
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(model.dropout.generator.get_state(), state)
    assert torch.equal(first["logits"], capture(model.eval(), SRC, TGT)["logits"])
    assert not any(tensor.requires_grad for tensor in first.values())


def test_the_mode_is_restored_after_an_error():
    model = small().train()
    with pytest.raises(ValueError, match="longer than max_len"):
        capture(model, torch.full((1, 18), 3), TGT)
    assert model.training


def test_a_padded_sentence_shows_why_each_key_is_hidden():
    trace = capture(small(), SRC, torch.tensor([[1, 7, 0]]))
    inner = "decoder.0.self_attn"
    assert trace[f"{inner}.mask_padding"].tolist() == [[True, True, False]] * 3
    assert trace[f"{inner}.mask_causal"].tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert trace[f"{inner}.mask"].tolist() == [[True, False, False], [True, True, False], [True, True, False]]


# --- Edits -----------------------------------------------------------------------------------------------------------


@every_variant
def test_switching_a_head_off_takes_its_part_out_of_the_sum(choices):
    model = small(**choices)
    stack = "encoder" if model.encoder is not None else "decoder"
    name = f"{stack}.0.self_attn"
    before = capture(model, *inputs(model))
    after = capture(model, *inputs(model), edits={f"{name}.z": zero_head(2)})
    assert (after[f"{name}.z"][2] == 0).all()
    assert torch.equal(after[f"{name}.z"][1], before[f"{name}.z"][1])
    attention = getattr(model, stack).layers[0].self_attn
    part = before[f"{name}.z"][2] @ attention.W_O[12:18]
    assert_close(after[f"{name}.out"], before[f"{name}.out"] - part, atol=1e-5, rtol=1e-5)
    assert (after["logits"] - before["logits"]).abs().max() > 1e-6


def test_a_tensor_may_stand_in_for_another():
    """Patching: what one sentence made, put into the pass of another."""
    model = small()
    other = capture(model, torch.tensor([[9, 8, 7, 6, 2]]), TGT)
    patched = capture(model, SRC, TGT, edits={"memory": other["memory"]})
    assert_close(patched["logits"], other["logits"], atol=1e-5, rtol=1e-5)
    batched = capture(model, SRC, TGT, edits={"memory": other["memory"][None]})
    assert torch.equal(batched["logits"], patched["logits"])


def test_a_mask_may_be_painted():
    model = small()
    everything = capture(model, SRC, TGT, edits={"decoder.0.self_attn.mask": torch.ones_like})
    assert (everything["decoder.0.self_attn.weights"] > 0).all()
    nothing = capture(model, SRC, TGT, edits={"decoder.0.self_attn.mask": torch.zeros_like})
    assert (nothing["decoder.0.self_attn.weights"] == 0).all()
    assert (nothing["decoder.0.self_attn.out"] == 0).all()
    assert nothing["logits"].isfinite().all()
    part = capture(model, SRC, TGT, edits={"decoder.0.self_attn.mask_causal": torch.ones_like})
    assert torch.equal(part["decoder.0.self_attn.weights"], everything["decoder.0.self_attn.weights"])


def test_an_edit_of_weights_is_used():
    def uniform(weights):
        return torch.full_like(weights, 1 / weights.shape[-1])

    trace = capture(small(), SRC, TGT, edits={"decoder.1.cross_attn.weights": uniform})
    mean = trace["decoder.1.cross_attn.v"].mean(dim=1, keepdim=True)
    assert_close(trace["decoder.1.cross_attn.z"], mean.expand(4, 3, 6))


def test_an_edit_of_no_tensor_is_refused():
    message = r"no tensor of this pass is called 'encoder.0.self_attn.zz'.*near it: \['encoder.0.self_attn.z'"
    with pytest.raises(ValueError, match=message):
        capture(small(), SRC, TGT, edits={"encoder.0.self_attn.zz": zero_head(0)})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda z: z[:, :2], r"must keep its shape \[1, 4, 5, 6\], but gives \[1, 2, 5, 6\]"),
        (
            lambda z: z.double(),
            "the edit of 'encoder.0.self_attn.z' must keep its dtype torch.float32, but gives torch.float64",
        ),
        (torch.zeros(3, 5), r"must keep its shape \[1, 4, 5, 6\], but gives \[3, 5\]"),
        (zero_head(4), "there is no head 4 among 4, counted from 0"),
        (zero_head(-1), "there is no head -1 among 4, counted from 0"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(edit, message):
    with pytest.raises(ValueError, match=message):
        capture(small(), SRC, TGT, edits={"encoder.0.self_attn.z": edit})


def test_two_tensors_of_one_name_are_refused():
    recorder = Recorder()
    recorder.within("encoder").within(0)("q", torch.ones(1))
    assert list(recorder.tensors) == ["encoder.0.q"]
    with pytest.raises(ValueError, match=r"two tensors of one pass are called 'encoder.0.q'"):
        recorder.within("encoder.0")("q", torch.ones(1))


def test_nobody_watching_returns_the_tensor_itself():
    x = torch.ones(2)
    assert NO_TAP("q", x) is x
    assert NO_TAP.within("encoder").within(0) is NO_TAP
