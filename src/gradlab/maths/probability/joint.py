"""Discrete random variables together: a table of the probabilities of all their outcomes, with a name for each axis."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from gradlab.errors import GradlabError, unknown
from gradlab.maths.arrays import tensor
from gradlab.maths.information.checking import distribution

Value = Hashable
Function = Callable[..., Any]
"""Of one value for each variable, in the order of the axes."""


class JointTable:
    r"""The joint law of some discrete variables: an axis for each, with its name and its values.

    $$ p(x, y, \dots) = P[X = x, Y = y, \dots] \ge 0, \qquad \sum_{x, y, \dots} p(x, y, \dots) = 1 $$

    Values are 0, 1, … unless `values` has others for a name. A table is its own probability space: its outcomes are the
    cells, and functions of them are random variables.

    >>> weather = JointTable([[0.3, 0.1], [0.1, 0.5]], ["rain", "wet"])
    >>> weather.marginal("rain").probabilities
    tensor([0.4000, 0.6000], dtype=torch.float64)
    >>> weather.condition(wet=1).probabilities
    tensor([0.1667, 0.8333], dtype=torch.float64)
    """

    def __init__(self, probabilities: Any, names: Sequence[str], values: Mapping[str, Sequence[Value]] | None = None):
        p = tensor(probabilities)
        if len(set(names)) != p.ndim or len(names) != p.ndim:
            raise GradlabError(f"JointTable: {p.ndim} axes need as many different names, got {', '.join(names)}.")
        distribution(p, "JointTable", axes=p.ndim)
        others = values or {}
        for name in others:
            if name not in names:
                raise unknown("variable", name, names)
        self.probabilities = p
        self.values = {name: tuple(others.get(name, range(n))) for name, n in zip(names, p.shape, strict=True)}
        for name, n in zip(names, p.shape, strict=True):
            if len(set(self.values[name])) != n:
                raise GradlabError(f"JointTable: {name} needs {n} different values, got {self.values[name]}.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def outcomes(self) -> Iterator[tuple[Value, ...]]:
        """Each with a value of every variable, in the order of the cells."""
        return product(*self.values.values())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(values)}" for name, values in self.values.items())
        return f"JointTable({sizes})"

    # Laws of parts

    def marginal(self, *names: str) -> "JointTable":
        r"""The law of some of the variables, in this order.

        $$ p(x) = \sum_y p(x, y) $$
        """
        axes = self._axes(names)
        left_out = [axis for axis in range(len(self.names)) if axis not in axes]
        p = self.probabilities.sum(left_out) if left_out else self.probabilities
        kept = sorted(axes)
        return JointTable(p.permute([kept.index(axis) for axis in axes]), names, self._values(names))

    def condition(self, **values: Value) -> "JointTable":
        r"""The law of the other variables, once these are known to have these values.

        $$ p(x \mid y) = \frac{p(x, y)}{p(y)} $$
        """
        self._axes(tuple(values))
        p = self.probabilities[
            tuple(self._place(name, values[name]) if name in values else slice(None) for name in self.names)
        ]
        if not float(p.detach().sum()) > 0:
            event = ", ".join(f"{name}={value!r}" for name, value in values.items())
            raise GradlabError(f"JointTable: {event} has probability 0, so nothing can be conditioned on it.")
        others = [name for name in self.names if name not in values]
        return JointTable(p / p.sum(), others, self._values(others))

    def conditional(self, *given: str) -> Tensor:
        r"""All conditional laws at once, as a tensor: first the axes that are given, then the others, which sum to 1.

        $$ K(y, x) = p(x \mid y) = \frac{p(x, y)}{p(y)} $$

        Where p(y) = 0 any law would do, since it is never asked for: there it is the uniform one.

        >>> JointTable([[0.3, 0.1], [0.1, 0.5]], ["rain", "wet"]).conditional("wet")
        tensor([[0.7500, 0.2500],
                [0.1667, 0.8333]], dtype=torch.float64)
        """
        others = [name for name in self.names if name not in given]
        joint = self.marginal(*given, *others).probabilities
        law = self.marginal(*given).probabilities.reshape(joint.shape[: len(given)] + (1,) * len(others))
        uniform = 1 / joint[(0,) * len(given)].numel()
        return torch.where(law > 0, joint / torch.where(law > 0, law, 1.0), uniform)

    # Random variables

    def probability(self, event: Function) -> Tensor:
        """Of the outcomes for which a function of them is true."""
        return self.expectation(lambda *outcome: float(bool(event(*outcome))))

    def expectation(self, function: Function) -> Tensor:
        r"""The mean of a function of the outcomes.

        $$ E[f(X, Y)] = \sum_{x, y} f(x, y) \, p(x, y) $$

        >>> JointTable([0.5, 0.5], ["coin"]).expectation(lambda coin: 10 * coin)
        tensor(5., dtype=torch.float64)
        """
        p = self.probabilities
        return (p.flatten() * p.new_tensor([float(function(*outcome)) for outcome in self.outcomes])).sum()

    def pushforward(self, **functions: Function) -> "JointTable":
        r"""The joint law of some functions of the outcomes, each under its name.

        $$ P_f(v) = P[f(X, Y) = v] = \sum_{f(x, y) = v} p(x, y) $$

        >>> dice = JointTable.independent(a=[1 / 6] * 6, b=[1 / 6] * 6)
        >>> total = dice.pushforward(total=lambda a, b: a + b + 2)
        >>> 36 * total.probability(lambda total: total == 7)
        tensor(6.0000, dtype=torch.float64)
        """
        images = {name: [function(*outcome) for outcome in self.outcomes] for name, function in functions.items()}
        values = {name: _ordered(image) for name, image in images.items()}
        numbers = {name: {value: number for number, value in enumerate(values[name])} for name in values}
        places = tuple(torch.tensor([numbers[name][value] for value in image]) for name, image in images.items())
        nothing = self.probabilities.new_zeros([len(each) for each in values.values()])
        return JointTable(
            nothing.index_put(places, self.probabilities.flatten(), accumulate=True), list(values), values
        )

    @classmethod
    def independent(cls, **laws: Any) -> "JointTable":
        """Of variables that know nothing of each other: the product of their laws."""
        p = tensor(1.0)
        for law in laws.values():
            p = p[..., None] * tensor(law)
        return cls(p, list(laws))

    def dependence(self, *names: str) -> Tensor:
        r"""How far these variables together are from being independent of the others: 0 if they are.

        $$ \max_{x, y} | p(x, y) - p(x) \, p(y) | $$
        """
        others = [name for name in self.names if name not in names]
        joint, first, second = (self.marginal(*n).probabilities for n in ((*names, *others), names, others))
        apart: Tensor = joint - torch.tensordot(first, second, 0)
        return apart.abs().max()

    def _axes(self, names: Sequence[str]) -> list[int]:
        for name in names:
            if name not in self.values:
                raise unknown("variable", name, self.names)
        return [self.names.index(name) for name in names]

    def _place(self, name: str, value: Value) -> int:
        if value not in self.values[name]:
            raise GradlabError(f"JointTable: {name} is never {value!r}; its values are {self.values[name]}.")
        return self.values[name].index(value)

    def _values(self, names: Sequence[str]) -> dict[str, Sequence[Value]]:
        return {name: self.values[name] for name in names}


def _ordered(values: Sequence[Value]) -> list[Value]:
    """Each once, from small to large, or as they come where they have no order."""
    different = list(dict.fromkeys(values))
    try:
        return sorted(different)  # type: ignore[type-var]
    except TypeError:
        return different


def bayes(prior: Any, likelihood: Any) -> Tensor:
    r"""What is believed of causes once an effect is seen: a row for each effect, which sums to 1 over the causes.

    $$ P(A \mid B) = \frac{P(B \mid A) \, P(A)}{P(B)}, \qquad P(B) = \sum_A P(B \mid A) \, P(A) $$

    `prior` has P(A), and `likelihood` a row P(B | A) for each cause. An effect that no cause has is refused.

    A test that finds 99 % of the ill, and is wrong for 5 % of the healthy, where one in a hundred is ill:

    >>> bayes([0.99, 0.01], [[0.95, 0.05], [0.01, 0.99]])[1]
    tensor([0.8333, 0.1667], dtype=torch.float64)
    """
    prior, likelihood = distribution(prior, "prior"), distribution(likelihood, "likelihood", axes=1)
    if likelihood.shape[-2:-1] != prior.shape[-1:]:
        raise GradlabError(f"bayes: {prior.shape[-1]} causes need as many rows, got {tuple(likelihood.shape)}.")
    joint: Tensor = (prior[..., None] * likelihood).mT
    effect = joint.sum(-1, keepdim=True)
    if not bool((effect > 0).all()):
        first = int((effect.squeeze(-1) <= 0).nonzero()[0, -1])
        raise GradlabError(f"bayes: the effect {first} has probability 0 under every cause. Leave its column out.")
    return joint / effect
