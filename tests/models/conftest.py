"""One thread: the models are so small that a second one only waits."""

import torch

torch.set_num_threads(1)
