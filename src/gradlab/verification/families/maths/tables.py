"""What is known of joint tables of discrete variables, and of densities on grids."""

import torch
from torch import Tensor

from gradlab.maths.probability.grid import GridDensity
from gradlab.maths.probability.joint import JointTable, bayes
from gradlab.maths.probability.normal import Normal
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

subject("maths.bayes")(bayes)
for _name in ("marginal", "condition", "conditional", "pushforward", "independent", "dependence"):
    subject(f"maths.joint.{_name}")(getattr(JointTable, _name))
for _name in ("marginal", "condition"):
    subject(f"maths.grid.{_name}")(getattr(GridDensity, _name))


def pair(case: Case) -> JointTable:
    """Two variables, of which no outcome is impossible."""
    rows, columns = case.integer("rows", 1, 4), case.integer("columns", 1, 4)
    p = case.distribution("p", rows * columns)
    return JointTable(p.reshape(rows, columns), ["X", "Y"])


def event(case: Case, name: str, size: int) -> set[int]:
    return {i for i, inside in enumerate(case.mask(name, size).tolist()) if inside}


# Tables


@law(
    "maths.bayes",
    fault=[
        lambda prior, likelihood: (likelihood / likelihood.sum(0)).mT,
        lambda prior, likelihood: (prior[:, None] * likelihood).mT,
    ],
    id="bayes",
)
def causes_of_an_effect_are_weighted_by_their_prior(case: Case) -> float:
    r"""$P(A \mid B) = P(B \mid A) P(A) / P(B)$, as the table of both has it"""
    table = pair(case)
    posterior = case.build()(table.marginal("X").probabilities, table.conditional("X"))
    return difference(posterior, table.conditional("Y"))


def _alike(table: JointTable, **functions: object) -> JointTable:
    law = JointTable.pushforward(table, **functions)  # type: ignore[arg-type]
    p = torch.full_like(law.probabilities, 1 / law.probabilities.numel())
    return JointTable(p, law.names, law.values)


@law("maths.joint.pushforward", fault=_alike, id="prob-space-rv")
def a_mean_is_the_same_over_outcomes_and_over_values(case: Case) -> float:
    """E f(X, Y) = Σ f(x, y) p(x, y) over outcomes = Σ v P[f(X, Y) = v] over values"""
    table = pair(case)
    values = case.indices("f", *table.probabilities.shape, below=4)
    image = case.build()(table, f=lambda x, y: int(values[x, y]))
    return difference(image.expectation(lambda v: v), (values * table.probabilities).sum())


@law("maths.joint.marginal", fault=lambda table, name: table.condition(**{"XY".replace(name, ""): 0}))
def a_marginal_counts_every_value_of_the_others(case: Case) -> float:
    """P[X = x] = Σ p(x, y) over y"""
    table = pair(case)
    wanted = torch.stack([table.probability(lambda x, y, at=at: x == at) for at in table.values["X"]])
    return difference(case.build()(table, "X").probabilities, wanted)


def _added(**laws: Tensor) -> JointTable:
    x, y = laws.values()
    p = x[:, None] + y
    return JointTable(p / p.sum(), list(laws))


@law("maths.joint.independent", fault=_added, id="independence")
def of_independent_variables_probabilities_and_means_multiply(case: Case) -> float:
    r"""$P[X \in A, Y \in B] = P[X \in A] P[Y \in B]$ and $E[f(X) g(Y)] = E f(X) \, E g(Y)$"""
    p, q = case.distribution("p", case.integer("rows", 2, 4)), case.distribution("q", case.integer("columns", 2, 4))
    f, g = case.tensor("f", len(p)).detach(), case.tensor("g", len(q)).detach()
    a, b = event(case, "A", len(p)), event(case, "B", len(q))
    table = case.build()(X=p, Y=q)
    both = table.probability(lambda x, y: x in a and y in b)
    means = table.expectation(lambda x, y: f[x] * g[y])
    return difference((both, means), (p[list(a)].sum() * q[list(b)].sum(), (p * f).sum() * (q * g).sum()))


def _correlation(table: JointTable, *names: str) -> Tensor:
    def mean(x: int, y: int) -> Tensor:
        return table.expectation(lambda *at: at[0] ** x * at[1] ** y)

    return (mean(1, 1) - mean(1, 0) * mean(0, 1)).abs()


@law("maths.joint.dependence", fault=_correlation, id="independence")
def variables_are_independent_if_and_only_if_their_table_is_a_product(case: Case) -> float:
    r"""$X \perp Y \Leftrightarrow p(x, y) = p(x) p(y)$: a pair with $Y = X^2$ is uncorrelated, and yet dependent"""
    dependence, third = case.build(), torch.full((3,), 1 / 3, dtype=torch.float64)
    p, q = case.distribution("p", 3), case.distribution("q", case.integer("columns", 1, 4))
    square = JointTable(third, ["X"], {"X": [-1, 0, 1]}).pushforward(X=lambda x: x, Y=lambda x: x * x)
    got = dependence(JointTable.independent(X=p, Y=q), "X") + dependence(square, "X")
    return difference(got, torch.tensor(2 / 9, dtype=torch.float64))  # at (0, 0): 1/3 - 1/9


def _constant(table: JointTable, given: str) -> Tensor:
    others = [name for name in table.names if name != given]
    return table.marginal(*others).probabilities.expand(len(table.values[given]), -1)


@law("maths.joint.conditional", fault=_constant, id="conditional-distribution")
def conditional_laws_give_the_pair_back_on_every_event(case: Case) -> float:
    r"""P[X ∈ A, Y ∈ B] = Σ P[X ∈ A | Y = y] P[Y = y] over y ∈ B, for all events A and B

    Without B it would hold for the constant kernel $y \mapsto P_X$ too.
    """
    table = pair(case)
    a, b = (event(case, name, len(table.values[axis])) for name, axis in (("A", "X"), ("B", "Y")))
    kernel, law = case.build()(table, "Y"), table.marginal("Y").probabilities
    got = (kernel[list(b)][:, list(a)].sum(1) * law[list(b)]).sum()
    wanted = table.probability(lambda x, y: x in a and y in b)
    single = difference(kernel * law[:, None], table.probabilities.mT)  # events of one outcome each
    return max(single, difference(got, wanted))


def _backwards(table: JointTable, given: str) -> Tensor:
    """Sums to 1 over what is given."""
    (other,) = (name for name in table.names if name != given)
    return table.conditional(other).mT


@law("maths.joint.conditional", fault=[_backwards, _constant], id="conditional-discrete-density")
def rows_are_the_table_divided_by_the_marginal(case: Case) -> float:
    """P[X = x | Y = y] = P[X = x, Y = y] / P[Y = y], which sums to 1; where P[Y = y] = 0 it is some law"""
    table = pair(case)
    p = table.probabilities.detach().clone()
    p[:, -1] = 0 if p.shape[1] > 1 else p[:, -1]
    table = JointTable(p / p.sum(), table.names)
    kernel = case.build()(table, "Y")
    ratio = [column / max(float(column.sum()), 1e-300) for column in table.probabilities.mT]
    possible = table.marginal("Y").probabilities > 0
    return difference((kernel[possible], kernel.sum(1)), (torch.stack(ratio)[possible], torch.ones(len(kernel))))


@law(
    "maths.joint.condition",
    fault=lambda table, **at: table.marginal(*(name for name in table.names if name not in at)),
    id="conditional-discrete-density",
)
def a_known_value_leaves_its_part_of_the_table(case: Case) -> float:
    r"""$p(x \mid Y = y) \, P[Y = y] = p(x, y)$"""
    table = pair(case)
    y = case.integer("y", 0, len(table.values["Y"]) - 1)
    law = case.build()(table, Y=y).probabilities
    return difference(law * table.marginal("Y").probabilities[y], table.probabilities[:, y])


# Densities


def normal_pair(case: Case) -> tuple[Normal, GridDensity]:
    """Of two coordinates, and the same at the points of a grid that has all its mass."""
    stds, correlation = case.positive("stds", 2, low=0.5).detach(), case.real("correlation", -0.8, 0.8)
    covariance = torch.outer(stds, stds) * torch.tensor([[1, correlation], [correlation, 1]], dtype=torch.float64)
    normal = Normal(case.tensor("mean", 2).detach(), covariance)
    grids = {
        name: normal.mean[i] + stds[i] * torch.linspace(-8, 8, 129, dtype=torch.float64) for i, name in enumerate("xy")
    }
    return normal, GridDensity.of(lambda x, y: normal.density(torch.stack([x, y], -1)), **grids)


@law(
    "maths.grid.marginal",
    fault=lambda density, name: density.condition(y=float(density.grids["y"][70])),
    id="density-marginal",
)
def the_marginal_of_a_normal_density_is_that_of_its_block(case: Case) -> float:
    """p(x) = ∫ p(x, y) dy, for a normal pair the normal density of its block"""
    normal, density = normal_pair(case)
    wanted = normal.marginal([0]).density(density.grids["x"][:, None])
    return difference(case.build()(density, "x").values, wanted)


@law("maths.grid.condition", fault=lambda density, y: density.marginal("x"), id="conditional-discrete-density")
def a_conditional_density_is_a_quotient(case: Case) -> float:
    r"""$p(x \mid y) = p(x, y) / p(y)$, for a normal pair the conditional normal density"""
    normal, density = normal_pair(case)
    y = float(density.grids["y"][case.integer("place", 40, 90)])
    wanted = normal.condition([1], [y]).density(density.grids["x"][:, None])
    return difference(case.build()(density, y=y).values, wanted)
