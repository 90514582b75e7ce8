"""Laws of backpropagation through time: where gradients come from, how they fade, and where they are cut."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from gradlab.nn.recurrent import detached, truncated
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import cotangent, difference, excess, gradients, same
from gradlab.verification.families.recurrent.drawing import KINDS, SEQUENCES, Run, parts, stepped, whole
from gradlab.verification.families.recurrent.faults import faulty, right
from gradlab.verification.subject import Incomparable


def _cut_at_every_step(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs = []
    for step in x:
        output, state = right(self, step[None], None if state is None else detached(state))
        outputs.append(output)
    return torch.cat(outputs), state


@law(*SEQUENCES, wrong=faulty(_cut_at_every_step))
def a_gradient_is_a_sum_over_steps_of_products_of_jacobians(case: Case) -> float:
    """∂h_t/∂W = Σ_k (Π_{k<i≤t} ∂h_i/∂h_{i-1}) ∂⁺h_k/∂W, where ∂⁺ holds h_{k-1} fixed"""
    run = Run.drawn(case).only_forwards()
    x = run.inputs(steps=2)[:, :1].detach()
    cell, hidden = run.cell(), run.settings["hidden_size"]
    weights = {kind: weight.detach() for kind, weight in zip(KINDS, run.weights(), strict=True)}

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
    (by_autograd,) = torch.autograd.grad(last, run.weights()[1], cotangent(last))
    return difference(by_autograd, torch.einsum("i, ikl -> kl", cotangent(last), total))


def _with_a_bypass(self: Any, x: Tensor, state: Any = None) -> Any:
    """h' = h + tanh(…)."""
    outputs, h = [], state
    for step in x:
        output, after = right(self, step[None], h)
        h = after if h is None else h + after
        outputs.append(output)
    return torch.cat(outputs), h


@law("recurrent.rnn", wrong=faulty(_with_a_bypass))
def gradients_fade_when_every_jacobian_shrinks(case: Case) -> float:
    """‖∂h_t/∂h₀‖ ≤ ρᵗ if ‖W‖ ≤ ρ, since every ‖∂h_i/∂h_{i-1}‖ ≤ ‖W‖"""
    run, rho = Run.drawn(case).only_forwards(), case.real("rho", 0.1, 0.99)
    w = run.weights()[1]
    with torch.no_grad():
        w.mul_(rho / torch.linalg.matrix_norm(w, 2).clamp(min=1e-3))
    x = run.inputs()[:, :1].detach()
    jacobian = jacrev(lambda h: run(x, h[None, None])[1][0, 0])(torch.zeros(w.shape[1], dtype=x.dtype))
    return excess(torch.linalg.matrix_norm(jacobian, 2) / rho ** len(x), 1.0)


@law(*SEQUENCES, wrong=faulty(_cut_at_every_step))
def chunks_as_long_as_the_sequence_cut_nothing(case: Case) -> float:
    """truncated to k ≥ t steps, the gradients are those of all steps"""
    run = Run.drawn(case).only_forwards()
    x = run.inputs(steps=2)
    state, cell = run.state(x), run.cell()
    ((outputs, last),) = _chunks(run, x, len(x) + case.integer("more", 0, 2), state)
    leaves = [x, *parts(state)]
    wanted = stepped(cell, x, state)
    return same((outputs, last), wanted, [*leaves, *run.weights()], [*leaves, *(getattr(cell, k) for k in KINDS)])


def _keeps_its_state_between_calls(self: Any, x: Tensor, state: Any = None) -> Any:
    outputs, last = right(self, x, getattr(self, "kept", state))
    self.kept = last
    return outputs, last


@law(*SEQUENCES, wrong=faulty(_keeps_its_state_between_calls))
def no_gradient_crosses_a_cut(case: Case) -> float:
    """∂y_s / ∂x_t = 0 if a cut is between t and s, though the values are those of the whole sequence"""
    run = Run.drawn(case, num_layers=(1, 2)).only_forwards()
    x, steps = run.inputs(steps=2), case.integer("chunk", 1, 2)
    state = run.state(x)
    whole_run = run(x, state)[0]
    errors = []
    for i, (outputs, _) in enumerate(_chunks(run, x, steps, state)):
        chunk = slice(i * steps, (i + 1) * steps)
        errors.append(difference(outputs, whole_run[chunk]))
        by_x, *by_state = gradients(outputs, [x, *parts(state)])
        errors.append(float(by_x[: i * steps].abs().sum()) + (i > 0) * sum(float(g.abs().sum()) for g in by_state))
    return max(errors)


def _chunks(run: Run, x: Tensor, steps: int, state: Any) -> list[tuple[Tensor, Any]]:
    """By `truncated`, with the time first."""
    if not isinstance(run.block, nn.RNNBase):
        raise Incomparable("only blocks of PyTorch's kind can be cut into chunks")
    if not run.settings["batch_first"]:
        return list(truncated(run.block, x, steps, state))
    return [(outputs.transpose(0, 1), last) for outputs, last in truncated(run.block, x.transpose(0, 1), steps, state)]
