"""Laws of one step, and of gates that are held open or shut for many."""

from typing import Any

import torch
from torch import Tensor

from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.recurrent import faults
from gradlab.verification.families.recurrent.drawing import KINDS, Run, inputs_of_cell, parts, sizes_of_cell
from gradlab.verification.families.recurrent.faults import candidate, sums

OPEN = 1000.0  # a gate with such a sum is 1, and with its negative 0


def _cell(case: Case, scale: float = 1.0, hidden: int = 1) -> tuple[Any, Tensor, Any]:
    """A cell of at least so many hidden units that has the weights of ours, an input and a state."""
    sizes = sizes_of_cell(case, hidden)
    cell = case.build(**sizes)
    case.weights(cell, *KINDS)
    return cell, *inputs_of_cell(case, sizes, scale)


def _set_gate(case: Case, block: Any, gate: int, value: float, suffix: str = "") -> None:
    """The sum in a gate is this value, whatever the input and the state."""
    weights = case.weights(block, *(f"{kind}{suffix}" for kind in KINDS))
    hidden = weights[1].shape[1]
    rows = slice(gate * hidden, (gate + 1) * hidden)
    with torch.no_grad():
        for weight in weights:
            weight[rows] = 0.0
        weights[2][rows] = value


# Plain cells


@law("recurrent.rnn_cell", wrong=faults.state_from_the_left)
def it_is_one_matrix_on_input_and_state_together(case: Case) -> float:
    """h' = tanh((U W) (x; h) + b + c)"""
    cell, x, h = _cell(case, hidden=2)
    matrix = torch.cat([cell.weight_ih, cell.weight_hh], 1)
    return difference(cell(x, h), torch.tanh(torch.cat([x, h], 1) @ matrix.T + cell.bias_ih + cell.bias_hh))


@law("recurrent.rnn_cell", wrong=faults.state_from_the_left)
def the_jacobian_of_a_step_is_a_scaled_matrix(case: Case) -> float:
    """∂h'/∂h = diag(1 - h'²) W"""
    cell, x, h = _cell(case, hidden=2)
    after = cell(x[:1], h[:1])[0]
    jacobian = torch.func.jacrev(lambda before: cell(x[:1], before[None])[0])(h[0])
    return difference(jacobian, (1 - after**2)[:, None] * cell.weight_hh)


@law("recurrent.rnn_cell", "recurrent.lstm_cell", wrong=faults.biases_cancel)
def two_biases_are_their_sum(case: Case) -> float:
    """f(b, c) = f(b + c, 0)"""
    cell, x, state = _cell(case)
    before = cell(x, state)
    _move_bias(cell, "")
    return difference(cell(x, state), before)


@law("recurrent.rnn", "recurrent.lstm", wrong=faults.biases_cancel)
def two_biases_are_their_sum_at_all_steps(case: Case) -> float:
    """f(b, c) = f(b + c, 0)"""
    run = Run.drawn(case)
    run.weights()
    x = run.inputs()
    before = run(x)
    _move_bias(run.block, "_l0")
    return difference(run(x), before)


def _move_bias(block: Any, suffix: str) -> None:
    first, second = getattr(block, f"bias_ih{suffix}"), getattr(block, f"bias_hh{suffix}")
    with torch.no_grad():
        first.add_(second)
        second.zero_()


# The LSTM


@law("recurrent.lstm_cell", wrong=faults.input_and_forget_gate_swapped)
def the_direct_path_is_the_forget_gate(case: Case) -> float:
    """∂c'/∂c = diag(f) for a given h"""
    cell, x, (h, c) = _cell(case)
    jacobian = torch.func.jacrev(lambda c: cell(x[:1], (h[:1], c[None]))[1][0])(c[0])
    f = sums(cell, x, h).chunk(4, -1)[1].sigmoid()
    return difference(jacobian, torch.diag(f[0]))


@law("recurrent.lstm_cell", wrong=faults.LooksAtTheNewState)
def the_output_gate_sees_the_state_before(case: Case) -> float:
    """h' = σ(U_o x + W_o h + b_o) tanh c'"""
    cell, x, (h, c) = _cell(case)
    after, kept = cell(x, (h, c))
    return difference(after, sums(cell, x, h).chunk(4, -1)[3].sigmoid() * kept.tanh())


@law("recurrent.lstm_cell", wrong=faults.UnbentCandidate)
def a_step_adds_at_most_one_to_the_cell(case: Case) -> float:
    """|h'| ≤ 1,  |c'| ≤ |c| + 1"""
    cell, x, (h, c) = _cell(case, scale=10.0)
    after, kept = cell(x, (h, c))
    return max(excess(after.abs(), 1.0), excess(kept.abs(), c.abs() + 1))


@law("recurrent.lstm", wrong=faults.input_and_forget_gate_swapped, tolerance=0.0)
def an_open_forget_gate_and_a_shut_input_gate_keep_the_cell(case: Case) -> float:
    """c_t = c₀ exactly, if f = 1 and i = 0"""
    run = Run.drawn(case)
    _set_gate(case, run.block, 0, -OPEN, "_l0")
    _set_gate(case, run.block, 1, OPEN, "_l0")
    x = run.inputs()
    _, first = run.state(x)
    _, (_, last) = run(x, (torch.zeros_like(first), first))
    return difference(last, first)


@law("recurrent.lstm", wrong=faults.of_cells(faults.UnbentCandidate))
def the_cell_counts_steps_when_all_gates_are_open(case: Case) -> float:
    """c_t = t and h_t = tanh t, if i = f = o = g = 1: the cell has no bound"""
    run = Run.drawn(case)
    for gate in range(4):
        _set_gate(case, run.block, gate, OPEN, "_l0")
    x = run.inputs()
    outputs, (_, last) = run(x)
    steps = torch.arange(1.0, len(x) + 1, dtype=x.dtype)[:, None, None]
    return max(difference(last, torch.full_like(last, len(x))), difference(outputs, steps.tanh().expand(outputs.shape)))


# The GRU


@law("recurrent.gru_cell", wrong=faults.AddsTheCandidate)
def the_state_moves_towards_the_candidate(case: Case) -> float:
    """min(h, n) ≤ h' ≤ max(h, n)"""
    cell, x, h = _cell(case, scale=3.0)
    after, n = cell(x, h), candidate(cell, x, h)
    return max(excess(after, torch.maximum(h, n)), excess(-after, -torch.minimum(h, n)))


@law("recurrent.gru_cell", wrong=faults.BiasOutsideTheReset)
def the_reset_gate_scales_the_second_bias_of_the_candidate(case: Case) -> float:
    """h' = (1 - z) tanh(b_n + r c_n) where x = h = 0"""
    cell, x, h = _cell(case)
    r, z, _ = (cell.bias_ih + cell.bias_hh).chunk(3)
    n = torch.tanh(cell.bias_ih.chunk(3)[2] + r.sigmoid() * cell.bias_hh.chunk(3)[2])
    wanted = (1 - z.sigmoid()) * n
    return difference(cell(torch.zeros_like(x), torch.zeros_like(h)), wanted.expand(h.shape))


@law("recurrent.gru", wrong=faults.update_gate_turned_round)
def an_open_update_gate_keeps_the_state(case: Case) -> float:
    """h_t = h₀ if z = 1"""
    run = Run.drawn(case)
    _set_gate(case, run.block, 1, OPEN, "_l0")
    x = run.inputs()
    first = run.state(x)
    _, last = run(x, first)
    return difference(last, first)


@law("recurrent.gru", wrong=faults.of_cells(faults.AddsTheCandidate))
@law(
    "recurrent.rnn",
    wrong=faults.faulty(lambda self, *args: [2 * parts(value)[0] for value in faults.right(self, *args)]),
)
def states_stay_within_one(case: Case) -> float:
    """|h_t| ≤ 1"""
    run = Run.drawn(case)
    outputs, _ = run(run.inputs() * 5)
    return excess(outputs.abs(), 1.0)
