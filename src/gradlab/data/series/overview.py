"""What a file of series holds, in figures: before the time is divided."""

from dataclasses import dataclass

from gradlab.data.series.panel import Panel, TimeSeries
from gradlab.data.series.season import season_of


@dataclass(frozen=True, kw_only=True)
class SeriesFigures:
    """One series: its rows, the times that it spans, and its values."""

    name: str
    rows: int
    first: str
    last: str
    low: float
    mean: float
    high: float


@dataclass(frozen=True, kw_only=True)
class SeriesOverview:
    """All series of a source."""

    series: list[SeriesFigures]
    spacing: str
    season: int
    season_from: str
    covariates: list[str]
    known: list[str]

    @classmethod
    def of(cls, panel: Panel) -> "SeriesOverview":
        season, why = season_of(panel.spacing, [one.values for one in panel.series])
        return cls(
            series=[_figures(one, panel) for one in panel.series],
            spacing=str(panel.spacing),
            season=season,
            season_from=why,
            covariates=panel.past,
            known=panel.known,
        )


def _figures(one: TimeSeries, panel: Panel) -> SeriesFigures:
    first, last = (panel.spacing.at(position) for position in (one.start, one.end - 1))
    low, mean, high = (float(value) for value in (one.values.min(), one.values.mean(), one.values.max()))
    return SeriesFigures(name=one.name, rows=len(one.values), first=first, last=last, low=low, mean=mean, high=high)
