"""How errors are measured."""

from math import inf, nan

import pytest
import torch

from gradlab.scratch import functions
from gradlab.verification.comparing import difference, excess, twin_difference


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_the_error_is_relative_to_the_largest_entry():
    assert difference(tensor(100.0, 1.5), tensor(100.0, 1.0)) == pytest.approx(0.005)


def test_what_is_nearly_zero_everywhere_is_compared_with_a_thousandth():
    assert difference(tensor(1e-12), tensor(0.0)) == pytest.approx(1e-9)


def test_equal_infinities_are_equal_and_others_are_not():
    assert difference(tensor(inf, 1.0), tensor(inf, 1.0)) == 0
    assert difference(tensor(inf, 1.0), tensor(2.0, 1.0)) == inf
    assert difference(tensor(inf), tensor(-inf)) == inf


def test_nan_is_never_equal_and_never_lost():
    assert difference(tensor(nan, 1.0), tensor(nan, 1.0)) == inf
    assert difference((tensor(1.0), tensor(nan)), (tensor(1.0), tensor(1.0))) == inf
    assert excess(tensor(nan, 0.0), 1.0) == inf
    x = tensor(1.0, 2.0)
    root = (x - x.detach()).sqrt()  # 0, with a slope that is no number
    assert difference(root * 0, x * 0, [x]) == inf
    assert twin_difference(root * 0, lambda x: x * 0, x) == inf


def test_the_worst_of_several_tensors_counts():
    assert difference((tensor(1.0), (tensor(2.0),)), (tensor(1.0), (tensor(1.0),))) == 1


def test_another_shape_is_an_error():
    with pytest.raises(AssertionError, match=r"shape \(1, 1\) instead of \(1,\)"):
        difference(tensor([1.0]), tensor(1.0))


def test_an_inequality_is_broken_by_its_excess():
    assert excess(tensor(1.0, 5.0), 3.0) == 2
    assert excess(tensor(1.0, 2.0), 3.0) == 0


def test_a_wrong_gradient_is_seen_though_the_value_is_right():
    x = tensor(1.0, 2.0)
    assert difference(x * x, x * x.detach(), [x]) > 0.1
    assert twin_difference(x * x, lambda x: x * x.value, x) > 0.1
    assert twin_difference(x * x, lambda x: x * x, x) == 0


def test_a_gradient_that_is_missing_on_one_side_is_zero():
    x = tensor(1.0, -2.0)
    assert twin_difference(torch.ones(2, dtype=torch.float64), functions.step, x) > 0.1
    assert twin_difference((x >= 0).double(), functions.step, x) == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_gradient_that_is_lost_is_found_also_where_sums_overflow_the_type(dtype):
    x = torch.full((300, 300), 0.1, dtype=dtype, requires_grad=True)
    assert twin_difference(x * 30, lambda x: x * 30, x) < 1e-2  # of which the sum is more than 65,504
    assert twin_difference(x.detach() * 30 + x * 0, lambda x: x * 30, x) > 0.2


def test_one_tensor_may_be_several_arguments():
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert twin_difference(x * x, lambda a, b: a * b, x, x) < 1e-9
