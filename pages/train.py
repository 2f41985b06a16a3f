"""Train: a fresh model learns before one's eyes, and then is the model of every page."""

from playground.ui.frame import open_page
from playground.ui.train_depth import descend
from playground.ui.training import show_training

state, t = open_page("train")
panel = show_training(state, t)
if not state.present:
    descend(panel, state, t)
