"""On CUDA: group normalisation and SiLU by kernels are what torch computes, repeat bit for bit and can be captured."""

import pytest
import torch

from gradlab import specs
from gradlab.kernels import group_norm as module
from gradlab.kernels.group_norm import group_norm, plain_group_norm, takes
from gradlab.models import build_model
from gradlab.nn import GroupNorm
from gradlab.registry import Part
from gradlab.training.driver import channels_last

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")
SHAPES = [(256, 64, 28, 28), (256, 192, 14, 14), (256, 384, 7, 7), (1, 64, 28, 28), (5, 24, 13, 9), (2, 40, 1, 3)]


def inputs(shape, dtype, mean=0.0):
    torch.manual_seed(0)
    x = (3 * torch.randn(shape, device=CUDA) + mean).to(dtype).contiguous(memory_format=torch.channels_last)
    gain, shift = torch.randn(2, shape[1], device=CUDA).unbind()
    return x.requires_grad_(), gain.requires_grad_(), shift.requires_grad_()


def both(call, x, gain, shift, dy, activation):
    y = call(x, 8, gain, shift, 1e-5, activation)
    return [y, *torch.autograd.grad(y, (x, gain, shift), dy.to(y.dtype))]


def exact(x, gain, shift, dy, activation):
    """Of the same numbers, in float64."""
    wide = [each.detach().double().requires_grad_() for each in (x, gain, shift)]
    return both(plain_group_norm, *wide, dy, activation)


def check(got, right, dtype):
    narrow = 2**-7 if dtype == torch.bfloat16 else 1e-5
    for tolerance, mine, wanted in zip((narrow, narrow, 2e-5, 2e-5), got, right, strict=True):
        assert (mine - wanted).abs().max() <= tolerance * wanted.abs().max()


@pytest.mark.parametrize("activation", ["silu", None])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_outputs_and_gradients_are_those_in_float64(shape, dtype, activation):
    x, gain, shift = inputs(shape, dtype)
    dy = torch.randn(shape, device=CUDA).to(dtype)
    assert takes(x, 8, gain, shift)
    got, again = (both(group_norm, x, gain, shift, dy, activation) for _ in range(2))
    assert all(map(torch.equal, got, again))
    assert [each.dtype for each in got] == [dtype, dtype, torch.float32, torch.float32]
    check(got, exact(x, gain, shift, dy, activation), dtype)


def test_a_part_of_a_row_is_added_before():
    x, gain, shift = inputs((16, 64, 14, 14), torch.bfloat16)
    offset = torch.randn(16, 200, device=CUDA).bfloat16()[:, 100:164].requires_grad_()
    dy = torch.randn(x.shape, device=CUDA).bfloat16()
    assert takes(x, 8, gain, shift, offset)
    y = group_norm(x, 8, gain, shift, 1e-5, "silu", offset)
    wide = offset.detach().double().requires_grad_()
    right = plain_group_norm(x.detach().double(), 8, gain.double(), shift.double(), 1e-5, "silu", wide)
    mine, wanted = torch.autograd.grad(y, offset, dy)[0], torch.autograd.grad(right, wide, dy.double())[0]
    assert (y - right).abs().max() <= 2**-7 * right.abs().max()
    assert (mine - wanted).abs().max() <= 2**-7 * wanted.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_under_autocast_the_output_is_narrow_and_gradients_are_as_their_inputs(dtype):
    x, gain, shift = inputs((64, 64, 14, 14), dtype)
    dy = torch.randn(x.shape, device=CUDA).bfloat16()
    with torch.autocast("cuda", torch.bfloat16):
        got = both(group_norm, x, gain, shift, dy, "silu")
    assert [each.dtype for each in got] == [torch.bfloat16, dtype, torch.float32, torch.float32]
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in got[:2])
    check(got, exact(x, gain, shift, dy, "silu"), torch.bfloat16)


def test_a_mean_far_larger_than_the_spread():
    x, gain, shift = inputs((4, 64, 28, 28), torch.float32, mean=3e4)
    got = group_norm(x, 8, gain, shift, 1e-5)
    right = plain_group_norm(x.double(), 8, gain.double(), shift.double(), 1e-5)
    assert (got - right).abs().max() < 4 * 3e4 * 2**-24  # some roundings of the mean, in units of the spread


def test_it_is_captured_and_replayed():
    x, gain, shift = inputs((8, 64, 14, 14), torch.bfloat16)
    dy = torch.randn(x.shape, device=CUDA).bfloat16().contiguous(memory_format=torch.channels_last)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        both(group_norm, x, gain, shift, dy, "silu")
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            recorded = both(group_norm, x, gain, shift, dy, "silu")
    with torch.no_grad():
        x.copy_(torch.randn(x.shape, device=CUDA))
    graph.replay()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):  # on which the graph of gradients was made
        again = both(group_norm, x, gain, shift, dy, "silu")
    torch.cuda.synchronize()
    assert all(map(torch.equal, recorded, again))


def losses(model, precision):
    torch.manual_seed(1)
    x, dy = torch.randn(2, 16, 1, 28, 28, device=CUDA).unbind()
    time, labels = torch.rand(16, device=CUDA), torch.arange(16, device=CUDA) % 2
    with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
        y = model(x, time, labels)
    gradients = torch.autograd.grad(y, list(model.parameters()), dy.to(y.dtype))
    return torch.cat([each.flatten().double() for each in (y, *gradients)])


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_u_net_learns_the_same_by_kernels(precision, monkeypatch):
    torch.manual_seed(0)
    settings = {"width": 32, "multiples": [1, 2, 2]}
    model = build_model(Part("unet", settings), specs.Picture(1, 28, 28), 2).to(CUDA)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    channels_last(model)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    calls, apply = [], module._GroupNorm.apply
    monkeypatch.setattr(module._GroupNorm, "apply", lambda *call: calls.append(call[5]) or apply(*call))
    by_kernels = losses(model, precision)
    norms = sum(isinstance(part, GroupNorm) for part in model.modules())
    assert (calls.count("silu"), calls.count(None)) == (norms - 1, 1)  # no map was in another order
    monkeypatch.setattr(module, "takes", lambda *_: False)
    monkeypatch.setattr("gradlab.nn.normalisation.takes", lambda *_: False)
    by_torch = losses(model, precision)
    assert (by_kernels - by_torch).norm() <= (0.05 if precision == "bf16" else 1e-3) * by_torch.norm()
