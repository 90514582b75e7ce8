"""The task density: what it says does not depend on how inputs are prepared."""

import math

import pytest
import torch
from torch import nn
from torch.distributions import MultivariateNormal

import gradlab as gl
from gradlab import api
from gradlab.data import Examples, Preprocessing, Targets
from gradlab.errors import GradlabError
from gradlab.models import PCA
from gradlab.tasks import Density, compare, evaluate

QUICK = {"train.steps": 5, "doctor": False}


@pytest.mark.parametrize("method", ["standardise", "scale", "none"])
def test_figures_of_a_gaussian_are_those_of_raw_units_however_inputs_are_prepared(method):
    found = api.prepare("moons-mixture", {**QUICK, "data.preprocess": method, "model.components": 1}, device="cpu")
    task, train, test = found.task, found.splits["train"], found.splits["test"]
    raw = torch.from_numpy(found.dataset.raw.inputs).double()
    seen, held = raw[found.dataset.train.rows], raw[found.dataset.test.rows]
    wanted = -MultivariateNormal(seen.mean(0), torch.cov(seen.T)).log_prob(held).mean().item()
    figures = compare(task.baselines(train, found.model), task, test)["one Gaussian"]
    assert figures["nats"] == pytest.approx(wanted, abs=1e-4)
    assert figures["loss"] == figures["nats"]
    assert figures["bits_per_dim"] == pytest.approx(wanted / 2 / math.log(2), abs=1e-4)


def test_pictures_have_one_scale_for_each_channel_and_a_number_for_each_pixel():
    found = api.prepare("digits-pca", {"task": "density", "data.preprocess": "scale"}, device="cpu")
    assert found.task.targets.log_scale == pytest.approx(64 * math.log(16))
    figures = evaluate(found.model, found.task, found.splits["test"])
    x = found.splits["test"].inputs.flatten(1).double()  # before its step it is N(0, I)
    assert figures["nats"] == pytest.approx(
        (x.square().sum(1) / 2).mean() + 32 * math.log(2 * math.pi) + 64 * math.log(16)
    )


def test_a_mixture_beats_one_gaussian_and_a_run_of_it_can_be_opened_and_drawn_from(tmp_path):
    run = gl.train("moons-mixture", {"doctor": False}, out=tmp_path / "run")
    baseline = run.finished["baselines"]["test"]["one Gaussian"]
    assert run.test["nats"] < baseline["nats"] - 0.2
    again = gl.load_run(run.path)
    assert again.evaluate() == run.test
    assert again.task.sample(again.model, 5).shape == (5, 2)


def test_baselines_are_of_what_inputs_are_and_never_the_model_itself():
    task = Density(Targets())
    table, pictures = (Examples.of(torch.randn(30, *shape), torch.zeros(30)) for shape in ([3], [1, 4, 4]))
    assert list(task.baselines(table, nn.Identity())) == ["one Gaussian"]
    assert list(task.baselines(pictures, nn.Identity())) == ["PCA + Gaussian"]
    assert task.baselines(table, PCA([3], 2)) == {}
    one = task.baselines(table, nn.Identity())["one Gaussian"]
    assert task.sample(one, 4).shape == (4, 3)


def test_a_density_of_logarithms_is_none_of_raw_units(rng):
    fitted = Preprocessing.fit(rng.lognormal(size=(50, 2)), "standardise", ["a", "b"], [], logs=["b"])
    with pytest.raises(GradlabError, match=r"leave out data\.log"):
        Density(fitted.complete(Targets()))


def test_a_model_that_tells_no_density_is_refused():
    with pytest.raises(GradlabError, match=r"by a method log_prob\(x\)"):
        api.prepare("moons-mixture", {"model": "autoencoder"}, device="cpu")
    with pytest.raises(GradlabError, match="draws none"):
        Density(Targets()).sample(nn.Identity(), 3)
