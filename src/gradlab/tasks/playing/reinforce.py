"""REINFORCE: the gradient of the return, from whole episodes."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gradlab.data import Acting, Batch, Targets
from gradlab.errors import GradlabError
from gradlab.maths.returns import discounted_returns, policy_gradient
from gradlab.models.policies import ActorCritic
from gradlab.registry import Count
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.playing.play import Discount, Play
from gradlab.tasks.playing.ppo import standardised
from gradlab.tasks.playing.rollouts import Rollouts
from gradlab.tasks.task import tasks


@tasks.register("reinforce")
class Reinforce(Play):
    r"""Actions become likelier by what came after them (Williams 1992).

    $$ \ell = -\log \pi(a_t \mid s_t) \, (G_t - b(s_t)), \qquad G_t = \sum_{k \ge t} \gamma^{k - t} r_k $$

    With `baseline`, b is a value that is learned beside, by (G − b)²; otherwise it is 0, which is right on average too,
    but varies more. Each round begins new episodes in all copies; steps of one that is not over at its end are left
    out, so that `length` should be at least that of an episode.
    """

    model_kind = ActorCritic
    model_name: ClassVar[str] = "actor-critic"

    def __init__(
        self,
        targets: Targets,
        *,
        discount: Discount = 0.99,
        baseline: Annotated[bool, "subtract a value of the state, which is learned beside"] = True,
        length: Annotated[Count, "steps of each copy in a round"] = 500,
    ):
        super().__init__(targets)
        self.discount, self.baseline, self.length = discount, baseline, length

    def stream(self, acting: Acting) -> Rollouts:
        return Rollouts(acting, self.credit, length=self.length, restart=True)

    def credit(self, rollout: Batch, next_values: Tensor) -> dict[str, Tensor]:
        """Whether a step's episode is over by the end of the round is seen from behind."""
        over = rollout["over"]
        whole = over.flip(0).cumsum(0).flip(0).clamp(max=1)
        if not whole.any():
            raise GradlabError(
                f"No episode was over within task.length={self.length} steps, so that no return is known. Raise it, "
                "or take the recipe a2c or ppo, which need no whole episodes."
            )
        # A limit of time stands in for the end: returns of what was cut off are of what was seen.
        returns = discounted_returns(rollout["rewards"], self.discount, over)
        advantages = returns - rollout["values"] if self.baseline else returns
        return {"advantages": advantages, "returns": returns, "weights": whole}

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self.loss)}

    def loss(self, model: ActorCritic, batch: Batch) -> Mapping[str, Loss]:
        known = batch["weights"] > 0
        outputs, values = model(batch["observations"][known])
        log_probs = model.distribution.log_prob(outputs, batch["actions"][known])
        advantages, count = batch["advantages"][known], len(values)
        advantages = standardised(advantages) if self.baseline else advantages
        losses: dict[str, Loss] = {"policy_loss": (policy_gradient(log_probs, advantages), count)}
        if self.baseline:
            losses["value_loss"] = torch.square(values - batch["returns"][known]).sum(), count
        return losses
