import pytest
import torch
from scratch_helpers import agree, normal, right

from gradlab.scratch.features import cosh, elu_plus_one, fourier, positive

OMEGA = normal(5, 3, seed=1)


def theirs(x):
    """The Performer's features in torch."""
    return torch.exp(x @ torch.tensor(OMEGA).T - x.square().sum(-1, keepdim=True) / 2)


@pytest.mark.parametrize("before", [(2,), (2, 2)])
def test_feature_maps(before):
    x = normal(*before, 3)
    for ours in (
        elu_plus_one,
        lambda x: positive(x, OMEGA),
        lambda x: cosh(x, OMEGA),
        lambda x: fourier(x, OMEGA, 0.3),
    ):
        right(ours, x)
    agree(elu_plus_one, lambda x: torch.nn.functional.elu(x) + 1, x)
    agree(lambda x: positive(x, OMEGA), lambda x: theirs(x) / 5**0.5, x)


def test_the_features_of_both_signs_are_half_as_heavy():
    x = normal(4, 3)

    def both(x):
        other = torch.exp(-x @ torch.tensor(OMEGA).T - x.square().sum(-1, keepdim=True) / 2)
        return torch.cat([theirs(x), other], -1) / 10**0.5

    agree(lambda x: cosh(x, OMEGA), both, x)


def test_waves_are_cosines_before_sines():
    def both(x):
        angles = 0.6**0.5 * x @ torch.tensor(OMEGA).T
        return torch.cat([angles.cos(), angles.sin()], -1) / 5**0.5

    agree(lambda x: fourier(x, OMEGA, 0.3), both, normal(4, 3))
