"""How `gradlab predict` prints what comes next of a series."""

import csv
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from gradlab.cli.output import print_json, table
from gradlab.errors import GradlabError
from gradlab.run.forecast_rows import forecast_rows
from gradlab.wording import number, percent

if TYPE_CHECKING:
    from gradlab.api import Run

_SHOWN = 72  # lines printed; more go to a file or --json


def show_forecast(
    screen: Console,
    run: "Run",
    inputs: str,
    predictions: Sequence[dict[str, Any]],
    *,
    as_json: bool,
    as_csv: bool,
    only: str | None,
) -> None:
    """A line for each step ahead of each series: its time, the median, and the interval."""
    if only is not None:
        raise GradlabError("--only chooses between labels and probabilities: a forecast has neither. Leave it out.")
    lines = list(forecast_rows(predictions))
    interval = run.task.interval  # type: ignore[attr-defined]
    if as_json:
        print_json({"run": str(run.path), "inputs": inputs, "interval": interval, "predictions": lines})
        return
    names = run.reader.headings  # type: ignore[attr-defined]
    headings = [names[key] for key in lines[0]]
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([headings, *(line.values() for line in lines)])
        return
    rows = ([number(value) for value in line.values()] for line in lines[:_SHOWN])
    screen.print(f"The next values, and between low and high where {percent(interval)} of them should be")
    screen.print(table(*headings, rows=rows))
    if len(lines) > _SHOWN:
        screen.print(f"… {len(lines) - _SHOWN:,} more; --json or --csv prints all of them.")
