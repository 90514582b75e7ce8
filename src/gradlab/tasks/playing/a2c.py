"""Advantage actor-critic."""

from collections.abc import Mapping
from typing import ClassVar

from gradlab.data import Acting, Batch, Targets
from gradlab.maths.returns import policy_gradient
from gradlab.models.policies import ActorCritic
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.playing.play import Discount, Play
from gradlab.tasks.playing.ppo import Decay, Entropy, Length, Value
from gradlab.tasks.playing.rollouts import Rollouts, advantages
from gradlab.tasks.task import tasks


@tasks.register("a2c")
class A2C(Play):
    r"""One step up the gradient of the return after a few steps in each copy (Mnih et al. 2016, arXiv:1602.01783).

    $$ \ell = -\log \pi(a \mid s) \, A + c_v (V - R)^2 - c_e H(\pi) $$

    A are generalised advantages and R = A + V; with λ = 1 they are those of n steps.
    """

    model_kind = ActorCritic
    model_name: ClassVar[str] = "actor-critic"

    def __init__(
        self,
        targets: Targets,
        *,
        discount: Discount = 0.99,
        decay: Decay = 1.0,
        length: Length = 8,
        value: Value = 0.5,
        entropy: Entropy = 0.0,
    ):
        super().__init__(targets)
        self.discount, self.decay, self.length, self.value, self.entropy = discount, decay, length, value, entropy

    def stream(self, acting: Acting) -> Rollouts:
        return Rollouts(acting, advantages(self.discount, self.decay), length=self.length)

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self.loss)}

    def loss(self, model: ActorCritic, batch: Batch) -> Mapping[str, Loss]:
        outputs, values = model(batch["observations"])
        log_probs = model.distribution.log_prob(outputs, batch["actions"])
        error, count = (values - batch["returns"]).square().sum(), len(values)
        losses: dict[str, Loss] = {
            "policy_loss": (policy_gradient(log_probs, batch["advantages"]), count),
            "value_loss": (self.value * error, count),
        }
        if self.entropy:
            losses["entropy_bonus"] = -self.entropy * model.distribution.entropy(outputs).sum(), count
        return losses
