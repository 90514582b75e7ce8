"""Einstein's summation and products of tensors: conventions, and what is refused."""

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.tensors import batched_product, einsum, pure_tensor, sum_of_pure_tensors, tensor_product

A = torch.arange(6.0).reshape(2, 3)


def test_the_result_has_its_axes_in_the_order_of_first_appearance():
    assert einsum("ba,ac", A, torch.ones(3, 5)).shape == (2, 5)
    assert einsum("ba", A).equal(A)
    assert torch.einsum("ba", A).equal(A.T)  # which sorts them


def test_an_index_that_appears_three_times_is_summed_too():
    v = torch.tensor([1.0, 2.0, 3.0])
    assert einsum("i,i,i", v, v, v) == 36
    assert einsum("iii", torch.ones(4, 4, 4)) == 4


def test_an_arrow_keeps_what_would_be_summed_and_sums_what_would_be_kept():
    assert einsum("ii->i", torch.tensor([[1.0, 5.0], [5.0, 2.0]])).tolist() == [1, 2]
    assert einsum("ij -> j", A).tolist() == [3, 5, 7]
    assert einsum("ij->", A) == 15


def test_arrays_are_answered_with_arrays():
    a = np.arange(6).reshape(2, 3)
    product = einsum("ik,jk", a, a)
    assert isinstance(product, np.ndarray)
    assert product.tolist() == (a @ a.T).tolist()


def test_types_are_brought_together():
    assert einsum("i,i", torch.ones(2), torch.ones(2, dtype=torch.float64)).dtype == torch.float64
    assert tensor_product(torch.ones(2), torch.ones(2, dtype=torch.float64)).dtype == torch.float64


def test_gradients_pass():
    a = A.clone().requires_grad_()
    einsum("ij,ij", a, a).backward()
    assert a.grad.equal(2 * A)


@pytest.mark.parametrize(
    ("pattern", "operands", "words"),
    [
        ("ij->ii", [A], "index 'i' appears 2 times in the result"),
        ("ij->k", [A], "index 'k' of the result is in no operand"),
        ("ij,jk", [A, A], "index 'j' is 3 long in operand 1 and 2 long in operand 2"),
        ("ii", [A], "index 'i' is 2 long in operand 1 and 3 long in operand 1"),
        ("ijk", [A], r"operand 1 has shape \(2, 3\), which is 2 axes, and 3 indices, 'ijk'"),
        ("ij,j,j", [A, torch.ones(3), torch.ones(1, 3)], "operand 3 has shape"),
        ("ij,jk", [A], "has indices for 2 operands, and 1 were passed"),
        ("i1", [A], "'1' is no index"),
        ("...i", [A], "'.' is no index"),
    ],
)
def test_what_is_wrong_is_named(pattern, operands, words):
    with pytest.raises(GradlabError, match=words):
        einsum(pattern, *operands)


def test_products_of_numbers_and_of_nothing():
    assert tensor_product(torch.tensor(2.0), torch.tensor([1.0, 3.0])).tolist() == [2, 6]
    assert tensor_product() == 1


def test_a_pure_tensor_is_made_of_vectors():
    with pytest.raises(GradlabError, match=r"factor 2 has shape \(2, 3\)"):
        pure_tensor(torch.ones(2), A)


def test_factors_must_have_as_many_columns():
    with pytest.raises(GradlabError, match=r"shapes \(2, 3\), \(3, 2\)"):
        sum_of_pure_tensors([A, A.T])
    assert sum_of_pure_tensors([torch.ones(2, 0), torch.ones(3, 0)]).equal(torch.zeros(2, 3))


def test_stacks_of_matrices_must_fit():
    with pytest.raises(GradlabError, match="have no product"):
        batched_product(torch.ones(2, 3, 4), torch.ones(3, 4, 2))
    a = torch.arange(12.0).reshape(2, 2, 3)
    assert batched_product(a, a.mT)[1].equal(a[1] @ a[1].T)
