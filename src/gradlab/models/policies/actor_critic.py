"""An actor, which says what to do, and a critic, which says what will come of it."""

from torch import Tensor, nn

from gradlab.models.policies.policy import Activation, Choice, Gauss, Hidden, Normalise, Policy
from gradlab.models.registry import models
from gradlab.registry import Part
from gradlab.specs import Discrete, Environment


class ActorCritic(Policy):
    r"""Two networks of an observation s: outputs of the policy, and its value.

    $$ \pi(a \mid s) = \mathrm{softmax}(f(s))_a \ \text{or} \ \mathcal{N}(a; f(s), \sigma^2), \qquad V(s) $$
    """

    def __init__(self, inputs: Environment, hidden: list[int], activation: Part, normalise: bool):
        super().__init__(inputs, normalise)
        self.distribution: Choice | Gauss = (
            Choice(inputs.actions) if isinstance(inputs.actions, Discrete) else Gauss(inputs.actions)
        )
        self.actor = self.network(hidden, activation, self.distribution.outputs, gain=0.01)
        self.critic = self.network(hidden, activation, 1, gain=1.0)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.observation(observations)
        return self.actor(seen), self.critic(seen).squeeze(-1)

    def outputs(self, observations: Tensor) -> Tensor:
        """Of the policy alone."""
        outputs: Tensor = self.actor(self.observation(observations))
        return outputs

    def act(self, observations: Tensor, greedy: bool = True) -> Tensor:
        outputs, distribution = self.outputs(observations), self.distribution
        return distribution.mode(outputs) if greedy else distribution.draw(outputs, distribution.noise(len(outputs)))

    def value(self, observations: Tensor) -> Tensor:
        value: Tensor = self.critic(self.observation(observations)).squeeze(-1)
        return value


@models.register("actor-critic")
def actor_critic(
    inputs: Environment,
    outputs: int,
    *,
    hidden: Hidden = [64, 64],  # noqa: B006
    activation: Activation = Part("tanh"),  # noqa: B008
    normalise: Normalise = False,
) -> nn.Module:
    """A network that chooses actions and another that values states, for REINFORCE, A2C and PPO."""
    return ActorCritic(inputs, hidden, activation, normalise)
