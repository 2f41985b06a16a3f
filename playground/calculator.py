"""How large caches and weights of known models are, and what one token costs: bytes to read against operations.

Nothing is measured here: these are the formulas, on published sizes. The models are `ModelConfig`s, so their parameters
are counted by the same code as those of the models that are trained here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from models import ModelConfig
from playground.caching import cache_bytes

# Bytes of a number.
FORMATS: Mapping[str, float] = MappingProxyType({"32": 4.0, "16": 2.0, "8": 1.0, "4": 0.5})


def _llama(vocab_size: int, **sizes: object) -> ModelConfig:
    usual = {
        "architecture": "decoder-only",
        "positions": "rotary",
        "norm_placement": "pre",
        "norm": "rms",
        "activation": "swiglu",
        "ffn_bias": False,
        "embed_scale": False,
        "tied": False,
    }
    return ModelConfig(vocab_size=vocab_size, **{**usual, **sizes})  # type: ignore[arg-type]  # checked at birth


# Published sizes; `max_len` is the context.
# Sources: Radford et al. 2019; Touvron et al. 2023; Grattafiori et al. 2024; Jiang et al. 2023 and 2024; Ben Allal et
# al. 2025.
MODELS: Mapping[str, ModelConfig] = MappingProxyType(
    {
        "GPT-2 small": ModelConfig(
            vocab_size=50257,
            architecture="decoder-only",
            d_model=768,
            n_heads=12,
            d_ff=3072,
            n_layers=12,
            max_len=1024,
            positions="learned",
            norm_placement="pre",
            activation="gelu_tanh",
            attention_bias=True,
            embed_scale=False,
        ),
        "Llama 2 7B": _llama(32000, d_model=4096, n_heads=32, d_ff=11008, n_layers=32, max_len=4096),
        "Llama 2 70B": _llama(32000, d_model=8192, n_heads=64, n_kv_heads=8, d_ff=28672, n_layers=80, max_len=4096),
        "Llama 3 8B": _llama(128256, d_model=4096, n_heads=32, n_kv_heads=8, d_ff=14336, n_layers=32, max_len=8192),
        "Mistral 7B": _llama(32000, d_model=4096, n_heads=32, n_kv_heads=8, d_ff=14336, n_layers=32, max_len=8192),
        "Mixtral 8x7B": _llama(
            32000,
            d_model=4096,
            n_heads=32,
            n_kv_heads=8,
            d_ff=14336,
            n_layers=32,
            max_len=32768,
            n_experts=8,
            n_active=2,
        ),
        "SmolLM2 135M": _llama(
            49152, d_model=576, n_heads=9, n_kv_heads=3, d_ff=1536, n_layers=30, max_len=2048, tied=True
        ),
    }
)

LARGEST: Mapping[str, int] = MappingProxyType(
    {"layers": 200, "heads": 256, "kv_heads": 256, "d_head": 512, "context": 2_000_000, "batch": 4096}
)


@dataclass(frozen=True)
class Sizes:
    """What a cache's size depends on, and how many parameters stand beside it.

    Attributes:
        layers: Layers with a self-attention.
        kv_heads: Heads of keys and values.
        heads: Heads of queries; nothing of the cache depends on them.
        d_head: Numbers of a key, and of a value, in a head.
        context: Tokens.
        batch: Texts at once.
        parameters: Of the model, in all.
        number: Bytes of a number of the cache.
        weight: Bytes of a parameter.

    Raises:
        ValueError: If a number is not above 0, or the heads can't share.
    """

    layers: int
    heads: int
    kv_heads: int
    d_head: int
    context: int
    parameters: int
    batch: int = 1
    number: float = 2.0
    weight: float = 2.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"{name} is above 0, but got {value!r}")
        if self.heads % self.kv_heads:
            raise ValueError(f"kv_heads={self.kv_heads} does not divide heads={self.heads}")

    @classmethod
    def of(cls, config: ModelConfig, **more: float) -> Sizes:
        """Return the sizes of a model at its whole context."""
        plain = {"context": config.max_len, "parameters": config.n_parameters}
        heads = {"heads": config.n_heads, "kv_heads": config.n_kv_heads, "d_head": config.d_head}
        return cls(layers=config.n_layers, **{**plain, **heads, **more})  # type: ignore[arg-type]

    @property
    def per_token(self) -> float:
        """Bytes that one token takes: 2 · layers · kv_heads · d_head · bytes a number."""
        return 2 * self.layers * self.kv_heads * self.d_head * self.number

    @property
    def cache(self) -> float:
        """Bytes of the cache: every token of every text."""
        return self.per_token * self.context * self.batch

    @property
    def weights(self) -> float:
        """Bytes of the parameters."""
        return self.parameters * self.weight

    def tokens_in(self, memory: float) -> int:
        """Return how many tokens, of all texts together, fit beside the weights into so many bytes."""
        return max(0, int((memory - self.weights) // self.per_token))


# --- A token's cost ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hardware:
    """What a machine can do at most.

    Attributes:
        flops: Floating-point operations a second, a multiply-add being two, dense, at 16 bits.
        bandwidth: Bytes a second between its memory and where it computes.
        memory: Bytes.
        source: Where the numbers are published.
    """

    flops: float
    bandwidth: float
    memory: float
    source: str

    @property
    def ridge(self) -> float:
        """Operations for each byte at which both limits meet: below it the memory is what one waits for."""
        return self.flops / self.bandwidth

    def attainable(self, intensity: float) -> float:
        """Return operations a second at so many operations for each byte.

        Source: Williams, Waterman and Patterson 2009, Roofline.
        """
        return min(self.flops, self.bandwidth * intensity)


HARDWARE: Mapping[str, Hardware] = MappingProxyType(
    {
        "A100": Hardware(312e12, 2039e9, 80e9, "NVIDIA A100 80GB SXM datasheet, 2021"),
        "H100": Hardware(989e12, 3350e9, 80e9, "NVIDIA H100 SXM datasheet, 2023"),
        "H200": Hardware(989e12, 4800e9, 141e9, "NVIDIA H200 SXM datasheet, 2024"),
        "RTX 4090": Hardware(165e12, 1008e9, 24e9, "NVIDIA Ada GPU architecture whitepaper, 2023"),
        "RTX 3060": Hardware(51e12, 360e9, 12e9, "NVIDIA Ampere GA102 whitepaper, 2021"),
    }
)

# Memory of cards, GB of 10⁹ bytes.
CARDS = (8, 12, 16, 24, 40, 48, 80, 141)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Cost:
    """What one step of decoding takes: one token more in every text of a batch.

    Attributes:
        weights: Bytes of weights that are read, once for all texts.
        cache: Bytes of keys and values that are read, of every text its own.
        operations: A multiply-add being two.
        tokens: Texts, so tokens that are written.
    """

    weights: float
    cache: float
    operations: float
    tokens: int

    @property
    def bytes(self) -> float:
        """All bytes that are read."""
        return self.weights + self.cache

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes

    def seconds(self, hardware: Hardware) -> float:
        """Return how long it takes at least: the longer of reading and computing."""
        return max(self.bytes / hardware.bandwidth, self.operations / hardware.flops)

    def tokens_a_second(self, hardware: Hardware) -> float:
        """Return how many tokens can be written in a second at most, of all texts together."""
        return self.tokens / self.seconds(hardware)


def weights_read(config: ModelConfig, batch: int = 1) -> float:
    """Return how many parameters are read for one token of each of `batch` texts.

    The rows that are looked up in a table are few, and not counted; the whole unembedding is read. Of experts those are
    read that some token goes to: on average n · (1 − (1 − k/n)^batch) of n, if the router spreads tokens evenly.
    """
    tables = _looked_up(config)
    if config.n_experts == 1:
        return config.n_parameters - tables
    share = 1 - (1 - config.n_active / config.n_experts) ** batch
    idle = replace(config, n_active=1)
    one = (config.n_parameters - idle.n_parameters_active) / (config.n_experts - 1)  # an expert of every layer
    return config.n_parameters - tables - config.n_experts * one * (1 - share)


def _looked_up(config: ModelConfig) -> int:
    """Return how many parameters are in tables of which a row is read: embeddings of their own, learned positions."""
    embeddings = 0 if config.tied else config.vocab_size * config.d_model
    return embeddings + (config.max_len * config.d_model if config.positions == "learned" else 0)


def cost(config: ModelConfig, context: int, batch: int, *, number: float = 2.0, weight: float = 2.0) -> Cost:
    """Return what one step takes when every text has `context` tokens.

    Args:
        config: A decoder alone.
        context: Tokens that each text has so far.
        batch: Texts.
        number: Bytes of a number of the cache.
        weight: Bytes of a parameter.
    """
    # A multiply-add for each parameter that works; then the scores and the weighted sum of every head of queries.
    active = config.n_parameters_active - _looked_up(config)
    attention = 2 * config.n_layers * context * config.d_model
    return Cost(
        weights=weights_read(config, batch) * weight,
        cache=cache_bytes(config, context, batch=batch, number=number),
        operations=2.0 * batch * (active + attention),
        tokens=batch,
    )
