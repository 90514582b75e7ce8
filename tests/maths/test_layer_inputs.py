"""The inputs of layers during a training, beside scipy and torch."""

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.errors import GradlabError
from gradlab.maths.layer_inputs import batch_norm_noise, covariate_shift, distribution_shift, layer_inputs


def test_the_shift_is_the_divergence_of_torchs_normal_distributions():
    torch.manual_seed(0)
    before, after = torch.randn(50, 4).double(), (2 * torch.randn(50, 4) + 1).double()
    normals = [torch.distributions.Normal(x.mean(0), x.std(0, correction=0)) for x in (after, before)]
    wanted = torch.distributions.kl_divergence(*normals).mean()
    assert float(distribution_shift(before, after)) == pytest.approx(float(wanted))


def test_a_constant_feature_has_a_finite_shift():
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)).double()
    x[:, 1] = 0.0
    assert distribution_shift(x, x + 1).isfinite()
    assert distribution_shift(torch.zeros(4, 2), torch.zeros(4, 2)) == 0


def test_looking_changes_nothing_of_the_model():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.ReLU(), nn.Linear(3, 1)).eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x = torch.randn(10, 2)
    first, second = layer_inputs(model, x), layer_inputs(model, x)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not model.training
    assert torch.equal(first["4"], second["4"])  # no unit is dropped
    seen = nn.functional.batch_norm(model[0](x), None, None, model[1].weight, model[1].bias, True).relu()
    assert torch.allclose(first["4"], seen.detach(), atol=1e-6)


def test_a_layer_before_that_is_stretched_moves_the_inputs_of_the_next_unless_they_are_normalised():
    def stretched(norm):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 8), *([nn.BatchNorm1d(8)] if norm else []), nn.ReLU(), nn.Linear(8, 1))

        def training():
            for _ in range(3):
                with torch.no_grad():
                    model[0].weight.mul_(1.5)
                    model[0].bias.mul_(1.5)
                yield

        return covariate_shift(model, torch.randn(64, 2), training())[:, 0]

    without, normalised = stretched(False), stretched(True)
    assert (without.diff() > 0).all()
    assert (normalised < 1e-3 * without).all()


def test_the_noise_of_batch_norm_is_that_of_numpy():
    _, variance = batch_norm_noise(1.0, 100, 20_000, torch.Generator().manual_seed(0))
    x = np.random.default_rng(0).normal(size=(100, 20_000))
    x[0] = 1.0
    wanted = ((1.0 - x.mean(0)) / x.std(0)).var()
    assert variance == pytest.approx(wanted, rel=0.05) == pytest.approx(0.015, rel=0.06)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: batch_norm_noise(0.0, 1), "two examples in a batch"),
        (lambda: covariate_shift(nn.Sequential(nn.Linear(2, 1)), torch.ones(3, 2), range(2)), "no dense layer behind"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(wrong, says):
    with pytest.raises(GradlabError, match=says):
        wrong()
