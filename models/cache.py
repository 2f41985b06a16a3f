"""Keys and values that are kept while a decoder writes, so that no token's are computed twice."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from models.config import ModelConfig


class Entries:
    """Keys and values of one attention, as they were computed: `[batch, kv_head, key, d_head]`, never repeated."""

    def __init__(self, k: Tensor, v: Tensor) -> None:
        self.k = k
        self.v = v

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new tokens, and return all that are held."""
        # A copy of its own: the storage holds these numbers and no others.
        self.k = torch.cat([self.k, k], dim=2)
        self.v = torch.cat([self.v, v], dim=2)
        return self.k, self.v

    def __len__(self) -> int:
        return self.k.shape[2]


class LayerCache:
    """What one decoder layer keeps.

    Attributes:
        own: Of its self-attention; grows by one entry a token.
        cross: Of its cross-attention; written once, from the memory. None before that, and in a decoder alone.
    """

    def __init__(self, own: Entries) -> None:
        self.own = own
        self.cross: Entries | None = None


class KVCache:
    """What a decoder keeps of the tokens it has read. `Transformer.decode` adds to it.

    Attributes:
        layers: A `LayerCache` a layer.
        real: Which entries are of real tokens rather than of padding, `[batch, key]`.
    """

    def __init__(self, layers: list[LayerCache], real: Tensor) -> None:
        self.layers = layers
        self.real = real

    @classmethod
    def empty(
        cls,
        config: ModelConfig,
        batch: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> KVCache:
        """Return a cache that holds nothing yet, for `batch` rows."""

        def nothing() -> Tensor:
            return torch.empty(batch, config.n_kv_heads, 0, config.d_head, device=device, dtype=dtype)

        layers = [LayerCache(Entries(nothing(), nothing())) for _ in range(config.n_layers)]
        return cls(layers, torch.empty(batch, 0, dtype=torch.bool, device=device))

    def __len__(self) -> int:
        """Return how many entries each self-attention holds for a row, padding included."""
        return self.real.shape[1]

    def n_tokens(self) -> Tensor:
        """Return how many real tokens each row holds, `[batch]`: the position of its next one."""
        return self.real.sum(dim=1)

    def n_bytes(self) -> int:
        """Return the bytes of all keys and values, read from their storage."""
        return self.n_bytes_own() + self.n_bytes_cross()

    def n_bytes_own(self) -> int:
        """Return the bytes that the self-attentions keep: linear in the tokens read."""
        return _n_bytes(layer.own for layer in self.layers)

    def n_bytes_cross(self) -> int:
        """Return the bytes that the cross-attentions keep: constant once the first token is read."""
        return _n_bytes(layer.cross for layer in self.layers if layer.cross is not None)


def _n_bytes(entries: Iterator[Entries]) -> int:
    storages = (tensor.untyped_storage() for each in entries for tensor in (each.k, each.v))
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
