"""A training step of this project's model against one built on `torch.nn.Transformer`, on one thread.

Both have the same sizes, biases, batch, dropout, loss and optimizer, and the same tied embedding and positions around
the stacks. The small model that the app trains: d_model 64, 4 heads, d_ff 256, 2+2 layers, 250 tokens,
32 sentences of 8 to 12.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models import ModelConfig, Transformer, label_smoothed_loss, sinusoidal_table
from tests.benchmarks import Measure

PAIRS = 150
BATCH, SHORTEST, LONGEST = 32, 8, 12
SMOOTHING = 0.1


def measure() -> list[Measure]:
    """Measure the ratio of ours to torch's, with the paper's dropout and without any."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_compare(dropout) for dropout in (0.1, 0.0)]
    finally:
        torch.set_num_threads(threads)


class Reference(nn.Module):
    """`torch.nn.Transformer` between one matrix of embeddings, its first and its last."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(config.vocab_size, config.d_model) * config.d_model**-0.5)
        self.register_buffer("positions", sinusoidal_table(config.max_len, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.stacks = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_layers,
            config.n_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        # Ours, like the paper's, ends no stack in a norm of its own.
        self.stacks.encoder.norm = self.stacks.decoder.norm = None

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits, `[batch, pos, vocab]`."""
        future = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
        x = self.stacks(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=future,
            src_key_padding_mask=src == 0,
            tgt_key_padding_mask=tgt == 0,
            memory_key_padding_mask=src == 0,
        )
        return F.linear(x, self.embedding)

    def embed(self, ids: Tensor) -> Tensor:
        """Return embeddings with positions, `[batch, pos, d_model]`."""
        x = F.embedding(ids, self.embedding) * math.sqrt(self.embedding.shape[1])
        return self.dropout(x + self.positions[: ids.shape[1]])


def _compare(dropout: float) -> Measure:
    sizes = {"vocab_size": 250, "d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 2, "max_len": LONGEST}
    config = ModelConfig(**sizes, attention_bias=True, dropout=dropout)
    model = Transformer(config, torch.Generator().manual_seed(0))
    model.dropout.generator = torch.Generator().manual_seed(1)
    ours = _step(model, lambda logits, targets: label_smoothed_loss(logits, targets, 0, SMOOTHING))
    theirs = _step(
        Reference(config),
        lambda logits, targets: F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=0, label_smoothing=SMOOTHING
        ),
    )
    ratios, milliseconds = [], []
    for pair in range(-10, PAIRS):  # the first ten warm up
        mine, other = _cpu_seconds(ours), _cpu_seconds(theirs)
        if pair >= 0:
            ratios.append(mine / other)
            milliseconds.append(1e3 * mine)
    low, _, high = statistics.quantiles(ratios, n=4)
    return Measure(
        f"training step against torch.nn.Transformer, dropout {dropout}",
        statistics.median(ratios),
        at_most=0.9,
        note=f"{PAIRS} pairs, quartiles {low:.2f} and {high:.2f}; ours {statistics.median(milliseconds):.1f} CPU-ms",
    )


def _step(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor]) -> Callable[[], None]:
    """Return a function that makes one step: forward, loss, backward, Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    generator = torch.Generator().manual_seed(2)
    lengths = torch.randint(SHORTEST, LONGEST + 1, (BATCH, 1), generator=generator)
    lengths[0] = LONGEST
    words = torch.randint(3, 250, (3, BATCH, LONGEST), generator=generator)
    src, tgt_in, tgt_out = words.masked_fill(torch.arange(LONGEST) >= lengths, 0)
    model.train()

    def step() -> None:
        nats = loss(model(src, tgt_in), tgt_out)
        optimizer.zero_grad(set_to_none=True)
        nats.backward()
        optimizer.step()

    return step


def _cpu_seconds(step: Callable[[], None]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start
