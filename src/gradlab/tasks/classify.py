"""Classification: one of several classes."""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.data import Targets
from gradlab.errors import GradlabError
from gradlab.tasks.metrics import Metric, accuracy, macro_f1
from gradlab.tasks.task import tasks


@tasks.register("classify")
class Classify:
    r"""One class of several, by cross-entropy.

    $$ \ell(z, y) = -\log \mathrm{softmax}(z)_y $$
    """

    def __init__(self, targets: Targets):
        if targets.classes is None:
            raise GradlabError("The task classify needs classes, but the targets are numbers. Use task=regress.")
        if len(targets.classes) < 2:
            raise GradlabError(f"Classification needs at least two classes, got {len(targets.classes)}.")
        self.classes = targets.classes
        self.outputs = len(self.classes)
        self.metrics: Mapping[str, Metric] = {"accuracy": accuracy(), "f1": macro_f1(self.outputs)}

    def encode(self, targets: Tensor) -> Int64[Tensor, " batch"]:
        return targets

    def loss(
        self,
        output: Float[Tensor, "batch classes"],
        target: Int64[Tensor, " batch"],
        weight: Float[Tensor, " batch"] | None = None,
    ) -> tuple[Float[Tensor, ""], int]:
        if weight is None:
            return F.cross_entropy(output, target, reduction="sum"), len(target)
        return weight @ F.cross_entropy(output, target, reduction="none"), len(target)

    def expected_initial_loss(self) -> tuple[float, str]:
        return math.log(self.outputs), f"log {self.outputs}"

    def baseline(self, training: Int64[Tensor, " examples"], count: int) -> tuple[str, Float[Tensor, "count classes"]]:
        """Log frequencies of the training classes: the majority class wins, and the loss is their cross-entropy."""
        frequency = torch.bincount(training, minlength=self.outputs).float() + 1e-9
        return "majority class", torch.log(frequency / frequency.sum()).expand(count, -1)

    def decode(self, output: Float[Tensor, "batch classes"]) -> list[dict[str, Any]]:
        probabilities = output.double().softmax(1)
        best = probabilities.argmax(1).tolist()
        return [
            {"label": self.classes[i], "probability": p[i], "probabilities": dict(zip(self.classes, p, strict=True))}
            for i, p in zip(best, probabilities.tolist(), strict=True)
        ]
