"""The recurrent cells: against their twins in the glass engine, and against PyTorch's own modules."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab import scratch
from gradlab.scratch import functions, recurrent
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, same
from gradlab.verification.families.recurrent.drawing import KINDS, inputs_of_cell, parts, sizes_of_cell

PEERS: dict[str, Any] = {"rnn_cell": nn.RNNCell, "lstm_cell": nn.LSTMCell, "gru_cell": nn.GRUCell}
ACTIVATIONS = {"tanh": functions.tanh, "relu": functions.relu}


def _any(case: Case, name: str) -> tuple[Any, dict[str, Any], list[str], Tensor, Any]:
    """A cell with any settings, those, the names of its weights, an input, and the state before if there is one."""
    settings = sizes_of_cell(case) | {"bias": case.choice("bias", (True, False))}
    if name == "rnn_cell":
        settings["nonlinearity"] = case.choice("nonlinearity", ("tanh", "relu"))
    x, state = inputs_of_cell(case, settings)
    names = list(KINDS if settings["bias"] else KINDS[:2])
    return case.build(**settings), settings, names, x, state if case.flag("given a state") else None


def _given(state: Any) -> list[Any]:
    return [] if state is None else [state]


def _judged(name: str) -> None:
    function = getattr(recurrent, name)

    @twin(f"recurrent.{name}", function)
    def twin_check(case: Case) -> float:
        cell, settings, names, x, state = _any(case, name)
        options = [ACTIVATIONS[settings["nonlinearity"]]] if name == "rnn_cell" else []
        first = () if state is None else parts(state)
        zeros = [functions.constant(np.zeros((len(x), settings["hidden_size"])))] * (2 if name == "lstm_cell" else 1)

        def of_twin(x: scratch.Tensor, *rest: scratch.Tensor) -> Any:
            before, weights = rest[: len(first)] or zeros, recurrent.Weights(*rest[len(first) :])
            return function(x, *before, weights, *options)

        return agreement(cell(x, *_given(state)), of_twin, x, *first, *case.weights(cell, *names))

    @peer(f"recurrent.{name}", f"torch.nn.{PEERS[name].__name__}")
    def peer_check(case: Case) -> float:
        cell, settings, names, x, state = _any(case, name)
        torchs, weights = PEERS[name](**settings).double(), case.weights(cell, *names)
        torchs.load_state_dict(dict(zip(names, weights, strict=True)))
        leaves = [x, *(() if state is None else parts(state))]
        theirs = [getattr(torchs, key) for key in names]
        return same(cell(x, *_given(state)), torchs(x, *_given(state)), [*leaves, *weights], [*leaves, *theirs])

    if name == "lstm_cell":
        example("recurrent.lstm_cell", n=5, d=3, h=4)(
            lambda n, d, h: ({"input_size": d, "hidden_size": h}, (torch.randn(n, d),))
        )
    else:
        example(f"recurrent.{name}", n=5, d=3, h=4)(
            lambda n, d, h: ({"input_size": d, "hidden_size": h}, (torch.randn(n, d), torch.randn(n, h)))
        )


for _name in PEERS:
    _judged(_name)
