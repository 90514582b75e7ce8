"""What is known of kernel regression."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.nn import attention as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.families.attention.every_kind import KERNELS, scene, with_fault
from gradlab.verification.families.attention.looking import built, look
from gradlab.verification.subject import Incomparable

BOUNDED = tuple(name for name in KERNELS if name != "attention.gaussian")
IN_SCIKIT_LEARN = dict(zip(KERNELS, ("gaussian", "tophat", "epanechnikov", "linear"), strict=True))
PROFILES: dict[str, Callable[[Tensor], Tensor]] = {
    "attention.gaussian": lambda u: torch.exp(-u.square() / 2),
    "attention.boxcar": lambda u: (u <= 1).to(u.dtype),
    "attention.epanechnikov": lambda u: torch.relu(1 - u.square()),
    "attention.triangular": lambda u: torch.relu(1 - u),
}


def _regression(case: Case) -> tuple[Any, Tensor, Tensor, Tensor, float]:
    """A block, queries, keys, positive values, and the block's width."""
    n, m, d = case.integer("n", 1, 3), case.integer("m", 2, 5), case.integer("d", 1, 3)
    width = case.real("width", 0.5, 3)
    queries, keys = case.tensor("queries", n, d).detach() + 0.037, case.tensor("keys", m, d).detach()
    return built(case, width=width), queries, keys, case.positive("values", m, 1).detach(), width


def _judged(name: str) -> None:
    @peer(name, "sklearn.neighbors.KernelDensity")
    def densities(case: Case) -> float:
        """A regression is the density of the values divided by that of the keys."""
        from sklearn.neighbors import KernelDensity

        block, q, k, v, width = _regression(case)

        def density(weight: Tensor) -> Tensor:
            judge = KernelDensity(bandwidth=width, kernel=IN_SCIKIT_LEARN[name])
            judge.fit(k.numpy(), sample_weight=weight.squeeze(-1).numpy())
            return torch.from_numpy(np.exp(judge.score_samples(q.numpy())))[:, None] * weight.sum()

        all_alike = density(torch.ones_like(v))
        wanted = torch.where(all_alike > 0, density(v) / all_alike, 0.0)
        return difference(look(block, q, k, v), wanted)


for _name in KERNELS:
    _judged(_name)


@peer("attention.gaussian", "statsmodels.nonparametric.kernel_regression.KernelReg", needs="statsmodels")
def statsmodels_regression(case: Case) -> float:
    block, q, k, v, width = _regression(case)
    d = q.shape[1]
    judge = import_module("statsmodels.nonparametric.kernel_regression").KernelReg(
        v.numpy(), k.numpy(), "c" * d, reg_type="lc", bw=np.full(d, width)
    )
    means, _ = judge.fit(q.numpy())
    return difference(look(block, q, k, v).squeeze(-1), torch.from_numpy(means))


@peer("attention.boxcar", "sklearn.neighbors.RadiusNeighborsRegressor")
def radius_neighbours(case: Case) -> float:
    from sklearn.neighbors import RadiusNeighborsRegressor

    block, q, k, v, width = _regression(case)
    means = RadiusNeighborsRegressor(width).fit(k.numpy(), v.numpy()).predict(q.numpy())
    return difference(look(block, q, k, v), torch.from_numpy(means).nan_to_num(0.0))  # NaN: no neighbour


def _other(kernel: type[ours.KernelAttention]) -> Callable[..., Any]:
    return lambda width=1.0: kernel(width)


@law(
    *KERNELS,
    wrong={
        "attention.gaussian": _other(ours.EpanechnikovAttention),
        "attention.boxcar": _other(ours.EpanechnikovAttention),
        "attention.epanechnikov": _other(ours.TriangularAttention),
        "attention.triangular": _other(ours.EpanechnikovAttention),
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


@law(*KERNELS, wrong=lambda width=1.0: ours.DotAttention())
def only_differences_count(case: Case) -> float:
    """att(Q + c, K + c, V) = att(Q, K, V)"""
    seen = scene(case, 2)
    c = case.tensor("c", seen.queries.shape[-1]).detach()
    return difference(seen(queries=seen.queries + c, keys=seen.keys + c), seen())


class InUnitsOfItsOwn(ours.GaussianAttention):
    """The width where its square belongs."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return super().score(queries, keys) * self.width


@law(
    *KERNELS,
    wrong={"attention.gaussian": InUnitsOfItsOwn} | dict.fromkeys(BOUNDED, lambda width: ours.EpanechnikovAttention()),
)
def the_width_is_the_unit_of_length(case: Case) -> float:
    """att(a Q, a K, V; a w) = att(Q, K, V; w)"""
    block, q, k, v, width = _regression(case)
    a = 2.0 ** case.integer("log₂ a", 1, 4)
    if "width" in case.subject.fixed:
        raise Incomparable("its width is fixed, and this law varies it")
    return difference(look(built(case, width=a * width), a * q, a * k, v), look(block, q, k, v))


def _without_a_guard(inner: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    kernel: Tensor = inner.kernel(inner.distances(q, k))
    return kernel / kernel.sum(-1, keepdim=True) @ v


@law(*BOUNDED, wrong=with_fault(_without_a_guard, *BOUNDED))
def far_from_all_keys_the_answer_is_zero(case: Case) -> float:
    """‖q - kⱼ‖ > w for all j ⇒ o = 0"""
    block, q, k, v, _ = _regression(case)
    result = look(block, q + 100, k, v)
    return difference(result, torch.zeros_like(result))


def _as_it_is_written(inner: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    kernel = torch.exp(inner.score(q, k))
    return kernel / kernel.sum(-1, keepdim=True) @ v


@law("attention.gaussian", wrong=with_fault(_as_it_is_written, "attention.gaussian"))
def far_from_all_keys_the_nearest_decides(case: Case) -> float:
    """o → vⱼ of the nearest key as q → ∞, where every α is 0 to the last digit"""
    m, width = case.integer("m", 1, 4), case.real("width", 0.5, 3)
    keys, values = case.distinct("keys", m, 1).detach(), case.tensor("values", m, 2).detach()
    result = look(built(case, width=width), torch.full((1, 1), 1e4, dtype=keys.dtype), keys, values)
    return difference(result, values[keys.argmax()][None])


class NotSquared(ours.GaussianAttention):
    """The distance where its square belongs."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -0.5 * self.distances(queries, keys)


@law("attention.gaussian", wrong=NotSquared)
def it_is_a_dot_product_that_knows_how_long_keys_are(case: Case) -> float:
    """α = softmax(qᵀk/w² - ‖k‖²/2w²)"""
    seen = scene(case, 2)
    q, k = seen.queries + seen.shift, seen.keys
    scores = q @ k.mT - k.square().sum(-1)[..., None, :] / 2
    return difference(seen(), torch.softmax(scores / seen.settings["width"] ** 2, -1) @ seen.values)


@law("attention.gaussian", wrong=NotSquared)
def with_keys_of_one_length_it_is_dot_product_attention(case: Case) -> float:
    """‖k₁‖ = … = ‖kₘ‖ ⇒ α = softmax(qᵀk/w²)"""
    seen = scene(case, 2)
    keys = torch.nn.functional.normalize(seen.keys.detach() + 0.01, dim=-1)
    wanted = ours.ScaledDotAttention(scale=seen.settings["width"] ** -2)
    return difference(seen(keys=keys), wanted(seen.queries + seen.shift, keys, seen.values))


@example("attention.gaussian", n=3, m=4, d=5, e=2)
@example("attention.boxcar", n=3, m=4, d=5, e=2)
@example("attention.epanechnikov", n=3, m=4, d=5, e=2)
@example("attention.triangular", n=3, m=4, d=5, e=2)
def kernel_example(n: int, m: int, d: int, e: int) -> Any:
    return {"width": 3.1}, (torch.randn(n, d), torch.randn(m, d), torch.randn(m, e))
