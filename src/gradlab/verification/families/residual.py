"""What is known of skip connections."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gradlab import scratch
from gradlab.nn.residual import DenseConnection, Highway, Residual
from gradlab.scratch import dense, functions, residual
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, twin
from gradlab.verification.comparing import agreement, difference, excess
from gradlab.verification.subject import Incomparable

Twin = Callable[..., scratch.Tensor]


class Inner(nn.Module):
    """The module that is passed by: an affine map and tanh, so that its Jacobian is not the same everywhere."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs).double()

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x))

    @staticmethod
    def twin(weight: scratch.Tensor, bias: scratch.Tensor) -> Twin:
        return lambda x: functions.tanh(dense.dense(x, weight, bias))


def _around(case: Case, inner: nn.Module, **settings: Any) -> Any:
    """The block around a module of ours, whose parameters then are the block's."""
    block = case.build(module=inner, **settings)
    if not {id(p) for p in inner.parameters()} <= {id(p) for p in block.parameters()}:
        raise Incomparable("it has a module of its own; give its class, which takes one")
    return block


def _vectors(case: Case, name: str = "in_features") -> Tensor:
    return case.tensor("x", case.integer("batch", 1, 4), case.integer(name, 1, 4))


# Twins


@twin("residual.add", residual.residual)
def residual_twin(case: Case) -> float:
    x = _vectors(case)
    inner = Inner(x.shape[1], x.shape[1])
    block = _around(case, inner)
    return agreement(block(x), lambda x, w, b: residual.residual(x, Inner.twin(w, b)), x, *inner.parameters())


@twin("residual.dense", residual.dense_connection)
def dense_twin(case: Case) -> float:
    x, dim = _vectors(case), case.choice("dim", (1, -1))
    inner = Inner(x.shape[1], case.integer("outputs", 1, 3))
    block = _around(case, inner, dim=dim)
    return agreement(
        block(x), lambda x, w, b: residual.dense_connection(x, Inner.twin(w, b), dim), x, *inner.parameters()
    )


@twin("residual.highway", residual.highway)
def highway_twin(case: Case) -> float:
    x = _vectors(case)
    inner = Inner(x.shape[1], x.shape[1])
    block = _around(case, inner, in_features=x.shape[1])
    gate = case.weights(block, "gate.weight", "gate.bias")
    return agreement(
        block(x),
        lambda x, w, b, *gate: residual.highway(x, Inner.twin(w, b), *gate),
        x,
        *inner.parameters(),
        *gate,
    )


# Examples


@example("residual.add", n=5, d=4)
def residual_example(n: int, d: int) -> Any:
    return {"module": nn.Linear(d, d)}, (torch.randn(n, d),)


@example("residual.dense", n=5, d=4, h=3)
def dense_example(n: int, d: int, h: int) -> Any:
    return {"module": nn.Linear(d, h)}, (torch.randn(n, d),)


@example("residual.highway", n=5, d=4)
def highway_example(n: int, d: int) -> Any:
    return {"module": nn.Linear(d, d), "in_features": d}, (torch.randn(n, d),)


# Laws. Each comes with a version of the block that breaks it.


class NoSkip(Residual):
    """Forgets the input."""

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.module(x)
        return y


class Averaged(Residual):
    """The mean of the two, not their sum."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) / 2


@law("residual.add", wrong=Averaged)
def a_module_that_gives_nothing_leaves_the_identity(case: Case) -> float:
    """F = 0  ⟹  f(x) = x"""
    x = _vectors(case)
    inner = Inner(x.shape[1], x.shape[1])
    block = _around(case, inner)
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.zero_()
    return difference(block(x), x)


@law("residual.add", wrong=NoSkip)
def the_gradient_has_a_way_past_the_module(case: Case) -> float:
    """∂f/∂x = I + ∂F/∂x"""
    d = case.integer("in_features", 1, 4)
    x, inner = case.tensor("x", d).detach(), Inner(d, d)
    block = _around(case, inner)
    jacobian = torch.func.jacrev
    return difference(jacobian(block)(x), torch.eye(d, dtype=x.dtype) + jacobian(inner)(x))


class WithoutShortcut(Residual):
    """Takes what fits of the input, and not what the shortcut makes of it."""

    def forward(self, x: Tensor) -> Tensor:
        branch: Tensor = self.module(x)
        return branch + nn.functional.pad(x, (0, branch.shape[-1] - x.shape[-1]))


@law("residual.add", wrong=WithoutShortcut)
def a_shortcut_brings_the_input_to_another_shape(case: Case) -> float:
    """f(x) = S(x) + F(x)"""
    x, outputs = _vectors(case), case.integer("outputs", 1, 3)
    inner, shortcut = Inner(x.shape[1], outputs), nn.Linear(x.shape[1], outputs, bias=False).double()
    block = _around(case, inner, shortcut=shortcut)
    return difference(block(x), shortcut(x) + inner(x))


class OutputFirst(DenseConnection):
    """Puts the output in front."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.module(x), x], self.dim)


@law("residual.dense", wrong=OutputFirst)
def what_came_before_stays_in_front(case: Case) -> float:
    """f₂(f₁(x)) = (x, F₁(x), F₂(x, F₁(x))): a module sees the outputs of all before it"""
    x, growth = _vectors(case), case.integer("outputs", 1, 3)
    first, second = Inner(x.shape[1], growth), Inner(x.shape[1] + growth, growth)
    y = _around(case, first)(x)
    return difference(_around(case, second)(y), torch.cat([x, first(x), second(torch.cat([x, first(x)], 1))], 1))


class GateReversed(Highway):
    """The gate lets the input through, and its complement the module's output."""

    def forward(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(x))
        other: Tensor = self.module(x)
        return gate * x + (1 - gate) * other


class GateAlone(Highway):
    """Adds the whole input to what the gate lets through."""

    def forward(self, x: Tensor) -> Tensor:
        other: Tensor = self.module(x)
        return torch.sigmoid(self.gate(x)) * other + x


def _highway(case: Case, gate_bias: float | None = None) -> tuple[Any, Inner, Tensor]:
    x = _vectors(case)
    inner = Inner(x.shape[1], x.shape[1])
    block = _around(case, inner, in_features=x.shape[1])
    if gate_bias is not None:
        weight, bias = case.weights(block, "gate.weight", "gate.bias")
        with torch.no_grad():
            weight.zero_()
            bias.fill_(gate_bias)
    return block, inner, x


@law("residual.highway", wrong=GateReversed)
def with_the_gate_closed_it_is_the_identity(case: Case) -> float:
    """T → 0  ⟹  f(x) → x"""
    block, _, x = _highway(case, gate_bias=-50.0)
    return difference(block(x), x)


@law("residual.highway", wrong=GateAlone)
def with_the_gate_open_it_is_the_module(case: Case) -> float:
    """T → 1  ⟹  f(x) → H(x)"""
    block, inner, x = _highway(case, gate_bias=50.0)
    return difference(block(x), inner(x))


@law("residual.highway", wrong=GateAlone)
def the_output_is_between_the_input_and_the_modules(case: Case) -> float:
    """min(x, H(x)) ≤ f(x) ≤ max(x, H(x))"""
    block, inner, x = _highway(case)
    y, other = block(x), inner(x)
    return max(excess(torch.minimum(x, other) - y, 0.0), excess(y, torch.maximum(x, other)))
