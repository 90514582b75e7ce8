import pytest
import torch
from jaxtyping import TypeCheckError
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import AvgPool2d, Conv1d, Conv2d, MaxPool2d, ShapeError
from gradlab.verification import verify_like

X = [
    [[2, 1, 0, 0], [0, 0, 2, 1], [0, 2, 0, 1], [2, 1, 0, 1]],
    [[2, 2, 0, 0], [0, 0, 2, 1], [0, 0, 2, 0], [0, 1, 0, 1]],
    [[2, 1, 0, 0], [0, 0, 2, 1], [2, 0, 0, 0], [0, 1, 0, 1]],
]
W = [
    [[1, 0, 0], [0, -2, 0], [0, 0, -1]],
    [[1, 2, 0], [2, 0, -1], [0, -1, 1]],
    [[0, 0, -2], [0, 1, 2], [-2, 2, 0]],
]


def with_weights(layer, weight, bias=None):
    state = {"weight": torch.tensor(weight, dtype=torch.float32)}
    layer.load_state_dict(state if bias is None else state | {"bias": torch.tensor(bias)})
    return layer


@pytest.fixture
def picture():
    return torch.tensor([X], dtype=torch.float32)


def test_a_picture_of_three_channels_by_hand(picture):
    """Cross-correlation with a frame of zeros, + 2, ReLU; then max and average pooling, each of that result."""
    y = with_weights(Conv2d(3, 1, 3, padding=1), [W], [2.0])(picture).relu()
    assert y[0, 0].tolist() == [[0, 5, 8, 0], [6, 10, 1, 5], [4, 0, 2, 11], [0, 1, 11, 3]]
    assert MaxPool2d(2)(y)[0, 0].tolist() == [[10, 8], [4, 11]]
    assert AvgPool2d(2)(y)[0, 0].tolist() == [[5.25, 3.5], [1.25, 6.75]]


def test_one_entry_of_its_third_channel_is_often_misread(picture):
    layer = with_weights(Conv2d(1, 1, 3, padding=1, bias=False), [[W[2]]])
    assert layer(picture[:, 2:])[0, 0, 1, 3].item() == 1


def test_with_flipped_kernels_the_same_picture_gives_something_else(picture):
    flipped = torch.tensor([W]).flip(2, 3).tolist()
    y = with_weights(Conv2d(3, 1, 3, padding=1), flipped, [2.0])(picture).relu()
    assert MaxPool2d(2)(y)[0, 0].tolist() == [[7, 8], [6, 3]]
    assert AvgPool2d(2)(y)[0, 0].tolist() == [[4.75, 4.75], [3.75, 1.75]]


def test_a_moved_picture_gives_a_moved_result_and_not_the_same():
    layer, x = Conv2d(2, 3, 3, padding=1, padding_mode="circular"), torch.randn(1, 2, 6, 6)
    moved = layer(x.roll((2, 1), (2, 3)))
    assert_close(moved, layer(x).roll((2, 1), (2, 3)))
    assert (moved - layer(x)).abs().max() > 0.1


def test_a_sequence_of_d_entries_under_a_kernel_of_three_has_a_band_of_d_minus_two_rows():
    layer = with_weights(Conv1d(1, 1, 3, bias=False), [[[1, 2, 4]]])
    matrix = layer.as_matrix(5)
    assert matrix.tolist() == [[1, 2, 4, 0, 0], [0, 1, 2, 4, 0], [0, 0, 1, 2, 4]]
    x = torch.randn(2, 1, 5)
    assert_close(layer(x)[:, 0].relu(), (x[:, 0] @ matrix.T).relu())


def test_a_circular_kernel_has_a_circulant_matrix():
    layer = with_weights(Conv1d(1, 1, 3, padding=1, bias=False, padding_mode="circular"), [[[1, 2, 4]]])
    assert layer.as_matrix(4).tolist() == [[2, 4, 0, 1], [1, 2, 4, 0], [0, 1, 2, 4], [4, 0, 1, 2]]


def test_weights_learn_through_the_matrix():
    layer = Conv2d(2, 3, 2)
    layer.as_matrix(3, 4).sum().backward()
    assert_close(layer.weight.grad, torch.full_like(layer.weight, 6.0))  # each at 2 × 3 places


def test_the_matrix_has_the_dtype_of_the_weights():
    assert Conv1d(1, 2, 2).to(torch.bfloat16).as_matrix(4).dtype == torch.bfloat16


def test_a_kernel_of_one_pixel_is_a_dense_layer_at_each_place():
    layer, x = Conv2d(3, 4, 1), torch.randn(2, 3, 5, 6)
    wanted = torch.einsum("nchw, oc -> nohw", x, layer.weight[:, :, 0, 0]) + layer.bias[:, None, None]
    assert_close(layer(x), wanted)


@pytest.mark.parametrize(("layer", "size"), [(Conv1d(2, 3, 2), (4,)), (Conv2d(2, 3, 2), (4, 5))], ids=["1d", "2d"])
def test_batches_of_none_and_inputs_that_are_not_contiguous(layer, size):
    assert layer(torch.zeros(0, 2, *size)).shape[:2] == (0, 3)
    x = torch.randn(*size[::-1], 2, 4).permute(*reversed(range(2 + len(size))))
    assert_close(layer(x.contiguous()), layer(x))


def test_one_pixel_is_enough_with_a_frame():
    layer = Conv2d(1, 1, 3, padding=1)
    x = torch.randn(1, 1, 1, 1)
    assert_close(layer(x)[0, 0, 0, 0], layer.weight[0, 0, 1, 1] * x[0, 0, 0, 0] + layer.bias[0])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Conv1d(4, 2, 3, groups=2), nn.Conv1d), (Conv2d(4, 2, 3, groups=2), nn.Conv2d)],
    ids=["1d", "2d"],
)
def test_weights_go_from_torch_to_here(ours, theirs):
    ours.load_state_dict(theirs(4, 2, 3, groups=2).state_dict())
    assert isinstance(ours, theirs)


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (nn.Conv1d, {}),
        (nn.Conv1d(4, 2, 3, stride=2, padding=1, groups=2), {}),
        (nn.Conv2d, {"kernel_size": 4, "in_channels": 3}),
        (nn.Conv2d(2, 3, (1, 2), dilation=(1, 2), bias=False), {}),
        (nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular"), {}),
    ],
    ids=str,
)
def test_torchs_own_layers_are_judged_to_be_alike(made, values):
    like = "conv.conv1d" if "1d" in str(made) else "conv.conv2d"
    verification = verify_like(made, like, values, "torch's", cases=3)
    assert verification.passed, verification
    assert sum(bool(result.passed) for result in verification.results) >= 4


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Conv1d(0, 1, 1), "conv.conv1d: in_channels must be int ≥ 1, got 0."),
        (
            lambda: Conv2d(1, 1, 0),
            "conv.conv2d: kernel_size must be int ≥ 1 | tuple of int ≥ 1, int ≥ 1, got 0.",
        ),
        (lambda: Conv1d(1, 1, 1, stride=0), "conv.conv1d: stride must be int ≥ 1, got 0."),
        (lambda: Conv1d(1, 1, 1, dilation=0), "conv.conv1d: dilation must be int ≥ 1, got 0."),
        (lambda: Conv1d(1, 1, 1, padding=-1), "conv.conv1d: padding must be int ≥ 0, got -1."),
        (
            lambda: Conv1d(2, 3, 1, groups=2),
            "conv.conv1d: both numbers of channels must be multiples of groups=2, got in_channels=2, out_channels=3.",
        ),
        (
            lambda: Conv2d(3, 2, 1, groups=2),
            "conv.conv2d: both numbers of channels must be multiples of groups=2, got in_channels=3, out_channels=2.",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(build, words):
    with pytest.raises(GradlabError) as error:
        build()
    assert str(error.value) == words


def test_there_are_two_ways_of_padding():
    with pytest.raises((GradlabError, TypeCheckError), match="padding_mode"):
        Conv1d(1, 1, 1, padding_mode="reflect")


@pytest.mark.parametrize("call", [lambda layer: layer(torch.zeros(1, 1, 2)), lambda layer: layer.as_matrix(2)])
def test_an_input_that_is_too_small_is_told_in_one_line(call):
    with pytest.raises(
        ShapeError, match=r"^A kernel that reaches over 3 entries does not fit into 2 with padding 0\.$"
    ):
        call(Conv1d(1, 1, 3))


def test_padding_goes_round_at_most_once():
    layer = Conv1d(1, 1, 1, padding=3, padding_mode="circular")
    assert layer(torch.zeros(1, 1, 3)).shape == (1, 1, 9)
    with pytest.raises(ShapeError, match=r"^Circular padding of 3 is more than once around 2 entries\.$"):
        layer(torch.zeros(1, 1, 2))
