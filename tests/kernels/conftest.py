"""Kernels run on a GPU where there is one, and else in Triton's interpreter: slowly, but from the same source."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "counts"))
INTERPRETED = not torch.cuda.is_available()

if find_spec("triton") is None:
    collect_ignore_glob = ["test_*.py"]
elif INTERPRETED:
    os.environ["TRITON_INTERPRET"] = "1"  # read where a kernel is defined
    from gradlab.kernels import (
        add_norm,
        bernoulli,
        cross_entropy,
        decode_attention,
        group_norm_triton,
        layer,
        linear_attention_triton,
        peak,
        product,
    )

    del os.environ["TRITON_INTERPRET"]  # other tests of this process are not interpreted


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    if INTERPRETED:
        monkeypatch.setenv("TRITON_INTERPRET", "1")


@pytest.fixture
def poisoned():
    """Memory that nobody has written yet is NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)
