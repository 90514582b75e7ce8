"""Kinds of learning that gradlab does not ship: each example learns, and survives being killed, to the bit."""

import random
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from cli_helpers import (
    ForkServer,
    check_same,
    check_sound,
    checkpoints,
    finish,
    line_count,
    shared_folder,
    start,
    wait_until,
)
from sklearn.mixture import GaussianMixture

import gradlab as gl
from gradlab import owners, specs
from gradlab.models import models
from gradlab.recipes import find
from gradlab.studies.seeds import train_seeds

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Kind:
    """An example: how long it must learn to reach what, and a training that is long enough to be killed."""

    name: str
    learns: dict[str, Any]
    reached: Callable[[dict[str, float]], bool]
    killed: list[str]

    @property
    def file(self) -> Path:
        return EXAMPLES / f"{self.name}.py"

    def __str__(self) -> str:
        return self.name


# Log lines, evaluations and checkpoints fall on different steps.
OFTEN = ["train.log_every=5", "train.evaluate_every=6", "train.checkpoint_every=7"]

KINDS = [
    Kind("gan", {"train.steps": 800}, lambda f: f["coverage"] > 0.4 and f["modes"] >= 7, ["train.steps=150"]),
    Kind("vae", {"train.epochs": 20}, lambda f: f["loss"] < 22 and f["kl"] > 2, ["train.steps=250"]),
    Kind("copying", {"train.steps": 260}, lambda f: f["exact"] > 0.7, ["train.steps=60", "data.longest=3"]),
    Kind("mixture", {"train.steps": 30}, lambda f: f["loss"] < 1.8, ["train.steps=150", "data.examples=3000"]),
    Kind("gridworld", {"train.steps": 120}, lambda f: f["return"] > -9, ["train.steps=120"]),
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


@each_kind
def test_it_can_be_read_at_a_glance(kind: Kind) -> None:
    assert len(kind.file.read_text().splitlines()) <= 80


@each_kind
def test_it_learns_what_an_untrained_model_does_not_know(kind: Kind, tmp_path: Path) -> None:
    run = gl.train(kind.name, kind.learns, code=kind.file, out=tmp_path / "run", device="cpu")
    untrained = next(line for line in run.metrics if line["split"] == "validation")
    assert untrained["step"] == 0
    assert not kind.reached(untrained)
    assert kind.reached(run.test), run.test
    baselines = run.finished["baselines"].get("test", {})
    assert not any(kind.reached(figures) for figures in baselines.values())
    assert run.evaluate("test") == run.test  # whatever is drawn for it
    assert (run.path / "report.html").is_file()


@pytest.mark.parametrize("name", ["gan", "vae", "gridworld"])
def test_how_often_it_is_judged_changes_nothing_in_the_training(name: str, tmp_path: Path) -> None:
    """Though its evaluation draws random numbers, as its training does."""
    logged = []
    for every in (1, 4):
        plan = {"train.steps": 8, "train.log_every": 1, "train.evaluate_every": every}
        run = gl.train(name, plan, code=EXAMPLES / f"{name}.py", out=tmp_path / str(every), device="cpu")
        lines = [line for line in run.metrics if line["split"] == "train"]
        logged.append([{key: value for key, value in line.items() if key != "seconds"} for line in lines])
    assert len(logged[0]) == 8
    assert logged[0] == logged[1]


# Killed and gone on with.


@pytest.fixture(scope="session")
def undisturbed(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Path]:
    """`undisturbed(kind)`: the finished run that those which were killed must equal."""

    def run(kind: Kind) -> Path:
        with shared_folder(tmp_path_factory, f"kind-{kind}") as folder:
            if not (folder / "run").exists():
                ended = quick("train", kind.file, *kind.killed, *OFTEN, "--out", "run", "--json", cwd=folder)
                assert ended.code == 0, ended.err
            return folder / "run"

    return run


def kill_and_compare(kind: Kind, reference: Path, folder: Path, seed: int, quick: ForkServer) -> None:
    """Kill it after its first checkpoint, when the log has some random number of lines, and go on with it."""
    run, total = folder / "run", line_count(reference)
    lines = random.Random(f"{kind} {seed}").randint(total // 4, total * 3 // 4)
    process = start("train", kind.file, *kind.killed, *OFTEN, "--out", "run", cwd=folder)
    moment = lambda: line_count(run) >= lines and bool(checkpoints(run))  # noqa: E731
    assert wait_until(moment, process), "the run ended before its moment came"
    process.send_signal(signal.SIGKILL)
    assert finish(process).code == -signal.SIGKILL
    check_sound(run)
    ended = quick("resume", "run", "--code", kind.file, cwd=folder)
    assert ended.code == 0, ended.err
    assert "resuming at step" in ended.out
    check_same(run, reference)
    check_sound(run)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.slow] * (str(kind) not in ("gan", "gridworld")), id=str(kind))
        for kind in KINDS
    ],
)
def test_one_that_was_killed_ends_the_same(
    kind: Kind, undisturbed: Callable[[Kind], Path], quick: ForkServer, tmp_path: Path
) -> None:
    kill_and_compare(kind, undisturbed(kind), tmp_path, 0, quick)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
@each_kind
def test_ones_that_were_killed_at_other_moments_end_the_same(
    kind: Kind, undisturbed: Callable[[Kind], Path], quick: ForkServer, tmp_path: Path, seed: int
) -> None:
    kill_and_compare(kind, undisturbed(kind), tmp_path, seed, quick)


# Expectation-maximisation.


def mixture(components: int, floor: float = 0.0) -> Any:
    owners.load(EXAMPLES / "mixture.py")
    return models["mixture"](specs.Table(2), 0, components=components, floor=floor)


def points(count: int = 400) -> torch.Tensor:
    which = torch.randint(3, [count])
    return (torch.tensor([[-2.0, 0.0], [1.0, 1.0], [1.5, -1.0]])[which] + 0.5 * torch.randn(count, 2)).double()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("components", [1, 2, 5])
def test_no_step_of_em_makes_the_points_less_likely(components: int, seed: int) -> None:
    torch.manual_seed(seed)
    model, x = mixture(components), points()
    likelihoods = [model(x).sum().item()]
    for _ in range(30):
        model.learn_without_gradients(None, {"points": x})
        likelihoods.append(model(x).sum().item())
    assert all(after >= before - 1e-8 for before, after in pairwise(likelihoods))
    assert likelihoods[-1] > likelihoods[0] + 1
    assert model.weights.sum().item() == pytest.approx(1)


def test_em_goes_where_that_of_scikit_learn_goes() -> None:
    model, x = mixture(components=3, floor=1e-4), points()
    peer = GaussianMixture(
        3,
        weights_init=model.weights.numpy(),
        means_init=model.means.numpy(),
        precisions_init=model.covariances.inverse().numpy(),
        reg_covar=1e-4,
        tol=0.0,
        max_iter=20,
    )
    with warnings.catch_warnings(action="ignore"):  # it did not converge: it was stopped, as ours is
        peer.fit(x.numpy())
    for _ in range(20):
        model.learn_without_gradients(None, {"points": x})
    for ours, theirs in (
        (model.weights, peer.weights_),
        (model.means, peer.means_),
        (model.covariances, peer.covariances_),
    ):
        torch.testing.assert_close(ours, torch.from_numpy(theirs), rtol=0, atol=1e-6)
    assert model(x).mean().item() == pytest.approx(peer.score(x.numpy()), abs=1e-9)


# What else is asked of them.


def test_the_plan_says_that_it_learns_without_gradients(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", EXAMPLES / "mixture.py", "train.steps=2", "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "2 steps of 1,000 examples, without gradients" in ended.out


def test_seeds_of_a_task_that_is_judged_by_playing(tmp_path: Path) -> None:
    """It has no examples to learn from, and no loss among its figures."""
    recipe = find(str(EXAMPLES / "gridworld.py")).override({"train.steps": 5})
    found = train_seeds(recipe, 2, tmp_path / "study", torch.device("cpu"))
    assert set(found.spread) == {"return"}
    assert found.baseline["return"] == pytest.approx(-35.9, abs=0.5)
    assert (tmp_path / "study" / "report.html").is_file()
