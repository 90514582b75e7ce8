"""Curves of blocks are their functions, and stay inside the picture."""

import math
import re

import pytest
import torch

from gradlab.explanation.curve import curve, schedule_curve
from gradlab.explanation.plot import Plot, ticks
from gradlab.nn.blocks import blocks
from gradlab.training.schedules import schedules


def test_the_curve_of_a_loss_is_the_loss_and_its_derivative():
    plot = curve("loss.huber")
    assert plot is not None
    function, slope = plot.lines.values()
    for x, y, dy in zip(plot.x, function, slope, strict=True):
        assert y == pytest.approx(0.5 * x * x if abs(x) <= 1 else abs(x) - 0.5, abs=1e-6)
        assert dy == pytest.approx(max(-1, min(1, x)), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("gaussian", lambda u: math.exp(-u * u / 2)),
        ("boxcar", lambda u: float(u <= 1)),
        ("epanechnikov", lambda u: max(0.0, 1 - u * u)),
        ("triangular", lambda u: max(0.0, 1 - u)),
    ],
)
def test_the_curve_of_a_kernel_is_the_kernel(name, kernel):
    plot = curve(f"attention.{name}")
    assert plot is not None
    (values,) = plot.lines.values()
    assert values == pytest.approx([kernel(u) for u in plot.x], abs=1e-4)


def test_the_curve_of_a_schedule_is_its_factor():
    (factors,) = schedule_curve(schedules["cosine"](50), 50).lines.values()
    assert (factors[0], factors[-1]) == (1.0, 0.0)


@pytest.mark.parametrize("name", [name for name in sorted(blocks) if name.split(".")[0] in ("activation", "loss")])
def test_no_stroke_leaves_the_picture(name):
    plot = curve(name)
    if plot is None:
        assert name in ("activation.maxout",)
        return
    picture = plot.figure()
    _, _, width, height = map(float, re.search(r'viewBox="([^"]+)"', picture)[1].split())
    for path in re.findall(r'<path d="([^"]+)"', picture):
        for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", path):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


def test_a_jump_is_no_line():
    x = torch.linspace(-1, 1, 101)
    picture = Plot(x.tolist(), "x", {"a step": (x >= 0).float().tolist()}, (-0.5, 1.5)).figure()
    assert re.search(r'<path d="([^"]+)"', picture)[1].count("M") == 2


def test_ticks_are_few_and_round():
    for low, high in [(-4, 4), (0, 1.05), (0, 199), (-0.2, 1.2), (0.002, 0.998), (-1e-3, 1e-3)]:
        found = ticks(low, high)
        assert 3 <= len(found) <= 9
        assert low <= found[0] < found[-1] <= high
