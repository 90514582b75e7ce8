"""What is known of skip connections."""

from typing import Any

import torch
from torch import Tensor, nn

from gradlab.scratch import dense, functions, residual
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import Incomparable


class Inner(nn.Module):
    """The module that is passed by: an affine map and tanh, so that its Jacobian is not the same everywhere.

    Its result is its own to give: a block may add to it in place, as ResNets do to that of a batch norm.
    """

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs).double()

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x)).clone()

    @staticmethod
    def twin(weight: Any, bias: Any) -> Any:
        return lambda x: functions.tanh(dense.dense(x, weight, bias))


def _around(case: Case, inner: nn.Module, **settings: Any) -> Any:
    """The block around a module of ours, whose parameters then are the block's."""
    block = case.build(module=inner, **settings)
    if not {id(p) for p in inner.parameters()} <= {id(p) for p in block.parameters()}:
        raise Incomparable("it has a module of its own; give its class, which takes one")
    return block


def _vectors(case: Case) -> Tensor:
    return case.tensor("x", case.integer("batch", 1, 4), case.integer("in_features", 1, 4))


def _pair(case: Case, **settings: Any) -> tuple[Any, Inner, Tensor]:
    """A block, the module inside, which gives as many numbers as it takes, and an input."""
    x = _vectors(case)
    inner = Inner(x.shape[1], x.shape[1])
    if case.subject.name == "residual.highway":
        settings["in_features"] = x.shape[1]
    return _around(case, inner, **settings), inner, x


def _call(*weights: str) -> Draw:
    def draw(case: Case) -> Call:
        block, inner, x = _pair(case)
        return Call(block, (x,), dict(inner.named_parameters()) | case.weights(block, *weights))

    return draw


def _joined(case: Case) -> Call:
    x, dim = _vectors(case), case.choice("dim", (1, -1))
    inner = Inner(x.shape[1], case.integer("outputs", 1, 3))
    return Call(_around(case, inner, dim=dim), (x,), dict(inner.named_parameters()), {"axis": dim})


conform("residual.add", _call(), twin=residual.residual, twin_call=lambda x, *of: residual.residual(x, Inner.twin(*of)))
conform(
    "residual.dense",
    _joined,
    twin=residual.dense_connection,
    twin_call=lambda x, *inner, axis: residual.dense_connection(x, Inner.twin(*inner), axis),
)
conform(
    "residual.highway",
    _call("gate.weight", "gate.bias"),
    twin=residual.highway,
    twin_call=lambda x, w, b, *gate: residual.highway(x, Inner.twin(w, b), *gate),
)
example("residual.add", call=lambda n, d: ({"module": nn.Linear(d, d)}, (torch.randn(n, d),)), n=5, d=4)
example("residual.dense", call=lambda n, d, h: ({"module": nn.Linear(d, h)}, (torch.randn(n, d),)), n=5, d=4, h=3)
example(
    "residual.highway",
    call=lambda n, d: ({"module": nn.Linear(d, d), "in_features": d}, (torch.randn(n, d),)),
    n=5,
    d=4,
)

# Laws


@law("residual.add", fault=Fault(forward=lambda self, x: self.right(x) / 2))
def a_module_that_gives_nothing_leaves_the_identity(case: Case) -> float:
    """F = 0  ⟹  f(x) = x"""
    block, inner, x = _pair(case)
    nn.init.zeros_(inner.linear.weight), nn.init.zeros_(inner.linear.bias)
    return difference(block(x), x)


@law("residual.add", fault=Fault(forward=lambda self, x: self.module(x)))
def the_gradient_has_a_way_past_the_module(case: Case) -> float:
    """∂f/∂x = I + ∂F/∂x"""
    block, inner, x = _pair(case)
    one, jacobian = x[0].detach(), torch.func.jacrev
    return difference(jacobian(block)(one), torch.eye(len(one), dtype=x.dtype) + jacobian(inner)(one))


def _padded(self: Any, x: Tensor) -> Tensor:
    """Takes what fits of the input, and not what the shortcut makes of it."""
    branch: Tensor = self.module(x)
    return branch + nn.functional.pad(x, (0, branch.shape[-1] - x.shape[-1]))


@law("residual.add", fault=Fault(forward=_padded))
def a_shortcut_brings_the_input_to_another_shape(case: Case) -> float:
    """f(x) = S(x) + F(x)"""
    x, outputs = _vectors(case), case.integer("outputs", 1, 3)
    inner, shortcut = Inner(x.shape[1], outputs), nn.Linear(x.shape[1], outputs, bias=False).double()
    return difference(_around(case, inner, shortcut=shortcut)(x), shortcut(x) + inner(x))


@law("residual.highway", fault=Fault(forward=lambda self, x: torch.sigmoid(self.gate(x)) * self.module(x) + x))
def the_output_is_between_the_input_and_the_modules(case: Case) -> float:
    """min(x, H(x)) ≤ f(x) ≤ max(x, H(x))"""
    block, inner, x = _pair(case)
    y, other = block(x), inner(x)
    return max(excess(torch.minimum(x, other) - y, 0.0), excess(y, torch.maximum(x, other)))


@law("residual.highway", fault=Fault(forward=lambda self, x: self.module(x).lerp(x, self.gate(x).sigmoid())))
def an_open_gate_leaves_the_module_and_a_closed_one_the_identity(case: Case) -> float:
    """T → 1  ⟹  f(x) → H(x),  and  T → 0  ⟹  f(x) → x"""
    (block, inner, x), is_open = _pair(case), case.flag("open")
    case.set(block, **{"gate.weight": 0.0, "gate.bias": 50.0 if is_open else -50.0})
    return difference(block(x), inner(x) if is_open else x)


@law("residual.dense", fault=Fault(forward=lambda self, x: torch.cat([self.module(x), x], self.dim)))
def what_came_before_stays_in_front(case: Case) -> float:
    """f₂(f₁(x)) = (x, F₁(x), F₂(x, F₁(x))): a module sees the outputs of all before it"""
    x, growth = _vectors(case), case.integer("outputs", 1, 3)
    first, second = Inner(x.shape[1], growth), Inner(x.shape[1] + growth, growth)
    y = _around(case, first)(x)
    return difference(_around(case, second)(y), torch.cat([x, first(x), second(torch.cat([x, first(x)], 1))], 1))
