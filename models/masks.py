"""Who may look at whom: boolean, True = may attend, broadcastable to `[batch, head, query, key]`, everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from models.positions import Turn, unturned
from models.tap import Tap


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Let every query look at the real tokens only.

    Args:
        ids: Token ids, `[batch, key]`.
        pad_id: The id that fills up short rows.

    Returns:
        `[batch, 1, 1, key]`, True at real tokens.
    """
    return (ids != pad_id)[:, None, None]


def causal_mask(n_query: int, n_key: int, *, device: torch.device | None = None) -> Tensor:
    """Let each query look at itself and at what came before it.

    The last query stands at the last key: with fewer queries than keys, the first keys are the past of all of them.

    Returns:
        `[query, key]`, True on and below the diagonal that ends in the bottom right corner.

    Raises:
        ValueError: If there are more queries than keys.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    if n_query > n_key:
        raise ValueError(f"{n_query} queries can't be the last of {n_key} keys")
    mask = torch.ones(n_query, n_key, dtype=torch.bool, device=device)
    return mask if n_query == 1 else mask.tril(n_key - n_query)


def window_mask(query: Tensor, key: Tensor, window: int) -> Tensor:
    """Let each query look no further than `window` positions, its own among them, in either direction.

    Args:
        query: Where the queries stand, `[batch, query]`.
        key: Where the keys stand, `[batch, key]`.
        window: Positions that are seen; together with a causal mask, the query's own and those just before it.

    Returns:
        `[batch, 1, query, key]`.

    Raises:
        ValueError: If the window would not hold the query's own position.

    Source: Beltagy et al. 2020, Longformer, section 3.1; Jiang et al. 2023, Mistral 7B, section 2.
    """
    if window < 1:
        raise ValueError(f"a window holds at least the query's own position, but got {window}")
    return (query[:, None, :, None] - key[:, None, None, :]).abs() < window


def check_mask(mask: Tensor, shape: tuple[int, int, int, int]) -> None:
    """Refuse what is no mask for scores of this shape.

    Raises:
        TypeError: If it is not boolean.
        ValueError: If it does not broadcast to `shape`, `[batch, head, query, key]`.
    """
    if mask.dtype != torch.bool:
        raise TypeError(f"a mask is torch.bool, True = may attend, but this one is {mask.dtype}")
    fits = mask.dim() <= 4 and all(
        n in (1, wanted) for n, wanted in zip(reversed(mask.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(
            f"a mask of shape {list(mask.shape)} does not broadcast to [batch, head, query, key] = {list(shape)}"
        )


@dataclass(frozen=True)
class View:
    """What the queries of a stack may look at, and from where: worked out once a pass, used by all its layers.

    Attributes:
        parts: The masks that are combined by AND, by reason: `padding`, `causal`, `window`; each broadcasts to
            `[batch, head, query, key]`. Never empty.
        bias: Added to the scores, `[batch, head, query, key]`, or None.
        turn: Turns queries and keys by their positions.
        hides_nothing: Whether every query is known to see every key, so that no mask is needed while nobody watches.
    """

    parts: Mapping[str, Tensor]
    bias: Tensor | None = None
    turn: Turn = unturned
    hides_nothing: bool = False

    @cached_property
    def mask(self) -> Tensor:
        """All parts combined by AND."""
        first, *others = self.parts.values()
        for part in others:
            first = first & part
        return first

    @cached_property
    def addend(self) -> Tensor | None:
        """What a fused kernel adds to the scores: −∞ where hidden, else the bias or 0; None if there is nothing."""
        if self.hides_nothing:
            return self.bias
        if self.bias is not None:
            return self.bias.masked_fill(~self.mask, -math.inf)
        zeros = torch.zeros(self.mask.shape, device=self.mask.device)
        return zeros.masked_fill_(~self.mask, -math.inf)

    def observed(self, batch: int, n_query: int, tap: Tap) -> Tensor:
        """Return the mask as a tap sees it: `mask_padding` and other parts, then `mask`, each `[batch, query, key]`.

        Returns:
            `[batch, 1, query, key]`, after edits.
        """
        shape = (batch, n_query, self.mask.shape[-1])
        mask = torch.ones(shape, dtype=torch.bool, device=self.mask.device)
        for reason, part in self.parts.items():
            flat = part[:, 0] if part.dim() == 4 else part
            mask = mask & tap(f"mask_{reason}", flat.expand(shape))
        return tap("mask", mask)[:, None]
