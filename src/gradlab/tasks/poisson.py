"""Regression of counts."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Examples, Targets, Wants
from gradlab.errors import GradlabError
from gradlab.nn.losses import poisson_nll
from gradlab.tasks.constant import Constant
from gradlab.tasks.metrics import Metric, deviance, mae, r2, rmse, viewed
from gradlab.tasks.objective import Loss
from gradlab.tasks.task import Supervised, tasks


@tasks.register("poisson")
class Poisson(Supervised):
    r"""A count, or several, by the Poisson likelihood: the generalised linear model with a logarithmic link.

    $$ \mu = \bar y\, e^z, \qquad \ell(z, y) = e^z - \tilde y z, \qquad \tilde y = y / \bar y $$

    ȳ is the mean of the training counts, so that a model starts at the mean, and its steps have the same size whether
    counts are small or large. The loss is $(\mu - y \log \mu) / \bar y$ up to terms without μ, among them the
    $\log y!$ of the likelihood; predictions and metrics are in counts.
    """

    wants: ClassVar[Wants] = "numbers"
    sections: ClassVar[tuple[str, ...]] = ("counts",)
    loss_floor: ClassVar[float | None] = None  # terms without μ are left out of it

    def __init__(self, targets: Targets):
        if targets.classes is not None:
            raise GradlabError("The task poisson needs counts, but the targets are classes. Use task=classify.")
        scale = [mean if mean > 0 else 1.0 for mean in targets.mean]
        self.scale = torch.tensor(scale)
        self.outputs = len(scale)
        # Several counts have no common scale: their figures are relative to their means.
        unit = scale[0] if self.outputs == 1 else 1.0
        of_means = viewed({"rmse": rmse(unit), "mae": mae(unit), "r2": r2()}, torch.exp)
        self.metrics: Mapping[str, Metric] = {**of_means, "deviance": deviance(unit)}

    def encode(self, targets: Float[Tensor, "batch *outputs"]) -> Float[Tensor, "batch outputs"]:
        wrong = (targets < 0) | (targets != targets.round())
        if wrong.any():
            raise GradlabError(
                f"The task poisson needs counts, whole numbers from 0, but a target is {targets[wrong][0]:g}. "
                "Use task=regress."
            )
        return targets.unsqueeze(-1).flatten(1) / self.scale

    def loss(
        self,
        output: Float[Tensor, "batch outputs"],
        target: Float[Tensor, "batch outputs"],
        weight: Float[Tensor, " batch"] | None = None,
    ) -> Loss:
        losses = poisson_nll(output, target, reduction="none")
        return losses.sum() if weight is None else weight @ losses.sum(1), target.numel()

    def expected_initial_loss(self) -> tuple[float, str]:
        return 1.0, "of the training mean"

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, Constant]:
        return {"training mean": Constant(train.targets.mean(0).clamp(min=1e-9).log())}

    def decode(self, output: Float[Tensor, "batch outputs"]) -> list[dict[str, Any]]:
        values = output.cpu().double().exp() * self.scale.double()
        return [{"value": row[0] if len(row) == 1 else row} for row in values.tolist()]
