"""The best policy of an environment whose tables are known, without acting in it."""

from typing import Any

import torch
from torch import Tensor, nn

from gradlab.maths.decisions import DecisionProcess, action_values, greedy_policy, policy_values
from gradlab.models.registry import models
from gradlab.models.tabular.table import Batch, ValueTable
from gradlab.specs import Environment


class Planner(ValueTable):
    """One that is given the process itself, by a row of each table for each state."""

    def learn_without_gradients(self, train: Any, batch: Batch) -> None:
        process = DecisionProcess(batch["transition"], batch["rewards"], train.discount)
        self.q.copy_(action_values(process, self.state_values(process)))

    def state_values(self, process: DecisionProcess) -> Tensor:
        """What the next values of actions are made of."""
        raise NotImplementedError


class ValueIteration(Planner):
    r"""One application of Bellman's operator a step.

    $$ Q_{s a} \leftarrow R_{s a} + \gamma \sum_{s'} P_{s a s'} \max_{a'} Q_{s' a'} $$
    """

    def state_values(self, process: DecisionProcess) -> Tensor:
        return self.q.amax(1)


class PolicyIteration(Planner):
    r"""The exact values of a policy, then the policy that is greedy for them.

    $$ Q_{s a} \leftarrow R_{s a} + \gamma \sum_{s'} P_{s a s'} V^\pi_{s'}, \qquad \pi(s) = \arg\max_a Q_{s a} $$

    The first policy takes all actions alike, so that it reaches an end wherever there is one.
    """

    learned: Tensor

    def __init__(self, inputs: Environment):
        super().__init__(inputs)
        self.register_buffer("learned", torch.zeros((), dtype=torch.int64))

    def state_values(self, process: DecisionProcess) -> Tensor:
        alike = torch.full_like(self.q, 1 / self.q.shape[1])
        policy = greedy_policy(self.q) if self.learned else alike
        self.learned += 1
        return policy_values(process, policy)


@models.register("value-iteration")
def value_iteration(inputs: Environment, outputs: int) -> nn.Module:
    """A table of values, by Bellman's operator again and again."""
    return ValueIteration(inputs)


@models.register("policy-iteration")
def policy_iteration(inputs: Environment, outputs: int) -> nn.Module:
    """A table of values, by evaluating a policy and improving it in turns."""
    return PolicyIteration(inputs)
