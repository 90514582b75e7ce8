"""Metrics of `fit` in either form: functions of (output, target), as a loss is, or of (model, batch)."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gradlab.data import Batch
from gradlab.data.batch import size
from gradlab.errors import GradlabError, TrainingError, one_line
from gradlab.nn.modes import evaluating
from gradlab.tasks import Metric, Supervised
from gradlab.tasks.metric_values import sum_and_count
from gradlab.tasks.own import BatchMetric

OutputMetric = Callable[[Tensor, Tensor], Any]
Form = Literal["output", "batch"]

_MODEL = frozenset({"model", "module", "net", "network", "batch"})
_OUTPUT = frozenset(
    {"output", "outputs", "pred", "preds", "prediction", "predictions", "y_pred", "y_hat", "yhat", "logits"}
    | {"input", "inputs"}
)
_TARGET = frozenset({"target", "targets", "y", "y_true", "true", "truth", "label", "labels"})
_WORDS: dict[Form, frozenset[str]] = {
    "batch": _MODEL | {"Module", "Batch", "dict", "Mapping"},
    "output": _OUTPUT | _TARGET | {"Tensor"},
}
"""Names and annotations of parameters that say which form a function has."""

_SAY = "Name its parameters (output, target) or (model, batch)."


def sort_metrics(
    metrics: Mapping[str, Any], model: nn.Module, task: Supervised, batch: Batch
) -> tuple[dict[str, OutputMetric], dict[str, BatchMetric]]:
    """The metrics of (output, target), and those of (model, batch)."""
    forms = {n: named_form(n, m) or _tried_form(n, m, model, task, batch) for n, m in metrics.items()}
    output, whole = ({n: m for n, m in metrics.items() if forms[n] == form} for form in ("output", "batch"))
    return {name: _output_first(name, metric) for name, metric in output.items()}, whole


def named_form(name: str, metric: Any) -> Form | None:
    """The form that the names or annotations of a function's first two parameters say; None where they say nothing."""
    words = {word for pair in _parameters(metric) for word in pair if word}
    said = [form for form, known in _WORDS.items() if words & known]
    if len(said) > 1:
        raise GradlabError(f"The metric {name!r} has parameters of both forms: {', '.join(sorted(words))}. {_SAY}")
    return said[0] if said else None


def _parameters(metric: Any) -> list[tuple[str, str]]:
    """Names and annotations of the first two parameters."""
    try:
        signature = inspect.signature(metric.forward if isinstance(metric, nn.Module) else metric)
    except (TypeError, ValueError):  # of some functions of other languages
        return []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [(p.name, _type_name(p.annotation)) for p in signature.parameters.values() if p.kind in by_position][:2]


def _type_name(annotation: Any) -> str:
    """
    >>> _type_name("dict[str, torch.Tensor]"), _type_name("torch.Tensor"), _type_name(Tensor)
    ('dict', 'Tensor', 'Tensor')
    """
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.partition("[")[0].rpartition(".")[2]


def _output_first(name: str, metric: OutputMetric) -> OutputMetric:
    """The function as one of (output, target); those of scikit-learn take (y_true, y_pred)."""
    first, second = [*(parameter for parameter, _ in _parameters(metric)), "", ""][:2]
    if first in _TARGET and second in _OUTPUT:
        return lambda output, target: metric(target, output)
    if first in _TARGET or second in _OUTPUT:
        raise GradlabError(f"The order of the parameters ({first}, {second}) of the metric {name!r} is unclear. {_SAY}")
    return metric


def _tried_form(name: str, metric: Any, model: nn.Module, task: Supervised, batch: Batch) -> Form:
    """The only form in which the metric gives a figure of some examples."""
    with torch.random.fork_rng(), torch.no_grad(), evaluating(model):
        output, target = task.forward(model, batch), task.encode(batch["targets"])
        failures = {
            "output": _failure(name, lambda: metric(output, target), len(target)),
            "batch": _failure(name, lambda: metric(model, batch), size(batch)),
        }
    works: list[Form] = [form for form in _WORDS if failures[form] is None]
    if len(works) == 1:
        return works[0]
    if works:
        raise GradlabError(f"The metric {name!r} can be called with (output, target) and with (model, batch). {_SAY}")
    raise GradlabError(
        f"The metric {name!r} failed: with (output, target) {failures['output']}; with (model, batch) "
        f"{failures['batch']}."
    )


def _failure(name: str, call: Callable[[], Any], examples: int) -> str | None:
    try:
        sum_and_count(name, call(), examples)
    except Exception as error:
        return f"{type(error).__name__}: {one_line(error)}"
    return None


@dataclass(frozen=True)
class OutputSums:
    """Sum and count of a metric over a batch, and how many outputs are not finite."""

    name: str
    metric: OutputMetric
    task: Supervised

    def __call__(self, output: Any, target: Any) -> Tensor:
        value = self.metric(output, self.task.encode(target))
        total, count = sum_and_count(self.name, value, size({"targets": target}))
        bad = (~output.isfinite()).sum() if isinstance(output, Tensor) else 0
        return torch.stack([torch.as_tensor(x, dtype=torch.float64, device=total.device) for x in (total, count, bad)])

    def mean(self, sums: Tensor) -> float:
        total, count, bad = sums.tolist()
        mean = total / count if count else float("nan")
        if mean != mean and not bad:
            raise TrainingError(f"The metric {self.name!r} gave NaN, though the model's outputs are finite.")
        return mean


def output_metric(name: str, metric: OutputMetric, task: Supervised, higher_is_better: bool) -> Metric:
    """A function of (output, target) as a metric of a task, which computes the outputs once for all of them."""
    sums = OutputSums(name, metric, task)
    return Metric(sums, sums.mean, higher_is_better)
