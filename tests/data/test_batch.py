"""A batch: any nesting of tensors, as long as all of them hold the same number of examples."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import _pytree as pytree

from gradlab.data.batch import copied, key, moved, parted, size, tensors
from gradlab.errors import GradlabError


def nested(rows, width=3):
    """Tensors in a tuple, a list and a dictionary, and beside them what is no tensor, or one for all examples."""
    return {
        "inputs": (torch.arange(rows * width).view(rows, width), [torch.arange(rows) * 2.0]),
        "targets": {"label": torch.arange(rows), "mask": torch.arange(rows * 2).view(rows, 2) % 3 == 0},
        "temperature": torch.tensor(0.5),
        "name": "pairs",
        "scale": 2,
        "nothing": None,
    }


def same(one, other):
    leaves, structure = pytree.tree_flatten(one)
    others, other_structure = pytree.tree_flatten(other)
    assert structure == other_structure
    for a, b in zip(leaves, others, strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
    return True


def test_the_tensors_of_a_nested_batch_are_all_found():
    assert [tuple(t.shape) for t in tensors(nested(4))] == [(4, 3), (4,), (4,), (4, 2), ()]


@given(st.integers(0, 20))
def test_the_size_is_the_number_of_examples(rows):
    assert size(nested(rows)) == rows


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        ({"inputs": torch.zeros(3, 2), "targets": torch.zeros(4)}, r"inputs \(3, 2\) float32, targets \(4,\) float32"),
        (
            {"inputs": (torch.zeros(3), torch.zeros(2)), "name": "x"},
            r"inputs \(3,\) float32 and \(2,\) float32, name 'x'",
        ),
        ({"inputs": {"a": torch.zeros(3), "b": torch.zeros(5)}}, r"inputs \(3,\) float32 and \(5,\) float32"),
        ({"temperature": torch.tensor(1.0)}, r"temperature \(\)"),
        ({}, "no tensor at all"),
    ],
)
def test_a_batch_whose_parts_differ_in_length_is_refused_and_they_are_named(batch, says):
    with pytest.raises(GradlabError, match=f"same number of examples, got {says}"):
        size(batch)


@given(st.integers(1, 20), st.integers(1, 7))
def test_the_parts_of_a_batch_make_it_up_in_order(rows, parts):
    batch = nested(rows)
    cut = list(parted(batch, parts))
    assert len(cut) == parts
    sizes = [size(part) for part in cut]
    assert sum(sizes) == rows
    assert max(sizes) - min(sizes) <= 1
    leaves = zip(*(tensors(part) for part in cut), strict=True)
    whole = [torch.cat(several) if several[0].ndim else several[0] for several in leaves]
    assert all(torch.equal(a, b) for a, b in zip(whole, tensors(batch), strict=True))
    for part in cut:  # what is not of single examples is in every part
        assert (part["name"], part["scale"], part["nothing"], part["temperature"].item()) == ("pairs", 2, None, 0.5)


def test_a_copy_has_memory_of_its_own():
    batch = nested(4)
    copy = copied(batch)
    assert same(copy, batch)
    assert not {t.data_ptr() for t in tensors(copy)} & {t.data_ptr() for t in tensors(batch)}


def test_a_batch_goes_to_a_device_with_all_its_parts():
    there = moved(nested(2), torch.device("meta"))
    assert {t.device.type for t in tensors(there)} == {"meta"}
    assert there["name"] == "pairs"


def changed(**parts):
    return {**nested(4), **parts}


@pytest.mark.parametrize(
    "other",
    [
        nested(5),
        nested(4, width=2),
        changed(inputs=(torch.arange(12).view(4, 3), [torch.zeros(4, 1)])),
        changed(inputs=(torch.arange(12).view(4, 3), [torch.zeros(4, dtype=torch.float64)])),
        changed(inputs=[torch.arange(12).view(4, 3), [torch.zeros(4)]]),
        changed(targets={"label": torch.arange(4)}),
        changed(targets={"other": torch.arange(4), "mask": torch.zeros(4, 2, dtype=torch.bool)}),
        changed(temperature=torch.zeros(1)),
        changed(name="triples"),
        changed(scale=3),
    ],
)
def test_batches_of_other_names_shapes_or_types_have_another_key(other):
    """So that a captured step, which reads fixed memory, is never given them."""
    assert key(other) != key(nested(4))
    assert len({key(other), key(nested(4))}) == 2


def test_batches_that_differ_in_numbers_alone_share_a_key():
    assert len({key(nested(4)), key(changed(temperature=torch.tensor(0.7)))}) == 1
