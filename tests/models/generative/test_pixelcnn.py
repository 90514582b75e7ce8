"""PixelCNN: a distribution that sums to one, of which pixels are drawn as a whole pass would draw them."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.generative.pixel_cache import PixelCache
from gradlab.registry import Part
from gradlab.specs import Picture


def built(shape=(1, 4, 5), levels=3, **knobs):
    torch.manual_seed(0)
    part = Part("pixelcnn", {"layers": 3, "channels": 6, "first_kernel": 5, **knobs})
    return build_model(part, Picture(*shape), levels).double().eval()


def whole_passes(model, count):
    """The textbook: a whole pass for each pixel."""
    x = torch.zeros(count, *model.inputs.shape, dtype=torch.float64)
    with torch.no_grad():
        for i, j in product(range(model.inputs.height), range(model.inputs.width)):
            logits = model(x)[..., i, j].movedim(1, 2)
            level = torch.multinomial(logits.flatten(0, 1).softmax(-1), 1).reshape(count, -1)
            x[:, :, i, j] = level / (model.levels - 1)
    return x


def test_the_probabilities_of_all_pictures_sum_to_one():
    model = built((1, 2, 3), levels=3)
    every = torch.tensor(list(product(range(3), repeat=6))).reshape(-1, 1, 2, 3)
    log_p = model(every.double() / 2).log_softmax(1).gather(1, every[:, None]).sum((1, 2, 3, 4))
    assert len(every) == 729
    assert log_p.exp().sum().item() == pytest.approx(1, abs=1e-12)
    assert log_p.std() > 0.01  # and they are not all alike


@pytest.mark.parametrize("knobs", [{}, {"kernel": 5}, {"kernel": 1}, {"layers": 0}, {"channels": 3, "first_kernel": 3}])
@pytest.mark.parametrize("channels", [1, 3])
def test_it_draws_what_whole_passes_draw(channels, knobs):
    model = built((channels, 4, 5), **knobs)
    for parameter in model.parameters():
        parameter.data *= 2  # pixels depend on each other more than those of a fresh model
    torch.manual_seed(1)
    wanted = whole_passes(model, 7)
    torch.manual_seed(1)
    assert_close(model.sample(7), wanted)
    assert set(wanted.unique().tolist()) == {0.0, 0.5, 1.0}


def test_logits_of_the_cache_are_those_of_a_pass():
    model, x = built(), torch.randint(3, (2, 1, 4, 5)) / 2
    cache, wanted = PixelCache(model, 2), model(x.double())
    for i in range(4):
        cache.begin(i)
        for j in range(5):
            got = model.head(model.mix(cache.maps(i, j)))[..., 0, 0]
            assert_close(got, wanted[:, :, 0, i, j])
            cache.write(i, j, x[..., i, j].double())
    assert_close(cache.pictures, x.double())


def test_samples_are_drawn_as_often_as_they_are_likely():
    model = built((1, 2, 2), levels=2).float()
    every = torch.tensor(list(product(range(2), repeat=4))).reshape(-1, 1, 2, 2)
    log_p = model(every.float()).log_softmax(1).gather(1, every[:, None]).sum((1, 2, 3, 4))
    torch.manual_seed(0)
    drawn = model.sample(20_000).long().flatten(1) @ torch.tensor([8, 4, 2, 1])
    assert_close(torch.bincount(drawn, minlength=16) / 20_000, log_p.exp().detach(), rtol=0, atol=0.015)


def test_a_pixel_depends_on_those_before_it_alone():
    model, x = built(), torch.rand(1, 1, 4, 5, dtype=torch.float64, requires_grad=True)
    logits = model(x)[0, :, 0].flatten(1)
    for place in range(20):
        (slope,) = torch.autograd.grad(logits[:, place].square().sum(), x, retain_graph=True)
        assert (slope.flatten() != 0).tolist() == [other < place for other in range(20)]


def test_an_even_kernel_is_refused():
    with pytest.raises(GradlabError, match=r"conv\.masked2d: kernel_size must be odd, and 3 or more if strict, got 4"):
        built(kernel=4)


def test_it_works_in_half_precision_on_the_cpu():
    model, x = built().float(), torch.rand(2, 1, 4, 5)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(model(x).float(), model.float()(x).float(), rtol=0.05, atol=0.05)
