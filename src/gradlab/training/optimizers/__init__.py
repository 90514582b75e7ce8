"""Optimisers by name: PyTorch's own fused update rules, called directly.

Building a `torch.optim` object imports the compiler (a second at start) and costs more per step than the update of a
small model. The rules themselves are the same functions, or the same arithmetic where PyTorch has none fused; the tests
compare every one with its `torch.optim` class.
"""

from gradlab.training.optimizers.adadelta import adadelta
from gradlab.training.optimizers.adagrad import adagrad
from gradlab.training.optimizers.adam import adam, adamw
from gradlab.training.optimizers.base import SEARCHING, ClosureOptimizer, Optimizer, Parameters, blend, optimizers
from gradlab.training.optimizers.bfgs import bfgs
from gradlab.training.optimizers.lbfgs import lbfgs
from gradlab.training.optimizers.lion import lion
from gradlab.training.optimizers.muon import muon
from gradlab.training.optimizers.rmsprop import rmsprop
from gradlab.training.optimizers.sgd import momentum, nesterov, sgd

__all__ = [
    "SEARCHING",
    "ClosureOptimizer",
    "Optimizer",
    "Parameters",
    "adadelta",
    "adagrad",
    "adam",
    "adamw",
    "bfgs",
    "blend",
    "lbfgs",
    "lion",
    "momentum",
    "muon",
    "nesterov",
    "optimizers",
    "rmsprop",
    "sgd",
]
