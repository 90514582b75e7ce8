"""What all tasks that act have in common: they are judged by playing."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.data import Acting, Episodes, Stream, Targets
from gradlab.environments.environment import check_observations, check_step
from gradlab.errors import GradlabError, notice
from gradlab.models.policies import Policy
from gradlab.models.policies.policy import in_bounds
from gradlab.registry import Probability
from gradlab.specs import Discrete, Environment
from gradlab.tasks.task import Criterion, Figures, Task
from gradlab.wording import counted

Discount = Annotated[Probability, "how much less a reward counts for each step that it comes later"]

_TOGETHER = 100  # episodes
LONGEST = 100_000  # steps of an episode that has no limit of its own


class Play(Task):
    """To act in an environment so that the sum of the rewards is large.

    Figures are of greedy actions in episodes from seeds that were not trained on: `return`, the mean sum of rewards,
    its spread over episodes `return_std`, and `episode_length`.
    """

    wants = "environment"
    criterion = Criterion("return", higher_is_better=True)
    sections: ClassVar[tuple[str, ...]] = ("playing",)
    loss_floor: ClassVar[float | None] = None
    instead: ClassVar[str] = "acts in an environment: see its report.html, or gradlab play."
    model_kind: ClassVar[type[Policy]]
    """Which models can learn it."""
    model_name: ClassVar[str]
    use: ClassVar[str] = "play"

    def __init__(self, targets: Targets):
        super().__init__(targets)

    @property
    def figure_names(self) -> list[str]:
        return ["return", "return_std", "episode_length"]

    def stream(self, acting: Acting) -> Stream:
        """Where batches come from: by acting."""
        raise NotImplementedError

    def encoded(self, split: Any) -> Any:
        if isinstance(split, Acting):
            return self.stream(split)
        if not isinstance(split, Episodes):
            raise GradlabError("This task acts in an environment. Set data=environment data.env=CartPole-v1")
        return split

    def check(self, model: nn.Module, train: Any) -> None:
        if not isinstance(model, self.model_kind):
            raise GradlabError(f"task={type(self).__name__.lower()} needs model={self.model_name}.")

    def evaluate(self, model: nn.Module, split: Episodes) -> Figures:
        returns, lengths = played(model, split)
        spread = float(returns.std(ddof=1)) if len(returns) > 1 else 0.0
        return {"return": float(returns.mean()), "return_std": spread, "episode_length": float(lengths.mean())}

    def baselines(self, train: Any, model: nn.Module) -> Mapping[str, nn.Module]:
        return {"random actions": RandomPolicy(model.inputs)}  # type: ignore[arg-type]


class RandomPolicy(Policy):
    """Any action, whatever is observed."""

    def __init__(self, inputs: Environment):
        super().__init__(inputs, normalise=False)

    def act(self, observations: Tensor, greedy: bool = True) -> Tensor:
        count = len(observations)
        if isinstance(self.actions, Discrete):
            return torch.randint(self.actions.count, (count,))
        low, high = torch.tensor(self.actions.low), torch.tensor(self.actions.high)
        return low + (high - low) * torch.rand(count, len(low))


def played(model: Any, episodes: Episodes, seen: list[Any] | None = None) -> tuple[Any, Any]:
    """The sum of rewards, and the steps, of each episode; what is observed meanwhile is added to `seen`."""
    returns, lengths = np.zeros(len(episodes)), np.zeros(len(episodes))
    device = next(model.parameters(), torch.zeros(())).device
    for first in range(0, len(episodes), _TOGETHER):
        rows = slice(first, min(first + _TOGETHER, len(episodes)))
        copies = episodes.open(rows.stop - rows.start)
        observed, open_ones = copies.reset(episodes.seed + first), np.ones(copies.num, bool)
        for _ in range(LONGEST):
            if seen is not None:
                seen.append(observed[open_ones])
            actions = model.act(torch.as_tensor(observed, device=device))
            step = check_step(copies.step(in_bounds(actions, copies.actions)), episodes.env.name)
            returns[rows] += step.rewards * open_ones
            lengths[rows] += open_ones
            open_ones &= ~step.over
            if not open_ones.any():
                break
            observed = step.observations
        copies.close()
    return returns, lengths


class Ongoing:
    """Copies in which a training acts: what is observed now, and how the episodes that are over went."""

    def __init__(self, acting: Acting):
        self.environments, self.name = acting.open(), acting.env.name
        self.sums, self.lengths = np.zeros(acting.copies), np.zeros(acting.copies)
        self.over: list[tuple[float, float]] = []
        """Sum of rewards and steps of each episode since the last log line."""

    def begin(self, seed: int) -> None:
        self.observed = check_observations(self.environments.reset(seed), self.name)
        self.sums[:], self.lengths[:] = 0, 0

    def step(self, actions: Tensor) -> Any:
        step = self.environments.step(in_bounds(actions, self.environments.actions))
        check_step(step, self.name)
        self.sums += step.rewards
        self.lengths += 1
        if (over := step.over).any():
            self.over += zip(self.sums[over].tolist(), self.lengths[over].tolist(), strict=True)
            self.sums[over], self.lengths[over] = 0, 0
        self.observed = step.observations
        return step

    def figures(self) -> Figures:
        """Of the episodes that are over since they were asked for."""
        if not self.over:
            return {}
        returns, lengths = np.mean(self.over, axis=0).tolist()
        self.over.clear()
        return {"return": returns, "episode_length": lengths}

    def snapshot(self) -> dict[str, Any]:
        over = torch.tensor(self.over, dtype=torch.float64).reshape(-1, 2)
        sums = torch.from_numpy(np.stack([self.sums, self.lengths]))
        return {"environments": self.environments.snapshot(), "over": over, "sums": sums.clone()}

    def restore(self, snapshot: Mapping[str, Any], seed: int) -> None:
        """Where copies cannot be put back, new episodes begin, which is told."""
        self.over = [(total, length) for total, length in snapshot["over"].tolist()]
        if self.environments.exact:
            self.observed = self.environments.restore(snapshot["environments"])
            self.sums, self.lengths = (row.numpy().copy() for row in snapshot["sums"])
        else:
            notice(f"{self.name} cannot be put back to where it stood: new episodes begin.")
            self.begin(seed)


def updates_of(acting: Acting, steps: int, each: int) -> int:
    """How many updates a training makes: `each` for so many steps in the environment."""
    if acting.steps < steps:
        raise GradlabError(
            f"data.steps={acting.steps:,} is less than what is gathered before an update, {counted(steps, 'step')}."
        )
    return acting.steps // steps * each
