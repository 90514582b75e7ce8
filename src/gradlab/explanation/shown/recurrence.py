"""How far a gradient reaches back through time."""

import torch
from torch import Tensor
from torch.func import jacrev

from gradlab.explanation.picture import Figure, shown
from gradlab.nn import LSTM, RNN
from gradlab.report.charts import LOGARITHMIC, PALETTE, SOFT, axis, line

_HIDDEN, _STEPS = 32, 60
_NORMS = (0.5, 0.9, 1.1)
_FORGETS = (0.0, 3.0, 6.0)


@shown("gradient-through-time", "bptt", "jacobian-product-decay", "lstm-memory-law", "recurrent.rnn", "recurrent.lstm")
def gradient_through_time() -> Figure:
    """How a gradient fades on its way back through an RNN, and how an LSTM's forget gate keeps it."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        x = torch.randn(_STEPS, 1, _HIDDEN, dtype=torch.float64)
        networks: dict[str, RNN | LSTM] = {f"RNN, ‖W‖ = {norm:g}": _rnn(norm) for norm in _NORMS}
        networks |= {f"LSTM, forget bias {bias:g}": _lstm(bias) for bias in _FORGETS}
    back = torch.arange(_STEPS)
    hover = "%{x} steps back: %{y:.2e}<extra></extra>"
    traces = []
    for i, (name, network) in enumerate(networks.items()):
        style = {"dash": "solid" if isinstance(network, LSTM) else "dot"}
        trace = line(name, back, reach(network, x), PALETTE[i % 3], hover, 2.5)
        traces.append({**trace, "line": {**trace["line"], **style}})
    bound = line("0.9ᵏ", back, 0.9**back, SOFT, hover, 1)
    return Figure(
        [*traces, bound],
        "Random weights; s is the state h of an RNN, and the cell c of an LSTM. Each step back multiplies by a "
        "Jacobian. In an RNN (dotted) its norm is at most ‖W‖, and so that of the product at most ‖W‖ᵏ (the thin line "
        "for 0.9); where ‖W‖ is above 1 it need not grow, since the tanh shrinks it. In an LSTM (solid) the direct way "
        "multiplies by the forget gate, which its bias opens: σ(0) = 0.5, σ(3) = 0.953, σ(6) = 0.998.",
        {
            "xaxis": axis("steps back, k"),
            "yaxis": {
                **axis("‖∂s(T) / ∂s(T-k)‖"),
                **LOGARITHMIC,
                "range": [-12, 0.5],
                "dtick": 2,
                "exponentformat": "power",
            },
        },
    )


def reach(network: RNN | LSTM, x: Tensor) -> list[float]:
    """The norms of ∂s(T)/∂s(T-k) for k from 0 on, where s is the state h of an RNN, and the cell c of an LSTM."""
    size = network.hidden_size
    parts = 2 if isinstance(network, LSTM) else 1

    def step(state: Tensor, read: Tensor) -> Tensor:
        """The whole state, h or h beside c, after one more input."""
        first = [part[None, None] for part in state.chunk(parts)]
        _, after = network(read[None], tuple(first) if parts == 2 else first[0])
        return torch.cat([part[0, 0] for part in (after if parts == 2 else [after])])

    state, jacobians = x.new_zeros(parts * size), []
    for read in x:
        jacobians.append(jacrev(step)(state, read))
        state = step(state, read).detach()
    onward, norms = torch.eye(parts * size, dtype=x.dtype), []
    for jacobian in reversed(jacobians):
        norms.append(float(torch.linalg.matrix_norm(onward[-size:, -size:], 2)))
        onward = onward @ jacobian.detach()
    return norms


def _rnn(norm: float) -> RNN:
    """With a state that is turned and stretched by so much at each step, and moved a little by the input."""
    network = RNN(_HIDDEN, _HIDDEN).double()
    turn = torch.linalg.qr(torch.randn(_HIDDEN, _HIDDEN, dtype=torch.float64))[0]
    weights = network.state_dict()
    weights |= {"weight_hh_l0": norm * turn, "weight_ih_l0": 0.1 * weights["weight_ih_l0"]}
    network.load_state_dict(weights)
    return network


def _lstm(bias: float) -> LSTM:
    """With small weights, and a bias at the forget gate."""
    network = LSTM(_HIDDEN, _HIDDEN).double()
    weights = {name: (0.1 if weight.ndim > 1 else 0.0) * weight for name, weight in network.state_dict().items()}
    weights["bias_ih_l0"][_HIDDEN : 2 * _HIDDEN] = bias
    network.load_state_dict(weights)
    return network
