"""The value of each action in each state, as a table."""

from collections.abc import Mapping
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.models.policies.policy import Policy
from gradlab.registry import Probability
from gradlab.specs import Discrete, Environment

Batch = Mapping[str, Tensor]
Power = Annotated[Probability, "the n-th visit counts 1/n^power: 1 is the mean of all visits, less forgets the first"]


class ValueTable(Policy):
    """Acts by the highest value, of equal ones by any."""

    q: Tensor

    def __init__(self, inputs: Environment):
        if not isinstance(inputs.observation, Discrete) or not isinstance(inputs.actions, Discrete):
            raise GradlabError(
                f"A table has a row for each state and a column for each action, but these are {inputs}. "
                "Take the recipe dqn or ppo, or an environment with numbered states, such as data.env=grid."
            )
        super().__init__(inputs, normalise=False)
        states, actions = inputs.observation.count, inputs.actions.count
        self.register_buffer("q", torch.zeros(states, actions, dtype=torch.float64))

    def forward(self, observations: Int[Tensor, " batch"]) -> Float[Tensor, "batch actions"]:
        return self.q[observations]

    def act(self, observations: Int[Tensor, " batch"], greedy: bool = True) -> Int[Tensor, " batch"]:
        best: Tensor = self(observations).argmax(-1)
        return best

    def value(self, observations: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        value: Tensor = self(observations).amax(-1)
        return value

    def extra_repr(self) -> str:
        return f"{self.q.shape[0]} states, {self.q.shape[1]} actions"


class Learner(ValueTable):
    r"""Moves values toward targets, less and less with each visit of a state and an action.

    $$ Q(s, a) \leftarrow Q(s, a) + \frac{1}{n(s, a)^\omega} \bigl( y - Q(s, a) \bigr) $$
    """

    visits: Tensor

    def __init__(self, inputs: Environment, power: float):
        super().__init__(inputs)
        self.power = power
        self.register_buffer("visits", torch.zeros_like(self.q))

    def move(
        self, states: Int[Tensor, " steps"], actions: Int[Tensor, " steps"], targets: Float[Tensor, " steps"]
    ) -> None:
        """Visits of the same state and action at the same time are one, with the mean of their targets."""
        place, total = states * self.q.shape[1] + actions, torch.zeros_like(self.q).flatten()
        count = torch.bincount(place, minlength=len(total))
        total.index_add_(0, place, targets.to(total))
        met = count.nonzero().squeeze(1)
        q, visits = self.q.view(-1), self.visits.view(-1)
        visits[met] += 1
        q[met] += visits[met] ** -self.power * (total[met] / count[met] - q[met])
