"""The numbers of the walks through probability, computed apart from the library: by fractions, loops and SciPy."""

import re
from fractions import Fraction
from math import comb, pi, sqrt

import numpy as np
import pytest
from scipy.stats import gumbel_r

from gradlab.explanation.walk import Walk


def values(name):
    return [step.values for step in Walk.of(name).steps]


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def test_a_pair_without_a_density():
    found = values("no-joint-density")
    assert numbers(found[1]) == [0, pytest.approx(1 / sqrt(2 * pi), abs=1e-4)]
    assert found[2] == "det Σ = 0, eigenvalues 0, 2"
    assert found[3].endswith("draws: 0")
    densities = [numbers(part)[-1] for part in found[4].split("; ")]
    assert densities == pytest.approx([0.125, 1.25, 12.5], rel=1e-3)  # without bound, as 1/h
    assert "rank 1 of 2, so there is no density" in found[5]


def test_the_typewriter():
    found = values("typewriter-sequence")
    path = [int(k * 0.3) == j for k in range(1, 200) for j in range(k)]
    assert found[0].endswith(", ".join(str(int(x)) for x in path[:10]))
    assert numbers(found[1])[1::2] == [1 / 2, 1 / 20, 1 / 200]
    assert numbers(found[2])[1::2] == pytest.approx([k**-0.5 for k in (2, 20, 200)], rel=1e-3)
    assert "hit ω = 0.3 199 times; least and most of a sweep: 1, 1" in found[3]
    assert sum(path) == 199
    assert found[4].endswith(f"{max(n for n, hit in enumerate(path) if hit):,}")


def test_the_random_walk():
    found = values("random-walk")
    law = [comb(4, k) / 16 for k in range(5)]
    assert [numbers(part)[-1] for part in found[1].split(", ")] == law
    assert found[2] == "by Y₁ = -1: 0.5, by Y₁ = 1: 0.5; by any past laws differ by 0"
    assert "1, 2, 3, 4;" in found[3]
    assert numbers(found[3])[-1] == pytest.approx(10, abs=0.2)
    assert numbers(found[4])[2::3] == pytest.approx([comb(n, n // 2) / 2**n for n in (2, 10, 100)], abs=1e-4)


def test_the_hidden_chain():
    half, fifth = Fraction(1, 2), Fraction(1, 5)
    rows = [[0, 0, half, 0, half], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [fifth] * 5, [0, 0, 0, 1, 0]]
    start = [Fraction(n, 24) for n in (6, 5, 4, 5, 4)]
    assert [sum(start[i] * rows[i][j] for i in range(5)) for j in range(5)] == start
    group = [1, 1, 1, 2, 2]

    def seen(*groups):
        return sum(
            start[i] * rows[i][j] * rows[j][k]
            for i in range(5)
            for j in range(5)
            for k in range(5)
            if (group[i], group[j], group[k])[: len(groups)] == groups
        )

    after_11, after_21 = seen(1, 1, 2) / seen(1, 1), seen(2, 1, 2) / seen(2, 1)
    assert (after_11, after_21) == (Fraction(5, 24), Fraction(1, 6))
    found = values("hmm-lumped-chain")
    assert numbers(found[1]) == pytest.approx([float(p) for p in start], abs=1e-4)
    assert numbers(found[3])[:2] == pytest.approx([5 / 24, 1 / 6], abs=1e-6)
    past = {(a, b): seen(a, b, 2) / seen(a, b) for a in (1, 2) for b in (1, 2)}
    present = {b: sum(seen(a, b, 2) for a in (1, 2)) / sum(seen(a, b) for a in (1, 2)) for b in (1, 2)}
    furthest = max(abs(past[a, b] - present[b]) for a, b in past)
    assert numbers(found[4])[0] == pytest.approx(float(furthest), abs=1e-6)


def test_gumbels_likelihood():
    x = np.array([0.2, 0.5, 0.9, 1.3, 1.4, 2.1, 2.6, 3.9])
    found = values("gumbel-mle")
    assert numbers(found[1])[-1] == pytest.approx(-gumbel_r(1, 1).logpdf(x).sum(), abs=1e-6)
    h = 1e-6
    slopes = [
        (gumbel_r(1 - a, 1 - b).logpdf(x).sum() - gumbel_r(1 + a, 1 + b).logpdf(x).sum()) / (2 * h)
        for a, b in ((h, 0), (0, h))
    ]
    assert numbers(found[2])[2:] == pytest.approx([*slopes, *slopes], abs=1e-5)
    assert numbers(found[4])[:2] == pytest.approx(gumbel_r.fit(x), abs=1e-5)


def test_logistic_regression_on_squares():
    from sklearn.datasets import make_circles
    from sklearn.linear_model import LogisticRegression

    points, labels = make_circles(400, noise=0.2, factor=0.5, random_state=0)
    squared = (points**2).sum(1, keepdims=True)
    judge = LogisticRegression(C=np.inf, tol=1e-10).fit(squared, labels)
    line, circle, radius, both, separable = values("nonlinear-feature-logistic")[1:]
    assert numbers(line)[-1] < 0.55
    assert numbers(circle) == pytest.approx(
        [judge.coef_.item(), judge.intercept_.item(), judge.score(squared, labels)], abs=2e-3
    )
    assert numbers(radius)[0] == pytest.approx(sqrt(-judge.intercept_.item() / judge.coef_.item()), abs=1e-3)
    assert numbers(both)[-1] > 0.9
    assert "separable" in separable
