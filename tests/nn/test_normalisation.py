import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import BatchNorm, GroupNorm, LayerNorm, RMSNorm, ShapeError

ALL = [BatchNorm(4), LayerNorm(4), GroupNorm(2, 4), RMSNorm(4)]


@pytest.mark.parametrize(("variance", "scale"), [(1e-6, 301.5), (0.0, 316.2)])
def test_eps_is_under_the_root(variance, scale):
    # E37: outside of it, these would be 990.1 and 100000.
    norm = BatchNorm(1).eval()
    norm.running_var.fill_(variance)
    assert norm(torch.ones(1, 1)).item() == pytest.approx(scale, abs=0.1)


@pytest.mark.parametrize("deviation", [1.0, 0.012, 0.00075])
def test_the_variance_of_the_output_is_not_quite_one(deviation):
    # E14
    x = torch.randn(2000, 1, dtype=torch.float64) * deviation
    variance = x.var(correction=0)
    assert_close(BatchNorm(1).double()(x).var(correction=0), variance / (variance + 1e-5))


@pytest.mark.parametrize("norm", ALL, ids=lambda norm: type(norm).__name__)
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_equal_features_give_neither_nan_nor_a_nan_gradient(norm, value):
    x = torch.full((3, 4), value, requires_grad=True)
    y = norm(x)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("norm", ALL, ids=lambda norm: type(norm).__name__)
def test_the_order_in_memory_does_not_matter(norm):
    x = torch.randn(4, 6).T
    assert not x.is_contiguous()
    assert_close(norm(x), norm(x.contiguous()))


@pytest.mark.parametrize("norm", ALL, ids=lambda norm: type(norm).__name__)
def test_large_numbers_in_half_precision_do_not_overflow(norm):
    x = torch.tensor([[300.0, -300.0, 300.0, -300.0], [-300.0, 300.0, -300.0, 300.0]], dtype=torch.bfloat16)
    assert_close(norm.bfloat16()(x), x / 300)
    norm.float()


def test_one_pass_without_momentum_gives_the_mean_of_the_training_set():
    data = torch.randn(60, 3, dtype=torch.float64) * 2 + 1
    norm = BatchNorm(3, momentum=None).double()
    norm(torch.randn(5, 3, dtype=torch.float64))
    norm.reset_running_stats()
    for batch in data.split(20):
        norm(batch)
    assert_close(norm.running_mean, data.mean(0))
    norm.reset_running_stats()
    norm(data)  # in one batch: its variance too
    assert_close(norm.running_var, data.var(0))


def test_one_example_has_no_variance_to_train_with():
    norm = BatchNorm(3)
    for shape in [(1, 3), (0, 3), (1, 3, 1)]:
        with pytest.raises(ShapeError, match=r"^norm\.batch: .* has no variance: training takes two examples\.$"):
            norm(torch.zeros(shape))
    assert norm.running_mean.isfinite().all()
    assert norm(torch.randn(1, 3, 2)).shape == (1, 3, 2)  # two places are enough
    assert norm.eval()(torch.zeros(1, 3)).shape == (1, 3)


def test_weights_move_to_and_from_torch():
    ours, torchs = BatchNorm(3), nn.BatchNorm2d(3)
    torchs(torch.randn(4, 3, 2, 2))
    ours.load_state_dict(torchs.state_dict())
    x = torch.randn(4, 3, 2, 2)
    assert_close(ours.eval()(x), torchs.eval()(x))
    torchs.load_state_dict(ours.state_dict())


def test_a_group_of_one_number_gives_the_shift():
    norm = GroupNorm(3, 3)
    nn.init.normal_(norm.bias)
    for examples in (1, 2):
        assert_close(norm(torch.randn(examples, 3)), norm.bias.detach().expand(examples, 3), atol=1e-4, rtol=0)


def test_the_eps_of_rms_norm_is_that_of_the_precision():
    x = torch.full((1,), 1e-4)
    wanted = 1e-4 / (1e-8 + torch.finfo(torch.float32).eps) ** 0.5
    assert RMSNorm(1)(x).item() == pytest.approx(wanted, rel=1e-4)
    assert RMSNorm(1).double()(x.double()).item() == pytest.approx(1.0)


def test_no_vectors_are_no_vectors():
    for norm in (LayerNorm(3), RMSNorm(3)):
        assert norm(torch.zeros(0, 3)).shape == (0, 3)


def test_features_on_several_axes():
    x = torch.randn(5, 2, 3)
    y = LayerNorm((2, 3))(x)
    assert_close(y.flatten(1), LayerNorm(6)(x.flatten(1)))
    with pytest.raises(ShapeError, match=r"^norm\.layer: x must have shape \(…batch, features=3\), got \(5, 2\)\.$"):
        LayerNorm((2, 3))(torch.zeros(5, 2))


SIZES = "int ≥ 1 | tuple of int ≥ 1, … | list of int ≥ 1"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BatchNorm(0), "norm.batch: num_features must be int ≥ 1, got 0."),
        (lambda: BatchNorm(3, eps=-1.0), "norm.batch: eps must be float ≥ 0, got -1.0."),
        (lambda: BatchNorm(3, momentum=1.5), "norm.batch: momentum must be float ≥ 0 ≤ 1 | none, got 1.5."),
        (lambda: LayerNorm(0), f"norm.layer: normalized_shape must be {SIZES}, got 0."),
        (lambda: LayerNorm(()), f"norm.layer: normalized_shape must be {SIZES}, got ()."),
        (lambda: RMSNorm((2, 0)), f"norm.rms: normalized_shape must be {SIZES}, got (2, 0)."),
        (lambda: RMSNorm(2, eps=-1e-6), "norm.rms: eps must be float ≥ 0 | none, got -1e-06."),
        (lambda: GroupNorm(2, 3), "norm.group: num_groups must divide num_channels, got 2 and 3."),
        (lambda: GroupNorm(0, 3), "norm.group: num_groups must be int ≥ 1, got 0."),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make, message):
    with pytest.raises(GradlabError) as error:
        make()
    assert str(error.value) == message
