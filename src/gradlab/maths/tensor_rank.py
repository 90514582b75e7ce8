"""The rank of a tensor: of how many pure ones it is the sum."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor

_TOLERANCE = 1e-8
_SWEEPS = 1000  # of alternating least squares
_LOOK = 20  # sweeps between two looks at the error
_NEAR, _LEAST = 1e-1, 1e-12  # how much a step is held back, at first and at last, in units of the tensor


@dataclass(frozen=True)
class TensorRank:
    """What is known of the rank of a tensor: it is at least `lower`, and `factors` shows that it is at most `upper`."""

    lower: int
    upper: int
    factors: list[Float[Tensor, "size terms"]]
    """A matrix for each axis. Its columns are the vectors of the pure tensors, whose sum is the tensor."""

    @property
    def known(self) -> bool:
        """Whether both bounds are the same number."""
        return self.lower == self.upper


def tensor_rank(x: Tensor, *, restarts: int = 10, tolerance: float | None = None, seed: int = 0) -> TensorRank:
    r"""Bounds on the least number of pure tensors that sum to a tensor.

    $$ \mathrm{rank} \, T = \min \left\{ r : T = \sum_{i=1}^{r} u_i^{(1)} \otimes \cdots \otimes u_i^{(n)} \right\} $$

    Of a matrix it is the matrix rank. Of higher orders it is hard to find: no rank of a matrix that has some of the
    axes as its rows exceeds it, and alternating least squares from `restarts` random starts shows what is enough, up
    to `tolerance` of the tensor's length: 1e-8, or ten roundings of the tensor's type where they are more. The number
    of axes is the order of a tensor, not its rank.

    >>> bell = tensor_rank(torch.eye(2))
    >>> bell.lower, bell.upper
    (2, 2)
    >>> once = torch.zeros(2, 2, 2)
    >>> once[0, 0, 1] = once[0, 1, 0] = once[1, 0, 0] = 1
    >>> rank = tensor_rank(once)
    >>> rank.lower, rank.upper  # it is 3
    (2, 3)
    """
    x = tensor(x).detach()
    if not x.numel() or not bool(x.isfinite().all()):
        raise GradlabError(f"tensor_rank needs finite entries and no empty axis, got shape {tuple(x.shape)}.")
    tolerance = max(_TOLERANCE, 10 * torch.finfo(x.dtype).eps) if tolerance is None else tolerance
    core, bases = _compressed(x.double(), tolerance)
    lower = max((_matrix_rank(core, axes, tolerance) for axes in _halves(core.ndim)), default=int(bool(core.any())))
    length = float(core.norm())
    generator = torch.Generator().manual_seed(seed)
    factors = _exact(core)
    for terms in range(lower, factors[0].shape[1] if factors else 0):
        if fitted := _least_squares(core, terms, tolerance * length, restarts, generator):
            factors = fitted
            break
    whole = [(basis @ factor).to(x.dtype) for basis, factor in zip(bases, factors, strict=True)]
    return TensorRank(lower, whole[0].shape[1] if whole else lower, whole)


def unfold(x: Tensor, axes: tuple[int, ...]) -> Float[Tensor, "rows columns"]:
    """A tensor as a matrix whose rows are these axes, and whose columns are the others.

    >>> unfold(torch.zeros(2, 3, 4), (1,)).shape
    torch.Size([3, 8])
    """
    others = [axis for axis in range(x.ndim) if axis not in axes]
    return x.permute(*axes, *others).reshape(prod(x.shape[axis] for axis in axes), -1)


def _halves(order: int) -> Iterator[tuple[int, ...]]:
    """Some of the axes, so that no two choices have the same matrix but for turning it."""
    return (axes for count in range(1, order // 2 + 1) for axes in combinations(range(order), count))


def _matrix_rank(x: Tensor, axes: tuple[int, ...], tolerance: float) -> int:
    return int(torch.linalg.matrix_rank(unfold(x, axes), rtol=tolerance))


def _compressed(x: Tensor, tolerance: float) -> tuple[Tensor, list[Tensor]]:
    """A smaller tensor of the same rank, and the basis of each axis that gives the whole one back."""
    bases = []
    for axis in range(x.ndim):
        left, sizes, _ = torch.linalg.svd(unfold(x, (axis,)), full_matrices=False)
        basis = left[:, : max(1, int((sizes > tolerance * sizes[0]).sum()))]
        x = torch.tensordot(x, basis, dims=([axis], [0])).movedim(-1, axis)
        bases.append(basis)
    return x, bases


def _exact(x: Tensor) -> list[Tensor]:
    """Factors that always exist: where two axes are longer than 1 by the SVD, else one-hot vectors but for one axis."""
    if not x.any():
        return [torch.zeros(size, 0, dtype=x.dtype) for size in x.shape]
    long = [axis for axis in range(x.ndim) if x.shape[axis] > 1]
    if len(long) == 2:
        left, sizes, right = torch.linalg.svd(x.squeeze(), full_matrices=False)
        both = iter((left * sizes, right.mT))
        return [next(both) if axis in long else torch.ones(1, len(sizes), dtype=x.dtype) for axis in range(x.ndim)]
    if not x.ndim:
        return []
    rows = max(range(x.ndim), key=lambda axis: x.shape[axis])
    matrix = unfold(x, (rows,))
    others = [axis for axis in range(x.ndim) if axis != rows]
    places = torch.ones([x.shape[axis] for axis in others]).nonzero()
    kept = matrix.abs().amax(0) > 0
    one_hot = {axis: torch.eye(x.shape[axis], dtype=x.dtype)[:, places[kept, i]] for i, axis in enumerate(others)}
    return [matrix[:, kept] if axis == rows else one_hot[axis] for axis in range(x.ndim)]


def _least_squares(x: Tensor, terms: int, most: float, starts: int, generator: torch.Generator) -> list[Tensor] | None:
    """Factors of so many pure tensors, each in turn the best for the others; None if no start reaches the tensor."""
    sizes, letters = x.shape, "abcdefghijklmnopqrstuvwxy"[: x.ndim]
    factors = [torch.randn(starts, size, terms, generator=generator, dtype=x.dtype) for size in sizes]
    eye, scale = torch.eye(terms, dtype=x.dtype), float(x.norm() ** (2 / x.ndim))
    for sweep in range(_SWEEPS):
        # A step is held near the last one, less and less: alone, least squares may walk along a flat valley for long.
        near = scale * max(_NEAR * 0.9**sweep, _LEAST)
        for axis, letter in enumerate(letters):
            others = [i for i in range(x.ndim) if i != axis]
            gram = torch.stack([factors[i].mT @ factors[i] for i in others]).prod(0)
            pattern = ",".join(f"Z{letters[i]}z" for i in others)
            right = torch.einsum(f"{letters},{pattern}->Z{letter}z", x, *(factors[i] for i in others))
            factors[axis] = torch.linalg.solve(gram + near * eye, (right + near * factors[axis]).mT).mT
        if sweep % _LOOK == _LOOK - 1:
            fitted = torch.einsum(",".join(f"Z{letter}z" for letter in letters) + f"->Z{letters}", *factors)
            errors = (fitted - x).flatten(1).norm(dim=1)
            if float(errors.min()) <= most:
                return [factor[errors.argmin()] for factor in factors]
    return None
