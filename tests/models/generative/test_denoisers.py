"""Networks of noisy data, their time and their class."""

import pytest
import torch
import torch.nn.functional as F

from gradlab import specs
from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.generative.time import sinusoids
from gradlab.models.generative.unet import _enlarged
from gradlab.nn import Conv2d
from gradlab.nn.convolution import pointwise, without_bias
from gradlab.registry import Part

SMALL = {"unet": {"width": 8, "multiples": [1, 2, 2]}, "score-mlp": {"dim": 16, "layers": 2}}
INPUTS = {"unet": specs.Picture(2, 9, 6), "score-mlp": specs.Table(3)}


def built(name, classes=0, inputs=None, **values):
    torch.manual_seed(0)
    model = build_model(Part(name, SMALL[name] | values), inputs or INPUTS[name], classes).eval()
    for parameter in model.parameters():  # the last map starts at 0, and would hide all others
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.mark.parametrize("name", SMALL)
def test_what_is_said_depends_on_data_time_and_class(name):
    model = built(name, classes=4)
    x, time, labels = torch.randn(3, *model.shape), torch.rand(3), torch.tensor([0, 1, 2])
    said = model(x, time, labels)
    assert said.shape == x.shape
    for other in (model(x + 1, time, labels), model(x, time / 2, labels), model(x, time, labels + 1)):
        assert ((said - other).flatten(1).abs().amax(1) > 1e-3).all()


@pytest.mark.parametrize("name", SMALL)
def test_no_class_is_a_class_of_its_own(name):
    model = built(name, classes=4)
    x, time = torch.randn(3, *model.shape), torch.rand(3)
    torch.testing.assert_close(model(x, time), model(x, time, torch.full((3,), 4)))
    assert not torch.allclose(model(x, time), model(x, time, torch.full((3,), 3)))


@pytest.mark.parametrize("name", SMALL)
def test_examples_of_a_batch_know_nothing_of_each_other(name):
    model = built(name)
    x, time = torch.randn(4, *model.shape), torch.rand(4)
    torch.testing.assert_close(model(x, time)[1:2], model(x[1:2], time[1:2]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_a_new_network_says_nothing(name):
    model = build_model(Part(name, SMALL[name]), INPUTS[name], 0)
    said = model(torch.randn(50, *model.shape), torch.rand(50))
    assert said.std(0).max() < 1e-6


@pytest.mark.parametrize("size", [(8, 8), (28, 28), (7, 5), (1, 3)])
def test_pictures_of_any_size_come_out_as_they_went_in(size):
    model = built("unet", inputs=specs.Picture(1, *size))
    assert model(torch.randn(2, 1, *size), torch.rand(2)).shape == (2, 1, *size)


def test_attention_looks_farther_than_the_maps_without_it():
    far = {}
    for attention in (True, False):
        model = built("unet", inputs=specs.Picture(1, 40, 40), multiples=[1, 1], attention=attention)
        x = torch.randn(1, 1, 40, 40, requires_grad=True)
        # Group normalisation looks at all of a map, too, but only at its mean and spread.
        model(x, torch.rand(1))[0, 0, 0, 0].backward()
        far[attention] = x.grad[0, 0, -1, -1].abs().item()
    assert far[True] != far[False]


def test_a_small_picture_can_be_given_to_a_perceptron():
    model = built("score-mlp", inputs=specs.Picture(1, 4, 4))
    assert model(torch.randn(2, 1, 4, 4), torch.rand(2)).shape == (2, 1, 4, 4)


def test_an_odd_width_is_refused():
    with pytest.raises(GradlabError, match=r"model\.width must be even for unet, got 7"):
        built("unet", width=7)


def test_times_are_told_apart_in_half_precision_too():
    waves = sinusoids(torch.tensor([0.5, 0.5005]).bfloat16().float(), 32)
    assert waves.dtype == torch.float32
    close, far = (sinusoids(torch.tensor([0.5, 0.5 + d]), 32) for d in (0.001, 0.3))
    assert 0.1 < (close[0] - close[1]).norm() < (far[0] - far[1]).norm()


def test_weights_of_blocks_with_maps_of_their_own_are_read():
    model = built("unet", classes=4)
    older = model.state_dict()
    weights, biases = (older.pop(f"offsets.{part}").split(model.sizes) for part in ("weight", "bias"))
    names = [name for name, part in model.named_modules() if type(part).__name__ == "ResidualBlock"]
    for name, weight, bias in zip(names, weights, biases, strict=True):
        older |= {f"{name}.told.weight": weight, f"{name}.told.bias": bias - 1, f"{name}.conv1.bias": bias * 0 + 1}
    other = built("unet", classes=4)
    torch.nn.init.zeros_(other.offsets.weight)
    other.load_state_dict(older)
    call = torch.randn(3, *model.shape), torch.rand(3), torch.tensor([0, 1, 2])
    torch.testing.assert_close(other(*call), model(*call), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [(6, 8), (5, 8), (6, 7)])
def test_places_are_repeated_as_torch_does(size):
    x = torch.randn(2, 3, 3, 4)
    for each in (x, x.contiguous(memory_format=torch.channels_last)):
        assert torch.equal(_enlarged(each, torch.Size(size)), F.interpolate(x, size))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_pointwise_map_is_the_convolution_also_when_somebody_listens(layout):
    conv, x, extra = Conv2d(3, 5, 1), torch.randn(2, 3, 4, 6).contiguous(memory_format=layout), torch.randn(5)
    right, heard = F.conv2d(x, conv.weight, conv.bias + extra), []
    torch.testing.assert_close(pointwise(conv, x, extra), right)
    y, bias = without_bias(conv, x)
    torch.testing.assert_close(y + bias[:, None, None], conv(x))
    conv.register_forward_hook(lambda *_: heard.append(1))
    torch.testing.assert_close(pointwise(conv, x, extra), right)
    assert without_bias(conv, x)[1] == 0
    assert len(heard) == 2
