"""The marks and scales that all pages share."""

import json
import re
from typing import Any

import numpy as np
import pytest
import torch

from gradlab.markup import Html
from gradlab.report import charts as draw


def figure(html: Html) -> dict[str, Any]:
    (content,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    drawn: dict[str, Any] = json.loads(content)
    return drawn


def test_arrays_tensors_and_what_is_no_number_become_json() -> None:
    x, y = np.array([1, 2], dtype=np.int64), torch.tensor([0.5, torch.nan])
    (trace,) = figure(draw.chart("title", [draw.line("a<b", x, y, draw.INK, "")]))["data"]
    assert (trace["name"], trace["x"], trace["y"], trace["mode"]) == ("a&lt;b", [1, 2], [0.5, None], "lines")
    assert draw.line("one", [1], [2], draw.INK, "")["mode"] == "markers"


def test_a_level_lies_over_the_whole_chart() -> None:
    level, upright = draw.level(3.0), draw.level(3.0, across="y")
    assert (level["xref"], level["x0"], level["x1"], level["y0"], level["y1"]) == ("paper", 0, 1, 3.0, 3.0)
    assert (upright["yref"], upright["y0"], upright["y1"], upright["x0"], upright["x1"]) == ("paper", 0, 1, 3.0, 3.0)


def test_updates_of_a_thousandth_are_healthy() -> None:
    band = draw.healthy_updates()
    assert band["y0"] < 1e-3 < band["y1"]
    assert band["y0"] * band["y1"] == pytest.approx(1e-6, rel=0.15)


@pytest.mark.parametrize("values", [[], [2.0], [1.0, 1.0], [1.0, np.nextafter(1.0, 2)], np.arange(100.0)], ids=len)
def test_a_histogram_counts_every_value_once(values: Any) -> None:
    (bars,) = figure(draw.histogram("title", values, "note"))["data"]
    assert sum(bars["y"]) == len(values)
    assert len(bars["x"]) == len(bars["y"]) == len(bars["width"])
    assert all(np.min(values) - 1 <= x <= np.max(values) + 1 for x in bars["x"] if len(values))


def test_two_bars_may_have_one_name() -> None:
    """A category of the user's may be called `missing` too."""
    (bars,) = figure(draw.count_bars("title", ["missing", "missing"], [3, 1], "note"))["data"]
    assert bars["x"] == [3, 1]


@pytest.mark.parametrize(
    ("values", "ticks"), [([0.2, 5.0], [0.03, 0.1, 0.3, 1, 3, 10]), ([1e-12, 1.0, None, 0.0, np.inf], [1e-13, 1e-11])]
)
def test_a_logarithmic_scale_has_few_ticks_around_its_values(values: Any, ticks: list[float]) -> None:
    scale = draw.log_scale(values)
    assert scale["type"] == "log"
    assert set(ticks) <= set(scale["tickvals"])
    assert len(scale["tickvals"]) <= 12


@pytest.mark.parametrize("values", [[0.31, 0.36], [0.5, 1.5], [2.0]])
def test_a_logarithmic_scale_without_such_ticks_leaves_them_to_the_page(values: list[float]) -> None:
    assert draw.log_scale(values) == {"type": "log"}


def test_a_scale_spans_the_values_alone() -> None:
    assert draw.scale([1.0, 2.0, float("nan")]) == {}
    assert draw.scale([-1.0, 2.0]) == {}
    assert draw.scale([1.0, 4.0], times=3)["type"] == "log"
