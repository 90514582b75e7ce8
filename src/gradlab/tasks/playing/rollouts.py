"""The stream of methods that learn from what the policy of the moment does: it acts, is learned from, and forgotten."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.data import Acting, Batch, Stream
from gradlab.errors import GradlabError
from gradlab.maths.returns import generalised_advantages
from gradlab.models.policies import ActorCritic
from gradlab.tasks.playing.play import Ongoing, updates_of

Credit = Callable[[Batch, Tensor], dict[str, Tensor]]
"""From a rollout, with axes for time and copies, and the values of what each step led to: `advantages` and `returns`,
and `weights` of 0 for steps that cannot be learned from."""


def advantages(discount: float, decay: float) -> Credit:
    """Generalised advantages A, and the returns A + V that values learn from."""

    def credit(rollout: Batch, next_values: Tensor) -> dict[str, Tensor]:
        values, over = rollout["values"], rollout["over"]
        better = generalised_advantages(rollout["rewards"], values, next_values, over, discount, decay)
        return {"advantages": better, "returns": better + values}

    return credit


class Rollouts(Stream):
    """Rounds: `length` steps in each copy, then `passes` over them in minibatches."""

    model: ActorCritic

    def __init__(self, acting: Acting, credit: Credit, *, length: int, passes: int = 1, restart: bool = False):
        """With `restart` each round begins new episodes."""
        self.acting, self.credit, self.length, self.passes, self.restart = acting, credit, length, passes, restart
        self.rows = length * acting.copies
        self.batch: Batch = {}
        self.order = torch.empty(0, dtype=torch.int64)
        self.measured: dict[str, float] = {}
        self.batch_size, self.seed = self.rows, 0
        self._count()

    def planned(self, batch_size: int | str, seed: int) -> "Rollouts":
        self.batch_size = self.rows if isinstance(batch_size, str) else min(batch_size, self.rows)
        self.seed = self.acting.seed_of(seed)
        if self.rows % self.batch_size:
            raise GradlabError(
                f"train.batch_size={batch_size} does not divide the {self.rows:,} steps of a round: "
                f"{self.length} in each of {self.acting.copies} copies. Set train.batch_size=full or a divisor."
            )
        self._count()
        return self

    def _count(self) -> None:
        self.pieces = self.rows // self.batch_size
        self.updates = self.passes * self.pieces  # of a round
        self.steps_per_epoch = updates_of(self.acting, self.rows, self.updates)

    def start(self, model: Any) -> None:
        self.model = model
        self.ongoing = Ongoing(self.acting)

    def batches(self, step: int) -> Iterator[Batch]:
        while True:
            number, position = divmod(step, self.updates)
            if position == 0:
                self._gather(number)
            if position % self.pieces == 0:
                self.order = torch.randperm(self.rows) if self.pieces > 1 else torch.arange(self.rows)
            rest = self.order[position % self.pieces * self.batch_size :].to(self.device)
            # Put in order once for a pass, of which the minibatches are then parts.
            parts = [part.index_select(0, rest).split(self.batch_size) for part in self.batch.values()]
            for minibatch in zip(*parts, strict=True):
                yield dict(zip(self.batch, minibatch, strict=True))
                step += 1

    def _gather(self, number: int) -> None:
        """Act, and say what each action deserves."""
        if number == 0 or self.restart:
            self.ongoing.begin(self.seed + number * self.acting.copies)
        if self.batch:
            self.model.observation.update(self.batch["observations"])
        with torch.inference_mode():
            rollout, next_values = self._act()
            credit = self.credit(rollout, next_values)
            self.measured = {
                "entropy": rollout.pop("entropies").mean().item(),
                "value_error": (credit["returns"] - rollout["values"]).square().mean().item(),
            }
        self.batch = {name: part.clone().flatten(0, 1) for name, part in {**rollout, **credit}.items()}

    def _act(self) -> tuple[dict[str, Tensor], Tensor]:
        model, distribution, ongoing, n = self.model, self.model.distribution, self.ongoing, self.acting.copies
        noise = distribution.noise(self.length, n).to(self.device)
        observed, outputs, actions, rewards, over = (list[Tensor]() for _ in range(5))
        finals: list[tuple[int, Any]] = []
        for t in range(self.length):
            x = torch.as_tensor(ongoing.observed, device=self.device)
            output = model.outputs(x)
            action = distribution.draw(output, noise[t])
            step = ongoing.step(action)
            for rows, row in ((observed, x), (outputs, output), (actions, action)):
                rows.append(row)
            rewards.append(torch.from_numpy(step.rewards))
            over.append(torch.from_numpy(step.over))
            if step.truncated.any():
                finals += [(t * n + i, step.final_observations[i]) for i in step.truncated.nonzero()[0].tolist()]
        after = model.value(torch.as_tensor(ongoing.observed, device=self.device))
        stacked = [torch.stack(rows) for rows in (observed, outputs, actions)]
        rollout = dict(zip(("observations", "outputs", "actions"), stacked, strict=True))
        # All at once, since no action depends on them.
        rollout["values"] = model.value(rollout["observations"].flatten(0, 1)).view(self.length, n)
        rollout["rewards"] = torch.stack(rewards).to(rollout["values"])
        rollout["over"] = torch.stack(over).to(rollout["values"])
        rollout["entropies"] = distribution.entropy(rollout["outputs"])
        rollout["log_probs"] = distribution.log_prob(rollout.pop("outputs"), rollout["actions"])
        # After an end nothing comes; what was only cut off by a limit of time would have gone on.
        next_values = torch.cat([rollout["values"][1:], after[None]]) * (1 - rollout["over"])
        if finals:
            places, last = zip(*finals, strict=True)
            seen = torch.as_tensor(np.stack(last), device=self.device)
            next_values.view(-1)[list(places)] = model.value(seen)
        return rollout, next_values

    def figures(self) -> dict[str, float]:
        """How far the policy has moved from the one that acted: the mean of ρ − 1 − log ρ, ρ = π / π_old.

        The mean of −log ρ is the same on average, but of a sample it can be negative.
        """
        figures = {**self.ongoing.figures(), **self.measured}
        if self.batch:
            with torch.no_grad():
                outputs, _ = self.model(self.batch["observations"])
                log_ratio = self.model.distribution.log_prob(outputs, self.batch["actions"]) - self.batch["log_probs"]
                figures["kl"] = (log_ratio.exp() - 1 - log_ratio).mean().item()
        return figures

    def snapshot(self) -> dict[str, Any]:
        if not self.batch:
            return {}
        kept = {"batch": dict(self.batch), "order": self.order, "measured": dict(self.measured)}
        return {**kept, "ongoing": self.ongoing.snapshot()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        if snapshot:
            self.batch = {name: part.to(self.device) for name, part in snapshot["batch"].items()}
            self.order, self.measured = snapshot["order"], dict(snapshot["measured"])
            self.ongoing.restore(snapshot["ongoing"], self.seed)
