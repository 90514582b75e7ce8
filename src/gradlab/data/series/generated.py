"""Series of a known law, made on the spot."""

from typing import Annotated

import numpy as np

from gradlab.data.dataset import sources
from gradlab.data.memory import check_memory
from gradlab.data.series.panel import Panel, TimeSeries
from gradlab.data.series.preparation import prepare_series
from gradlab.data.series.reader import SeriesReader
from gradlab.data.series.spacing import Spacing
from gradlab.data.tables.columns import ISO, Column
from gradlab.registry import Count, Fraction, NonNegative

_DAY, _WEEK, _HARMONICS = 24, 168, 3
_BEGIN = 19723.0  # 2024-01-01, a Monday


@sources.register("seasonal-series", shared=prepare_series)
def seasonal_series(
    seed: int,
    *,
    count: Annotated[Count, "series"] = 6,
    rows: Annotated[Count, "hours of each"] = 2000,
    noise: Annotated[NonNegative, "standard deviation of the noise, beside a daily swing of about 1"] = 0.25,
    memory: Annotated[Fraction, "how much of the noise of an hour is left in the next"] = 0.7,
    effect: Annotated[NonNegative, "what an event adds"] = 1.0,
    events: Annotated[Fraction, "share of the hours with an event, which is known in advance"] = 0.1,
) -> Panel:
    r"""Hourly series: a trend, a day, a week, events that are known in advance, and noise that lasts.

    $$ y_t = a + bt + d_{t \bmod 24}\, w_t + c\, e_t + n_t, \qquad n_t = \rho n_{t-1} + \varepsilon_t $$
    """
    check_memory(16 * count * rows, f"{count:,} series of {rows:,} rows", "Make fewer.")
    generator = np.random.default_rng(seed)
    t, harmonics = np.arange(rows), np.arange(1, _HARMONICS + 1)
    parts = []
    for i in range(count):
        unit, swing = 10 ** generator.uniform(0, 2), generator.normal(size=(2, len(harmonics))) / harmonics
        angles = 2 * np.pi * np.outer(t, harmonics) / _DAY
        day = np.sin(angles) @ swing[0] + np.cos(angles) @ swing[1]
        week = np.where(t % _WEEK >= 5 * _DAY, generator.uniform(0.3, 0.7), 1.0)
        event = (generator.uniform(size=rows) < events).astype(np.float64)
        shocks = generator.normal(0, noise * np.sqrt(1 - memory**2), rows)
        lasting = np.zeros(rows)
        for j in range(rows):
            lasting[j] = memory * lasting[j - 1] * (j > 0) + shocks[j]
        trend = generator.normal(5, 1) + generator.normal(0, 1) * t / rows
        values = unit * (trend + day * week + effect * event + lasting)
        parts.append(TimeSeries(name=f"series {i}", start=0, values=values, covariates=event[:, None]))
    spacing = Spacing(unit="day", size=1 / 24, origin=_BEGIN, form=ISO)
    columns = [
        Column(name="time", kind="date", use="time", format=ISO),
        Column(name="series", kind="category", use="series"),
        Column(name="value", kind="number", use="target"),
        Column(name="event", kind="number", use="known"),
    ]
    return Panel(series=parts, spacing=spacing, known=["event"], reader=SeriesReader(columns=columns, spacing=spacing))
