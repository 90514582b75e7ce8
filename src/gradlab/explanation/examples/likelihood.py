"""Worked examples of likelihoods: Gumbel's distribution, and logistic regression on a feature that is not linear."""

import torch

from gradlab.data import sources
from gradlab.explanation.examples.probability import numbers, refusal
from gradlab.explanation.walk import Step, worked
from gradlab.maths.glm import LinearModel, fit_glm
from gradlab.maths.probability import fit_gumbel, gumbel_nll
from gradlab.maths.probability.gumbel import gumbel_path
from gradlab.nn import PolynomialFeatures

_LARGEST = [0.2, 0.5, 0.9, 1.3, 1.4, 2.1, 2.6, 3.9]


@worked("gumbel-mle", "Gumbel's distribution by maximum likelihood")
def gumbel_mle() -> list[Step]:
    x = torch.tensor(_LARGEST, dtype=torch.float64)
    start = torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)
    nll = gumbel_nll(x, start[0], start[1]).sum()
    (slopes,) = torch.autograd.grad(nll, start)
    z = x - 1.0
    by_hand = -8 + float((-z).exp().sum()), 8 - float(z.sum()) + float((z * (-z).exp()).sum())
    location, scale = fit_gumbel(x)
    best, path = (x - location) / scale, gumbel_path(x).points
    return [
        Step(
            "The largest of many values has this distribution function, with a location μ and a scale β.",
            r"F(x) = e^{-e^{-z}}, \qquad z = \frac{x - \mu}{\beta}",
            f"x = {numbers(x)}",
        ),
        Step(
            "The negative log-likelihood of N of them.",
            r"L = N \log \beta + \frac{\sum_i x_i - N \mu}{\beta} + \sum_i e^{-z_i}",
            f"L(1, 1) = {float(nll.detach()):.6f}",
        ),
        Step(
            "Its derivatives.",
            r"\frac{\partial L}{\partial \mu} = -\frac{N}{\beta} + \frac{1}{\beta} \sum_i e^{-z_i} \qquad "
            r"\frac{\partial L}{\partial \beta} = \frac{N}{\beta} - \frac{\sum_i x_i - N \mu}{\beta^2}"
            r" + \sum_i \frac{x_i - \mu}{\beta^2} e^{-z_i}",
            f"at (1, 1): {by_hand[0]:.6f} and {by_hand[1]:.6f}; by autograd {slopes[0]:.6f} and {slopes[1]:.6f}",
        ),
        Step(
            "Where both vanish, μ follows from β, and β from one equation.",
            r"\mu = -\beta \log \frac{1}{N} \sum_i e^{-x_i / \beta}, \qquad "
            r"\beta = \bar x - \frac{\sum_i x_i e^{-x_i / \beta}}{\sum_i e^{-x_i / \beta}}",
        ),
        Step(
            "Newton's method finds it: in $1/\\beta$ and $\\mu/\\beta$ the likelihood is convex.",
            r"(\hat\mu, \hat\beta) = \arg\min L",
            f"μ = {float(location):.6f}, β = {float(scale):.6f} after {len(path) - 1} steps; "
            f"L = {float(gumbel_nll(x, location, scale).sum()):.6f}; mean of e^(-z): {float((-best).exp().mean()):.6f}",
        ),
    ]


@worked("nonlinear-feature-logistic", "Circles that no line separates, by logistic regression on squares")
def nonlinear_feature_logistic() -> list[Step]:
    x, y = _circles(noise=0.2)
    radius = x.square().sum(1, keepdim=True)
    line, circle = fit_glm(x, y, "bernoulli"), fit_glm(radius, y, "bernoulli")
    squares = PolynomialFeatures(2)(x)
    both = fit_glm(squares, y, "bernoulli")
    weight, bias = float(circle.weight), float(circle.bias)
    apart, classes = _circles(noise=0.08)
    return [
        Step(
            "Points of two rings around the origin, with the radii 1 and ½ and some noise.",
            values=f"{len(x)} points, of the inner ring {int(y.sum())}",
        ),
        Step(
            "A line through the plane tells nothing: the classes have the same mean.",
            r"P[y = 1 \mid x] = \sigma(w^\top x + b)",
            f"w = {numbers(line.weight[:, 0])}, b = {float(line.bias):.4f}; accuracy {_accuracy(line, x, y):.4f}",
        ),
        Step(
            "The squared distance from the origin is a feature in which one threshold is enough.",
            r"\varphi(x) = x_1^2 + x_2^2, \qquad P[y = 1 \mid x] = \sigma(w \, \varphi(x) + b)",
            f"w = {weight:.4f}, b = {bias:.4f}; accuracy {_accuracy(circle, radius, y):.4f}",
        ),
        Step(
            "Linear in the feature, the border is a circle in the plane.",
            r"\varphi(x) = -\frac{b}{w}",
            f"radius {(-bias / weight) ** 0.5:.4f}",
        ),
        Step(
            "With all powers up to 2, the model finds by itself that the two squares count alike.",
            r"\phi(x) = (x_1, x_2, x_1^2, x_2^2)",
            f"w = {numbers(both.weight[:, 0])}; accuracy {_accuracy(both, squares, y):.4f}",
        ),
        Step(
            "With less noise the rings are separable, the likelihood has no maximum, and weights need a penalty, as in "
            "the recipe circles-logistic.",
            values=refusal(lambda: fit_glm(apart.square().sum(1, keepdim=True), classes, "bernoulli")),
        ),
    ]


def _circles(noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    raw = sources["circles"](0, examples=400, noise=noise)
    return torch.as_tensor(raw.inputs, dtype=torch.float64), torch.as_tensor(raw.targets, dtype=torch.float64)


def _accuracy(model: LinearModel, x: torch.Tensor, y: torch.Tensor) -> float:
    return float(((model.mean(x)[:, 0] > 0.5) == (y > 0.5)).double().mean())
