"""Reinforcement learning on tables: from single steps, from whole episodes, or from the tables themselves."""

from collections.abc import Mapping
from typing import Annotated, Any

import torch
from torch import nn

from gradlab.data import Acting, Batch, Targets
from gradlab.errors import GradlabError
from gradlab.maths.decisions import DecisionProcess, action_values, value_iteration
from gradlab.models.tabular import MonteCarlo, Planner, TemporalDifference, ValueTable
from gradlab.registry import Count, Probability
from gradlab.specs import Environment
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.playing.experience import ExploredEpisodes, ExploredSteps, Sweeps, known_process
from gradlab.tasks.playing.play import Discount, Play
from gradlab.tasks.task import tasks

Epsilon = Annotated[Probability, "how often the learner takes any action instead of the best that it knows"]


class Tabular(Play):
    """What all of them have in common."""

    optimal_references = ("best policy",)

    def __init__(self, targets: Targets, discount: float):
        super().__init__(targets)
        self.discount = discount

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self.loss)}

    def loss(self, model: Any, batch: Batch) -> Loss:
        """How far values still are from their targets: nothing is minimised, but it is told."""
        raise NotImplementedError

    def references(self, train: Any) -> Mapping[str, nn.Module]:
        process = known_process(train.acting)
        if process is None:
            return {}
        return {self.optimal_references[0]: best_policy(train.acting.spec, process, self.discount)}


def best_policy(inputs: Environment, process: DecisionProcess, discount: float) -> ValueTable:
    """By value iteration on the tables."""
    model = ValueTable(inputs)
    process = DecisionProcess(process.transition, process.rewards, discount, process.start)
    model.q.copy_(action_values(process, value_iteration(process).values))
    return model


@tasks.register("temporal-difference")
class TemporalDifferences(Tabular):
    """Learn from each step, by what is thought to come after it; for model=sarsa and model=q-learning."""

    model_kind = TemporalDifference
    model_name = "q-learning or model=sarsa"

    def __init__(self, targets: Targets, *, discount: Discount = 0.99, epsilon: Epsilon = 0.1):
        super().__init__(targets, discount)
        self.epsilon = epsilon

    def stream(self, acting: Acting) -> ExploredSteps:
        return ExploredSteps(acting, self.discount, self.epsilon)

    def loss(self, model: TemporalDifference, batch: Batch) -> Loss:
        error = model.target(batch, self.discount) - model.q[batch["observations"], batch["actions"]]
        return error.square().sum(), len(error)


@tasks.register("monte-carlo")
class WholeEpisodes(Tabular):
    """Learn from what came of whole episodes; for model=monte-carlo. `data.steps` are then of at most so many."""

    model_kind = MonteCarlo
    model_name = "monte-carlo"

    def __init__(
        self,
        targets: Targets,
        *,
        discount: Discount = 0.99,
        epsilon: Epsilon = 0.1,
        length: Annotated[Count, "most steps of an episode"] = 100,
    ):
        super().__init__(targets, discount)
        self.epsilon, self.length = epsilon, length

    def stream(self, acting: Acting) -> ExploredEpisodes:
        return ExploredEpisodes(acting, self.discount, self.epsilon, self.length)

    def loss(self, model: MonteCarlo, batch: Batch) -> Loss:
        seen = batch["seen"]
        values = model.q[batch["observations"][seen], batch["actions"][seen]]
        return (batch["returns"][seen] - values).square().sum(), len(values)


@tasks.register("planning")
class Planning(Tabular):
    """Find the best policy from the tables of the environment; for model=value-iteration and model=policy-iteration."""

    model_kind = Planner
    model_name = "value-iteration or model=policy-iteration"

    def __init__(
        self,
        targets: Targets,
        *,
        discount: Discount = 0.99,
        sweeps: Annotated[Count, "over all states"] = 100,
    ):
        super().__init__(targets, discount)
        self.sweeps = sweeps

    def stream(self, acting: Acting) -> Sweeps:
        process = known_process(acting)
        if process is None:
            raise GradlabError(
                f"Planning needs the tables of the environment, which {acting.env.name} does not have. "
                "Take data.env=grid, bandit or table, or learn by acting: task=temporal-difference model=q-learning"
            )
        return Sweeps(acting, self.discount, process, self.sweeps)

    def loss(self, model: Planner, batch: Batch) -> Loss:
        """By how much Bellman's operator would still change the values."""
        process = DecisionProcess(batch["transition"], batch["rewards"], self.discount)
        change = (action_values(process, model.q.amax(1)) - model.q).abs()
        return change.amax(1).sum(), torch.tensor(len(change))
