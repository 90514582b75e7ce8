"""Whether a finished model is better than the best of its baselines, by more than its standard error."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.data import Batch, Examples
from gradlab.tasks.evaluation import in_evaluation, iterate_outputs
from gradlab.tasks.metrics import Metric
from gradlab.tasks.task import Figures, Supervised, Task

_GROUPS = 100  # of examples: the standard error is itself off by 7 %
_ROWS, _TARGETS = 4096, 2**18  # that it is estimated from; a long text has many targets


@dataclass(frozen=True, kw_only=True)
class BaselineComparison:
    """The most telling figure of a model next to that of its best baseline."""

    metric: str
    value: float
    baseline: str
    baseline_value: float
    standard_error: float | None
    """Of the difference; None where it is not known."""
    better: bool


def compare_with_baselines(
    task: Task,
    model: nn.Module,
    baselines: Mapping[str, nn.Module],
    split: Any,
    figures: Figures,
    baseline_figures: Mapping[str, Figures],
) -> BaselineComparison | None:
    """The model next to the best of its baselines, whose figures on the split are known; None where none is of both."""
    beatable = {name: row for name, row in baseline_figures.items() if name not in task.optimal_references}
    for metric in _figures_to_compare(task):
        known = {name: row[metric] for name, row in beatable.items() if row.get(metric) is not None}
        if figures.get(metric) is not None and known:
            break
    else:
        return None
    sign = 1 if task.higher_is_better(metric) else -1
    best = max(known, key=lambda name: sign * known[name])
    error = paired_error(task, model, baselines[best], split, metric)
    if error is None:
        error = unpaired_error(figures, baseline_figures[best], metric, len(split))
    return BaselineComparison(
        metric=metric,
        value=figures[metric],
        baseline=best,
        baseline_value=known[best],
        standard_error=error,
        better=sign * (figures[metric] - known[best]) > (error or 0.0),
    )


def _figures_to_compare(task: Task) -> list[str]:
    """What selects weights, unless that is the loss; the other metrics in their order; and then the loss."""
    chosen = [] if task.criterion.figure == "loss" else [task.criterion.figure]
    return [*chosen, *task.metrics, "loss"]


def paired_error(task: Task, model: nn.Module, baseline: nn.Module, split: Any, metric: str) -> float | None:
    r"""Of the difference between two models in a metric on the same examples, by a jackknife.

    $$ s^2 = \frac{G - 1}{G} \sum_g (d_g - \bar d)^2 $$

    where d_g is the difference without the g-th of G groups of examples. It is paired: what makes an example hard for
    both models cancels. It serves every metric, also those that are no means over examples. Windows of a text or a
    series depend on those next to them, so that their groups are stretches; other groups are spread evenly.
    """
    if not isinstance(task, Supervised) or not isinstance(split, Examples) or len(split) < 2:
        return None
    measure = task.metrics.get(metric) if metric != "loss" else None
    if metric != "loss" and measure is None:
        return None
    some = split.apart().sample(min(_ROWS, max(2, _TARGETS // _targets_each(split))))
    groups = _groups(len(some), stretches=task.wants in ("tokens", "series"))
    figures = [_figures_without_groups(task, one, some, groups, measure) for one in (model, baseline.to(some.device))]
    if not all(figures):
        return None
    gaps = torch.tensor(figures[0], dtype=torch.float64) - torch.tensor(figures[1], dtype=torch.float64)
    variance = (len(gaps) - 1) * gaps.var(correction=0).item() * len(some) / len(split)
    return math.sqrt(variance) if math.isfinite(variance) else None


def unpaired_error(first: Figures, second: Figures, metric: str, examples: int) -> float | None:
    """Of the difference between two means that were evaluated independently, from the standard error of each.

    That is given with the figure, or follows from the standard deviation over the examples.
    """
    errors = [
        row.get(f"{metric}_se", row.get(f"{metric}_std", math.nan) / math.sqrt(examples)) for row in (first, second)
    ]
    error = math.hypot(*errors)
    return error if math.isfinite(error) else None


def _targets_each(examples: Examples) -> int:
    targets = examples.parts.get("targets")
    return 1 if targets is None else max(1, math.prod(targets.shape[1:]))


def _groups(examples: int, *, stretches: bool) -> Tensor:
    """The group of each example."""
    count, places = min(examples, _GROUPS), torch.arange(examples)
    return places * count // examples if stretches else places % count


def _figures_without_groups(
    task: Supervised, model: nn.Module, examples: Examples, groups: Tensor, metric: Metric | None
) -> list[float]:
    """The figure of a model without the examples of each group in turn; the mean loss, where no metric is named.

    Empty for outputs that are not tensors: which of them belong to an example is unknown.
    """
    merge = metric.merge if metric else torch.add
    value = metric.value if metric else lambda total: (total[0] / total[1]).item()
    totals: dict[int, Tensor] = {}
    start = 0
    with in_evaluation(model):
        for output, batch in iterate_outputs(task.at_test(model), task, examples):
            if not isinstance(output, Tensor):
                return []
            own = groups[start : start + len(batch["targets"])]
            for group in sorted({*own.tolist()}):
                total = _sums(task, output, batch, (own == group).nonzero()[:, 0].to(output.device), metric).cpu()
                totals[group] = merge(totals[group], total) if group in totals else total
            start += len(own)
    return [value(total) for total in _merged_without_each([totals[group] for group in sorted(totals)], merge)]


def _sums(task: Supervised, output: Tensor, batch: Batch, rows: Tensor, metric: Metric | None) -> Tensor:
    """What a metric, or the loss, adds up over some rows of a batch."""
    if metric is not None:
        return metric.sums(output[rows], batch["targets"][rows])
    weight = (batch["weights"][rows],) if "weights" in batch else ()
    loss, count = task.loss(output[rows], batch["targets"][rows], *weight)
    return torch.stack([loss.double(), torch.as_tensor(count, dtype=torch.float64, device=loss.device)])


def _merged_without_each(totals: list[Tensor], merge: Callable[[Tensor, Tensor], Tensor]) -> list[Tensor]:
    """For each total all others, merged: those before it and those after it."""
    before, after = [*accumulate(totals, merge)], [*accumulate(totals[::-1], merge)][::-1]
    parts = ([*before[max(0, i - 1) : i], *after[i + 1 : i + 2]] for i in range(len(totals)))
    return [reduce(merge, part) for part in parts]
