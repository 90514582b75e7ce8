"""Expectation-maximisation, beside scikit-learn's."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.mixture import GaussianMixture as Peer
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal
from torch.testing import assert_close

from gradlab.errors import GradlabError, TrainingError
from gradlab.models.generative.mixture import GaussianMixture, MixtureSettings


def points(count=300):
    which = torch.randint(3, [count])
    return torch.tensor([[-2.0, 0.0], [1.0, 1.0], [1.5, -1.0]])[which] + 0.5 * torch.randn(count, 2)


def mixture(x, components=3, floor=1e-6, steps=0):
    model = GaussianMixture(x.shape[1:], MixtureSettings(components=components, floor=floor))
    model.fit_inputs(x)
    for _ in range(steps):
        model.step(x)
    return model


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


@pytest.mark.parametrize("components", [1, 2, 5])
def test_no_step_makes_the_points_less_likely(components):
    x = points()
    model = mixture(x, components, floor=0.0)
    likelihoods = [model(x).sum().item()]
    for _ in range(30):
        model.step(x)
        likelihoods.append(model(x).sum().item())
    assert all(after >= before - 1e-8 for before, after in pairwise(likelihoods))
    assert likelihoods[-1] > likelihoods[0] + 1
    assert model.weights.sum().item() == pytest.approx(1)


def test_it_goes_where_that_of_scikit_learn_goes():
    x = points()
    model, steps = mixture(x), 25
    peer = Peer(
        3,
        weights_init=model.weights.numpy().copy(),
        means_init=model.means.numpy().copy(),
        precisions_init=model.covariances.inverse().numpy(),
        reg_covar=1e-6,
        tol=0.0,
        max_iter=steps,
    )
    with warnings.catch_warnings(action="ignore"):  # it did not converge: it was stopped, as ours is
        peer.fit(x.double().numpy())
    for _ in range(steps):
        model.step(x)
    for ours, theirs in (
        (model.weights, peer.weights_),
        (model.means, peer.means_),
        (model.covariances, peer.covariances_),
    ):
        assert_close(ours, torch.from_numpy(theirs), rtol=0, atol=1e-5)
    assert_close(model.log_prob(x), torch.from_numpy(peer.score_samples(x.double().numpy())), rtol=0, atol=1e-5)


def test_the_density_is_that_of_the_mixture_and_integrates_to_one():
    model = mixture(points(), steps=10)
    wanted = MixtureSameFamily(Categorical(model.weights), MultivariateNormal(model.means, model.covariances))
    x = points(20)
    assert_close(model.log_prob(x), wanted.log_prob(x.double()))
    side = torch.linspace(-7, 7, 401).double()
    density = model.log_prob(torch.cartesian_prod(side, side)).exp().reshape(401, 401)
    assert torch.trapezoid(torch.trapezoid(density, side), side).item() == pytest.approx(1, abs=1e-6)


def test_samples_have_the_moments_of_the_mixture():
    model = mixture(points(), steps=10)
    drawn = model.sample(200_000)
    mean = model.weights @ model.means
    apart = model.means - mean
    covariance = torch.einsum("k,kij->ij", model.weights, model.covariances + apart[:, :, None] * apart[:, None])
    assert drawn.dtype == torch.float32
    assert_close(drawn.double().mean(0), mean, rtol=0, atol=0.02)
    assert_close(torch.cov(drawn.double().T), covariance, rtol=0, atol=0.03)


def test_it_begins_with_points_far_apart_and_only_once():
    clusters = torch.tensor([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0]])
    x = clusters.repeat_interleave(50, 0) + torch.randn(200, 2)
    for _ in range(5):
        found = mixture(x, components=4).means
        nearest = torch.cdist(found, clusters.double()).argmin(1)
        assert nearest.unique().numel() == 4
    model = mixture(x, components=4, steps=3)
    before = model.means.clone()
    model.fit_inputs(x)
    assert torch.equal(model.means, before)


def test_a_gaussian_on_one_point_is_told_of():
    x = torch.cat([torch.zeros(30, 2), torch.randn(5, 2) + 10])
    with pytest.raises(TrainingError, match=r"Raise model\.floor, now 0"):
        mixture(x, components=2, floor=0.0, steps=3).log_prob(x)
    assert mixture(x, components=2, steps=3).log_prob(x).isfinite().all()


def test_fewer_points_than_gaussians_are_refused():
    with pytest.raises(GradlabError, match="A mixture of 3 Gaussians needs as many examples, got 2"):
        mixture(torch.zeros(2, 2))


def test_pictures_keep_their_shape():
    x = torch.rand(40, 1, 2, 3)
    model = mixture(x, components=2, steps=2)
    assert model.sample(5).shape == (5, 1, 2, 3)
    assert np.isfinite(model.log_prob(x).numpy()).all()
