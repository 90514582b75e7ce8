"""The judge itself: it must see a wrong rule."""

import numpy as np
import pytest
from scratch_helpers import normal

from gradlab.scratch import check, numerical_gradient
from gradlab.scratch.tensor import apply


def test_central_differences_of_a_known_function():
    x, y = normal(2, 3), normal(3, seed=1)
    by_x, by_y = numerical_gradient(lambda x, y: (x**2 * y).sum(), [x, y])
    assert np.allclose(by_x, 2 * x * y, atol=1e-8)
    assert np.allclose(by_y, (x**2).sum(0), atol=1e-8)


def test_the_inputs_are_left_as_they_are():
    x = normal(2, 3)
    before = x.copy()
    numerical_gradient(lambda x: x.sum(), [x])
    assert np.array_equal(x, before)


@pytest.mark.parametrize("factor", [1.001, -1.0, 0.0])
def test_a_wrong_rule_is_found(factor):
    def wrong(x):
        return x**2, (lambda dz: factor * 2 * x * dz,)

    assert check(lambda x: apply(wrong, x), normal(2, 3)) > 0.9e-3


def test_one_wrong_entry_is_found():
    def wrong(x):
        return x**2, (lambda dz: 2 * x * np.roll(dz, 1),)

    assert check(lambda x: apply(wrong, x), normal(5)) > 1e-2


def test_a_rule_left_out_is_found():
    def wrong(x, y):
        return x * y, (lambda dz: y * dz, lambda dz: 0 * dz)

    assert check(lambda x, y: apply(wrong, x, y), normal(5), normal(5, seed=1)) > 0.9
