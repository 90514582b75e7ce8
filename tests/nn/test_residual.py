import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import DenseConnection, Highway, Residual, ShapeError


def test_what_cannot_be_added_is_told_in_one_line():
    # E39: a shortcut of 64 channels and a branch of 16.
    block = Residual(nn.Conv2d(3, 16, 1), shortcut=nn.Conv2d(3, 64, 1))
    with pytest.raises(ShapeError) as error:
        block(torch.zeros(1, 3, 8, 8))
    assert str(error.value) == (
        "residual.add: module(x) has shape (1, 16, 8, 8) and what passes it (1, 64, 8, 8); "
        "give a shortcut that brings x to the shape of module(x)."
    )


def test_a_size_of_one_is_not_repeated_in_silence():
    with pytest.raises(ShapeError, match=r"\(5, 1\) and what passes it \(5, 4\)"):
        Residual(nn.Linear(4, 1))(torch.zeros(5, 4))
    with pytest.raises(ShapeError, match=r"residual\.highway: module\(x\) has shape \(5, 1\)"):
        Highway(nn.Linear(4, 1), 4)(torch.zeros(5, 4))


def test_a_convolution_of_one_pixel_is_a_shortcut_to_another_shape():
    block = Residual(nn.Conv2d(3, 8, 3, stride=2, padding=1), shortcut=nn.Conv2d(3, 8, 1, stride=2))
    assert block(torch.randn(2, 3, 9, 9)).shape == (2, 8, 5, 5)


def test_gradients_reach_the_first_of_fifty_layers():
    def first_gradient(wrap):
        torch.manual_seed(0)
        layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(50)]
        nn.Sequential(*(wrap(layer) for layer in layers))(torch.randn(4, 8)).sum().backward()
        return layers[0][0].weight.grad.norm().item()

    assert first_gradient(Residual) > 1e-3
    assert first_gradient(lambda layer: layer) < 1e-10


def test_channels_grow_by_what_each_module_adds():
    chain = nn.Sequential(*(DenseConnection(nn.Conv2d(3 + 2 * i, 2, 3, padding=1)) for i in range(4)))
    x = torch.randn(1, 3, 5, 5)
    y = chain(x)
    assert y.shape == (1, 3 + 4 * 2, 5, 5)
    assert torch.equal(y[:, :3], x)


def test_a_new_highway_is_nearly_the_identity():
    torch.manual_seed(0)
    block = Highway(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), 4, gate_bias=-4.0)
    assert_close(block.gate.bias.detach(), torch.full((4,), -4.0))
    x = torch.randn(10, 4)
    assert (block(x) - x).abs().max() < 0.3
    assert Highway(nn.Identity(), 4).gate.bias.tolist() == [-2.0] * 4


def test_a_highway_has_features():
    with pytest.raises(GradlabError, match=r"residual\.highway: in_features must be int ≥ 1, got 0"):
        Highway(nn.Identity(), 0)
