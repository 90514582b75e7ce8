"""One's own series: a CSV file with a column of times."""

from os.path import isfile
from pathlib import Path
from typing import Annotated

from gradlab.data.cache import changed_guard
from gradlab.data.dataset import sources
from gradlab.data.series.panel import Panel
from gradlab.data.series.preparation import prepare_series
from gradlab.data.series.reader import SeriesReader, records_with, surveyed
from gradlab.data.tables.columns import Use
from gradlab.errors import GradlabError


@sources.register("series", shared=prepare_series)
def series(
    seed: int,
    *,
    path: Annotated[str, "CSV file whose first line names the columns: --data FILE"],
    time: Annotated[str, "column of times: numbers or dates, evenly spaced"],
    target: Annotated[str, "column of numbers to predict"],
    series: Annotated[str | None, "column that says which series a row is of, where there are several"] = None,
    covariates: Annotated[list[str], "columns of numbers that help, known only up to the present"] = [],  # noqa: B006
    known: Annotated[list[str], "columns of numbers that help, known in advance over the horizon"] = [],  # noqa: B006
    separator: Annotated[str, "between values; auto: the commonest of , ; tab | in the first line"] = "auto",
    encoding: Annotated[str, "of the text"] = "utf-8",
) -> Panel:
    """A CSV file of time series, of which the next values are to be predicted."""
    if not isfile(path):
        raise GradlabError(f"{path} is not a file. Name a CSV file: --data FILE.")
    named: list[tuple[str, Use]] = [(time, "time"), (target, "target"), *((name, "input") for name in covariates)]
    named += [*((name, "known") for name in known), *([(series, "series")] if series else [])]
    uses = dict(named)
    for name, use in named:
        if uses[name] != use or [n for n, _ in named].count(name) > 1:
            raise GradlabError(f"The column {name!r} is named twice: it can be one of time, target, series, covariate.")
    with changed_guard(Path(path)):
        records = records_with(path, list(uses), separator, encoding)
        columns = surveyed(records, uses)
        reader = SeriesReader(columns=columns, separator=records.separator, encoding=encoding)
        read, spacing = reader.series_in(records)
    reader = SeriesReader(columns=columns, spacing=spacing, separator=records.separator, encoding=encoding)
    return Panel(series=read, spacing=spacing, past=covariates, known=known, reader=reader)
