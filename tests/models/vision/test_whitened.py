"""The whitening layer against scikit-learn, and the network around it."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.decomposition import PCA
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, Targets
from gradlab.models import build_model
from gradlab.models.vision.whitened import Whitening
from gradlab.nn.layout import channels_last
from gradlab.registry import Part
from gradlab.specs import Picture
from gradlab.tasks import Classify
from gradlab.training import driver
from gradlab.training.plan import Plan, plan_schema


def smooth_pictures(count=60, seed=0):
    """Neighbours are alike, as in pictures of the world."""
    noise = torch.randn(count, 3, 13, 13, generator=torch.Generator().manual_seed(seed))
    return F.avg_pool2d(noise, 3, 1) * 4 + 0.3


def patches(pictures, side=2):
    return F.unfold(pictures, side).transpose(1, 2).flatten(0, 1)


def test_whitened_patches_are_uncorrelated_and_of_length_one():
    pictures, layer = smooth_pictures(), Whitening(3, 2, eps=0.0)
    layer.fit(pictures)
    whitened = layer(pictures)[:, :12].transpose(1, 3).reshape(-1, 12)
    assert_close(whitened.T @ whitened / len(whitened), torch.eye(12), rtol=0, atol=1e-4)


def test_the_axes_are_the_principal_components_of_scikit_learn():
    pictures, layer = smooth_pictures(), Whitening(3, 2)
    layer.fit(pictures)
    # Their products about zero, not about the mean: both signs of each patch have the mean zero.
    rows = patches(pictures).double().numpy()
    judge = PCA().fit(np.concatenate([rows, -rows]))
    scales = np.sqrt(judge.explained_variance_ * (2 * len(rows) - 1) / (2 * len(rows)) + layer.eps)
    wanted = judge.components_ / scales[:, None]
    mine = layer.weight[:12].flatten(1).numpy()[::-1]
    signs = np.sign((wanted * mine).sum(1, keepdims=True))
    np.testing.assert_allclose(mine, signs * wanted, rtol=1e-3, atol=1e-4)


def test_every_axis_is_there_in_both_signs_and_the_bias_alone_is_learned():
    layer = Whitening(3, 2)
    layer.fit(smooth_pictures())
    assert_close(layer.weight[:12], -layer.weight[12:])
    assert [name for name, _ in layer.named_parameters()] == ["bias"]


def network(seed=0):
    torch.manual_seed(seed)
    return build_model(Part("whitened-cnn", {"widths": [6, 8]}), Picture(3, 11, 11), 2)


def train(model, pictures, **values):
    plan = Plan(**plan_schema.resolve({"epochs": 2, "batch_size": 20, "keep": "last", **values}, "train"))
    task = Classify(Targets(classes=["a", "b"]))
    with driver.training(model, task, Examples.of(pictures, torch.arange(len(pictures)) % 2), None, plan) as training:
        training.run()


def test_a_training_fits_the_axes_before_its_first_step_and_leaves_them_as_they_are():
    pictures, model, layer = smooth_pictures(), network(), Whitening(3, 2)
    assert not model.whitening.weight.any()
    layer.fit(pictures)
    train(model, pictures)
    assert torch.equal(model.whitening.weight, layer.weight)
    train(model, smooth_pictures(seed=1))  # of a trained network they are kept
    assert torch.equal(model.whitening.weight, layer.weight)


def test_in_half_precision_the_axes_are_as_exact_as_in_single():
    pictures, layer = smooth_pictures(), Whitening(3, 2)
    layer.fit(pictures)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = layer(pictures)
    assert narrow.dtype == torch.bfloat16
    assert torch.equal(narrow, layer(pictures).bfloat16())


def test_convolutions_start_by_handing_on_their_channels():
    stage = network().stages[0].double()
    stage.conv2.weight.data[6:] = 0
    x = torch.randn(2, 6, 5, 5, dtype=torch.float64)
    assert_close(stage.conv2(x), x)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_convolutions_are_laid_out_by_channels_where_that_is_asked_for(device):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4, 2)).to(device)
    channels_last(model)
    assert model[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert model[2].weight.is_contiguous()
