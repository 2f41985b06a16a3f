"""The sizes and choices that make a Transformer, checked when they are written down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

Architecture = Literal["encoder-decoder", "encoder-only", "decoder-only"]
PositionRule = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]
NormPlacement = Literal["post", "pre"]
NormKind = Literal["layer", "rms"]
ActivationKind = Literal["relu", "gelu", "gelu_tanh", "swiglu"]

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "architecture": get_args(Architecture),
        "positions": get_args(PositionRule),
        "norm_placement": get_args(NormPlacement),
        "norm": get_args(NormKind),
        "activation": get_args(ActivationKind),
    }
)


# Fields that configurations of before have not got: theirs are the defaults.
LATER = frozenset({"causal", "residual", "window", "n_experts", "n_active"})


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes and choices of a Transformer. The defaults are the paper's base model.

    Attributes:
        vocab_size: Tokens of the one vocabulary that source and target share.
        architecture: Which stacks there are.
        d_model: Numbers that stand for a token between layers.
        n_heads: Heads of each attention; divides `d_model`.
        n_kv_heads: Heads of keys and values, each shared by a block of query heads; divides `n_heads`. As many as
            `n_heads` if None, 1 is multi-query attention.
        d_ff: Hidden units of the feed-forward network.
        n_layers: Layers of each stack.
        max_len: Longest sequence, in real tokens.
        positions: How a token's position is known.
        norm_placement: `post`: norm(x + sublayer(x)), the paper's; `pre`: x + sublayer(norm(x)).
        norm: `layer` (LayerNorm) or `rms` (RMSNorm).
        norm_eps: Added to the variance, inside the root.
        activation: Of the feed-forward network; `gelu_tanh` is the approximation that GPT-2 uses.
        scale_scores: Whether scores are divided by √d_head.
        causal: Whether a decoder's position is kept from looking at later ones. Without, it learns to copy what it is
            asked for, and nothing of it can be cached.
        residual: Whether a sublayer's output is added to what it read, rather than put in its place.
        window: How many positions a self-attention sees, its own among them, in each direction it looks; 0: all.
        n_experts: Feed-forward networks of each layer; with more than 1, a router chooses among them for each token.
        n_active: How many of them work for each token; at most `n_experts`.
        attention_bias: Whether the four projections of an attention add a bias.
        ffn_bias: Whether the projections of a feed-forward network do.
        embed_scale: Whether embeddings are multiplied by √d_model.
        embed_norm: Whether the sum of embedding and position is normalised before the first layer, as in BERT.
        tied: Whether source embedding, target embedding and unembedding are one matrix.
        unembed_bias: Whether the logits get a bias.
        final_norm: Whether each stack ends in a norm; if None, `pre` does and `post` does not.
        dropout: Share of numbers set to 0 in training, in sublayer outputs and in embedding sums, 0 to below 1.
        rope_theta: Base of the rotary frequencies.
        pad_id: The token that fills up short rows.

    Raises:
        ValueError: If a value has the wrong type, is out of range, or does not fit another; both are named.

    Source: Vaswani et al. 2017, table 3.
    """

    vocab_size: int
    architecture: Architecture = "encoder-decoder"
    d_model: int = 512
    n_heads: int = 8
    n_kv_heads: int = None  # type: ignore[assignment]  # a number from __post_init__ on
    d_ff: int = 2048
    n_layers: int = 6
    max_len: int = 512
    positions: PositionRule = "sinusoidal"
    norm_placement: NormPlacement = "post"
    norm: NormKind = "layer"
    norm_eps: float = 1e-5
    activation: ActivationKind = "relu"
    scale_scores: bool = True
    attention_bias: bool = False
    ffn_bias: bool = True
    embed_scale: bool = True
    embed_norm: bool = False
    tied: bool = True
    unembed_bias: bool = False
    final_norm: bool = None  # type: ignore[assignment]  # a bool from __post_init__ on
    dropout: float = 0.1
    rope_theta: float = 10000.0
    pad_id: int = 0
    causal: bool = True
    residual: bool = True
    window: int = 0
    n_experts: int = 1
    n_active: int = 1

    def __post_init__(self) -> None:
        follows = {"n_kv_heads": self.n_heads, "final_norm": self.norm_placement == "pre"}
        for name, value in follows.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for field in fields(self):
            self._check(field.name, str(field.type))
        for whole, part in (("d_model", "n_heads"), ("n_heads", "n_kv_heads")):
            if getattr(self, whole) % getattr(self, part):
                raise ValueError(f"{part}={getattr(self, part)} does not divide {whole}={getattr(self, whole)}")
        if self.positions == "rotary" and self.d_head % 2:
            raise ValueError(
                f"rotary positions turn pairs, but d_model={self.d_model} / n_heads={self.n_heads} "
                f"makes an odd d_head={self.d_head}"
            )
        if self.n_active > self.n_experts:
            raise ValueError(f"n_active={self.n_active} is more than n_experts={self.n_experts}")
        if self.pad_id >= self.vocab_size:
            raise ValueError(f"pad_id={self.pad_id} is not below vocab_size={self.vocab_size}")

    def _check(self, name: str, kind: str) -> None:
        value = getattr(self, name)
        if name in CHOICES:
            if not isinstance(value, str) or value not in CHOICES[name]:
                raise ValueError(f"{name} is one of {', '.join(CHOICES[name])}, but got {value!r}")
        elif kind == "bool":
            if not isinstance(value, bool):
                raise ValueError(f"{name} is true or false, but got {value!r}")
        elif kind == "int":
            low = 0 if name in ("pad_id", "window") else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ValueError(f"{name} is a whole number, {low} or more, but got {value!r}")
        else:
            self._check_real(name, value)

    def _check_real(self, name: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{name} is a finite number, but got {value!r}")
        if name == "dropout" and not 0 <= value < 1:
            raise ValueError(f"dropout is from 0 to below 1, but got {value!r}")
        if name != "dropout" and value <= 0:
            raise ValueError(f"{name} is above 0, but got {value!r}")
        object.__setattr__(self, name, float(value))

    @property
    def d_head(self) -> int:
        """Width of one head: d_model / n_heads, the paper's d_k and d_v."""
        return self.d_model // self.n_heads

    @property
    def n_parameters(self) -> int:
        """How many numbers are trained, counted without building the model."""
        return self._n_parameters(self.n_experts)

    @property
    def n_parameters_active(self) -> int:
        """How many of them work for one token: fewer where a router leaves experts out."""
        return self._n_parameters(self.n_active)

    def _n_parameters(self, n_experts: int) -> int:
        norm = self.d_model * {"layer": 2, "rms": 1}[self.norm]
        d_heads, d_kv_heads = self.n_heads * self.d_head, self.n_kv_heads * self.d_head
        attention = 2 * self.d_model * d_heads + 2 * self.d_model * d_kv_heads
        attention += self.attention_bias * (d_heads + 2 * d_kv_heads + self.d_model)
        inner = self.d_ff * (2 if self.activation == "swiglu" else 1)
        ffn = n_experts * (self.d_model * (inner + self.d_ff) + self.ffn_bias * (inner + self.d_model))
        ffn += self.d_model * self.n_experts if self.n_experts > 1 else 0
        matrices = 1 if self.tied else 3 if self.architecture == "encoder-decoder" else 2
        total = matrices * self.vocab_size * self.d_model + self.unembed_bias * self.vocab_size
        total += self.max_len * self.d_model if self.positions == "learned" else 0
        for stack, attentions in (("encoder", 1), ("decoder", 1 + (self.architecture == "encoder-decoder"))):
            if stack in self.architecture:
                total += self.n_layers * (attentions * (attention + norm) + ffn + norm)
                total += (self.final_norm + self.embed_norm) * norm
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` takes them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the configuration that `to_dict` wrote.

        Raises:
            ValueError: If it is no table, a field is missing that is not in `LATER`, one is unknown, or a value is
                refused.
        """
        if not isinstance(plain, dict):
            raise ValueError(f"a model's configuration is a table, but got {type(plain).__name__}")
        names = {field.name for field in fields(cls)}
        if missing := sorted(names - plain.keys() - LATER):
            raise ValueError(f"the model's configuration lacks {', '.join(missing)}")
        if unknown := sorted(str(name) for name in plain.keys() - names):
            raise ValueError(f"the model's configuration has unknown fields: {', '.join(unknown)}")
        for name in ("n_kv_heads", "final_norm"):
            if plain[name] is None:
                raise ValueError(f"{name} is written out in a stored configuration, but got None")
        return cls(**plain)
