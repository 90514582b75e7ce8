"""The recurrent blocks over sequences: against their twins in the glass engine, and against PyTorch's own modules."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gradlab import scratch
from gradlab.scratch import recurrent
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, same
from gradlab.verification.families.recurrent.cells import ACTIVATIONS
from gradlab.verification.families.recurrent.drawing import Run, parts, whole

TWINS: dict[str, Any] = {"rnn": recurrent.rnn, "lstm": recurrent.lstm, "gru": recurrent.gru}
PEERS: dict[str, Any] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def _any(case: Case, name: str) -> tuple[Run, Tensor, Any, Tensor | None]:
    """A block with any settings, a sequence, the state to begin with if there is one, and lengths if there are any."""
    bent: dict[str, Any] = {"nonlinearity": ("tanh", "relu")} if name == "rnn" else {}
    either = (False, True)
    run = Run.drawn(case, num_layers=(1, 2), bias=(True, False), bidirectional=either, batch_first=either, **bent)
    x = run.inputs()
    state = run.state(x) if case.flag("given a state") else None
    lengths = run.lengths(x) if run.takes_lengths and case.flag("padded") else None
    return run, x, state, lengths


def _judged(name: str) -> None:
    @twin(f"recurrent.{name}", TWINS[name])
    def twin_check(case: Case) -> float:
        run, x, state, lengths = _any(case, name)
        first = () if state is None else parts(state)
        options: dict[str, Any] = {"lengths": None if lengths is None else lengths.numpy()}
        if name == "rnn":
            options["activation"] = ACTIVATIONS[run.settings["nonlinearity"]]

        def function(x: scratch.Tensor, *rest: scratch.Tensor) -> Any:
            given, weights = rest[: len(first)], iter(rest[len(first) :])
            layers = [
                [recurrent.Weights(*(next(weights) for _ in run.names(layer, way))) for way in run.ways]
                for layer in range(run.num_layers)
            ]
            return TWINS[name](x, layers, whole(given) if given else None, **options)

        return agreement(run(x, state, lengths), function, x, *first, *run.weights())

    @peer(f"recurrent.{name}", f"torch.nn.{PEERS[name].__name__}")
    def peer_check(case: Case) -> float:
        run, x, state, lengths = _any(case, name)
        first = () if state is None else parts(state)
        torchs = PEERS[name](**run.settings).double()
        torchs.load_state_dict(dict(zip(run.all_names(), run.weights(), strict=True)))
        given = x.transpose(0, 1) if torchs.batch_first else x
        if lengths is None:
            outputs, last = torchs(given, state)
        else:
            packed, last = torchs(pack_padded_sequence(given, lengths, torchs.batch_first, enforce_sorted=False), state)
            outputs, _ = pad_packed_sequence(packed, torchs.batch_first, total_length=len(x))
        wanted = outputs.transpose(0, 1) if torchs.batch_first else outputs, last
        theirs = [getattr(torchs, key) for key in run.all_names()]
        return same(run(x, state, lengths), wanted, [x, *first, *run.weights()], [x, *first, *theirs])


for _name in TWINS:
    _judged(_name)


def _settings(d: int, h: int, l: int, k: int) -> dict[str, Any]:  # noqa: E741
    return {"input_size": d, "hidden_size": h, "num_layers": l, "bidirectional": k == 2}


@example("recurrent.rnn", n=5, b=2, d=3, h=4, l=2, k=2)
@example("recurrent.gru", n=5, b=2, d=3, h=4, l=2, k=2)
def example_with_a_state(n: int, b: int, **sizes: int) -> Any:
    first = torch.randn(sizes["l"] * sizes["k"], b, sizes["h"])
    return _settings(**sizes), (torch.randn(n, b, sizes["d"]), first)


@example("recurrent.lstm", n=5, b=2, d=3, h=4, l=2, k=2)
def lstm_example(n: int, b: int, **sizes: int) -> Any:
    return _settings(**sizes), (torch.randn(n, b, sizes["d"]),)
