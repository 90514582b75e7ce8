"""Linear maps in 8 bits, by the form in PyTorch that other devices than GPUs have."""

import pytest
import torch
import torch._dynamo
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from gradlab.nn import float8
from gradlab.nn.float8 import Float8Products, float8_linear


@pytest.fixture
def small(monkeypatch):
    """Products of any size are in 8 bits."""
    monkeypatch.setattr(float8, "_WEIGHTS", 1)
    monkeypatch.setattr(float8, "_ROWS", 1)


def rounding(x, half_step, least):
    """The largest error of each entry: half a step of its mantissa, or of the smallest numbers there are."""
    return torch.maximum(x.abs() * half_step, x.abs().max() * least)


def error_bound(a, b, a_error, b_error):
    """Of a product of rounded matrices, the result in bf16."""
    bound = a.abs() @ b_error.T + a_error @ b.abs().T + a_error @ b_error.T
    return bound + 2**-8 * (bound + (a @ b.T).abs())


@pytest.mark.parametrize("spread", [0.0, 4.0])
def test_outputs_and_gradients_are_those_of_float64_up_to_rounding(spread):
    torch.manual_seed(0)
    x, weight, slope = (
        torch.randn(*shape, dtype=torch.float64) * (spread * torch.randn(*shape, dtype=torch.float64)).exp()
        for shape in ((64, 48), (32, 48), (64, 32))
    )
    bias = torch.randn(32, dtype=torch.float64)
    e4m3 = {"half_step": 2**-4, "least": 2**-10 / 448}
    x_error, weight_error = rounding(x, **e4m3), rounding(weight, **e4m3)
    slope_error = rounding(slope, half_step=2**-3, least=2**-17 / 57344)

    leaves = [t.float().requires_grad_() for t in (x, weight, bias)]
    y = float8_linear(*leaves)
    assert y.dtype == torch.bfloat16
    bound = error_bound(x, weight, x_error, weight_error) + 2**-8 * (2 * bias.abs() + (x @ weight.T).abs())
    assert ((y - F.linear(x, weight, bias)).abs() <= bound).all()

    slopes = torch.autograd.grad(y, leaves, slope.bfloat16())
    assert [g.dtype for g in slopes] == [torch.float32] * 3
    slope = slope.bfloat16().double()
    assert ((slopes[0] - slope @ weight).abs() <= error_bound(slope, weight.T, slope_error, weight_error.T)).all()
    torch.testing.assert_close(
        slopes[1].double(), slope.T @ x, rtol=2**-7, atol=2**-7 * float((slope.T @ x).abs().max())
    )
    torch.testing.assert_close(slopes[2].double(), slope.sum(0), rtol=1e-5, atol=1e-5 * float(slope.abs().sum()))


def test_numbers_of_few_bits_are_multiplied_exactly():
    torch.manual_seed(0)
    x, weight = (torch.randint(-7, 8, (n, 16)).float() for n in (32, 48))
    x[0, 0] = weight[0, 0] = 7.0  # 448 is 7 times a power of two, and so are the scales
    assert torch.equal(float8_linear(x / 1024, weight * 8).float(), (x @ weight.T / 128).bfloat16().float())


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_not_hidden(bad):
    x = torch.randn(16, 16, requires_grad=True)
    y = float8_linear(x, torch.randn(32, 16))
    slope = torch.ones(16, 32)
    slope[3, 4] = bad
    assert not torch.autograd.grad(y, x, slope)[0].isfinite().all()
    with torch.no_grad():
        x[3, 4] = bad
    assert not float8_linear(x, torch.randn(32, 16)).isfinite().all()


def test_zeros_stay_zeros():
    assert torch.equal(float8_linear(torch.zeros(16, 16), torch.randn(32, 16)), torch.zeros(16, 32).bfloat16())


@pytest.mark.parametrize(
    ("rows", "inputs", "outputs", "eight"),
    [(1024, 1024, 1024, True), (1008, 1024, 1024, False), (1032, 1024, 1024, False), (1024, 1000, 1100, False),
     (1024, 1024, 1016, False), (1024, 512, 1024, False)],
)  # fmt: skip
def test_large_and_even_products_are_in_8_bits(rows, inputs, outputs, eight):
    with torch.device("meta"), Float8Products():
        y = nn.Linear(inputs, outputs)(torch.empty(rows // 8, 8, inputs))
    assert y.shape == (rows // 8, 8, outputs)
    assert y.dtype == (torch.bfloat16 if eight else torch.float32)


def test_it_is_for_linear_maps_however_they_are_called_and_ends_with_its_context(small):
    torch.manual_seed(0)
    linear, x = nn.Linear(16, 32), torch.randn(4, 8, 16)
    expected = float8_linear(x, linear.weight, linear.bias)
    with Float8Products():
        assert torch.equal(linear(x), expected)
        assert torch.equal(F.linear(x, linear.weight, bias=linear.bias), expected)
        assert torch.equal(F.linear(input=x, weight=linear.weight, bias=linear.bias), expected)
    assert linear(x).dtype == torch.float32


@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_the_compiler_sees_one_graph_and_the_same_numbers(small):
    torch._dynamo.reset()
    torch.manual_seed(0)
    linear, x = nn.Linear(16, 32), torch.randn(4, 8, 16, requires_grad=True)
    leaves = x, linear.weight, linear.bias
    compiled = torch.compile(linear, backend="aot_eager", fullgraph=True)
    with Float8Products():
        plain, fast = linear(x), compiled(x)
    assert torch.equal(fast, plain)
    for a, b in zip(*(torch.autograd.grad(y.sum(), leaves) for y in (plain, fast)), strict=True):
        assert torch.equal(a, b)


def test_outputs_that_are_computed_again_are_the_same(small):
    """As the step does it, whose backward pass is inside too."""
    from gradlab.training.backward import gradients

    torch.manual_seed(0)
    linear, x = nn.Linear(16, 32), torch.randn(16, 16)
    with Float8Products():
        losses = linear(x).sum(), checkpoint(linear, x, use_reentrant=False).sum()
        plain, again = (gradients((loss,), (torch.ones_like(loss),), (linear.weight,)) for loss in losses)
    assert torch.equal(plain[0], again[0])
