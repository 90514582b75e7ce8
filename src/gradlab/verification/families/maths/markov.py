"""What is known of Markov chains: laws after some steps, stationary laws, kernels, and processes with a memory."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from gradlab.maths.markov.chain import MarkovChain, law_after, stationary_laws
from gradlab.maths.markov.history import history, order_chain
from gradlab.maths.markov.kernel import NormalKernel, simulate
from gradlab.maths.markov.memory import lumped, memory
from gradlab.maths.probability.grid import GridDensity
from gradlab.maths.probability.joint import JointTable
from gradlab.maths.probability.normal import Normal
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

for _name in ("law", "table", "sample"):
    subject(f"maths.markov.{_name}")(getattr(MarkovChain, _name))
for _function in (law_after, stationary_laws, memory, lumped, history, order_chain, simulate):
    subject(f"maths.markov.{_function.__name__}")(_function)
subject("maths.markov.kernel_law")(NormalKernel.law)
subject("maths.markov.kernel_density")(NormalKernel.density)


def chain(case: Case, states: int | None = None) -> MarkovChain:
    n = case.integer("states", 2, 4) if states is None else states
    return MarkovChain(case.distribution("A", n, n).detach(), case.distribution("ν", n).detach())


def _by_paths(start: Tensor, transitions: Sequence[Tensor]) -> Tensor:
    """The law of the last state, from the probabilities of all ways to it."""
    law = torch.zeros_like(start)
    for path in product(range(len(start)), repeat=len(transitions) + 1):
        p = start[path[0]]
        for step, transition in enumerate(transitions):
            p = p * transition[path[step], path[step + 1]]
        law[path[-1]] += p
    return law


@law(
    "maths.markov.law", fault=lambda own, n: torch.linalg.matrix_power(own.transition, n) @ own.start, id="markov-chain"
)
def the_law_after_n_steps_is_a_power_of_the_matrix(case: Case) -> float:
    r"""$P[X_n = j] = (\nu A^n)_j$, which sums to 1: the sum over all paths to j"""
    own, steps = chain(case), case.integer("steps", 0, 4)
    got = case.build()(own, steps)
    wanted = _by_paths(own.start, [own.transition] * steps)
    return difference((got, got.sum()), (wanted, torch.ones((), dtype=torch.float64)))


def _from_the_first(own: MarkovChain, steps: int) -> JointTable:
    """Each state follows from the first one, instead of from the one before."""
    joint = own.start
    for n in range(steps):
        joint = joint[..., None] * own.transition.reshape(own.states, *[1] * n, own.states)
    return JointTable(joint, [f"X{n}" for n in range(steps + 1)])


@law("maths.markov.table", fault=_from_the_first, id="markov-chain")
def the_past_does_not_count_once_the_present_is_known(case: Case) -> float:
    r"""$P[X_n = x \mid X_0, \dots, X_{n-1}] = P[X_n = x \mid X_{n-1}]$"""
    return float(memory(case.build()(chain(case), case.integer("steps", 2, 4))))


@law(
    "maths.markov.sample",
    fault=lambda own, steps, paths, generator: MarkovChain(
        own.transition.mT / own.transition.mT.sum(1, keepdim=True), own.start
    ).sample(steps, paths, generator),
    tolerance=5.5,
    most_cases=2,
)
def drawn_paths_have_the_law_of_the_chain(case: Case) -> float:
    r"""$P[X_{n-1} = i, X_n = j]$ of 20,000 paths, in standard errors"""
    own, steps, paths = chain(case), case.integer("steps", 1, 4), 20_000
    path = case.build()(own, steps, paths, generator=case.generator("paths"))
    counts = torch.zeros_like(own.transition)
    counts.index_put_((path[:, -2], path[:, -1]), torch.ones(paths, dtype=counts.dtype), accumulate=True)
    p = own.law(steps - 1)[:, None] * own.transition
    return float(((counts / paths - p) / (p * (1 - p) / paths).sqrt()).abs().max())


def _reversed(start: Tensor, transitions: Sequence[Tensor]) -> Tensor:
    return law_after(start, [*transitions][::-1])


@law("maths.markov.law_after", fault=_reversed, id="markov-inhomogeneous")
def matrices_of_single_steps_multiply_in_their_order(case: Case) -> float:
    r"""the law of $X_n$ is $\nu A_0 A_1 \cdots A_{n-1}$, the sum over all paths"""
    n, steps = case.integer("states", 2, 3), case.integer("steps", 0, 4)
    start, transitions = case.distribution("ν", n).detach(), case.distribution("A", steps, n, n).detach()
    return difference(case.build()(start, transitions), _by_paths(start, list(transitions)))


# Stationary laws


def reducible(case: Case) -> Tensor:
    """Two classes that are never left, and a state that leads to both, in any order."""
    sizes = case.integer("first class", 1, 3), case.integer("second class", 1, 3)
    blocks = [case.distribution(f"A{i}", n, n).detach() for i, n in enumerate(sizes)]
    matrix = torch.zeros(sum(sizes) + 1, sum(sizes) + 1, dtype=torch.float64)
    matrix[: sizes[0], : sizes[0]], matrix[sizes[0] : -1, sizes[0] : -1] = blocks
    matrix[-1] = case.distribution("from the last", len(matrix)).detach()
    order = case.permutation("order", len(matrix))
    return matrix[order][:, order]


@law("maths.markov.stationary_laws", fault=lambda A: torch.full_like(A[:1], 1 / len(A)))
def a_step_does_not_change_them_and_there_is_one_for_each_class(case: Case) -> float:
    """πA = π and Σ πᵢ = 1; from any start, the mean law over time is a mixture of them"""
    matrix, many = reducible(case), 2**20
    laws = case.build()(matrix)
    lazy = 0.5 * (matrix + torch.eye(len(matrix), dtype=matrix.dtype))  # the same laws, and no periods
    limit = torch.linalg.matrix_power(lazy, many)
    shares = limit[:, laws.argmax(-1)] / laws.amax(-1)
    sums = torch.ones(len(laws), dtype=torch.float64)
    return difference((laws @ matrix, laws.sum(1), shares @ laws), (laws, sums, limit))


@peer("maths.markov.stationary_laws", "numpy.linalg.eig")
def numpys_eigenvector(case: Case) -> float:
    import numpy as np

    own = chain(case)
    values, vectors = np.linalg.eig(own.transition.numpy().T)
    first = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    return difference(case.build()(own.transition), torch.from_numpy(first / first.sum())[None])


# Processes that remember


def _of_the_last_alone(process: JointTable) -> Tensor:
    return torch.zeros((), dtype=torch.float64)


@law("maths.markov.memory", fault=_of_the_last_alone)
def a_process_that_repeats_its_first_state_remembers_it(case: Case) -> float:
    r"""of $X_0 = X_2$ with independent $X_0, X_1$: $\max |1 - P[X_0 = x]|$ or $P[X_0 = x]$, whichever is more"""
    p, q = case.distribution("p", case.integer("states", 2, 4)), case.distribution("q", 3)
    process = JointTable.independent(X0=p, X1=q).pushforward(X0=lambda a, b: a, X1=lambda a, b: b, X2=lambda a, b: a)
    return difference(case.build()(process), torch.maximum(p.max(), (1 - p).max()))


def _of_one_state_each(own: MarkovChain, groups: Sequence[Any], steps: int = 2) -> JointTable:
    """The states themselves, as far as there are groups: what is seen would be everything."""
    numbers = {group: n for n, group in enumerate(dict.fromkeys(groups))}
    table = own.table(steps)
    p = torch.full_like(table.probabilities[(slice(len(numbers)),) * (steps + 1)], len(numbers) ** -(steps + 1.0))
    names = [f"Y{n}" for n in range(steps + 1)]
    return JointTable(p, names, {name: list(numbers) for name in names})


@law("maths.markov.lumped", fault=_of_one_state_each)
def what_is_seen_is_the_chain_pushed_forward(case: Case) -> float:
    r"""$P[Y_0 = a, \dots, Y_n = c] = \sum P[X_0 = i, \dots, X_n = k]$ over f(i) = a, …, f(k) = c"""
    own, steps = chain(case), case.integer("steps", 1, 3)
    groups = [0, *case.indices("groups", own.states - 1, below=3).tolist()]

    def group(time: int) -> Callable[..., int]:
        return lambda *path: groups[path[time]]

    wanted = own.table(steps).pushforward(**{f"Y{n}": group(n) for n in range(steps + 1)})
    got = case.build()(own, groups, steps)
    order = [got.values["Y0"].index(value) for value in wanted.values["Y0"]]
    p = got.probabilities
    for axis in range(steps + 1):
        p = p.index_select(axis, torch.tensor(order))
    return difference(p, wanted.probabilities)


def process(case: Case, times: int) -> JointTable:
    """Any process at all, of two or three states."""
    states = case.integer("states", 2, 3)
    p = case.distribution("p", states**times).reshape([states] * times)
    return JointTable(p, [f"X{n}" for n in range(times)])


@law("maths.markov.history", fault=lambda table: table, id="history-markovisation")
def whoever_remembers_everything_needs_no_past(case: Case) -> float:
    r"""$Y_n = (X_0, \dots, X_n)$ is a Markov process, whatever X is"""
    return float(memory(case.build()(process(case, case.integer("times", 3, 4)))))


def _newest_first(following: Tensor, start: Any = None) -> MarkovChain:
    past = following.ndim - 1
    return order_chain(following.permute(*reversed(range(past)), past), start)


@law("maths.markov.order_chain", fault=_newest_first, id="history-markovisation")
def a_chain_of_order_k_is_a_chain_on_histories_of_k_states(case: Case) -> float:
    """P[X₀, …, Xₙ] = ν(X₀, …, Xₖ₋₁) Π P[Xₜ | Xₜ₋ₖ, …, Xₜ₋₁] over t ≥ k"""
    states, order, steps = case.integer("states", 2, 3), case.integer("order", 1, 2), case.integer("steps", 1, 3)
    following = case.distribution("following", *[states] * (order + 1)).detach()
    start = case.distribution("ν", states**order).detach()
    joint = start.reshape([states] * order)
    for _ in range(steps):  # the last axes of the table are the past of the next state
        joint = joint[..., None] * following
    wanted = joint.sum(list(range(joint.ndim - order))).flatten()
    return difference(case.build()(following, start).law(steps), wanted)


# General state spaces


def kernel(case: Case) -> NormalKernel:
    d = case.integer("dim", 1, 2)
    root = case.tensor("root", d, d).detach()
    return NormalKernel(root @ root.mT + 0.3 * torch.eye(d, dtype=root.dtype))


def _together(own: NormalKernel, start: Normal, steps: int) -> Normal:
    """The same step n times over."""
    return Normal(start.mean, start.covariance + steps**2 * own.noise.covariance)


@law("maths.markov.kernel_law", fault=_together, id="stochastic-kernel")
def normal_steps_add_up_their_covariances(case: Case) -> float:
    r"""from $A(x, \cdot) = N(x, \Sigma)$ follows $X_n \sim N(x_0, n \Sigma)$"""
    own, steps = kernel(case), case.integer("steps", 0, 5)
    start = Normal(case.tensor("start", own.noise.dim).detach(), torch.zeros_like(own.noise.covariance))
    got = case.build()(own, start, steps)
    return difference((got.mean, got.covariance), (start.mean, steps * own.noise.covariance))


@law(
    "maths.markov.kernel_density",
    fault=lambda own, state, after: own.noise.density(state - after @ own.matrix.mT),
    id="stochastic-kernel",
)
def from_every_state_it_goes_somewhere(case: Case) -> float:
    r"""$A(x, V) = \int A(x, y) \, dy = 1$ for every state x"""
    std, factor, x = case.real("std", 0.5, 2), case.real("F", 0.5, 2), case.tensor("x", 1).detach()
    own = NormalKernel([[std**2]], [[factor]], case.tensor("shift", 1).detach())
    y = torch.linspace(-40, 40, 2001, dtype=torch.float64)
    mass = GridDensity(case.build()(own, x.expand(len(y), 1), y[:, None]), y=y).mass
    return difference(mass, torch.ones_like(mass))


def _from_the_start(kernel: Any, start: Tensor, steps: int, generator: torch.Generator | None = None) -> Tensor:
    return torch.stack([start] + [kernel(start, generator) for _ in range(steps)])


@law("maths.markov.simulate", fault=_from_the_start, id="stochastic-kernel", tolerance=5.5, most_cases=2)
def drawn_chains_have_the_law_of_the_kernel(case: Case) -> float:
    r"""mean and covariance of 20,000 draws of $X_n$ are those of $N(F x + b, \Sigma)$ n times, in standard errors"""
    d, steps, count = case.integer("dim", 1, 2), case.integer("steps", 2, 4), 20_000
    root = case.tensor("root", d, d).detach() + 0.5 * torch.eye(d)
    own = NormalKernel(
        root @ root.mT, case.tensor("F", d, d, scale=0.5).detach() + torch.eye(d), torch.ones(d).double()
    )
    start = case.tensor("start", d).detach()
    wanted = own.law(Normal(start, torch.zeros(d, d).double()), steps)
    x = case.build()(own, start.expand(count, d), steps, case.generator("draws"))[-1] - wanted.mean
    variances = wanted.covariance.diagonal()
    error = ((torch.outer(variances, variances) + wanted.covariance**2) / count).sqrt()
    means = x.mean(0) / (variances / count).sqrt()
    return float(torch.cat([means, ((x.mT @ x / count - wanted.covariance) / error).flatten()]).abs().max())
