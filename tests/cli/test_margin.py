"""Support vector machines through the command line: trained, used, killed and resumed, and refused."""

import signal
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, check_same, check_sound, kill_after
from sklearn.svm import SVC

import gradlab as gl


@pytest.fixture(scope="module")
def moons(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("svm")
    ended = quick("train", "moons-svm", "--out", "svm", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert "doctor failed" not in ended.err
    assert ended.json["test"]["accuracy"] > 0.93
    return folder / "svm"


def test_the_recipe_ends_at_the_optimum_of_svc(moons: Path) -> None:
    run = gl.load_run(moons)
    assert run.model.optimal
    train = run.dataset.train
    x, y = train.inputs[:].double().numpy(), train.targets[:].numpy()
    other = SVC(gamma=float(run.model.gamma), tol=1e-3).fit(x, y)
    assert len(set(run.model.rows.tolist()) ^ set(other.support_)) <= 3  # up to the tolerance
    values = run.model(train.inputs[:])[:, 0].numpy()
    assert values == pytest.approx(other.decision_function(x), abs=5e-3)


def test_the_report_draws_margin_and_support_vectors(moons: Path) -> None:
    page = (moons / "report.html").read_text()
    count = len(gl.load_run(moons).model.rows)
    assert f"{count} support vectors of 680 training examples" in page
    assert "Margin and support vectors" in page
    assert '"name":"f = ±1"' in page.replace('": "', '":"') or "f = \\u00b11" in page
    assert "not the optimum yet" not in page


def test_a_machine_that_is_stopped_early_says_so(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "moons-svm", "train.epochs=2", "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "This is not the optimum yet" in (tmp_path / "run" / "report.html").read_text()


def test_it_is_evaluated_and_predicts_with_decision_values(quick: ForkServer, moons: Path, tmp_path: Path) -> None:
    again = quick("evaluate", moons, "--json", cwd=tmp_path)
    assert again.json["accuracy"] > 0.93
    (tmp_path / "points.csv").write_text("x0,x1\n0.0,1.0\n1.0,-0.5\n")
    ended = quick("predict", moons, "points.csv", "--json", cwd=tmp_path)
    upper, lower = ended.json["predictions"]
    assert (upper["label"], lower["label"]) == ("upper", "lower")
    assert upper["decision"] < 0 < lower["decision"]


@pytest.mark.parametrize(
    "recipe", [["moons-svm", "model.updates=2"], ["breast-cancer-svm", "train.optimizer=adam", "train.lr=0.01"]]
)
def test_one_that_was_killed_ends_the_same(recipe: list[str], quick: ForkServer, tmp_path: Path) -> None:
    often = ["train.steps=150", "train.log_every=5", "train.evaluate_every=6", "train.checkpoint_every=7"]
    arguments = ["train", *recipe, *often]
    assert quick(*arguments, "--out", "whole", "--json", cwd=tmp_path).code == 0
    ended = kill_after(tmp_path / "run", 20, *arguments, "--out", "run", cwd=tmp_path)
    assert ended.code == -signal.SIGKILL, ended.err
    assert quick("resume", "run", cwd=tmp_path).code == 0
    check_same(tmp_path / "run", tmp_path / "whole")
    check_sound(tmp_path / "run")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["model.kernel=sigmoid", "model.gamma=1"], "The sigmoid kernel is not positive definite on these examples"),
        (["data.classes=upper"], "class"),
        (["task.C=1"], "Set model.C instead"),
        (["model.gamma=-1"], "gamma"),
        (["train.optimizer=lbfgs"], "learns without gradients: leave train.optimizer=lbfgs out"),
    ],
)
def test_what_cannot_be_learned_is_refused(arguments: list[str], words: str, quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("train", "moons-svm", *arguments, "--out", "run", cwd=tmp_path), words)
    assert not (tmp_path / "run").exists()


def test_one_class_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("x,z,y\n" + "".join(f"{i},{i * i % 7},a\n" for i in range(40)))
    chosen = ["data.target=y", "task=margin", "model=support-vector-classifier"]
    check_refused(quick("train", "csv", "--data", "one.csv", *chosen, "--out", "run", cwd=tmp_path), "only one class")
