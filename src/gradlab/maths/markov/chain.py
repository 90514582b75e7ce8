"""Chains on finitely many states: laws after some steps, stationary laws, draws, and tables of whole paths."""

from collections.abc import Sequence
from math import log2
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor
from gradlab.maths.information.checking import distribution
from gradlab.maths.probability.joint import JointTable

_TOLERANCE = 1e-6
_MOST_CELLS = 2.0**22


def check_stochastic(transition: Tensor, name: str = "transition") -> None:
    """Refuse a matrix whose rows are no distributions, with the first such row and its sum."""
    if transition.ndim != 2 or transition.shape[0] != transition.shape[1]:
        raise GradlabError(f"{name} must be a square matrix, with a row for each state, got {tuple(transition.shape)}.")
    sums, lowest = transition.sum(1), transition.amin(1)
    wrong = ~((sums - 1).abs() < _TOLERANCE) | ~(lowest >= 0)
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0])
        entry = f"has {float(lowest[row]):g} in column {int(transition[row].argmin())}"
        what = f"sums to {float(sums[row]):g}" if lowest[row] >= 0 else entry
        columns = bool(((transition.sum(0) - 1).abs() < _TOLERANCE).all())
        hint = " Its columns do sum to 1: transpose it." if columns else ""
        raise GradlabError(f"{name}: row {row} {what}; each row must be a distribution over the next state.{hint}")


@takes_arrays
def law_after(
    start: Float[Tensor, "*batch states"], transitions: Sequence[Tensor] | Float[Tensor, "steps states states"]
) -> Float[Tensor, "*batch states"]:
    r"""The law of the state after one step by each of these matrices, which may differ from step to step.

    $$ P[X_n = j] = (\nu A_0 A_1 \cdots A_{n-1})_j $$

    >>> flip, stay = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.eye(2)
    >>> law_after(torch.tensor([1.0, 0.0]), [flip, stay, flip, flip])
    tensor([0., 1.])
    """
    law = distribution(start, "start")
    for transition in _checked(transitions, law.shape[-1]):
        law = law @ transition
    return law


@takes_arrays
def sample_paths(
    start: Float[Tensor, " states"],
    transitions: Sequence[Tensor] | Float[Tensor, "steps states states"],
    paths: int = 1,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "paths times"]:
    r"""Draws of the states before, between and after steps by these matrices, which may differ from step to step.

    $$ X_0 \sim \nu, \qquad P[X_{n+1} = j \mid X_n = i] = (A_n)_{ij} $$

    >>> flip, stay = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.eye(2)
    >>> sample_paths(torch.tensor([1.0, 0.0]), [flip, stay, flip])
    tensor([[0, 1, 1, 0]])
    """
    start = distribution(start, "start")
    path = [torch.multinomial(start.expand(paths, -1), 1, generator=generator)]
    for transition in _checked(transitions, len(start)):
        path.append(torch.multinomial(transition[path[-1].squeeze(1)], 1, generator=generator))
    return torch.cat(path, 1)


def _checked(transitions: Sequence[Tensor] | Tensor, states: int) -> list[Tensor]:
    """Stochastic matrices between so many states."""
    checked = [tensor(transition) for transition in transitions]
    for number, transition in enumerate(checked):
        check_stochastic(transition, f"transition {number}")
        if len(transition) != states:
            raise GradlabError(
                f"transition {number} is between {len(transition)} states, and the start is over {states}."
            )
    return checked


@takes_arrays
def stationary_laws(transition: Float[Tensor, "states states"]) -> Float[Tensor, "classes states"]:
    r"""The stationary laws: one for each class of states that, once entered, is never left.

    $$ \pi A = \pi, \qquad \sum_i \pi_i = 1 $$

    All others are mixtures of these. With one class the stationary law is unique.

    >>> stationary_laws(torch.tensor([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]]))
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    check_stochastic(transition)
    laws = []
    for members in closed_classes(transition):
        among = transition[members][:, members]
        # πA = π has one equation too many, in whose place their sum is 1.
        equations = (among - torch.eye(len(members)).to(among)).mT.clone()
        equations[-1] = 1.0
        wanted = torch.zeros(len(members)).to(among)
        wanted[-1] = 1.0
        law = torch.zeros(len(transition)).to(among)
        laws.append(law.index_put((torch.tensor(members),), torch.linalg.solve(equations, wanted)))
    return torch.stack(laws)


def closed_classes(transition: Float[Tensor, "states states"]) -> list[list[int]]:
    """States that lead to each other and nowhere else, by classes."""
    reach = (transition > 0) | torch.eye(len(transition), dtype=torch.bool)
    for _ in range(max(1, int(log2(len(transition))) + 1)):
        reach = (reach.double() @ reach.double()) > 0  # ways of twice the length
    both = reach & reach.mT
    classes = dict.fromkeys(tuple(row.nonzero().flatten().tolist()) for row in both)
    return [list(members) for members in classes if bool((reach[members[0]] == both[members[0]]).all())]


class MarkovChain:
    r"""A chain with the same step at all times: row i of the matrix is the law of the state after state i.

    $$ P[X_n = j \mid X_0, \dots, X_{n-1} = i] = A_{ij}, \qquad \sum_j A_{ij} = 1 $$

    `start` is the law of $X_0$, or the state that it is; without it the stationary law, if that is unique.

    >>> weather = MarkovChain([[0.9, 0.1], [0.5, 0.5]], start=1)
    >>> weather.law(2)
    tensor([0.7000, 0.3000], dtype=torch.float64)
    >>> weather.stationary()
    tensor([0.8333, 0.1667], dtype=torch.float64)
    """

    def __init__(self, transition: Any, start: Any = None):
        self.transition = tensor(transition)
        check_stochastic(self.transition)
        self.states = len(self.transition)
        self.start = self.stationary() if start is None else self._law_of(start)

    def _law_of(self, start: Any) -> Tensor:
        if isinstance(start, int):
            if not 0 <= start < self.states:
                raise GradlabError(f"MarkovChain: states are 0 to {self.states - 1}, it cannot start in {start}.")
            return torch.eye(self.states).to(self.transition)[start]
        law = tensor(start).to(self.transition)
        if law.shape != (self.states,):
            raise GradlabError(f"MarkovChain: start must be a state, or a probability for each of {self.states}.")
        return distribution(law, "start")

    def law(self, steps: int) -> Float[Tensor, " states"]:
        r"""Of the state after so many steps, $\nu A^n$."""
        power: Tensor = torch.linalg.matrix_power(self.transition, steps)
        return self.start @ power

    def stationary(self) -> Float[Tensor, " states"]:
        """The one law that a step does not change. Where there are several, `stationary_laws` has them."""
        laws: Tensor = stationary_laws(self.transition)
        if len(laws) > 1:
            where = " and ".join(str(row.nonzero().flatten().tolist()) for row in laws[:3])
            raise GradlabError(
                f"MarkovChain: it has {len(laws)} stationary laws, on the states {where}, which it never leaves. "
                "Say where it starts, or look at all of them: stationary_laws."
            )
        return laws[0]

    def sample(
        self, steps: int, paths: int = 1, generator: torch.Generator | None = None
    ) -> Int[Tensor, "paths times"]:
        """Draws of the states at the times 0 to `steps`."""
        return sample_paths(self.start, self.transition.expand(steps, -1, -1), paths, generator)

    def table(self, steps: int) -> JointTable:
        r"""The joint law of the states $X_0, \dots, X_n$ in all their combinations, for few states and steps.

        $$ P[X_0 = i_0, \dots, X_n = i_n] = \nu_{i_0} A_{i_0 i_1} \cdots A_{i_{n-1} i_n} $$
        """
        if self.states ** (steps + 1) > _MOST_CELLS:
            raise GradlabError(
                f"MarkovChain: a table of {self.states}^{steps + 1} paths is too large. Take fewer steps."
            )
        joint = self.start
        for _ in range(steps):
            joint = joint[..., None] * self.transition
        return JointTable(joint, [f"X{n}" for n in range(steps + 1)])
