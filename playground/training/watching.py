"""What is looked at while a model trains: translations of held-out sentences, attention maps of one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from models import Transformer, capture, greedy
from playground.tasks import BOS, EOS, Example, Task
from playground.tasks.example import encode_batch, padded

BATCH = 128  # sentences that are decoded together


@dataclass(frozen=True)
class Sample:
    """One held-out sentence, as text.

    Attributes:
        src: The sentence.
        wanted: Its translation.
        got: What the model writes, greedily.
    """

    src: str
    wanted: str
    got: str

    @property
    def right(self) -> bool:
        """Whether the two are the same."""
        return self.wanted == self.got


@dataclass(frozen=True, eq=False)
class Peek:
    """The attention of one sentence pair at one step, the right translation being read by the decoder.

    Attributes:
        step: Updates made.
        src: Source tokens, ⟨eos⟩ last.
        tgt: Decoder input, ⟨bos⟩ first.
        maps: Weights by tensor name, such as `encoder.0.self_attn.weights`: float32 `[head, query, key]`, 0–1.
    """

    step: int
    src: tuple[str, ...]
    tgt: tuple[str, ...]
    maps: Mapping[str, npt.NDArray[np.float32]]

    def shades(self, name: str) -> npt.NDArray[np.uint8]:
        """Return a map in 256 shades for drawing, `[head, query, key]`; the numbers themselves are in `maps`."""
        return np.rint(self.maps[name] * 255).astype(np.uint8)


def translate_tokens(
    model: Transformer,
    task: Task,
    sources: Sequence[Sequence[str]],
    *,
    between: Callable[[], None] = lambda: None,
) -> Iterator[tuple[str, ...]]:
    """Translate sentences greedily, many at a time. The model must be in eval mode, without gradients.

    Args:
        model: On any device.
        task: Whose vocabulary the model has.
        sources: The tokens of each sentence.
        between: Called after each decoding step; may raise, to break it off.

    Yields:
        The target tokens of each, without ⟨bos⟩ and ⟨eos⟩.
    """
    device = next(model.parameters()).device
    for first in range(0, len(sources), BATCH):
        rows = [[*task.vocabulary.encode(tokens), EOS] for tokens in sources[first : first + BATCH]]
        src = torch.from_numpy(padded(rows)).to(device)  # [batch, pos]
        columns = []
        for step in greedy(model, src, bos_id=BOS, eos_id=EOS, max_len=task.max_len):
            columns.append(step.token)
            between()
        for ids in torch.stack(columns, dim=1).tolist():
            yield task.vocabulary.decode(ids[: ids.index(EOS)] if EOS in ids else ids)


def exact_matches(
    model: Transformer, task: Task, examples: Sequence[Example], *, between: Callable[[], None] = lambda: None
) -> list[bool]:
    """Say for each sentence whether greedy decoding gives its translation, word for word."""
    written = translate_tokens(model, task, [example.src for example in examples], between=between)
    return [got == example.tgt for got, example in zip(written, examples, strict=True)]


def samples(
    model: Transformer, task: Task, examples: Sequence[Example], *, between: Callable[[], None] = lambda: None
) -> tuple[Sample, ...]:
    """Return sentences with what they should become and what the model makes of them, as text."""
    written = translate_tokens(model, task, [example.src for example in examples], between=between)
    return tuple(
        Sample(" ".join(example.src), task.detokenize(example.tgt), task.detokenize(got))
        for got, example in zip(written, examples, strict=True)
    )


def peek(model: Transformer, task: Task, step: int) -> Peek:
    """Return the attention maps of the task's first example, its right translation given to the decoder."""
    example = task.reference(task.tokenize(task.examples[0]))
    assert example is not None, "a task's examples are sentences of its own"
    ids = encode_batch([example], task.vocabulary)
    device = next(model.parameters()).device
    src, tgt_in = (torch.from_numpy(each).to(device) for each in ids[:2])
    trace = capture(model, src, tgt_in)
    maps = {name: trace[name].float().cpu().numpy() for name in trace if name.endswith(".weights")}
    tokens = task.vocabulary.tokens
    return Peek(
        step,
        tuple(tokens[i] for i in ids[0][0]),
        tuple(tokens[i] for i in ids[1][0]),
        maps,
    )
