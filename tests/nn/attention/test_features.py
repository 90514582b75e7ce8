from math import exp

import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn.attention import CoshFeatures, ELUFeatures, FourierFeatures, PositiveFeatures
from gradlab.verification.families.features import cosh_variance, exp_variance

RANDOM = [PositiveFeatures, CoshFeatures, FourierFeatures]


def test_elu_features_of_very_negative_entries_are_small_and_not_zero():
    x = torch.tensor([-80.0, -20.0, 0.0, 3.0], requires_grad=True)
    y = ELUFeatures()(x)
    assert_close(y, torch.tensor([exp(-80), exp(-20), 1.0, 4.0]), rtol=1e-5, atol=0)
    y.sum().backward()
    assert_close(x.grad, torch.tensor([exp(-80), exp(-20), 1.0, 1.0]), rtol=1e-5, atol=0)


@pytest.mark.parametrize("made", RANDOM)
@pytest.mark.parametrize("orthogonal", [False, True])
def test_directions_follow_the_generator(made, orthogonal):
    features = made(4, 6, orthogonal=orthogonal)
    first = features.omega.clone()
    features.redraw(torch.Generator().manual_seed(1))
    second = features.omega.clone()
    assert not torch.equal(first, second)
    features.redraw(torch.Generator().manual_seed(1))
    assert torch.equal(features.omega, second)


def test_directions_are_kept_with_the_weights_and_in_their_dtype():
    features = PositiveFeatures(4, 6).to(torch.bfloat16)
    features.redraw()
    assert features.omega.dtype == torch.bfloat16
    assert list(features.state_dict()) == ["omega"]
    assert not list(features.parameters())


@pytest.mark.parametrize("made", RANDOM)
def test_exponents_and_angles_are_not_rounded_to_bf16(made):
    """Numbers near 16 are an eighth apart in bf16."""
    features, x = made(4, 6).bfloat16(), (4 * torch.randn(5, 4)).bfloat16()
    got, wanted = features(x), features.float()(x.float())
    assert_close(got.float(), wanted, rtol=0.01, atol=0.01 * float(wanted.max()))


@pytest.mark.parametrize(("dim", "num_features"), [(4, 8), (4, 3), (3, 7), (1, 5)])
def test_orthogonal_directions_are_at_right_angles_within_a_block(dim, num_features):
    omega = PositiveFeatures(dim, num_features, orthogonal=True).omega
    for block in omega.split(dim):
        cosines = block @ block.T / block.norm(dim=1) / block.norm(dim=1)[:, None]
        assert_close(cosines, torch.eye(len(block)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_each_direction_is_normal(orthogonal):
    omega = PositiveFeatures(4, 40_000, orthogonal=orthogonal).omega
    assert omega.mean(0).abs().max() < 5 / 200
    assert_close(omega.T @ omega / len(omega), torch.eye(4), atol=0.06, rtol=0)
    assert_close(omega.square().sum(1).var(), torch.tensor(8.0), atol=0.6, rtol=0)  # chi-square of 4: variance 2·4


def test_the_kernel_of_the_course_by_both_kinds_of_features():
    """The Gaussian kernel is e^(-γ‖x‖²) e^(-γ‖y‖²) e^(2γ xᵀy), with a 2."""
    x, y, gamma = torch.tensor([0.3, -0.4]), torch.tensor([-0.5, 0.2]), 0.7
    wanted = torch.exp(-gamma * (x - y).square().sum())
    waves = FourierFeatures(2, 40_000, gamma=gamma)
    assert_close(waves(x) @ waves(y), wanted, atol=0.02, rtol=0)
    positive, root = PositiveFeatures(2, 40_000), (2 * gamma) ** 0.5
    shrunk = torch.exp(-gamma * (x.square().sum() + y.square().sum()))
    assert_close(shrunk * (positive(root * x) @ positive(root * y)), wanted, atol=0.02, rtol=0)


def test_both_signs_have_less_than_half_the_variance_by_the_formulas():
    for length in (0.1, 0.5, 1.0, 2.0):
        x = torch.tensor([length, 0.0])
        assert cosh_variance(x, x) < exp_variance(x, x) / 2


@pytest.mark.parametrize("made", RANDOM)
def test_empty_batches_and_single_vectors(made):
    features = made(3, 4)
    assert features(torch.zeros(0, 3)).shape == (0, features.out_features)
    assert features(torch.zeros(3)).shape == (features.out_features,)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PositiveFeatures(0), "feature.positive: dim must be int ≥ 1, got 0."),
        (lambda: CoshFeatures(2, 0), "feature.cosh: num_features must be int ≥ 1, got 0."),
        (lambda: FourierFeatures(2, gamma=0.0), "feature.fourier: gamma must be float > 0, got 0.0."),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, said):
    with pytest.raises(GradlabError) as error:
        make()
    assert str(error.value) == said
