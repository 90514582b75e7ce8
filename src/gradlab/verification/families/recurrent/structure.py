"""Laws of what a sequence is made of: layers, directions, steps, examples, padding."""

from math import sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.families.recurrent.drawing import SEQUENCES, Run, each, joined, parts, pick, stepped
from gradlab.verification.families.recurrent.faults import faulty, right
from gradlab.verification.subject import Incomparable

EITHER = (False, True)
EVERY = slice(None)


def _alone(block: Any, layer: int, x: Tensor, state: Any) -> Any:
    """One layer of a block of one direction."""
    made = type(block).__bases__[0](x.shape[-1], block.hidden_size).double()
    made.load_state_dict({n.replace(f"l{layer}", "l0"): w for n, w in block.named_parameters() if f"l{layer}" in n})
    return made(x, pick(state, slice(layer, layer + 1)))


def _every_layer_reads_the_input(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs, last = [], []
    for layer in range(self.num_layers):
        width = self.hidden_size if layer else self.input_size
        output, end = _alone(self, layer, pad(x, (0, width - x.shape[-1])), state)
        outputs.append(output)
        last.append(end)
    return outputs[-1], joined(last)


@law(*SEQUENCES, wrong=faulty(_every_layer_reads_the_input))
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


def _not_turned_back(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs, last = right(self, x, state)
    return torch.cat([outputs[..., : self.hidden_size], outputs[..., self.hidden_size :].flip(0)], -1), last


@law(*SEQUENCES, wrong=faulty(_not_turned_back))
def two_directions_are_two_runs_side_by_side(case: Case) -> float:
    """f(x) = (→f(x), reversed ←f(reversed x))"""
    run = _both_ways(case)
    x = run.inputs(steps=2)
    state = run.state(x)
    forwards, end = run.layer(0, "")(x, pick(state, slice(1)))
    backwards, start = run.layer(0, "_reverse")(x.flip(0), pick(state, slice(1, 2)))
    return difference(run(x, state), (torch.cat([forwards, backwards.flip(0)], -1), joined([end, start])))


@law(*SEQUENCES, wrong=faulty(_not_turned_back))
def a_reversed_sequence_swaps_the_directions(case: Case) -> float:
    """reversing x and exchanging the weights of the directions reverses the outputs and exchanges their halves"""
    run = _both_ways(case)
    x, hidden = run.inputs(steps=2), run.settings["hidden_size"]
    outputs, _ = run(x)
    with torch.no_grad():
        for forwards, backwards in zip(*(case.weights(run.block, *run.names(0, way)) for way in run.ways), strict=True):
            kept = forwards.clone()
            forwards.copy_(backwards)
            backwards.copy_(kept)
    turned, _ = run(x.flip(0))
    return difference(outputs, torch.cat([turned[..., hidden:], turned[..., :hidden]], -1).flip(0))


def _both_ways(case: Case) -> Run:
    run = Run.drawn(case, bidirectional=(True,))
    if not run.settings["bidirectional"]:
        raise Incomparable("it runs in one direction")
    return run


# Steps


def _every_step_alone(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs = [right(self, step[None], state) for step in x]
    return torch.cat([output for output, _ in outputs]), outputs[-1][1]


@law(*SEQUENCES, wrong=faulty(_every_step_alone))
def a_run_is_its_cell_step_by_step(case: Case) -> float:
    """h_t = cell(x_t, h_{t-1})"""
    run = Run.drawn(case).only_forwards()
    x = run.inputs(steps=2)
    state = run.state(x)
    return difference(run(x, state), stepped(run.cell(), x, state))


@law(*SEQUENCES, wrong=faulty(lambda self, x, state=None: right(self, x - x.mean(0), state)))
def outputs_do_not_depend_on_what_comes_later(case: Case) -> float:
    """∂y_s / ∂x_t = 0 for t > s"""
    run = Run.drawn(case, num_layers=(1, 2)).only_forwards()
    x = run.inputs(steps=2)
    cut = case.integer("cut", 1, len(x) - 1)
    other = torch.cat([x[:cut], case.tensor("other", *x[cut:].shape)])
    return difference(run(other)[0][:cut], run(x)[0][:cut])


@law(*SEQUENCES, wrong=faulty(lambda self, x, state=None: right(self, x)))
def a_sequence_in_two_parts_is_one_when_the_state_is_carried_over(case: Case) -> float:
    """f(x₁…x_n) = f(x₁…x_k), f(x_k₊₁…x_n) from the state of the first"""
    run = Run.drawn(case, num_layers=(1, 2)).only_forwards()
    x = run.inputs(steps=2)
    cut = case.integer("cut", 1, len(x) - 1)
    first, state = run(x[:cut])
    second, last = run(x[cut:], state)
    return difference((torch.cat([first, second]), last), run(x))


def _starts_at_one(self: Any, x: Tensor, state: Any = None) -> Any:
    shape = self.num_states, x.shape[1], self.hidden_size
    ones = x.new_ones(shape)
    return right(self, x, ((ones, ones) if self.mode == "LSTM" else ones) if state is None else state)


@law(*SEQUENCES, wrong=faulty(_starts_at_one))
def without_a_state_it_is_zero(case: Case) -> float:
    """f(x) = f(x, 0)"""
    run = Run.drawn(case, num_layers=(1, 2), bidirectional=EITHER)
    x = run.inputs()
    return difference(run(x), run(x, each(run.state(x), torch.zeros_like)))


# Examples


def _reshaped(self: Any, x: Tensor, state: Any = None) -> Any:
    """The two axes exchanged by their sizes alone, which mixes examples and steps."""
    return right(self, x.reshape(x.shape[1], x.shape[0], -1).transpose(0, 1), state)


@law(*SEQUENCES, wrong=faulty(_reshaped))
def an_example_does_not_depend_on_the_others(case: Case) -> float:
    """f(x)ᵢ = f(xᵢ)"""
    run = Run.drawn(case, num_layers=(1, 2), bidirectional=EITHER)
    x = run.inputs(steps=2, batch=2)
    number = case.integer("example", 0, x.shape[1] - 1)
    one = slice(number, number + 1)
    outputs, last = run(x)
    return difference((outputs[:, one], pick(last, EVERY, one)), run(x[:, one]))


@law(*SEQUENCES, wrong=faulty(_reshaped))
def batch_first_only_exchanges_two_axes(case: Case) -> float:
    """f(xᵀ) = f(x)ᵀ"""
    run = Run.drawn(case, batch_first=(True,))
    x = run.inputs(steps=2, batch=2)
    return difference(run(x), run.layer(0, *run.ways)(x))


# Padding


def _masked_after_the_run(self: Any, x: Tensor, state: Any = None, lengths: Tensor | None = None) -> Any:
    """Outputs behind the end are zeros, but the state has run on over the padding."""
    outputs, last = right(self, x, state)
    real = torch.ones(x.shape[:2], dtype=torch.bool) if lengths is None else torch.arange(len(x))[:, None] < lengths
    return outputs * real[..., None], last


@law(*SEQUENCES, wrong=faulty(_masked_after_the_run))
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


@law(*SEQUENCES, wrong=faulty(_masked_after_the_run))
def what_is_in_the_padding_does_not_matter(case: Case) -> float:
    """∂f / ∂(padding) = 0"""
    run = Run.drawn(case, num_layers=(1, 2), bidirectional=EITHER)
    x = run.inputs(steps=2)
    lengths = run.lengths(x)
    padding = torch.arange(len(x))[:, None] >= lengths
    other = torch.where(padding[..., None], case.tensor("other", *x.shape, scale=10.0), x)
    return difference(run(other, None, lengths), run(x, None, lengths))


@law(*SEQUENCES, wrong=faulty(_masked_after_the_run))
def the_last_state_is_the_output_at_the_last_real_step(case: Case) -> float:
    """last = y at the length, and at 1 for the way back"""
    run = Run.drawn(case, num_layers=(1, 2), bidirectional=EITHER)
    x = run.inputs(steps=2)
    lengths, ways = run.lengths(x), len(run.ways)
    outputs, last = run(x, None, lengths)
    at_end = outputs[lengths - 1, torch.arange(x.shape[1])]
    wanted = [at_end[:, : run.settings["hidden_size"]], outputs[0, :, run.settings["hidden_size"] :]][:ways]
    return difference(parts(last)[0][-ways:], torch.stack(wanted))


# Dropout


def _keeps_with_p(self: Any, x: Tensor, state: Any = None) -> Any:
    """As if p were the probability to keep."""
    self.dropout = 1 - self.dropout
    result = right(self, x, state)
    self.dropout = 1 - self.dropout
    return result


@law(*SEQUENCES, wrong=faulty(_keeps_with_p), tolerance=5.0, most_cases=3)
def a_share_of_what_passes_to_the_next_layer_is_dropped(case: Case) -> float:
    """P(dropped) = p: 5 standard errors, which chance exceeds once in 1.7 million cases"""
    run = Run.drawn(case, num_layers=(2,), dropout=(0.2, 0.9)).only_forwards()
    p, (weight, *rest) = float(run.settings["dropout"]), case.weights(run.block, *run.names(1))
    with torch.no_grad():  # of the first layer all states are the same; the second passes on which of them are 0
        for parameter in (*case.weights(run.block, *run.names(0)), *rest):
            parameter.zero_()
        run.block.bias_ih_l0.fill_(1.0)
        weight.copy_(torch.eye(weight.shape[1]).repeat(len(weight) // weight.shape[1], 1))
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(case.integer("seed", 0, 10**6))
        outputs, _ = run(torch.zeros(1, 1000, run.settings["input_size"], dtype=torch.float64))
    dropped = (outputs == 0).to(outputs)
    return abs(float(dropped.mean()) - p) / sqrt(p * (1 - p) / dropped.numel())
