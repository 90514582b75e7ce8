"""Models of two players: shapes, what spectral normalisation bounds, and what of it a checkpoint has."""

import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.specs import Picture, Table


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("gan", Table(3)),
        ("gan", Picture(1, 8, 8)),
        ("conv-gan", Picture(1, 8, 8)),
        ("conv-gan", Picture(3, 28, 28)),
        ("conv-gan", Picture(1, 13, 6)),
    ],
    ids=str,
)
def test_samples_have_the_shape_of_the_examples_and_each_has_a_score(name, inputs):
    model = build_model(Part(name), inputs, 0)
    drawn = model.generator(model.noise(5))
    assert drawn.shape == (5, *inputs.shape)
    assert model.discriminator(drawn).shape == (5, 1)


@pytest.mark.parametrize("name", ["gan", "conv-gan"])
def test_a_sample_does_not_depend_on_the_others(name):
    """As it would with statistics of a batch."""
    model = build_model(Part(name), Picture(1, 8, 8), 0)
    z = model.noise(6)
    assert_close(model.generator(z)[:2], model.generator(z[:2]))


def test_spectral_normalisation_bounds_how_steep_the_discriminator_is():
    torch.manual_seed(0)
    slopes = {}
    for bounded in (False, True):
        model = build_model(Part("gan", {"spectral_norm": bounded}), Table(4), 0)
        for parameter in model.discriminator.parameters():
            parameter.data *= 5
        for _ in range(50):
            model.discriminator(torch.zeros(1, 4))  # a step of the power iteration each
        x = torch.randn(200, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(model.discriminator(x).sum(), x)
        slopes[bounded] = slope.norm(dim=1).max().item()
        if bounded:
            norms = [torch.linalg.matrix_norm(layer.weight, 2).item() for layer in model.discriminator[::2]]
            assert norms == pytest.approx([1, 1, 1], abs=1e-2)
    assert slopes[True] <= 1.02 < slopes[False]


def test_what_the_power_iteration_has_come_to_is_in_the_state():
    model = build_model(Part("gan", {"spectral_norm": True}), Table(4), 0)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    after = [model.discriminator(torch.ones(1, 4)).item() for _ in range(3)]
    model.load_state_dict(state)
    assert [model.discriminator(torch.ones(1, 4)).item() for _ in range(3)] == after
    assert len(set(after)) > 1
    assert sum("_u" in name for name in state) == 3


def test_a_picture_that_is_too_small_is_refused():
    with pytest.raises(GradlabError, match=r"conv-gan needs images of at least 4×4 pixels.*Use model=gan\."):
        build_model(Part("conv-gan"), Picture(1, 3, 8), 0)
