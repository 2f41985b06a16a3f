"""The Transformer: embed, encode, decode, unembed. Three architectures from the same parts."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.cache import KVCache
from models.config import ModelConfig
from models.layers import DecoderLayer, Dropout, EncoderLayer
from models.masks import View, causal_mask, padding_mask, window_mask
from models.norms import NORMS
from models.positions import POSITIONS
from models.tap import NO_TAP, Tap


class NoNorm(nn.Module):
    """Leaves the residual stream as it is at an end of a stack."""

    def forward(self, x: Tensor, tap: Tap) -> Tensor:
        """Return `x`."""
        return x


class EndNorm(nn.Module):
    """Normalises the residual stream at an end of a stack; the tap sees the result under `name`."""

    def __init__(self, config: ModelConfig, name: str) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model, config.norm_eps)
        self.name = name

    def forward(self, x: Tensor, tap: Tap) -> Tensor:
        """Normalise `[batch, pos, d_model]`."""
        return tap(self.name, self.norm(x))


class Stack(nn.Module):
    """What reads one sequence: its layers, and the norms at both ends where the model has them."""

    def __init__(self, config: ModelConfig, layers: list[nn.Module]) -> None:
        super().__init__()
        self.embed_norm = EndNorm(config, "embed_norm") if config.embed_norm else NoNorm()
        self.layers = nn.ModuleList(layers)
        self.final_norm = EndNorm(config, "final_norm") if config.final_norm else NoNorm()


class Transformer(nn.Module):
    """A Transformer of any of the three architectures.

    Args:
        config: Sizes and choices.
        generator: Where the first weights come from; torch's global generator if None.

    Attributes:
        dropout: The one dropout of all layers; set its `generator` for a run that can be made again.
        embedding: `[vocab, d_model]`, of what the first stack reads; of everything if `tied`.
        tgt_embedding: `[vocab, d_model]`, of what the decoder beside an encoder reads, or None if `tied`.
        unembedding: `[vocab, d_model]`, or None if `tied`.

    Source: Vaswani et al. 2017, section 3.
    """

    def __init__(self, config: ModelConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.dropout = Dropout(config.dropout)
        self.positions = POSITIONS[config.positions](config)
        self.encoder: Stack | None = None
        self.decoder: Stack | None = None
        layers = range(config.n_layers)
        if config.architecture != "decoder-only":
            self.encoder = Stack(config, [EncoderLayer(config, self.dropout) for _ in layers])
        if config.architecture != "encoder-only":
            layer = EncoderLayer if config.architecture == "decoder-only" else DecoderLayer
            self.decoder = Stack(config, [layer(config, self.dropout) for _ in layers])

        def table() -> nn.Parameter:
            return nn.Parameter(torch.empty(config.vocab_size, config.d_model))

        self.embedding = table()
        two_inputs = config.architecture == "encoder-decoder"
        self.tgt_embedding = table() if two_inputs and not config.tied else None
        self.unembedding = None if config.tied else table()
        self.unembed_bias = nn.Parameter(torch.empty(config.vocab_size)) if config.unembed_bias else None
        self.embed_factor = math.sqrt(config.d_model) if config.embed_scale else 1.0
        initialise(self, generator)

    def forward(self, src: Tensor, tgt: Tensor | None = None, *, tap: Tap = NO_TAP) -> Tensor:
        """Return the logits of what follows, or stands at, each position.

        Args:
            src: Token ids, `[batch, pos]`: the source; of a model with one stack, the only sequence.
            tgt: What the decoder beside an encoder has written so far, `⟨bos⟩` first, `[batch, pos]`.
            tap: Sees every tensor.

        Returns:
            `[batch, pos, vocab]`.

        Raises:
            ValueError: If a sequence is missing, is one too many, is no batch of ids, or is too long.
        """
        wanted = 2 if self.config.architecture == "encoder-decoder" else 1
        if (given := 1 if tgt is None else 2) != wanted:
            raise ValueError(f"a model that is {self.config.architecture} reads {wanted} sequences, but got {given}")
        if self.encoder is None:
            return self.decode(src, tap=tap)
        memory = self.encode(src, tap=tap)
        if tgt is None:
            return self.unembed(memory, tap=tap)
        return self.decode(tgt, memory, padding_mask(src, self.config.pad_id), tap=tap)

    def encode(self, src: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """Read the source in both directions.

        Args:
            src: Token ids, `[batch, pos]`.
            tap: Sees the encoder's tensors, and `memory`.

        Returns:
            The memory, `[batch, pos, d_model]`.
        """
        if self.encoder is None:
            raise ValueError("a model that is decoder-only has no encoder")
        real, where = self._locate(src)
        inner = tap.within("encoder")
        x = self._embed(self.encoder, self.embedding, src, where, inner)
        parts = {"padding": real[:, None, None]}
        if self.config.window:
            parts["window"] = window_mask(where, where, self.config.window)
        view = View(
            parts,
            bias=self.positions.bias(where, where),
            turn=self.positions.turn(where),
        )
        for index, layer in enumerate(self.encoder.layers):
            x = layer(x, view, tap=inner.within(index))
        return tap("memory", self.encoder.final_norm(x, inner))

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor | None = None,
        src_mask: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        tap: Tap = NO_TAP,
    ) -> Tensor:
        """Say what may follow each target token, given the tokens before it.

        Args:
            tgt: Token ids, `[batch, pos]`; with a cache, those that it does not hold yet.
            memory: What the encoder made of the source, `[batch, key, d_model]`; None in a decoder alone.
            src_mask: True at the memory's real tokens, broadcasts to `[batch, head, query, key]`; None if all are.
            cache: Holds what was read before; `tgt` is added to it.
            tap: Sees the decoder's tensors, `logits` and `probs`.

        Returns:
            Logits, `[batch, pos, vocab]`.

        Raises:
            ValueError: If the model and the arguments don't fit together, or the target is too long.
        """
        if self.decoder is None:
            raise ValueError("a model that is encoder-only has no decoder")
        if cache is not None and not self.config.causal:
            raise ValueError("without a causal mask every token changes what the ones before it are: nothing is kept")
        if (memory is None) != (self.encoder is None):
            raise ValueError(
                "a decoder beside an encoder needs its memory"
                if memory is None
                else "a model that is decoder-only reads no memory"
            )
        n_query, window = tgt.shape[-1], self.config.window
        real, where = self._locate(tgt, cache)
        here = where[:, -n_query:]
        inner = tap.within("decoder")
        embedding = self.embedding if self.tgt_embedding is None else self.tgt_embedding
        x = self._embed(self.decoder, embedding, tgt, here, inner)
        parts = {"padding": real[:, None, None]}
        if self.config.causal:
            parts["causal"] = causal_mask(n_query, real.shape[1], device=tgt.device)
        if window:
            parts["window"] = window_mask(here, where, window)
        # One query, which comes last, sees all that there is.
        sees_all = cache is not None and n_query == 1 and not (cache.is_padded or window)
        view = View(parts, self.positions.bias(here, where), self.positions.turn(here), hides_nothing=sees_all)
        context: tuple[object, ...] = (view,)
        if memory is not None:
            if src_mask is None:
                src_mask = torch.ones(1, 1, 1, memory.shape[1], dtype=torch.bool, device=memory.device)
            context = (memory, view, View({"padding": src_mask}))
        for index, layer in enumerate(self.decoder.layers):
            layer_cache = None if cache is None else cache.layers[index]
            x = layer(x, *context, cache=layer_cache, tap=inner.within(index))
        if cache is not None and window:
            cache.forget(window)
        return self.unembed(self.decoder.final_norm(x, inner), tap=tap)

    def unembed(self, x: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """Compare each position of `[batch, pos, d_model]` with every token: logits `[batch, pos, vocab]`.

        The tap sees `logits` and `probs`.
        """
        matrix = self.embedding if self.unembedding is None else self.unembedding
        logits = tap("logits", F.linear(x, matrix, self.unembed_bias))
        if tap.watches:
            tap("probs", logits.softmax(dim=-1))
        return logits

    def _locate(self, ids: Tensor, cache: KVCache | None = None) -> tuple[Tensor, Tensor]:
        """Return which tokens are real and where each stands, both `[batch, key]`, those in the cache first."""
        if ids.dim() != 2 or ids.is_floating_point() or not ids.shape[1]:
            raise ValueError(f"ids are whole numbers [batch, pos], but got {ids.dtype} {list(ids.shape)}")
        real = ids != self.config.pad_id
        if cache is not None:
            cache.admit(real, self.config.max_len)
            return cache.real, cache.where
        count = real.cumsum(dim=1)
        # Only a row of that many places can hold that many tokens: mostly nothing has to be read back.
        if real.shape[1] > self.config.max_len and (longest := int(count[:, -1].max())) > self.config.max_len:
            raise ValueError(f"a sequence of {longest} tokens is longer than max_len={self.config.max_len}")
        return real, count - real.long()

    def _embed(self, stack: Stack, embedding: Tensor, ids: Tensor, where: Tensor, tap: Tap) -> Tensor:
        """Return what the first layer reads, `[batch, pos, d_model]`."""
        x = tap("embed", F.embedding(ids, embedding) * self.embed_factor)
        x = self.positions.add(x, where, tap)
        return self.dropout(stack.embed_norm(x, tap))  # type: ignore[no-any-return]


def initialise(model: Transformer, generator: torch.Generator | None) -> None:
    """Give a model its first weights.

    Matrices: uniform with variance 2 / (in + out), each projection by its own widths; embeddings and learned
    positions: normal with variance 1/d_model (0.02² for embeddings that are not scaled); biases 0; norms do nothing.

    Source: Glorot and Bengio 2010; the embeddings as in the authors' tensor2tensor.
    """
    std = model.config.d_model**-0.5 if model.config.embed_scale else 0.02
    with torch.no_grad():
        for name, weight in model.named_parameters():
            last = name.rsplit(".", 1)[-1]
            if last == "W_QKV":
                n_q = model.config.n_heads * model.config.d_head
                n_kv = model.config.n_kv_heads * model.config.d_head
                for part in weight.split_with_sizes([n_q, n_kv, n_kv], dim=1):
                    nn.init.xavier_uniform_(part, generator=generator)
            elif last in ("W_O", "W_1", "W_2", "W_router"):
                nn.init.xavier_uniform_(weight, generator=generator)
            elif last in ("embedding", "tgt_embedding", "unembedding", "table"):
                nn.init.normal_(weight, std=std, generator=generator)
            elif last != "gain":
                nn.init.zeros_(weight)
