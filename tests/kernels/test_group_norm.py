"""Group normalisation and SiLU by our own kernels give what the formulas give: on a GPU, or in Triton's interpreter."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gradlab import specs
from gradlab.kernels import group_norm as module
from gradlab.kernels.group_norm import group_norm, plain_group_norm, takes
from gradlab.models import build_model
from gradlab.nn import GroupNorm, SiLU
from gradlab.nn.normalisation import norm_silu
from gradlab.registry import Part

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
BF16 = torch.bfloat16
WIDE, NARROW = 2e-6, 3 * 2**-8  # what is rounded to bf16 is cut off by Triton's interpreter


@pytest.fixture(autouse=True)
def device():
    torch.manual_seed(0)
    with DEVICE:
        yield


def picture(*shape, dtype=torch.float32, mean=0.0):
    x = (3 * torch.randn(shape) + mean).to(dtype)
    return x.contiguous(memory_format=torch.channels_last).requires_grad_()


def formula(x, groups, gain, shift, eps, activation, offset=None):
    """Written out, in float64."""
    x, gain, shift = (each.double() for each in (x, gain, shift))
    x = x if offset is None else x + offset.double()[:, :, None, None]
    parts = x.reshape(len(x), groups, -1)
    off = parts - parts.mean(2, keepdim=True)
    normed = off / (off.square().mean(2, keepdim=True) + eps).sqrt()
    z = normed.reshape(x.shape) * gain[:, None, None] + shift[:, None, None]
    return z * torch.sigmoid(z) if activation == "silu" else z


def both(call, x, gain, shift, dy):
    y = call(x)
    return [y, *torch.autograd.grad(y, (x, gain, shift), dy.to(y.dtype))]


def errors(got, exact):
    """The largest of each tensor, in units of its own largest number."""
    return [((mine - right).abs().max() / right.abs().max()).item() for mine, right in zip(got, exact, strict=True)]


CASES = [  # the shape, its groups, numbers of a tile, and below how many programs each has one group
    ((2, 64, 7, 5), 8, 512, 0),  # several tiles of places, in the last of which some are missing
    ((1, 24, 3, 13), 8, 64, 128),  # three channels to a group, and one example
    ((1, 40, 3, 3), 8, 4096, 0),
    ((1, 192, 5, 7), 8, 1024, 0),
    ((2, 15, 2, 3), 3, 4096, 0),  # tiles of four groups, of which there are three
    ((2, 6, 4, 4), 1, 32, 128),
    ((1, 20, 3, 4), 20, 4096, 0),  # a group for each channel
    ((2, 8, 1, 1), 2, 4096, 0),
]


@pytest.fixture
def tiles(monkeypatch):
    """Pictures of tests are small, and Triton's interpreter is slow: other tiles than those of a GPU."""

    def choose(numbers, programs=128):
        monkeypatch.setattr(module, "_TILE", numbers)
        monkeypatch.setattr(module, "_PROGRAMS", programs)
        module.sizes_of.cache_clear()

    yield choose
    module.sizes_of.cache_clear()


KINDS = [
    *((case, dtype, "silu") for case in CASES for dtype in (torch.float32, BF16)),
    (CASES[0], torch.float32, None),
    (CASES[4], BF16, None),
]


@pytest.mark.parametrize(("case", "dtype", "activation"), KINDS, ids=str)
def test_outputs_and_gradients_are_those_of_the_formula(case, dtype, activation, tiles, poisoned):
    shape, groups, *sizes = case
    tiles(*sizes)
    x, gain, shift = picture(*shape, dtype=dtype), *torch.randn(2, shape[1]).unbind()
    gain, shift, dy = gain.requires_grad_(), shift.requires_grad_(), torch.randn(shape).to(dtype)
    assert takes(x, groups, gain, shift)
    offset = torch.randn(shape[:2]).requires_grad_() if activation else torch.zeros(shape[:2], requires_grad=True)
    added = offset if activation else None
    got = both(lambda x: group_norm(x, groups, gain, shift, 1e-2, activation, added), x, gain, shift, dy)
    exact = both(lambda x: formula(x, groups, gain, shift, 1e-2, activation, offset), x, gain, shift, dy)
    assert [each.dtype for each in got] == [dtype, dtype, torch.float32, torch.float32]
    assert got[0].is_contiguous(memory_format=torch.channels_last)
    assert max(errors(got[:2], exact[:2])) <= (NARROW if dtype == BF16 else WIDE)
    assert max(errors(got[2:], exact[2:])) <= WIDE  # sums are in float32


@pytest.mark.parametrize("dtype", [torch.float32, BF16])
def test_what_is_added_to_a_channel_has_the_sum_of_its_gradients(dtype, tiles, poisoned):
    tiles(64, 0)
    x, dy = picture(2, 24, 3, 13, dtype=dtype), torch.randn(2, 24, 3, 13).to(dtype)
    gain, shift = torch.randn(2, 24).unbind()
    offset = torch.randn(2, 24, requires_grad=True)
    mine = torch.autograd.grad(group_norm(x, 8, gain, shift, 1e-2, "silu", offset), offset, dy)
    right = torch.autograd.grad(formula(x, 8, gain, shift, 1e-2, "silu", offset), offset, dy.double())
    assert max(errors(mine, right)) <= 10 * WIDE  # what is added to all of a group has no effect: sums nearly cancel


def test_a_mean_far_larger_than_the_spread_costs_no_more_than_its_rounding(tiles):
    tiles(64)
    x, one, zero, dy = picture(1, 8, 9, 5, mean=3e4), torch.ones(8), torch.zeros(8), torch.randn(1, 8, 9, 5)
    with torch.no_grad():
        x += 100 * torch.arange(8)[:, None, None] // 2  # the two channels of a group are alike, groups are not
    one.requires_grad_(), zero.requires_grad_()
    got = both(lambda x: group_norm(x, 4, one, zero, 1e-5), x, one, zero, dy)
    exact = both(lambda x: formula(x, 4, one, zero, 1e-5, None), x, one, zero, dy)
    rounding = 3e4 * 2**-23 / 3  # of the mean, in units of the spread
    assert max(errors(got, exact)) < rounding


def test_what_is_far_below_or_above_zero_is_a_number():
    x = torch.tensor([-200.0, -90.0, 0.0, 90.0, 200.0]).reshape(1, 1, 1, 5).requires_grad_()
    gain, shift, dy = torch.tensor([150.0]).requires_grad_(), torch.zeros(1).requires_grad_(), torch.ones(1, 1, 1, 5)
    with np.errstate(over="ignore"):  # of Triton's interpreter
        got = both(lambda x: group_norm(x, 1, gain, shift, 1e-5, "silu"), x, gain, shift, dy)
    exact = both(lambda x: formula(x, 1, gain, shift, 1e-5, "silu"), x, gain, shift, dy)
    assert max(errors(got, exact)) < WIDE


def test_without_gain_and_shift(poisoned):
    x, dy = picture(2, 12, 5, 3), torch.randn(2, 12, 5, 3)
    for activation in ("silu", None):
        got, exact = (call(x, 4, None, None, 0.1, activation) for call in (group_norm, plain_group_norm))
        torch.testing.assert_close(got, exact, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(*(torch.autograd.grad(y, x, dy)[0] for y in (got, exact)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, BF16], ids=str)
def test_under_autocast_the_output_has_the_type_of_products(dtype, poisoned):
    x, gain, shift = picture(2, 16, 5, 5, dtype=dtype), torch.randn(16), torch.randn(16)
    with torch.autocast(DEVICE.type, BF16):
        y = group_norm(x, 8, gain, shift, 1e-5, "silu")
    exact = formula(x, 8, gain, shift, 1e-5, "silu")
    assert y.dtype == BF16
    assert max(errors([y], [exact])) <= NARROW
    dy = torch.randn_like(y)
    (dx,), (right,) = (torch.autograd.grad(each, x, dy.to(each.dtype)) for each in (y, exact))
    assert dx.dtype == dtype
    assert max(errors([dx], [right])) <= (NARROW if dtype == BF16 else WIDE)


def test_a_gradient_in_another_order_is_brought_into_the_right_one(tiles):
    tiles(4096, 0)
    x, gain, shift = picture(2, 16, 5, 3), torch.randn(16).requires_grad_(), torch.randn(16).requires_grad_()
    y = group_norm(x, 8, gain, shift, 1e-5, "silu")
    dy = torch.randn(2, 32, 5, 3)[:, 4:20]
    got, same = (torch.autograd.grad(y, (x, gain, shift), each, retain_graph=True) for each in (dy, dy.contiguous()))
    assert all(map(torch.equal, got, same))
    exact = torch.autograd.grad(plain_group_norm(x, 8, gain, shift, 1e-5, "silu"), (x, gain, shift), dy)
    torch.testing.assert_close(got, exact, rtol=1e-4, atol=1e-5)


def test_a_gradient_can_be_differentiated():
    x, gain, shift = picture(2, 8, 3, 3), torch.randn(8).requires_grad_(), torch.randn(8).requires_grad_()
    seconds = []
    for call in (group_norm, plain_group_norm):
        (slope,) = torch.autograd.grad(call(x, 4, gain, shift, 1e-5, "silu").square().sum(), x, create_graph=True)
        seconds.append([slope, *torch.autograd.grad(slope.square().sum(), (x, gain, shift))])
    torch.testing.assert_close(*seconds, rtol=1e-4, atol=1e-4)


def test_what_the_kernels_are_not_for_is_left_to_torch():
    gain = torch.ones(8)
    x = torch.randn(2, 8, 5, 3)
    assert takes(x.contiguous(memory_format=torch.channels_last), 4, gain, None)
    others = x, x.double().contiguous(memory_format=torch.channels_last), x[..., 0], x[:0], x.to("meta")
    assert not any(takes(each, 4, gain, None) for each in others)
    doubled = picture(2, 8, 3, 3).double()
    assert torch.equal(group_norm(doubled, 4, None, None, 1e-5), torch.group_norm(doubled, 4, None, None, 1e-5))
    got = torch.func.vmap(lambda x: group_norm(x[None], 4, None, None, 1e-5)[0])(x)  # torch.func has its own rules
    torch.testing.assert_close(got, torch.group_norm(x, 4, None, None, 1e-5))


class Louder(SiLU):
    def forward(self, x):
        return 2 * super().forward(x)


def norm_of(channels=16, groups=8):
    norm = GroupNorm(groups, channels)
    for parameter in norm.parameters():
        torch.nn.init.normal_(parameter)
    return norm


def is_fused(y):
    return "_GroupNorm" in y.grad_fn.name()


def test_modules_are_put_together_where_nobody_could_tell(tiles):
    tiles(4096, 0)
    norm, silu, x = norm_of(), SiLU(), picture(2, 16, 5, 3)
    y = norm_silu(norm, silu, x)
    assert is_fused(y)
    torch.testing.assert_close(y, F.silu(torch.group_norm(x, 8, norm.weight, norm.bias)), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(norm_silu(norm, Louder(), x), 2 * y, rtol=1e-5, atol=1e-5)
    assert not is_fused(norm_silu(norm, Louder(), x))
    heard = []
    for part in (norm, silu):
        for listen in (part.register_forward_hook, part.register_full_backward_hook):
            hook = listen(lambda *_: heard.append(1))
            torch.testing.assert_close(norm_silu(norm, silu, x), y, rtol=1e-5, atol=1e-5)
            norm_silu(norm, silu, x).sum().backward()
            hook.remove()
    assert len(heard) == 6  # two calls each, and one of them backwards
    assert is_fused(norm_silu(norm, silu, x))


def network(**settings):
    model = build_model(Part("unet", {"width": 8, "multiples": [1, 2], **settings}), specs.Picture(1, 7, 6), 2)
    for parameter in model.parameters():  # the last map starts at 0, and would hide all others
        torch.nn.init.normal_(parameter, std=0.2)
    return model


def test_a_u_net_is_the_same_by_kernels(monkeypatch, tiles, poisoned):
    tiles(4096, 0)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    model = network().to(memory_format=torch.channels_last)
    x, time, labels, dy = torch.randn(2, 1, 7, 6), torch.rand(2), torch.tensor([0, 1]), torch.randn(2, 1, 7, 6)
    results, calls = [], []
    apply = module._GroupNorm.apply
    monkeypatch.setattr(module._GroupNorm, "apply", lambda *call: calls.append(call[5]) or apply(*call))
    for on in (True, False):
        if not on:
            monkeypatch.setattr(module, "takes", lambda *_: False)
            monkeypatch.setattr("gradlab.nn.normalisation.takes", lambda *_: False)
        y = model(x, time, labels)
        results.append([y, *torch.autograd.grad(y, list(model.parameters()), dy)])
    norms = sum(isinstance(part, GroupNorm) for part in model.modules())
    assert (calls.count("silu"), calls.count(None)) == (norms - 1, 1)  # no map was in another order
    # A bias before a normalisation has no effect but by rounding, and tensors differ in size: all are compared at once.
    largest = max(right.abs().max() for right in results[1])
    for mine, right in zip(*results, strict=True):
        assert (mine - right).abs().max() <= 1e-5 * right.abs().max() + 1e-6 * largest
