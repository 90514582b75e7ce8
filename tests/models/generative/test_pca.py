"""Principal component analysis, beside scikit-learn and torch.distributions."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA as Peer
from torch.distributions import MultivariateNormal
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models.generative.pca import PCA, pca_gaussian


@pytest.fixture
def x():
    generator = torch.Generator().manual_seed(3)
    return (torch.randn(300, 7, generator=generator) @ torch.randn(7, 7, generator=generator) + 2).double()


def covariance(model):
    """U Λ Uᵀ + σ² (I − U Uᵀ), written out."""
    along = model.axes.T @ torch.diag(model.variances) @ model.axes
    return along + model.noise * (torch.eye(len(model.mean)) - model.axes.T @ model.axes)


@pytest.mark.parametrize("dims", [1, 3, 7])
def test_it_is_that_of_scikit_learn(x, dims):
    model, peer = PCA([7], dims).double().fit(x), Peer(dims, svd_solver="full").fit(x.numpy())
    signs = (model.axes * torch.from_numpy(peer.components_)).sum(1)
    assert_close(signs.abs(), torch.ones(dims).double())
    codes, back = peer.transform(x.numpy()), peer.inverse_transform(peer.transform(x.numpy()))
    assert_close(model.mean, torch.from_numpy(peer.mean_))
    assert_close(model.variances, torch.from_numpy(peer.explained_variance_))
    assert_close(model.encode(x) * signs, torch.from_numpy(codes))
    assert_close(model.reconstruct(x), torch.from_numpy(back))
    assert_close(model.log_prob(x), torch.from_numpy(peer.score_samples(x.numpy())))


def test_the_density_is_that_of_the_gaussian(x):
    model = PCA([7], 2).double().fit(x)
    wanted = MultivariateNormal(model.mean, covariance(model)).log_prob(x)
    assert_close(model.log_prob(x), wanted)


def test_samples_have_its_mean_and_its_covariance(x):
    torch.manual_seed(0)
    model = PCA([7], 2).fit(x)
    drawn = model.sample(200_000)
    assert_close(drawn.mean(0), model.mean, atol=0.05, rtol=0)
    scale = covariance(model).diagonal().max().item()
    assert_close(torch.cov(drawn.T), covariance(model), atol=0.02 * scale, rtol=0)


def test_what_is_lost_is_the_sum_of_the_other_variances(x):
    values = np.linalg.eigvalsh(np.cov(x.numpy().T))
    for dims in (1, 4):
        lost = (PCA([7], dims).double().fit(x).reconstruct(x) - x).square().sum() / (len(x) - 1)
        assert lost.item() == pytest.approx(values[: 7 - dims].sum())


def test_pictures_keep_their_shape_and_their_type():
    pictures = torch.rand(50, 2, 3, 4)
    model = pca_gaussian(pictures, dims=5)
    assert model(pictures).shape == pictures.shape
    assert model.sample(6).shape == (6, 2, 3, 4)
    assert model.sample(6).dtype == torch.float32
    assert model.log_prob(pictures).shape == (50,)


def test_by_default_it_has_the_axes_of_nearly_all_the_variance(x):
    shares = Peer().fit(x.numpy()).explained_variance_ratio_.cumsum()
    model = pca_gaussian(x)
    assert shares[model.dims - 1] >= 0.95 > (shares[model.dims - 2] if model.dims > 1 else 0)


def test_a_constant_pixel_is_not_infinitely_likely():
    flat = torch.cat([torch.randn(40, 2), torch.zeros(40, 3)], 1)
    for dims in (None, 5):
        model = pca_gaussian(flat, dims=dims)
        assert model.log_prob(flat).isfinite().all()
    assert pca_gaussian(torch.zeros(9, 3)).log_prob(torch.zeros(1, 3)).isfinite().all()


def test_rows_in_parts_are_rows_at_once(x, monkeypatch):
    whole = pca_gaussian(x, dims=3)
    monkeypatch.setattr("gradlab.models.generative.pca._ROWS", 17)
    parts = pca_gaussian(x, dims=3)
    assert_close(parts.axes, whole.axes)
    assert_close(parts.variances, whole.variances)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: PCA([4], 5), "has 1 to 4 axes, got dims=5"),
        (lambda: PCA([3, 64, 64], 5), "a matrix of 12,288×12,288"),
        (lambda: pca_gaussian(torch.zeros(1, 4)), "two examples at least"),
    ],
)
def test_what_cannot_be_is_refused(make, says):
    with pytest.raises(GradlabError, match=says):
        make()
