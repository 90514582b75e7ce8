"""What is known of the feature maps."""

from collections.abc import Callable
from math import exp, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.scratch import features
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, same
from gradlab.verification.subject import Incomparable

MANY = 60_000  # directions of a statistical law, in blocks of up to 4: a multiple of 12
# A z-score beyond 5 has a chance of 6e-7, on one side 3e-7, and there are three cases.
STATISTICAL: dict[str, Any] = {"tolerance": 5.0, "most_cases": 3}


def directions(block: nn.Module) -> Tensor:
    if not isinstance(found := getattr(block, "omega", None), Tensor):
        raise Incomparable("it has no buffer omega, the random directions that the twin would need")
    return found


@twin("feature.elu", features.elu_plus_one)
def elu_twin(case: Case) -> float:
    x = case.tensor("x", case.integer("batch", 1, 4), case.integer("dim", 1, 5), scale=3.0)
    return agreement(case.build()(x), features.elu_plus_one, x)


def _random(name: str, function: Callable[..., Any], draw: Callable[[Case], dict[str, Any]]) -> None:
    @twin(name, function)
    def twin_check(case: Case) -> float:
        d, k = case.integer("dim", 1, 4), case.integer("num_features", 1, 6)
        chosen = draw(case)
        block = case.build(dim=d, num_features=k, orthogonal=case.flag("orthogonal"), **chosen)
        omega = directions(block).numpy()
        x = case.tensor("x", case.integer("batch", 1, 4), d)
        return agreement(block(x), lambda x: function(x, omega, *chosen.values()), x)

    @example(name, n=5, d=4, k=6)
    def example_of(n: int, d: int, k: int) -> Any:
        return {"dim": d, "num_features": k}, (torch.randn(n, d) / 2,)


_random("feature.positive", features.positive, lambda case: {})
_random("feature.cosh", features.cosh, lambda case: {})
_random("feature.fourier", features.fourier, lambda case: {"gamma": case.real("gamma", 0.1, 2)})


@example("feature.elu", n=5, d=4)
def elu_example(n: int, d: int) -> Any:
    return {}, (torch.randn(n, d),)


# Peers


@peer("feature.fourier", "sklearn.kernel_approximation.RBFSampler", **STATISTICAL)
def sklearns_sampler(case: Case) -> float:
    """Both estimate the same kernel, from directions of their own. They are told apart once in 500,000 times."""
    from sklearn.kernel_approximation import RBFSampler

    d = case.integer("dim", 2, 4)
    x, y, gamma, _ = gaussian(case, d)
    block = many(case, d, gamma=gamma)
    sampler = RBFSampler(gamma=gamma, n_components=MANY, random_state=0).fit(x[None].numpy())
    theirs = MANY * torch.from_numpy(sampler.transform(torch.stack([x, y]).numpy())).prod(0)
    ours_ = products(block, x, y)
    error = sqrt(float(ours_.var()) / len(ours_) + float(theirs.var()) / MANY)
    return abs(float(ours_.mean() - theirs.mean())) / error


@peer("feature.elu", "torch.nn.ELU")
def torchs_elu(case: Case) -> float:
    x = case.tensor("x", case.integer("batch", 1, 4), case.integer("dim", 1, 5), scale=3.0)
    return same(case.build()(x), nn.ELU()(x) + 1, [x])


# Random maps: each dot product of features is a mean over k directions, whose mean and variance are known


def pair(case: Case, d: int) -> tuple[Tensor, Tensor]:
    """Two vectors no longer than a half, so that means of their features are nearly normal."""
    x, y = case.tensor("x", d).detach(), case.tensor("y", d).detach()
    return tuple(v / (2 * max(float(v.norm()), 1.0)) for v in (x, y))  # type: ignore[return-value]


def products(block: Any, x: Tensor, y: Tensor) -> Tensor:
    """Of each direction, its share of φ(x)ᵀφ(y), times their number: their mean is the estimate of the kernel."""
    k = block.num_features
    shares: Tensor = k * (block(x[None]) * block(y[None])).reshape(-1, k).sum(0)
    return shares


def z_score(samples: Tensor, wanted: float, variance: float | None = None) -> float:
    """The distance of a mean from what is wanted, in standard errors."""
    error = sqrt((float(samples.var()) if variance is None else variance) / len(samples))
    return abs(float(samples.mean()) - wanted) / max(error, 1e-9)


def z_above(samples: Tensor, bound: float) -> float:
    """By how many standard errors a mean is above a bound that it should not exceed."""
    error = sqrt(float(samples.var()) / len(samples))
    return max(0.0, float(samples.mean()) - bound) / max(error, 1e-9)


def many(case: Case, d: int, **settings: Any) -> Any:
    """The block with many directions."""
    return case.build(dim=d, num_features=case.integer("num_features", MANY, MANY), **settings)


def gaussian(case: Case, d: int) -> tuple[Tensor, Tensor, float, float]:
    """Two vectors, γ and their kernel."""
    x, y, gamma = case.tensor("x", d).detach(), case.tensor("y", d).detach(), case.real("gamma", 0.1, 2)
    return x, y, gamma, exp(-gamma * float((x - y).square().sum()))
