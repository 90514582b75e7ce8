import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import ndimage
from scratch_helpers import agree, distinct, normal, right, same
from torch.nn import functional as F

from gradlab.scratch import Tensor, check, gates
from gradlab.scratch.convolution import (
    average_pool1d,
    average_pool2d,
    continued,
    conv1d,
    conv2d,
    conv2d_by_hand,
    conv2d_by_loops,
    gaussian_blur,
    max_pool1d,
    max_pool2d,
    mean_blur,
    output_size,
    sharpen,
    sobel,
)
from gradlab.scratch.functions import relu
from gradlab.scratch.tensor import apply

pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
paddings = st.tuples(st.integers(0, 2), st.integers(0, 2))


@st.composite
def convolutions(draw):
    """Arrays and settings of a convolution whose kernel fits."""
    groups = draw(st.integers(1, 2))
    settings = {"stride": draw(pairs), "padding": draw(paddings), "dilation": draw(pairs), "groups": groups}
    size, kernel = draw(st.tuples(st.integers(2, 6), st.integers(2, 6))), draw(pairs)
    for n, k, p, d in zip(size, kernel, settings["padding"], settings["dilation"], strict=True):
        assume(n + 2 * p > d * (k - 1))
    outputs, channels = groups * draw(st.integers(1, 2)), draw(st.integers(1, 2))
    arrays = (
        normal(draw(st.integers(1, 2)), channels * groups, *size),
        normal(outputs, channels, *kernel, seed=1),
        normal(outputs, seed=2),
    )
    return arrays, settings


@given(case=convolutions())
def test_convolution_is_that_of_torch(case):
    arrays, settings = case
    agree(lambda *a: conv2d(*a, **settings), lambda *a: F.conv2d(*a, **settings), *arrays)


@given(case=convolutions())
def test_one_product_of_matrices_gives_what_the_loops_give(case):
    arrays, settings = case
    fast, slow = [Tensor(a) for a in arrays], [Tensor(a) for a in arrays]
    y, by_loops = conv2d(*fast, **settings), conv2d_by_loops(*slow, **settings)
    same(y, by_loops.value)
    y.backward(normal(*y.shape, seed=3))
    by_loops.backward(normal(*y.shape, seed=3))
    for one, other in zip(fast, slow, strict=True):
        same(one.grad, other.grad)


@given(case=convolutions())
def test_derivatives_by_hand_are_those_of_torch(case):
    (x, weight, bias), settings = case
    x = x[:, : weight.shape[1]]
    kept = {name: settings[name] for name in ("stride", "padding")}
    assume(all(n + 2 * p >= k for n, k, p in zip(x.shape[2:], weight.shape[2:], kept["padding"], strict=True)))
    agree(lambda *a: conv2d_by_hand(*a, **kept), lambda *a: F.conv2d(*a, **kept), x, weight, bias)


def test_derivatives_by_hand_by_central_differences():
    settings = {"stride": (2, 1), "padding": (1, 0)}
    right(lambda *a: conv2d_by_hand(*a, **settings), normal(2, 3, 4, 5), normal(2, 3, 3, 2, seed=1))


def not_turned(x, w):
    """A convolution whose kernel is not turned on the way back."""
    z, (_, dw) = gates.correlate(x, w)
    turned_before = gates.correlate(x, w[:, :, ::-1, ::-1])[1][0]
    return z, (turned_before, dw)


def without_the_frame(x, w):
    """One whose gradient has the border cut off: places whose kernel reached over the border are forgotten."""
    z, (dx, dw) = gates.correlate(x, w)

    def inside(dz):
        share = np.zeros_like(x)
        rows, columns = (slice(k - 1, n - k + 1) for k, n in zip(w.shape[2:], x.shape[2:], strict=True))
        share[:, :, rows, columns] = dx(dz)[:, :, rows, columns]
        return share

    return z, (inside, dw)


def of_the_first_picture(x, w):
    """One whose weights learn from one picture of the batch."""
    z, (dx, _) = gates.correlate(x, w)
    return z, (dx, lambda dz: gates.correlate(x[:1], w)[1][1](dz[:1]))


@pytest.mark.parametrize("fault", [not_turned, without_the_frame, of_the_first_picture])
def test_a_wrong_derivative_by_hand_is_found(fault):
    arrays = normal(2, 3, 5, 6), normal(2, 3, 3, 2, seed=1)
    assert check(lambda *a: apply(fault, *a), *arrays) > 1e-2
    with pytest.raises(AssertionError):
        agree(lambda *a: apply(fault, *a), F.conv2d, *arrays)


def test_convolution_by_central_differences():
    settings = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2}
    right(lambda *a: conv2d(*a, **settings), normal(2, 4, 4, 5), normal(2, 2, 3, 2, seed=1), normal(2, seed=2))


def test_without_a_bias():
    x, weight = normal(2, 3, 5, 4), normal(2, 3, 2, 2, seed=1)
    agree(conv2d, F.conv2d, x, weight)
    agree(conv2d_by_loops, F.conv2d, x, weight)


@given(
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
    groups=st.integers(1, 2),
    size=st.integers(1, 3),
)
def test_convolution_of_sequences(**drawn):
    size = drawn.pop("size")
    arrays = normal(2, 2 * drawn["groups"], 7), normal(4, 2, size, seed=1), normal(4, seed=2)
    agree(lambda *a: conv1d(*a, **drawn), lambda *a: F.conv1d(*a, **drawn), *arrays)
    if size == 2:
        right(lambda *a: conv1d(*a, **drawn), *arrays)


@given(size=pairs, stride=st.none() | pairs, data=st.data())
def test_pooling(size, stride, data):
    padding = tuple(data.draw(st.integers(0, k // 2)) for k in size)
    settings = {"stride": stride, "padding": padding}
    x = distinct(2, 2, 5, 6)
    agree(lambda x: max_pool2d(x, size, **settings), lambda x: F.max_pool2d(x, size, **settings), x)
    agree(lambda x: average_pool2d(x, size, **settings), lambda x: F.avg_pool2d(x, size, **settings), x)


@pytest.mark.parametrize("pool", [max_pool2d, average_pool2d])
def test_pooling_by_central_differences(pool):
    right(lambda x: pool(x, (2, 3), stride=(1, 2), padding=(1, 1)), distinct(1, 2, 4, 5))


def test_of_equal_entries_of_a_window_the_first_has_the_gradient_as_in_torch():
    agree(lambda x: max_pool2d(x, (2, 2)), lambda x: F.max_pool2d(x, 2), np.zeros((1, 1, 4, 4)))


def test_the_worked_example_of_three_channels():
    """By hand: cross-correlation with zero padding, + 2, ReLU; then two poolings of the result."""
    x = [
        [[2, 1, 0, 0], [0, 0, 2, 1], [0, 2, 0, 1], [2, 1, 0, 1]],
        [[2, 2, 0, 0], [0, 0, 2, 1], [0, 0, 2, 0], [0, 1, 0, 1]],
        [[2, 1, 0, 0], [0, 0, 2, 1], [2, 0, 0, 0], [0, 1, 0, 1]],
    ]
    kernel = [
        [[1, 0, 0], [0, -2, 0], [0, 0, -1]],
        [[1, 2, 0], [2, 0, -1], [0, -1, 1]],
        [[0, 0, -2], [0, 1, 2], [-2, 2, 0]],
    ]
    y = relu(conv2d(Tensor([x]), Tensor([kernel]), Tensor([2.0]), padding=(1, 1)))
    assert y.value[0, 0].tolist() == [[0, 5, 8, 0], [6, 10, 1, 5], [4, 0, 2, 11], [0, 1, 11, 3]]
    assert max_pool2d(y, (2, 2)).value[0, 0].tolist() == [[10, 8], [4, 11]]
    assert average_pool2d(y, (2, 2)).value[0, 0].tolist() == [[5.25, 3.5], [1.25, 6.75]]


def test_a_kernel_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="reaches over 5 entries does not fit into 2 with padding 1"):
        output_size(2, kernel=3, padding=1, dilation=2)


@given(size=st.integers(1, 3), stride=st.none() | st.integers(1, 3), data=st.data())
def test_pooling_of_sequences(size, stride, data):
    settings = {"stride": stride, "padding": data.draw(st.integers(0, size // 2))}
    x = distinct(2, 3, 7)
    agree(lambda x: max_pool1d(x, size, **settings), lambda x: F.max_pool1d(x, size, **settings), x)
    agree(lambda x: average_pool1d(x, size, **settings), lambda x: F.avg_pool1d(x, size, **settings), x)


@pytest.mark.parametrize("pool", [max_pool1d, average_pool1d])
def test_pooling_of_sequences_by_central_differences(pool):
    right(lambda x: pool(x, 3, stride=2, padding=1), distinct(2, 2, 6))


@pytest.mark.parametrize(("how", "theirs"), [("wrap", "circular"), ("reflect", "reflect")])
def test_a_picture_that_is_continued(how, theirs):
    x = normal(2, 2, 4, 3)
    right(lambda x: continued(x, (3, 2), how), x)
    agree(lambda x: continued(x, (3, 2), how), lambda x: F.pad(x, (2, 2, 3, 3), mode=theirs), x)


@pytest.mark.parametrize("across", ["x", "y"])
def test_filters_are_those_of_scipy(across):
    x = normal(2, 3, 5, 4)

    def each(function):
        return [[function(channel) for channel in picture] for picture in x]

    same(mean_blur(Tensor(x)), each(lambda p: ndimage.uniform_filter(p, 5, mode="mirror")))
    same(sharpen(Tensor(x)), each(lambda p: p - ndimage.laplace(p, mode="mirror")))
    axis = {"x": 1, "y": 0}[across]
    same(sobel(Tensor(x), across), each(lambda p: ndimage.sobel(p, axis=axis, mode="mirror")))


def test_the_gaussian_kernel_sums_to_one_and_falls_off_from_its_middle():
    dot = np.zeros((1, 1, 5, 5))
    dot[..., 2, 2] = 273
    y = gaussian_blur(Tensor(np.pad(dot, [(0, 0), (0, 0), (4, 4), (4, 4)]))).value[0, 0, 4:9, 4:9]
    assert np.round(y).tolist() == [
        [1, 4, 7, 4, 1],
        [4, 16, 26, 16, 4],
        [7, 26, 41, 26, 7],
        [4, 16, 26, 16, 4],
        [1, 4, 7, 4, 1],
    ]


@pytest.mark.parametrize(
    "function", [mean_blur, gaussian_blur, sharpen, lambda x: sobel(x, "x"), lambda x: sobel(x, "y")]
)
def test_filters_by_central_differences(function):
    right(function, normal(2, 2, 4, 3))
