"""How a model sees series: windows in units of each series, and back from those to times and values."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from gradlab import specs
from gradlab.data.dates import date_parts, width
from gradlab.data.examples import Examples
from gradlab.data.preparation import Preparation
from gradlab.data.series.panel import Numbers, TimeSeries
from gradlab.data.series.spacing import Spacing
from gradlab.data.series.windows import Windows
from gradlab.errors import GradlabError, notice
from gradlab.files import check_content
from gradlab.registry import Count
from gradlab.wording import counted


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Of a series, fitted on its training part: mean, standard deviation, and the mean error of repeating a season."""

    centre: float
    spread: float
    naive: float

    @classmethod
    def of(cls, values: Numbers, season: int) -> "Scale":
        spread = float(values.std()) or 1.0
        naive = float(np.abs(values[season:] - values[:-season]).mean()) if len(values) > season else 0.0
        # What repeats itself exactly leaves no error to compare with.
        return cls(centre=float(values.mean()), spread=spread, naive=naive or spread)


@dataclass(frozen=True, kw_only=True)
class Lookback(Preparation):
    """How a model sees series: a window of the past, and what is known of the times ahead, in units of each series."""

    history: Count
    horizon: Count
    season: Count
    spacing: Spacing
    parts: list[str]
    """Of dates that the model is given as inputs."""
    past: list[str]
    known: list[str]
    means: list[float]
    stds: list[float]
    scales: dict[str, Scale]

    kind: ClassVar[str] = "series"

    @property
    def spec(self) -> specs.Series:
        phase = 2 if self.season > 1 else 0
        features = 1 + len(self.past) + len(self.known) + width(self.parts) + phase + 1
        return specs.Series(self.history + self.horizon, features)

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read_back(cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]) -> "Lookback":
        return check_content(described, cls, "data.json (inputs)")

    def words(self) -> dict[str, str]:
        return {
            "an example": f"{self.history} steps of {self.spacing}, and the {self.horizon} after them",
            "season": counted(self.season, "step"),
            "known ahead": ", ".join([*self.known, *self.parts]) or "nothing",
        }

    # Examples.

    def __call__(self, series: npt.NDArray[Any]) -> Windows:
        """The last window of each series, behind which nothing is known."""
        for one in series:
            self._check_long(one, self.history)
            ahead = len(one.covariates) - len(one.values)
            if self.known and ahead < self.horizon:
                raise GradlabError(
                    f"{one.place} has {counted(ahead, 'row')} after its last value, but {', '.join(self.known)} must "
                    f"be known for the next {self.horizon}. Add rows with these and nothing in the target's column."
                )
        return self._windows(list(series), [np.array([len(one.values)]) for one in series])

    def examples(self, series: Sequence[TimeSeries], begin: int | None = None, end: int | None = None) -> Examples:
        """All windows whose times ahead are from `begin` to before `end`: origins that roll, a step at a time."""
        firsts = []
        for one in series:
            low = max(self.history, 0 if begin is None else begin - one.start)
            high = min(len(one.values), len(one.values) if end is None else end - one.start) - self.horizon
            firsts.append(np.arange(low, max(low, high + 1)))
        windows, counts = self._windows(series, firsts), [len(first) for first in firsts]
        scales = [self._scale(one) for one in series]
        ahead = windows.origins[:, None] + torch.arange(self.horizon)
        each = {
            "unit": [scale.spread for scale in scales],
            "relative": [scale.spread / scale.naive for scale in scales],
        }
        columns = {name: torch.from_numpy(np.repeat(values, counts)).float() for name, values in each.items()}
        targets = windows.rows[ahead, 0] - windows.level[:, None]
        return Examples({"inputs": windows, "targets": targets, **columns}, windows.origins.numpy())

    def _windows(self, series: Sequence[TimeSeries], firsts: Sequence[npt.NDArray[np.int64]]) -> Windows:
        rows = [self._rows(one) for one in series]
        begins = np.cumsum([0, *(len(each) for each in rows)])
        origins, levels = [], []
        for begin, each, first in zip(begins, rows, firsts, strict=False):
            sums = np.cumsum(np.concatenate([[0.0], each[:, 0]]))
            origins.append(begin + first)
            levels.append((sums[first] - sums[first - self.history]) / self.history)
        return Windows(
            rows=torch.from_numpy(np.concatenate(rows)).float(),
            origins=torch.from_numpy(np.concatenate(origins)),
            level=torch.from_numpy(np.concatenate(levels)).float(),
            history=self.history,
            horizon=self.horizon,
            unknown=1 + len(self.past),
        )

    def _rows(self, one: TimeSeries) -> Numbers:
        """The features of each row of a series, and of as many after it as there are steps ahead."""
        count, scale = len(one.values) + self.horizon, self._scale(one)
        rows = np.zeros((count, self.spec.features))
        rows[: len(one.values), 0] = (one.values - scale.centre) / scale.spread
        covariates = one.covariates[:count]
        stop = 1 + len(self.means)
        rows[: len(covariates), 1:stop] = (np.nan_to_num(covariates) - self.means) / self.stds
        positions = one.start + np.arange(count)
        if self.parts:
            rows[:, stop : stop + width(self.parts)] = date_parts(
                self.spacing.times(positions.astype(np.float64)), self.parts
            )
        if self.season > 1:
            turn = 2 * np.pi * positions / self.season
            rows[:, -3:-1] = np.stack([np.sin(turn), np.cos(turn)], axis=1)
        rows[:, -1] = 1
        return rows

    def _scale(self, one: TimeSeries) -> Scale:
        """Of one that training did not have, by all that there is of it."""
        return self.scales.get(one.name) or Scale.of(one.values, self.season)

    def _check_long(self, one: TimeSeries, rows: int) -> None:
        if len(one.values) < rows:
            raise GradlabError(
                f"{one.place} has {counted(len(one.values), 'row')}, but {rows} are needed: the model looks at "
                f"{self.history} before those that it predicts. Give more of its past."
            )

    # What comes out.

    def new_examples(self, series: npt.NDArray[Any]) -> Examples:
        """Every window of new series."""
        for one in series:
            self._check_long(one, self.history + self.horizon)
        self._tell_of_new(series)
        return self.examples(list(series))

    def in_units(self, raw: npt.NDArray[Any], predictions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Steps ahead of each series as times and values of the user's file."""
        self._tell_of_new(raw)
        levels = self(raw).level.tolist()
        return [self._ahead(*each) for each in zip(raw, levels, predictions, strict=True)]

    def _ahead(self, one: TimeSeries, level: float, prediction: dict[str, Any]) -> dict[str, Any]:
        scale = self._scale(one)
        times = [self.spacing.at(one.end + i) for i in range(self.horizon)]
        values = {k: [scale.centre + scale.spread * (level + x) for x in v] for k, v in prediction.items()}
        return {**({"series": one.name} if one.name else {}), "times": times, **values}

    def _tell_of_new(self, series: npt.NDArray[Any]) -> None:
        for one in series:
            if one.name not in self.scales:
                notice(f"{one.place} was not in the training: it is scaled by all of its values here.")
