"""Learning from whole episodes, by what really came."""

from typing import Any

from torch import nn

from gradlab.models.registry import models
from gradlab.models.tabular.table import Batch, Learner, Power
from gradlab.specs import Environment


class MonteCarlo(Learner):
    r"""The mean return after each visit, of the policy that acts.

    $$ y = G_t = \sum_{k \ge t} \gamma^{k - t} r_k $$

    An episode that was cut off is taken to end there: its returns are too small by what would have come.
    """

    def learn_without_gradients(self, train: Any, batch: Batch) -> None:
        seen = batch["seen"]  # until an episode was over
        self.move(batch["observations"][seen], batch["actions"][seen], batch["returns"][seen])


@models.register("monte-carlo")
def monte_carlo(inputs: Environment, outputs: int, *, power: Power = 0.9) -> nn.Module:
    """A table of values, learned from the returns of whole episodes."""
    return MonteCarlo(inputs, power)
