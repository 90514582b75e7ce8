"""What is known of entropies and divergences: twins, peers and examples. Their laws have files of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Normal, kl_divergence

from gradlab.scratch import divergences
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, difference, same
from gradlab.verification.families.losses.losses import settled

# Two distributions


def distributions(case: Case, *names: str) -> list[Tensor]:
    """Distributions over as many outcomes, none of which is impossible."""
    shape = [*_batch(case), case.integer("outcomes", 1, 5)]
    return [case.distribution(name, *shape) for name in names]


def with_zeros(case: Case, p: Tensor, name: str) -> Tensor:
    """The distribution without some of the outcomes."""
    kept = p.detach() * case.mask(f"outcomes of {name}", *p.shape)
    return (kept / kept.sum(-1, keepdim=True)).requires_grad_()


def together(p: Tensor, q: Tensor) -> Tensor:
    """The distribution of independent pairs, as one axis."""
    return (p[..., :, None] * q[..., None, :]).flatten(-2)


def _batch(case: Case) -> list[int]:
    return [case.integer(f"size {axis}", 1, 3) for axis in range(case.integer("batch axes", 0, 2))]


PAIRS = ("cross_entropy", "kl", "total_variation", "jensen_shannon")


def _judged(name: str) -> None:
    function: Callable[..., Any] = getattr(divergences, name)

    @twin(f"divergence.{name}", function)
    def twin_check(case: Case) -> float:
        p, q = distributions(case, "p", "q")
        if case.flag("zeros"):  # in q too, but where something is possible in p: there it would be infinite
            p = with_zeros(case, p, "p")
            q = (q.detach() * (p > 0)).requires_grad_()
        return agreement(case.build()(p, q), function, p, q)

    @example(f"divergence.{name}", n=4)
    def pair(n: int) -> Any:
        return {}, (torch.linspace(1, 3, n) / (2 * n), torch.linspace(5, 1, n) / (3 * n))


for _name in PAIRS:
    _judged(_name)


@peer("divergence.kl", "torch.nn.KLDivLoss")
def torchs_kl_loss(case: Case) -> float:
    p, q = distributions(case, "p", "q")
    return same(case.build()(p, q), nn.KLDivLoss(reduction="none")(q.log(), p).sum(-1), [p, q])


@peer("divergence.kl", "torch.distributions.kl_divergence")
def torchs_kl_of_categoricals(case: Case) -> float:
    p, q = distributions(case, "p", "q")
    p = with_zeros(case, p, "p")
    return difference(case.build()(p, q), kl_divergence(Categorical(p), Categorical(q)))


@peer("divergence.kl", "scipy.stats.entropy")
def scipys_kl(case: Case) -> float:
    from scipy.stats import entropy  # type: ignore[import-untyped]

    p, q = distributions(case, "p", "q")
    p, q = with_zeros(case, p, "p"), with_zeros(case, q, "q")  # so it is infinite at times
    return difference(case.build()(p, q), _tensor(entropy(p.detach(), q.detach(), axis=-1)))


@peer("divergence.jensen_shannon", "scipy.spatial.distance.jensenshannon")
def scipys_jensen_shannon(case: Case) -> float:
    from scipy.spatial.distance import jensenshannon  # type: ignore[import-untyped]

    p, q = (with_zeros(case, x, name) for x, name in zip(distributions(case, "p", "q"), "pq", strict=True))
    return difference(case.build()(p, q), _tensor(jensenshannon(p.detach(), q.detach(), axis=-1) ** 2))


@twin("divergence.lp", divergences.lp)
def lp_twin(case: Case) -> float:
    p, q, order = *distributions(case, "p", "q"), case.real("order", 1, 4)
    p = (p + case.positive("excess", *p.shape)).detach().requires_grad_()  # a power has no slope at a difference of 0
    return agreement(settled(case, order=order)(p, q), lambda p, q: divergences.lp(p, q, order), p, q)


@peer("divergence.lp", "torch.nn.PairwiseDistance")
def torchs_distance(case: Case) -> float:
    p, q, order = *distributions(case, "p", "q"), case.choice("order", (1.0, 2.0, 2.5, np.inf))
    return difference(settled(case, order=order)(p, q), nn.PairwiseDistance(order, eps=0.0)(p, q))


example("divergence.lp", n=4)(lambda n: ({}, (torch.linspace(0, 1, n), torch.linspace(0.5, 0, n))))


# One distribution


@twin("divergence.entropy", divergences.entropy)
def entropy_twin(case: Case) -> float:
    (p,) = distributions(case, "p")
    p = with_zeros(case, p, "p") if case.flag("zeros") else p
    return agreement(case.build()(p), divergences.entropy, p)


@peer("divergence.entropy", "torch.distributions.Categorical")
def torchs_entropy(case: Case) -> float:
    (p,) = distributions(case, "p")
    return difference(case.build()(p), Categorical(p).entropy())  # type: ignore[no-untyped-call]


@peer("divergence.entropy", "scipy.stats.entropy")
def scipys_entropy(case: Case) -> float:
    from scipy.stats import entropy

    (p,) = distributions(case, "p")
    p = with_zeros(case, p, "p")
    return difference(case.build()(p), _tensor(entropy(p.detach(), axis=-1)))


@peer("divergence.cross_entropy", "scipy.stats.entropy")
def scipys_cross_entropy(case: Case) -> float:
    from scipy.stats import entropy

    p, q = (x.detach() for x in distributions(case, "p", "q"))
    return difference(case.build()(p, q), _tensor(entropy(p, axis=-1) + entropy(p, q, axis=-1)))


example("divergence.entropy", n=4)(lambda n: ({}, (torch.linspace(1, 3, n) / (2 * n),)))


# Normal distributions


def normals(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mean and standard deviation of one, then of another."""
    shape = [*_batch(case), case.integer("dim", 1, 4)]
    mean, other_mean = case.tensor("mean", *shape), case.tensor("other_mean", *shape)
    return mean, case.positive("std", *shape), other_mean, case.positive("other_std", *shape)


@twin("divergence.kl_gaussian", divergences.kl_gaussian)
def kl_gaussian_twin(case: Case) -> float:
    leaves = normals(case)
    return agreement(case.build()(*leaves), divergences.kl_gaussian, *leaves)


@peer("divergence.kl_gaussian", "torch.distributions.kl_divergence")
def torchs_kl_of_normals(case: Case) -> float:
    leaves = mean, std, other_mean, other_std = normals(case)
    wanted = kl_divergence(Normal(mean, std), Normal(other_mean, other_std)).sum(-1)
    return same(case.build()(*leaves), wanted, leaves)


@example("divergence.kl_gaussian", n=5)
def kl_gaussian_example(n: int) -> Any:
    return {}, (torch.linspace(-1, 2, n), torch.linspace(0.5, 2, n), torch.zeros(n), torch.ones(n))


# Tables of two variables


def table(case: Case, zeros: bool = False) -> Tensor:
    """The probabilities of all pairs of a row and a column."""
    shape = [*_batch(case), case.integer("rows", 1, 4), case.integer("columns", 1, 4)]
    joint = case.tensor("scores", *shape).detach().flatten(-2).softmax(-1)
    if zeros:
        joint = joint * case.mask("possible", *joint.shape)
        joint = joint / joint.sum(-1, keepdim=True)
    return joint.reshape(shape).requires_grad_()


@twin("divergence.mutual_information", divergences.mutual_information)
def mutual_information_twin(case: Case) -> float:
    joint = table(case, case.flag("zeros"))
    return agreement(case.build()(joint), divergences.mutual_information, joint)


@peer("divergence.mutual_information", "scikit-learn mutual_info_score")
def mutual_information_of_scikit_learn(case: Case) -> float:
    from sklearn.metrics import mutual_info_score

    rows, columns = case.integer("rows", 1, 4), case.integer("columns", 1, 4)
    pairs = torch.stack([case.indices("row", 20, below=rows), case.indices("column", 20, below=columns)], 1)
    counts = torch.zeros(rows, columns, dtype=torch.float64)
    for row, column in pairs.tolist():
        counts[row, column] += 1
    return difference(case.build()(counts / 20), _tensor(mutual_info_score(*pairs.T.numpy())))


@twin("divergence.pmi", divergences.pmi)
def pmi_twin(case: Case) -> float:
    joint = table(case)
    return agreement(case.build()(joint), divergences.pmi, joint)


for _name in ("mutual_information", "pmi"):

    @example(f"divergence.{_name}", n=2, d=3)
    def joint_example(n: int, d: int) -> Any:
        return {}, (torch.tensor([[5.0, 1.0, 2.0], [1.0, 6.0, 1.0]]) / 16,)


def _tensor(values: Any) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float64)
