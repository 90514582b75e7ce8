"""Each check passes on sound experiments, and goes red on the fault it is for."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.studies.checklist import failures, initial_loss, run_checks
from gradlab.tasks import evaluate
from gradlab.training import experiment as training


def states(experiment):
    return {check.name: check.state for check in run_checks(experiment)}


def by_heart(found):
    return next(state for name, state in found.items() if name.endswith("by heart"))


@pytest.mark.parametrize(
    "name",
    [
        "digits-mlp",
        "digits-softmax",
        "iris-softmax",
        "wine-mlp",
        "diabetes-linear",
        "diabetes-mlp",
        "moons-mlp",
        "linear-regression",
        "counts-poisson",
    ],
)
def test_recipes_that_ship_pass(prepare, name):
    checks = run_checks(prepare(name))
    assert failures(checks) is None, checks
    assert len(checks) == 5


def test_the_numbers_are_told(prepare):
    checks = {check.name: check for check in run_checks(prepare("digits-mlp"))}
    assert f"{math.log(10):.4f} (log 10)" in checks["initial loss"].measured
    assert "24 examples by heart" in checks
    assert "accuracy 1" in checks["24 examples by heart"].measured


def test_the_experiment_is_left_as_it_was_and_trains_to_the_same_bits(prepare, tmp_path):
    changes = {"model.hidden": [16, 16], "train.steps": 40}
    checked, plain = (prepare("digits-dropout", changes) for _ in range(2))
    state = torch.get_rng_state()
    run_checks(checked)
    assert torch.equal(torch.get_rng_state(), state)
    runs = [training.start(e, tmp_path / name) for e, name in ((checked, "checked"), (plain, "plain"))]
    assert runs[0].test == runs[1].test
    for ours, theirs in zip(*(run.model.state_dict().values() for run in runs), strict=True):
        assert torch.equal(ours, theirs)


def test_weights_that_are_too_large_show_in_the_initial_loss(prepare):
    experiment = prepare("digits-mlp")
    with torch.no_grad():
        for parameter in experiment.model.parameters():
            parameter.mul_(20)
    found = run_checks(experiment)
    assert found[0].state == "failed"
    assert found[0].advice == "The first outputs are large: start from smaller weights."  # inputs are standardised
    error = failures(found)
    assert error is not None
    assert error.exit_code == 3
    assert "initial loss" in str(error)


@pytest.mark.parametrize(("spread", "advised"), [(1, False), (1000, True)])
def test_only_inputs_that_are_not_standardised_are_to_be_standardised(prepare, tmp_path, rng, spread, advised):
    x, y = spread * rng.normal(size=(200, 5)), np.arange(200) % 2
    experiment = prepare("npz", {**npz(tmp_path, x, y), "data.preprocess": "none"})
    with torch.no_grad():
        for parameter in experiment.model.parameters():
            parameter.mul_(20)
    check = initial_loss(experiment)
    assert check.state == "failed"
    assert ("standardise the inputs" in check.advice) == advised


RESNET = {"data": "digits", "model": "resnet20", "model.width": 8, "train.steps": 6}


def test_the_initial_loss_of_batch_normalization_is_that_of_a_training_batch(prepare):
    experiment = prepare("mnist-resnet20", RESNET)
    assert initial_loss(experiment).state == "passed"
    evaluated = evaluate(experiment.model, experiment.task, experiment.splits["train"].sample(256))["loss"]
    assert experiment.initial_loss() < 2 * math.log(10) < evaluated  # with running statistics of no batch


def test_a_model_without_weights_is_not_regularised(prepare):
    class Offset(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return x[:, :1] + self.bias

    experiment = replace(prepare("linear-regression"), model=Offset())
    found = states(experiment)
    assert found["regularisation"] == "failed"
    assert by_heart(found) == "failed"  # and it cannot learn anything by heart


def npz(tmp_path, x, y):
    np.savez(tmp_path / "data.npz", x=x, y=y)
    return {"data.path": str(tmp_path / "data.npz")}


def test_equal_inputs_with_different_targets_cannot_be_learned_by_heart(prepare, tmp_path, rng):
    x = np.repeat(rng.normal(size=(50, 4)), 2, axis=0)
    x[:] = x[0]
    checks = run_checks(prepare("npz", npz(tmp_path, x, np.arange(100) % 2)))
    failed = next(c for c in checks if c.name.endswith("by heart"))
    assert failed.state == "failed"
    assert "different targets" in failed.advice


def test_a_learning_rate_that_is_too_small_is_named_as_the_culprit(prepare):
    checks = run_checks(prepare("digits-mlp", {"train.lr": 1e-7}))
    failed = next(c for c in checks if c.name.endswith("by heart"))
    assert failed.state == "failed"
    assert "learning rate is at fault" in failed.advice
    ratios = next(c for c in checks if c.name == "update / weight")
    assert ratios.state == "warning"
    assert "hardly moves" in ratios.advice


def test_rash_steps_are_seen(prepare):
    assert states(prepare("digits-mlp", {"train.lr": 3.0}))["update / weight"] == "failed"
    assert states(prepare("linear-regression", {"train.lr": 1e30}))["update / weight"] == "failed"  # it diverges
    assert states(prepare("digits-mlp", {"train.lr": 1e-4}))["update / weight"] == "passed"


def test_training_on_zeros_that_diverges_skips_the_comparison(prepare):
    tiny = prepare("moons-mlp", {"train.max_norm": 1e-300})
    compared = next(check for check in run_checks(tiny) if check.name == "inputs matter")
    assert compared.state == "skipped"
    assert "on zeros diverged" in compared.measured


def test_targets_that_do_not_belong_to_their_inputs_are_seen(prepare, tmp_path, rng):
    x = rng.normal(size=(400, 5))
    y = (x[:, 0] > 0).astype(int)
    assert states(prepare("npz", npz(tmp_path, x, y)))["inputs matter"] == "passed"
    checks = run_checks(prepare("npz", npz(tmp_path, x, rng.permutation(y))))
    failed = next(c for c in checks if c.name == "inputs matter")
    assert failed.state == "failed"
    assert "belong to the inputs" in failed.advice


def test_regularisation_is_off_while_a_few_examples_are_learned(prepare):
    strong = {"train.weight_decay": 5.0, "train.l1": 1.0, "model.dropout": 0.9, "task.label_smoothing": 0.9}
    assert by_heart(states(prepare("digits-mlp", strong))) == "passed"


def test_the_small_subset_has_every_class(prepare):
    from gradlab.studies.checklist import _subset

    subset = _subset(prepare("digits-mlp"))
    assert len(subset) == 24
    assert sorted(set(subset.targets.tolist())) == list(range(10))
    assert len(_subset(prepare("iris-softmax"))) == 5  # as many as a linear map of four inputs can always part


def test_dropout_is_off_in_the_copy_alone(prepare):
    from gradlab.studies.checklist import _without_dropout

    model = prepare("digits-dropout").model
    free = _without_dropout(model)
    assert [m.p for m in free.modules() if isinstance(m, nn.Dropout)] == [0.0, 0.0]
    assert [m.p for m in model.modules() if isinstance(m, nn.Dropout)] == [0.3, 0.3]


def test_a_model_that_is_fed_zeros_is_judged_by_zeros_too(prepare):
    from gradlab.studies.checklist import _Short

    blank = _Short.of(prepare("digits-mlp"), blank=True)
    assert len(set(blank.losses)) == 10  # it can tell examples apart by their class alone
