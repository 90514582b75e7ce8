"""`verify` judges the kernels themselves: on a GPU, or here in Triton's interpreter."""

import pytest
import torch

from gradlab.kernels import add_norm, group_norm
from gradlab.verification import Place, Subject, verify_block

PLACE = Place("cuda" if torch.cuda.is_available() else "cpu", torch.float32)
NAMES = ["add_norm", "add_norm_affine", "affine", "product", "peak", "decode_attention", "group_norm"]


@pytest.mark.parametrize("name", [*NAMES, pytest.param("linear_attention", marks=pytest.mark.slow)])
def test_a_kernel_agrees_with_its_twin(name, monkeypatch):
    for form in ("plain_add_norm", "plain_add_norm_affine"):
        monkeypatch.delattr(add_norm, form)  # the kernel itself is asked
    monkeypatch.delattr(group_norm, "plain_group_norm")
    verification = verify_block(Subject.block(f"kernel.{name}", PLACE), name, 4)
    assert all(result.passed for result in verification.results), str(verification)


def test_kernels_are_not_asked_for_float64():
    verification = verify_block(Subject.block("kernel.affine", Place(PLACE.device)), "affine", 4)
    assert [result.reason for result in verification.results] == [
        "the kernel sums in float32: choose float32, bfloat16 or float16"
    ]
