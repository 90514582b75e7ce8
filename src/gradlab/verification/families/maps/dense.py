"""What is known of dense layers and embeddings."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn.dense import Embedding, Linear
from gradlab.scratch import dense
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, cotangent, difference, gradients, same


def has_bias(case: Case) -> bool:
    """Whether the layer has a bias. Of a module that is built already, the attribute is the bias itself."""
    drawn: Any = case.choice("bias", (True, False))
    return isinstance(drawn, Tensor) or bool(drawn)


def _linear(case: Case, *, fewest_axes: int = 1) -> tuple[Any, Tensor, list[nn.Parameter]]:
    """The layer, an input whose last axis are the features, and the layer's parameters: one or two."""
    d, h, bias = case.integer("in_features", 1, 5), case.integer("out_features", 1, 5), has_bias(case)
    layer = case.build(in_features=d, out_features=h, bias=bias)
    before = [case.integer(f"size {axis}", 1, 4) for axis in range(1, case.integer("axes", fewest_axes, 3))]
    return layer, case.tensor("x", *before, d), case.weights(layer, "weight", *["bias"] * bias)


def _embedding(case: Case) -> tuple[Any, Tensor, nn.Parameter]:
    rows, d = case.integer("num_embeddings", 1, 6), case.integer("embedding_dim", 1, 4)
    layer = case.build(num_embeddings=rows, embedding_dim=d)
    (table,) = case.weights(layer, "weight")
    shape = [case.integer(f"size {axis}", 1, 4) for axis in range(case.integer("axes", 0, 2))]
    return layer, case.indices("indices", *shape, below=rows), table


# Twins and peers


@twin("dense.linear", dense.dense)
def linear_twin(case: Case) -> float:
    layer, x, parameters = _linear(case, fewest_axes=2)  # the engine multiplies matrices alone
    return agreement(layer(x), dense.dense, x, *parameters)


@peer("dense.linear", "torch.nn.Linear")
def linear_peer(case: Case) -> float:
    layer, x, parameters = _linear(case)
    outputs, inputs = parameters[0].shape
    torchs = nn.Linear(inputs, outputs, bias=len(parameters) == 2).double()
    torchs.load_state_dict(dict(zip(("weight", "bias"), parameters, strict=False)))
    return same(layer(x), torchs(x), [x, *parameters], [x, *torchs.parameters()])


@twin("dense.embedding", dense.embedding)
def embedding_twin(case: Case) -> float:
    layer, indices, table = _embedding(case)
    return agreement(layer(indices), lambda table: dense.embedding(indices.numpy(), table), table)


@peer("dense.embedding", "torch.nn.Embedding")
def embedding_peer(case: Case) -> float:
    layer, indices, table = _embedding(case)
    torchs = nn.Embedding(*table.shape).double()
    torchs.load_state_dict({"weight": table})
    return same(layer(indices), torchs(indices), [table], [torchs.weight])


@example("dense.linear", n=6, d=5, h=4)
def linear_example(n: int, d: int, h: int) -> Any:
    return {"in_features": d, "out_features": h}, (torch.randn(n, d),)


@example("dense.embedding", n=6, d=3)
def embedding_example(n: int, d: int) -> Any:
    return {"num_embeddings": 10, "embedding_dim": d}, (torch.randint(10, (n,)),)


# Laws. Each comes with a version of the block that breaks it.


class Bent(Linear):
    """Has an activation behind it."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).relu()


class Centred(Linear):
    """Takes the mean of the batch off first, so that examples depend on one another."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - x.mean(0, keepdim=True))


class Sorted(Linear):
    """Sorts the features."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.sort(-1).values)


class Averaging(Linear):
    """Divides by the number of rows where sums over them are wanted."""

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        return y.detach() + (y - y.detach()) / len(x)


class BiasTwice(Linear):
    """Adds its bias once more."""

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        return y if self.bias is None else y + self.bias


class NextRow(Embedding):
    """Looks up the row after the one asked for."""

    def forward(self, indices: Tensor) -> Tensor:
        return super().forward((indices + 1) % self.num_embeddings)


class ByFrequency(Embedding):
    """Divides the gradient of a row by how often its index stands in the batch."""

    def forward(self, indices: Tensor) -> Tensor:
        return F.embedding(indices, self.weight, scale_grad_by_freq=True)


def _or_zero(bias: list[nn.Parameter], weight: Tensor) -> Tensor:
    return bias[0] if bias else torch.zeros_like(weight[:, 0])


@law("dense.linear", wrong=Bent)
def without_a_bias_it_is_linear(case: Case) -> float:
    """f(r x + s y) = r f(x) + s f(y) if b = 0"""
    f, x, (_, *bias) = _linear(case)
    with torch.no_grad():
        for b in bias:
            b.zero_()
    r, s, y = case.real("r", -3, 3), case.real("s", -3, 3), case.tensor("y", *x.shape)
    return difference(f(r * x + s * y), r * f(x) + s * f(y))


@law("dense.linear", wrong=BiasTwice)
def the_bias_is_the_output_of_zero(case: Case) -> float:
    """f(0) = b"""
    f, x, (weight, *bias) = _linear(case)
    return difference(f(torch.zeros_like(x)), _or_zero(bias, weight).expand(*x.shape[:-1], -1))


@law("dense.linear", wrong=Bent)
def two_affine_maps_are_one(case: Case) -> float:
    """A₂(A₁ x + b₁) + b₂ = (A₂ A₁) x + (A₂ b₁ + b₂)"""
    f, x, (weight, *bias) = _linear(case)
    second = case.tensor("A₂", case.integer("outputs of the second", 1, 4), len(weight))
    moved = case.tensor("b₂", len(second))
    return difference(f(x) @ second.T + moved, x @ (second @ weight).T + (second @ _or_zero(bias, weight) + moved))


@law("dense.linear", wrong=Sorted)
def the_order_of_the_features_does_not_matter(case: Case) -> float:
    """W[:, π] x[π] + b = W x + b"""
    f, x, (weight, *_) = _linear(case)
    order = case.permutation("order", x.shape[-1])
    before = f(x)
    with torch.no_grad():
        weight.copy_(weight[:, order])
    return difference(f(x[..., order]), before)


@law("dense.linear", wrong=Centred)
def each_example_is_mapped_alone(case: Case) -> float:
    """f(X)[i] = f(X[i]), whatever the axes before the last"""
    f, x, _ = _linear(case, fewest_axes=2)
    one_by_one = torch.stack([f(vector) for vector in x.reshape(-1, x.shape[-1])])
    return difference(f(x), one_by_one.reshape(*x.shape[:-1], -1))


@law("dense.linear", wrong=Averaging)
def the_gradient_of_the_weight_is_a_sum_of_outer_products(case: Case) -> float:
    """∂L/∂W = Σᵢ (∂L/∂yᵢ) xᵢᵀ,  ∂L/∂b = Σᵢ ∂L/∂yᵢ"""
    f, x, parameters = _linear(case, fewest_axes=2)
    y = f(x)
    dy, rows = cotangent(y).reshape(-1, y.shape[-1]), x.reshape(-1, x.shape[-1])
    outer_products = [torch.outer(dy_i, x_i) for dy_i, x_i in zip(dy, rows, strict=True)]
    wanted = [torch.stack(outer_products).sum(0), dy.sum(0)]
    return difference(gradients(y, parameters), wanted[: len(parameters)])


@law("dense.embedding", wrong=NextRow)
def it_is_a_one_hot_vector_times_the_table(case: Case) -> float:
    """f(i) = e_iᵀ E"""
    f, indices, table = _embedding(case)
    one_hot = F.one_hot(indices, len(table)).to(table)
    return same(f(indices), one_hot @ table, [table])


@law("dense.embedding", wrong=ByFrequency)
def a_row_learns_from_the_places_where_its_index_stands(case: Case) -> float:
    """∂L/∂E_r = Σ_{t: i_t = r} ∂L/∂y_t, and 0 for a row that was not asked for"""
    f, indices, table = _embedding(case)
    y = f(indices)
    dy, places = cotangent(y).reshape(-1, table.shape[1]), indices.reshape(-1)
    wanted = torch.stack([dy[places == row].sum(0) for row in range(len(table))])
    return difference(gradients(y, [table]), [wanted])
