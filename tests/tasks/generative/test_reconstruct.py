"""The task reconstruct, beside PCA and what is known of it."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.decomposition import PCA as Peer
from torch import nn

import gradlab as gl
from gradlab import api
from gradlab.data import Examples
from gradlab.errors import GradlabError
from gradlab.models import PCA, build_model
from gradlab.registry import Part
from gradlab.specs import Picture, Table
from gradlab.tasks import Reconstruct, compare, evaluate

QUICK = {"doctor": False}


@pytest.fixture
def pixels():
    torch.manual_seed(0)
    x = (torch.randn(200, 3) @ torch.randn(3, 6)).sigmoid()
    return Examples.of(x, torch.zeros(200))


@pytest.fixture
def model():
    torch.manual_seed(1)
    return build_model(Part("autoencoder", {"dims": 2, "hidden": [8]}), Table(6), 0)


def test_figures_are_those_of_the_formulas(pixels, model):
    figures = evaluate(model, Reconstruct(peak=2.0), pixels)
    wanted = F.mse_loss(model(pixels.inputs), pixels.inputs).item()
    assert figures["loss"] == pytest.approx(wanted, rel=1e-5)
    assert figures["rmse"] == pytest.approx(math.sqrt(wanted), rel=1e-5)
    assert figures["psnr"] == pytest.approx(20 * math.log10(2 / math.sqrt(wanted)), rel=1e-5)
    assert set(evaluate(model, Reconstruct(), pixels)) == {"loss", "rmse"}


def test_cross_entropy_takes_logits_and_shows_probabilities(pixels, model):
    task = Reconstruct(error="bernoulli")
    figures, shown = evaluate(model, task, pixels), model(pixels.inputs).sigmoid()
    assert figures["loss"] == pytest.approx(F.binary_cross_entropy(shown, pixels.inputs).item(), rel=1e-5)
    assert figures["rmse"] == pytest.approx(F.mse_loss(shown, pixels.inputs).sqrt().item(), rel=1e-5)
    torch.testing.assert_close(task.reconstruct(model, pixels.inputs), shown.detach())


@pytest.mark.parametrize("error", ["squared", "bernoulli"])
def test_baselines_are_the_mean_and_pca_with_as_many_numbers(pixels, model, error):
    task, x = Reconstruct(error=error), pixels.inputs.numpy()
    figures = compare(task.baselines(pixels, model), task, pixels)
    peer = Peer(2).fit(x)
    back = peer.inverse_transform(peer.transform(x))
    back = back if error == "squared" else back.clip(1e-3, 1 - 1e-3)
    assert list(figures) == ["training mean", "PCA, 2 numbers"]
    assert figures["PCA, 2 numbers"]["rmse"] == pytest.approx(np.sqrt(((back - x) ** 2).mean()), rel=1e-3)
    assert figures["training mean"]["rmse"] == pytest.approx(x.std(0).__pow__(2).mean() ** 0.5, rel=1e-4)
    assert task.constant_loss(pixels, model, pixels) == pytest.approx(figures["training mean"]["loss"], rel=1e-5)
    assert list(task.baselines(pixels, PCA([6], 2))) == ["training mean"]
    assert list(task.baselines(pixels, nn.Identity())) == ["training mean"]


def test_training_inputs_are_disturbed_and_targets_are_not(pixels):
    seen = []

    class Echo(nn.Module):
        def forward(self, x):
            seen.append(x)
            return x

    x = torch.ones(4000, 6)
    task = Reconstruct(noise=0.5)
    total, count = task.objectives()["reconstruction"].loss(Echo(), {"inputs": x})
    assert (total / count).item() == pytest.approx(0.25, rel=0.05)
    masked = Reconstruct(mask=0.25).disturbed(x)
    assert masked.mean().item() == pytest.approx(0.75, abs=0.02)
    assert set(masked.unique().tolist()) == {0.0, 1.0}
    evaluate(Echo(), task, pixels)
    assert torch.equal(seen[-1], pixels.inputs)
    assert not task.trains_by_its_loss
    assert Reconstruct().trains_by_its_loss


def test_sparsity_counts_the_sizes_of_codes_in_training_alone(pixels, model):
    task = Reconstruct(sparsity=0.3)
    losses = task.objectives()["reconstruction"].loss(model, {"inputs": pixels.inputs})
    assert losses.keys() == {"reconstruction", "sparsity"}
    total, count = losses["sparsity"]
    assert (total / count).item() == pytest.approx(0.3 * model.encode(pixels.inputs).abs().sum(1).mean().item())
    assert evaluate(model, task, pixels)["loss"] == evaluate(model, Reconstruct(), pixels)["loss"]
    with pytest.raises(GradlabError, match="needs the methods encode and decode"):
        task.objectives()["reconstruction"].loss(nn.Identity(), {"inputs": pixels.inputs})


def test_sparser_codes_are_learned_where_they_count(tmp_path):
    def mean_size(sparsity):
        changes = {**QUICK, "train.steps": 60, "task.sparsity": sparsity}
        run = gl.train("digits-autoencoder", changes, out=tmp_path / str(sparsity))
        return run.task.encode(run.model, run.dataset.test.inputs).abs().mean()

    assert mean_size(0.01) < 0.5 * mean_size(0.0)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": "mlp"}, "model=mlp gives outputs to compare with a target, and this task asks for none"),
        ({"model": "gaussian-mixture"}, r"task=reconstruct needs \(1, 8, 8\)"),
        ({"data.preprocess": "standardise", "task.error": "bernoulli"}, r"Set data\.preprocess=scale"),
    ],
)
def test_what_cannot_be_reconstructed_is_refused(changes, says):
    with pytest.raises(GradlabError, match=says):
        api.prepare("digits-autoencoder", changes, device="cpu")


def test_pca_by_the_loop_is_that_of_scikit_learn(tmp_path):
    run = gl.train("digits-pca", QUICK, out=tmp_path / "run")
    train, test = (getattr(run.dataset, split).inputs.flatten(1).numpy() for split in ("train", "test"))
    peer = Peer(16, svd_solver="full").fit(train)
    back = peer.inverse_transform(peer.transform(test))
    assert run.test["rmse"] == pytest.approx(np.sqrt(((back - test) ** 2).mean()), rel=1e-4)
    raw = run.dataset.raw.inputs[run.dataset.test.rows[:3]]
    codes = run.predict(raw)
    assert codes.shape == (3, 16)
    np.testing.assert_allclose(np.abs(codes), np.abs(peer.transform(test[:3])), atol=1e-4)


def test_the_optimum_of_a_linear_autoencoder_spans_the_principal_axes(tmp_path):
    """Baldi & Hornik 1989: no other minimum, and there PCA's error; the axes themselves are not found."""
    linear = {"model.hidden": [], "model.dims": 4, "train.steps": 15, "train.optimizer": "lbfgs"}
    linear |= {"train.batch_size": "full", "train.lr": 1.0, "train.weight_decay": 0.0, "train.keep": "last"}
    linear |= {"data.preprocess": "standardise", "task.peak": None}
    run = gl.train("digits-autoencoder", {**QUICK, **linear}, out=tmp_path / "run")
    x = run.dataset.train.inputs
    pca = PCA([1, 8, 8], 4).fit(x)
    ours, best = (F.mse_loss(model(x), x).item() for model in (run.model, pca))
    assert best <= ours < best + 1e-3
    assert best > 0.1  # there is something that neither can tell
    columns = run.model.decoder[0].weight.detach()
    within = (columns.T @ pca.axes.T) @ pca.axes
    assert (within - columns.T).norm() < 0.03 * columns.norm()


def test_codes_are_made_examples_again():
    torch.manual_seed(0)
    model, x = build_model(Part("autoencoder", {"dims": 2}), Picture(1, 3, 3), 0), torch.rand(5, 1, 3, 3)
    for task in (Reconstruct(), Reconstruct(error="bernoulli")):
        torch.testing.assert_close(task.from_codes(model, task.encode(model, x)), task.reconstruct(model, x))
