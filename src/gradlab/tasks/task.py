"""What is learned, and how the result is judged and used: everything that training must not know."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from gradlab.data import Batch, Examples, Wants
from gradlab.errors import GradlabError
from gradlab.registry import Registry
from gradlab.tasks.evaluation import evaluate_metrics, evaluate_objectives, evaluate_supervised, predict
from gradlab.tasks.finite import check_outputs
from gradlab.tasks.metrics import Metric
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.views import Tta

Figures = dict[str, float]


@dataclass(frozen=True)
class Criterion:
    """The figure of an evaluation by which weights are better than others."""

    figure: str = "loss"
    higher_is_better: bool = False

    def better(self, value: float, best: float) -> bool:
        return value > best if self.higher_is_better else value < best

    @property
    def worst(self) -> float:
        return -float("inf") if self.higher_is_better else float("inf")


class Task:
    """What training, evaluation, reports and prediction ask. Only `objectives` must be written for a new kind."""

    wants: ClassVar[Wants | None] = None
    """Which kind of targets it learns from; None takes the data as they are."""

    outputs: int = 0
    """How many numbers the model gives for an example, where that follows from the data."""

    metrics: Mapping[str, Metric] = {}
    """By name, the most telling first."""

    batch_metrics: Mapping[str, Callable[[nn.Module, Batch], Loss | Tensor]] = {}
    """Further figures, by functions of (model, batch) that give sum and count, or a number for each example."""

    finished_figures: ClassVar[tuple[str, ...]] = ()
    """What `evaluate_finished` adds to the figures, the most telling first; the higher, the better, unless
    `higher_is_better` says otherwise."""

    criterion: Criterion = Criterion()
    """Which figure of an evaluation is better."""

    optimal_references: ClassVar[tuple[str, ...]] = ()
    """Names of references that no model can beat."""

    sections: ClassVar[tuple[str, ...]] = ()
    """Of the report: names of `report.sections`."""

    use: ClassVar[str] = ""
    """The command that uses the trained model: predict, generate, or none."""

    instead: ClassVar[str] = "has no outputs that could be predicted: see its report.html."
    """What is said where somebody wants to predict with a run that is used in another way."""

    loss_floor: ClassVar[float | None] = 0.0
    """The least that the loss can be; None where it has no such bound, or nobody knows it."""

    doctor: ClassVar[bool] = False
    """Whether the doctor's rules, which are about losses that should fall, can tell something of its trainings."""

    def __init__(self, targets: Any = None) -> None:
        """A task that needs nothing of the `targets` that data tell of; keyword-only arguments of others are knobs."""

    @property
    def figure_names(self) -> list[str]:
        """What an evaluation gives beside the loss, the most telling first."""
        criterion = [] if self.criterion.figure == "loss" else [self.criterion.figure]
        return list(dict.fromkeys([*criterion, *self.metrics, *self.batch_metrics]))

    @property
    def headline(self) -> str:
        """The most telling figure of an evaluation."""
        return next(iter(self.figure_names), "loss")

    def higher_is_better(self, figure: str) -> bool:
        """Whether a higher value of a figure is the better one."""
        if figure in self.finished_figures:
            return True
        if figure in self.metrics:
            return self.metrics[figure].higher_is_better
        return figure == self.criterion.figure and self.criterion.higher_is_better

    @property
    def trains_by_its_loss(self) -> bool:
        """Whether what is minimised is what evaluation tells: smoothed labels and weighted classes make another."""
        return True

    def objectives(self) -> Mapping[str, Objective]:
        """What is minimised, by name; several take turns in each step."""
        raise GradlabError(f"{type(self).__name__} does not say what is minimised: write its method `objectives`.")

    def encoded(self, split: Any) -> Any:
        """A split with its targets as the losses take them."""
        return split

    def forward(self, model: nn.Module, batch: Batch) -> Any:
        """One pass over a batch: what a step computes before its gradients."""
        return [objective.loss(model, batch) for objective in self.objectives().values()]

    def output_shape(self, batch: Batch) -> tuple[int, ...] | None:
        """What `forward` must give for each example of a batch, where that is one tensor."""
        return None

    def evaluate(self, model: nn.Module, split: Any) -> Figures:
        """Loss and metrics of a split: by sums over its batches, unless the task decodes, samples or plays instead.

        It is called by `gradlab.tasks.evaluate`: with the model in evaluation mode, without gradients, and with random
        numbers that are the same each time.
        """
        return evaluate_objectives(model, self, split)

    def expected_initial_loss(self) -> tuple[float, str]:
        """What a model that knows nothing yet should cost, and the formula in words."""
        return float("nan"), "unknown"

    def constant_loss(self, train: Any, model: nn.Module, some: Any) -> float:
        """What always giving the same answer would cost on some examples; NaN where that means nothing."""
        return float("nan")

    def baselines(self, train: Any, model: nn.Module) -> Mapping[str, nn.Module]:
        """What a model should beat, by name, the strongest last: models too, made of the training examples alone.

        The targets of `train` are encoded. `model` is the one to be judged, which must not be compared with itself.
        """
        return {}

    def references(self, train: Any) -> Mapping[str, nn.Module]:
        """What other methods learn of the same examples, by name: models too, which one should know of."""
        return {}

    def closing(self, model: nn.Module, splits: Mapping[str, Any]) -> dict[str, Any]:
        """What else result.json says of a finished run, given its splits."""
        return {}

    def check(self, model: nn.Module, train: Any) -> None:
        """Refuse a model that cannot learn this, before there is a run folder."""

    def at_test(self, model: nn.Module) -> nn.Module:
        """What stands for the model where it is evaluated and used: itself, or the mean of what it says of views."""
        return model

    def with_tta(self, tta: Tta) -> "Task":
        """The same task with test-time augmentation."""
        raise GradlabError("Test-time augmentation is for classifiers of pictures, which this run is not.")

    def at_threshold(self, threshold: float) -> "Task":
        """The same task, with the second of two classes predicted from this probability on."""
        raise GradlabError("A threshold decides between two classes, but this run predicts something else.")

    def writing(self, beam: int | None, prefix: str | None) -> "Task":
        """The same task, where texts are searched with so many hypotheses, and begin with a `prefix`."""
        raise GradlabError("A beam and a prefix are of texts that are written, but this run predicts something else.")

    def decode(self, output: Tensor) -> list[dict[str, Any]]:
        """Model outputs in the user's terms, one dictionary per example."""
        return [{"value": row} for row in output.tolist()]

    def evaluate_finished(self, model: nn.Module, split: Any) -> Figures:
        """What is said of a finished model: figures that take too long to be asked for during a training may be added.

        It is called as `evaluate` is.
        """
        return self.evaluate(model, split)

    def final_figures(self, model: nn.Module, split: Any) -> Figures:
        """Figures that every finished model of a family has, beside those of `evaluate_finished`."""
        return {}

    def evaluate_baseline(self, model: nn.Module, split: Any) -> Figures:
        """What is said of a baseline or a reference, to stand beside the figures of a finished model.

        It is called as `evaluate` is.
        """
        return self.evaluate(model, split)

    @property
    def signatures(self) -> Mapping[str, str]:
        """By the name of a figure, how exactly it is computed, where others compute it in other ways."""
        return {}

    @property
    def all_signatures(self) -> Mapping[str, str]:
        """Those of `final_figures` too."""
        return self.signatures

    def signatures_of(self, figures: Collection[str]) -> dict[str, str]:
        """Those of the figures that there are."""
        return {name: signature for name, signature in self.all_signatures.items() if name in figures}

    def answers(self, model: nn.Module, inputs: Any, temperature: float = 1.0) -> list[dict[str, Any]]:
        """What a model says of prepared inputs, in the user's terms, one dictionary per example.

        Logits are divided by the `temperature`.
        """
        return self.decode(check_outputs(predict(self.at_test(model), inputs)) / temperature)


class Supervised(Task):
    """One output for each input, compared with a target."""

    use: ClassVar[str] = "predict"
    doctor: ClassVar[bool] = True

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self._minimised)}

    def _minimised(self, model: nn.Module, batch: Batch) -> Loss:
        weight = (batch["weights"],) if "weights" in batch else ()
        return self.training_loss(self.forward(model, batch), batch["targets"], *weight)

    def forward(self, model: nn.Module, batch: Batch) -> Any:
        return model(batch["inputs"])

    def output_shape(self, batch: Batch) -> tuple[int, ...] | None:
        return (self.outputs,)

    def encode(self, targets: Any) -> Any:
        """Raw targets as the loss takes them."""
        return targets

    def encoded(self, split: Any) -> Any:
        return split.but(targets=self.encode(split.targets)) if has_targets(split) else split

    def loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> Loss:
        """Sum of the losses, each times the weight of its example, and how many there are.

        It is what evaluation tells of a model, and what runs are compared by.
        """
        raise NotImplementedError

    def training_loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> Loss:
        """What is minimised: the loss, or a variant of it from which more is learned."""
        return self.loss(output, target, *(() if weight is None else (weight,)))

    def evaluate(self, model: nn.Module, split: Any) -> Figures:
        figures = evaluate_supervised(model, self, split)
        return figures | evaluate_metrics(model, self, split) if self.batch_metrics else figures

    def constant_loss(self, train: Any, model: nn.Module, some: Any) -> float:
        """The loss of the first baseline."""
        if not has_targets(train):
            return float("nan")
        baseline = next(iter(self.baselines(train, model).values()), None)
        if baseline is None:
            return float("nan")
        with torch.no_grad():
            total, count = self.loss(baseline.to(some.device)(some.inputs[:]), some.targets[:])
        return total.item() / float(count)


def has_targets(split: Any) -> bool:
    """Whether all targets of a split are at hand: those of a stream come with each batch, as the loss takes them."""
    return isinstance(split, Examples) and "targets" in split.parts


tasks: Registry[Task] = Registry("task", makes=Task)
