import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.models import lenet
from gradlab.models.cost import parameter_count
from gradlab.specs import Picture


def test_on_28_by_28_pixels_it_has_the_61706_parameters_of_the_textbook():
    model = lenet(Picture(1, 28, 28), 10)
    assert parameter_count(model) == 61_706
    assert model(torch.zeros(2, 1, 28, 28)).shape == (2, 10)


@pytest.mark.parametrize("shape", [(1, 12, 12), (3, 32, 32), (2, 13, 29), (1, 15, 14)])
def test_it_fits_images_of_any_size_and_channels(shape):
    assert lenet(Picture(*shape), 7)(torch.zeros(2, *shape)).shape == (2, 7)


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 11)])
def test_what_is_too_small_is_refused_with_its_shape(shape):
    with pytest.raises(GradlabError) as caught:
        lenet(Picture(*shape), 10)
    assert f"at least 12×12 pixels, got inputs of shape {shape}" in str(caught.value)
