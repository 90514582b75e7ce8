"""Series as a page: what they are, and their values over time."""

from dataclasses import replace
from pathlib import Path

from gradlab.data.series.overview import SeriesOverview
from gradlab.data.series.panel import Panel, TimeSeries
from gradlab.data.series.spacing import Spacing
from gradlab.data.tables.columns import ISO
from gradlab.files import write_file
from gradlab.markup import Html, join, section, tag
from gradlab.report.charts import ACCENT, axis, chart, charts, line, thinned
from gradlab.report.page import page
from gradlab.wording import counted

_SHOWN = 24  # series that are drawn


def write_series_page(name: str, panel: Panel, overview: SeriesOverview, path: Path) -> None:
    """Write the page of a source of series."""
    lead = (
        f"{len(panel.series)} series, {counted(panel.rows, 'row')} in all, in steps of {overview.spacing}; season "
        f"{overview.season} ({overview.season_from})."
    )
    head = tag("header", tag("p", "Data", class_="over"), tag("h1", name), tag("p", lead, class_="lead"))
    drawn = [over_time(one, one.name or name, panel.spacing) for one in panel.series[:_SHOWN]]
    more = f", the first {_SHOWN}" if len(panel.series) > _SHOWN else ""
    write_file(path, page(name, join([head, section(f"Values over time{more}", charts(*drawn))])))


def over_time(one: TimeSeries, title: str, spacing: Spacing) -> Html:
    """The values of a series."""
    places = thinned(range(len(one.values)))
    times = drawn_times([one.start + i for i in places], spacing)
    trace = line("", times, one.values[places], ACCENT, "%{x}: %{y:.4~g}<extra></extra>", 1.5)
    return chart(title, [trace], xaxis=time_axis(spacing), yaxis=axis(""), showlegend=False)


def drawn_times(positions: list[int], spacing: Spacing) -> list[str]:
    """Times as plotly reads them."""
    readable = replace(spacing, form=ISO if spacing.form else "")
    return [readable.at(position) for position in positions]


def time_axis(spacing: Spacing) -> dict[str, object]:
    return axis("", nticks=6, **({} if spacing.form else {"type": "linear"}))
