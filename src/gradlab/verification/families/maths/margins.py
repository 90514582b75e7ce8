"""What is known of support vector machines: their optimum, and the hinge losses that they minimise."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.maths import support_vectors as ours
from gradlab.maths.kernel_functions import kernel_function
from gradlab.scratch import losses
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, conform, example, law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.losses import reduced, slope, wrong
from gradlab.verification.subject import subject

for _function in (ours.separate, ours.regress):
    subject(f"maths.{_function.__name__}")(_function)

HINGES = ("loss.hinge", "loss.squared_hinge")

# Hinge losses


def _scores(case: Case) -> tuple[Tensor, Tensor]:
    """Scores away from the kink at the margin, and targets of ±1."""
    shape = case.sizes(4, (1, 2))
    target = 2.0 * case.indices("target", *shape, below=2).double() - 1
    margin = case.tensor("1 - margin", *shape, away_from=(0.0,), scale=2.0)
    return (target * (1 - margin)).detach().requires_grad_(), target


def _call(case: Case) -> Call:
    settings = {"reduction": case.choice("reduction", ("mean", "sum", "none"))}
    return Call(case.build(**settings), _scores(case), options=settings, settings=settings)


def _torchs(call: Call) -> Any:
    """Of a score beside 0, `margin_ranking_loss` is max(0, 1 - y f)."""
    score, target = call.inputs
    return F.margin_ranking_loss(score, torch.zeros_like(score), target, margin=1.0, **call.settings)


def _torchs_squares(call: Call) -> Any:
    score, target = call.inputs
    single = F.margin_ranking_loss(score, torch.zeros_like(score), target, margin=1.0, reduction="none")
    return reduced(single**2, call.settings["reduction"])


_PERCEPTRON = wrong(lambda f, y: F.relu(-y * f))

conform(
    "loss.hinge",
    _call,
    twin=losses.hinge,
    peer={"torch margin_ranking_loss": _torchs},
    fault=[_PERCEPTRON, wrong(lambda f, y: F.softplus(1 - y * f))],
)
conform(
    "loss.squared_hinge",
    _call,
    twin=losses.squared_hinge,
    peer={"torch margin_ranking_loss": _torchs_squares},
    fault=[_PERCEPTRON, wrong(lambda f, y: (1 - y * f) ** 2)],
)
example(*HINGES, call=lambda n: ({}, (torch.linspace(-3, 3, n), 1.0 - 2 * (torch.arange(n) % 2))), n=12)


@law(*HINGES, fault=wrong(lambda f, y: F.softplus(1 - y * f)))
def beyond_the_margin_nothing_costs_or_pulls(case: Case) -> float:
    """ℓ = 0 and ∂ℓ/∂f = 0 where y f ≥ 1"""
    score, target = _scores(case)
    beyond = (target * (1 + (score * target).abs())).detach().requires_grad_()
    value = case.build(reduction="sum")(beyond, target)
    return difference((value, slope(value, beyond)), (0 * value, 0 * beyond))


@law(*HINGES, fault=wrong(lambda f, y: F.relu(0.5 - y * f)))
def a_mistake_costs_at_least_one(case: Case) -> float:
    """[y f ≤ 0] ≤ ℓ(f, y): the number of mistakes is at most the sum of the losses"""
    score, target = _scores(case)
    return excess((score * target <= 0).double().sum(), case.build(reduction="sum")(score, target))


# The dual problem


def _machine(case: Case) -> tuple[Tensor, ours.KernelColumns, float]:
    """Examples, the columns of their kernel matrix, and C."""
    count, dim = case.integer("examples", 4, 10), case.integer("dim", 1, 3)
    x = torch.randn(count, dim, generator=case.generator("x"), dtype=torch.float64)
    kernel = kernel_function("rbf" if case.flag("rbf") else "linear", gamma=0.5)
    return x, ours.KernelColumns(kernel, x), case.real("C", 0.1, 3)


def _signs(case: Case, count: int) -> Any:
    drawn = case.indices("signs", count, below=2).numpy() * 2.0 - 1
    drawn[:2] = -1, 1
    return drawn


def _separated(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    """The kernel matrix, targets, coefficients, values f(x) of the optimum, and C."""
    x, columns, cost = _machine(case)
    signs = _signs(case, len(x))
    solved = case.build()(columns, np.arange(len(x)), signs, np.full(len(x), cost), tolerance=1e-9)
    matrix, beta = columns.kernel(x, x), torch.from_numpy(solved.coefficients)
    return matrix, torch.from_numpy(signs), beta, matrix @ beta + solved.intercept, cost


def _unbounded(columns: Any, rows: Any, signs: Any, bounds: Any, **settings: Any) -> ours.Solution:
    return ours.separate(columns, rows, signs, 2 * bounds, **settings)


def _half_way(columns: Any, rows: Any, signs: Any, bounds: Any, **settings: Any) -> ours.Solution:
    return ours.separate(columns, rows, signs, bounds, tolerance=1e-9, updates=1)


def _no_intercept(columns: Any, rows: Any, signs: Any, bounds: Any, **settings: Any) -> ours.Solution:
    return ours.separate(columns, rows, signs, bounds, **settings)._replace(intercept=5.0)


@law("maths.separate", id="svm", fault=[_unbounded, _half_way, _no_intercept], most_cases=20)
def the_widest_margin_costs_what_its_dual_gains(case: Case) -> float:
    """½|w|² + C Σ max(0, 1 - y f) = Σ α - ½ Σ α_i α_j y_i y_j k(x_i, x_j), with 0 ≤ α ≤ C and Σ α y = 0"""
    matrix, y, beta, f, cost = _separated(case)
    alpha, norm = y * beta, beta @ matrix @ beta
    outside = float((-alpha).clamp(min=0).max() + (alpha - cost).clamp(min=0).max() + beta.sum().abs())
    primal = 0.5 * norm + cost * (1 - y * f).clamp(min=0).sum()
    return max(outside, difference(primal, alpha.sum() - 0.5 * norm) - 1e-6)


@law("maths.separate", id="svm", fault=[_half_way, _no_intercept], most_cases=20)
def only_examples_at_the_margin_or_inside_of_it_are_support_vectors(case: Case) -> float:
    """α = 0 where y f > 1,  α = C where y f < 1"""
    _, y, beta, f, cost = _separated(case)
    alpha, margin = y * beta, y * f
    wrong = torch.where(margin > 1 + 1e-6, alpha, torch.where(margin < 1 - 1e-6, cost - alpha, 0.0))
    return float(wrong.abs().max())


@peer("maths.separate", "scikit-learn SVC", tolerance=1e-4, most_cases=10)
def svc_of_scikit_learn(case: Case) -> float:
    from sklearn.svm import SVC

    matrix, y, beta, f, cost = _separated(case)
    fitted = SVC(C=cost, kernel="precomputed", tol=1e-9).fit(matrix, y)
    theirs = torch.from_numpy(fitted.decision_function(matrix))
    if not ((beta.abs() > 1e-6) & (beta.abs() < cost - 1e-6)).any():  # then any intercept between two ends is best
        f, theirs = f - f.mean(), theirs - theirs.mean()
    return difference(f, theirs)


def _loose(columns: Any, targets: Any, bounds: Any, epsilon: float, **settings: Any) -> ours.Solution:
    return ours.regress(columns, targets, bounds, 2 * epsilon, **settings)


def _regressed(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor, float, float]:
    x, columns, cost = _machine(case)
    y, epsilon = case.tensor("y", len(x)).detach(), case.real("epsilon", 0.05, 0.5)
    solved = case.build()(columns, y.numpy(), np.full(len(x), cost), epsilon, tolerance=1e-9)
    matrix, beta = columns.kernel(x, x), torch.from_numpy(solved.coefficients)
    return matrix, y, beta, matrix @ beta + solved.intercept, cost, epsilon


@law("maths.regress", fault=_loose, most_cases=20)
def the_flattest_function_costs_what_its_dual_gains(case: Case) -> float:
    """½|w|² + C Σ max(0, |y - f| - ε) = Σ y β - ε Σ |β| - ½ Σ β_i β_j k(x_i, x_j)"""
    matrix, y, beta, f, cost, epsilon = _regressed(case)
    norm = beta @ matrix @ beta
    primal = 0.5 * norm + cost * ((y - f).abs() - epsilon).clamp(min=0).sum()
    return max(0.0, difference(primal, y @ beta - epsilon * beta.abs().sum() - 0.5 * norm) - 1e-6)


@peer("maths.regress", "scikit-learn SVR", tolerance=1e-4, most_cases=10)
def svr_of_scikit_learn(case: Case) -> float:
    from sklearn.svm import SVR

    matrix, y, _, f, cost, epsilon = _regressed(case)
    fitted = SVR(C=cost, epsilon=epsilon, kernel="precomputed", tol=1e-9).fit(matrix, y)
    return difference(f, torch.from_numpy(fitted.predict(matrix)))
