"""The NumPy engine: derivatives and the blocks of deep learning in NumPy alone, written to be read.

Read `gates.py` (one operation and its derivative), then `tensor.py` (the graph and the chain rule); the rest is written
with those two: layers, losses, optimisers and networks, each a few lines below its equation. All is float64 and slow.
"""

from gradlab.scratch.gradients import check, numerical_gradient
from gradlab.scratch.tensor import Tensor

__all__ = ["Tensor", "check", "numerical_gradient"]
