import subprocess
import sys
from math import prod

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from gradlab.models import build_model, cost, lenet, mlp, models
from gradlab.models.building import taken
from gradlab.models.cost import forward_flops, parameter_count, pass_cost, pass_flops
from gradlab.nn.blocks import blocks
from gradlab.nn.graphs import Graphs
from gradlab.registry import Part
from gradlab.specs import Box, Discrete, Environment, Graph, Pair, Picture, Series, Table, Tokens
from gradlab.verification import examples

pytestmark = pytest.mark.filterwarnings("ignore:TF32 acceleration")  # which `mkldnn.flags` tells


class Attention(nn.Module):
    def forward(self, x):
        q = x.unflatten(-1, (4, 8)).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)


class Products(nn.Module):
    """Matrix products in the ways that people write them."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 5))

    def forward(self, x):
        a = x @ self.w
        b = torch.matmul(x, self.w)
        c = torch.bmm(a, b.transpose(1, 2))
        d = torch.baddbmm(c, a, b.transpose(1, 2))
        e = x[0].mm(self.w)
        return d.sum() + torch.addmm(e, x[0], self.w).sum()


class Rare(nn.Module):
    """Products that are seldom written."""

    def __init__(self):
        super().__init__()
        self.w, self.m = nn.Parameter(torch.randn(6, 5)), nn.Parameter(torch.randn(5, 7))

    def forward(self, x):
        a = torch.tensordot(x, self.w, 1)
        b = torch.inner(x, self.w.T) + torch.linalg.matmul(x, self.w)
        return (a * b).sum() + torch.linalg.multi_dot([x[0], self.w, self.m]).sum()


class Operator(nn.Module):
    """A product that is no function of torch."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 5))

    def forward(self, x):
        return torch.ops.aten.mm(x, self.w)


class Einsum(nn.Module):
    def __init__(self, equation, *others):
        super().__init__()
        self.equation, self.others = equation, nn.ParameterList(torch.randn(shape) for shape in others)

    def forward(self, x):
        return torch.einsum(self.equation, x, *self.others)


class MultiheadAttention(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x, need_weights=False)[0]


class Keywords(nn.Module):
    """The same functions called with arguments by name."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 6))

    def forward(self, x):
        return F.linear(x, weight=self.w) + torch.matmul(input=x, other=self.w.T)


MODELS = {
    "mlp": (mlp(Picture(1, 8, 8), 10, hidden=[32, 16]), (5, 1, 8, 8)),
    "mlp with batch norm": (mlp(Table(7), 3, hidden=[4], norm=Part("batch"), dropout=0.5), (5, 7)),
    "lenet": (lenet(Picture(1, 28, 28), 10), (3, 1, 28, 28)),
    "linear over a sequence": (nn.Linear(6, 4), (2, 9, 6)),
    "convolution with groups and stride": (nn.Conv2d(8, 12, 3, stride=2, padding=1, groups=4), (2, 8, 11, 13)),
    "convolution with dilation": (nn.Conv2d(3, 5, 3, dilation=2, bias=False), (2, 3, 11, 13)),
    "convolution in one dimension": (nn.Conv1d(3, 5, 4), (2, 3, 17)),
    "convolution in three dimensions": (nn.Conv3d(2, 3, 2), (1, 2, 5, 6, 7)),
    "transposed convolution": (nn.ConvTranspose2d(8, 12, 3, stride=2, groups=4), (2, 8, 5, 7)),
    "transposed convolution in one dimension": (nn.ConvTranspose1d(3, 5, 4), (3, 17)),
    "attention": (Attention(), (2, 9, 32)),
    "attention of torch": (MultiheadAttention(8, 2), (9, 2, 8)),
    "attention of torch, batch first": (MultiheadAttention(8, 2, batch_first=True), (2, 9, 8)),
    "attention of torch with more keys": (MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True), (9, 2, 8)),
    "transformer of torch": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (3, 5, 8)),
    "einsum of matrices": (Einsum("bij,jk->bik", (6, 5)), (2, 3, 6)),
    "einsum with an ellipsis": (Einsum("...d, khd -> ...kh", (3, 4, 6)), (2, 5, 6)),
    "einsum with two ellipses": (Einsum("...id,...jd->...ij", (5, 1, 4, 6)), (5, 2, 3, 6)),
    "einsum without an arrow": (Einsum("bij,jk", (6, 5)), (2, 3, 6)),
    "einsum with sums of one operand": (Einsum("bijs,jkt->bik", (6, 5, 4)), (2, 3, 6, 7)),
    "einsum of a batch": (Einsum("bhid,bhjd->bhij", (2, 4, 5, 8)), (2, 4, 3, 8)),
    "einsum of three": (Einsum("bi,ij,jk->bk", (6, 5), (5, 4)), (3, 6)),
    "cells": (nn.Sequential(nn.GRUCell(6, 5), nn.RNNCell(5, 4)), (3, 6)),
    "an operator of torch's own": (Operator(), (5, 6)),
    "rare products": (Rare(), (2, 3, 6)),
    "products": (Products(), (2, 3, 6)),
    "arguments by name": (Keywords(), (4, 6)),
}

NOT_KNOWN = {"einsum of three", "rare products", "an operator of torch's own"}  # which torch's counter is asked for


def torch_flops(compute):
    """By torch's counter. Products with vectors are told to it; fused kernels, which it does not know, are off."""
    vectors = {torch.ops.aten.mv: lambda a, b, **_: 2 * prod(a), torch.ops.aten.dot: lambda a, b, **_: 2 * prod(a)}
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    with (
        FlopCounterMode(display=False, custom_mapping=vectors) as counter,
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
    ):
        compute()
    torch.backends.mha.set_fastpath_enabled(fast)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_operations_are_those_of_the_flop_counter_of_torch(name, monkeypatch):
    model, shape = MODELS[name]
    x = torch.randn(shape)
    model.eval()
    asked, counted = [], cost._counted_by_torch
    monkeypatch.setattr(cost, "_counted_by_torch", lambda compute: asked.append(name) or counted(compute))
    assert forward_flops(model, x) == torch_flops(lambda: model(x)) > 0
    assert bool(asked) == (name in NOT_KNOWN)


@pytest.mark.parametrize("name", sorted(blocks))
def test_so_are_those_of_every_block(name):
    example = examples[name]()
    block = blocks[name](**example.settings) if isinstance(blocks[name], type) else blocks[name]
    model = block.eval() if isinstance(block, nn.Module) else nn.Module()
    assert pass_flops(model, lambda: block(*example.inputs)) == torch_flops(lambda: block(*example.inputs))


def of_pairs(name):
    return taken(name) == (Pair,)


@pytest.mark.parametrize("name", [name for name in models if of_pairs(name)])
def test_so_are_those_of_every_model_of_pairs(name):
    pictures = name.startswith("caption")
    source = Picture(3, 32, 32) if pictures else Tokens(8, 11)
    model = build_model(Part(name), Pair(source, Tokens(6, 13)), 13).eval()
    x = torch.randn(2, 3, 32, 32) if pictures else torch.randint(1, 11, (2, 8))
    target = torch.randint(1, 13, (2, 6))
    assert pass_flops(model, lambda: model(x, target)) == torch_flops(lambda: model(x, target))


def example_of(name):
    """What a model takes, and two examples of it."""
    if taken(name) == (Graph,):
        edges = torch.tensor([[1, 2, 0, 3], [0, 0, 1, 2]])  # sorted by who receives
        return Graph(13), Graphs(torch.randn(4, 13), edges, torch.tensor([4]), torch.tensor([[0], [3]]))
    if taken(name) == (Environment,):
        if "tabular" in models[name].__module__:
            return Environment(Discrete(5), Discrete(3)), torch.tensor([4, 1])
        actions = Box((-1.0,), (1.0,)) if name == "soft-actor-critic" else Discrete(3)
        return Environment(Table(13), actions), torch.randn(2, 13)
    specs = Table(13), Picture(1, 28, 28), Series(9, 2), Tokens(8, 11)
    spec = next(spec for spec in specs if isinstance(spec, taken(name)))
    return spec, torch.randint(11, (2, 8)) if isinstance(spec, Tokens) else torch.randn(2, *spec.shape)


@pytest.mark.parametrize("name", [name for name in models if not of_pairs(name)])
def test_so_are_those_of_every_model(name):
    spec, inputs = example_of(name)
    model = build_model(Part(name), spec, 11).eval()
    told = [torch.rand(2)] if name in ("score-mlp", "unet") else []  # the time of noisy examples
    assert pass_flops(model, lambda: model(inputs, *told)) == torch_flops(lambda: model(inputs, *told))


@pytest.mark.parametrize(
    "equation", [("i,i->i", (4,), (4,)), ("ij->j", (4, 3)), ("bi,bj->bij", (2, 3), (2, 4)), ("i,j->ij", (3,), (4,))]
)
def test_entries_that_are_not_summed_are_free(equation):
    equation, *shapes = equation
    assert pass_flops(nn.Module(), lambda: torch.einsum(equation, *map(torch.randn, shapes))) == 0


def test_products_with_vectors_count():
    """Torch's counter leaves them out."""
    m, v = torch.randn(4, 3), torch.randn(3)
    calls = {
        24: [lambda: m @ v, lambda: torch.mv(m, v), lambda: m.mv(v), lambda: torch.addmv(torch.ones(4), m, vec=v)],
        6: [lambda: v @ v, lambda: torch.dot(v, v), lambda: torch.inner(v, v)],
        30: [lambda: torch.addbmm(torch.ones(1, 1), torch.ones(5, 1, 3), torch.ones(5, 3, 1))],
        2 * 5 * 4 * 3 * (2 + 1): [lambda: F.bilinear(torch.ones(5, 3), torch.ones(5, 2), torch.ones(4, 3, 2))],
    }
    for flops, computes in calls.items():
        assert [pass_flops(nn.Module(), compute) for compute in computes] == [flops] * len(computes)


def test_the_compiler_is_not_loaded_for_what_is_known():
    code = (
        "import sys, torch; from torch import nn; from gradlab.models.cost import forward_flops; "
        "model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16), nn.Linear(8, 4)); "
        "print(forward_flops(model, torch.ones(2, 3, 8)) > 0, 'torch._dynamo' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.split() == ["True", "False"]


def test_counting_moves_neither_statistics_nor_modes():
    model = mlp(Table(7), 3, hidden=[4], norm=Part("batch"), dropout=0.5)
    model[1].eval()
    modes = [m.training for m in model.modules()]
    before = {k: v.clone() for k, v in model.state_dict().items()}
    x = torch.randn(5, 7)
    generator = torch.get_rng_state()
    forward_flops(model, x)
    assert [m.training for m in model.modules()] == modes
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generator)


def test_frozen_parameters_do_not_count():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    assert parameter_count(model) == 10


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_layers_meet_each_weight_once_a_step(kind, packed):
    """Torch's counter knows nothing of its fused recurrent layers."""
    model, x = kind(3, 4, 2, batch_first=True), torch.randn(2, 5, 3)
    inputs = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True) if packed else x
    gates = {nn.RNN: 1, nn.GRU: 3, nn.LSTM: 4}[kind]
    assert forward_flops(model, inputs) == 2 * (8 if packed else 10) * gates * 4 * ((3 + 4) + (4 + 4))
    assert pass_cost(model, lambda: model(inputs)).products == 2 * (1 + 5), "inputs at once, then state by state"


def test_products_are_counted_beside_their_operations():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    assert pass_cost(model, lambda: model(torch.zeros(1, 4))) == (2 * (4 * 8 + 8 * 2), 2)
