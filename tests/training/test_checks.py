import pytest
import torch
from torch import nn

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.training.checks import check_plan, check_precision

CPU, CUDA, MPS = (torch.device(name) for name in ("cpu", "cuda", "mps"))


def test_a_schedule_that_follows_the_validation_loss_needs_one(make_plan):
    plan = make_plan(schedule="plateau")
    check_plan(plan, nn.Linear(2, 2), 10, [10], validation=1)
    with pytest.raises(GradlabError, match="there is no validation split"):
        check_plan(plan, nn.Linear(2, 2), 10, [10], validation=0)
    with pytest.raises(GradlabError, match="there is no validation split"):
        gl.fit(nn.Linear(2, 2), (torch.randn(9, 2), torch.arange(9) % 2), schedule="plateau")


@pytest.mark.parametrize(
    ("batch_size", "accumulate", "fine"), [(1, 1, False), (2, 1, True), (8, 4, True), (8, 5, False)]
)
def test_batch_normalisation_needs_two_examples_at_a_time(make_plan, batch_size, accumulate, fine):
    plan = make_plan(batch_size=batch_size, accumulate=accumulate)
    check_plan(plan, nn.Linear(2, 2), 9, plan.batch_sizes(40), validation=0)
    if fine:
        check_plan(plan, nn.BatchNorm1d(2), 9, plan.batch_sizes(40), validation=0)
    else:
        with pytest.raises(GradlabError, match=r"Batch normalisation .* raise train\.batch_size"):
            check_plan(plan, nn.BatchNorm1d(2), 9, plan.batch_sizes(40), validation=0)


@pytest.mark.parametrize("native", [True, False])
def test_half_precision_on_the_cpu_is_for_cpus_that_have_it(make_plan, monkeypatch, native):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: native)
    check_precision(make_plan(), CPU)
    check_precision(make_plan(precision="bf16"), CUDA)
    if native:
        check_precision(make_plan(precision="bf16"), CPU)
    else:
        with pytest.raises(GradlabError, match="slower here than float32: this CPU has no bf16 instructions"):
            check_precision(make_plan(precision="bf16"), CPU)
    with pytest.raises(GradlabError, match="this run is on mps"):
        check_precision(make_plan(precision="bf16"), MPS)


def test_8_bits_are_for_gpus_that_multiply_them(make_plan, monkeypatch):
    plan = make_plan(precision="fp8")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    for device, name in ((CPU, "on cpu"), (MPS, "on mps"), (CUDA, "on a NVIDIA A100")):
        with pytest.raises(GradlabError, match=rf"{name}\. Set train\.precision=bf16, or leave it out"):
            check_precision(plan, device)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 9))
    check_precision(plan, CUDA)


def test_half_precision_trains_about_as_full_precision_does(make_training, run):
    """Whether the CPU has instructions for it or not: then it is only slow."""
    half, full = (
        run(make_training(precision=p, lr=0.02, epochs=10, keep="last", validation=None)) for p in ("bf16", "float32")
    )
    assert half.record.losses()[-1] == pytest.approx(full.record.losses()[-1], rel=0.1)
    assert half.record.losses() != full.record.losses()
    assert {p.dtype for p in half.model.parameters()} == {torch.float32}
