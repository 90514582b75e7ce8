"""What is known of the recurrent blocks over sequences: layers, directions, steps, padding, and how gradients run."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev
from torch.nn.functional import pad
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gradlab import scratch
from gradlab.nn.recurrent import detached, truncated
from gradlab.scratch import recurrent
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law, tied
from gradlab.verification.comparing import array, cotangent, difference, excess, gradients
from gradlab.verification.families.recurrent import cells
from gradlab.verification.families.recurrent.drawing import KINDS, SEQUENCES, Run, joined, parts, pick, stepped, whole
from gradlab.verification.subject import Incomparable

RNN, LSTM, GRU = SEQUENCES
EITHER = (False, True)
EVERY = slice(None)


# Twins, peers and examples


def _call(case: Case) -> Call:
    """A block with any settings, a sequence, the state to begin with if there is one, and lengths if there are any."""
    # Where numbers are rounded, a relu may be on either side of its bend.
    bends = ("tanh", "relu") if case.place.is_exact else ("tanh",)
    bent: dict[str, Any] = {"nonlinearity": bends} if case.subject.name == RNN else {}
    run = Run.drawn(case, num_layers=(1, 2), bias=(True, False), bidirectional=EITHER, batch_first=EITHER, **bent)
    x = run.inputs()
    first = parts(run.state(x)) if case.flag("with a state") else ()
    lengths = run.lengths(x) if run.takes_lengths and case.flag("padded") else None
    options = {"run": run, "lengths": lengths}
    return Call(lambda x, *first: run(x, whole(first), lengths), (x, *first), run.weights(), options, run.settings)


def _twin(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: scratch.Tensor, *rest: scratch.Tensor, run: Run, lengths: Tensor | None) -> Any:
        count = len(rest) - len(run.all_names())
        weights = iter(rest[count:])
        layers = [
            [recurrent.Weights(*(next(weights) for _ in run.names(layer, way))) for way in run.ways]
            for layer in range(run.num_layers)
        ]
        options: dict[str, Any] = {"lengths": array(lengths)}
        if "nonlinearity" in run.settings:
            options["activation"] = cells.ACTIVATIONS[run.settings["nonlinearity"]]
        return function(x, layers, whole(rest[:count]), **options)

    return call


def _torchs(kind: Any) -> Any:
    def wanted(call: Call) -> Any:
        (x, *first), theirs, lengths = call.inputs, tied(kind(**call.settings), call.weights), call.options["lengths"]
        turned = x.transpose(0, 1) if theirs.batch_first else x
        if lengths is None:
            outputs, last = theirs(turned, whole(first))
        else:
            packed = pack_padded_sequence(turned, lengths, bool(theirs.batch_first), enforce_sorted=False)
            packed, last = theirs(packed, whole(first))
            outputs, _ = pad_packed_sequence(packed, bool(theirs.batch_first), total_length=len(x))
        return outputs.transpose(0, 1) if theirs.batch_first else outputs, last

    return {f"torch.nn.{kind.__name__}": wanted}


def _starts_at_one(self: Any, x: Tensor, state: Any = None) -> Any:
    ones = x.new_ones(self.num_states, x.shape[1], self.hidden_size)
    return self.right(x, ((ones, ones) if self.mode == "LSTM" else ones) if state is None else state)


def _reshaped(self: Any, x: Tensor, state: Any = None) -> Any:
    """The two axes exchanged by their sizes alone, which mixes examples and steps."""
    return self.right(x.reshape(x.shape[1], x.shape[0], -1).transpose(0, 1), state)


def _not_turned_back(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs, last = self.right(x, state)
    return torch.cat([outputs[..., : self.hidden_size], outputs[..., self.hidden_size :].flip(0)], -1), last


wrong = [Fault(forward=forward) for forward in (_starts_at_one, _reshaped, _not_turned_back)]
conform(RNN, _call, twin=recurrent.rnn, twin_call=_twin(recurrent.rnn), peer=_torchs(nn.RNN), fault=wrong)
conform(LSTM, _call, twin=recurrent.lstm, twin_call=_twin(recurrent.lstm), peer=_torchs(nn.LSTM), fault=wrong)
conform(GRU, _call, twin=recurrent.gru, twin_call=_twin(recurrent.gru), peer=_torchs(nn.GRU), fault=wrong)


def _example(n: int, b: int, d: int, h: int, l: int, k: int) -> Any:  # noqa: E741
    settings = {"input_size": d, "hidden_size": h, "num_layers": l, "bidirectional": k == 2}
    return settings, (torch.randn(n, b, d), torch.randn(l * k, b, h))


SIZES = {"n": 5, "b": 2, "d": 3, "h": 4, "l": 2, "k": 2}
example(RNN, GRU, call=_example, **SIZES)
example(LSTM, call=lambda **sizes: (_example(**sizes)[0], _example(**sizes)[1][:1]), **SIZES)

# Layers


def of_cells(cell: str, fault: Fault) -> Fault:
    """A block over sequences, made of a cell with a fault."""

    def forward(self: Any, x: Tensor, state: Any = None) -> Any:
        faulty = fault.of(cell)(self.input_size, self.hidden_size)
        weights = {kind: getattr(self, f"{kind}_l0") for kind in KINDS}
        return stepped(lambda step, state: functional_call(faulty, weights, (step, state)), x, state)

    return Fault(forward=forward)


def _every_layer_reads_the_input(self: Any, x: Tensor, state: Any = None) -> Any:
    results = []
    for layer in range(self.num_layers):
        width = self.hidden_size if layer else self.input_size
        own = {n.replace(f"l{layer}", "l0"): w for n, w in self.named_parameters() if f"l{layer}" in n}
        alone = tied(type(self).__bases__[0](width, self.hidden_size), own)
        results.append(alone(pad(x, (0, width - x.shape[-1])), pick(state, slice(layer, layer + 1))))
    return results[-1][0], joined([last for _, last in results])


@law(*SEQUENCES, fault=Fault(forward=_every_layer_reads_the_input))
def a_stack_is_its_layers_one_after_the_other(case: Case) -> float:
    """hˡ = layerˡ(hˡ⁻¹), h⁰ = x"""
    run = Run.drawn(case, num_layers=(2, 3))
    x = run.inputs()
    state, ways = run.state(x), len(run.ways)
    below, last = x, []
    for layer in range(run.num_layers):
        below, end = run.layer(layer, *run.ways)(below, pick(state, slice(layer * ways, (layer + 1) * ways)))
        last.append(end)
    return difference(run(x, state), (below, joined(last)))


# Steps


def _turn_update_gate_round(name: str, weight: Tensor) -> Tensor:
    r, z, n = weight.chunk(3)
    return torch.cat([r, -z, n])


def _every_step_alone(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs = [self.right(step[None], state) for step in x]
    return torch.cat([output for output, _ in outputs]), outputs[-1][1]


@law(
    *SEQUENCES,
    fault=[
        Fault(forward=_every_step_alone),
        Fault(forward=lambda self, x, state=None: self.right(x - x.mean(0), state)),
        Fault(forward=lambda self, x, state=None: self.right(x)),
        dict.fromkeys((RNN, LSTM), cells.biases_cancel),
    ],
)
def a_run_is_its_cell_step_by_step(case: Case) -> float:
    """h_t = cell(x_t, h_{t-1})"""
    run = Run.drawn(case).only_forwards()
    x = run.inputs(steps=2)
    state = run.state(x)
    return difference(run(x, state), stepped(run.cell(), x, state))


# Gates that are held open or shut


def _set_gate(case: Case, run: Run, gate: int, value: float) -> None:
    """The sum in a gate is this value, whatever the input and the state."""
    weights, hidden = [*case.weights(run.block, *run.names(0)).values()], run.settings["hidden_size"]
    rows = slice(gate * hidden, (gate + 1) * hidden)
    with torch.no_grad():
        for weight in weights:
            weight[rows] = 0.0
        weights[2][rows] = value


@law(LSTM, id="lstm-memory-law", fault=cells.gates_swapped, tolerance=0.0)
def an_open_forget_gate_and_a_shut_input_gate_keep_the_cell(case: Case) -> float:
    """c_t = c₀ exactly, if f = 1 and i = 0"""
    run = Run.drawn(case).only_forwards()
    _set_gate(case, run, 0, -1000.0)
    _set_gate(case, run, 1, 1000.0)
    x = run.inputs()
    _, first = run.state(x)
    _, (_, last) = run(x, (torch.zeros_like(first), first))
    return difference(last, first)


@law(LSTM, id="lstm-ranges", fault=of_cells(cells.LSTM, cells.unbent))
def the_cell_counts_steps_when_all_gates_are_open(case: Case) -> float:
    """c_t = t and h_t = tanh t, if i = f = o = g = 1: the cell has no bound, and is 100 after 100 steps"""
    run = Run.drawn(case).only_forwards()
    for gate in range(4):
        _set_gate(case, run, gate, 1000.0)
    x = run.inputs().repeat(25, 1, 1)
    outputs, (_, last) = run(x)
    steps = torch.arange(1.0, len(x) + 1, dtype=x.dtype)[:, None, None]
    return difference((last, outputs), (torch.full_like(last, len(x)), steps.tanh().expand_as(outputs)))


@law(GRU, fault=cells.reweighted(_turn_update_gate_round))
def an_open_update_gate_keeps_the_state(case: Case) -> float:
    """h_t = h₀ if z = 1"""
    run = Run.drawn(case).only_forwards()
    _set_gate(case, run, 1, 1000.0)
    x = run.inputs()
    first = run.state(x)
    return difference(run(x, first)[1], first)


doubled = Fault(forward=lambda self, *args: [2 * value for value in self.right(*args)])


@law(RNN, GRU, fault={GRU: of_cells(cells.GRU, cells.adds_the_candidate), RNN: doubled})
def states_stay_within_one(case: Case) -> float:
    """|h_t| ≤ 1"""
    run = Run.drawn(case)
    outputs, _ = run(run.inputs() * 5)
    return excess(outputs.abs(), 1.0)


# Padding


def _masked_after_the_run(self: Any, x: Tensor, state: Any = None, lengths: Tensor | None = None) -> Any:
    """Outputs behind the end are zeros, but the state has run on over the padding."""
    outputs, last = self.right(x, state)
    real = torch.ones(x.shape[:2], dtype=torch.bool) if lengths is None else torch.arange(len(x))[:, None] < lengths
    return outputs * real[..., None], last


@law(*SEQUENCES, fault=Fault(forward=_masked_after_the_run))
def a_padded_example_is_what_it_is_alone(case: Case) -> float:
    """f(x, lengths)ᵢ = f(xᵢ up to its length), then zeros"""
    run = Run.drawn(case, num_layers=(1, 2), bidirectional=EITHER)
    x = run.inputs(steps=2)
    state, lengths = run.state(x), run.lengths(x)
    outputs, last = run(x, state, lengths)
    errors = []
    for number, length in enumerate(lengths.tolist()):
        one = slice(number, number + 1)
        alone, end = run(x[:length, one], pick(state, EVERY, one))
        padded = pad(alone, (0, 0, 0, 0, 0, len(x) - length))
        errors.append(difference((outputs[:, one], pick(last, EVERY, one)), (padded, end)))
    return max(errors)


# Dropout


def _keeps_with_p(self: Any, x: Tensor, state: Any = None) -> Any:
    """As if p were the probability to keep."""
    self.dropout = 1 - self.dropout
    result = self.right(x, state)
    self.dropout = 1 - self.dropout
    return result


@law(*SEQUENCES, fault=Fault(forward=_keeps_with_p), tolerance=5.0, most_cases=3)
def a_share_of_what_passes_to_the_next_layer_is_dropped(case: Case) -> float:
    """P(dropped) = p: 5 standard errors, which chance exceeds once in 1.7 million cases"""
    run = Run.drawn(case, num_layers=(2,), dropout=(0.2, 0.9)).only_forwards()
    p, (passing, *rest) = float(run.settings["dropout"]), run.names(1)
    if run.num_layers < 2 or not 0 < p < 1:
        raise Incomparable("this is about dropout between layers")
    hidden, gates = run.settings["hidden_size"], len(run.weights()[passing]) // run.settings["hidden_size"]
    # Of the first layer all states are the same; the second passes on which of them are 0.
    zeros = dict.fromkeys((*run.names(0), *rest), 0.0)
    case.set(run.block, **zeros | {"bias_ih_l0": 1.0, passing: torch.eye(hidden).repeat(gates, 1)})
    with case.seeded():
        outputs, _ = run(torch.zeros(1, 1000, run.settings["input_size"], dtype=torch.float64))
    dropped = (outputs == 0).to(outputs)
    return abs(float(dropped.mean()) - p) / sqrt(p * (1 - p) / dropped.numel())


# Backpropagation through time


def _cut_at_every_step(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs = []
    for step in x:
        output, state = self.right(step[None], None if state is None else detached(state))
        outputs.append(output)
    return torch.cat(outputs), state


@law(*SEQUENCES, id="bptt", fault=Fault(forward=_cut_at_every_step))
def a_gradient_is_a_sum_over_steps_of_products_of_jacobians(case: Case) -> float:
    """∂h_t/∂W = Σ_k (Π_{k<i≤t} ∂h_i/∂h_{i-1}) ∂⁺h_k/∂W, where ∂⁺ holds h_{k-1} fixed"""
    run = Run.drawn(case).only_forwards()
    x = run.inputs(steps=2)[:, :1].detach()
    cell, hidden = run.cell(), run.settings["hidden_size"]
    weights = {kind: weight.detach() for kind, weight in zip(KINDS, run.weights().values(), strict=True)}

    def step(t: int, s: Tensor, weight: Tensor) -> Tensor:
        """The state s, which is h or h beside c, after step t."""
        before = whole(torch.split(s[None], hidden, 1))
        after = functional_call(cell, weights | {"weight_hh": weight}, (x[t], before))
        return torch.cat(parts(after), 1)[0]

    w = weights["weight_hh"]
    s = torch.zeros(hidden * len(run.parts), dtype=x.dtype)
    total = torch.zeros(*s.shape, *w.shape, dtype=x.dtype)
    for t in range(len(x)):
        onward, immediate = jacrev(step, (1, 2))(t, s, w)
        total = torch.einsum("ij, jkl -> ikl", onward, total) + immediate
        s = step(t, s, w)
    last = torch.cat(parts(run(x)[1]), -1)[0, 0]
    (by_autograd,) = torch.autograd.grad(last, run.weights()["weight_hh_l0"], cotangent(last))
    return difference(by_autograd, torch.einsum("i, ikl -> kl", cotangent(last), total))


def _with_a_bypass(self: Any, x: Tensor, state: Any = None) -> Any:
    """h' = h + tanh(…)."""
    outputs, h = [], state
    for step in x:
        output, after = self.right(step[None], h)
        h = after if h is None else h + after
        outputs.append(output)
    return torch.cat(outputs), h


@law(RNN, id="jacobian-product-decay", fault=Fault(forward=_with_a_bypass))
def gradients_fade_when_every_jacobian_shrinks(case: Case) -> float:
    """‖∂h_t/∂h₀‖ ≤ ρᵗ if ‖W‖ ≤ ρ, since every ‖∂h_i/∂h_{i-1}‖ ≤ ‖W‖"""
    run, rho = Run.drawn(case).only_forwards(), case.real("rho", 0.1, 0.99)
    w = run.weights()["weight_hh_l0"]
    case.set(run.block, weight_hh_l0=w * rho / torch.linalg.matrix_norm(w, 2).clamp(min=1e-3))
    x = run.inputs()[:, :1].detach()
    jacobian = jacrev(lambda h: run(x, h[None, None])[1][0, 0])(torch.zeros(w.shape[1], dtype=x.dtype))
    return excess(torch.linalg.matrix_norm(jacobian, 2) / rho ** len(x), 1.0)


@law(RNN, id="jacobian-product-decay", fault=of_cells(cells.RNN, cells.transposed))
def eigenvalues_below_one_are_not_enough(case: Case) -> float:
    """∂h_t/∂h₀ = Wᵗ at h = 0, of norm above ρᵗ for W = (ρ a; 0 ρ), though both eigenvalues are ρ < 1"""
    settings = {"input_size": case.integer("input_size", 1, 3), "hidden_size": case.integer("hidden_size", 2, 2)}
    if settings["hidden_size"] != 2:
        raise Incomparable("this is about a state of two numbers")
    run = Run(case, case.build(**settings), {**settings, "batch_first": False, "bidirectional": False})
    rho, a, steps = case.real("rho", 0.1, 0.9), case.real("a", 0.5, 3), case.integer("steps", 1, 5)
    w = torch.tensor([[rho, a], [0, rho]], dtype=torch.float64)
    case.set(run.block, **dict.fromkeys(run.names(0), 0.0) | {"weight_hh_l0": w})
    x = torch.zeros(steps, 1, settings["input_size"], dtype=torch.float64)
    jacobian = jacrev(lambda h: run(x, h[None, None])[1][0, 0])(torch.zeros(2, dtype=x.dtype))
    size = torch.linalg.matrix_norm(jacobian, 2)
    return max(difference(jacobian, torch.linalg.matrix_power(w, steps)), excess(rho**steps - size, 0.0))


def _keeps_its_state_between_calls(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs, last = self.right(x, getattr(self, "kept", state))
    self.kept = last
    return outputs, last


@law(*SEQUENCES, fault=Fault(forward=_keeps_its_state_between_calls))
def no_gradient_crosses_a_cut(case: Case) -> float:
    """∂y_s / ∂x_t = 0 if a cut is between t and s, though the values are those of the whole sequence"""
    run = Run.drawn(case, num_layers=(1, 2)).only_forwards()
    if not isinstance(run.block, nn.RNNBase):
        raise Incomparable("only blocks of PyTorch's kind can be cut into chunks")
    x, steps, errors = run.inputs(steps=2), case.integer("chunk", 1, 2), []
    state = run.state(x)
    whole_run = run(x, state)[0]
    for i, (outputs, _) in enumerate(truncated(run.block, run.turned(x), steps, state)):
        chunk = slice(i * steps, (i + 1) * steps)
        errors.append(difference(run.turned(outputs), whole_run[chunk]))
        by_x, *by_state = gradients(outputs, [x, *parts(state)])
        errors.append(float(by_x[: i * steps].abs().sum()) + (i > 0) * sum(float(g.abs().sum()) for g in by_state))
    return max(errors)
