"""Recurrent cells, and their run over a sequence.

A cell has one matrix for the input and one for the hidden state, in each of which the gates lie below one another, and
a bias for either: PyTorch's arrangement, so that weights can be taken over as they are. The two biases simply add,
except in the GRU, where one of them is inside the reset gate's product. Sequences have shape (time, batch, features).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import constant, sigmoid, stack, tanh
from gradlab.scratch.tensor import Tensor


class Weights(NamedTuple):
    """U and its bias meet the input x, W and its bias meet the hidden state h; rows are gates times hidden units."""

    input_weight: Tensor
    hidden_weight: Tensor
    input_bias: Tensor
    hidden_bias: Tensor


Cell = Callable[[Tensor, Tensor, Weights], Tensor]


def rnn_cell(x: Tensor, h: Tensor, weights: Weights) -> Tensor:
    """h' = tanh(U x + b + W h + c)."""
    from_input, from_hidden = _maps(x, h, weights)
    return tanh(from_input + from_hidden)


def lstm_cell(x: Tensor, h: Tensor, c: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """i, f, o = sigmoid(U x + W h + b), g = tanh(the same), each with its own rows;  c' = f c + i g,  h' = o tanh c'.

    All four see the hidden state of the step before. With f = 1 and i = 0 the cell c is kept as it is, for ever.
    """
    from_input, from_hidden = _maps(x, h, weights)
    i, f, g, o = _split(from_input + from_hidden, 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def gru_cell(x: Tensor, h: Tensor, weights: Weights) -> Tensor:
    """r, z = sigmoid(U x + W h + b),  n = tanh(Uₙ x + bₙ + r (Wₙ h + cₙ)),  h' = (1 - z) n + z h."""
    from_input, from_hidden = _maps(x, h, weights)
    r_input, z_input, n_input = _split(from_input, 3)
    r_hidden, z_hidden, n_hidden = _split(from_hidden, 3)
    r, z = sigmoid(r_input + r_hidden), sigmoid(z_input + z_hidden)
    n = tanh(n_input + r * n_hidden)
    return (1 - z) * n + z * h


def rnn(sequence: Tensor, weights: Weights, h: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """All hidden states, and the last one. Without a first one it is 0."""
    return _unrolled(rnn_cell, sequence, weights, h)


def gru(sequence: Tensor, weights: Weights, h: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """All hidden states, and the last one. Without a first one it is 0."""
    return _unrolled(gru_cell, sequence, weights, h)


def lstm(
    sequence: Tensor, weights: Weights, state: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """All hidden states, and the last hidden state with the last cell. Without first ones they are 0."""
    h, c = state or (_zeros(sequence, weights), _zeros(sequence, weights))
    states = []
    for x in sequence:
        h, c = lstm_cell(x, h, c, weights)
        states.append(h)
    return stack(states), (h, c)


def _unrolled(cell: Cell, sequence: Tensor, weights: Weights, h: Tensor | None) -> tuple[Tensor, Tensor]:
    """The same cell at every step, each fed with the state that the step before has left."""
    h = _zeros(sequence, weights) if h is None else h
    states = []
    for x in sequence:
        h = cell(x, h, weights)
        states.append(h)
    return stack(states), h


def _maps(x: Tensor, h: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """U x + b and W h + c."""
    return dense(x, weights.input_weight, weights.input_bias), dense(h, weights.hidden_weight, weights.hidden_bias)


def _split(x: Tensor, parts: int) -> list[Tensor]:
    width = x.shape[-1] // parts
    return [x[..., i * width : (i + 1) * width] for i in range(parts)]


def _zeros(sequence: Tensor, weights: Weights) -> Tensor:
    return constant(np.zeros((sequence.shape[1], weights.hidden_weight.shape[-1])))
