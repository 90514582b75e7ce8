import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d, ShapeError
from gradlab.verification import verify_like

LINE, SQUARE = torch.tensor([[[1.0, 3.0, 2.0, 0.0, 5.0]]]), torch.arange(16.0).reshape(1, 1, 4, 4)
ALL = [MaxPool1d, MaxPool2d, AvgPool1d, AvgPool2d]


def test_by_hand():
    assert MaxPool1d(2)(LINE).tolist() == [[[3, 2]]]
    assert MaxPool1d(3, stride=1, padding=1)(LINE).tolist() == [[[3, 3, 3, 5, 5]]]
    assert AvgPool1d(2, stride=1)(LINE).tolist() == [[[2, 2.5, 1, 2.5]]]
    assert AvgPool1d(3, stride=2, padding=1)(LINE)[0, 0, 0].item() == pytest.approx(4 / 3)  # the zero counts
    assert MaxPool2d((2, 4))(SQUARE).tolist() == [[[[7], [15]]]]
    assert AvgPool2d((4, 2), stride=(1, 2))(SQUARE).tolist() == [[[[6.5, 8.5]]]]


@pytest.mark.parametrize("kind", ALL)
def test_windows_lie_side_by_side_unless_told_otherwise(kind):
    assert kind(2).stride == kind(2, stride=2).stride
    assert repr(kind(2)).startswith(f"{kind.__name__}(kernel_size=(2")


def test_of_equal_entries_the_first_has_the_gradient():
    x = torch.zeros(1, 1, 2, 2, requires_grad=True)
    MaxPool2d(2)(x).sum().backward()
    assert x.grad[0, 0].tolist() == [[1, 0], [0, 0]]


def test_minus_infinity_is_an_entry_like_others():
    x = torch.full((1, 1, 2), -torch.inf)
    assert MaxPool1d(2, padding=1)(x).tolist() == [[[-torch.inf, -torch.inf]]]


@pytest.mark.parametrize("kind", ALL)
def test_batches_of_none_and_inputs_that_are_not_contiguous(kind):
    size = (4,) * kind.axes
    assert kind(2)(torch.zeros(0, 3, *size)).shape == (0, 3, *(2,) * kind.axes)
    x = torch.randn(*size, 3, 2).permute(*reversed(range(2 + kind.axes)))
    assert_close(kind(2)(x), kind(2)(x.contiguous()))


@pytest.mark.parametrize("kind", ALL)
def test_a_window_of_one_changes_nothing(kind):
    x = torch.randn(2, 3, *(4,) * kind.axes)
    assert torch.equal(kind(1)(x), x)


@pytest.mark.parametrize(
    ("made", "like"),
    [
        (nn.MaxPool1d, "pool.max1d"),
        (nn.MaxPool2d((2, 3), stride=1), "pool.max2d"),
        (nn.AvgPool1d(2), "pool.average1d"),
        (nn.AvgPool2d(3, padding=1), "pool.average2d"),
    ],
    ids=str,
)
def test_torchs_own_layers_are_judged_to_be_alike(made, like):
    verification = verify_like(made, like, {}, "torch's", cases=5)
    assert verification.passed, verification
    assert sum(bool(result.passed) for result in verification.results) >= 3


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: MaxPool1d(0), "pool.max1d: kernel_size must be int ≥ 1, got 0."),
        (
            lambda: MaxPool2d(2, stride=(1, 0)),
            "pool.max2d: stride must be int ≥ 1 | tuple of int ≥ 1, int ≥ 1 | none, got (1, 0).",
        ),
        (lambda: AvgPool1d(2, padding=-1), "pool.average1d: padding must be int ≥ 0, got -1."),
        (
            lambda: AvgPool2d(3, padding=2),
            "AvgPool2d: padding must be at most half of kernel_size, which is 3, got 2.",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(build, words):
    with pytest.raises(GradlabError) as error:
        build()
    assert str(error.value) == words


@pytest.mark.parametrize("kind", ALL)
def test_an_input_that_is_too_small_is_told_in_one_line(kind):
    with pytest.raises(
        ShapeError, match=r"^A kernel that reaches over 3 entries does not fit into 2 with padding 0\.$"
    ):
        kind(3)(torch.zeros(1, 1, *(2,) * kind.axes))
