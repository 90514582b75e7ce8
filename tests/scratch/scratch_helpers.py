"""What the tests of the NumPy engine share: arrays away from kinks, and two judges, central differences and torch."""

import numpy as np
import torch
from hypothesis import strategies as st

from gradlab.scratch import Tensor, check


def normal(*shape, seed=0):
    """Standard normal numbers, none within 1e-3 of 0, where ReLU and its kin have their kink."""
    x = np.random.default_rng([seed, *shape]).normal(size=shape)
    return np.where(np.abs(x) < 1e-3, 1e-3, x)


def distinct(*shape, seed=0):
    """Numbers of which no two are closer than 1e-2: no maximum changes hands while a derivative is measured."""
    x = np.random.default_rng([seed, *shape]).permutation(np.prod(shape, dtype=int))
    return (x.reshape(shape) - x.size / 2 + 0.3) * max(1e-2, 2 / max(1, x.size))


def positive(*shape, seed=0):
    return np.abs(normal(*shape, seed=seed)) + 0.1


shapes = st.lists(st.integers(1, 4), min_size=0, max_size=3).map(tuple)


def same(ours, theirs):
    """Equal up to 1e-9 of the largest entry."""
    theirs = theirs.detach().numpy() if isinstance(theirs, torch.Tensor) else np.asarray(theirs)
    ours = ours.value if isinstance(ours, Tensor) else np.asarray(ours)
    assert ours.shape == theirs.shape
    worst = np.abs(ours - theirs).max(initial=0)
    assert worst <= 1e-9 * max(np.abs(theirs).max(initial=0), 1e-3), worst


def right(function, *arrays):
    """The gradients are those of central differences."""
    assert check(function, *arrays) < 1e-6


def agree(ours, theirs, *arrays):
    """Values and all gradients are those of torch; several results are compared one by one and derived together."""
    tensors = [Tensor(a) for a in arrays]
    twins = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]
    found, wanted = ours(*tensors), theirs(*twins)
    found = found if isinstance(found, tuple) else (found,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(found) == len(wanted)
    total, total_twin = 0.0, 0.0
    for i, (mine, other) in enumerate(zip(found, wanted, strict=True)):
        same(mine, other)
        weights = normal(*mine.shape, seed=100 + i)
        total, total_twin = total + (mine * weights).sum(), total_twin + (other * torch.tensor(weights)).sum()
    total.backward()
    gradients = torch.autograd.grad(total_twin, twins, allow_unused=True)
    for tensor, gradient in zip(tensors, gradients, strict=True):
        assert (tensor.grad is None) == (gradient is None)
        if gradient is not None:
            same(tensor.grad, gradient)
