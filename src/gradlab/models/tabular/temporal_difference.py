"""Learning from each step by what the next state is thought to be worth: SARSA and Q-learning."""

from typing import Any

from torch import Tensor, nn

from gradlab.models.registry import models
from gradlab.models.tabular.table import Batch, Learner, Power
from gradlab.specs import Environment


class TemporalDifference(Learner):
    """One that learns from single steps."""

    def target(self, batch: Batch, discount: float) -> Tensor:
        r"""$r + \gamma V(s')$; after an end nothing comes, after a limit of time something would have."""
        goes_on = ~batch["ended"]
        return batch["rewards"] + discount * goes_on * self.next_value(batch)

    def next_value(self, batch: Batch) -> Tensor:
        raise NotImplementedError

    def learn_without_gradients(self, train: Any, batch: Batch) -> None:
        self.move(batch["observations"], batch["actions"], self.target(batch, train.discount))


class Sarsa(TemporalDifference):
    r"""Learns the values of the policy that acts (Rummery and Niranjan 1994): a' is what it does next.

    $$ y = r + \gamma Q(s', a') $$
    """

    def next_value(self, batch: Batch) -> Tensor:
        return self.q[batch["next_observations"], batch["next_actions"]]


class QLearning(TemporalDifference):
    r"""Learns the values of the best policy, whatever acts (Watkins 1989).

    $$ y = r + \gamma \max_{a'} Q(s', a') $$
    """

    def next_value(self, batch: Batch) -> Tensor:
        return self.q[batch["next_observations"]].amax(-1)


@models.register("sarsa")
def sarsa(inputs: Environment, outputs: int, *, power: Power = 0.7) -> nn.Module:
    """A table of values, learned by SARSA from each step and the action after it."""
    return Sarsa(inputs, power)


@models.register("q-learning")
def q_learning(inputs: Environment, outputs: int, *, power: Power = 0.7) -> nn.Module:
    """A table of values, learned by Q-learning from each step and the best action after it."""
    return QLearning(inputs, power)
