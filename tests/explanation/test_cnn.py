"""Backpropagation through convolution and pooling by hand: its worked example, and its training beside torch."""

import re

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gradlab.explanation.cnn import DOC
from gradlab.explanation.equations import mathml, terminal
from gradlab.explanation.side_by_side import SideBySide
from gradlab.explanation.worked import Worked
from gradlab.scratch import gates

STEPS = 12


@pytest.fixture(scope="module")
def worked():
    return Worked.example()


def test_the_worked_example_is_that_of_torch(worked):
    shown = {grid.symbol: grid.values for grid in worked.forwards + worked.backwards}
    x, w = (torch.tensor(shown[name], requires_grad=True) for name in "xW")
    b = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = F.conv2d(x[None, None], w[None, None], b[None])
    z = F.max_pool2d(y, 2)
    gradients = torch.autograd.grad(z, [y, w, b, x], torch.tensor(shown[by("z")])[None, None])
    assert shown["y"].tolist() == y[0, 0].tolist()
    assert shown["z"].tolist() == z[0, 0].tolist()
    for name, gradient in zip("yWbx", gradients, strict=True):
        assert shown[by(name)].ravel().tolist() == gradient.ravel().tolist(), name
    mean, spread = worked.mean
    means = F.avg_pool2d(y.detach().requires_grad_(), 2)
    assert mean.values.tolist() == means[0, 0].tolist()
    assert spread.values.tolist() == np.kron(shown[by("z")], np.full((2, 2), 0.25)).tolist()


def by(name):
    return rf"\frac{{\partial \ell}}{{\partial {name}}}"


def test_each_sum_that_is_written_out_is_right(worked):
    shown = {grid.symbol: grid.values for grid in worked.backwards}
    for latex in worked.entries:
        name, row, column, terms, total = re.fullmatch(
            r"\\frac{\\partial \\ell}{\\partial (\w)_{(\d),(\d)}} = (.+) = (\S+)", latex
        ).groups()
        assert len(terms.split("+")) >= 3
        assert eval(terms.replace(r"\cdot", "*")) == float(total) == shown[by(name)][int(row), int(column)]


def test_every_equation_can_be_drawn(worked):
    grids = worked.forwards + worked.backwards + worked.mean
    for latex in [*DOC.equations, *worked.entries, *(grid.latex for grid in grids)]:
        assert terminal(latex)
        assert mathml(latex)


def test_losses_are_those_of_torch_step_by_step():
    training = SideBySide.of_digits(STEPS)
    assert len(training.by_hand) == STEPS
    assert max(training.differences) < 1e-12
    assert training.by_engine == pytest.approx(training.by_torch, abs=1e-12)
    assert training.by_hand[-1] < training.by_hand[0] - 0.5
    assert training.accuracy["NumPy"] == training.accuracy["PyTorch"]
    assert np.abs(training.after - training.before).max() > 1e-3


def test_a_kernel_that_is_not_turned_on_the_way_back_is_seen_in_the_losses(monkeypatch):
    right = gates.correlate

    def correlate(x, w):
        z, (_, dw) = right(x, w)
        return z, (right(x, w[:, :, ::-1, ::-1])[1][0], dw)

    monkeypatch.setattr(gates, "correlate", correlate)
    training = SideBySide.of_digits(STEPS)
    assert training.differences[0] < 1e-12, "the first loss is that of the same weights"
    assert max(training.differences) > 1e-3
