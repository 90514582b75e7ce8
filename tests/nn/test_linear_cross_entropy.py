import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from gradlab.nn import linear_cross_entropy as fused
from gradlab.nn.linear_cross_entropy import linear_cross_entropy


def problem(rows=37, d=5, classes=50, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(n, d, generator=generator, dtype=dtype).requires_grad_() for n in (rows, classes))
    targets = torch.randint(classes, (rows,), generator=generator)
    targets[3] = -100
    return x, weight, targets


def plain(x, weight, targets):
    return F.cross_entropy(F.linear(x, weight), targets, reduction="sum")


@pytest.mark.parametrize("rows", [1, 4, 37, 64])
def test_it_is_the_cross_entropy_of_the_logits_chunk_by_chunk(monkeypatch, rows):
    monkeypatch.setattr(fused, "_LOGITS", 512)  # chunks of eight rows
    x, weight, targets = problem(rows=max(4, rows))
    x, targets = x[:rows], targets[:rows]
    found, want = (torch.autograd.grad(f(x, weight, targets) / 7, (x, weight)) for f in (linear_cross_entropy, plain))
    assert torch.allclose(linear_cross_entropy(x, weight, targets), plain(x, weight, targets))
    torch.testing.assert_close(found, want)


def test_its_gradients_are_those_of_differences(monkeypatch):
    monkeypatch.setattr(fused, "_LOGITS", 512)
    x, weight, targets = problem(rows=12, d=3, classes=6)
    assert torch.autograd.gradcheck(lambda x, weight: linear_cross_entropy(x, weight, targets), (x, weight))


def test_under_autocast_its_error_is_no_larger_than_that_of_the_plain_form():
    x, weight, targets = problem(rows=256, d=32, classes=500, dtype=torch.float32)
    exact = torch.autograd.grad(plain(x.double(), weight.double(), targets), (x, weight))
    errors = {}
    for f in (linear_cross_entropy, plain):
        with torch.autocast("cpu", torch.bfloat16):
            loss = f(x, weight, targets)
        found = torch.autograd.grad(loss, (x, weight))
        assert loss.dtype == torch.float32
        assert [g.dtype for g in found] == [torch.float32] * 2
        errors[f] = [float((g - e).norm() / e.norm()) for g, e in zip(found, exact, strict=True)]
    assert all(a <= 1.1 * b for a, b in zip(errors[linear_cross_entropy], errors[plain], strict=True)), errors


def test_without_gradients_it_is_the_loss_alone():
    x, weight, targets = problem()
    with torch.no_grad():
        assert torch.allclose(linear_cross_entropy(x, weight, targets), plain(x, weight, targets))
    (slope,) = torch.autograd.grad(linear_cross_entropy(x.detach(), weight, targets), weight)
    assert torch.allclose(slope, torch.autograd.grad(plain(x, weight, targets), weight)[0])


KERNEL = """
import torch
from gradlab.kernels import cross_entropy
from gradlab.kernels.cross_entropy import surprise
from gradlab.nn.linear_cross_entropy import _surprise
for rows, columns, classes, kind in [(5, 64, 50, "float32"), (3, 4160, 4097, "bfloat16"), (1, 64, 64, "float32")]:
    logits = (5 * torch.randn(rows, columns)).to(getattr(torch, kind))
    logits[:, classes:] = torch.nan
    targets = torch.randint(classes, (rows,))
    targets[rows // 2] = -100 if rows > 1 else 7
    for held in (0, 2**20):  # rows that are read twice, and once
        cross_entropy._HELD = held
        one, other = logits.clone(), logits.clone()
        losses, want = surprise(one, targets, classes), _surprise(other, targets, classes, torch.float32)
        torch.testing.assert_close(losses, want)
        torch.testing.assert_close(one, other)
assert surprise(torch.zeros(1, 64), torch.tensor([60]), 50).isinf().all()
"""


def test_the_kernel_gives_the_same_in_the_interpreter():
    pytest.importorskip("triton")
    ran = subprocess.run(
        [sys.executable, "-c", KERNEL], env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
