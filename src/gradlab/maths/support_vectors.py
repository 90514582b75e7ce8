"""The dual problem of support vector machines, by sequential minimal optimisation."""

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.kernel_functions import KernelFunction, NotPositiveDefinite

Numbers = npt.NDArray[np.float64]

_FLAT = 1e-12  # curvature along a pair of equal examples, where it is rounded to 0 or below
_NEGATIVE = 1e-8  # curvature relative to the two diagonal entries, from which on it is not rounding


class Solution(NamedTuple):
    """Signed coefficients β, the intercept b, and by how much the conditions of the optimum are violated."""

    coefficients: Numbers
    intercept: float
    violation: float


class KernelColumns:
    """Columns of the kernel matrix of some examples, computed when they are asked for; the last used are kept.

    The whole matrix is never there: `megabytes` bound what is kept.
    """

    def __init__(self, kernel: KernelFunction, x: Float[Tensor, "n d"], megabytes: float = 256.0, name: str = "kernel"):
        self.kernel, self.x, self.name = kernel, x, name
        self.most = max(2, int(megabytes * 2**20 / (8 * max(1, len(x)))))
        self.kept: OrderedDict[int, Numbers] = OrderedDict()
        parts = torch.split(torch.arange(len(x)), 256)
        self.diagonal: Numbers = torch.cat([kernel(x[p], x[p]).diagonal() for p in parts]).numpy()

    def __len__(self) -> int:
        return len(self.x)

    def column(self, i: int) -> Numbers:
        """k(xⱼ, xᵢ) for all j."""
        if i in self.kept:
            self.kept.move_to_end(i)
            return self.kept[i]
        if len(self.kept) >= self.most:
            self.kept.popitem(last=False)
        self.kept[i] = self.kernel(self.x, self.x[i : i + 1])[:, 0].numpy()
        return self.kept[i]


def solve_dual(
    columns: KernelColumns,
    rows: npt.NDArray[np.int64],
    linear: Numbers,
    low: Numbers,
    high: Numbers,
    start: Numbers | None = None,
    *,
    tolerance: float = 1e-3,
    updates: int | None = None,
) -> Solution:
    r"""The minimum of a quadratic function over a box, of coefficients whose sum is 0.

    $$ \min_\beta \; \tfrac12 \sum_{ij} \beta_i \beta_j k(x_i, x_j) + \sum_i q_i \beta_i
       \quad \text{where} \quad l_i \le \beta_i \le h_i, \; \sum_i \beta_i = 0 $$

    `rows` says of which example each coefficient is: of a regression there are two for each. In each update one
    coefficient grows by as much as another shrinks, exactly to the least value along that line: the pair is the one
    which violates the conditions of the optimum most, and then the one with the largest gain (Fan, Chen & Lin 2005,
    jmlr.org/papers/v6/fan05a.html). It ends where no pair violates them by more than `tolerance`, or after so many
    `updates`. f(x) = Σ β_i k(x_i, x) + b.
    """
    beta = np.zeros(len(linear)) if start is None else start.copy()
    gradient = linear + sum(
        (beta[k] * columns.column(int(rows[k]))[rows] for k in np.flatnonzero(beta)), np.zeros(len(linear))
    )
    diagonal = columns.diagonal[rows]
    done = 0
    while True:
        i, violation = _most_violating(beta, gradient, low, high)
        if violation <= tolerance or (updates is not None and done >= updates):
            return Solution(beta, _intercept(beta, gradient, low, high), max(0.0, violation))
        ki = columns.column(int(rows[i]))[rows]
        curvature = diagonal[i] + diagonal - 2 * ki
        gap = np.where(beta > low, gradient - gradient[i], 0.0)
        j = int(np.argmax(np.where(gap > 0, gap, 0.0) ** 2 / np.maximum(curvature, _FLAT)))
        if curvature[j] < -_NEGATIVE * (abs(diagonal[i]) + abs(diagonal[j])):
            raise NotPositiveDefinite(columns.name, f"k(x,x) + k(y,y) - 2k(x,y) is {curvature[j]:.3g} for two of them")
        step = min(gap[j] / max(curvature[j], _FLAT), high[i] - beta[i], beta[j] - low[j])
        beta[i], beta[j] = _moved(beta[i], step, high[i]), _moved(beta[j], -step, low[j])
        gradient += step * (ki - columns.column(int(rows[j]))[rows])
        done += 1


def _moved(value: float, step: float, bound: float) -> float:
    """A coefficient that reaches its bound is exactly there, so that it is known as bounded."""
    return bound if abs(bound - value) <= abs(step) else value + step


def _most_violating(beta: Numbers, gradient: Numbers, low: Numbers, high: Numbers) -> tuple[int, float]:
    """The coefficient that most wants to grow, and how much more than another one does that could shrink."""
    rising = np.where(beta < high, -gradient, -np.inf)
    i = int(rising.argmax())
    return i, float(rising[i] - np.where(beta > low, -gradient, np.inf).min())


def _intercept(beta: Numbers, gradient: Numbers, low: Numbers, high: Numbers) -> float:
    """b = -∂/∂β of what is between its bounds; where nothing is, the middle of what is possible."""
    free = (beta > low) & (beta < high)
    if free.any():
        return float(-gradient[free].mean())
    return float((-gradient)[beta < high].max() + (-gradient)[beta > low].min()) / 2


def separate(
    columns: KernelColumns,
    rows: npt.NDArray[np.int64],
    signs: Numbers,
    bounds: Numbers,
    start: Numbers | None = None,
    *,
    tolerance: float = 1e-3,
    updates: int | None = None,
) -> Solution:
    r"""Two classes with the widest margin: the dual of $\tfrac12 |w|^2 + \sum_i C_i \max(0, 1 - y_i f(x_i))$.

    `signs` are -1 and 1, `bounds` the $C_i$, so that β = yα with 0 ≤ α ≤ C.

    >>> columns = KernelColumns(lambda x, y: x @ y.T, torch.tensor([[0.0], [1.0], [3.0], [5.0]]).double())
    >>> separate(columns, np.arange(4), np.array([-1.0, -1.0, 1.0, 1.0]), np.full(4, 10.0))
    Solution(coefficients=array([ 0. , -0.5,  0.5,  0. ]), intercept=-2.0, violation=0.0)
    """
    if not ((signs > 0).any() and (signs < 0).any()):
        raise GradlabError("A support vector machine separates two classes, but all examples are of one class.")
    low, high = np.minimum(0.0, signs * bounds), np.maximum(0.0, signs * bounds)
    return solve_dual(columns, rows, -signs, low, high, start, tolerance=tolerance, updates=updates)


def regress(
    columns: KernelColumns,
    targets: Numbers,
    bounds: Numbers,
    epsilon: float,
    start: Numbers | None = None,
    *,
    tolerance: float = 1e-3,
    updates: int | None = None,
) -> Solution:
    r"""The flattest function near the targets: the dual of $\tfrac12 |w|^2 + \sum_i C_i \max(0, |y_i - f(x_i)| - ε)$.

    Each example has two coefficients, one that pulls the function up and one that pulls it down; what is returned is
    their sum, of which at most one is not 0.

    >>> columns = KernelColumns(lambda x, y: x @ y.T, torch.tensor([[0.0], [1.0], [2.0]]).double())
    >>> regress(columns, np.array([0.0, 1.0, 2.0]), np.full(3, 10.0), epsilon=0.5)
    Solution(coefficients=array([-0.25,  0.  ,  0.25]), intercept=0.5, violation=0.0)
    """
    count, zeros = len(targets), np.zeros(len(targets))
    twice = None if start is None else np.concatenate([start.clip(min=0.0), start.clip(max=0.0)])
    solved = solve_dual(
        columns,
        np.tile(np.arange(count), 2),
        np.concatenate([epsilon - targets, -epsilon - targets]),
        np.concatenate([zeros, -bounds]),
        np.concatenate([bounds, zeros]),
        twice,
        tolerance=tolerance,
        updates=updates,
    )
    return solved._replace(coefficients=solved.coefficients[:count] + solved.coefficients[count:])
