"""Pictures of information: a coin, densities, a code, normals that tell of each other, and divergences both ways."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, Normal, Uniform

from gradlab.explanation.picture import Figure, shown
from gradlab.maths import information
from gradlab.report.charts import ACCENT, INK, PALETTE, POOR, Trace, axis, bars, dots, level, line
from gradlab.report.sliders import WITH_SLIDER, slider

_TEXT = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of belief, it was the epoch of incredulity, it was the season of light"
)


@shown("entropy-of-a-coin", "divergence.entropy", "divergence.cross_entropy", "gibbs-inequality", "cross-entropy-law")
def coin() -> Figure:
    """A coin holds a bit at most, and a wrong belief costs more."""
    p, belief = torch.linspace(0, 1, 201, dtype=torch.float64), 0.2
    coins = torch.stack([p, 1 - p], -1)
    believed = torch.tensor([belief, 1 - belief], dtype=torch.float64).expand_as(coins)
    hover = "p = %{x:.2f}: %{y:.3f} bits<extra></extra>"
    entropy, cross = information.entropy(coins, base=2), information.cross_entropy(coins, believed, base=2)
    at = 0.6
    here = torch.tensor([at, 1 - at], dtype=torch.float64)
    ends = [information.entropy(here, base=2), information.cross_entropy(here, believed[0], base=2)]
    gap: Trace = line("KL(p‖q) at p = 0.6", [at, at], ends, POOR, "%{y:.3f} bits<extra></extra>", 3)
    return Figure(
        [
            line("H(p), the mean surprise", p, entropy, ACCENT, hover, 3),
            line("H(p, q) for who believes in q = 0.2", p, cross, PALETTE[1], hover),
            gap,
            dots("p = q", [belief], [information.entropy([belief, 1 - belief], base=2)], INK, hover, size=9),
        ],
        "The surprise at a coin that falls heads with probability p. Whoever believes in another coin q is surprised "
        "by the line, which touches the curve at p = q alone: the distance between the two is the divergence.",
        {"xaxis": axis("probability p of heads"), "yaxis": axis("bits", range=[0, 2.4])},
    )


@shown("entropy-of-uniforms", "entropy-bounds", "maths.differential_entropy", "maths.entropy_by_quadrature")
def uniforms() -> Figure:
    """The entropy of a density depends on the unit, and may be below zero."""
    widths = torch.linspace(0.05, 4, 160, dtype=torch.float64)
    hover = "b - a = %{x:.2f}: %{y:.3f} bits<extra></extra>"
    uniform = information.differential_entropy(Uniform(torch.zeros_like(widths), widths), base=2)

    def hill(x: Tensor) -> Tensor:  # sin² over the interval
        share = x / widths[:, None]
        return 2 * torch.sin(math.pi * share).clamp(min=1e-300).log() + math.log(2) - widths[:, None].log()

    curved = information.entropy_by_quadrature(hill, torch.zeros_like(widths), widths, base=2)
    half = information.differential_entropy(Uniform(0.0, 0.5), base=2)
    return Figure(
        [
            line("uniform on [a, b]: log(b - a)", widths, uniform, ACCENT, hover, 3),
            line("sin² on [a, b], by quadrature", widths, curved, PALETTE[1], hover),
            dots("U[0, ½]: -1 bit", [0.5], [half], POOR, hover, size=10),
            dots("U[0, 1]: 0", [1.0], [0.0], INK, hover, size=10),
        ],
        "Nothing on an interval holds more than the uniform density. On [0, ½] even that is negative: half a unit is "
        "one bit less than a unit, whatever the unit is.",
        {"xaxis": axis("width b - a"), "yaxis": axis("differential entropy in bits"), "shapes": [level(0.0)]},
    )


@shown("huffman-lengths", "maths.huffman", "maths.surprise")
def code_lengths() -> Figure:
    """A code gives each letter about as many bits as it surprises."""
    letters, counts = np.unique([*_TEXT.lower()], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    letters, p = letters[order], counts[order] / counts.sum()
    code = information.huffman(p)
    names = ["space" if c == " " else str(c) for c in letters]
    words = [code.words[i] for i in range(len(p))]
    entropy, mean = float(information.entropy(p, base=2)), float(code.mean_length(p))
    equal = math.ceil(math.log2(len(p)))
    lengths = bars(names, code.lengths, "%{x}: %{y} bits, %{customdata}<extra></extra>", ACCENT, customdata=words)
    hover = "%{x}: surprise %{y:.2f} bits<extra></extra>"
    surprises = dots("surprise -log₂ p", names, information.surprise(p, base=2), POOR, hover, size=9)
    return Figure(
        [{**lengths, "name": "length of its word"}, surprises],
        f"Huffman's code for the letters of a sentence of {len(_TEXT)}. A word can only have whole bits, so that the "
        f"mean length {mean:.3f} is a little above the entropy {entropy:.3f}, and by less than one; words of equal "
        f"lengths would need {equal}.",
        {"xaxis": axis("letter", type="category"), "yaxis": axis("bits")},
    )


@shown(
    "information-of-normals",
    "mutual-information",
    "divergence.mutual_information",
    "maths.mutual_information_estimate",
    "kl-mi-identities",
)
def normals_that_agree() -> Figure:
    """What two normals tell of each other, by their correlation."""
    rho = torch.linspace(-0.995, 0.995, 399, dtype=torch.float64)
    exact = -0.5 * torch.log2(1 - rho**2)
    rng, bins, number = np.random.default_rng(0), 8, 400
    tried = np.linspace(-0.95, 0.95, 15)
    edges = [NormalDist().inv_cdf(k / bins) for k in range(1, bins)]
    projected, plain = [], []
    for r in tried:
        x, noise = rng.normal(size=(2, number))
        pair = [np.digitize(each, edges) for each in (x, r * x + math.sqrt(1 - r**2) * noise)]
        projected.append(information.mutual_information_estimate(*pair, base=2))
        plain.append(information.mutual_information_estimate(*pair, correct=False, base=2).value)
    hover = "correlation %{x:.2f}: %{y:.3f} bits<extra></extra>"
    estimates = dots("estimate, with its interval of 95%", tried, [e.value for e in projected], ACCENT, hover, size=7)
    spread = {"type": "data", "array": [e.high - e.value for e in projected], "color": ACCENT, "thickness": 1.5}
    return Figure(
        [
            line("-½ log₂(1 - ρ²), of the densities", rho, exact, INK, hover, 2),
            dots("shares as they are", tried, plain, PALETTE[1], hover, size=6, symbol="x"),
            {**estimates, "error_y": spread},
        ],
        f"Estimated from {number} pairs, each variable cut into {bins} parts of equal probability. Shares as they are "
        "find information even where there is none; Miller's correction takes that off. What is cut tells a little "
        "less than the densities, most of all near ±1, where theirs has no bound.",
        {"xaxis": axis("correlation ρ"), "yaxis": axis("mutual information in bits", range=[-0.1, 2.2])},
    )


def _fitted(mixture: MixtureSameFamily, mean: float) -> tuple[Normal, float]:
    """The normal q of least KL(q‖p), by descent from a narrow one at a mode."""
    values = torch.tensor([mean, 0.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([values], max_iter=60, line_search_fn="strong_wolfe")

    def divergence() -> Tensor:
        q = Normal(values[0], values[1].exp())
        return information.kl_by_quadrature(q.log_prob, mixture.log_prob, at=[values[0].detach()])

    def closure() -> float:
        optimizer.zero_grad()
        loss = divergence()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    mean, log_std = values.detach()
    return Normal(mean, log_std.exp()), divergence().item()


@shown("kl-both-ways", "divergence.kl", "kl-nonnegative", "kl-asymmetry-exercise", "divergence.kl_gaussian")
def both_ways() -> Figure:
    """One normal for two: the divergence taken one way covers both, the other way it takes one."""
    x = torch.linspace(-7, 7, 400, dtype=torch.float64)
    apart = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    traces: list[Trace] = []
    groups: list[int] = []
    for i, distance in enumerate(apart):
        parts = Normal(torch.tensor([-distance, distance]).double(), torch.tensor([0.7, 0.7]).double())
        mixture = MixtureSameFamily(Categorical(torch.tensor([0.6, 0.4], dtype=torch.float64)), parts)
        cover = Normal(mixture.mean, mixture.stddev)  # the moments of p: the least KL(p‖q) among normals
        there = information.kl_by_quadrature(mixture.log_prob, cover.log_prob).item()
        choose, back = _fitted(mixture, -distance)
        hover = "x = %{x:.2f}: %{y:.3f}<extra></extra>"
        curves = {
            "p, two normals": (mixture, INK, 3),
            f"least KL(p‖q) = {there:.3f}: covers both": (cover, PALETTE[0], 2),
            f"least KL(q‖p) = {back:.3f}: takes one": (choose, PALETTE[1], 2),
        }
        for name, (density, color, width) in curves.items():
            y = density.log_prob(x).exp()
            traces.append(line(name, x, y, color, hover, width, visible=distance == 2.0))
            groups.append(i)
    return Figure(
        traces,
        "KL(p‖q) is infinite where q misses something that happens, so the best q is wide, with the mean and the "
        "variance of p. KL(q‖p) punishes q for what never happens: once the two are far apart, the best q keeps to "
        "one of them. Close together there is little difference. The slider moves them.",
        {
            "xaxis": axis("x"),
            "yaxis": axis("density", range=[0, 0.62]),
            "sliders": [slider("distance of each from 0: ", [f"{d:g}" for d in apart], groups, apart.index(2.0))],
            "margin": WITH_SLIDER,
        },
    )


@shown("change-of-variable", "kl-diffeo-invariance", "maths.pushforward", "maths.kl_by_quadrature")
def change_of_variable() -> Figure:
    """Other coordinates change densities and their entropies, but no divergence."""
    p, q = Normal(*torch.tensor([0.0, 0.5]).double()), Normal(*torch.tensor([0.6, 0.8]).double())
    maps: dict[str, Any] = {
        "x": (lambda y: y, -2.5, 3.5, (-math.inf, math.inf)),
        "exp x": (torch.log, 0.01, 7.0, (0.0, math.inf)),
        "sigmoid x": (torch.logit, 0.005, 0.995, (0.0, 1.0)),
        "sinh 2x": (lambda y: torch.asinh(y) / 2, -9.0, 14.0, (-math.inf, math.inf)),
    }
    traces: list[Trace] = []
    groups: list[int] = []
    for i, (inverse, low, high, bounds) in enumerate(maps.values()):
        y = torch.linspace(low, high, 500, dtype=torch.float64)
        pushed = [information.pushforward(each.log_prob, inverse) for each in (p, q)]
        kl = information.kl_by_quadrature(pushed[0], pushed[1], *bounds)
        entropy = information.entropy_by_quadrature(pushed[0], *bounds)
        names = f"p: h = {entropy.item():.3f} nats", f"q: KL(p‖q) = {kl.item():.4f} nats"
        for name, density, color in zip(names, pushed, PALETTE, strict=False):
            hover = "%{x:.2f}: %{y:.3f}<extra></extra>"
            traces.append(line(name, y, density(y).exp(), color, hover, 3, visible=i == 1))
            groups.append(i)
    return Figure(
        traces,
        "Two normals after an invertible map Ψ, which the slider chooses. Both densities are stretched alike, so that "
        "p/q stays what it was, and so does KL(p‖q), found by quadrature in the new coordinates each time.",
        {
            "xaxis": axis("Ψ(x)", autorange=True),
            "yaxis": axis("density", rangemode="tozero"),
            "sliders": [slider("Ψ(x) = ", list(maps), groups, 1)],
            "margin": WITH_SLIDER,
        },
    )
