"""The gradients that a run writes down: they are the run's own, and its weights follow from them."""

import numpy as np
import pytest
import torch

from playground.adam import adam
from playground.probes import MOST, probes
from playground.recipe import Recipe, RunConfig, model_for
from playground.runs import RunStore, weight_shapes
from playground.training.recording import Recording
from playground.training.trainer import Trainer

RECORDINGS = [run.id for run in RunStore().runs()]


def followed(run) -> float:
    """Return by how much the probes' weights at recorded steps miss what Adam makes of their gradients."""
    recipe = run.config.recipe
    worst = 0.0
    weights = {step: run.weights(step) for step in run.steps}
    for number, probe in enumerate(probes(weight_shapes(run.config.model))):
        course = adam(
            run.gradients[:, number],
            run.metrics["learning_rate"],
            beta1=recipe.beta1,
            beta2=recipe.beta2,
            eps=recipe.eps,
        )
        for step in run.steps[1:]:
            moved = float(weights[step][probe.name][probe.place] - weights[0][probe.name][probe.place])
            worst = max(worst, abs(moved - course.path[step - 1]))
    return worst


@pytest.mark.parametrize("run_id", RECORDINGS)
def test_a_recordings_weights_follow_from_the_gradients_it_wrote_down(run_id):
    run = RunStore().open(run_id)
    assert run.gradients.shape == (run.steps[-1], len(probes(weight_shapes(run.config.model))))
    assert followed(run) < 5e-6


def test_a_run_writes_down_the_gradient_of_every_probe_at_every_step(tmp_path):
    store = RunStore(tmp_path)
    model = model_for("reverse", d_model=16, n_heads=2, d_ff=16, n_layers=1)
    config = RunConfig(task="reverse", model=model, recipe=Recipe(steps=12, batch_size=4, warmup=5))
    writer = store.create(config)
    recording = Recording(Trainer(config), writer)
    seen = []
    for _ in recording.run():
        grads = {name: each.grad for name, each in recording.trainer.model.named_parameters()}
        seen.append([float(grads[each.name][each.place]) for each in probes(weight_shapes(model))])
    writer.flush()
    run = store.open(writer.run_id)
    np.testing.assert_allclose(run.gradients, seen, rtol=1e-7)
    assert followed(run) < 1e-6


def test_every_parameter_of_a_small_model_has_a_probe_and_a_large_one_a_few_from_end_to_end():
    small = weight_shapes(model_for("reverse", n_layers=1, norm="rms", ffn_bias=False))
    assert [each.name for each in probes(small)] == [*small]
    large = weight_shapes(model_for("reverse", n_layers=6))
    chosen = [each.name for each in probes(large)]
    assert len(chosen) == MOST and len(set(chosen)) == MOST
    assert chosen[0] == next(iter(large)) and chosen[-1] == [*large][-1]
    for each in probes(large):
        torch.empty(large[each.name])[each.place]  # is a place
        assert each.text.startswith(each.name)


@pytest.mark.parametrize(
    "line", ['{"step": 1, "gradients": [1.0]}', '{"step": 1, "gradients": "x"}', '{"step": 1, "gradients": [true]}']
)
def test_what_are_no_gradients_is_refused(tmp_path, line):
    store = RunStore(tmp_path)
    writer = store.create(RunConfig(task="reverse", model=model_for("reverse"), recipe=Recipe(steps=2)))
    (writer.path / "metrics.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match="training.refused.metrics"):
        _ = store.open(writer.run_id).gradients
