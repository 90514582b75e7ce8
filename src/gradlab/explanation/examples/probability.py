"""Worked examples of probability: a pair without a density, a sequence without a limit, walks and hidden chains."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from gradlab.errors import GradlabError
from gradlab.explanation.walk import Step, worked
from gradlab.maths.markov import MarkovChain, lumped, memory
from gradlab.maths.probability import Normal, lp_error, random_walks, typewriter, walk_table
from gradlab.maths.probability.limits import walk_probability


def numbers(values: Iterable[Any]) -> str:
    return ", ".join(f"{float(value):.4g}" for value in values)


def refusal(call: Callable[[], Any]) -> str:
    """What the library says of something that it cannot do."""
    try:
        call()
    except GradlabError as error:
        return str(error)
    raise AssertionError("it should have been refused")


@worked("no-joint-density", "Two variables with densities whose pair has none")
def no_joint_density() -> list[Step]:
    x = Normal([0.0], [[1.0]])
    pair = x.affine([[1.0], [1.0]])
    draws = pair.sample(1000, generator=torch.Generator().manual_seed(0))
    inside = 1 - 2 * float(torch.special.ndtr(torch.tensor(-4.0, dtype=torch.float64)))
    density = float(x.density(torch.zeros(1, dtype=torch.float64)))
    squares = [f"side {side:g}: area {8 * side:g}, mean density {inside / (8 * side):.4g}" for side in (1, 0.1, 0.01)]
    return [
        Step("Take a standard normal variable twice: $Y = X$.", r"X \sim N(0, 1), \qquad Y = X"),
        Step(
            "Each has a density.",
            r"p_X(t) = p_Y(t) = \frac{1}{\sqrt{2 \pi}} e^{-t^2 / 2}",
            f"p_X(0) = {density:.4f}",
        ),
        Step(
            "The pair is normal too, with a singular covariance.",
            r"\Sigma = \begin{pmatrix} 1 & 1 \\ 1 & 1 \end{pmatrix}, \qquad \det \Sigma = 0",
            f"det Σ = {float(torch.linalg.det(pair.covariance)):g}, "
            f"eigenvalues {numbers(torch.linalg.eigvalsh(pair.covariance))}",
        ),
        Step(
            "All its mass is on the diagonal, which has no area.",
            r"P[Y = X] = 1, \qquad \int_{\{y = x\}} p(x, y) \, dx \, dy = 0",
            f"largest |x - y| of 1000 draws: {float((draws[:, 0] - draws[:, 1]).abs().max()):g}",
        ),
        Step(
            "Squares along the diagonal from -4 to 4 hold nearly everything, however small they are: a density would "
            "have to grow without bound.",
            r"\frac{P[|X| \le 4]}{8 h} \to \infty \quad (h \to 0)",
            "; ".join(squares),
        ),
        Step("So there is none to ask for.", values=refusal(lambda: pair.density(draws[0]))),
    ]


@worked("typewriter-sequence", "A sequence that converges in probability and in mean, but at no point")
def typewriter_sequence() -> list[Step]:
    sweeps, omega = 199, torch.tensor([0.3], dtype=torch.float64)
    ends = [(k, k * (k - 1) // 2, k * (k + 1) // 2) for k in range(1, sweeps + 1)]
    path = torch.cat([typewriter(n, omega) for n in range(ends[-1][2])])
    hits = [int(path[first:last].sum()) for _, first, last in ends]
    grid = (torch.arange(6000, dtype=torch.float64) + 0.5) / 6000
    shown = {k: typewriter(k * (k - 1) // 2, grid) for k in (2, 20, 200)}
    apart = ", ".join(f"k = {k}: {float(x.mean()):.4g}" for k, x in shown.items())
    errors = ", ".join(f"k = {k}: {float(lp_error(x, torch.zeros_like(x))):.4g}" for k, x in shown.items())
    return [
        Step(
            "Sweep k goes over [0, 1) in k steps, each of which is 1 on a k-th of it.",
            r"X_n = 1_{[j/k, \, (j+1)/k)}, \qquad n = \frac{k (k - 1)}{2} + j",
            f"X₀, …, X₉ at ω = 0.3: {numbers(path[:10])}",
        ),
        Step("It converges to 0 in probability.", r"P[X_n \ne 0] = \frac{1}{k} \to 0", apart),
        Step("And in every L^p, here in mean square.", r"\|X_n\|_2 = k^{-1/2} \to 0", errors),
        Step(
            "Yet each sweep hits every ω once, so that $X_n(\\omega)$ has no limit for any ω.",
            r"\limsup_n X_n(\omega) = 1, \qquad \liminf_n X_n(\omega) = 0",
            f"sweeps 1 to {sweeps} hit ω = 0.3 {sum(hits)} times; least and most of a sweep: {min(hits)}, {max(hits)}",
        ),
        Step(
            "The probability of ever being 1 again stays 1: that is what fails.",
            r"P\left[ \sup_{m \ge n} X_m > \frac{1}{2} \right] = 1 \text{ for all } n",
            f"last hit among the first {len(path):,} variables: number {int(path.nonzero().max()):,}",
        ),
    ]


@worked("random-walk", "The simple random walk, which remembers nothing but its place")
def random_walk() -> list[Step]:
    table = walk_table(4)
    third = table.marginal("Y1", "Y2", "Y3")
    came = {first: float(third.condition(Y1=first, Y2=0).probability(lambda y: y == 1)) for first in (-1, 1)}
    last = table.marginal("Y4")
    squares = [float(table.marginal(f"Y{n}").expectation(lambda y: y * y)) for n in range(1, 5)]
    walks = random_walks(100, 20_000, torch.Generator().manual_seed(0))
    return [
        Step(
            "Steps of 1 up or down, each as likely, are added up.",
            r"Y_n = \sum_{i \le n} X_i, \qquad P[X_i = 1] = P[X_i = -1] = \frac{1}{2}",
        ),
        Step(
            "Of 16 equally likely ways of four steps, so many end at each place.",
            r"P[Y_n = k] = \binom{n}{(n + k) / 2} 2^{-n}",
            ", ".join(
                f"P[Y₄ = {k}] = {p:g}" for k, p in zip(last.values["Y4"], last.probabilities.tolist(), strict=True)
            ),
        ),
        Step(
            "How it came to its place does not matter: it is a Markov chain.",
            r"P[Y_3 = 1 \mid Y_2 = 0, Y_1] = P[Y_3 = 1 \mid Y_2 = 0] = \frac{1}{2}",
            f"by Y₁ = -1: {came[-1]:g}, by Y₁ = 1: {came[1]:g}; by any past laws differ by {float(memory(third)):g}",
        ),
        Step(
            "Variances of independent steps add up, so that it is about √n away from 0.",
            r"E Y_n = 0, \qquad E Y_n^2 = n",
            f"E Yₙ² for n = 1, …, 4: {numbers(squares)}; of 20,000 walks, √E Y₁₀₀² = {float(walks[:, -1].std()):.3f}",
        ),
        Step(
            "It comes back ever more rarely.",
            r"P[Y_{2n} = 0] = \binom{2n}{n} 2^{-2n} \approx \frac{1}{\sqrt{\pi n}}",
            ", ".join(f"P[Y_{n} = 0] = {walk_probability(n, 0):.4f}" for n in (2, 10, 100)),
        ),
    ]


_HIDDEN = [
    [0, 0, 1 / 2, 0, 1 / 2],
    [1, 0, 0, 0, 0],
    [0, 1, 0, 0, 0],
    [1 / 5, 1 / 5, 1 / 5, 1 / 5, 1 / 5],
    [0, 0, 0, 1, 0],
]


@worked("hmm-lumped-chain", "A Markov chain seen through a function, which is no Markov chain")
def hmm_lumped_chain() -> list[Step]:
    chain = MarkovChain(_HIDDEN)
    seen = lumped(chain, [1, 1, 1, 2, 2])
    after = {first: float(seen.condition(Y0=first, Y1=1).probability(lambda y: y == 2)) for first in (1, 2)}
    present = seen.marginal("Y1", "Y2").condition(Y1=1)
    within = seen.marginal("Y0", "Y1").probabilities
    return [
        Step(
            "A chain of five states: each row is the law of the next state, and sums to 1.",
            r"A = \begin{pmatrix} 0 & 0 & \frac{1}{2} & 0 & \frac{1}{2} \\ 1 & 0 & 0 & 0 & 0 \\ 0 & 1 & 0 & 0 & 0 \\"
            r" \frac{1}{5} & \frac{1}{5} & \frac{1}{5} & \frac{1}{5} & \frac{1}{5} \\ 0 & 0 & 0 & 1 & 0 \end{pmatrix}",
            f"sums of rows: {numbers(chain.transition.sum(1))}",
        ),
        Step(
            "It begins in its stationary law, which a step does not change.",
            r"\pi A = \pi",
            f"π = {numbers(chain.start)}",
        ),
        Step(
            "Only a group is seen of each state.",
            r"Y_n = f(X_n), \qquad f(1) = f(2) = f(3) = 1, \quad f(4) = f(5) = 2",
            f"P[Y₀ = 1, Y₁ = 1] = {float(within[0, 0]):.4f}, P[Y₀ = 2, Y₁ = 1] = {float(within[1, 0]):.4f}",
        ),
        Step(
            "After a 1 that came after a 1, and after one that came after a 2, a 2 is not equally likely.",
            r"P[Y_2 = 2 \mid Y_0 = 1, Y_1 = 1] = \frac{5}{24} \ne \frac{1}{6} = P[Y_2 = 2 \mid Y_0 = 2, Y_1 = 1]",
            f"{after[1]:.6f} and {after[2]:.6f}; not knowing Y₀: {float(present.probability(lambda y: y == 2)):.6f}",
        ),
        Step(
            "So the past tells more than the present: Y is no Markov chain.",
            r"\max | P[Y_2 \mid Y_0, Y_1] - P[Y_2 \mid Y_1] | > 0",
            f"{float(memory(seen)):.6f}, and of the chain itself {float(memory(chain.table(2))):.0e}",
        ),
    ]
