"""How much there is to know in a distribution, and how much one variable tells of another.

Those of `nn.divergences`, of distributions that are checked, given as tensors, arrays or lists; and what they are made
of and make up. Units are nats, or those of `base`. An impossible outcome adds nothing: 0 log 0 = 0.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

import torch
from torch import Tensor

from gradlab.errors import GradlabError, unknown
from gradlab.maths.arrays import takes_arrays
from gradlab.maths.information.checking import distribution, same_outcomes
from gradlab.nn import divergences

Given = Literal["rows", "columns"]


def _of_distributions(divergence: Callable[..., Tensor], axes: int = 1) -> Callable[..., Any]:
    """The same function, of tensors, arrays or lists that are checked first."""

    @takes_arrays
    @wraps(divergence)
    def of_distributions(*given: Any, **settings: Any) -> Tensor:
        names = ("joint",) if axes == 2 else ("p", "q")
        checked = [distribution(x, name, axes) for x, name in zip(given, names, strict=False)]
        if len(checked) == 2:
            same_outcomes(*checked)
        return divergence(*checked, *given[len(checked) :], **settings)

    return of_distributions


entropy = _of_distributions(divergences.entropy)
cross_entropy = _of_distributions(divergences.cross_entropy)
kl = _of_distributions(divergences.kl)
jensen_shannon = _of_distributions(divergences.jensen_shannon)
total_variation = _of_distributions(divergences.total_variation)
pointwise_mutual_information = _of_distributions(divergences.pmi, axes=2)


@takes_arrays
def surprise(probability: Any, *, base: float = math.e) -> Tensor:
    r"""How surprising an outcome of that probability is.

    $$ s(x) = -\log p(x) $$

    A certain outcome does not surprise, an impossible one infinitely; surprises of independent outcomes add up. With
    `base=2` it is the number of fair coins that would have to fall alike.

    >>> surprise([1.0, 0.25, 0.0], base=2)
    tensor([0., 2., inf], dtype=torch.float64)
    """
    p = torch.as_tensor(probability, dtype=None if isinstance(probability, Tensor) else torch.float64)
    if not bool(((p >= 0) & (p <= 1)).all()):
        wrong = p[~((p >= 0) & (p <= 1))].flatten()[0].item()
        raise GradlabError(f"surprise: a probability is a number from 0 to 1, got {wrong:g}.")
    return -p.log() / math.log(base) + 0.0


@takes_arrays
def joint_entropy(joint: Any, *, base: float = math.e) -> Tensor:
    r"""The entropy of two variables together, by their table of probabilities.

    $$ H(X, Y) = -\sum_{x, y} p(x, y) \log p(x, y) $$

    >>> joint_entropy([[0.5, 0.0], [0.25, 0.25]], base=2)
    tensor(1.5000, dtype=torch.float64)
    """
    return divergences.entropy(distribution(joint, "joint", 2).flatten(-2), base=base)


@takes_arrays
def conditional_entropy(joint: Any, *, given: Given = "rows", base: float = math.e) -> Tensor:
    r"""What is left to know of one variable when the other is known.

    $$ H(Y \mid X) = -\sum_{x, y} p(x, y) \log p(y \mid x) $$

    X are the rows; with `given="columns"` it is H(X | Y).

    >>> conditional_entropy([[0.5, 0.0], [0.25, 0.25]], base=2)
    tensor(0.5000, dtype=torch.float64)
    """
    joint = distribution(joint, "joint", 2)
    known = joint.sum(_axis(given), keepdim=True)
    conditional = joint / torch.where(known > 0, known, 1.0)
    return divergences.cross_entropy(joint.flatten(-2), conditional.flatten(-2), base=base)


@takes_arrays
def mutual_information(
    joint: Any, *, form: Literal["divergence", "entropies", "conditional"] = "divergence", base: float = math.e
) -> Tensor:
    r"""What one variable tells of the other, in any of the three forms, which are equal.

    $$ I(X, Y) = \mathrm{KL}(P_{XY} \Vert P_X P_Y) = H(X) + H(Y) - H(X, Y) = H(Y) - H(Y \mid X) $$

    The first, `divergence`, is the mean of the pointwise one, and exact where the variables are nearly independent;
    the others, `entropies` and `conditional`, are differences of larger numbers.

    >>> mutual_information([[0.5, 0.0], [0.25, 0.25]], form="conditional", base=2)
    tensor(0.3113, dtype=torch.float64)
    """
    joint = distribution(joint, "joint", 2)
    rows, columns = (divergences.entropy(joint.sum(axis), base=base) for axis in (-1, -2))
    if form == "entropies":
        return rows + columns - joint_entropy(joint, base=base)
    if form == "conditional":
        return columns - conditional_entropy(joint, base=base)
    if form == "divergence":
        return divergences.mutual_information(joint, base=base)
    raise unknown("form", form, ("divergence", "entropies", "conditional"))


def _axis(given: str) -> int:
    axes = {"rows": -1, "columns": -2}
    if given not in axes:
        raise unknown("variable", given, axes)
    return axes[given]
