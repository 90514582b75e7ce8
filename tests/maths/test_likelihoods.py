"""Fits by maximum likelihood: what has no optimum is refused, and gradlab's own training ends at the same weights."""

import numpy as np
import pytest
import torch
from scipy.stats import expon, norm
from torch import nn

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.maths.glm import fit_glm
from gradlab.maths.optimisation.newton import newton
from gradlab.maths.probability import fit_gumbel
from gradlab.maths.probability.exponential_family import BERNOULLI, EXPONENTIAL, GAMMA, NORMAL, POISSON, categorical
from gradlab.maths.separation import endless_direction
from gradlab.nn import losses


def columns(*values):
    return np.stack(values, 1).astype(float)


LINE = np.arange(6.0)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: fit_glm(columns(LINE), LINE > 2, "bernoulli"), "the classes are separable by a linear function of"),
        # Quasi-complete: a column that is 1 for one class alone, and 0 for both.
        (
            lambda: fit_glm(columns(LINE == 5), [0, 1, 0, 1, 0, 1], "bernoulli"),
            "separable by a linear function of column 0:",
        ),
        (lambda: fit_glm(columns(LINE), [0, 0, 1, 1, 2, 2], "categorical"), "the classes are separable"),
        (lambda: fit_glm(columns(LINE == 5), [1, 2, 0, 1, 0, 0], "poisson"), "some counts are 0 for certain"),
        (lambda: fit_glm(columns(LINE), np.ones(6), "bernoulli"), "separable"),
        (lambda: fit_glm(columns(LINE), np.zeros(6), "poisson"), "some counts are 0 for certain"),
        (
            lambda: fit_glm(columns(LINE, 2 * LINE), LINE, "gaussian"),
            "of 3 columns, with the constant one for the bias, 2 are",
        ),
        (lambda: fit_glm(columns(LINE, LINE**2), [1.0], "gaussian"), "a row for each of the 1 targets"),
        (lambda: fit_glm(columns(LINE * np.inf), LINE, "gaussian"), "table of finite numbers"),
        (lambda: fit_glm(columns(LINE), LINE, "bernoulli"), "targets of the bernoulli family are one row of 0 and 1"),
        (lambda: fit_glm(columns(LINE), LINE - 0.5, "poisson"), "one row of counts"),
        (lambda: fit_glm(columns(LINE), [0, 0, 2, 2, 0, 2], "categorical"), "each has an example"),
        (lambda: fit_glm(columns(LINE), LINE, "gausian"), "Did you mean 'gaussian'"),
        (lambda: fit_gumbel(torch.ones(5)), "two different finite values"),
        (lambda: BERNOULLI.fit([1.0, 1.0]), "Bernoulli: no parameters have the mean statistics 1 of these values"),
        (lambda: POISSON.fit([0.0, 0.0]), "Poisson: no parameters"),
        (lambda: EXPONENTIAL.fit([-1.0, 0.5]), "exponential: no parameters"),
        (lambda: NORMAL.fit([2.0, 2.0]), "normal: no parameters"),
        (lambda: GAMMA.fit([2.0, 2.0]), "gamma: no parameters"),
        (lambda: GAMMA.fit([2.0, -2.0]), "gamma: no parameters"),
        (lambda: categorical(3).fit([0.0, 1.0]), "categorical: no parameters"),
        (lambda: newton(lambda x: x.log().sum(), torch.zeros(1)), "not finite where it starts"),
    ],
)
def test_what_has_no_optimum_is_refused(fit, message):
    with np.errstate(invalid="ignore"), pytest.raises(GradlabError) as error:
        fit()
    assert message in str(error.value)


def test_large_but_finite_weights_are_no_separation(rng):
    """Linear predictors beyond 8, and yet one example on the wrong side."""
    x = np.concatenate([rng.normal(-4, 1, 200), rng.normal(4, 1, 200), [3.0]])
    y = np.concatenate([np.zeros(200), np.ones(200), [0]])
    model = fit_glm(x[:, None], y, "bernoulli")
    assert float((torch.from_numpy(x[:, None]) @ model.weight + model.bias).abs().max()) > 8
    assert model.mean(x[:, None]).sum().item() == pytest.approx(y.sum())


@pytest.mark.parametrize("seed", range(8))
def test_separability_is_what_a_perceptron_finds(seed):
    """Of points in general position: random labels of a few points, by trying to separate them for long."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([np.ones((7, 1)), rng.normal(size=(7, 2))], 1)
    y = np.array([0, 1, *rng.integers(0, 2, 5)])
    signed, weight = x * (2 * y - 1)[:, None], np.zeros(3)
    for _ in range(20_000):
        wrong = signed[signed @ weight <= 0]
        if not len(wrong):
            break
        weight = weight + wrong[0]
    separated = bool((signed @ weight > 0).all())
    direction = endless_direction(torch.from_numpy(x), torch.from_numpy(y[:, None] * 1.0), "bernoulli")
    assert (direction is not None) == separated
    if direction is not None:
        assert (signed @ direction.numpy() >= -1e-9).all()


@pytest.fixture
def data(rng):
    return rng.normal(size=(300, 3)), rng.uniform(size=300), rng.normal(size=300)


def trained(x, y, outputs, loss):
    """Weights and bias where gradlab's trainer ends, with L-BFGS on the full batch."""
    torch.manual_seed(0)
    model = nn.Linear(x.shape[1], outputs)
    plan = {"epochs": 30, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0, "keep": "last", "doctor": False}
    gl.fit(model, (torch.from_numpy(x), torch.as_tensor(y)), loss=loss, **plan)
    return model.weight.detach().mT.double(), model.bias.detach().double()


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "categorical"])
def test_the_trainer_ends_at_the_same_weights(data, family):
    x, uniform, noise = data
    eta = x @ [0.7, -0.4, 0.2] + 0.3
    cuts = np.stack([eta - 0.5, eta + 0.8], 1)
    y = {
        "gaussian": eta + noise,
        "bernoulli": (uniform < 1 / (1 + np.exp(-eta))).astype(float),
        "poisson": np.floor(-np.log(uniform) * np.exp(eta)),
        "categorical": (uniform[:, None] > 1 / (1 + np.exp(-cuts))).sum(1),
    }[family]
    loss = {
        "gaussian": lambda output, target: losses.squared(output, target.reshape(-1, 1)),
        "bernoulli": lambda output, target: losses.binary_cross_entropy(output, target.reshape(-1, 1)),
        "poisson": lambda output, target: losses.poisson_nll(output, target.reshape(-1, 1)),
        "categorical": losses.cross_entropy,
    }[family]
    weight, bias = trained(x, y, 3 if family == "categorical" else 1, loss)
    if family == "categorical":  # only differences of logits are seen in the data
        weight, bias = weight[:, 1:] - weight[:, :1], bias[1:] - bias[:1]
    model = fit_glm(x, y, family)
    torch.testing.assert_close(weight, model.weight, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(bias, model.bias, rtol=1e-3, atol=1e-4)


def test_families_have_the_densities_of_scipy(rng):
    x = rng.uniform(0.1, 3, 5)
    np.testing.assert_allclose(EXPONENTIAL.log_density(x, [-2.0]), expon(scale=0.5).logpdf(x))
    std, mean = 0.7, 1.2
    theta = [mean / std**2, -0.5 / std**2]
    np.testing.assert_allclose(NORMAL.log_density(x, theta), norm(mean, std).logpdf(x))
    np.testing.assert_allclose(NORMAL.fit(norm.rvs(mean, std, 50, random_state=rng)).shape, (2,))


def test_families_fit_far_from_where_newton_starts():
    torch.testing.assert_close(POISSON.fit([900.0, 1100.0]).exp(), torch.tensor([1000.0], dtype=torch.float64))
    torch.testing.assert_close(EXPONENTIAL.fit([1e-4, 3e-4]), torch.tensor([-5000.0], dtype=torch.float64))
    theta = NORMAL.fit([99.0, 101.0])
    torch.testing.assert_close(theta, torch.tensor([100.0, -0.5], dtype=torch.float64))
