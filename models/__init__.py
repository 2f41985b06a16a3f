"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017) and its descendants, in torch alone."""

from models.attention import CrossAttention, MultiHeadAttention, SelfAttention, attend
from models.cache import Entries, KVCache, LayerCache
from models.config import CHOICES, ModelConfig
from models.decoding import Branch, Draw, Growth, Sieve, Step, beam, greedy, length_penalty, path, sampled, sift, winner
from models.feed_forward import ACTIVATIONS, FeedForward, MixtureOfExperts, feed_forward
from models.layers import DecoderLayer, Dropout, EncoderLayer
from models.masks import View, causal_mask, check_mask, padding_mask, window_mask
from models.norms import NORMS, LayerNorm, RMSNorm
from models.positions import POSITIONS, alibi_slopes, sinusoidal_table
from models.recipe import SCHEDULES, accuracy, label_smoothed_loss, learning_rate, noam_rate, peak_rate
from models.stepping import Stepper
from models.tap import NO_TAP, Edit, Recorder, Tap
from models.trace import AXES, Trace, capture, inspecting, zero_head
from models.transformer import Stack, Transformer, initialise
from models.unwatched import attend_unwatched

__all__ = [
    "ACTIVATIONS",
    "AXES",
    "CHOICES",
    "NORMS",
    "NO_TAP",
    "POSITIONS",
    "SCHEDULES",
    "Branch",
    "CrossAttention",
    "DecoderLayer",
    "Draw",
    "Dropout",
    "Edit",
    "EncoderLayer",
    "Entries",
    "FeedForward",
    "Growth",
    "KVCache",
    "LayerCache",
    "LayerNorm",
    "MixtureOfExperts",
    "ModelConfig",
    "MultiHeadAttention",
    "RMSNorm",
    "Recorder",
    "SelfAttention",
    "Sieve",
    "Stack",
    "Step",
    "Stepper",
    "Tap",
    "Trace",
    "Transformer",
    "View",
    "accuracy",
    "alibi_slopes",
    "attend",
    "attend_unwatched",
    "beam",
    "capture",
    "causal_mask",
    "check_mask",
    "feed_forward",
    "greedy",
    "initialise",
    "inspecting",
    "label_smoothed_loss",
    "learning_rate",
    "length_penalty",
    "noam_rate",
    "padding_mask",
    "path",
    "peak_rate",
    "sampled",
    "sift",
    "sinusoidal_table",
    "window_mask",
    "winner",
    "zero_head",
]
