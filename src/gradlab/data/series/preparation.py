"""From series to splits: the time is divided, and windows are cut whose times ahead are in one part of it."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.dataset import Dataset, SplitSeed
from gradlab.data.examples import Examples
from gradlab.data.raw import Targets, UnsuitableData, Wants
from gradlab.data.series.lookback import Lookback, Scale
from gradlab.data.series.panel import Panel
from gradlab.data.series.season import season_of
from gradlab.data.series.spacing import Spacing
from gradlab.errors import GradlabError
from gradlab.registry import Count, Fraction
from gradlab.wording import counted

_PERIODS = {"hour": 1.0, "weekday": 7.0, "day of year": 365.25}  # days
_SEEN = 2  # periods that training must have had for its parts to be known


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
        raise UnsuitableData("are series, of which task=forecast learns. A table with a column of times is data=csv.")
    first, last = min(one.start for one in panel.series), max(one.end for one in panel.series)
    tested = last - round(test * (last - first))
    validated = tested - round(validation * (tested - first))
    training = {one.name: one.values[: max(0, validated - one.start)] for one in panel.series}
    for one in panel.series:
        if len(training[one.name]) < 2:
            begin = panel.spacing.at(validated)
            raise GradlabError(
                f"{one.place} has {counted(len(training[one.name]), 'row')} before {begin}, where the held-out time "
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
            f"{panel.series[0].place}: there are too few rows. {counted(max(0, longest), 'row')} are left to train on, "
            f"and one window takes {seen.history + seen.horizon}: data.history={seen.history} and "
            f"data.horizon={seen.horizon}. Lower those, or data.test and data.validation."
        )
    for name, steps in {"validation": tested - validated, "test": last - tested}.items():
        if steps and not len(splits[name]):
            raise GradlabError(
                f"{panel.series[0].place}: there are too few rows. The {name} part is {counted(steps, 'step')} long, "
                f"and data.horizon={seen.horizon} does not fit into it. Raise data.{name}, or lower data.horizon."
            )


def _noted(panel: Panel, season: int, why: str, history: int, borders: tuple[int, int, int]) -> Panel:
    (validated, tested, last), at = borders, panel.spacing.at
    first = min(one.start for one in panel.series)
    notes = [
        f"{len(panel.series)} series, {panel.rows:,} rows in all, in steps of {panel.spacing}, {at(first)} to "
        f"{at(last - 1)}; season {season} ({why}), history {history}"
    ]
    held = {"validation": (validated, tested), "test": (tested, last)}
    notes += [f"{name}: {at(a)} to {at(b - 1)}" for name, (a, b) in held.items() if b > a]
    return replace(panel, notes=[*panel.notes, *notes])
