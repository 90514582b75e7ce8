import pytest
import torch.nn.functional as F
from torch import zeros

from gradlab.errors import GradlabError
from gradlab.nn import Conv2d, MaxPool1d, MaxPool2d, ShapeError, output_size
from gradlab.nn.sizes import at_least


def test_the_number_of_places_is_torchs_for_all_small_sizes():
    for n in range(1, 12):
        for k in range(1, 4):
            for padding in range(3):
                for s in range(1, 4):
                    if n + 2 * padding >= k:
                        places = F.conv1d(zeros(1, 1, n), zeros(1, 1, k), stride=s, padding=padding).shape[-1]
                        total = 2 * padding  # in the books that write p for both sides together
                        assert output_size(n, k, s, padding) == places == (n - k + total + s) // s


def test_dilation_widens_the_reach_of_a_kernel():
    assert output_size(9, kernel_size=3, dilation=2) == output_size(9, kernel_size=5)


def test_a_kernel_that_does_not_fit_is_told_in_one_line():
    with pytest.raises(
        ShapeError, match=r"^A kernel that reaches over 5 entries does not fit into 2 with padding 1\.$"
    ):
        output_size(2, kernel_size=3, padding=1, dilation=2)


@pytest.mark.parametrize("size", [0, -1, 1.5, "3", None])
def test_sizes_are_whole_numbers(size):
    with pytest.raises(GradlabError, match=r"^dense.linear: in_features must be int ≥ 1, got "):
        at_least(1, "dense.linear", in_features=size)


@pytest.mark.parametrize("size", [0, (1, 0), (1, 2, 3), "same", 1.0])
def test_a_setting_of_pictures_is_a_number_or_a_pair(size):
    words = r"^conv.conv2d: stride must be int ≥ 1 \| tuple of int ≥ 1, int ≥ 1, got "
    with pytest.raises(GradlabError, match=words):
        Conv2d(1, 1, 1, stride=size)


def test_one_number_stands_for_all_axes():
    assert MaxPool2d(3, (2, 1)).kernel_size == (3, 3)
    assert MaxPool2d(3, (2, 1)).stride == (2, 1)
    assert MaxPool1d(3).stride == (3,)
