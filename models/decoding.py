"""Writing a sequence token by token, as a generator of steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from models.cache import KVCache
from models.masks import padding_mask
from models.trace import inspecting
from models.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Step:
    """One token more in every row.

    Attributes:
        index: Number of the token, from 0.
        token: What each row writes, `[batch]`; the padding of a row that had finished before.
        logits: What the choice was made from, `[batch, vocab]`.
        finished: Rows that have written the end, now or before, `[batch]`.
    """

    index: int
    token: Tensor
    logits: Tensor
    finished: Tensor


def greedy(
    model: Transformer, src: Tensor, *, bos_id: int = 1, eos_id: int = 2, max_len: int | None = None
) -> Iterator[Step]:
    """Write the likeliest token, the lowest id of equals, again and again.

    What was read is kept in a cache; a decoder without a causal mask reads everything again for every token.

    Args:
        model: With a decoder. Its mode does not matter, and is left as it was.
        src: The source, `[batch, pos]`; of a decoder alone, the beginning that it continues, padded on either side.
        bos_id: What a decoder beside an encoder reads first.
        eos_id: What ends a row.
        max_len: Most tokens that a row writes, its end counted, its beginning not; what the model can hold if None.

    Yields:
        A step, until every row has ended or `max_len` is reached.

    Raises:
        ValueError: If the model has no decoder, or `max_len` is not 1 or more.
    """
    config = model.config
    if config.architecture == "encoder-only":
        raise ValueError("a model that is encoder-only writes nothing: greedy decoding needs a decoder")
    if max_len is not None and max_len < 1:
        raise ValueError(f"max_len is 1 or more, but got {max_len}")
    cache = None
    if config.causal:
        cache = KVCache.empty(config, src.shape[0], device=src.device, dtype=model.embedding.dtype)
    finished = torch.zeros(src.shape[0], dtype=torch.bool, device=src.device)
    memory = src_mask = None
    if config.architecture == "encoder-decoder":
        with inspecting(model):
            memory = model.encode(src)
        src_mask = padding_mask(src, config.pad_id)
        given = torch.full_like(src[:, :1], bos_id)  # [batch, 1]
        room = config.max_len
    else:
        given = src
        room = config.max_len + 1 - int((src != config.pad_id).sum(dim=1).max())
    for index in range(max(room if max_len is None else min(max_len, room), 1)):
        with inspecting(model):
            logits = model.decode(given, memory, src_mask, cache=cache)  # [batch, pos, vocab]
        # The last real token of each row says what follows.
        order = torch.arange(1, given.shape[1] + 1, device=src.device) * (given != config.pad_id)  # [batch, pos]
        last = logits[torch.arange(len(given)), order.argmax(dim=1)]  # [batch, vocab]
        token = last.argmax(dim=-1).masked_fill(finished, config.pad_id)
        finished = finished | (token == eos_id)
        yield Step(index, token, last, finished)
        if bool(finished.all()):
            return
        given = token[:, None] if cache is not None else torch.cat([given, token[:, None]], dim=1)
