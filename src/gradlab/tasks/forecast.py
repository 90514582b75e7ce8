"""Forecasting: the next values of a series, with intervals."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Gt, Lt
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Batch, Examples, Targets, Wants
from gradlab.errors import GradlabError
from gradlab.tasks.evaluation import sums_over
from gradlab.tasks.naive import Repeat
from gradlab.tasks.objective import Loss
from gradlab.tasks.task import Figures, Supervised, tasks
from gradlab.wording import number, percent

Interval = Annotated[float, Gt(0), Lt(1)]
Ahead = Float[Tensor, "batch horizon"]

_ROWS = 1024
_NEAR = 0.05  # by which the coverage may be off without a word
LAST, SEASONAL = "last value", "seasonal"


@tasks.register("forecast")
class Forecast(Supervised):
    r"""All steps ahead at once, each by quantiles: the median, and the two ends of an interval.

    $$ \ell_q(\hat y, y) = \max(q\,(y - \hat y),\; (q - 1)(y - \hat y)) $$

    The loss is the mean of this pinball loss over steps and quantiles, in standard deviations of each series. `mae` is
    that of the median in raw units. `mase` is the same relative to what repeating the season was off by, a step ahead
    of it, in the training part of the series: Hyndman & Koehler 2006, doi:10.1016/j.ijforecast.2006.03.001. `coverage`
    is the share of values within the interval.
    """

    wants: ClassVar[Wants] = "series"
    sections: ClassVar[tuple[str, ...]] = ("forecast",)

    def __init__(
        self,
        targets: Targets,
        *,
        interval: Annotated[Interval, "share of the values that the predicted interval should hold"] = 0.8,
    ):
        if not targets.horizon:
            raise GradlabError("The task forecast needs time series. Use data=series, or another task.")
        self.targets, self.interval = targets, interval
        self.quantiles = torch.tensor([(1 - interval) / 2, 0.5, (1 + interval) / 2])
        self.outputs = targets.horizon * len(self.quantiles)

    @property
    def figure_names(self) -> list[str]:
        return ["mase", "mae", "coverage"]

    def ends(self, output: Float[Tensor, "batch outputs"]) -> Float[Tensor, "batch horizon quantiles"]:
        """The quantiles of each step, in their order: a lower one is never above a higher."""
        return output.view(len(output), self.targets.horizon, -1).sort(-1).values

    def loss(
        self, output: Float[Tensor, "batch outputs"], target: Ahead, weight: Float[Tensor, " batch"] | None = None
    ) -> Loss:
        error = target[..., None] - self.ends(output)
        q = self.quantiles.to(error)
        losses = torch.maximum(q * error, (q - 1) * error)
        total = losses.sum() if weight is None else weight @ losses.flatten(1).sum(1)
        return total, losses.numel()

    def evaluate(self, model: nn.Module, split: Any) -> Figures:
        sums = sums_over(model, split, self._figures, _ROWS)
        return {name: total / count for name, (total, count) in sums.items()}

    def _figures(self, model: nn.Module, batch: Batch) -> Iterator[tuple[str, Loss]]:
        output, target = model(batch["inputs"]), batch["targets"]
        low, median, high = self.ends(output).unbind(-1)
        error = (median - target).abs().sum(1)
        yield "loss", self.loss(output, target)
        yield "mase", ((error * batch["relative"]).sum(), target.numel())
        yield "mae", ((error * batch["unit"]).sum(), target.numel())
        yield "coverage", (((low <= target) & (target <= high)).float().sum(), target.numel())

    def by_step(self, model: nn.Module, split: Examples) -> dict[str, list[float]]:
        """MASE and coverage of each step ahead."""

        def pairs(model: nn.Module, batch: Batch) -> Iterator[tuple[str, Loss]]:
            target = batch["targets"]
            low, median, high = self.ends(model(batch["inputs"])).unbind(-1)
            errors, inside = (median - target).abs() * batch["relative"][:, None], (low <= target) & (target <= high)
            for i in range(target.shape[1]):
                yield f"mase {i}", (errors[:, i].sum(), len(target))
                yield f"coverage {i}", (inside[:, i].float().sum(), len(target))

        sums = sums_over(model, split, pairs, _ROWS)
        means = {name: total / count for name, (total, count) in sums.items()}
        return {k: [means[f"{k} {i}"] for i in range(self.targets.horizon)] for k in ("mase", "coverage")}

    def plain_baselines(self) -> dict[str, Repeat]:
        """Repeating the last value, and the last season if there is one; the strongest of them last."""
        periods = {LAST: 1} | ({SEASONAL: self.targets.season} if self.targets.season > 1 else {})
        nothing = torch.zeros(self.targets.horizon, len(self.quantiles))
        return {name: Repeat(period, self.targets.history, nothing) for name, period in periods.items()}

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, Repeat]:
        """The same with intervals as wide as their errors in training."""
        plain = self.plain_baselines()
        return {n: Repeat.fitted(b.period, b.history, train, self.quantiles) for n, b in plain.items()}

    def closing(self, model: nn.Module, splits: Mapping[str, Any]) -> dict[str, Any]:
        """The backtest by step, beside the baselines, and in words whether the model beats them."""
        if "test" not in splits:
            return {}
        split = splits["test"]
        by_step = self.by_step(model, split)
        others = {name: self.by_step(b.to(split.device), split)["mase"] for name, b in self.plain_baselines().items()}
        own, means = _mean(by_step["mase"]), {name: _mean(steps) for name, steps in others.items()}
        to_beat = list(means)[-1]
        return {
            "backtest": {
                "origins": len(split),
                "mase_by_step": by_step["mase"],
                "coverage_by_step": by_step["coverage"],
                "baseline_mase_by_step": others,
                "relative_mase": own / means[to_beat] if means[to_beat] else None,
                "interval": self.interval,
            },
            "notes": [verdict(own, means, by_step["mase"], others), *self._too_narrow(_mean(by_step["coverage"]))],
        }

    def _too_narrow(self, coverage: float) -> list[str]:
        """A word where the interval does not hold what it should."""
        if abs(coverage - self.interval) <= _NEAR:
            return []
        how = "narrow" if coverage < self.interval else "wide"
        return [f"The interval for {percent(self.interval)} of the values holds {percent(coverage)}: it is too {how}."]

    def decode(self, output: Float[Tensor, "batch outputs"]) -> list[dict[str, Any]]:
        low, median, high = self.ends(output.cpu().double()).unbind(-1)
        rows = zip(median.tolist(), low.tolist(), high.tolist(), strict=True)
        return [{"value": value, "low": low, "high": high} for value, low, high in rows]


def verdict(own: float, means: Mapping[str, float], steps: list[float], others: Mapping[str, list[float]]) -> str:
    """Whether a model beats the best baseline, and where it does not.

    >>> verdict(0.8, {"last value": 1.0}, [0.7, 0.9], {"last value": [0.6, 1.4]})
    'Test MASE 0.8000 is 0.80 of that of the last value, but not better at 1 of 2 steps ahead (the first: 1).'
    >>> verdict(1.1, {"last value": 1.0}, [1.1], {"last value": [1.0]})
    'Test MASE 1.1000 does not beat that of the last value, 1.0000: repeat that instead, or give more of the past.'
    """
    best = min(means, key=means.__getitem__)
    if own >= means[best]:
        return (
            f"Test MASE {number(own)} does not beat that of the {best}{_season(best)}, {number(means[best])}: repeat "
            "that instead, or give more of the past."
        )
    worse = [i + 1 for i, (mine, other) in enumerate(zip(steps, others[best], strict=True)) if mine >= other]
    ratio = f"Test MASE {number(own)} is {own / means[best]:.2f} of that of the {best}{_season(best)}"
    if not worse:
        return f"{ratio}, and better at every step ahead."
    return f"{ratio}, but not better at {len(worse)} of {len(steps)} steps ahead (the first: {worse[0]})."


def _season(baseline: str) -> str:
    return " baseline" if baseline == SEASONAL else ""


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
