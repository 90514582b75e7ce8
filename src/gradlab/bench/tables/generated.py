"""Invented tables as they are in the world: money, percent, dates, gaps, and a column with hundreds of categories."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Columns = dict[str, Iterable[Any]]
Array = npt.NDArray[Any]

_REGIONS, _PLANS = 300, "ABCDE"


def churn(rows: int, rng: np.random.Generator) -> Columns:
    """Who leaves: by region, by plan and region together, by the day they joined, and by bills that annoy."""
    region, plan = _uneven(rows, _REGIONS, rng), rng.integers(0, len(_PLANS), rows)
    tenure, calls, bill = rng.gamma(2, 20, rows), rng.poisson(3, rows), np.exp(rng.normal(3.5, 0.6, rows))
    discount, joined = rng.integers(0, 40, rows), np.datetime64("2019-01-01") + rng.integers(0, 2000, rows)
    weekend = (joined.astype(np.int64) + 3) % 7 >= 5
    logit = -1.6 + rng.normal(0, 0.8, _REGIONS)[region] + rng.normal(0, 0.5, (_REGIONS, 5))[region, plan]
    logit += 0.9 * np.sin(bill / 12) * (calls > 3) + 0.02 * (bill - 35) - 0.02 * tenure * (discount < 15)
    logit += 0.5 * weekend + 0.35 * (calls - 3) * (plan == 2)
    left = rng.random(rows) < 1 / (1 + np.exp(-logit))
    return {
        "joined": joined,
        "region": [f"R{i:03d}" for i in region],
        "plan": [_PLANS[i] for i in plan],
        "tenure": tenure.round(1),
        "calls": _with_gaps(calls, 0.07, rng),
        "bill": [f"${value:,.2f}" for value in bill],
        "discount": [f"{value} %" for value in discount],
        "left": np.where(left, "yes", "no"),
    }


def sales(rows: int, rng: np.random.Generator) -> Columns:
    """What is sold in a day: by article, by month and weekday, and by a price that works otherwise for each article."""
    article, price = _uneven(rows, 200, rng), np.exp(rng.normal(2, 0.5, rows))
    day = np.datetime64("2021-01-01") + rng.integers(0, 1460, rows)
    month, weekday = day.astype("datetime64[M]").astype(np.int64) % 12, (day.astype(np.int64) + 3) % 7
    demand = 4 + rng.normal(0, 0.6, 200)[article] - rng.uniform(0.2, 1.2, 200)[article] * np.log(price)
    demand += 0.4 * np.sin(2 * np.pi * month / 12) + 0.3 * (weekday >= 5) + rng.normal(0, 0.3, rows)
    return {
        "day": day,
        "article": [f"A{i:03d}" for i in article],
        "price": [f"{value:.2f}".replace(".", ",") + " €" for value in price],
        "stock": _with_gaps(rng.integers(0, 500, rows), 0.05, rng),
        "sold": np.exp(demand).round(1),
    }


def faults(rows: int, rng: np.random.Generator) -> Columns:
    """Which part of a machine fails: three kinds of fault in nine measurements, by their products and their sizes."""
    x = rng.normal(size=(rows, 9))
    scores = np.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2 - 1 + x[:, 3], np.sin(2 * x[:, 4]) + 0.5 * x[:, 5]], axis=1)
    kind = (scores + rng.normal(0, 0.4, (rows, 3))).argmax(1)
    names = np.array(["bearing", "motor", "valve"])
    return {**{f"sensor {i + 1}": x[:, i].round(4) for i in range(9)}, "fault": names[kind]}


GENERATED: dict[str, tuple[Callable[[int, np.random.Generator], Columns], str]] = {
    "churn": (churn, "left"),
    "sales": (sales, "sold"),
    "faults": (faults, "fault"),
}


def write_table(path: Path, columns: Columns) -> None:
    """As a CSV file, with quotes, since amounts may hold commas."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(f'"{"" if value is None else value}"' for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def _uneven(rows: int, kinds: int, rng: np.random.Generator) -> Array:
    """A few kinds that are common, and many that are rare."""
    shares = 1 / np.arange(1, kinds + 1) ** 0.8
    return rng.choice(kinds, rows, p=shares / shares.sum())


def _with_gaps(values: Array, share: float, rng: np.random.Generator) -> list[Any]:
    return [None if gap else value for value, gap in zip(values.tolist(), rng.random(len(values)) < share, strict=True)]
