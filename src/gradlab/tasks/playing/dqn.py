"""Deep Q-learning."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.data import Acting, Batch, Targets
from gradlab.models.policies import QNetwork
from gradlab.registry import Count, Natural, Probability
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.playing.play import Discount, Play
from gradlab.tasks.playing.replay import Replay
from gradlab.tasks.task import tasks

Size = Annotated[Count, "steps that are remembered"]
Before = Annotated[Natural, "steps at random before the first update"]
Every = Annotated[Count, "steps in the environment between updates"]
Updates = Annotated[Count, "that are then made"]


@tasks.register("dqn")
class DQN(Play):
    r"""The value of an action is what it earns and the value of the best that can follow (Mnih et al. 2015).

    $$ \ell = L\left( r + \gamma (1 - d) \, \bar Q(s', \arg\max_a Q(s', a)) - Q(s, a) \right) $$

    Q̄ is the copy that lags behind. With `double` the action is chosen by Q and valued by Q̄ (van Hasselt et al. 2016),
    otherwise both by Q̄. r is the discounted sum of the next `steps` rewards. L is Huber's loss. With a `priority`,
    steps are drawn by how wrong their values were (Schaul et al. 2016). While training, actions are random with a
    probability that falls to `random`.
    """

    model_kind = QNetwork
    model_name: ClassVar[str] = "q-network"

    def __init__(
        self,
        targets: Targets,
        *,
        discount: Discount = 0.99,
        double: Annotated[bool, "choose the next action by Q, value it by its copy"] = True,
        steps: Annotated[Count, "rewards that are added up before values are believed"] = 1,
        priority: Annotated[Probability, "power of the error by which steps are drawn; 0: all alike"] = 0.0,
        correction: Annotated[Probability, "how much that is corrected for at first; at the end in full"] = 0.4,
        size: Size = 100_000,
        before: Before = 1000,
        every: Every = 4,
        updates: Updates = 1,
        random: Annotated[Probability, "share of random actions in the end"] = 0.05,
        falls: Annotated[Probability, "part of the training over which that share falls from 1"] = 0.1,
    ):
        super().__init__(targets)
        self.discount, self.double, self.steps = discount, double, steps
        self.priority, self.correction = priority, correction
        self.size, self.before, self.every, self.updates = size, before, every, updates
        self.random, self.falls = random, falls
        self.replay: Replay | None = None

    def stream(self, acting: Acting) -> Replay:
        self.replay = Replay(
            acting,
            self.act,
            discount=self.discount,
            steps=self.steps,
            size=min(self.size, acting.steps),
            before=self.before,
            every=self.every,
            updates=self.updates,
            priority=self.priority,
            correction=self.correction,
        )
        return self.replay

    def act(self, model: QNetwork, observations: Tensor, share: float) -> Tensor:
        """Mostly the best action, now and then any."""
        chance = max(self.random, 1 - (1 - self.random) * share / self.falls) if self.falls else self.random
        if len(observations) == 1 and torch.rand(()).item() < chance:  # no network is asked then
            return torch.randint(model.actions.count, (1,))  # type: ignore[union-attr]
        best: Tensor = model(observations).argmax(-1)
        if len(observations) == 1:
            return best
        anything = torch.randint_like(best, model.actions.count)  # type: ignore[union-attr]
        return torch.where(torch.rand(best.shape, device=best.device) < chance, anything, best)

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self.loss, moves="online")}

    def loss(self, model: QNetwork, batch: Batch) -> Loss:
        with torch.no_grad():
            later = model.later(batch["next_observations"])
            chosen = (model(batch["next_observations"]) if self.double else later).argmax(-1, keepdim=True)
            target = batch["rewards"] + batch["discounts"] * later.gather(-1, chosen).squeeze(-1)
        values = model(batch["observations"]).gather(-1, batch["actions"].unsqueeze(-1)).squeeze(-1)
        if "weights" not in batch:
            return F.smooth_l1_loss(values, target, reduction="sum"), len(target)
        if self.replay is not None:
            self.replay.set_priorities(batch["rows"], target - values)
        return (batch["weights"] * F.smooth_l1_loss(values, target, reduction="none")).sum(), len(target)
