"""What is known of kernel regression."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.nn import attention as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law
from gradlab.verification.comparing import difference
from gradlab.verification.families.attention.calling import built, look
from gradlab.verification.families.attention.kinds import KERNELS, sized

GAUSSIAN, BOXCAR, EPANECHNIKOV, TRIANGULAR = KERNELS
BOUNDED = KERNELS[1:]
IN_SCIKIT_LEARN = dict(zip(KERNELS, ("gaussian", "tophat", "epanechnikov", "linear"), strict=True))
PROFILES: dict[str, Callable[[Tensor], Tensor]] = {
    GAUSSIAN: lambda u: torch.exp(-u.square() / 2),
    BOXCAR: lambda u: (u <= 1).to(u.dtype),
    EPANECHNIKOV: lambda u: torch.relu(1 - u.square()),
    TRIANGULAR: lambda u: torch.relu(1 - u),
}


def _regression(case: Case) -> tuple[Any, Tensor, Tensor, Tensor, float]:
    """A block, queries, keys, positive values, and the block's width."""
    n, m, d = case.integer("n", 1, 3), case.integer("m", 2, 5), case.integer("d", 1, 3)
    width = case.real("width", 0.5, 3)
    queries, keys = case.tensor("queries", n, d).detach() + 0.037, case.tensor("keys", m, d).detach()
    return built(case, width=width), queries, keys, case.positive("values", m, 1).detach(), width


def _call(case: Case) -> Call:
    block, q, k, v, width = _regression(case)
    return Call(lambda q, k, v: look(block, q, k, v), (q, k, v), settings={"width": width})


def _by_densities(kernel: str) -> Callable[[Call], Tensor]:
    """A regression is the density of the values divided by that of the keys."""

    def wanted(call: Call) -> Tensor:
        from sklearn.neighbors import KernelDensity

        q, k, v = call.inputs

        def density(weight: Tensor) -> Tensor:
            theirs = KernelDensity(bandwidth=call.settings["width"], kernel=kernel)
            theirs.fit(k.numpy(), sample_weight=weight.squeeze(-1).numpy())
            return torch.from_numpy(np.exp(theirs.score_samples(q.numpy())))[:, None] * weight.sum()

        all_alike = density(torch.ones_like(v))
        return torch.where(all_alike > 0, density(v) / all_alike, 0.0)

    return wanted


def _by_statsmodels(call: Call) -> Tensor:
    q, k, v = (x.numpy() for x in call.inputs)
    regression = import_module("statsmodels.nonparametric.kernel_regression").KernelReg
    widths = np.full(q.shape[1], call.settings["width"])
    means, _ = regression(v, k, "c" * q.shape[1], reg_type="lc", bw=widths).fit(q)
    return torch.from_numpy(means)[:, None]


def _by_radius(call: Call) -> Tensor:
    from sklearn.neighbors import RadiusNeighborsRegressor

    q, k, v = (x.numpy() for x in call.inputs)
    means = RadiusNeighborsRegressor(call.settings["width"]).fit(k, v).predict(q)
    return torch.from_numpy(means).nan_to_num(0.0)  # NaN: no neighbour


for _name, _kernel in IN_SCIKIT_LEARN.items():
    conform(_name, _call, peer={"sklearn.neighbors.KernelDensity": _by_densities(_kernel)})
conform(
    GAUSSIAN,
    _call,
    peer={"statsmodels.nonparametric.kernel_regression.KernelReg": _by_statsmodels},
    needs="statsmodels",
)
conform(BOXCAR, _call, peer={"sklearn.neighbors.RadiusNeighborsRegressor": _by_radius})
example(*KERNELS, call=lambda **sizes: ({"width": 3.1}, sized(**sizes)[1][:3]), n=3, m=4, d=5, e=2)

# Laws


@law(
    *KERNELS,
    fault={
        **dict.fromkeys(KERNELS, (lambda width: ours.EpanechnikovAttention(width), lambda width: ours.DotAttention())),
        EPANECHNIKOV: (lambda width: ours.TriangularAttention(width), lambda width: ours.DotAttention()),
    },
)
def weights_fall_with_the_distance_as_the_kernel_does(case: Case) -> float:
    """α(u) / α(0): e^(-u²/2), or 1 for u ≤ 1, or max(0, 1 - u²), or max(0, 1 - u), with u = ‖q - k‖ / w"""
    d, width = case.integer("d", 1, 3), case.real("width", 0.5, 3)
    u = case.real("u", 0.01, 3) + 0.003
    query = case.tensor("query", 1, d).detach()
    direction = torch.nn.functional.normalize(case.tensor("direction", 1, d).detach() + 0.01)
    keys = torch.cat([query, query + u * width * direction])
    at_key, away = look(built(case, width=width), query, keys, torch.eye(2, dtype=query.dtype))[0]
    return difference(away / at_key, PROFILES[case.subject.name](torch.tensor(u, dtype=query.dtype)))


def unguarded(kernel: Callable[[Any, Tensor, Tensor], Tensor]) -> Fault:
    """The quotient as it is written, which may be 0 / 0."""

    def forward(self: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        weights = kernel(self, q, k)
        return weights / weights.sum(-1, keepdim=True) @ v

    return Fault(forward=forward)


@law(*BOUNDED, fault=unguarded(lambda self, q, k: self.kernel(self.distances(q, k))))
def far_from_all_keys_the_answer_is_zero(case: Case) -> float:
    """‖q - kⱼ‖ > w for all j ⇒ o = 0"""
    block, q, k, v, _ = _regression(case)
    result = look(block, q + 100, k, v)
    return difference(result, torch.zeros_like(result))


@law(GAUSSIAN, fault=unguarded(lambda self, q, k: self.score(q, k).exp()))
def far_from_all_keys_the_nearest_decides(case: Case) -> float:
    """o → vⱼ of the nearest key as q → ∞, where every α is 0 to the last digit"""
    m, width = case.integer("m", 1, 4), case.real("width", 0.5, 3)
    keys, values = case.distinct("keys", m, 1).detach(), case.tensor("values", m, 2).detach()
    result = look(built(case, width=width), torch.full((1, 1), 1e4, dtype=keys.dtype), keys, values)
    return difference(result, values[keys.argmax()][None])
