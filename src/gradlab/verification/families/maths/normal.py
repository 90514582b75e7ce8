"""What is known of normal variables: their density, draws, maps, sums, moments and conditional laws."""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from gradlab.maths.probability.limits import kolmogorov_distance
from gradlab.maths.probability.moments import by_parts, isserlis, normal_mean, pairings
from gradlab.maths.probability.normal import Normal
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

METHODS = ("log_density", "sample", "affine", "add_independent", "marginal", "condition", "moment_generating")
for _name in METHODS:
    subject(f"maths.normal.{_name}")(getattr(Normal, _name))
subject("maths.normal_mean")(normal_mean)
subject("maths.isserlis")(isserlis)
subject("maths.by_parts")(by_parts)

DRAWS = 20_000
# A z-score beyond 5.5 has a chance of 4e-8, and a case looks at some tens of them.
STATISTICAL: dict[str, Any] = {"tolerance": 5.5, "most_cases": 3}


def normal(case: Case, name: str = "", dim: int | None = None) -> Normal:
    """Any mean, and a covariance that is far from singular."""
    d = case.integer("dim", 1, 3) if dim is None else dim
    root = case.tensor(f"root{name}", d, d).detach()
    return Normal(case.tensor(f"mean{name}", d).detach(), root @ root.mT + 0.3 * torch.eye(d, dtype=root.dtype))


def singular(case: Case) -> Normal:
    """With a root of fewer columns than rows, or as many."""
    d = case.integer("dim", 1, 3)
    root = case.tensor("root", d, case.integer("rank", 1, d)).detach()
    return Normal(case.tensor("mean", d).detach(), root=root)


def _direction(case: Case, dim: int) -> Tensor:
    return case.tensor("a", dim, scale=0.5).detach()


# Density and draws


@peer("maths.normal.log_density", "scipy.stats.multivariate_normal")
def scipys_density(case: Case) -> float:
    from scipy.stats import multivariate_normal  # type: ignore[import-untyped]

    own = normal(case)
    x = case.tensor("x", 4, own.dim).detach()
    wanted = multivariate_normal(own.mean.numpy(), own.covariance.numpy()).logpdf(x.numpy())
    return difference(case.build()(own, x), torch.as_tensor(wanted).reshape(4))


def _by_variances_alone(own: Normal, x: Tensor) -> Tensor:
    return Normal(own.mean, torch.diag(own.covariance.diagonal())).log_density(x)


def _without_determinant(own: Normal, x: Tensor) -> Tensor:
    return own.log_density(x) + 0.5 * torch.logdet(own.covariance)


@law("maths.normal.log_density", fault=[_by_variances_alone, _without_determinant], id="gauss-block-independence")
def blocks_are_independent_if_and_only_if_they_are_uncorrelated(case: Case) -> float:
    r"""log p(x, y) = log p(x) + log p(y) ⇔ Cov(X, Y) = 0

    In general the two differ by $\frac{1}{2} \log (\det \Sigma_{XX} \det \Sigma_{YY} / \det \Sigma)$ on average.
    """
    density, whole = case.build(), normal(case, dim=case.integer("dim", 2, 3))
    first, second = whole.marginal([0]), whole.marginal(range(1, whole.dim))
    block = torch.arange(whole.dim) > 0
    within = block == block[:, None]
    apart = Normal(whole.mean, whole.covariance * within)

    def gap(joint: Normal, z: Tensor) -> Tensor:
        result: Tensor = density(joint, z) - first.log_density(z[..., :1]) - second.log_density(z[..., 1:])
        return result

    z = case.tensor("z", 4, whole.dim).detach()
    on_average = normal_mean(lambda z: gap(whole, z), whole, nodes=4)
    information = 0.5 * sum((n.covariance.logdet() for n in (first, second)), -whole.covariance.logdet())
    return difference((gap(apart, z), on_average), (torch.zeros(4), information))


def _by_covariance(own: Normal, *shape: int, generator: torch.Generator | None = None) -> Tensor:
    """As if the covariance were its own root."""
    return Normal(own.mean, root=own.covariance).sample(*shape, generator=generator)


@law("maths.normal.sample", fault=_by_covariance, id="gauss-moments", **STATISTICAL)
def draws_have_the_mean_and_the_covariance(case: Case) -> float:
    r"""$E X = \mu$ and $E (X_i - \mu_i)(X_j - \mu_j) = \Sigma_{ij}$, in standard errors of 20,000 draws"""
    own = normal(case)
    x = case.build()(own, DRAWS, generator=case.generator("draws"))
    variances = own.covariance.diagonal()
    apart = x - own.mean
    means = apart.mean(0) / (variances / DRAWS).sqrt()
    error = ((torch.outer(variances, variances) + own.covariance**2) / DRAWS).sqrt()
    return float(torch.cat([means, ((apart.mT @ apart / DRAWS - own.covariance) / error).flatten()]).abs().max())


@law("maths.normal.sample", fault=_by_covariance, id="gauss-singular", tolerance=1.0, most_cases=3)
def every_projection_of_a_singular_one_is_normal(case: Case) -> float:
    r"""$a^\top X \sim N(a^\top \mu, a^\top \Sigma a)$ for every a, also if $\Sigma$ is singular; $N(\mu, 0)$ is $\mu$

    A distance of Kolmogorov beyond 2.5/√n has a chance of 7e-6. Draws lie in $\mu$ plus the range of $\Sigma$.
    """
    sample, own = case.build(), singular(case)
    x = sample(own, DRAWS, generator=case.generator("draws"))
    a = torch.cat([torch.eye(own.dim, dtype=x.dtype), case.tensor("a", 2, own.dim).detach()])
    stds = (a @ own.covariance * a).sum(-1).clamp(min=0).sqrt()
    along = (x - own.mean) @ a.mT
    distances = [
        float(kolmogorov_distance(y, 0.0, float(std))) * sqrt(DRAWS) / 2.5 if std > 1e-9 else float(y.abs().max())
        for y, std in zip(along.mT, stds, strict=True)
    ]
    outside = (x - own.mean) @ (torch.eye(own.dim) - own.root @ torch.linalg.pinv(own.root)).mT
    certain = sample(Normal(own.mean, torch.zeros_like(own.covariance)), 5) - own.mean
    return max(*distances, 1e9 * float(outside.abs().max()), 1e9 * float(certain.abs().max()))


# Moments


@law("maths.normal_mean", fault=lambda function, own, nodes=20: function(own.mean), id="gauss-moments")
def parameters_are_the_first_two_moments(case: Case) -> float:
    r"""$E X = \mu$ and $\mathrm{Cov}[X]_{ij} = E[(X_i - E X_i)(X_j - E X_j)] = \Sigma_{ij}$, by quadrature"""
    own, mean = normal(case), case.build()
    apart = mean(lambda x: (x - own.mean)[..., None] * (x - own.mean)[..., None, :], own)
    return difference((mean(lambda x: x, own), apart), (own.mean, own.covariance))


@law(
    "maths.normal.moment_generating",
    fault=[
        lambda own, a: (0.5 * a @ own.covariance @ a).exp(),
        lambda own, a: (a @ own.mean + a @ own.covariance @ a).exp(),
    ],
    id="gauss-mgf",
)
def the_mean_of_an_exponential_is_known(case: Case) -> float:
    r"""$E \, e^{\langle a, X \rangle} = e^{\langle a, \mu \rangle + \frac{1}{2} a^\top \Sigma a}$, singular or not"""
    own = singular(case) if case.flag("singular") else normal(case)
    a = _direction(case, own.dim)
    return difference(case.build()(own, a), normal_mean(lambda x: (x @ a).exp(), own, nodes=36))


@law("maths.normal.moment_generating", fault=lambda own, a: (a @ own.covariance @ a).exp(), id="gaussian-exp-moment")
def of_standard_normal_numbers_the_length_alone_counts(case: Case) -> float:
    r"""$E \, e^{Z^\top x} = e^{\|x\|^2 / 2}$ for $Z \sim N(0, I)$"""
    d = case.integer("dim", 1, 3)
    x, standard = case.tensor("x", d).detach(), Normal(torch.zeros(d), torch.eye(d, dtype=torch.float64))
    got = case.build()(standard, x)
    by_quadrature = normal_mean(lambda z: (z @ x).exp(), standard, nodes=36)
    return difference((got, got), ((0.5 * x.square().sum()).exp(), by_quadrature))


def _indices(case: Case, dim: int, most: int) -> list[int]:
    return case.indices("indices", case.integer("factors", 0, most), below=dim).tolist()


def _neighbours(covariance: Tensor, indices: Sequence[int]) -> Tensor:
    """One pairing for all of them."""
    product = torch.ones_like(covariance[..., 0, 0])
    for i, j in zip(indices[::2], indices[1::2], strict=False):
        product = product * covariance[..., i, j]
    return product * (len(indices) % 2 == 0)


@law("maths.isserlis", fault=_neighbours, id="wick-isserlis", most_cases=20)
def a_moment_is_a_derivative_of_the_moment_generating_function(case: Case) -> float:
    """E[X₁ ⋯ Xₙ] = ∂₁ ⋯ ∂ₙ exp(½ aᵀΣa) at a = 0, each coordinate as often as it is named"""
    own = normal(case)
    indices = _indices(case, own.dim, 6)
    a = torch.zeros(own.dim, dtype=torch.float64, requires_grad=True)
    value = (0.5 * a @ own.covariance @ a).exp()
    for i in indices:
        value = torch.autograd.grad(value, a, create_graph=True)[0][i]
    return difference(case.build()(own.covariance, indices), value)


@law("maths.isserlis", fault=_neighbours, id="wick-isserlis")
def a_moment_is_a_sum_over_all_pairings(case: Case) -> float:
    """E[X₁ ⋯ Xₙ] = Σ Π E[XᵢXⱼ] over all (n - 1)(n - 3) ⋯ 1 pairings, 0 for odd n"""
    own = normal(case)
    indices = _indices(case, own.dim, 8)
    products = [
        torch.stack([own.covariance[indices[a], indices[b]] for a, b in pairing]).prod()
        for pairing in pairings(len(indices))
        if pairing
    ]
    wanted = torch.stack(products).sum() if products else torch.tensor(float(not indices), dtype=torch.float64)
    return difference(case.build()(own.covariance, indices), wanted)


@peer("maths.isserlis", "scipy.stats.norm.moment")
def scipys_moments(case: Case) -> float:
    from scipy.stats import norm

    std, order = case.real("std", 0.5, 2), case.integer("order", 1, 12)
    got = case.build()(torch.tensor([[std**2]], dtype=torch.float64), [0] * order)
    return difference(got, torch.tensor(norm(0, std).moment(order), dtype=torch.float64))


def _own_slope(function: Callable[[Tensor], Tensor], covariance: Tensor, index: int, nodes: int = 20) -> Tensor:
    """Σ_ii E[∂_i f] alone: slopes along the other coordinates are forgotten."""
    sides = torch.stack([by_parts(function, covariance, i, nodes) for i in range(len(covariance))])
    slopes: Tensor = torch.linalg.solve(covariance, sides)
    return covariance[index, index] * slopes[index]


@law("maths.by_parts", fault=_own_slope, id="gauss-ibp", most_cases=30)
def a_factor_is_exchanged_for_slopes(case: Case) -> float:
    """E[Xᵢ f(X)] = Σ E[XᵢXⱼ] E[∂ⱼf(X)] over j, for X ~ N(0, Σ)"""
    own = normal(case, dim=case.integer("dim", 1, 2))
    centred = Normal(torch.zeros_like(own.mean), own.covariance)
    index, b = case.integer("i", 0, own.dim - 1), case.tensor("b", own.dim, scale=0.5).detach()

    def function(x: Tensor) -> Tensor:
        return (x @ b).sin() + x[..., 0] ** 2 * x[..., -1]

    wanted = normal_mean(lambda x: x[..., index] * function(x), centred, nodes=40)
    return difference(case.build()(function, own.covariance, index, nodes=40), wanted)


# Maps, sums, parts


@law(
    "maths.normal.affine",
    fault=[
        lambda own, matrix, shift: Normal(own.affine(matrix).mean + shift, root=matrix.abs() @ own.root),
        lambda own, matrix, shift: Normal(own.affine(matrix).mean, own.affine(matrix).covariance),
    ],
    id="gauss-affine",
)
def an_affine_map_of_a_normal_variable_is_normal(case: Case) -> float:
    r"""$A X + b \sim N(A \mu + b, A \Sigma A^\top)$ for any A

    $E \, e^{\langle a, A X + b \rangle} = e^{\langle a, b \rangle} E \, e^{\langle A^\top a, X \rangle}$ for all a.
    """
    own = singular(case) if case.flag("singular") else normal(case)
    rows = case.integer("rows", 1, 4)
    matrix, shift, a = case.tensor("A", rows, own.dim), case.tensor("b", rows), _direction(case, rows)
    mapped = case.build()(own, matrix.detach(), shift.detach())
    return difference(mapped.moment_generating(a), (a @ shift).exp() * own.moment_generating(matrix.mT @ a))


def _as_if_one(own: Normal, other: Normal) -> Normal:
    """Standard deviations that add up, as of variables that always go together."""
    return Normal(own.mean + other.mean, root=own.root + other.root)


@law("maths.normal.add_independent", fault=_as_if_one, id="gauss-sum")
def covariances_of_independent_ones_add_up(case: Case) -> float:
    r"""$X + Y \sim N(\mu + \nu, \Sigma + \Lambda)$; $(X + Y) / \sqrt 2 \sim N(0, \Sigma)$ if both are $N(0, \Sigma)$"""
    first, add = normal(case), case.build()
    second, a = normal(case, " of Y", first.dim), _direction(case, first.dim)
    got = add(first, second).moment_generating(a)
    centred = Normal(torch.zeros_like(first.mean), first.covariance)
    half = add(centred, centred).affine(torch.eye(first.dim, dtype=a.dtype) / sqrt(2))
    wanted = first.moment_generating(a) * second.moment_generating(a)
    return difference((got, half.covariance, half.mean), (wanted, centred.covariance, centred.mean))


@law(
    "maths.normal.marginal",
    fault=lambda own, indices: own.condition(
        [i for i in range(own.dim) if i not in indices], own.mean[[i for i in range(own.dim) if i not in indices]]
    ),
)
def a_marginal_is_a_projection(case: Case) -> float:
    """some coordinates of N(μ, Σ) are normal with their entries of μ and Σ: the affine map that keeps them"""
    own = normal(case, dim=case.integer("dim", 2, 4))
    kept = case.permutation("order", own.dim)[: case.integer("kept", 1, own.dim - 1)].tolist()
    wanted = own.affine(torch.eye(own.dim, dtype=torch.float64)[kept])
    got = case.build()(own, kept)
    return difference((got.mean, got.covariance), (wanted.mean, wanted.covariance))


def _as_uncertain(own: Normal, indices: Sequence[int], values: Tensor) -> Normal:
    others = [i for i in range(own.dim) if i not in indices]
    return Normal(own.condition(indices, values).mean, own.marginal(others).covariance)


def _as_if_unrelated(own: Normal, indices: Sequence[int], values: Tensor) -> Normal:
    others = [i for i in range(own.dim) if i not in indices]
    return Normal(own.marginal(others).mean, own.condition(indices, values).covariance)


@law("maths.normal.condition", fault=[_as_uncertain, _as_if_unrelated], id="gauss-conditioning")
def the_conditional_density_is_a_quotient(case: Case) -> float:
    """log p(x | y) = log p(x, y) - log p(y), with the conditional mean and covariance"""
    own = normal(case, dim=case.integer("dim", 2, 4))
    order = case.permutation("order", own.dim).tolist()
    known = sorted(order[: case.integer("known", 1, own.dim - 1)])
    others = [i for i in range(own.dim) if i not in known]
    z = case.tensor("z", 3, own.dim).detach()
    got = [case.build()(own, known, point[known]).log_density(point[others]) for point in z]
    return difference(torch.stack(got), own.log_density(z) - own.marginal(known).log_density(z[:, known]))
