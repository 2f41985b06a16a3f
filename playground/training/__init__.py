"""Training: `Trainer` is the loop, a worker process runs it, and `Engine` is the one seam to the pages."""

from playground.recipe import MODEL_LIMITS, RECIPE_LIMITS, Recipe, RunConfig, RunRefused, model_for, recorded_steps
from playground.training.engine import ACTIVE, Engine, RunStatus, offered_devices, shared_engine
from playground.training.limits import Limits
from playground.training.trainer import Diverged, Report, Trainer, available_devices
from playground.training.watching import Peek, Sample

__all__ = [
    "ACTIVE",
    "MODEL_LIMITS",
    "RECIPE_LIMITS",
    "Diverged",
    "Engine",
    "Limits",
    "Peek",
    "Recipe",
    "Report",
    "RunConfig",
    "RunRefused",
    "RunStatus",
    "Sample",
    "Trainer",
    "available_devices",
    "model_for",
    "offered_devices",
    "recorded_steps",
    "shared_engine",
]
