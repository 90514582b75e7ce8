"""Soft actor-critic."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gradlab.data import Acting, Batch, Targets
from gradlab.models.policies import SoftActorCritic
from gradlab.registry import Finite
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.playing.dqn import Before, Every, Size, Updates
from gradlab.tasks.playing.play import Discount, Play
from gradlab.tasks.playing.replay import Replay
from gradlab.tasks.task import tasks


@tasks.register("sac")
class SAC(Play):
    r"""Rewards, and the entropy of the policy, are to be large (Haarnoja et al. 2018, arXiv:1812.05905).

    $$ y = r + \gamma (1 - d) \left( \min_i \bar Q_i(s', a') - \alpha \log \pi(a' \mid s') \right), \qquad
       \ell_Q = \tfrac{1}{2} \sum_i (Q_i(s, a) - y)^2 $$
    $$ \ell_\pi = \alpha \log \pi(a \mid s) - \min_i Q_i(s, a), \qquad
       \ell_\alpha = -\log \alpha \, (\log \pi(a \mid s) + \bar H) $$

    a and a' are drawn anew. α follows, so that the entropy is about H̄: by default minus the numbers of an action.
    """

    model_kind = SoftActorCritic
    model_name: ClassVar[str] = "soft-actor-critic"

    def __init__(
        self,
        targets: Targets,
        *,
        discount: Discount = 0.99,
        entropy: Annotated[Finite | None, "what the policy should have; default minus the numbers of an action"] = None,
        size: Size = 100_000,
        before: Before = 100,
        every: Every = 1,
        updates: Updates = 1,
    ):
        super().__init__(targets)
        self.discount, self.entropy, self.size, self.before = discount, entropy, size, before
        self.every, self.updates = every, updates

    def stream(self, acting: Acting) -> Replay:
        return Replay(
            acting,
            self.act,
            discount=self.discount,
            size=min(self.size, acting.steps),
            before=self.before,
            every=self.every,
            updates=self.updates,
            measure=self.measure,
        )

    def act(self, model: SoftActorCritic, observations: Tensor, share: float) -> Tensor:
        return model.draw(observations)[0].tanh()

    def measure(self, model: SoftActorCritic) -> dict[str, float]:
        """The entropy of the policy where the last batch has been, and α, which weighs it."""
        return {"entropy": -self.log_probs.mean().item(), "temperature": model.log_alpha.exp().item()}

    def objectives(self) -> Mapping[str, Objective]:
        return {
            "critic": Objective(loss=self.critic, moves="critics"),
            "actor": Objective(loss=self.actor, moves="actor"),
            "alpha": Objective(loss=self.alpha, moves="log_alpha"),
        }

    def critic(self, model: SoftActorCritic, batch: Batch) -> Loss:
        with torch.no_grad():
            actions, log_probs = model(batch["next_observations"])
            later = torch.minimum(*model.values(batch["next_observations"], actions, later=True))
            target = batch["rewards"] + batch["discounts"] * (later - model.log_alpha.exp() * log_probs)
        first, second = model.values(batch["observations"], batch["actions"])
        return 0.5 * ((first - target).square() + (second - target).square()).sum(), len(target)

    def actor(self, model: SoftActorCritic, batch: Batch) -> Loss:
        actions, log_probs = model(batch["observations"])
        self.log_probs = log_probs.detach()
        values = torch.minimum(*model.values(batch["observations"], actions))
        return (model.log_alpha.detach().exp() * log_probs - values).sum(), len(values)

    def alpha(self, model: SoftActorCritic, batch: Batch) -> Loss:
        """By the actions that the actor has just drawn."""
        wanted = -model.actions_size if self.entropy is None else self.entropy
        return -(model.log_alpha * (self.log_probs + wanted)).sum(), len(self.log_probs)
