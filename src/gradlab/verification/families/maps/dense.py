"""What is known of dense layers and embeddings."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.scratch import dense
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law
from gradlab.verification.comparing import cotangent, difference, gradients


def has_bias(case: Case) -> bool:
    """Whether the layer has a bias. Of a module that is built already, the attribute is the bias itself."""
    drawn: Any = case.choice("bias", (True, False))
    return isinstance(drawn, Tensor) or bool(drawn)


def _linear(case: Case, fewest_axes: int = 1) -> tuple[Any, Tensor, list[nn.Parameter]]:
    """The layer, an input whose last axis are the features, and the layer's parameters: one or two."""
    d, h, bias = case.integer("in_features", 1, 5), case.integer("out_features", 1, 5), has_bias(case)
    layer = case.build(in_features=d, out_features=h, bias=bias)
    before = [case.integer(f"size {axis}", 1, 4) for axis in range(1, case.integer("axes", fewest_axes, 3))]
    return layer, case.tensor("x", *before, d), [*case.weights(layer, "weight", *["bias"] * bias).values()]


def _linear_call(fewest_axes: int) -> Draw:
    def draw(case: Case) -> Call:
        layer, x, parameters = _linear(case, fewest_axes)
        outputs, inputs = parameters[0].shape
        settings = {"in_features": inputs, "out_features": outputs, "bias": len(parameters) == 2}
        return Call(layer, (x,), dict(zip(("weight", "bias"), parameters, strict=False)), settings=settings)

    return draw


def _embedding(case: Case) -> Call:
    rows, d = case.integer("num_embeddings", 1, 6), case.integer("embedding_dim", 1, 4)
    layer = case.build(num_embeddings=rows, embedding_dim=d)
    settings, shape = {"num_embeddings": rows, "embedding_dim": d}, case.sizes(4, (0, 2))
    return Call(layer, (case.indices("indices", *shape, below=rows),), case.weights(layer, "weight"), settings=settings)


def _averaging(self: Any, x: Tensor) -> Any:
    """Divides by the number of rows where sums over them are wanted."""
    y = self.right(x)
    return y.detach() + (y - y.detach()) / len(x)


conform(
    "dense.linear",
    _linear_call(2),  # the engine multiplies matrices alone
    twin=dense.dense,
    fault=[
        Fault(forward=lambda self, x: self.right(x) + (0 if self.bias is None else self.bias)),
        Fault(forward=lambda self, x: self.right(x - x.mean(0, keepdim=True))),
    ],
)
conform("dense.linear", _linear_call(1), peer=nn.Linear)
conform("dense.embedding", _embedding, twin=dense.embedding, peer=nn.Embedding)
example(
    "dense.linear", call=lambda n, d, h: ({"in_features": d, "out_features": h}, (torch.randn(n, d),)), n=6, d=5, h=4
)
example(
    "dense.embedding",
    call=lambda n, d: ({"num_embeddings": 10, "embedding_dim": d}, (torch.randint(10, (n,)),)),
    n=6,
    d=3,
)

# Laws

bent = Fault(forward=lambda self, x: self.right(x).relu())


@law("dense.linear", fault=bent)
def without_a_bias_it_is_linear(case: Case) -> float:
    """f(r x + s y) = r f(x) + s f(y) if b = 0"""
    f, x, (_, *bias) = _linear(case)
    case.set(f, **{"bias": 0.0} if bias else {})
    r, s, y = case.real("r", -3, 3), case.real("s", -3, 3), case.tensor("y", *x.shape)
    return difference(f(r * x + s * y), r * f(x) + s * f(y))


@law("dense.linear", fault=bent, id="affine-composition")
def two_affine_maps_are_one(case: Case) -> float:
    """A₂(A₁ x + b₁) + b₂ = (A₂ A₁) x + (A₂ b₁ + b₂)"""
    f, x, (weight, *bias) = _linear(case)
    second = case.tensor("A₂", case.integer("outputs of the second", 1, 4), len(weight))
    moved = case.tensor("b₂", len(second))
    return difference(f(x) @ second.T + moved, x @ (second @ weight).T + sum((second @ b for b in bias), moved))


@law("dense.linear", fault=Fault(forward=_averaging), id="backprop-param-grads")
def the_gradient_of_the_weight_is_a_sum_of_outer_products(case: Case) -> float:
    """∂L/∂W = Σᵢ (∂L/∂yᵢ) xᵢᵀ,  ∂L/∂b = Σᵢ ∂L/∂yᵢ"""
    f, x, parameters = _linear(case, fewest_axes=2)
    y, rows = f(x), x.reshape(-1, x.shape[-1])
    dy = cotangent(y).reshape(len(rows), -1)
    outer_products = [torch.outer(slope, row) for slope, row in zip(dy, rows, strict=True)]
    return difference(gradients(y, parameters), [sum(outer_products), dy.sum(0)][: len(parameters)])


@law(
    "dense.linear",
    id="feature-order-invariance",
    fault=Fault(forward=lambda self, x: self.right(x.sort(-1).values)),
)
def the_order_of_the_features_does_not_matter(case: Case) -> float:
    """W[:, π] x[π] + b = W x + b"""
    f, x, (weight, *_) = _linear(case)
    order, before = case.permutation("order", x.shape[-1]), f(x)
    case.set(f, weight=weight[:, order])
    return difference(f(x[..., order]), before)


@law(
    "dense.embedding",
    fault=[
        Fault(forward=lambda self, indices: self.right((indices + 1) % self.num_embeddings)),
        Fault(forward=lambda self, indices: F.embedding(indices, self.weight, scale_grad_by_freq=True)),
    ],
)
def it_is_a_one_hot_vector_times_the_table(case: Case) -> float:
    """f(i) = e_iᵀ E, and so a row learns from the places where its index stands"""
    call = _embedding(case)
    rows = call.weights["weight"]
    return difference(call(), F.one_hot(call.inputs[0], len(rows)).to(rows) @ rows, [rows])
