import math

import pytest
import torch
from jaxtyping import TypeCheckError
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import Conv2d, Filter, GaussianBlur, MeanBlur, ShapeError, Sharpen, Sobel

ALL = [MeanBlur(), GaussianBlur(), Sharpen(), Sobel("x"), Sobel("y")]


def test_the_kernels_sum_to_one_and_those_of_edges_to_zero():
    assert [int(f.kernel.sum()) / f.divisor for f in ALL] == [1, 1, 1, 0, 0]
    assert GaussianBlur().divisor == 273


def test_a_tensor_is_taken_as_a_kernel_and_copied():
    kernel = torch.tensor([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    filter_ = Filter(kernel)
    kernel.zero_()
    assert filter_.kernel.tolist() == [[0, 1, 0], [1, -4, 1], [0, 1, 0]]


def test_a_dot_becomes_the_kernel_itself():
    dot = torch.zeros(1, 1, 9, 9, dtype=torch.float64)
    dot[..., 4, 4] = 1
    for f in ALL:
        reach = len(f.kernel) // 2
        answer = f(dot)[0, 0, 4 - reach : 5 + reach, 4 - reach : 5 + reach]
        assert_close(answer, f.kernel.flip(0, 1) / f.divisor, check_dtype=False)  # flipped, as in every correlation


def test_blurring_keeps_the_brightness_of_a_constant_picture_and_nearly_that_of_others():
    constant, noise = torch.full((1, 3, 20, 20), 0.7), torch.rand(1, 3, 60, 60)
    for blur in (MeanBlur(), GaussianBlur()):
        assert_close(blur(constant), constant)
        assert blur(noise).mean().item() == pytest.approx(noise.mean().item(), abs=0.01)
        assert blur(noise).std() < 0.5 * noise.std()


def test_the_gaussian_kernel_is_the_normal_density_summed_over_pixels():
    below = [0.5 * (1 + math.erf((edge - 2.5) / math.sqrt(2))) for edge in range(6)]
    share = torch.tensor(below).diff()
    share = share / share.sum()
    assert (GaussianBlur().kernel - 273 * torch.outer(share, share)).abs().max() < 0.6  # whole numbers


def test_the_slope_along_x_sees_vertical_edges_and_the_one_along_y_horizontal_ones():
    bright_right = (torch.arange(6) >= 3).float().expand(1, 1, 6, 6)
    assert Sobel("x")(bright_right)[0, 0, 2].tolist() == [0, 0, 4, 4, 0, 0]
    assert not Sobel("y")(bright_right).any()
    bright_below = bright_right.mT
    assert Sobel("y")(bright_below)[0, 0, :, 2].tolist() == [0, 0, 4, 4, 0, 0]
    assert not Sobel("x")(bright_below).any()
    assert Sobel("x")(1 - bright_right).min() == -4


@pytest.mark.parametrize("f", ALL, ids=str)
def test_there_is_nothing_to_learn_and_nothing_to_save(f):
    assert not list(f.parameters())
    assert not f.state_dict()


@pytest.mark.parametrize("f", ALL, ids=str)
def test_a_model_that_was_in_bfloat16_once_is_exact_again(f):
    x = torch.randn(2, 3, 6, 7, dtype=torch.float64)
    before = f(x)
    f.to(torch.bfloat16)
    assert torch.equal(f.to(torch.float64)(x), before)


@pytest.mark.parametrize("f", ALL, ids=str)
def test_half_precision_does_not_overflow_on_bytes(f):
    white = torch.full((1, 1, 6, 6), 255.0, dtype=torch.float16)
    assert f(white).isfinite().all()


@pytest.mark.parametrize("f", ALL, ids=str)
def test_batches_of_none_and_inputs_that_are_not_contiguous(f):
    assert f(torch.zeros(0, 3, 5, 5)).shape == (0, 3, 5, 5)
    x = torch.randn(7, 6, 3, 2).permute(3, 2, 1, 0)
    assert_close(f(x), f(x.contiguous()))


def test_the_smallest_pictures():
    assert MeanBlur()(torch.ones(1, 1, 3, 3)).shape == (1, 1, 3, 3)
    assert Sharpen()(torch.ones(1, 1, 2, 2)).shape == (1, 1, 2, 2)
    with pytest.raises(ShapeError, match=r"^MeanBlur mirrors the border, which takes 3×3 pixels or more, got 2×9\.$"):
        MeanBlur()(torch.ones(1, 1, 2, 9))


def test_there_are_two_directions():
    with pytest.raises((GradlabError, TypeCheckError), match="direction"):
        Sobel("horizontal")
    assert repr(Sobel("y")) == "Sobel(direction='y')"


def test_a_kernel_of_ones_own_is_the_same_for_all_channels_and_their_sum_is_that_of_one_shared_kernel():
    x, kernel = torch.randn(2, 3, 6, 7), torch.randn(3, 3)
    filtered = Filter(kernel.tolist())(x)
    shared = Conv2d(1, 1, 3, bias=False)
    shared.load_state_dict({"weight": kernel[None, None]})
    assert sum(p.numel() for p in shared.parameters()) == 9
    assert_close(filtered.sum(1, keepdim=True)[..., 1:-1, 1:-1], shared(x.sum(1, keepdim=True)))
