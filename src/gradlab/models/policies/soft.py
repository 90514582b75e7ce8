"""Soft actor-critic: a policy that is squashed into its bounds, and two critics with their slow copies."""

import copy
import math
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Gt, Le
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.policies.policy import Activation, Hidden, Normalise, Policy
from gradlab.models.registry import models
from gradlab.registry import Part, Positive
from gradlab.specs import Box, Environment

_LOG_STD = -20.0, 2.0


class SoftActorCritic(Policy):
    r"""A policy whose actions are squashed numbers u, and two critics, of which the lower is believed.

    $$ u \sim \mathcal{N}(\mu(s), \sigma(s)^2), \qquad a = \tanh u, \qquad Q(s, a) = \min(Q_1, Q_2) $$

    Actions are within ±1 here; `act` has them in the bounds of the environment.
    """

    low: Tensor
    span: Tensor

    def __init__(
        self, inputs: Environment, hidden: list[int], activation: Part, normalise: bool, alpha: float, follow: float
    ):
        super().__init__(inputs, normalise)
        if not isinstance(inputs.actions, Box):
            raise GradlabError(
                "model=soft-actor-critic acts by numbers within bounds, but here an action is one of "
                f"{inputs.actions.count}. Take the recipe dqn or ppo."
            )
        low, high = torch.tensor(inputs.actions.low), torch.tensor(inputs.actions.high)
        self.register_buffer("low", low)
        self.register_buffer("span", (high - low) / 2)
        size = self.actions_size = len(low)
        self.actor = self.network(hidden, activation, 2 * size)
        self.critics = nn.ModuleList([self.network(hidden, activation, 1, beside=size) for _ in range(2)])
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        # Listed once: to walk through modules takes longer than to move their weights.
        self.slow: list[Tensor] = list(self.targets.parameters())
        self.fast: list[Tensor] = list(self.critics.parameters())
        self.log_alpha = nn.Parameter(torch.tensor(math.log(alpha)))
        self.follow = follow

    def draw(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u for each observation, with log σ and the noise that it was made of."""
        mean, log_std = self.actor(self.observation(observations)).chunk(2, -1)
        log_std = log_std.clamp(*_LOG_STD)
        noise = torch.randn_like(mean)
        return mean + log_std.exp() * noise, log_std, noise

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Actions within ±1 that are drawn, and log π of each."""
        before, log_std, noise = self.draw(observations)
        normal = -0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)
        # log |da/du| = log(1 - tanh² u), in a form that does not overflow.
        squashed = 2 * (math.log(2) - before - F.softplus(-2 * before))
        return before.tanh(), (normal - squashed).sum(-1)

    def values(self, observations: Tensor, actions: Tensor, later: bool = False) -> tuple[Tensor, Tensor]:
        """By both critics, or by their slow copies."""
        x = torch.cat([self.observation(observations), actions], -1)
        first, second = self.targets if later else self.critics
        return first(x).squeeze(-1), second(x).squeeze(-1)

    def act(self, observations: Tensor, greedy: bool = True) -> Tensor:
        if greedy:
            return self.in_units(self.actor(self.observation(observations)).chunk(2, -1)[0].tanh())
        return self.in_units(self.draw(observations)[0].tanh())

    def in_units(self, actions: Tensor) -> Tensor:
        """From ±1 to the bounds of the environment."""
        return self.low + self.span * (actions + 1)

    def value(self, observations: Tensor) -> Tensor:
        best = self.actor(self.observation(observations)).chunk(2, -1)[0].tanh()
        return torch.minimum(*self.values(observations, best))

    @torch.no_grad()
    def advance(self, skip: Tensor | None) -> None:
        """After each update the slow copies follow a little."""
        torch._foreach_lerp_(self.slow, self.fast, self.follow)


@models.register("soft-actor-critic")
def soft_actor_critic(
    inputs: Environment,
    outputs: int,
    *,
    hidden: Hidden = [256, 256],  # noqa: B006
    activation: Activation = Part("relu"),  # noqa: B008
    normalise: Normalise = False,
    alpha: Annotated[Positive, "how much entropy counts at first"] = 1.0,
    follow: Annotated[float, Gt(0), Le(1), "how far the slow critics go towards the others in an update"] = 0.005,
) -> nn.Module:
    """A policy of numbers within bounds and two critics, for SAC."""
    return SoftActorCritic(inputs, hidden, activation, normalise, alpha, follow)
