"""The sum over neighbours as a product with a sparse matrix, beside gathering and adding."""

import torch

from gradlab.nn.graphs import neighbour_sum, reduce_segments


def test_the_sparse_product_is_the_sum_of_what_was_gathered() -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(300, (2, 9000), generator=generator)  # in no order, with repetitions and self-loops
    weight, upstream = torch.rand(9000, generator=generator), torch.randn(300, 5, generator=generator)
    x, other = (torch.randn(300, 5, generator=torch.Generator().manual_seed(1)).requires_grad_() for _ in range(2))
    sparse = neighbour_sum(x, edges, weight)
    gathered = reduce_segments(weight[:, None] * other[edges[0]], edges[1], 300, "sum")
    torch.testing.assert_close(sparse, gathered)
    sparse.backward(upstream), gathered.backward(upstream)
    torch.testing.assert_close(x.grad, other.grad)


def test_edges_that_are_changed_in_place_are_seen() -> None:
    edges, x = torch.zeros(2, 5000, dtype=torch.int64), torch.eye(2)
    assert neighbour_sum(x, edges, torch.ones(5000))[0, 0] == 5000
    edges[0] = 1
    assert neighbour_sum(x, edges, torch.ones(5000))[0].tolist() == [0, 5000]
