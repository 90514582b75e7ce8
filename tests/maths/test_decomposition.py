"""Eigenvectors and principal axes: signs, and what is refused."""

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.decomposition import principal_axes, spectrum


def test_arrays_and_signs():
    values, vectors = spectrum(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    assert values.tolist() == pytest.approx([1, -1])
    assert all(column[np.abs(column).argmax()] > 0 for column in vectors.T)


def test_small_variances_are_not_lost():
    """The square of 1e-9 beside 1 is below the rounding of a covariance."""
    t = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64)
    points = torch.cat([t, 1e-9 * (t.square() - 2 / 3)], 1)
    assert principal_axes(points)[0][1].item() == pytest.approx(1e-18 / 3, rel=1e-6)


def test_what_has_no_axes_is_refused():
    with pytest.raises(GradlabError, match=r"square matrices, and this one has shape \(2, 3\)"):
        spectrum(torch.ones(2, 3))
    with pytest.raises(GradlabError, match="symmetric"):
        spectrum(torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(GradlabError, match="two rows or more"):
        principal_axes(torch.ones(1, 3))
