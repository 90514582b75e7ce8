"""Cells and sequences with the weights of torch's own modules."""

import numpy as np
import pytest
import torch
from scratch_helpers import agree, normal, right, same

from gradlab.scratch import Tensor
from gradlab.scratch.recurrent import Weights, gru, gru_cell, lstm, lstm_cell, rnn, rnn_cell

FEATURES, HIDDEN, TIME, BATCH = 2, 3, 4, 2
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
MODULES = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}


def arrays(name):
    rows = GATES[name] * HIDDEN
    weights = [normal(rows, n, seed=i) for i, n in enumerate((FEATURES, HIDDEN))]
    return [*weights, normal(rows, seed=3), normal(rows, seed=4)]


def start(seed):
    return normal(BATCH, HIDDEN, seed=seed)


def of_torch(name, sequence, weights, *state):
    module = MODULES[name](FEATURES, HIDDEN).double()
    names = [key for key, _ in module.named_parameters()]
    assert names == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    given = tuple(s[None] for s in state)
    given = (given if name == "lstm" else given[0],) if given else ()
    outputs, last = torch.func.functional_call(module, dict(zip(names, weights, strict=True)), (sequence, *given))
    return (outputs, *(part[0] for part in (last if name == "lstm" else (last,))))


def of_ours(name, sequence, weights, *state):
    packed = Weights(*weights)
    if name == "lstm":
        outputs, last = lstm(sequence, packed, state or None)
        return (outputs, *last)
    return {"rnn": rnn, "gru": gru}[name](sequence, packed, *state)


@pytest.mark.parametrize("name", sorted(GATES))
@pytest.mark.parametrize("from_zero", [True, False])
def test_a_sequence_gives_what_torch_gives(name, from_zero):
    state = [] if from_zero else [start(8), start(9)][: 2 if name == "lstm" else 1]
    agree(
        lambda sequence, *rest: of_ours(name, sequence, rest[:4], *rest[4:]),
        lambda sequence, *rest: of_torch(name, sequence, rest[:4], *rest[4:]),
        normal(TIME, BATCH, FEATURES, seed=7),
        *arrays(name),
        *state,
    )


CELLS = {
    "rnn": lambda x, h, c, *w: rnn_cell(x, h, Weights(*w)),
    "gru": lambda x, h, c, *w: gru_cell(x, h, Weights(*w)),
    "lstm h": lambda x, h, c, *w: lstm_cell(x, h, c, Weights(*w))[0],
    "lstm c": lambda x, h, c, *w: lstm_cell(x, h, c, Weights(*w))[1],
}


@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_cell_by_central_differences(name):
    right(CELLS[name], normal(BATCH, FEATURES), start(8), start(9), *arrays(name.split()[0]))


@pytest.mark.parametrize("name", sorted(GATES))
def test_a_sequence_by_central_differences(name):
    right(lambda s, *w: of_ours(name, s, w)[0], normal(TIME, BATCH, FEATURES), *arrays(name))


@pytest.mark.parametrize("name", ["rnn", "lstm"])
def test_the_two_biases_add(name):
    sequence, (u, w, b, c) = Tensor(normal(TIME, BATCH, FEATURES)), arrays(name)
    both = of_ours(name, sequence, [Tensor(a) for a in (u, w, b, c)])[0]
    one = of_ours(name, sequence, [Tensor(a) for a in (u, w, b + c, 0 * c)])[0]
    same(both, one.value)


def test_with_open_forget_gate_and_closed_input_gate_the_cell_is_kept_for_ever():
    u, w, b, c = (0 * a for a in arrays("lstm"))
    b[:HIDDEN], b[HIDDEN : 2 * HIDDEN] = -1000, 1000
    first = start(5)
    _, (_, last) = lstm(
        Tensor(normal(50, BATCH, FEATURES)), Weights(*map(Tensor, (u, w, b, c))), (Tensor(start(4)), Tensor(first))
    )
    assert np.array_equal(last.value, first)
