"""Whether a process remembers more than its last state: by how much the past changes what comes next."""

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.markov.chain import MarkovChain
from gradlab.maths.probability.joint import JointTable


def memory(process: JointTable) -> Tensor:
    r"""By how much the past before the last state can change the law of the next one: 0 for a Markov process.

    $$ \max \left| P[X_n = x \mid X_0, \dots, X_{n-1}] - P[X_n = x \mid X_{n-1}] \right| $$

    The axes of the table are the times, at least three; the last one is n. Only pasts that are possible count.

    >>> memory(MarkovChain([[0.9, 0.1], [0.5, 0.5]]).table(2)) < 1e-12
    tensor(True)
    """
    *past, now = process.names
    if len(past) < 2:
        raise GradlabError("memory: a table with at least three times is needed, of which the last is the next state.")
    by_past, by_last = process.conditional(*past), process.marginal(past[-1], now).conditional(past[-1])
    possible = process.marginal(*past).probabilities > 0
    return ((by_past - by_last).abs().amax(-1) * possible).max()


def lumped(chain: MarkovChain, groups: Sequence[Hashable], steps: int = 2) -> JointTable:
    r"""What is seen of a chain by someone who sees only the group of each state: the joint law of $Y_n = f(X_n)$.

    `groups` has the group of each state. Such a process (a hidden Markov model) is in general no Markov chain.

    >>> hidden = lumped(MarkovChain([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), ["a", "a", "b"])
    >>> memory(hidden)
    tensor(0.5000, dtype=torch.float64)
    """
    if len(groups) != chain.states:
        raise GradlabError(f"lumped: {chain.states} states need a group each, got {len(groups)}.")
    table = chain.table(steps)
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    member = torch.zeros(chain.states, len(numbers)).to(chain.transition)
    member[torch.arange(chain.states), torch.tensor([numbers[group] for group in groups])] = 1.0
    joint = table.probabilities
    for _ in table.names:  # the first axis is summed by groups and becomes the last
        joint = torch.tensordot(joint, member, ([0], [0]))
    names = [f"Y{n}" for n in range(steps + 1)]
    return JointTable(joint, names, {name: list(numbers) for name in names})
