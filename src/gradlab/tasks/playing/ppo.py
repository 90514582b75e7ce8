"""Proximal policy optimisation."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gradlab.data import Acting, Batch, Targets
from gradlab.models.policies import ActorCritic
from gradlab.registry import Count, NonNegative, Positive, Probability
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.playing.play import Discount, Play
from gradlab.tasks.playing.rollouts import Rollouts, advantages
from gradlab.tasks.task import tasks

Decay = Annotated[Probability, "λ of generalised advantages: 0 trusts the values, 1 the rewards alone"]
Length = Annotated[Count, "steps of each copy in a round, after which the policy is changed"]
Entropy = Annotated[NonNegative, "how much the entropy of the policy counts"]
Value = Annotated[NonNegative, "how much the error of the values counts"]


def standardised(advantages: Tensor) -> Tensor:
    """In units of their own spread, so that the rate need not know that of rewards."""
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8) if len(advantages) > 1 else advantages


@tasks.register("ppo")
class PPO(Play):
    r"""Steps that stay near the policy that acted (Schulman et al. 2017, arXiv:1707.06347).

    $$ \rho = \frac{\pi(a \mid s)}{\pi_\mathrm{old}(a \mid s)}, \qquad
       \ell = -\min(\rho A, \mathrm{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon) A) + c_v (V - R)^2 - c_e H(\pi) $$

    A are generalised advantages, in each minibatch in units of their spread, and R = A + V.
    """

    model_kind = ActorCritic
    model_name: ClassVar[str] = "actor-critic"

    def __init__(
        self,
        targets: Targets,
        *,
        discount: Discount = 0.99,
        decay: Decay = 0.95,
        length: Length = 128,
        passes: Annotated[Count, "over the steps of a round"] = 10,
        clip: Annotated[Positive, "ε: how far the probability of an action may move in a round"] = 0.2,
        value: Value = 0.5,
        entropy: Entropy = 0.0,
    ):
        super().__init__(targets)
        self.discount, self.decay, self.length, self.passes = discount, decay, length, passes
        self.clip, self.value, self.entropy = clip, value, entropy

    def stream(self, acting: Acting) -> Rollouts:
        return Rollouts(acting, advantages(self.discount, self.decay), length=self.length, passes=self.passes)

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self.loss)}

    def loss(self, model: ActorCritic, batch: Batch) -> Mapping[str, Loss]:
        outputs, values = model(batch["observations"])
        log_probs = model.distribution.log_prob(outputs, batch["actions"])
        better, count = standardised(batch["advantages"]), len(values)
        ratio = (log_probs - batch["log_probs"]).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        policy = -torch.minimum(ratio * better, clipped * better).sum()
        error = (values - batch["returns"]).square().sum()
        losses: dict[str, Loss] = {"policy_loss": (policy, count), "value_loss": (self.value * error, count)}
        if self.entropy:
            losses["entropy_bonus"] = -self.entropy * model.distribution.entropy(outputs).sum(), count
        return losses
