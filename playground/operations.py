"""Multiplications with an addition, counted from the shapes of a decoder's matrix products alone.

A product of `[a, b]` and `[b, c]` takes a·b·c of them. What is masked is multiplied all the same, so it counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from models import ACTIVATIONS, ModelConfig


@dataclass(frozen=True)
class Operations:
    """Multiply-adds of one pass through a decoder.

    Attributes:
        attention: Scores and weighted sums: the part that grows with what was read before.
        projections: Queries, keys, values and W_O of all attentions, those of the memory included where they are made.
        feed_forward: Of the experts that work, with their router.
        unembedding: Logits.
    """

    attention: int = 0
    projections: int = 0
    feed_forward: int = 0
    unembedding: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.attention + self.projections + self.feed_forward + self.unembedding

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.attention + other.attention,
            self.projections + other.projections,
            self.feed_forward + other.feed_forward,
            self.unembedding + other.unembedding,
        )


def operations(config: ModelConfig, n_query: int, n_key: int, *, n_memory: int = 0, n_new: int = 0) -> Operations:
    """Count the multiply-adds of `Transformer.decode`, a row of the batch.

    Args:
        config: A model with a decoder.
        n_query: Tokens that are read.
        n_key: Tokens that they look at, themselves and those in the cache.
        n_memory: Positions of the memory, in a decoder beside an encoder.
        n_new: Positions of the memory whose keys and values are made in this pass: all without a cache or the first
            time, else none.

    Raises:
        ValueError: If the model has no decoder.
    """
    if config.architecture == "encoder-only":
        raise ValueError("a model that is encoder-only decodes nothing: there is nothing to count")
    d, d_kv = config.d_model, config.n_kv_heads * config.d_head
    crosses = config.architecture == "encoder-decoder"
    own = n_query * (2 * d * d + 2 * d * d_kv)
    cross = (n_query * 2 * d * d + n_new * 2 * d * d_kv) if crosses else 0
    looked_at = n_key + (n_memory if crosses else 0)
    inner = ACTIVATIONS[config.activation].n_inputs * config.d_ff
    ffn = config.n_active * d * (inner + config.d_ff) + (d * config.n_experts if config.n_experts > 1 else 0)
    return Operations(
        attention=config.n_layers * 2 * n_query * looked_at * d,
        projections=config.n_layers * (own + cross),
        feed_forward=config.n_layers * n_query * ffn,
        unembedding=n_query * d * config.vocab_size,
    )


def step(config: ModelConfig, n_read: int, *, is_cached: bool, n_memory: int = 0) -> Operations:
    """Count what token number `n_read`, from 1, takes once the first has been read.

    With a cache it alone is read, and looks at all; without one all are read anew.
    """
    if is_cached:
        return operations(config, 1, n_read, n_memory=n_memory)
    return operations(config, n_read, n_read, n_memory=n_memory, n_new=n_memory)


def whole(config: ModelConfig, n_tokens: int, *, is_cached: bool, n_memory: int = 0) -> Operations:
    """Count what all tokens up to `n_tokens` take together, one after the other."""
    first = operations(config, 1, 1, n_memory=n_memory, n_new=n_memory)
    later = (step(config, n, is_cached=is_cached, n_memory=n_memory) for n in range(2, n_tokens + 1))
    return sum(later, first)
