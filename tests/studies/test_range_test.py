"""The range test suggests a rate that works, on problems where one knows which do."""

import json

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.studies.range_test import HIGH, LOW, find_rate, smooth, suggest


def hessian(experiment):
    """Of the mean squared error of a linear model with bias."""
    x = experiment.dataset.train.inputs
    wide = torch.cat([x, torch.ones(len(x), 1)], 1).double()
    return 2 * wide.T @ wide / len(wide)


@pytest.mark.parametrize("features", [1, 5, 20])
@pytest.mark.parametrize("scale", ["standardise", "none"])
def test_on_a_quadratic_the_suggestion_is_stable_and_within_two_orders_of_the_limit(prepare, features, scale):
    changes = {"data.features": features, "data.preprocess": scale, "train.batch_size": "full"}
    experiment = prepare("linear-regression", changes)
    limit = 2 / torch.linalg.eigvalsh(hessian(experiment))[-1].item()  # gradient descent converges below 2 / λ_max
    found = find_rate(experiment)
    assert found.suggestion is not None
    assert limit / 100 < found.suggestion < limit


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_small_batches_does_not_move_the_suggestion_far(prepare, seed):
    found = find_rate(prepare("linear-regression", {"train.batch_size": 8, "train.seed": seed}))
    assert found.suggestion is not None
    assert 0.005 < found.suggestion < 0.1


def test_inputs_ten_times_as_large_want_a_rate_a_hundred_times_as_small(prepare, tmp_path):
    x = np.random.default_rng(0).normal(size=(200, 4))
    y = x @ [1.0, -2.0, 3.0, 0.5]
    rates = []
    for factor in (1, 10):
        np.savez(tmp_path / f"{factor}.npz", x=factor * x, y=y)
        changes = {"data.path": str(tmp_path / f"{factor}.npz"), "data.preprocess": "none", "task": "regress"}
        plan = {"model": "linear", "train.optimizer": "sgd", "train.batch_size": "full"}
        rates.append(find_rate(prepare("npz", {**changes, **plan})).suggestion)
    assert rates[0] / rates[1] == pytest.approx(100, rel=0.5)


def test_the_rate_rises_evenly_in_the_logarithm_until_the_loss_explodes(prepare):
    found = find_rate(prepare("digits-mlp"))
    steps = np.diff(np.log(found.rates))
    assert found.rates[0] == pytest.approx(LOW)
    assert steps == pytest.approx(np.full(len(steps), steps[0]))
    assert found.rates[-1] < HIGH
    assert found.stopped == "a loss of 4 times the best"
    assert found.smoothed[-1] > 4 * min(found.smoothed)
    best = found.smoothed.index(min(found.smoothed))
    assert max(found.smoothed[best:-1]) <= 4 * min(found.smoothed)


def test_the_model_and_torch_are_left_as_they_were(prepare):
    experiment = prepare("digits-dropout", {"model.hidden": [16, 16]})
    before = {k: v.clone() for k, v in experiment.model.state_dict().items()}
    state = torch.get_rng_state()
    find_rate(experiment)
    assert all(torch.equal(v, before[k]) for k, v in experiment.model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_training_with_the_suggestion_beats_training_far_from_it(prepare, tmp_path):
    from gradlab.training.experiment import start

    rate = find_rate(prepare("digits-mlp")).suggestion
    losses = {}
    for factor in (0.003, 1, 300):
        chosen = {"train.lr": rate * factor, "train.epochs": 2}
        losses[factor] = start(prepare("digits-mlp", chosen), tmp_path / str(factor)).validation["loss"]
    assert losses[1] < min(losses[0.003], losses[300])


def test_where_nothing_can_be_learned_nothing_is_suggested(prepare, tmp_path):
    x = np.zeros((64, 3))
    np.savez(tmp_path / "d.npz", x=x, y=np.arange(64) % 2)
    found = find_rate(prepare("npz", {"data.path": str(tmp_path / "d.npz"), "train.optimizer": "sgd"}))
    assert found.suggestion is None


def test_lbfgs_is_refused(prepare, out):
    with pytest.raises(GradlabError, match="lbfgs"):
        find_rate(prepare("iris-softmax"), out=out)
    assert not out.exists()


def test_the_folder_holds_the_curve_and_no_run(prepare, out):
    found = find_rate(prepare("moons-mlp"), out=out, command="gradlab train moons-mlp")
    assert {path.name for path in out.iterdir()} == {"study.json", "report.html"}
    assert json.loads((out / "study.json").read_text())["result"]["suggestion"] == found.suggestion
    assert f"gradlab train moons-mlp train.lr={found.suggestion:g}" in (out / "report.html").read_text()
    with pytest.raises(GradlabError, match="exists already"):
        find_rate(prepare("moons-mlp"), out=out)


def test_smoothing_is_the_weighted_mean_of_all_values_so_far():
    values = [3.0, 1.0, 4.0, 1.0, 5.0]
    weights = [0.8 ** (4 - i) for i in range(5)]
    assert smooth(values, 0.8)[-1] == pytest.approx(np.average(values, weights=weights))
    assert smooth(values, 0.8)[0] == pytest.approx(3.0)  # without the correction it would be 0.6


def test_the_steepest_decade_of_a_known_curve_is_found():
    rates = np.geomspace(1e-7, 10, 200)
    losses = 2 - 1 / (1 + (3e-3 / rates) ** 2)  # a sigmoid over log rate, steepest at 3e-3
    assert suggest(rates.tolist(), losses.tolist()) == pytest.approx(3e-3, rel=0.1)
    assert suggest(rates.tolist(), [1.0] * 200) is None
    assert suggest([], []) is None
