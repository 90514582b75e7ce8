"""Cells and sequences with the weights of torch's own modules."""

import numpy as np
import pytest
import torch
from scratch_helpers import agree, normal, right, same
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gradlab.scratch import Tensor
from gradlab.scratch.functions import relu
from gradlab.scratch.recurrent import Weights, gru, gru_cell, lstm, lstm_cell, rnn, rnn_cell

FEATURES, HIDDEN, TIME, BATCH = 2, 3, 4, 2
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
MODULES = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}


def arrays(name, layers=1, ways=1):
    rows, width, found = GATES[name] * HIDDEN, FEATURES, []
    for layer in range(layers):
        for way in range(ways):
            seed = 10 * layer + 5 * way
            weights = [normal(rows, n, seed=seed + i) for i, n in enumerate((width, HIDDEN))]
            found += [*weights, normal(rows, seed=seed + 3), normal(rows, seed=seed + 4)]
        width = HIDDEN * ways
    return found


def start(seed, layers=1):
    return normal(layers, BATCH, HIDDEN, seed=seed)


def of_torch(name, sequence, weights, *state, layers=1, ways=1, lengths=None):
    module = MODULES[name](FEATURES, HIDDEN, layers, bidirectional=ways == 2).double()
    names = [key for key, _ in module.named_parameters()]
    assert names[:4] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    given = (state if name == "lstm" else state[0],) if state else ()
    if lengths is not None:
        sequence = pack_padded_sequence(sequence, torch.tensor(lengths), enforce_sorted=False)
    outputs, last = torch.func.functional_call(module, dict(zip(names, weights, strict=True)), (sequence, *given))
    if lengths is not None:
        outputs, _ = pad_packed_sequence(outputs, total_length=TIME)
    return (outputs, *(last if name == "lstm" else (last,)))


def of_ours(name, sequence, weights, *state, layers=1, ways=1, lengths=None):
    runs = [Weights(*weights[i : i + 4]) for i in range(0, 4 * layers * ways, 4)]
    stack = [runs[i : i + ways] for i in range(0, layers * ways, ways)]
    options = {} if lengths is None else {"lengths": np.array(lengths)}
    if name == "lstm":
        outputs, last = lstm(sequence, stack, state or None, **options)
        return (outputs, *last)
    return {"rnn": rnn, "gru": gru}[name](sequence, stack, *state, **options)


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


@pytest.mark.parametrize("name", sorted(GATES))
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("ways", [1, 2])
@pytest.mark.parametrize("lengths", [None, [2, TIME], [TIME - 1, 1]])
def test_layers_directions_and_lengths_give_what_torch_gives(name, layers, ways, lengths):
    shape = {"layers": layers, "ways": ways, "lengths": lengths}
    count = 4 * layers * ways
    agree(
        lambda sequence, *rest: of_ours(name, sequence, rest[:count], *rest[count:], **shape),
        lambda sequence, *rest: of_torch(name, sequence, rest[:count], *rest[count:], **shape),
        normal(TIME, BATCH, FEATURES, seed=7),
        *arrays(name, layers, ways),
        *[start(8, layers * ways), start(9, layers * ways)][: 2 if name == "lstm" else 1],
    )


def test_without_biases_and_with_relu():
    module = torch.nn.RNN(FEATURES, HIDDEN, nonlinearity="relu", bias=False).double()
    names = [key for key, _ in module.named_parameters()]
    agree(
        lambda sequence, *w: rnn(sequence, [[Weights(*w)]], activation=relu),
        lambda sequence, *w: torch.func.functional_call(module, dict(zip(names, w, strict=True)), (sequence,)),
        normal(TIME, BATCH, FEATURES),
        *arrays("rnn")[:2],
    )


CELLS = {
    "rnn": lambda x, h, c, *w: rnn_cell(x, h, Weights(*w)),
    "gru": lambda x, h, c, *w: gru_cell(x, h, Weights(*w)),
    "lstm h": lambda x, h, c, *w: lstm_cell(x, h, c, Weights(*w))[0],
    "lstm c": lambda x, h, c, *w: lstm_cell(x, h, c, Weights(*w))[1],
}


@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_cell_by_central_differences(name):
    right(CELLS[name], normal(BATCH, FEATURES), start(8)[0], start(9)[0], *arrays(name.split()[0]))


@pytest.mark.parametrize("name", sorted(GATES))
def test_a_sequence_by_central_differences(name):
    right(lambda s, *w: of_ours(name, s, w)[0], normal(TIME, BATCH, FEATURES), *arrays(name))


def test_two_layers_both_ways_with_lengths_by_central_differences():
    shape = {"layers": 2, "ways": 2, "lengths": [2, TIME]}
    right(lambda s, *w: of_ours("rnn", s, w, **shape)[0], normal(TIME, BATCH, FEATURES), *arrays("rnn", 2, 2))


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
        Tensor(normal(50, BATCH, FEATURES)), [[Weights(*map(Tensor, (u, w, b, c)))]], (Tensor(start(4)), Tensor(first))
    )
    assert np.array_equal(last.value, first)
