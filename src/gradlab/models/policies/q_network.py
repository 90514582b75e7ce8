"""The values of actions, and a copy of them that lags behind, from which targets are made."""

import copy
from typing import Annotated

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.policies.policy import Activation, Hidden, Normalise, Policy
from gradlab.models.registry import models
from gradlab.registry import Count, Part
from gradlab.specs import Discrete, Environment


class Dueling(nn.Module):
    r"""The value of a state, and how much better each action is than the mean of all (Wang et al. 2016).

    $$ Q(s, a) = V(s) + A(s, a) - \frac{1}{n} \sum_b A(s, b) $$
    """

    def __init__(self, value: nn.Module, advantages: nn.Module):
        super().__init__()
        self.value, self.advantages = value, advantages

    def forward(self, x: Tensor) -> Tensor:
        advantages = self.advantages(x)
        q: Tensor = self.value(x) + advantages - advantages.mean(-1, keepdim=True)
        return q


class QNetwork(Policy):
    """Q(s, a) for every action a: online, which learns, and target, which is copied from it now and then."""

    updates: Tensor

    def __init__(
        self, inputs: Environment, hidden: list[int], activation: Part, dueling: bool, normalise: bool, copy_every: int
    ):
        super().__init__(inputs, normalise)
        if not isinstance(inputs.actions, Discrete):
            raise GradlabError(
                f"model=q-network chooses one of a few actions, but here an action is {inputs.actions}. Take the "
                "recipe sac or ppo."
            )
        actions = inputs.actions.count
        if dueling:
            self.online: nn.Module = Dueling(
                self.network(hidden, activation, 1), self.network(hidden, activation, actions)
            )
        else:
            self.online = self.network(hidden, activation, actions)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.copy_every = copy_every
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    def forward(self, observations: Tensor) -> Tensor:
        q: Tensor = self.online(self.observation(observations))
        return q

    def later(self, observations: Tensor) -> Tensor:
        """By the target."""
        q: Tensor = self.target(self.observation(observations))
        return q

    def act(self, observations: Tensor, greedy: bool = True) -> Tensor:
        best: Tensor = self(observations).argmax(-1)
        return best

    def value(self, observations: Tensor) -> Tensor:
        value: Tensor = self(observations).amax(-1)
        return value

    @torch.no_grad()
    def advance(self, skip: Tensor | None) -> None:
        """After each update."""
        self.updates += 1
        if self.updates % self.copy_every == 0:
            torch._foreach_copy_(list(self.target.parameters()), list(self.online.parameters()))


@models.register("q-network")
def q_network(
    inputs: Environment,
    outputs: int,
    *,
    hidden: Hidden = [64, 64],  # noqa: B006
    activation: Activation = Part("relu"),  # noqa: B008
    dueling: Annotated[bool, "the value of a state apart from the advantages of actions"] = False,
    normalise: Normalise = False,
    copy_every: Annotated[Count, "updates between two copies to the target network"] = 500,
) -> nn.Module:
    """The value of each action, for DQN."""
    return QNetwork(inputs, hidden, activation, dueling, normalise, copy_every)
