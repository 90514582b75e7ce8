"""Norms of vectors."""

import math

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.norms import norm


def test_known_lengths():
    v = [-1.0, 2.0, -3.0]
    assert norm(v, 1) == 6
    assert norm(v, 3).item() == pytest.approx(36 ** (1 / 3))
    assert norm(v, math.inf) == 3
    assert norm(np.array(v)) == pytest.approx(np.linalg.norm(v))


@pytest.mark.parametrize("order", [0.5, 0, -1, math.nan])
def test_orders_below_one_are_refused(order):
    with pytest.raises(GradlabError, match="break the triangle inequality"):
        norm([1.0, 1.0], order)


def test_a_number_is_no_vector():
    with pytest.raises(GradlabError, match="a single number has none"):
        norm(torch.tensor(3.0))
