"""The doctor on trainings that run on a GPU: it finds what it finds elsewhere, and changes no bit."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gradlab.diagnosis.doctor import Doctor

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def train(clear=True, precision=None, steps=120, compiled=False):
    torch.manual_seed(0)
    x = torch.randn(2048, 20, device="cuda")
    y = x[:, :4].argmax(1)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Dropout(0.1), nn.Linear(64, 4)).cuda()
    called = torch.compile(model, backend="aot_eager") if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cuda", enabled=precision is torch.float16)
    losses = []
    for _ in range(steps):
        at = torch.randint(2048, (64,), device="cuda")
        with torch.autocast("cuda", precision or torch.float32, enabled=precision is not None):
            loss = F.cross_entropy(called(x[at]), y[at])
        if clear:
            optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Using .torch.compile:UserWarning")
@pytest.mark.parametrize(
    "how",
    [{}, {"precision": torch.bfloat16}, {"precision": torch.float16}, {"compiled": True}],
    ids=["plain", "bf16", "fp16", "compiled"],
)
def test_it_changes_nothing_and_finds_nothing_in_a_healthy_training(how):
    expected = train(**how)
    with Doctor(tell=False) as doctor:
        assert train(**how) == expected
    assert doctor.verdict.faults == []
    assert [f.slug for f in doctor.verdict.findings if f.severity != "note"] == []
    assert doctor.verdict.steps == 120


def test_it_finds_a_fault():
    with Doctor(tell=False, deep=True) as doctor:
        train(clear=False)
    assert doctor.verdict.findings[0].slug == "missing_zero_grad"
    assert doctor.verdict.faults == []
