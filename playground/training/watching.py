"""What is looked at while a model trains: translations of held-out sentences, attention maps of one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from models import Transformer, capture, greedy
from playground.tasks import BOS, EOS, MASK, Example, Task
from playground.tasks.example import padded

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
        src: Source tokens, ⟨eos⟩ last; none of a decoder alone.
        tgt: Decoder input, ⟨bos⟩ first; none of an encoder alone.
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
    """Let the model write what belongs to each source, many at a time. It must be in eval mode, without gradients.

    Args:
        model: On any device.
        task: Whose vocabulary the model has.
        sources: The tokens of each sentence, of each beginning, or of each text with hidden words.
        between: Called after each decoding step; may raise, to break it off.

    Yields:
        Of each the likeliest tokens, without ⟨bos⟩ and ⟨eos⟩: greedily the translation, or what follows the beginning;
        of an encoder alone the text, its hidden words found.
    """
    if task.architecture == "decoder-only":
        # Beginnings of one length at a time: in a batch all would have the room of the longest only.
        written: dict[int, tuple[str, ...]] = {}
        for length in {len(tokens) for tokens in sources}:
            places = [place for place, tokens in enumerate(sources) if len(tokens) == length]
            for first in range(0, len(places), BATCH):
                some = places[first : first + BATCH]
                rows = [[BOS, *task.vocabulary.encode(sources[place])] for place in some]
                written |= dict(zip(some, _written(model, task, rows, task.max_len - length - 1, between), strict=True))
        yield from (written[place] for place in range(len(sources)))
        return
    for first in range(0, len(sources), BATCH):
        rows = [[*task.vocabulary.encode(tokens), EOS] for tokens in sources[first : first + BATCH]]
        if task.architecture == "encoder-decoder":
            yield from _written(model, task, rows, task.max_len, between)
        else:
            yield from _filled(model, task, rows)
            between()


def _written(
    model: Transformer, task: Task, rows: list[list[int]], most: int, between: Callable[[], None]
) -> Iterator[tuple[str, ...]]:
    """Give what is written greedily after each row's ids, at most `most` tokens."""
    given = torch.from_numpy(padded(rows)).to(next(model.parameters()).device)  # [batch, pos]
    columns = []
    for step in greedy(model, given, bos_id=BOS, eos_id=EOS, max_len=max(most, 1)):
        columns.append(step.token)
        between()
    for ids in torch.stack(columns, dim=1).tolist():
        yield task.vocabulary.decode(ids[: ids.index(EOS)] if EOS in ids else ids)


def _filled(model: Transformer, task: Task, rows: list[list[int]]) -> Iterator[tuple[str, ...]]:
    """Give each row's words, the likeliest where one is hidden, without the last, ⟨eos⟩."""
    ids = padded(rows)
    best = model(torch.from_numpy(ids).to(next(model.parameters()).device)).argmax(dim=-1).cpu().numpy()  # [batch, pos]
    for row, filled in zip(rows, np.where(ids == MASK, best, ids).tolist(), strict=True):
        yield task.vocabulary.decode(filled[: len(row) - 1])


def exact_matches(
    model: Transformer, task: Task, examples: Sequence[Example], *, between: Callable[[], None] = lambda: None
) -> list[bool]:
    """Say for each sentence whether the model writes what belongs to it, word for word."""
    written = translate_tokens(model, task, [example.src for example in examples], between=between)
    return [got == example.tgt for got, example in zip(written, examples, strict=True)]


def samples(
    model: Transformer, task: Task, examples: Sequence[Example], *, between: Callable[[], None] = lambda: None
) -> tuple[Sample, ...]:
    """Return sentences with what they should become and what the model makes of them, as text."""
    written = translate_tokens(model, task, [example.src for example in examples], between=between)
    return tuple(
        Sample(task.join(example.src), task.detokenize(example.tgt), task.detokenize(got))
        for got, example in zip(written, examples, strict=True)
    )


def peek(model: Transformer, task: Task, step: int) -> Peek:
    """Return the attention maps of the task's first example, what belongs to it given to the decoder."""
    src = task.tokenize(task.examples[0])
    example = task.reference(src) or next((each for each in task.heldout if each.src == src), None)
    if example is None:
        example = Example(src, src if task.architecture == "encoder-only" else (), ())
    batch = task.encode([example])
    device = next(model.parameters()).device
    trace = capture(model, *(torch.from_numpy(ids).to(device) for ids in batch.read))
    maps = {name: trace[name].float().cpu().numpy() for name in trace if name.endswith(".weights")}
    words = task.vocabulary.decode
    return Peek(step, words(batch.src[0].tolist()), words(batch.tgt_in[0].tolist()), maps)
