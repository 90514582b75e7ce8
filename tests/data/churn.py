"""A table as a company has it, of customers: money, percentages, dates, 300 regions, few who leave, perhaps a leak."""

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

COLUMNS = ["customer", "balance", "usage", "joined", "region", "plan", "calls", "closing_code", "churn"]
NAMES = ["ready", "sent", "paid", "due", "asked"]


def write_churn(path: Path, rows: int = 3000, seed: int = 0, *, leak: bool = False, rare: float = 0.03) -> Path:
    """Customers, of whom a share of `rare` leaves: more of those with few calls answered and little use.

    With `leak` there is a column that is filled in when somebody has left, and nearly never else.
    """
    generator = np.random.default_rng(seed)
    usage, calls = generator.uniform(0, 100, rows), generator.poisson(2, rows)
    balance, days = generator.lognormal(8, 1, rows), generator.integers(0, 3000, rows)
    region, plan = generator.integers(0, 300, rows), generator.integers(0, 3, rows)
    urge = 0.9 * calls - 0.03 * usage + 0.3 * plan - days / 3000 + generator.logistic(size=rows)
    leaves = urge > np.quantile(urge, 1 - rare)
    told = np.where(generator.random(rows) < 0.99, leaves, ~leaves)
    codes = generator.integers(0, len(NAMES), rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([name for name in COLUMNS if leak or name != "closing_code"])
        for i in range(rows):
            writer.writerow(
                [
                    f"C{i * 7919 % 1_000_003:06d}",
                    f"${balance[i]:,.2f}" if i % 50 else "",
                    f"{usage[i]:.1f}%",
                    (date(2015, 1, 1) + timedelta(int(days[i]))).isoformat(),
                    f"region {region[i]:03d}",
                    ("basic", "plus", "family")[plan[i]],
                    calls[i],
                    *([NAMES[codes[i]] if told[i] else ""] if leak else []),
                    "yes" if leaves[i] else "no",
                ]
            )
    return path
