import shutil
import sys

import pytest
import torch

from gradlab.training.capture import choose_mode

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("device", "steps", "plan", "mode"),
    [
        (CPU, 1000, {}, "eager"),
        (CPU, 10**7, {}, "eager"),
        (CPU, 1, {"compile": "on"}, "compiled"),
        (CPU, 10**7, {"compile": "off"}, "eager"),
        (CUDA, 10, {}, "eager"),
        (CUDA, 1000, {}, "graph"),
        (CUDA, 10, {"compile": "on"}, "graph"),
        (CUDA, 1000, {"compile": "off"}, "eager"),
        (CPU, 10**7, {"optimizer": "lbfgs", "batch_size": "full"}, "eager"),
        (CUDA, 10**7, {"optimizer": "lbfgs", "batch_size": "full"}, "eager"),
    ],
)
def test_the_mode_follows_from_the_plan_the_device_and_the_number_of_steps(make_plan, device, steps, plan, mode):
    assert choose_mode(make_plan(**plan), device, steps) == mode


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_step_trains_as_the_plain_one_does(make_training, run):
    plain, compiled = make_training(), make_training()
    compiled.mode = "compiled"
    run(plain)
    run(compiled)
    assert compiled.record.losses() == pytest.approx(plain.record.losses(), rel=1e-4)
