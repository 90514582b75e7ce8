"""Angles, projections and volumes where they are hard to compute, or not there."""

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.geometry import angle, project, signed_distance, volume


def test_a_small_angle_keeps_its_digits():
    x, y = torch.tensor([1.0, 0.0]).double(), torch.tensor([1.0, 1e-9]).double()
    assert angle(x, y).item() == pytest.approx(1e-9, rel=1e-9)
    assert (x @ y / x.norm() / y.norm()).clamp(max=1).arccos().item() == 0.0, "the cosine has lost it"
    assert angle(x, -x).item() == pytest.approx(np.pi)


def test_columns_that_depend_on_each_other_span_a_line():
    onto = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    assert project(np.array([3.0, 5.0, 7.0]), onto) == pytest.approx([4, 4, 0])
    assert volume(onto) == pytest.approx(0, abs=1e-12)
    assert volume(np.ones((2, 3))) == 0, "of three vectors in a plane"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: angle(torch.zeros(2), torch.ones(2)), "length 0 has no direction"),
        (lambda: project(torch.ones(2), torch.ones(3, 1)), "vectors of 2 entries need a matrix with as many rows"),
        (lambda: signed_distance(torch.ones(2), torch.zeros(2)), "belongs to no hyperplane"),
        (lambda: signed_distance([1.0, 2.0], [1.0, 2.0, 3.0]), "as many entries as the normal"),
        (lambda: angle([1.0, 0.0], [1.0]), "both vectors have as many entries"),
    ],
)
def test_what_has_no_direction_is_refused(wrong, says):
    with pytest.raises(GradlabError, match=says):
        wrong()
