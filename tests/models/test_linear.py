import numpy as np
import torch
from torch.testing import assert_close

from gradlab.models import linear, softmax
from gradlab.specs import Picture, Table


def test_linear_is_one_affine_map():
    model, x = linear(Table(3), 2), torch.randn(5, 3)
    weight, bias = model.parameters()
    assert_close(model(x), x @ weight.T + bias)


def test_images_are_flattened_first():
    assert linear(Picture(2, 4, 4), 3)(torch.randn(5, 2, 4, 4)).shape == (5, 3)


def test_a_polynomial_of_degree_p_is_a_linear_map_of_the_powers():
    model, x = linear(Table(1), 1, degree=3).double(), torch.linspace(-1, 1, 7, dtype=torch.float64)
    weight, bias = (p.detach().numpy().ravel() for p in model.parameters())
    want = np.polyval([*weight[::-1], bias[0]], x.numpy())
    assert_close(model(x[:, None])[:, 0].detach(), torch.from_numpy(want))


def test_softmax_regression_gives_logits_not_probabilities():
    model, x = softmax(Table(4), 3), torch.randn(8, 4)
    weight, bias = model.parameters()
    assert_close(model(x), x @ weight.T + bias)
