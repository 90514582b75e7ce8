"""A recurrent layer step by step: its states, its gates, and how much gradient reaches back to each step.

A fused kernel shows the states of the top layer alone. So the recurrence is run again, written out, on the inputs that
the layer was given; what came back to its outputs then goes back through every step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.probes.recording import ModuleCall, Recording

Gates = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """One call of a recurrent layer. Its states are those of all layers, each in both directions if there are two."""

    name: str
    kind: str
    labels: list[str]
    """Of the states."""

    hidden: Float[Tensor, "states batch time units"]
    gates: dict[str, Float[Tensor, "states batch time units"]]
    gradient: Float[Tensor, "states time"] | None
    """The norm of the gradient of the whole loss with respect to the state of each step."""

    reach: Float[Tensor, "states time"] | None
    """The same, of what the loss has of the last step that it sees: how far back a late error is heard."""

    def plain(self) -> dict[str, Any]:
        """For JSON: gates by their means."""
        return {
            "name": self.name,
            "kind": self.kind,
            "states": self.labels,
            "gates": {name: gate.mean((1, 2, 3)).tolist() for name, gate in self.gates.items()},
            "gradient": None if self.gradient is None else self.gradient.tolist(),
            "reach": None if self.reach is None else self.reach.tolist(),
        }


def recurrences(recording: Recording) -> list[Recurrence]:
    """What can be shown of RNN, LSTM and GRU layers; of packed sequences and projected states nothing is."""
    with torch.inference_mode(False), torch.enable_grad():
        return [_written_out(call) for call in recording.calls if _is_plain(call)]


def _is_plain(call: ModuleCall) -> bool:
    if not isinstance(call.module, nn.RNNBase) or call.module.proj_size:
        return False
    arguments = call.bound()
    return isinstance(next(iter(arguments.values())), Tensor) and arguments.get("lengths") is None


def _written_out(call: ModuleCall) -> Recurrence:
    layer = call.module
    assert isinstance(layer, nn.RNNBase)
    x, start = _inputs(call, layer)
    directions = ("", "_reverse") if layer.bidirectional else ("",)
    labels: list[str] = []
    hidden: list[list[Tensor]] = []
    cells: list[list[Tensor]] = []
    gates: list[list[Gates]] = []
    for depth in range(layer.num_layers):
        above = []
        for suffix in directions:
            h, c, g = _scan(layer, f"l{depth}{suffix}", x, [part[len(hidden)] for part in start])
            labels.append(f"layer {depth}" + (", backwards" if suffix else ""))
            hidden.append(h)
            cells.append(c)
            gates.append(g)
            above.append(torch.stack(h))
        x = torch.cat(above, -1)
    whole, late = _gradients(call, layer, x, hidden, cells)
    return Recurrence(
        name=call.name,
        kind=layer.mode.partition("_")[0],
        labels=labels,
        hidden=_stacked(hidden),
        gates={name: _stacked([[step[name] for step in g] for g in gates]) for name in gates[0][0]},
        gradient=whole,
        reach=late,
    )


def _inputs(call: ModuleCall, layer: nn.RNNBase) -> tuple[Float[Tensor, "time batch features"], list[Tensor]]:
    """What the layer was given, time first, and the states it began with."""
    x, *rest = call.bound().values()
    x = x.detach()
    batched = x.ndim == 3
    x = (x.transpose(0, 1) if layer.batch_first else x) if batched else x[:, None]
    count = layer.num_layers * (1 + layer.bidirectional)
    state = next((part for part in rest if part is not None), None)
    if state is None:
        start = [x.new_zeros(count, x.shape[1], layer.hidden_size)] * 2
    else:
        parts = [part.detach() for part in (state if isinstance(state, tuple) else (state, state))]
        start = parts if batched else [part[:, None] for part in parts]
    return x.requires_grad_(), start


def _scan(
    layer: nn.RNNBase, which: str, x: Float[Tensor, "time batch features"], start: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor], list[Gates]]:
    """One layer in one direction; its states, cells and gates in the order of time."""
    u, w = getattr(layer, f"weight_ih_{which}"), getattr(layer, f"weight_hh_{which}")
    b, c = (getattr(layer, f"bias_{part}_{which}") if layer.bias else None for part in ("ih", "hh"))
    h, cell = start
    order = range(len(x) - 1, -1, -1) if which.endswith("_reverse") else range(len(x))
    steps = []
    for t in order:
        h, cell, gates = _step(layer.mode, F.linear(x[t], u, b), F.linear(h, w, c), h, cell)
        steps.append((h, cell, gates))
    if which.endswith("_reverse"):
        steps.reverse()
    states, cells, all_gates = zip(*steps, strict=True)
    return list(states), list(cells), list(all_gates)


def _step(mode: str, a: Tensor, r: Tensor, h: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Gates]:
    """The new state and cell, from what the input (a) and the state before (r) say; the equations are the cells'."""
    if mode == "LSTM":
        i, f, g, o = (a + r).chunk(4, -1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        cell = f * cell + i * g
        return o * cell.tanh(), cell, {"input": i, "forget": f, "output": o}
    if mode == "GRU":
        (ar, az, an), (hr, hz, hn) = a.chunk(3, -1), r.chunk(3, -1)
        reset, update = (ar + hr).sigmoid(), (az + hz).sigmoid()
        n = (an + reset * hn).tanh()
        return (1 - update) * n + update * h, cell, {"reset": reset, "update": update}
    return (a + r).tanh() if mode == "RNN_TANH" else (a + r).relu(), cell, {}


def _gradients(
    call: ModuleCall, layer: nn.RNNBase, top: Tensor, hidden: list[list[Tensor]], cells: list[list[Tensor]]
) -> tuple[Tensor | None, Tensor | None]:
    """The norms at every state and step: of the whole loss, and of what it has of the last step that it sees."""
    if all(gradient is None for gradient in call.gradients):
        return None, None
    ends = [-1 if i % 2 == 0 or not layer.bidirectional else 0 for i in range(len(hidden))]
    outputs = [top, *(torch.stack([s[end] for s, end in zip(part, ends, strict=True)]) for part in (hidden, cells))]
    pairs = [
        (value, _time_first(gradient, value, layer) if i == 0 else gradient.reshape(value.shape))
        for i, (value, gradient) in enumerate(zip(outputs, call.gradients, strict=False))
        if gradient is not None
    ]
    late = [(value, _last_step(gradient) if value is top else gradient) for value, gradient in pairs]
    return _norms(pairs, hidden), _norms(late, hidden)


def _last_step(gradient: Float[Tensor, "time batch features"]) -> Float[Tensor, "time batch features"]:
    """Zeros, but for the last step that has any gradient: the target of a text's last token is not known."""
    seen = gradient.flatten(1).any(1).nonzero()
    last = torch.zeros_like(gradient)
    if len(seen):
        last[seen[-1]] = gradient[seen[-1]]
    return last


def _time_first(gradient: Tensor, like: Tensor, layer: nn.RNNBase) -> Tensor:
    return gradient.transpose(0, 1) if layer.batch_first and gradient.ndim == 3 else gradient.reshape(like.shape)


def _norms(pairs: list[tuple[Tensor, Tensor]], hidden: list[list[Tensor]]) -> Float[Tensor, "states time"]:
    states = [h for layer in hidden for h in layer]
    values, gradients = zip(*pairs, strict=True)
    reached = torch.autograd.grad(values, states, gradients, retain_graph=True, allow_unused=True)
    norms = [0.0 if gradient is None else gradient.double().norm().item() for gradient in reached]
    return torch.tensor(norms, dtype=torch.float64).reshape(len(hidden), -1)


def _stacked(steps: list[list[Tensor]]) -> Float[Tensor, "states batch time units"]:
    return torch.stack([torch.stack(each, 1) for each in steps]).detach()
