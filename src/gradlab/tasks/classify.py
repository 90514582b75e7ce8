"""Classification: one of several classes."""

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Examples, Targets, Wants
from gradlab.errors import GradlabError
from gradlab.nn.graphs import Graphs
from gradlab.registry import Fraction
from gradlab.tasks.calibration import calibrate
from gradlab.tasks.constant import Constant
from gradlab.tasks.graph_references import graph_references
from gradlab.tasks.metrics import Metric, average_precision, class_metrics, decided, viewed
from gradlab.tasks.objective import Loss
from gradlab.tasks.ranking import positive_class
from gradlab.tasks.references import references
from gradlab.tasks.task import Criterion, Supervised, has_targets, tasks
from gradlab.tasks.views import Tta, Views, check_pictures

BestMetric = Literal["auto", "loss", "accuracy", "f1", "balanced_accuracy", "auroc", "average_precision"]


@tasks.register("classify")
@dataclass(eq=False)
class Classify(Supervised):
    r"""One class of several, by cross-entropy: the categorical generalised linear model, its link the softmax.

    $$ \ell(z, y) = -\log \mathrm{softmax}(z)_y $$

    Training may smooth the labels by ε and weigh the classes; evaluation never does.

    $$ \ell_\mathrm{train}(z, y) = (1 - ε)\, w_y\, \ell(z, y) + \tfrac ε C \sum_c w_c\, \ell(z, c) $$

    Balanced weights are $w_c = n / (C n_c)$, whose mean over the training examples is 1.
    """

    targets: Targets
    _: KW_ONLY
    label_smoothing: Annotated[Fraction, "share ε of each training label that is spread over all classes"] = 0.0
    class_weights: Annotated[
        Literal["none", "balanced"], "balanced: in the training loss each class counts the same, however rare it is"
    ] = "none"
    tta: Annotated[
        Tta,
        "test-time augmentation: outputs are means over pictures and mirror images, and both moved by a pixel",
    ] = "none"
    best_metric: Annotated[
        BestMetric,
        "validation figure that selects weights, stops early and ranks trials of a sweep; auto: the loss, or with a "
        "rare class (under 10 % of the training examples) average precision of two classes, AUROC of more",
    ] = "auto"
    threshold: float | None = field(init=False, default=None)
    """The probability from which on the positive of two classes is predicted; else the more probable one is."""

    wants: ClassVar[Wants] = "classes"
    sections: ClassVar[tuple[str, ...]] = ("classes",)

    def __post_init__(self) -> None:
        if self.targets.classes is None:
            raise GradlabError("Classification needs classes, but the targets are numbers. Use task=regress.")
        if len(self.targets.classes) < 2:
            raise GradlabError(f"Classification needs at least two classes, got {len(self.targets.classes)}.")
        self.classes = self.targets.classes
        self.outputs = len(self.classes)
        if self.best_metric == "average_precision" and len(self.classes) != 2:
            raise GradlabError(
                f"task.best_metric=average_precision is of two classes, but there are {len(self.classes)}. Use auroc."
            )
        self.metrics = self._metrics()
        if self.best_metric not in ("auto", "loss"):
            self.criterion = Criterion(self.best_metric, higher_is_better=True)
        self.weights = _balanced(self.targets.counts) if self.class_weights == "balanced" else None

    def _metrics(self) -> Mapping[str, Metric]:
        positive = positive_class(self.targets)
        metrics = class_metrics(len(self.classes), self.threshold, positive)
        if self.best_metric == "average_precision":
            metrics["average_precision"] = average_precision(positive)
        return viewed(metrics, self.class_logits)

    def at_test(self, model: nn.Module) -> nn.Module:
        return model if self.tta == "none" else Views(model, self.tta)

    def check(self, model: nn.Module, train: Any) -> None:
        if self.tta != "none" and has_targets(train):
            check_pictures(train.inputs.shape[1:], self.tta)

    def with_tta(self, tta: Tta) -> "Classify":
        task = copy(self)
        task.tta = tta
        return task

    def at_threshold(self, threshold: float) -> "Classify":
        if not 0 < threshold < 1:
            raise GradlabError(
                f"A threshold is a probability between 0 and 1, neither of which decides anything; got {threshold:g}."
            )
        if len(self.classes) != 2:
            raise GradlabError(f"A threshold decides between two classes, but this run has {len(self.classes)}.")
        task = copy(self)
        task.threshold = threshold
        task.metrics = task._metrics()
        return task

    @property
    def trains_by_its_loss(self) -> bool:
        return not self.label_smoothing and self.class_weights == "none"

    def class_logits(self, output: Float[Tensor, "batch outputs"]) -> Float[Tensor, "batch classes"]:
        """Model outputs as one logit for each class."""
        return output

    def loss(
        self,
        output: Float[Tensor, "batch outputs"],
        target: Int64[Tensor, " batch"],
        weight: Float[Tensor, " batch"] | None = None,
    ) -> Loss:
        return self._cross_entropy(output, target, weight)

    def training_loss(
        self,
        output: Float[Tensor, "batch outputs"],
        target: Int64[Tensor, " batch"],
        weight: Float[Tensor, " batch"] | None = None,
    ) -> Loss:
        if self.weights is not None:  # kept where and as they are used: a captured step cannot move them
            self.weights = self.weights.to(output.device, torch.promote_types(output.dtype, torch.float32))
        return self._cross_entropy(output, target, weight, weight=self.weights, label_smoothing=self.label_smoothing)

    def _cross_entropy(self, output: Tensor, target: Tensor, example_weight: Tensor | None, **terms: Any) -> Loss:
        logits = self.class_logits(output)
        if example_weight is None:
            return F.cross_entropy(logits, target, reduction="sum", **terms), len(target)
        return example_weight @ F.cross_entropy(logits, target, reduction="none", **terms), len(target)

    def expected_initial_loss(self) -> tuple[float, str]:
        return math.log(len(self.classes)), f"log {len(self.classes)}"

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, Constant]:
        """Log frequencies of the training classes: the majority class wins, and the loss is their cross-entropy."""
        frequency = torch.bincount(train.targets, minlength=len(self.classes)).float() + 1e-9
        return {"majority class": Constant(torch.log(frequency / frequency.sum()))}

    def references(self, train: Examples) -> Mapping[str, nn.Module]:
        if isinstance(train.inputs, Graphs):
            return graph_references(train.inputs, train.targets, len(self.classes))
        return references(train, self.targets, self.outputs)

    def closing(self, model: nn.Module, splits: Mapping[str, Examples]) -> dict[str, Any]:
        """The temperature that makes its confidence right, fitted on the validation split."""
        if not has_targets(splits.get("validation")):
            return {}
        return {"calibration": calibrate(model, self, splits["validation"], splits.get("test"))}

    def decode(self, output: Float[Tensor, "batch outputs"]) -> list[dict[str, Any]]:
        logits = self.class_logits(output).double()
        probabilities = logits.softmax(1)
        best = decided(logits, self.threshold, positive_class(self.targets)).tolist()
        return [
            {"label": self.classes[i], "probability": p[i], "probabilities": dict(zip(self.classes, p, strict=True))}
            for i, p in zip(best, probabilities.tolist(), strict=True)
        ]


def _balanced(counts: list[int]) -> Float[Tensor, " classes"]:
    """n / (C n_c), where C counts the classes that training has; one it lacks has no example to weigh."""
    if not counts:
        raise GradlabError("class_weights=balanced needs to know how many training examples each class has.")
    n = torch.tensor(counts, dtype=torch.float64)
    return torch.where(n > 0, n.sum() / ((n > 0).sum() * n.clamp(min=1)), 0.0).float()
