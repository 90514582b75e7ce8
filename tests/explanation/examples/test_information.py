"""Examples of information, latent variables and decoding: the numbers they show, by other ways."""

import math
import re

import pytest
from scipy import integrate, optimize, stats

from gradlab.explanation.walk import Walk


def values(name):
    return [step.values for step in Walk.of(name).steps]


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text.replace("−", "-"))]


def test_one_divergence_is_log_2_and_the_other_infinite():
    surprises, there, back, code, symmetric = values("kl-asymmetry-exercise")
    assert surprises == "surprises in bits: (1, 1, ∞) and (2, 2, 1)"
    assert numbers(there) == [round(math.log(2), 4), 1]
    assert back == "∞"
    assert numbers(code)[-1] == 1
    assert "need 2 bits" in code
    js = 0.5 * stats.entropy([0.5, 0.5, 0], [0.375, 0.375, 0.25]) + 0.5 * stats.entropy(
        [0.25, 0.25, 0.5], [0.375, 0.375, 0.25]
    )
    assert numbers(symmetric) == [0.5, round(js, 4)]


def log_joint(z, theta, x):
    return math.log(theta) - theta * z - 0.5 * (x - z) ** 2 - 0.5 * math.log(2 * math.pi)


def joint(z, theta, x):
    return math.exp(log_joint(z, theta, x))


def bound(theta, phi, x):
    """By quadrature, not in closed form."""

    def term(z):
        return phi * math.exp(-phi * z) * (log_joint(z, theta, x) - math.log(phi) + phi * z)

    return integrate.quad(term, 0, 30 / phi)[0]


def test_the_bound_of_an_exponential_prior_and_its_highest_point():
    _, evidence, three, gap, best, likely = map(numbers, values("elbo-exp-example"))
    true = math.log(integrate.quad(joint, 0, 40, args=(1.0, 2.0))[0])
    assert evidence[1:] == pytest.approx([true, true], abs=1e-4)
    assert three[1:] == pytest.approx([bound(1, 1, 2), true, bound(1, 1, 2) + 0.5], abs=1e-4)
    assert gap[0] + gap[1] == pytest.approx(true, abs=2e-4)
    highest = optimize.minimize(lambda p: -bound(*p, 2.0), [0.7, 1.4], method="Nelder-Mead", options={"xatol": 1e-4})
    assert highest.x == pytest.approx([1, 1], abs=1e-3)
    assert best[:2] == pytest.approx([1, -highest.fun], abs=1e-4)
    assert max(best[2:4]) < best[1]
    for x, rate in zip((0.5, 2.0, 5.0), likely[::2], strict=True):
        found = optimize.minimize_scalar(
            lambda t, x=x: -integrate.quad(joint, 0, 40, args=(t, x), points=[x])[0], bounds=(0.05, 8), method="bounded"
        )
        assert rate == pytest.approx(found.x, abs=2e-3)


def test_the_search_keeps_two_and_changes_its_mind():
    one, two, three, scores, tree, greedy = values("beam-example")
    assert one == "he -0.7, I -0.9"
    assert two.startswith("I was -1.6, he hit -1.7")
    assert three == "he hit me -2.5, he hit a -2.8"
    assert numbers(scores) == pytest.approx([-2.5, 3, -0.833, -2.8, 3, -0.933])
    assert tree.count("■") == 2
    assert greedy == "he hit me: -2.5"
