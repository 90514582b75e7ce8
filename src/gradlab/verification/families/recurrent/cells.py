"""What is known of the recurrent cells: one step, and its gates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import linear

from gradlab import scratch
from gradlab.nn.recurrent import GRUCell
from gradlab.scratch import functions, recurrent
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.recurrent.drawing import KINDS, parts, whole

RNN, LSTM, GRU = "recurrent.rnn_cell", "recurrent.lstm_cell", "recurrent.gru_cell"
ACTIVATIONS = {"tanh": functions.tanh, "relu": functions.relu}


def _inputs(case: Case, sizes: dict[str, Any], scale: float = 1.0) -> tuple[Tensor, Any]:
    """x, and h or (h, c)."""
    batch = case.integer("batch", 1, 3)
    x = case.tensor("x", batch, sizes["input_size"], scale=scale)
    names = "hc" if case.subject.name == LSTM else "h"
    return x, whole([case.tensor(name, batch, sizes["hidden_size"], scale=scale) for name in names])


def _sizes(case: Case, hidden: int = 1) -> dict[str, Any]:
    return {"input_size": case.integer("input_size", 1, 4), "hidden_size": case.integer("hidden_size", hidden, 4)}


# Twins, peers and examples


def reweighted(change: Callable[[str, Tensor], Tensor]) -> Fault:
    """A block with other weights than its own."""

    def forward(self: Any, *args: Any) -> Any:
        weights = {name: change(name, weight) for name, weight in self.named_parameters()}
        own = type(self).__bases__[0](self.input_size, self.hidden_size, bias=self.bias)
        return functional_call(own, weights, args)

    return Fault(forward=forward)


def _call(case: Case) -> Call:
    """A cell with any settings, an input, and the state before if there is one."""
    settings = _sizes(case) | {"bias": case.choice("bias", (True, False))}
    if case.subject.name == RNN:
        settings["nonlinearity"] = case.choice("nonlinearity", ("tanh", "relu"))
    x, state = _inputs(case, settings)
    cell, first = case.build(**settings), parts(state) if case.flag("with a state") else ()
    weights = case.weights(cell, *(KINDS if settings["bias"] else KINDS[:2]))
    return Call(
        lambda x, *first: cell(x, *[whole(first)] * bool(first)), (x, *first), weights, {"settings": settings}, settings
    )


def _twin(function: Callable[..., Any], states: int) -> Callable[..., Any]:
    def call(x: scratch.Tensor, *rest: scratch.Tensor, settings: dict[str, Any]) -> Any:
        count = len(rest) - (4 if settings["bias"] else 2)
        zeros = [functions.constant(np.zeros((len(x.value), settings["hidden_size"])))] * states
        options = [ACTIVATIONS[settings["nonlinearity"]]] if "nonlinearity" in settings else []
        return function(x, *(rest[:count] or zeros), recurrent.Weights(*rest[count:]), *options)

    return call


def _torchs(kind: Any) -> Any:
    def wanted(call: Call) -> Any:
        x, *first = call.inputs
        return functional_call(kind(**call.settings), dict(call.weights), (x, *[whole(first)] * bool(first)))

    return {f"torch.nn.{kind.__name__}": wanted}


def _bias_outside_the_reset(self: Any, x: Tensor, h: Any = None) -> Any:
    """n = tanh(U x + b + c + r W h)."""
    if not self.bias:
        return self.right(x, h)
    moved = {"bias_ih": self.bias_ih + self.bias_hh, "bias_hh": torch.zeros_like(self.bias_hh)}
    own = {kind: getattr(self, kind) for kind in KINDS} | moved
    return functional_call(GRUCell(self.input_size, self.hidden_size), own, (x, h))


TWINS: dict[str, tuple[Any, int, Any]] = {
    RNN: (recurrent.rnn_cell, 1, nn.RNNCell),
    LSTM: (recurrent.lstm_cell, 2, nn.LSTMCell),
    GRU: (recurrent.gru_cell, 1, nn.GRUCell),
}
FAULTS = {GRU: Fault(forward=_bias_outside_the_reset)}
for _name, (_function, _states, _kind) in TWINS.items():
    conform(_name, _call, twin=_function, twin_call=_twin(_function, _states), peer=_torchs(_kind), fault=FAULTS)


def _example(n: int, d: int, h: int) -> Any:
    return {"input_size": d, "hidden_size": h}, (torch.randn(n, d), torch.randn(n, h))


example(RNN, GRU, call=_example, n=5, d=3, h=4)
example(LSTM, call=lambda n, d, h: ({"input_size": d, "hidden_size": h}, (torch.randn(n, d),)), n=5, d=3, h=4)

# Faults


def _swap_input_and_forget_gate(name: str, weight: Tensor) -> Tensor:
    i, f, g, o = weight.chunk(4)
    return torch.cat([f, i, g, o])


biases_cancel = reweighted(lambda name, weight: -weight if name.startswith("bias_hh") else weight)
gates_swapped = reweighted(_swap_input_and_forget_gate)
transposed = reweighted(lambda name, weight: weight.T if name.startswith("weight_hh") else weight)


def sums(cell: Any, x: Tensor, h: Tensor) -> Tensor:
    """U x + b + W h + c, the gates side by side."""
    return linear(x, cell.weight_ih, cell.bias_ih) + linear(h, cell.weight_hh, cell.bias_hh)


def candidate(cell: Any, x: Tensor, h: Tensor) -> Tensor:
    """What a GRU moves towards."""
    r = sums(cell, x, h).chunk(3, -1)[0].sigmoid()
    from_input, from_state = linear(x, cell.weight_ih, cell.bias_ih), linear(h, cell.weight_hh, cell.bias_hh)
    return (from_input.chunk(3, -1)[2] + r * from_state.chunk(3, -1)[2]).tanh()


def _unbent(self: Any, x: Tensor, state: Any = None) -> Any:
    """What is added to the cell has no bound."""
    h, c = state or (x.new_zeros(len(x), self.hidden_size),) * 2
    i, f, g, o = sums(self, x, h).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g
    return o.sigmoid() * c, c


def _signed_gates(self: Any, x: Tensor, state: Any = None) -> Any:
    """Gates from -1 to 1."""
    h, c = state or (x.new_zeros(len(x), self.hidden_size),) * 2
    i, f, g, o = sums(self, x, h).tanh().chunk(4, -1)
    c = f * c + i * g
    return o * c.tanh(), c


def _looks_at_the_new_state(self: Any, x: Tensor, state: Any = None) -> Any:
    h, c = self.right(x, state)
    return sums(self, x, h).chunk(4, -1)[-1].sigmoid() * c.tanh(), c


def _adds_the_candidate(self: Any, x: Tensor, h: Any = None) -> Any:
    """h' = n + z h."""
    h = x.new_zeros(len(x), self.hidden_size) if h is None else h
    return self.right(x, h) + sums(self, x, h).chunk(3, -1)[1].sigmoid() * candidate(self, x, h)


unbent, adds_the_candidate = Fault(forward=_unbent), Fault(forward=_adds_the_candidate)

# Laws


def _cell(case: Case, scale: float = 1.0, hidden: int = 1) -> tuple[Any, Tensor, Any]:
    """A cell of at least so many hidden units that has the weights of ours, an input and a state."""
    sizes = _sizes(case, hidden)
    cell = case.build(**sizes)
    case.weights(cell, *KINDS)
    return cell, *_inputs(case, sizes, scale)


@law(RNN, LSTM, fault=biases_cancel)
def two_biases_are_their_sum(case: Case) -> float:
    """f(b, c) = f(b + c, 0)"""
    cell, x, state = _cell(case)
    before = cell(x, state)
    case.set(cell, bias_ih=cell.bias_ih + cell.bias_hh, bias_hh=0.0)
    return difference(cell(x, state), before)


@law(RNN, id="rnn-concat-form", fault=transposed)
def it_is_one_matrix_on_input_and_state_together(case: Case) -> float:
    """h' = tanh((U W) (x; h) + b + c)"""
    cell, x, h = _cell(case, hidden=2)
    matrix = torch.cat([cell.weight_ih, cell.weight_hh], 1)
    return difference(cell(x, h), torch.tanh(torch.cat([x, h], 1) @ matrix.T + cell.bias_ih + cell.bias_hh))


@law(RNN, fault=transposed)
def the_jacobian_of_a_step_is_a_scaled_matrix(case: Case) -> float:
    """∂h'/∂h = diag(1 - h'²) W"""
    cell, x, h = _cell(case, hidden=2)
    jacobian = torch.func.jacrev(lambda h: cell(x[:1], h[None])[0])(h[0])
    return difference(jacobian, (1 - cell(x, h)[0] ** 2)[:, None] * cell.weight_hh)


@law(LSTM, id="lstm-memory-law", fault=gates_swapped)
def the_direct_path_is_the_forget_gate(case: Case) -> float:
    """∂c'/∂c = diag(f) for a given h"""
    cell, x, (h, c) = _cell(case)
    jacobian = torch.func.jacrev(lambda c: cell(x[:1], (h[:1], c[None]))[1][0])(c[0])
    return difference(jacobian, torch.diag(sums(cell, x, h).chunk(4, -1)[1].sigmoid()[0]))


@law(LSTM, fault=Fault(forward=_looks_at_the_new_state))
def the_output_gate_sees_the_state_before(case: Case) -> float:
    """h' = σ(U_o x + W_o h + b_o) tanh c'"""
    cell, x, (h, c) = _cell(case)
    after, kept = cell(x, (h, c))
    return difference(after, sums(cell, x, h).chunk(4, -1)[3].sigmoid() * kept.tanh())


@law(LSTM, id="lstm-ranges", fault=[unbent, Fault(forward=_signed_gates)])
def gates_are_shares_of_numbers_within_one(case: Case) -> float:
    """0 < f, i, o < 1 and |g| < 1: read off ∂c'/∂c = f, c' - f c = i g and h' = o tanh c'"""
    cell, x, (h, c) = _cell(case)
    after, kept = cell(x, (h, c))
    (forgets,) = torch.autograd.grad(kept.sum(), c)
    added, shown = kept - forgets * c, after / kept.tanh()
    shares = torch.stack([forgets, torch.where(kept.abs() > 1e-6, shown, 0.5)])
    return max(excess(-shares, 0.0), excess(shares, 1.0), excess(added.abs(), 1.0), excess(after.abs(), 1.0))


@law(LSTM, id="lstm-ranges", fault=unbent)
def a_step_adds_at_most_one_to_the_cell(case: Case) -> float:
    """|h'| ≤ 1,  |c'| ≤ |c| + 1"""
    cell, x, (h, c) = _cell(case, scale=10.0)
    after, kept = cell(x, (h, c))
    return max(excess(after.abs(), 1.0), excess(kept.abs(), c.abs() + 1))


@law(GRU, fault=adds_the_candidate)
def the_state_moves_towards_the_candidate(case: Case) -> float:
    """min(h, n) ≤ h' ≤ max(h, n)"""
    cell, x, h = _cell(case, scale=3.0)
    after, n = cell(x, h), candidate(cell, x, h)
    return max(excess(after, torch.maximum(h, n)), excess(-after, -torch.minimum(h, n)))
