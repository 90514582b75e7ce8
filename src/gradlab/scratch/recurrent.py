"""Recurrent cells, and their run over a sequence.

A cell has one matrix for the input and one for the hidden state, in each of which the gates lie below one another, and
a bias for either: PyTorch's arrangement, so that weights can be taken over as they are. The two biases simply add,
except in the GRU, where one of them is inside the reset gate's product. Sequences have shape (time, batch, features).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import concatenate, constant, sigmoid, stack, tanh, where
from gradlab.scratch.tensor import Tensor


class Weights(NamedTuple):
    """U and its bias meet the input x, W and its bias meet the hidden state h; rows are gates times hidden units."""

    input_weight: Tensor
    hidden_weight: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None


Layers = Sequence[Sequence[Weights]]
"""For each layer, from the lowest, the weights of its run forwards, and of its run backwards if it has one."""

State = tuple[Tensor, ...]
"""h, and for the LSTM c. Of several layers, each has shape (layers times directions, batch, hidden)."""

Lengths = npt.NDArray[np.integer]
Step = Callable[[Tensor, State, Weights], State]


def rnn_cell(x: Tensor, h: Tensor, weights: Weights, activation: Callable[[Tensor], Tensor] = tanh) -> Tensor:
    """h' = tanh(U x + b + W h + c)."""
    from_input, from_hidden = _maps(x, h, weights)
    return activation(from_input + from_hidden)


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


def rnn(
    sequence: Tensor,
    layers: Layers,
    h: Tensor | None = None,
    lengths: Lengths | None = None,
    activation: Callable[[Tensor], Tensor] = tanh,
) -> tuple[Tensor, Tensor]:
    """The top layer's hidden states, and the last one of each layer. Without first ones they are 0."""
    first = _zeros(sequence, layers) if h is None else h
    outputs, (last,) = _stacked(
        lambda x, state, w: (rnn_cell(x, state[0], w, activation),), sequence, layers, (first,), lengths
    )
    return outputs, last


def gru(
    sequence: Tensor, layers: Layers, h: Tensor | None = None, lengths: Lengths | None = None
) -> tuple[Tensor, Tensor]:
    """The top layer's hidden states, and the last one of each layer. Without first ones they are 0."""
    first = _zeros(sequence, layers) if h is None else h
    outputs, (last,) = _stacked(lambda x, state, w: (gru_cell(x, state[0], w),), sequence, layers, (first,), lengths)
    return outputs, last


def lstm(
    sequence: Tensor, layers: Layers, state: tuple[Tensor, Tensor] | None = None, lengths: Lengths | None = None
) -> tuple[Tensor, State]:
    """The top layer's hidden states, and of each layer the last one and the last cell. Without first ones, 0."""
    first = state or (_zeros(sequence, layers), _zeros(sequence, layers))
    return _stacked(lambda x, state, w: lstm_cell(x, state[0], state[1], w), sequence, layers, first, lengths)


def _stacked(
    step: Step, sequence: Tensor, layers: Layers, first: State, lengths: Lengths | None
) -> tuple[Tensor, State]:
    """Each layer reads what the one below gave out, and its two directions lie side by side."""
    steps = len(sequence)
    real = np.arange(steps)[:, None, None] < np.reshape(steps if lengths is None else lengths, (1, -1, 1))
    last: list[State] = []
    for layer in layers:
        ways = []
        for weights, order in zip(layer, (range(steps), range(steps)[::-1]), strict=False):
            outputs, end = _one_way(step, sequence, weights, tuple(s[len(last)] for s in first), real, order)
            ways.append(outputs)
            last.append(end)
        sequence = concatenate(ways, axis=-1)
    return sequence, tuple(map(stack, zip(*last, strict=True)))


def _one_way(
    step: Step, sequence: Tensor, weights: Weights, state: State, real: npt.NDArray[np.bool_], order: Sequence[int]
) -> tuple[Tensor, State]:
    """The same cell at every step, fed with the state that the step before has left.

    Where there is only padding the state stands still and 0 is given out: a run backwards thus begins at the last real
    step, and a run forwards ends there.
    """
    outputs: dict[int, Tensor] = {}
    for t in order:
        moved = step(sequence[t], state, weights)
        state = tuple(where(real[t], new, old) for new, old in zip(moved, state, strict=True))
        outputs[t] = where(real[t], state[0], 0.0)
    return stack([outputs[t] for t in sorted(outputs)]), state


def _maps(x: Tensor, h: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """U x + b and W h + c."""
    return dense(x, weights.input_weight, weights.input_bias), dense(h, weights.hidden_weight, weights.hidden_bias)


def _split(x: Tensor, parts: int) -> list[Tensor]:
    width = x.shape[-1] // parts
    return [x[..., i * width : (i + 1) * width] for i in range(parts)]


def _zeros(sequence: Tensor, layers: Layers) -> Tensor:
    runs = [weights for layer in layers for weights in layer]
    return constant(np.zeros((len(runs), sequence.shape[1], runs[0].hidden_weight.shape[-1])))
