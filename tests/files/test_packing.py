"""Masked tensors on disk: the same again to the bit, smaller, readable by NumPy, and refused where they do not fit."""

import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradlab.files import Damaged
from gradlab.files.packing import packed, unpacked
from gradlab.files.tensors import load_tensors, save_tensors


def masked(shape, keep=0.3, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape, generator=generator) < keep
    return torch.randn(shape, generator=generator).to(dtype).masked_fill(~mask, 0), mask


@given(shape=st.lists(st.integers(0, 7), min_size=1, max_size=4), keep=st.floats(0, 1), seed=st.integers(0, 99))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_what_is_packed_is_unpacked_to_the_bit(dtype, shape, keep, seed, tmp_path_factory):
    tensor, mask = masked(shape, keep, dtype, seed)
    other = torch.randn(3)
    whole, masks = unpacked(packed({"w": tensor, "bias": other}, {"w": mask}), "nowhere")
    assert whole.keys() == {"w", "bias"}
    assert whole["w"].dtype == dtype
    assert torch.equal(whole["w"], tensor)
    assert torch.equal(masks["w"], mask)
    assert whole["bias"] is other


def test_a_file_has_a_bit_for_each_number_and_the_numbers_that_are_kept(tmp_path):
    tensor, mask = masked((100, 80), 0.1)
    save_tensors(tmp_path / "packed", packed({"w": tensor}, {"w": mask}))
    save_tensors(tmp_path / "whole", {"w": tensor})
    size, most = (tmp_path / "packed").stat().st_size, (tmp_path / "whole").stat().st_size
    assert most >= 4 * 8000
    assert size < 8000 / 8 + 4 * int(mask.sum()) + 400  # and a header


def test_numpy_alone_reads_it_as_the_documentation_says(tmp_path):
    tensor, mask = masked((5, 3, 2))
    save_tensors(tmp_path / "file", packed({"NAME": tensor}, {"NAME": mask}))
    file = safetensors.numpy.load_file(tmp_path / "file")
    dense = np.zeros(file["NAME:shape"])
    dense[np.unpackbits(file["NAME:mask"])[: dense.size].reshape(dense.shape) == 1] = file["NAME:kept"]
    assert np.array_equal(dense, tensor.numpy())


def test_a_tensor_that_is_not_zero_outside_of_its_mask_stays_whole():
    tensor, mask = torch.ones(2, 2), torch.tensor([[True, False], [True, True]])
    assert packed({"w": tensor}, {"w": mask}) == {"w": tensor}
    assert packed({"w": torch.ones(3)}, {"w": mask}).keys() == {"w"}  # of another shape


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("shape", torch.tensor([4, 1000]), "does not fit its shape"),
        ("shape", torch.tensor([-4, -6]), "does not fit its shape"),
        ("shape", torch.tensor([4.0, 6.0]), "does not fit its shape"),
        ("mask", torch.zeros(9, dtype=torch.uint8), "does not fit its shape"),
        ("mask", torch.full((3,), 255, dtype=torch.uint8), "keeps 24 numbers"),
        ("kept", torch.zeros(24), "and there are 24"),
    ],
)
def test_parts_that_do_not_fit_each_other_are_damage(part, value, words, tmp_path):
    tensor, mask = masked((4, 6))
    save_tensors(tmp_path / "file", {**packed({"w": tensor}, {"w": mask}), f"w:{part}": value})
    with pytest.raises(Damaged, match=words):
        unpacked(load_tensors(tmp_path / "file"), tmp_path / "file")
