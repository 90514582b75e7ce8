import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.models import EncoderClassifier, build_model
from gradlab.registry import Part
from gradlab.specs import Picture, Table

PICTURE = Picture(3, 9, 7)  # neither side can be halved


@pytest.mark.parametrize(
    ("name", "inputs", "values"),
    [
        ("autoencoder", Table(5), {}),
        ("autoencoder", PICTURE, {"hidden": [6], "activation": "tanh"}),
        ("autoencoder", PICTURE, {"hidden": []}),
        ("conv-autoencoder", PICTURE, {}),
        ("conv-autoencoder", Picture(1, 8, 8), {"widths": [4, 5, 6]}),
        ("conv-autoencoder", Picture(1, 28, 28), {"widths": [4]}),
        ("pca", PICTURE, {}),
    ],
)
def test_codes_have_so_many_numbers_and_examples_come_back_in_their_shape(name, inputs, values):
    model = build_model(Part(name, {"dims": 4, **values}), inputs, 0)
    x = torch.randn(2, *inputs.shape)
    code = model.encode(x)
    assert code.shape == (2, 4)
    assert model.decode(code).shape == x.shape
    assert torch.equal(model(x), model.decode(code))
    assert model.dims == 4


def test_a_linear_one_has_no_bend():
    model = build_model(Part("autoencoder", {"dims": 2, "hidden": []}), Table(5), 0)
    x, y, zero = torch.randn(1, 5), torch.randn(1, 5), torch.zeros(1, 5)
    torch.testing.assert_close(model(x + y) - model(zero), model(x) - model(zero) + model(y) - model(zero))


def test_every_pixel_of_a_picture_that_comes_back_can_be_moved_by_the_code():
    model = build_model(Part("conv-autoencoder", {"dims": 3, "widths": [4, 4]}), PICTURE, 0)
    code = torch.randn(1, 3, requires_grad=True)
    for pixel in model.decode(code).flatten()[::7]:
        (slope,) = torch.autograd.grad(pixel, code, retain_graph=True)
        assert slope.abs().sum() > 0


def test_pictures_that_are_too_small_are_refused():
    with pytest.raises(GradlabError, match=r"at least 8×8 pixels.*Give fewer model\.widths"):
        build_model(Part("conv-autoencoder", {"widths": [4, 4, 4]}), Picture(1, 4, 9), 0)


@pytest.mark.parametrize("of", [Part("autoencoder", {"dims": 6}), Part("conv-autoencoder", {"dims": 6, "widths": [4]})])
def test_a_classifier_on_an_encoder_has_its_weights_and_a_head(of):
    model = build_model(Part("encoder-classifier", {"of": of}), PICTURE, 10)
    assert isinstance(model, EncoderClassifier)
    assert model.head.weight.shape == (10, 6)
    assert model.encoder.state_dict().keys() == build_model(of, PICTURE, 0).encoder.state_dict().keys()
    assert model(torch.randn(2, *PICTURE.shape)).shape == (2, 10)


@pytest.mark.parametrize("of", ["mlp", "pca"])
def test_a_model_without_an_encoder_is_refused(of):
    with pytest.raises(GradlabError, match=rf"model\.of={of} has no encoder"):
        build_model(Part("encoder-classifier", {"of": of}), Table(20), 3)


def test_a_model_that_must_be_told_its_outputs_is_refused_where_a_task_has_none():
    with pytest.raises(GradlabError, match="model=mlp gives outputs to compare with a target, and this task asks for"):
        build_model(Part("mlp"), Table(4), 0)
    with pytest.raises(GradlabError, match="1 to 4 axes"):  # its own reason
        build_model(Part("pca", {"dims": 9}), Table(4), 0)
