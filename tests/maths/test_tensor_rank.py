"""Ranks of tensors that are known, and their factors."""

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.tensor_rank import tensor_rank, unfold
from gradlab.maths.tensors import sum_of_pure_tensors, tensor_product


def product_of_matrices(n):
    """The tensor of the bilinear map (A, B) ↦ AB, of which the rank is the number of multiplications."""
    tensor = torch.zeros((n * n,) * 3, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                tensor[n * i + j, n * j + k, n * k + i] = 1
    return tensor


def gives_back(rank, x):
    assert all(factor.shape[1] == rank.upper for factor in rank.factors)
    torch.testing.assert_close(sum_of_pure_tensors(rank.factors), x, rtol=0, atol=1e-6 * float(x.norm()))


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_a_sum_of_pure_tensors_has_that_rank(terms):
    generator = torch.Generator().manual_seed(terms)
    factors = [torch.randn(n, terms, generator=generator, dtype=torch.float64) for n in (3, 4, 3)]
    x = sum_of_pure_tensors(factors)
    rank = tensor_rank(x)
    assert (rank.lower, rank.upper, rank.known) == (terms, terms, True)
    gives_back(rank, x)


def test_a_tensor_near_others_of_lower_rank_keeps_its_own():
    """Rank 3, though tensors of rank 2 come as near as one likes: least squares must not be taken in by that."""
    x = torch.zeros(2, 2, 2, dtype=torch.float64)
    x[0, 0, 1] = x[0, 1, 0] = x[1, 0, 0] = 1
    rank = tensor_rank(x)
    assert (rank.lower, rank.upper) == (2, 3)
    gives_back(rank, x)


@pytest.mark.slow
def test_two_by_two_matrices_need_seven_multiplications():
    """Strassen 1969: seven are enough, where the definition has eight."""
    x = product_of_matrices(2)
    rank = tensor_rank(x)
    assert (rank.lower, rank.upper) == (4, 7)
    gives_back(rank, x)


def test_a_product_of_matrices_as_an_order_four_tensor():
    generator = torch.Generator().manual_seed(0)
    s, t = (torch.randn(2, 2, generator=generator, dtype=torch.float64) for _ in range(2))
    rank = tensor_rank(tensor_product(s, t))
    assert (rank.lower, rank.upper) == (4, 4)


def test_small_orders():
    assert tensor_rank(torch.zeros(2, 3, 2)).upper == 0
    assert tensor_rank(torch.tensor(3.0)).upper == 1
    assert tensor_rank(torch.tensor([3.0, 1.0])).upper == 1
    assert tensor_rank(torch.ones(3, 4)).upper == 1
    assert tensor_rank([[1, 0], [0, 1]]).upper == 2
    assert tensor_rank(torch.ones(2, 2, 2)).factors[0].dtype == torch.float32


def test_what_has_no_rank_is_refused():
    for x in (torch.zeros(2, 0), torch.tensor([[float("nan")]])):
        with pytest.raises(GradlabError, match="finite entries and no empty axis"):
            tensor_rank(x)


def test_unfolded_entries_are_where_they_belong():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert unfold(x, (1,))[2].tolist() == x[:, 2].flatten().tolist()
    assert unfold(x, (0, 2)).shape == (8, 3)


def test_roundings_of_a_type_add_no_rank():
    for seed in range(20):
        draw = torch.Generator().manual_seed(seed)
        product = torch.randn(4, 2, generator=draw) @ torch.randn(2, 5, generator=draw)
        found = tensor_rank(product)
        assert (found.lower, found.upper) == (2, 2)
