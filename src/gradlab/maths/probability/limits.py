"""Sums of independent draws: their means with error bars, their distance from the normal law, and random walks."""

from math import comb, sqrt
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays
from gradlab.maths.probability.joint import JointTable


class Running(NamedTuple):
    """Means of the first n draws, and their standard errors, for each n."""

    mean: Tensor
    error: Tensor


@takes_arrays
def running_mean(draws: Float[Tensor, "*batch draws"]) -> Running:
    r"""The mean of the first n draws and how far it may be off, for each n: the law of large numbers at work.

    $$ \bar x_n = \frac{1}{n} \sum_{i \le n} x_i \to E X, \qquad
       \frac{s_n}{\sqrt n}, \quad s_n^2 = \frac{1}{n - 1} \sum_{i \le n} (x_i - \bar x_n)^2 $$

    One draw does not tell how far it may be off: its error is infinite. Where the draws are losses of examples, the
    mean is the empirical risk; of examples from which nothing was learned it estimates the risk, to within this error.

    >>> running_mean(torch.tensor([1.0, 3.0, 5.0]))
    Running(mean=tensor([1., 2., 3.]), error=tensor([   inf, 1.0000, 1.1547]))
    """
    n = torch.arange(1, draws.shape[-1] + 1, dtype=draws.dtype, device=draws.device)
    centre = draws.mean(-1, keepdim=True)  # squares of what is far from 0 would leave nothing of the differences
    apart = draws - centre
    mean = apart.cumsum(-1) / n
    squares = (apart.square().cumsum(-1) - n * mean.square()).clamp(min=0)
    variance = torch.where(n > 1, squares / (n - 1).clamp(min=1), torch.inf)
    return Running(mean + centre, (variance / n).sqrt())


@takes_arrays
def scaled_sum(draws: Float[Tensor, "*batch draws"], mean: float = 0.0) -> Float[Tensor, "*batch"]:
    r"""The sum on the scale of the central limit theorem.

    $$ \frac{1}{\sqrt n} \sum_{i \le n} (X_i - E X) \to N(0, \mathrm{Var} X) \text{ in distribution} $$

    >>> scaled_sum(torch.tensor([1.0, 1.0, 1.0, 1.0]))
    tensor(2.)
    """
    return (draws - mean).sum(-1) / sqrt(draws.shape[-1])


@takes_arrays
def kolmogorov_distance(
    draws: Float[Tensor, "*batch draws"], mean: float = 0.0, std: float = 1.0
) -> Float[Tensor, "*batch"]:
    r"""The largest difference between the distribution function of some draws and that of a normal variable.

    $$ \sup_t | F_n(t) - \Phi\left( \tfrac{t - \mu}{\sigma} \right) | $$

    Of n draws of the normal law itself it is about 0.87/√n.

    >>> kolmogorov_distance(torch.tensor([0.0]))
    tensor(0.5000)
    """
    if not std > 0:
        raise GradlabError(f"kolmogorov_distance: std must be positive, got {std}.")
    n = draws.shape[-1]
    normal = torch.special.ndtr((draws.sort(-1).values - mean) / std)
    steps = torch.arange(n + 1, dtype=draws.dtype, device=draws.device) / n  # before and after each value
    return torch.maximum((normal - steps[:-1]).amax(-1), (steps[1:] - normal).amax(-1))


def random_walks(steps: int, walks: int = 1, generator: torch.Generator | None = None) -> Float[Tensor, "walks times"]:
    r"""Simple random walks from 0, with the times 0 to `steps`.

    $$ Y_n = \sum_{i \le n} X_i, \qquad P[X_i = 1] = P[X_i = -1] = \tfrac{1}{2}, \qquad E Y_n = 0, \quad E Y_n^2 = n $$

    >>> random_walks(5, 2, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 6])
    """
    moves = 2 * torch.randint(2, (walks, steps), generator=generator).double() - 1
    return torch.nn.functional.pad(moves.cumsum(-1), (1, 0))


def walk_table(steps: int) -> JointTable:
    """The joint law of a random walk at the times 1 to `steps`, from its 2ⁿ equally likely ways.

    >>> walk_table(3).marginal("Y3").values, walk_table(3).marginal("Y3").probabilities
    ({'Y3': (-3, -1, 1, 3)}, tensor([0.1250, 0.3750, 0.3750, 0.1250], dtype=torch.float64))
    """
    if not 1 <= steps <= 7:
        raise GradlabError(f"walk_table: a table of all walks has 1 to 7 steps, got {steps}.")
    moves = JointTable.independent(**{f"X{n}": [0.5, 0.5] for n in range(1, steps + 1)})

    def place(time: int) -> Any:
        return lambda *moves: sum(2 * move - 1 for move in moves[:time])

    return moves.pushforward(**{f"Y{n}": place(n) for n in range(1, steps + 1)})


def walk_probability(steps: int, place: int) -> float:
    r"""How likely a random walk is at a place after so many steps.

    $$ P[Y_n = k] = \binom{n}{(n + k) / 2} \, 2^{-n} $$

    >>> walk_probability(4, 2)
    0.25
    """
    ups, odd = divmod(steps + place, 2)
    return 0.0 if odd or not 0 <= ups <= steps else comb(steps, ups) / 2**steps
