"""How a model knows where a token stands: vectors added to the embeddings, queries and keys turned, or scores lowered.

A position is the number of real tokens before a token, so padding on either side changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.config import ModelConfig
from models.tap import Tap

Turn = Callable[[str, Tensor, Tap], Tensor]


def unturned(name: str, x: Tensor, tap: Tap) -> Tensor:
    """Return `x` as it is: what most position rules do to queries and keys."""
    return x


class NoPositions(nn.Module):
    """Knows no positions: all words of a sentence are one bag. The other rules override what they use."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()

    def add(self, x: Tensor, where: Tensor, tap: Tap) -> Tensor:
        """Return embeddings `[batch, pos, d_model]` with what tells their positions `where`, `[batch, pos]`.

        The tap sees what is added as `pos_embed`.
        """
        return x

    def turn(self, where: Tensor) -> Turn:
        """Return what is done to queries and keys, `[batch, head, pos, d_head]`, at the positions `where`."""
        return unturned

    def bias(self, query: Tensor, key: Tensor) -> Tensor | None:
        """Return what is added to the scores between positions `[batch, query]` and `[batch, key]`.

        Returns:
            `[batch, head, query, key]`, or None for nothing.
        """
        return None


class Sinusoidal(NoPositions):
    """Adds waves of many lengths, from 2π to 10000 · 2π positions.

    Source: Vaswani et al. 2017, section 3.5.
    """

    table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.register_buffer("table", sinusoidal_table(config.max_len, config.d_model), persistent=False)

    def add(self, x: Tensor, where: Tensor, tap: Tap) -> Tensor:
        """Return `x` plus rows of the table; the tap sees them as `pos_embed`, `[batch, pos, d_model]`."""
        return x + tap("pos_embed", F.embedding(where, self.table))


def sinusoidal_table(n_positions: int, d_model: int) -> Tensor:
    """Return sin(pos / 10000^(2i/d_model)) in column 2i and the cosine of the same in column 2i+1.

    Computed in float64, then rounded. An odd `d_model` ends in a sine without its cosine.

    Returns:
        `[pos, d_model]`, float32.

    Source: Vaswani et al. 2017, section 3.5.
    """
    pos = torch.arange(n_positions, dtype=torch.float64)[:, None]
    wave = torch.arange(0, d_model, 2, dtype=torch.float64)  # 2i
    angle = pos / 10000.0 ** (wave / d_model)  # [pos, ⌈d_model / 2⌉]
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return table[:, :d_model].float()


class Learned(NoPositions):
    """Adds a vector of its own for each position, trained like an embedding.

    Source: Gehring et al. 2017; Vaswani et al. 2017, section 3.5 and table 3, row E.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.table = nn.Parameter(torch.empty(config.max_len, config.d_model))

    def add(self, x: Tensor, where: Tensor, tap: Tap) -> Tensor:
        """Return `x` plus rows of the table; the tap sees them as `pos_embed`, `[batch, pos, d_model]`."""
        return x + tap("pos_embed", F.embedding(where, self.table))


class Rotary(NoPositions):
    """Turns each pair of a query's and a key's numbers by an angle that grows with the position.

    The score between two tokens then depends on their distance only. Pairs are half a head apart: number i goes with
    number i + d_head/2 (the half-split convention of Llama, not the adjacent pairs of the paper).

    Source: Su et al. 2021, RoFormer, section 3.2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.d_head = config.d_head
        self.theta = config.rope_theta

    def turn(self, where: Tensor) -> Turn:
        """Return the rotation by the angles of these positions; the tap sees `q_unrotated` and `k_unrotated`."""
        # Not kept in the model: a model in 16 bits would round the angles of late positions.
        wave = torch.arange(0, self.d_head, 2, dtype=torch.float32, device=where.device)
        frequency = self.theta ** (-wave / self.d_head)
        angle = where[:, None, :, None] * frequency  # [batch, 1, pos, d_head / 2]
        cos, sin = angle.cos(), angle.sin()

        def turned(name: str, x: Tensor, tap: Tap) -> Tensor:
            first, second = tap(f"{name}_unrotated", x).chunk(2, dim=-1)
            return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)

        return turned


class ALiBi(NoPositions):
    """Lowers each score in proportion to the distance, by a slope of each head's own.

    In sequences that are read in both directions the distance counts without its sign, so that a sentence and its
    reverse look alike.

    Source: Press et al. 2021, Train Short, Test Long, section 3.
    """

    slopes: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.register_buffer("slopes", alibi_slopes(config.n_heads), persistent=False)

    def bias(self, query: Tensor, key: Tensor) -> Tensor:
        """Return −slope · distance, `[batch, head, query, key]`."""
        distance = (query[:, None, :, None] - key[:, None, None, :]).abs()  # [batch, 1, query, key]
        return -self.slopes[:, None, None] * distance


def alibi_slopes(n_heads: int) -> Tensor:
    """Return 2^(−8/n), 2^(−16/n), … for n heads; if n is no power of two, every second slope of the next one follows.

    Returns:
        `[head]`, float32.

    Source: Press et al. 2021, section 3 and the authors' code.
    """
    whole = 2 ** math.floor(math.log2(n_heads))
    slopes = [2.0 ** (-8 * (i + 1) / whole) for i in range(whole)]
    between = [2.0 ** (-8 * (i + 1) / (2 * whole)) for i in range(0, 2 * whole, 2)]
    return torch.tensor((slopes + between)[:n_heads])


POSITIONS: Mapping[str, type[NoPositions]] = MappingProxyType(
    {"sinusoidal": Sinusoidal, "learned": Learned, "rotary": Rotary, "alibi": ALiBi, "none": NoPositions}
)
