"""Regression: one number, or several."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Examples, Targets, Wants
from gradlab.errors import GradlabError
from gradlab.tasks.constant import Constant
from gradlab.tasks.metrics import Metric, mae, r2, rmse
from gradlab.tasks.objective import Loss
from gradlab.tasks.references import Reference, references
from gradlab.tasks.task import Supervised, tasks


@tasks.register("regress")
class Regress(Supervised):
    r"""A number, or several, by squared error of the standardised target: the Gaussian generalised linear model.

    $$ \ell(\hat y, y) = (\hat y - \tilde y)^2, \qquad \tilde y = (y - \mu) / \sigma $$

    μ and σ come from the training targets; predictions, RMSE and MAE are in the units of the raw target. There is no ½
    as in `loss.squared`, so that the loss is the mean squared error: 1 for always predicting the mean, and 1 - R² on
    the training targets. Gradients are twice those of the loss with ½: the same steps of SGD need half its rate.
    """

    wants: ClassVar[Wants] = "numbers"
    sections: ClassVar[tuple[str, ...]] = ("numbers",)

    def __init__(self, targets: Targets):
        if targets.classes is not None:
            raise GradlabError("The task regress needs numbers, but the targets are classes. Use task=classify.")
        self.targets = targets
        self.mean, self.std = torch.tensor(targets.mean), torch.tensor(targets.std)
        self.outputs = len(targets.mean)
        # Several targets have no common unit: their errors are in standard deviations.
        unit = targets.std[0] if self.outputs == 1 else 1.0
        self.metrics: Mapping[str, Metric] = {"rmse": rmse(unit), "mae": mae(unit), "r2": r2()}

    def encode(self, targets: Float[Tensor, "batch *outputs"]) -> Float[Tensor, "batch outputs"]:
        return (targets.unsqueeze(-1).flatten(1) - self.mean) / self.std

    def loss(
        self,
        output: Float[Tensor, "batch outputs"],
        target: Float[Tensor, "batch outputs"],
        weight: Float[Tensor, " batch"] | None = None,
    ) -> Loss:
        if weight is None:
            return F.mse_loss(output, target, reduction="sum"), target.numel()
        return weight @ F.mse_loss(output, target, reduction="none").flatten(1).sum(1), target.numel()

    def expected_initial_loss(self) -> tuple[float, str]:
        return 1.0, "variance of the standardised target"

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, Constant]:
        return {"training mean": Constant(train.targets.mean(0))}

    def references(self, train: Examples) -> dict[str, Reference]:
        return references(train, self.targets, self.outputs)

    def decode(self, output: Float[Tensor, "batch outputs"]) -> list[dict[str, Any]]:
        values = output.cpu().double() * self.std.double() + self.mean.double()
        return [{"value": row[0] if len(row) == 1 else row} for row in values.tolist()]
