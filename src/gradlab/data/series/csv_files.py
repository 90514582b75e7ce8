"""One's own series: a CSV file with a column of times."""

from os.path import isfile
from pathlib import Path
from typing import Annotated

from gradlab.data.cache import changed_guard
from gradlab.data.dataset import sources
from gradlab.data.naming import columns_to_name
from gradlab.data.series.panel import Panel
from gradlab.data.series.preparation import prepare_series
from gradlab.data.series.reader import SeriesReader, records_with, surveyed
from gradlab.data.tables.columns import Use
from gradlab.errors import GradlabError


@sources.register("series", shared=prepare_series, advice=columns_to_name)
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
    by_use: dict[Use, list[str]] = {"time": [time], "target": [target], "input": covariates, "known": known}
    if series is not None:
        by_use["series"] = [series]
    uses: dict[str, Use] = {}
    for use, names in by_use.items():
        for name in names:
            if name in uses:
                raise GradlabError(f"The column {name!r} is named twice: it has one use, as {uses[name]} or {use}.")
            uses[name] = use
    with changed_guard(Path(path)):
        records = records_with(path, list(uses), separator, encoding)
        columns = surveyed(records, uses)
        reader = SeriesReader(columns=columns, separator=records.separator, encoding=encoding)
        read, spacing = reader.series_in(records)
    reader = SeriesReader(columns=columns, spacing=spacing, separator=records.separator, encoding=encoding)
    return Panel(series=read, spacing=spacing, past=covariates, known=known, reader=reader)
