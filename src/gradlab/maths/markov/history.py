"""Any process becomes a Markov chain when its state is the history: all of it, or as much as it remembers."""

from collections.abc import Callable
from typing import Any

import torch

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.maths.markov.chain import MarkovChain, check_stochastic
from gradlab.maths.probability.joint import JointTable


def history(process: JointTable) -> JointTable:
    r"""The process whose state is all that was seen so far, which is a Markov process whatever the first one was.

    $$ Y_n = (X_0, \dots, X_n) $$

    The axes of the table are the times.

    >>> coins = JointTable.independent(X0=[0.5, 0.5], X1=[0.5, 0.5])
    >>> history(coins).values["Y1"]
    ((0, 0), (0, 1), (1, 0), (1, 1))
    """

    def until(time: int) -> Callable[..., Any]:
        return lambda *path: path[: time + 1]

    return process.pushforward(**{f"Y{n}": until(n) for n in range(len(process.names))})


def order_chain(following: Any, start: Any = None) -> MarkovChain:
    r"""A chain that remembers k states, as a chain of order 1 whose state is the last k of them.

    $$ A_{(x_1, \dots, x_k), (x_2, \dots, x_k, y)} = P[X_n = y \mid X_{n-k} = x_1, \dots, X_{n-1} = x_k] $$

    `following` has k axes for the past, the oldest state first, and a last one for the next state. Histories are
    numbered as if their states were digits. `start` is as that of `MarkovChain`.

    >>> following = torch.tensor([[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.2, 0.8]]])
    >>> order_chain(following).transition
    tensor([[0.9000, 0.1000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.5000, 0.5000],
            [0.5000, 0.5000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.2000, 0.8000]])
    """
    following = tensor(following)
    sizes = set(following.shape)
    if following.ndim < 2 or len(sizes) != 1:
        raise GradlabError(f"order_chain: all axes are over the same states, got the shape {tuple(following.shape)}.")
    (states,) = sizes
    histories = states ** (following.ndim - 1)
    rows = torch.arange(histories)
    transition = torch.zeros(histories, histories).to(following)
    for state in range(states):
        transition[rows, (rows * states + state) % histories] = following.reshape(histories, states)[:, state]
    check_stochastic(transition, "following, by histories")
    return MarkovChain(transition, start)
