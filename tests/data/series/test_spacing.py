"""Even times: found, checked against the calendar of the standard library, and gone on with."""

from datetime import date, datetime, timedelta

import numpy as np
import pytest

from gradlab.data.series.spacing import Spacing
from gradlab.data.tables.columns import ISO, parse_date


def days(texts, form=ISO):
    return np.array([parse_date(text, form) for text in texts])


def stepping(start, step, count=40):
    return [str(start + i * step) for i in range(count)]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (timedelta(days=1), "1 day"),
        (timedelta(days=14), "2 weeks"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(minutes=15), "15 minutes"),
        (timedelta(seconds=30), "30 seconds"),
        (timedelta(days=30), "30 days"),
    ],
)
def test_time_spans_are_found_and_gone_on_with(step, words):
    texts = stepping(datetime(2024, 2, 20), step)
    spacing = Spacing.of([days(texts[:-3])], ISO)
    assert str(spacing) in (words, words.replace("30 days", "4.28571 weeks"))
    assert np.allclose(spacing.positions(days(texts)), np.arange(40), atol=1e-6)
    for i in (37, 38, 39):
        moment = datetime.fromisoformat(spacing.at(i))
        assert moment == datetime.fromisoformat(texts[i])


@pytest.mark.parametrize("day", [1, 15, 28, 30, 31])
@pytest.mark.parametrize("months", [1, 3, 12])
def test_months_are_as_long_as_the_calendar_has_them(day, months):
    expected = []
    for i in range(0, 60, months):
        after = date(2023 + (i + 1) // 12, (i + 1) % 12 + 1, 1)
        expected.append(min(date(2023 + i // 12, i % 12 + 1, 1) + timedelta(days=day - 1), after - timedelta(days=1)))
    written = [f"{each:%d.%m.%Y}" for each in expected]
    spacing = Spacing.of([days(written[:-1], "%d.%m.%Y")], "%d.%m.%Y")
    assert (spacing.unit, spacing.size) == ("month", months)
    assert spacing.positions(days(written, "%d.%m.%Y")).tolist() == list(range(len(written)))
    assert spacing.at(len(written) - 1) == written[-1]


def test_a_gap_does_not_hide_the_step():
    months = [f"2024-{m:02d}-01" for m in (1, 2, 3, 5, 6, 7, 8)]
    spacing = Spacing.of([days(months)], ISO)
    assert (spacing.unit, np.diff(spacing.positions(days(months))).tolist()) == ("month", [1, 1, 2, 1, 1, 1])


def test_numbers_have_a_step_too():
    spacing = Spacing.of([np.array([0.5, 0.75, 1.0, 1.25])], "")
    assert (spacing.unit, spacing.size, spacing.at(4)) == ("number", 0.25, "1.5")
    assert Spacing.of([np.array([3.0, 3.0, 2.0])], "") is None
