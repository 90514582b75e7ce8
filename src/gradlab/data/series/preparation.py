"""From series to examples: split by time, scaled by the training part, cut into windows at rolling origins."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from gradlab import specs
from gradlab.data.dataset import Dataset, SplitSeed
from gradlab.data.dates import date_parts, width
from gradlab.data.examples import Examples
from gradlab.data.preparation import Preparation
from gradlab.data.raw import NotWanted, Targets, Wants
from gradlab.data.series.panel import Numbers, Panel, TimeSeries
from gradlab.data.series.season import season_of
from gradlab.data.series.spacing import Spacing
from gradlab.data.series.windows import Windows
from gradlab.errors import GradlabError, notice
from gradlab.files import check_content
from gradlab.registry import Count, Fraction
from gradlab.wording import counted

_PERIODS = {"hour": 1.0, "weekday": 7.0, "day of year": 365.25}  # days
_SEEN = 2  # periods that training must have had for its parts to be known


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
    """Of dates that are told to the model."""
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
                    f"{_at(one)} has {counted(ahead, 'row')} after its last value, but {', '.join(self.known)} must be "
                    f"known for the next {self.horizon}. Add rows with these and nothing in the target's column."
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
            rows[:, stop : stop + width(self.parts)] = date_parts(self.spacing.times(positions), self.parts)
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
                f"{_at(one)} has {counted(len(one.values), 'row')}, but the model looks at {self.history} before those "
                "that it predicts. Give more of its past."
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
        times = [self.spacing.text(self.spacing.time(one.end + i)) for i in range(self.horizon)]
        values = {k: [scale.centre + scale.spread * (level + x) for x in v] for k, v in prediction.items()}
        return {**({"series": one.name} if one.name else {}), "times": times, **values}

    def _tell_of_new(self, series: npt.NDArray[Any]) -> None:
        new = [one.name for one in series if one.name not in self.scales]
        if new:
            notice(
                f"Training did not have {counted(len(new), 'series').removesuffix('s')} such as {new[0]!r}: scaled by all of its values."
            )


def _at(one: TimeSeries) -> str:
    return f"{one.source}: {one}" if one.source else str(one)


def prepare_series(
    panel: Panel,
    wants: Wants | None = None,
    *,
    horizon: Annotated[Count, "steps ahead that are predicted"],
    history: Annotated[
        Count | None, "steps of the past that a model sees; default two seasons, or twice data.horizon"
    ] = None,
    season: Annotated[
        Count | Literal["auto"], "steps after which a series repeats itself; auto: by the calendar, or autocorrelation"
    ] = "auto",
    validation: Annotated[
        Fraction, "share of the time before the test part, at its end, held out while training"
    ] = 0.15,
    test: Annotated[Fraction, "share of the time, at its end, that is held out for the final figures"] = 0.2,
    limit: Annotated[Count | None, "use only this many training windows, the latest"] = None,
    seed: SplitSeed = 0,
) -> Dataset:
    """Divide the time, scale each series by its training part, and cut windows whose times ahead are in one part."""
    if wants not in (None, "series"):
        raise NotWanted("are series, of which task=forecast learns. A table with a column of times is data=csv.")
    first, last = min(one.start for one in panel.series), max(one.end for one in panel.series)
    tested = last - round(test * (last - first))
    validated = tested - round(validation * (tested - first))
    training = {one.name: one.values[: max(0, validated - one.start)] for one in panel.series}
    for one in panel.series:
        if len(training[one.name]) < 2:
            begin = panel.spacing.text(panel.spacing.time(validated))
            raise GradlabError(
                f"{_at(one)} has {counted(len(training[one.name]), 'row')} before {begin}, where the held-out time "
                "begins: nothing to scale it by. Leave it out, or lower data.test and data.validation."
            )
    steps, why = season_of(panel.spacing, list(training.values())) if season == "auto" else (season, "as asked for")
    seen = history or max(2 * steps, 2 * horizon)
    if seen < steps:
        raise GradlabError(f"data.history={seen} must hold a season, data.season={steps}. Raise it.")
    preparation = Lookback(
        history=seen,
        horizon=horizon,
        season=steps,
        spacing=panel.spacing,
        parts=_parts(panel.spacing, validated - first),
        past=panel.past,
        known=panel.known,
        **_moments(panel, validated),
        scales={name: Scale.of(values, steps) for name, values in training.items()},
    )
    train = preparation.examples(panel.series, end=validated)
    held = preparation.examples(panel.series, validated, tested), preparation.examples(panel.series, tested)
    _check_sizes(
        panel, preparation, {"train": train, "validation": held[0], "test": held[1]}, (validated, tested, last)
    )
    if limit is not None:
        train = train.subset(np.sort(np.argsort(_positions(train, panel, horizon), kind="stable")[-limit:]))
    return Dataset(
        train=train,
        validation=held[0],
        test=held[1],
        raw=_noted(panel, steps, why, seen, (validated, tested, last)),
        preprocessing=preparation,
        targets=Targets(horizon=horizon, history=seen, season=steps),
    )


def _positions(examples: Examples, panel: Panel, horizon: int) -> npt.NDArray[np.int64]:
    """Where in time the origin of each window is."""
    begins = np.cumsum([0, *(len(one.values) + horizon for one in panel.series)])
    which = np.searchsorted(begins, examples.rows, side="right") - 1
    starts = np.array([one.start for one in panel.series])
    positions: npt.NDArray[np.int64] = examples.rows - begins[which] + starts[which]
    return positions


def _parts(spacing: Spacing, steps: int) -> list[str]:
    """Parts of dates that change from step to step and come round again within the training part."""
    if not spacing.per_day:
        return []
    days = steps / spacing.per_day
    return [p for p, period in _PERIODS.items() if period * spacing.per_day >= 2 and _SEEN * period <= days]


def _moments(panel: Panel, end: int) -> dict[str, list[float]]:
    """Mean and spread of each covariate over the training parts of all series."""
    rows = np.concatenate([one.covariates[: max(0, end - one.start)] for one in panel.series])
    stds = rows.std(axis=0)
    return {"means": rows.mean(axis=0).tolist(), "stds": np.where(stds > 0, stds, 1.0).tolist()}


def _check_sizes(panel: Panel, seen: Lookback, splits: dict[str, Examples], borders: tuple[int, int, int]) -> None:
    validated, tested, last = borders
    if not len(splits["train"]):
        longest = max(min(one.end, validated) - one.start for one in panel.series)
        raise GradlabError(
            f"{_at(panel.series[0])}: there are too few rows. {counted(max(0, longest), 'row')} are left to train on, "
            f"and one window takes {seen.history + seen.horizon}: data.history={seen.history} and "
            f"data.horizon={seen.horizon}. Lower those, or data.test and data.validation."
        )
    for name, steps in {"validation": tested - validated, "test": last - tested}.items():
        if steps and not len(splits[name]):
            raise GradlabError(
                f"{_at(panel.series[0])}: there are too few rows. The {name} part is {counted(steps, 'step')} long, "
                f"and data.horizon={seen.horizon} does not fit into it. Raise data.{name}, or lower data.horizon."
            )


def _noted(panel: Panel, season: int, why: str, history: int, borders: tuple[int, int, int]) -> Panel:
    def time(position: int) -> str:
        return panel.spacing.text(panel.spacing.time(position))

    validated, tested, last = borders
    first = min(one.start for one in panel.series)
    notes = [
        f"{len(panel.series)} series of {panel.rows:,} rows in steps of {panel.spacing}, {time(first)} to "
        f"{time(last - 1)}; season {season} ({why}), history {history}"
    ]
    held = {"validation": (validated, tested), "test": (tested, last)}
    notes += [f"{name}: {time(a)} to {time(b - 1)}" for name, (a, b) in held.items() if b > a]
    return replace(panel, notes=[*panel.notes, *notes])
