import numpy as np
import torch
from torch.testing import assert_close

from gradlab.nn import PolynomialFeatures


def test_one_input_gives_the_columns_of_the_vandermonde_matrix():
    x = torch.linspace(-2, 2, 9, dtype=torch.float64)
    want = np.vander(x.numpy(), 5, increasing=True)[:, 1:]
    assert_close(PolynomialFeatures(4)(x[:, None]), torch.from_numpy(want.copy()))


def test_several_inputs_have_their_powers_side_by_side():
    x = torch.randn(6, 3)
    assert_close(PolynomialFeatures(2)(x), torch.cat([x, x * x], dim=1))


def test_degree_one_is_the_identity():
    x = torch.randn(6, 3)
    assert torch.equal(PolynomialFeatures(1)(x), x)
