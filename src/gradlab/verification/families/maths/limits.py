"""What is known of the ways in which random variables converge, and of sums of many of them."""

from math import sqrt
from typing import Any

import torch
from torch import Tensor

from gradlab.maths.probability import JointTable, convergence, limits
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

MODES = ("lp_error", "probability_ever_apart", "ky_fan_distance", "levy_distance", "typewriter")
for _name in MODES:
    subject(f"maths.{_name}")(getattr(convergence, _name))
for _name in ("running_mean", "scaled_sum", "kolmogorov_distance", "random_walks", "walk_table"):
    subject(f"maths.{_name}")(getattr(limits, _name))

BERRY_ESSEEN = 0.4748  # of Shevtsova 2011, which is the least constant known


def pair(case: Case) -> tuple[Tensor, Tensor]:
    """Two variables on as many equally likely outcomes."""
    outcomes = case.integer("outcomes", 1, 8)
    x = case.tensor("X", outcomes, scale=case.choice("scale", (1.0, 0.1, 10.0))).detach()
    return x, x + case.tensor("Y - X", outcomes, scale=case.choice("distance", (1.0, 0.1))).detach()


# Modes of convergence, in inequalities that say which follows from which


def _sum_of_powers(x: Tensor, y: Tensor, order: float = 2.0) -> Tensor:
    return (x - y).abs().pow(order).sum(-1).pow(1 / order)


@law("maths.lp_error", fault=_sum_of_powers, id="convergence-modes")
def a_higher_order_implies_a_lower_one(case: Case) -> float:
    """(E|X - Y|^q)^(1/q) ≤ (E|X - Y|^p)^(1/p) for q ≤ p: convergence in L^p implies that in L^q"""
    (x, y), q = pair(case), case.real("q", 1, 3)
    error, p = case.build(), q + case.real("p - q", 0, 3)
    return excess(error(x, y, q), error(x, y, p) * (1 + 1e-12))


@law("maths.ky_fan_distance", fault=lambda x, y: (x - y).abs().amax(-1), id="convergence-modes")
def convergence_in_mean_implies_that_in_probability(case: Case) -> float:
    r"""$P[|X - Y| > d] \le d$ for $d = d(X, Y) \le (E |X - Y|^p)^{1/(p+1)}$, by Markov's inequality"""
    (x, y), p = pair(case), case.real("p", 1, 4)
    distance = case.build()(x, y)
    exceeded = convergence.probability_apart(x, y, float(distance))
    most = convergence.lp_error(x, y, p) ** (p / (p + 1))
    return max(excess(exceeded, distance), excess(distance, most * (1 + 1e-12)))


def _largest_step(x: Tensor, y: Tensor) -> Tensor:
    """Kolmogorov's distance: 1 for constants that are ever so close."""
    t = torch.cat([x, y])
    return (convergence.cdf(x.sort().values, t) - convergence.cdf(y.sort().values, t)).abs().max()


@law("maths.levy_distance", fault=_largest_step, id="convergence-modes")
def convergence_in_probability_implies_that_in_distribution(case: Case) -> float:
    """Lévy's distance of the laws ≤ Ky Fan's of X and Y, and not the reverse: a rearranged X has the same law"""
    x, y = pair(case)
    distance = case.build()
    rearranged = x[case.permutation("order", len(x))]
    return max(excess(distance(x, y), convergence.ky_fan_distance(x, y) + 1e-9), float(distance(x, rearranged)))


def _at_one_time(sequence: Tensor, limit: Tensor, distance: float) -> Tensor:
    return convergence.probability_apart(sequence, limit[..., None, :], distance)


@law("maths.probability_ever_apart", fault=_at_one_time, id="convergence-modes")
def convergence_almost_surely_implies_that_in_probability(case: Case) -> float:
    """P[|Xₙ - X| > ε] ≤ P[|Xₘ - X| > ε for some m ≥ n], which falls with n"""
    times, outcomes = case.integer("times", 1, 5), case.integer("outcomes", 1, 6)
    sequence, limit = case.tensor("sequence", times, outcomes).detach(), case.tensor("limit", outcomes).detach()
    epsilon = case.real("ε", 0.1, 2)
    got = case.build()(sequence, limit, epsilon)
    paths = [[abs(float(sequence[m, w] - limit[w])) > epsilon for m in range(times)] for w in range(outcomes)]
    wanted = [sum(any(path[n:]) for path in paths) / outcomes for n in range(times)]
    once = convergence.probability_apart(sequence, limit, epsilon)
    return max(difference(got, torch.tensor(wanted, dtype=torch.float64)), excess(once, got))


def _in_place(n: int, omega: Tensor) -> Tensor:
    """Blocks that shrink towards 0: these do converge almost surely, at all ω but 0."""
    return (omega < 1 / convergence.sweep(n)[0]).to(omega.dtype)


@law("maths.typewriter", fault=_in_place, id="convergence-modes")
def the_typewriter_converges_in_probability_and_in_mean_but_nowhere_surely(case: Case) -> float:
    r"""$P[X_n \ne 0] = \frac{1}{k} \to 0$ and $\|X_n\|_p = k^{-1/p} \to 0$, yet every sweep hits every $\omega$ once"""
    sweeps, p = case.integer("sweeps", 2, 6), case.real("p", 1, 4)
    outcomes = 60  # which sweeps of up to 6 steps divide evenly
    omega = (torch.arange(outcomes, dtype=torch.float64) + 0.5) / outcomes
    typewriter = case.build()
    steps = [(k, [typewriter(k * (k - 1) // 2 + j, omega) for j in range(k)]) for k in range(1, sweeps + 1)]
    errors = [
        difference(
            (x.mean(), convergence.lp_error(x, torch.zeros_like(x), p)),
            (omega.new_tensor(1 / k), omega.new_tensor(k ** (-1 / p))),
        )
        for k, sweep in steps
        for x in sweep
    ]
    hits = [float((torch.stack(sweep).sum(0) - 1).abs().max()) for _, sweep in steps]
    return max(*errors, *hits)


# Many draws


@peer("maths.running_mean", "scipy.stats.sem")
def scipys_standard_errors(case: Case) -> float:
    from scipy.stats import sem  # type: ignore[import-untyped]

    x = case.tensor("x", case.integer("draws", 2, 8)).detach() + case.choice("far", (0.0, 1e4))
    mean, error = case.build()(x)
    parts = [x[:n].numpy() for n in range(2, len(x) + 1)]
    wanted = ([part.mean() for part in parts], [sem(part) for part in parts])
    return difference((mean[1:], error[1:]), tuple(torch.tensor(each, dtype=torch.float64) for each in wanted))


def _by_the_root(draws: Tensor) -> limits.Running:
    n = torch.arange(1, draws.shape[-1] + 1, dtype=draws.dtype)
    return limits.Running(draws.cumsum(-1) / n.sqrt(), limits.running_mean(draws).error)


def _without_root(draws: Tensor) -> limits.Running:
    mean, error = limits.running_mean(draws)
    return limits.Running(mean, error * torch.arange(1, draws.shape[-1] + 1, dtype=draws.dtype).sqrt())


@law("maths.running_mean", fault=[_by_the_root, _without_root], id="slln", tolerance=5.0, most_cases=2)
def means_come_and_stay_near_the_expectation(case: Case) -> float:
    r"""$\bar X_n \to E X$ almost surely; its error is $\sigma / \sqrt n$, as the standard errors say

    In standard errors over 500 sequences of exponential draws: mean squares of $(\bar X_n - 1) \sqrt n$ are 1, and
    $P[\sup_{m \ge n} |\bar X_m - 1| > \varepsilon] \le 2 / (n \varepsilon^2)$, which is Hájek and Rényi's inequality.
    """
    sequences, most, epsilon = 500, 2048, 0.2
    draws = torch.empty(sequences, most, dtype=torch.float64).exponential_(generator=case.generator("draws"))
    mean, error = case.build()(draws)
    n = torch.tensor([32, 256, 2048])
    squares = (mean[:, n - 1] - 1).square() * n
    scores = (squares.mean(0) - 1).abs() / ((2 + 6 / n) / sequences).sqrt()  # the fourth moment of a sum of n
    bars = (error[:, n - 1].square() * n).mean(0)  # s² has the variance (κ - 1)σ⁴/n, with the kurtosis κ = 9
    scores = torch.cat([scores, (bars - 1).abs() / (8 / n / sequences).sqrt()])
    leaves = convergence.probability_ever_apart(mean.mT, torch.ones(sequences), epsilon)[n - 1]
    bound = 2 / (n * epsilon**2)
    over = (leaves - bound) / ((bound.clamp(max=1) * (1 - bound.clamp(max=0.99))) / sequences).sqrt()
    return float(torch.cat([scores, over]).max())


@peer("maths.kolmogorov_distance", "scipy.stats.kstest")
def scipys_test(case: Case) -> float:
    from scipy.stats import kstest, norm

    x = case.tensor("x", case.integer("draws", 1, 9)).detach()
    mean, std = case.real("mean", -1, 1), case.real("std", 0.5, 2)
    wanted = kstest(x.numpy(), norm(mean, std).cdf).statistic
    return difference(case.build()(x, mean, std), torch.tensor(wanted, dtype=torch.float64))


def _mean_instead(draws: Tensor, mean: float = 0.0) -> Tensor:
    return (draws - mean).mean(-1)


SUMMANDS: dict[str, Any] = {  # draws with the mean 0, their variance, and E |X|³
    "exponential": (lambda shape, g: torch.empty(shape, dtype=torch.float64).exponential_(generator=g) - 1, 1, 2.4146),
    "uniform": (lambda shape, g: torch.rand(shape, generator=g, dtype=torch.float64) - 0.5, 1 / 12, 1 / 32),
    "coin": (lambda shape, g: torch.randint(2, shape, generator=g).double() - 0.5, 1 / 4, 1 / 8),
}


@law("maths.scaled_sum", fault=_mean_instead, id="clt", tolerance=0.0, most_cases=3)
def sums_of_many_draws_are_nearly_normal(case: Case) -> float:
    """|P[n^(-1/2) Σ Xᵢ ≤ t] - Φ(t/σ)| ≤ 0.4748 E|X|³/(σ³√n) → 0 for all t

    That is Berry and Esseen's inequality, for 20,000 sums of up to 256 draws; as many draws of the normal law itself
    are further than 2.5/√20,000 off with a chance of 7e-6.
    """
    draw, variance, third = SUMMANDS[case.choice("summands", tuple(SUMMANDS))]
    total, sums, by_chance = case.build(), 20_000, 2.5 / sqrt(20_000)
    over = list[float]()
    for n in (1, 16, 256):
        values = total(draw((sums, n), case.generator(f"{n}")))
        distance = float(limits.kolmogorov_distance(values, 0.0, sqrt(variance)))
        over.append(distance - BERRY_ESSEEN * third / (variance**1.5 * sqrt(n)) - by_chance)
    return max(0.0, *over)


def _with_normal_steps(steps: int, walks: int = 1, generator: torch.Generator | None = None) -> Tensor:
    return torch.nn.functional.pad(torch.randn(walks, steps, generator=generator).cumsum(-1), (1, 0))


@law("maths.random_walks", fault=_with_normal_steps, tolerance=5.5, most_cases=2)
def places_of_random_walks_are_binomial(case: Case) -> float:
    """P[Yₙ = k] = n! / (((n + k)/2)! ((n - k)/2)!) / 2ⁿ, in standard errors of 20,000 walks"""
    steps, walks = case.integer("steps", 1, 6), 20_000
    ends = case.build()(steps, walks, generator=case.generator("walks"))[:, -1]
    scores = []
    for place in range(-steps, steps + 1):
        p, share = limits.walk_probability(steps, place), float((ends == place).double().mean())
        scores.append(abs(share - p) / sqrt(p * (1 - p) / walks) if 0 < p < 1 else abs(share - p) * walks)
    return max(scores)


@law("maths.walk_table", fault=lambda steps: _forgetful(limits.walk_table(steps)))
def the_table_of_walks_has_their_places(case: Case) -> float:
    """P[Yₙ = k] = n! / (((n + k)/2)! ((n - k)/2)!) / 2ⁿ"""
    steps = case.integer("steps", 1, 5)
    last = case.build()(steps).marginal(f"Y{steps}")
    (places,) = last.values.values()
    wanted = torch.tensor([limits.walk_probability(steps, place) for place in places], dtype=torch.float64)
    return difference(last.probabilities, wanted)


def _forgetful(table: JointTable) -> JointTable:
    """Every way through the places equally likely."""
    p = torch.full_like(table.probabilities, 1 / table.probabilities.numel())
    return JointTable(p, table.names, table.values)
