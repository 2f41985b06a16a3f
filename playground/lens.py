"""The logit lens: what each layer would have said, had it been the last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from models import NO_TAP, Transformer
from playground.labelled import Axis, LabelledArray
from playground.reading import Reading


@dataclass(frozen=True, eq=False)
class Lens:
    """What each layer of a stack says about one position.

    Attributes:
        probs: `[layer, vocab]`: the first row before any layer, then one after each.
        has_norm: Whether a final norm stands between the stream and the unembedding, and was applied.
    """

    probs: LabelledArray
    has_norm: bool

    def rank(self, layer: int, token: int) -> int:
        """Return how many words that layer thinks likelier than `token`, lower ids of equals among them."""
        return int(np.flatnonzero(self._order(layer) == token)[0])

    def likeliest(self, layer: int, n: int) -> list[tuple[str, float]]:
        """Return the `n` words that a layer thinks likeliest, with their probabilities."""
        words = self.probs.axis("vocab").labels
        row = self.probs.values[layer]
        return [(words[i], float(row[i])) for i in self._order(layer)[:n]]

    def _order(self, layer: int) -> npt.NDArray[np.intp]:
        return np.argsort(-self.probs.values[layer], kind="stable")


def lens_at(model: Transformer, reading: Reading, pos: int) -> Lens:
    """Read the residual stream after each layer as if it were the last: final norm, unembedding, softmax.

    The last row is what the model says. The others are read with glasses made for the last: a layer may know a word
    in a form that only later layers turn into one.

    Args:
        model: That made the pass.
        reading: The pass. The stack is the one that its logits come from.
        pos: Which position of it.

    Source: nostalgebraist 2020, interpreting GPT: the logit lens.
    """
    name = "decoder" if model.decoder is not None else "encoder"
    stack = model.decoder if model.decoder is not None else model.encoder
    assert stack is not None
    n_layers = len(stack.layers)
    streams = [f"{name}.0.resid_pre", *(f"{name}.{layer}.resid_post" for layer in range(n_layers))]
    x = torch.from_numpy(np.stack([reading[stream].values[pos] for stream in streams]))  # [layer, d_model]
    with torch.no_grad():
        end = stack.final_norm(x.to(model.embedding.device), NO_TAP)
        probs = model.unembed(end).softmax(dim=-1)  # [layer, vocab]
    axes = (Axis("layer", tuple(map(str, range(n_layers + 1)))), Axis("vocab", reading.vocabulary))
    return Lens(LabelledArray("lens", probs.cpu().numpy(), axes), model.config.final_norm)
