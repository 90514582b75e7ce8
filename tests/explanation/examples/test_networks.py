"""Networks as functions, units that cannot learn, lookups and PyTorch's parts: the numbers of the worked examples."""

import math
import re

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from gradlab.explanation.examples import networks
from gradlab.explanation.walk import Walk


def values(name):
    return [step.values for step in Walk.of(name).steps]


def floats(text):
    return [float(x) for x in re.findall(r"[-+]?\d+\.?\d*(?:e-?\d+)?", text.replace(",", " "))]


def test_the_network_of_21_parameters():
    shown = values("nn-2-5-1")
    assert "5×2, 5, 1×5, 1, which is 21 parameters" in shown[0]
    network = networks.realisation(0)
    a1, b1, a2, b2 = (p.detach().numpy() for p in network.parameters())
    wanted = [float((a2 @ np.maximum(0, a1 @ x + b1) + b2)[0]) for x in ([0, 0], [0, 1], [1, 0], [1, 1])]
    assert floats(shown[1].split(";")[0]) == pytest.approx(wanted, rel=1e-2)
    assert float(shown[2]) == pytest.approx(wanted[3], rel=1e-2)


def test_the_exclusive_or_and_the_number_of_parameters():
    shown = values("two-layer-net")
    assert [int(n.replace(",", "")) for n in re.findall(r": ([\d,]+)", shown[1])] == [9, 21, 7861]
    assert [5 * 0 + m * d + m + m + 1 for d, m in ((2, 2), (3, 4), (784, 10))] == [9, 21, 7861]
    assert shown[2] == "f(0, 0) = 0, f(0, 1) = 1, f(1, 0) = 1, f(1, 1) = 0"


def test_logistic_regression_is_scikit_learns():
    salary = np.logspace(3, 6.3, 200)
    repaid = 1 / (1 + (40_000 / salary) ** 1.5)
    both = np.concatenate([np.ones(200), np.zeros(200)])
    shown = values("linear-limitations")
    for feature, text, step in (
        (salary, shown[1], 50_000),
        (np.log(salary), shown[2], math.log(51)),
    ):
        scale = feature.std()
        theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(
            np.tile(feature / scale, 2)[:, None], both, sample_weight=np.concatenate([repaid, 1 - repaid])
        )
        slope = float(theirs.coef_[0, 0]) / scale
        assert float(re.search(r"51,000: ([+\d.]+)", text)[1]) == pytest.approx(slope * step, rel=2e-3)
        logit = theirs.decision_function((feature / scale)[:, None])
        loss = np.mean(np.logaddexp(0, logit) - repaid * logit)
        assert float(text.split("loss ")[1]) == pytest.approx(loss, abs=1e-4)
    assert shown[3].endswith("by its logarithm 0.11, 0.50, 0.89")
    assert "slope of the best line 0.000; largest error of the two units 0" in shown[4]


def test_a_dead_unit_stays_and_a_leaky_one_comes_back():
    shown = values("dead-relu")
    assert floats(shown[0].split("=")[1]) == [-3, -2.75, -2.5, -2.25, -2]
    # The outputs are 0, so the loss is half the mean square of 2x + 1: ½ · mean(1, 2.25, 4, 6.25, 9) = 2.25
    assert shown[1] == "loss 2.250 → 2.250, largest gradient 0"
    assert floats(shown[2])[1] < 1e-6
    assert floats(shown[3])[1] < 1e-3
    w, b, *losses = floats(shown[4])
    assert w < 0
    assert b < 0
    assert losses == [2.25] * 3


def test_nothing_before_steps_learns():
    shown = values("piecewise-constant-activation")
    assert "first layer: 0;" in shown[0]
    assert shown[1].startswith("first weights moved by 0, ")
    moved, _, after = floats(shown[2])
    assert moved > 0.1
    assert after < floats(shown[1])[2] / 3


def test_the_lookup():
    shown = values("differentiable-lookup")
    assert shown[0] == "lookup(e₃) = [2.0, 2.0] = v₃ = [2.0, 2.0]"
    assert shown[1].endswith("= [10.0, 0.0]")
    assert "0.3522 = 0.3522" in shown[2]
    v = np.array([[1, 0], [0, 1], [2, 2], [-1, 3], [4, -1], [0, -2.0]])
    p = np.exp([0, 0, 1, 0, 0, 0]) / (math.e + 5)
    assert shown[2].endswith(str([round(x, 4) for x in (p @ v).tolist()]))
    q = np.exp([0, 0, 1, 0, 2, 0])
    q /= q.sum()
    assert floats(shown[4]) == pytest.approx((q * (v[:, 0] - q @ v[:, 0])).tolist(), abs=6e-4)


def test_transforms_and_blocks():
    shown = values("totensor-onehot")
    assert "[[0.0, 0.2], [0.4, 1.0]], mean 0.40" in shown[0]
    assert shown[1] == "[[-0.05, 0.2], [0.46, 1.23]]"  # (x - 10) / 200
    assert shown[2] == "[0, 0, 0, 1, 0, 0, 0, 0, 0, 0], as torch.nn.functional.one_hot has it: True"
    blocks = values("building-blocks-demo")
    shapes = ["(3, 28, 28) → (3, 784)", "(3, 8) → (3, 4)", "(3, 8) → (3, 8)", "(3, 8) → (3, 8)"]
    assert all(text.startswith(shape) for text, shape in zip(blocks, shapes, strict=True))
    assert blocks[3].endswith("sums [1.0, 1.0, 1.0]")
    below = int((torch.rand(3, 28, 28, generator=(g := torch.Generator().manual_seed(0))) < 0).sum())
    below += int((torch.rand(3, 8, generator=g) < 0.5).sum())
    assert f"below 0: {below} before, 0 after" in blocks[2]


def test_the_module():
    shown = values("nn-module")
    assert shown[0].startswith("layers.0.weight 512×784; layers.0.bias 512; layers.2.weight 512×512")
    assert 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10 == 669_706
    assert shown[1] == "669,706 and 669,706"
    assert shown[2] == "the same numbers: True; the hook ran 1 time in two calls"
