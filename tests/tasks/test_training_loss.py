"""What a run minimises, and what it tells: only the former is smoothed and weighted."""

import pytest
import torch

from gradlab.recipes import find
from gradlab.tasks import tasks
from gradlab.training.experiment import Experiment, start
from gradlab.training.fit import fit

CPU = torch.device("cpu")
ONE_STEP = {"train.steps": 1, "train.batch_size": "full", "train.threads": 1}
KNOBS = {"task.label_smoothing": 0.3, "task.class_weights": "balanced"}
PLAYING = ("a2c", "dqn", "monte-carlo", "planning", "ppo", "reinforce", "sac", "temporal-difference")


@pytest.mark.parametrize("optimizer", ["sgd", "lbfgs"])
@pytest.mark.parametrize(("recipe", "task"), [("wine-mlp", "classify"), ("breast-cancer-mlp", "bernoulli")])
def test_a_step_is_of_the_training_loss_and_an_evaluation_of_the_plain_one(recipe, task, optimizer, tmp_path):
    changes = {**ONE_STEP, "model": "linear", "task": task, **KNOBS, "train.optimizer": optimizer}
    experiment = Experiment.of(find(recipe).override(changes), CPU)
    train, validation = experiment.splits["train"], experiment.splits["validation"]
    with torch.no_grad():
        for parameter in experiment.model.parameters():
            parameter.mul_(4)  # so sure of itself that smoothing costs it a lot
        output, held = experiment.model(train.inputs), experiment.model(validation.inputs)
        minimised, count = experiment.task.training_loss(output, train.targets)
        plain = experiment.task.loss(held, validation.targets)[0] / len(validation)
        assert abs(minimised / count - experiment.task.loss(output, train.targets)[0] / count) > 0.01
    lines = start(experiment, tmp_path / "run").metrics
    (step,) = [line for line in lines if line["split"] == "train"]
    first = next(line for line in lines if line["split"] == "validation")
    assert step["loss"] == pytest.approx((minimised / count).item(), rel=1e-5)
    assert first["loss"] == pytest.approx(plain.item(), rel=1e-5)


def test_balanced_weights_come_from_the_training_split():
    experiment = Experiment.of(find("breast-cancer-mlp").override(KNOBS), CPU)
    targets = experiment.dataset.train.targets
    assert experiment.dataset.targets.counts == targets.bincount().tolist()
    assert experiment.task.weights[targets].mean().item() == pytest.approx(1, rel=1e-5)


def test_every_task_says_what_it_learns_from():
    assert {name: getattr(tasks[name], "wants", None) for name in tasks} == {
        **dict.fromkeys(PLAYING, "environment"),
        "auto": None,
        "bernoulli": "classes",
        "classify": "classes",
        "density": None,
        "diffusion": None,
        "forecast": "series",
        "gan": None,
        "language": "tokens",
        "margin": "classes",
        "masked": "masked",
        "pixelcnn": None,
        "poisson": "numbers",
        "reconstruct": None,
        "regress": "numbers",
        "seq2seq": "pairs",
        "vae": None,
    }


def test_a_loss_of_ones_own_is_minimised_as_it_is():
    x, y = torch.randn(20, 3), torch.randn(20, 1)
    fitted = fit(torch.nn.Linear(3, 1), (x, y), loss=torch.nn.functional.l1_loss, batch_size="full", epochs=1)
    assert [line["split"] for line in fitted.history] == ["train"]
