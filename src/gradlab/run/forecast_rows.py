"""Forecasts as the rows of a table."""

from collections.abc import Iterable, Iterator
from typing import Any


def forecast_rows(predictions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row for each step ahead of each series."""
    for one in predictions:
        name = {"series": one["series"]} if "series" in one else {}
        for time, value, low, high in zip(one["times"], one["value"], one["low"], one["high"], strict=True):
            yield {**name, "time": time, "value": value, "low": low, "high": high}
