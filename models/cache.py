"""Keys and values that are kept while a decoder writes, so that no token's are computed twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from models.config import ModelConfig


class Entries:
    """Keys and values of one attention, as they were computed: `[batch, kv_head, key, d_head]`, never repeated.

    Args:
        k: Keys.
        v: Values.
        room: Entries that memory is taken for at once. Beyond it, and without it, each new token is a new copy.
    """

    def __init__(self, k: Tensor, v: Tensor, *, room: int = 0) -> None:
        self.k = k
        self.v = v
        self._room: tuple[Tensor, Tensor] | None = None
        if room > 0:
            batch, n_heads, _, d_head = k.shape
            self._room = (k.new_empty(batch, n_heads, room, d_head), v.new_empty(batch, n_heads, room, d_head))

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new tokens, and return all that are held."""
        start, end = self.k.shape[2], self.k.shape[2] + k.shape[2]
        if self._room is not None and end <= self._room[0].shape[2]:
            room_k, room_v = self._room
            room_k[:, :, start:end] = k
            room_v[:, :, start:end] = v
            self.k, self.v = room_k[:, :, :end], room_v[:, :, :end]
        else:
            # A copy of its own: the storage holds these numbers and no others.
            self._room = None
            self.k = torch.cat([self.k, k], dim=2)
            self.v = torch.cat([self.v, v], dim=2)
        return self.k, self.v

    def drop(self, n: int) -> None:
        """Let go of the first `n` entries and of their memory."""
        self._room = None
        self.k, self.v = self.k[:, :, n:].clone(), self.v[:, :, n:].clone()

    def reorder(self, rows: Tensor) -> None:
        """Hold these rows, in this order, in place of those that were held; a row may be taken more than once."""
        if self._room is None:
            self.k, self.v = self.k[rows], self.v[rows]
            return
        end = self.k.shape[2]
        room_k, room_v = self._room = (self._room[0][rows], self._room[1][rows])
        self.k, self.v = room_k[:, :, :end], room_v[:, :, :end]

    def __len__(self) -> int:
        return self.k.shape[2]

    def __iter__(self) -> Iterator[Tensor]:
        yield self.k
        yield self.v


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
        is_padded: Whether any entry is of padding.
    """

    def __init__(self, layers: list[LayerCache], batch: int, device: torch.device | str | None = None) -> None:
        self.layers = layers
        self.is_padded = False
        # What came together lies together, and is joined when somebody asks for all of it: `[batch, pos]` each.
        self._real = [torch.empty(batch, 0, dtype=torch.bool, device=device)]
        self._where = [torch.empty(batch, 0, dtype=torch.long, device=device)]
        self._n_read = torch.zeros(batch, dtype=torch.long, device=device)  # real tokens of each row
        self._n_places = 0  # of a row, padding and what was let go of included
        self._n_held = 0

    @classmethod
    def empty(
        cls,
        config: ModelConfig,
        batch: int,
        *,
        room: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> KVCache:
        """Return a cache that holds nothing yet, for `batch` rows.

        Args:
            config: Of the model that will fill it.
            batch: Rows.
            room: Entries of a row that memory is taken for at once: writing is faster, and the bytes that are taken
                are those of the whole room. With 0 only what is held takes memory. A model with a window has no use
                for it. Results are the same but for rounding, and to the last bit if `d_head` is a multiple of 16.
            device: Where it lies.
            dtype: Of its numbers.
        """

        def nothing() -> Tensor:
            return torch.empty(batch, config.n_kv_heads, 0, config.d_head, device=device, dtype=dtype)

        room = 0 if config.window else room
        layers = [LayerCache(Entries(nothing(), nothing(), room=room)) for _ in range(config.n_layers)]
        return cls(layers, batch, device)

    def __len__(self) -> int:
        """Return how many entries each self-attention holds for a row, padding included."""
        return self._n_held

    @property
    def real(self) -> Tensor:
        """Which entries are of real tokens rather than of padding, `[batch, key]`."""
        return _joined(self._real)

    @property
    def where(self) -> Tensor:
        """The position of each entry, `[batch, key]`."""
        return _joined(self._where)

    def n_tokens(self) -> Tensor:
        """Return how many real tokens each row has read, `[batch]`: the position of its next one."""
        return self._n_read

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows, `[row]`, in this order: what a beam does when it follows some of its sequences further."""
        for layer in self.layers:
            layer.own.reorder(rows)
            if layer.cross is not None:
                layer.cross.reorder(rows)
        self._real, self._where, self._n_read = [self.real[rows]], [self.where[rows]], self._n_read[rows]

    def admit(self, real: Tensor, max_len: int) -> Tensor:
        """Take down where new tokens stand, before their keys and values come.

        Args:
            real: Which of them are no padding, `[batch, pos]`.
            max_len: Most real tokens of a row.

        Returns:
            Their positions, `[batch, pos]`.

        Raises:
            ValueError: If the rows are not those of the cache, or a row becomes too long; the cache is as it was then.
        """
        if len(real) != len(self._n_read):
            raise ValueError(f"the cache is for {len(self._n_read)} rows, but got {len(real)}")
        places, is_padded = self._n_places + real.shape[1], not bool(real.all())
        if real.shape[1] == 1 and not is_padded:
            where, total = self._n_read[:, None], self._n_read + 1
        else:
            count = real.cumsum(dim=1)
            where, total = self._n_read[:, None] + count - real.long(), self._n_read + count[:, -1]
        # Only a row of that many places can hold that many tokens: mostly nothing has to be read back.
        if places > max_len and (longest := int(total.max())) > max_len:
            raise ValueError(f"a sequence of {longest} tokens is longer than max_len={max_len}")
        self._real.append(real)
        self._where.append(where)
        self.is_padded = self.is_padded or is_padded
        self._n_read, self._n_places, self._n_held = total, places, self._n_held + real.shape[1]
        return where

    def forget(self, window: int) -> None:
        """Let go of the entries that no later token of any row will see through a window of `window` positions."""
        seen = self.real & (self.where > self._n_read[:, None] - window)  # [batch, key]
        n = int((~seen.any(dim=0)).cumprod(dim=0).sum())
        if n:
            for layer in self.layers:
                layer.own.drop(n)
            self._real, self._where = [self.real[:, n:]], [self.where[:, n:]]
            self._n_held -= n

    def n_bytes(self) -> int:
        """Return the bytes that all keys and values take, read from their storage: with room, those of the room."""
        return self.n_bytes_own() + self.n_bytes_cross()

    def n_bytes_own(self) -> int:
        """Return the bytes that the self-attentions take: linear in the tokens read."""
        return _n_bytes(layer.own for layer in self.layers)

    def n_bytes_cross(self) -> int:
        """Return the bytes that the cross-attentions take: constant once the first token is read."""
        return _n_bytes(layer.cross for layer in self.layers if layer.cross is not None)


def _joined(parts: list[Tensor]) -> Tensor:
    """Join what came one after the other, for good."""
    if len(parts) > 1:
        parts[:] = [torch.cat(parts, dim=1)]
    return parts[0]


def _n_bytes(entries: Iterable[Entries]) -> int:
    storages = [tensor.untyped_storage() for each in entries for tensor in each]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
