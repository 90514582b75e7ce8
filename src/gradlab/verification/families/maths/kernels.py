"""What is known of kernel regression, and of random features by their number."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.maths import kernel_regression as ours
from gradlab.maths import random_features
from gradlab.nn.attention import FourierFeatures
from gradlab.nn.attention.pooling import kernels
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

REGRESSION, LEFT_OUT, ERROR = "maths.nadaraya_watson", "maths.leave_one_out_error", "maths.feature_error"
subject(REGRESSION)(ours.nadaraya_watson)
subject(LEFT_OUT)(ours.leave_one_out_error)
subject(ERROR)(random_features.feature_error)


def _examples(case: Case) -> tuple[Tensor, Tensor, dict[str, Any]]:
    x = case.tensor("x", case.integer("examples", 3, 8), case.integer("d", 1, 3)).detach()
    settings = {"kernel": case.choice("kernel", tuple(kernels)), "width": case.real("width", 0.4, 3)}
    return x, case.tensor("y", len(x)).detach(), settings


def _sums(queries: Tensor, x: Tensor, y: Tensor, kernel: Any = "gaussian", width: float = 1.0) -> Tensor:
    """Without the division."""
    return ours.nadaraya_watson(queries, x, y, kernel, width) * len(x)


@law(REGRESSION, fault=_sums)
def constant_targets_are_met_everywhere(case: Case) -> float:
    """f(q) = c if all targets are c, and it lies between the least and the largest target"""
    x, y, settings = _examples(case)
    queries, predict = case.tensor("queries", 4, x.shape[1]).detach() * 3, case.build(**settings)
    answers, c = predict(queries, x, y), case.real("c", 1, 3)
    outside = torch.relu(answers - y.max()) + torch.relu(y.min() - answers)
    constant = predict(queries, x, torch.full_like(y, c))
    return max(float(outside.max()), difference(constant, torch.full_like(constant, c)))


@peer(REGRESSION, "statsmodels.nonparametric.kernel_regression.KernelReg", most_cases=10, needs="statsmodels")
def statsmodels_kernel_regression(case: Case) -> float:
    from statsmodels.nonparametric.kernel_regression import KernelReg  # type: ignore[import-untyped]

    x, y, settings = _examples(case)
    width = settings["width"]
    theirs = KernelReg(y.numpy(), x.numpy(), "c" * x.shape[1], "lc", np.full(x.shape[1], width)).fit(x.numpy())[0]
    return difference(case.build(kernel="gaussian", width=width)(x, x, y), torch.as_tensor(theirs))


def _with_itself(x: Tensor, y: Tensor, kernel: Any = "gaussian", width: float = 1.0) -> Tensor:
    return (y - ours.nadaraya_watson(x, x, y, kernel, width)).square().mean()


@law(LEFT_OUT, fault=_with_itself)
def each_is_predicted_by_the_others(case: Case) -> float:
    r"""$CV = 1/m Σ (y_i - f_{-i}(x_i))²$, where $f_{-i}$ does not know the i-th example"""
    x, y, settings = _examples(case)
    rest = [torch.arange(len(x)) != i for i in range(len(x))]
    predicted = [ours.nadaraya_watson(x[i : i + 1], x[kept], y[kept], **settings) for i, kept in enumerate(rest)]
    return difference(case.build(**settings)(x, y), (y - torch.cat(predicted)).square().mean())


@peer(LEFT_OUT, "statsmodels' cv_loo", most_cases=10, needs="statsmodels")
def statsmodels_cross_validation(case: Case) -> float:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    x, y, settings = _examples(case)
    width = np.full(x.shape[1], settings["width"])
    theirs = KernelReg(y.numpy(), x.numpy(), "c" * x.shape[1], "lc", width)
    wanted = torch.as_tensor(theirs.cv_loo(width, theirs.est["lc"])).squeeze()
    return difference(case.build(kernel="gaussian", width=settings["width"])(x, y), wanted)


def _of_squares(*arguments: Any, **options: Any) -> Tensor:
    return random_features.feature_error(*arguments, **options).square()


@law(ERROR, fault=_of_squares, tolerance=0.1, most_cases=3)
def four_times_the_features_halve_the_error(case: Case) -> float:
    """the error is √((1 - k²)² / 2m) for Fourier features, k being the kernel and m their number"""
    x, y = (torch.randn(1, 3, generator=case.generator(name), dtype=torch.float64) for name in "xy")
    gamma, counts = 0.3, [16, 64]

    def gaussian(x: Tensor, y: Tensor) -> Tensor:
        return (-gamma * torch.cdist(x, y).square()).exp()

    measured = case.build()(
        lambda m: FourierFeatures(3, m, gamma), gaussian, x, y, counts, draws=500, seed=case.integer("seed", 0, 9)
    )
    deviation = (1 - gaussian(x, y)[0, 0].square()) / 2**0.5
    return difference(measured, deviation / torch.tensor(counts, dtype=torch.float64).sqrt())
