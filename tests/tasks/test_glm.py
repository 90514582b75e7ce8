"""A task with a linear model is a generalised linear model: at the optimum it has the coefficients of statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
import torch
from torch import nn

from gradlab.data import Targets
from gradlab.tasks import Bernoulli, Classify, Poisson, Regress

COUNT, FEATURES = 400, 3


@pytest.fixture
def x(rng):
    return rng.normal(size=(COUNT, FEATURES))


@pytest.fixture
def z(rng, x):
    """A linear law."""
    return x @ rng.normal(0, 0.7, FEATURES) + 0.4


def fitted(task, x, y):
    """Weights and bias of the linear model with the least loss, no weight decay, in double precision."""
    inputs, targets = torch.from_numpy(x), task.encode(torch.from_numpy(y))
    model = nn.Linear(FEATURES, task.outputs).double()
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=1000, tolerance_grad=1e-12, tolerance_change=1e-15, line_search_fn="strong_wolfe"
    )

    def mean_loss():
        optimizer.zero_grad()
        total, count = task.training_loss(model(inputs), targets)
        (total / count).backward()
        return total / count

    optimizer.step(mean_loss)
    return model.weight.detach().numpy(), model.bias.detach().numpy()


def judged(family, x, y):
    """Intercept first."""
    return sm.GLM(y, sm.add_constant(x), family=family).fit(tol=1e-14).params


def test_regress_is_the_gaussian_model(rng, x, z):
    y = 50 + 7 * z + rng.normal(0, 3, COUNT)
    task = Regress(Targets.of(y, None))
    weight, bias = fitted(task, x, y)
    expected = judged(sm.families.Gaussian(), x, y)
    scale = task.std.item()
    np.testing.assert_allclose(scale * weight[0], expected[1:], rtol=1e-6)
    np.testing.assert_allclose(scale * bias + task.mean.item(), expected[:1], rtol=1e-6)


def test_bernoulli_is_logistic_regression(rng, x, z):
    y = (rng.uniform(size=COUNT) < 1 / (1 + np.exp(-z))).astype(np.int64)
    weight, bias = fitted(Bernoulli(Targets.of(y, ["no", "yes"])), x, y)
    expected = judged(sm.families.Binomial(), x, y)
    np.testing.assert_allclose(weight[0], expected[1:], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(bias, expected[:1], rtol=1e-5, atol=1e-7)


def test_poisson_is_the_log_linear_model_of_counts(rng, x, z):
    y = rng.poisson(np.exp(z)).astype(np.float64)
    task = Poisson(Targets.of(y, None))
    weight, bias = fitted(task, x, y)
    expected = judged(sm.families.Poisson(), x, y)
    np.testing.assert_allclose(weight[0], expected[1:], rtol=1e-5, atol=1e-7)
    # A model starts at the training mean, so that its bias is relative to the logarithm of that.
    np.testing.assert_allclose(bias + task.scale.log().item(), expected[:1], rtol=1e-5, atol=1e-6)


def test_classify_is_multinomial_logistic_regression(rng, x):
    logits = x @ rng.normal(0, 0.8, (FEATURES, 3)) + [0.0, 0.5, -0.3]
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    weight, bias = fitted(Classify(Targets.of(y, ["a", "b", "c"])), x, y)
    params = sm.MNLogit(y, sm.add_constant(x)).fit(method="newton", maxiter=100, disp=0).params
    # The judge holds the first class at zero; only differences of logits are seen in the data.
    np.testing.assert_allclose((weight - weight[0])[1:], params[1:].T, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose((bias - bias[0])[1:], params[0], rtol=1e-5, atol=1e-7)
