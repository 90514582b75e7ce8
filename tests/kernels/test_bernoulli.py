"""The kernels of black and white pixels give what PyTorch's operations give in float64."""

import pytest
import torch
import torch.nn.functional as F

from gradlab.nn.bernoulli import bernoulli_log_probability

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 784), (5, 7, 1030), (2, 64)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_probabilities_and_gradients_are_those_of_float64(shape, dtype, poisoned):
    torch.manual_seed(0)
    logits = (20 * torch.randn(shape, device=DEVICE)).to(dtype).requires_grad_()
    x = torch.bernoulli(torch.full(shape[-2:], 0.4, device=DEVICE))
    slope = torch.randn(shape[:-1], device=DEVICE)
    each = bernoulli_log_probability(logits, x)
    (gradient,) = torch.autograd.grad(each, logits, slope)
    exact = logits.detach().double().requires_grad_()
    wanted = -F.binary_cross_entropy_with_logits(exact, x.double().expand_as(exact), reduction="none").sum(-1)
    (steep,) = torch.autograd.grad(wanted, exact, slope.double())
    assert each.dtype == torch.float32
    assert gradient.dtype == dtype
    torch.testing.assert_close(each.double(), wanted, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradient.double(), steep, rtol=1e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-6)
