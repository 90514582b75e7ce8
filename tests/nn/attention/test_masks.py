import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError
from gradlab.nn.attention import causal_mask, length_mask, masked_softmax


def test_the_last_query_stands_at_the_last_key():
    assert causal_mask(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert causal_mask(1, 3).all()
    assert causal_mask(3, 2).int().tolist() == [[0, 0], [1, 0], [1, 1]]
    assert causal_mask(2, 0).shape == (2, 0)


def test_lengths_of_sequences_and_of_queries():
    lengths = torch.tensor([0, 2])
    assert length_mask(lengths, 3).int().tolist() == [[0, 0, 0], [1, 1, 0]]
    assert length_mask(lengths[:, None], 3).shape == (2, 1, 3)
    assert length_mask(torch.tensor([[1, 2], [3, 0]]), 3).shape == (2, 2, 3)


def test_masks_are_combined():
    both = causal_mask(3) & length_mask(torch.tensor([[1], [2]]), 3)
    assert both.int().tolist() == [[[1, 0, 0], [1, 0, 0], [1, 0, 0]], [[1, 0, 0], [1, 1, 0], [1, 1, 0]]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_a_row_without_visible_entries_is_zero_with_finite_gradients(dtype):
    scores = torch.tensor([[3e4, -3e4, 0.0]] * 3, dtype=dtype, requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, True, True], [False, False, False]])
    weights = masked_softmax(scores, mask)
    assert weights.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    (gradient,) = torch.autograd.grad((weights * torch.arange(9).reshape(3, 3)).sum(), scores)
    assert gradient.isfinite().all()
    assert not gradient[2].any()
    assert weights.dtype == dtype


def test_a_million_below_zero_is_no_mask():
    """What many write instead: weights, not scores, become -10⁶; or a score below it loses to what is hidden."""
    low = torch.tensor([[-2e6, -2e6, 0.0]])
    mask = torch.tensor([[True, True, False]])
    assert torch.softmax(low.masked_fill(~mask, -1e6), -1).tolist() == [[0.0, 0.0, 1.0]]
    assert masked_softmax(low, mask).tolist() == [[0.5, 0.5, 0.0]]


def test_no_keys_and_no_queries():
    assert masked_softmax(torch.zeros(2, 0), torch.zeros(2, 0, dtype=torch.bool)).shape == (2, 0)
    assert masked_softmax(torch.zeros(0, 2), torch.zeros(0, 2, dtype=torch.bool)).shape == (0, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8], ids=str)
def test_a_mask_that_is_not_boolean_is_told(dtype):
    with pytest.raises(GradlabError, match="A mask must be boolean, true where a query may look; got torch"):
        masked_softmax(torch.zeros(2, 3), torch.ones(2, 3, dtype=dtype))


@pytest.mark.parametrize("shape", [(3, 2), (2, 2, 3), (2, 1, 2, 3)])
def test_a_mask_that_does_not_fit_is_told(shape):
    with pytest.raises(ShapeError, match=r"A mask of shape \(.*\) cannot be spread over scores of shape \(2, 3\)"):
        masked_softmax(torch.zeros(2, 3), torch.ones(shape, dtype=torch.bool))
