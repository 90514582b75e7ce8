import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from gradlab.models import lenet, mlp
from gradlab.probes import forward_flops, parameter_count
from gradlab.specs import Picture, Table


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


class Keywords(nn.Module):
    """The same functions called with arguments by name."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 6))

    def forward(self, x):
        return F.linear(x, weight=self.w) + torch.matmul(input=x, other=self.w.T)


MODELS = {
    "mlp": (mlp(Picture(1, 8, 8), 10, hidden=[32, 16]), (5, 1, 8, 8)),
    "mlp with batch norm": (mlp(Table(7), 3, hidden=[4], batch_norm=True, dropout=0.5), (5, 7)),
    "lenet": (lenet(Picture(1, 28, 28), 10), (3, 1, 28, 28)),
    "linear over a sequence": (nn.Linear(6, 4), (2, 9, 6)),
    "convolution with groups and stride": (nn.Conv2d(8, 12, 3, stride=2, padding=1, groups=4), (2, 8, 11, 13)),
    "convolution with dilation": (nn.Conv2d(3, 5, 3, dilation=2, bias=False), (2, 3, 11, 13)),
    "convolution in one dimension": (nn.Conv1d(3, 5, 4), (2, 3, 17)),
    "convolution in three dimensions": (nn.Conv3d(2, 3, 2), (1, 2, 5, 6, 7)),
    "attention": (Attention(), (2, 9, 32)),
    "products": (Products(), (2, 3, 6)),
    "arguments by name": (Keywords(), (4, 6)),
}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_operations_are_those_of_the_flop_counter_of_torch(name):
    model, shape = MODELS[name]
    x = torch.randn(shape)
    model.eval()
    # The judge does not know the CPU's fused attention, but the two products that it is made of.
    with FlopCounterMode(display=False) as judge, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        model(x)
    assert forward_flops(model, x) == judge.get_total_flops() > 0


def test_counting_moves_neither_statistics_nor_modes():
    model = mlp(Table(7), 3, hidden=[4], batch_norm=True, dropout=0.5)
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
