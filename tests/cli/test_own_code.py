"""Recipes and parts that people bring: `gradlab train mine.py`, and `--code mine.py` for whatever uses the run."""

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import tomllib
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import (
    Finished,
    ForkServer,
    check_refused,
    check_same,
    contents,
    environment,
    fresh,
    gradlab,
    kill_after,
    line_count,
    losses,
    signal_after,
)
from own_files import CLOUDS, PAIRS, STREAM

# Long enough to be stopped in the middle; log lines, evaluations and checkpoints fall on different steps.
LONG = ["train.steps=600", "train.log_every=5", "train.evaluate_every=3", "train.checkpoint_every=7"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with somebody's file."""
    (tmp_path / "mine.py").write_text(PAIRS)
    return tmp_path


@pytest.fixture(scope="module")
def trained(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `gradlab train mine.py`; the tests look and copy."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text(PAIRS)
    ended = quick("train", "mine.py", "--out", "run", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    (folder / "stdout.json").write_text(ended.out)
    return folder / "run"


def result(run: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads((run / "result.json").read_text())
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def ended_well(ended: Finished) -> Finished:
    assert ended.code == 0, ended.err
    assert ended.err == ""
    return ended


# Training.


def test_a_file_trains_and_its_run_keeps_a_copy_and_its_sum(trained: Path) -> None:
    mine = trained.parent / "mine.py"
    assert json.loads((trained / "environment.json").read_text())["code"] == {"mine.py": sha256(mine)}
    assert (trained / "code" / "mine.py").read_bytes() == mine.read_bytes()
    printed = json.loads((trained.parent / "stdout.json").read_text())
    assert printed["recipe"] == "my-pairs"
    assert set(printed["test"]) == {"loss", "infonce", "found"}
    assert printed["test"]["found"] > 0.5  # one of ten would be found by chance
    assert printed["steps"] == 15
    assert (trained / "report.html").is_file()


def test_knobs_of_ones_own_parts_are_set_as_ours_are(quick: ForkServer, work: Path, trained: Path) -> None:
    knobs = ("model.width=5", "data.noise=0.3", "task.temperature=0.5", "train.lr=0.02")
    printed = ended_well(quick("train", "mine.py", *knobs, "--out", "run", "--json", cwd=work)).json
    assert printed["parameters"] == 4 * 5 + 5 + 5 * 4 + 4
    asked = tomllib.loads((work / "run" / "recipe.toml").read_text())
    assert (asked["model"]["width"], asked["data"]["noise"], asked["task"]["temperature"]) == (5, 0.3, 0.5)
    assert printed["test"] != result(trained)["test"]
    check_refused(quick("train", "mine.py", "model.wide=5", cwd=work), "'wide'", "Did you mean 'width'")
    check_refused(quick("train", "mine.py", "model.width=much", cwd=work), "model.width=much", "int")


def test_the_plan_is_shown_as_for_a_recipe_of_ours(quick: ForkServer, work: Path) -> None:
    out = ended_well(quick("train", "mine.py", "--out", "run", cwd=work)).out
    assert "data         views: 40 train, 10 validation, 10 test examples" in out
    assert "model        twins: 76 parameters" in out
    assert "found" in out


OTHER = """

@gl.register.recipe
def wide_pairs():
    return gl.Recipe("wide-pairs", "views", {"name": "twins", "width": 32}, "match", {"epochs": 1})
"""


def test_of_several_recipes_one_is_picked(quick: ForkServer, work: Path) -> None:
    (work / "mine.py").write_text(PAIRS + OTHER)
    before = contents(work)
    check_refused(quick("train", "mine.py", cwd=work), "2 recipes: my-pairs, wide-pairs", "mine.py:my-pairs")
    check_refused(quick("train", "mine.py:wide-pears", cwd=work), "mine.py", "Did you mean 'wide-pairs'")
    check_refused(quick("train", "mine.py:digits-mlp", cwd=work), "There is no recipe in mine.py, 'digits-mlp'")
    assert contents(work) == before
    printed = ended_well(quick("train", "mine.py:wide-pairs", "--json", cwd=work)).json
    assert printed["recipe"] == "wide-pairs"
    assert printed["parameters"] == 4 * 32 + 32 + 32 * 4 + 4
    assert re.fullmatch(r"runs/wide-pairs-[0-9a-f]{4}", printed["run"])


def test_a_part_of_ones_own_goes_into_a_recipe_of_ours(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CLOUDS)
    few = ("train.epochs=1", "model.width=8")
    command = ("train", "digits-mlp", "model=small", *few, "--code", "mine.py", "--out", "run")
    printed = ended_well(quick(*command, "--json", cwd=tmp_path)).json
    assert printed["parameters"] == 64 * 8 + 8 + 8 * 10 + 10
    assert json.loads((tmp_path / "run" / "environment.json").read_text())["code"] == {
        "mine.py": sha256(tmp_path / "mine.py")
    }
    check_refused(quick(*command[:3], cwd=tmp_path), "There is no model 'small'")
    check_refused(quick("evaluate", "run", cwd=tmp_path), "--code mine.py")
    assert ended_well(quick("evaluate", "run", "--code", "mine.py", cwd=tmp_path)).out


def test_a_file_that_gives_nothing_to_a_run_is_not_kept_in_it(quick: ForkServer, work: Path) -> None:
    command = ("train", "iris-softmax", "train.epochs=1", "--code", "mine.py", "--out", "run", "--json")
    ended_well(fresh(*command, cwd=work))  # a process of its own, where the file is what loads gradlab's parts
    assert not (work / "run" / "code").exists()
    ended_well(quick("evaluate", "run", cwd=work))


OPTIMISING = """
from gradlab.training.optimizers import Optimizer
from gradlab.training.schedules import Schedule
import gradlab as gl


@gl.register.optimizer("scaled")
class Scaled(Optimizer):
    def __init__(self, parameters, *, factor: float = 1.0):
        super().__init__(parameters)
        self.factor = factor

    def apply(self, group, gradients, lr, skip):
        for value, gradient in zip(group.values, gradients):
            value.sub_(self.factor * lr * gradient)


@gl.register.schedule("falling")
def falling(steps, *, by: float = 0.5):
    return Schedule(lambda step: by ** step)
"""


def test_an_optimiser_and_a_schedule_of_ones_own_are_names_like_ours(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(OPTIMISING)
    same = ("iris-softmax", "train.epochs=4", "train.lr=0.5", "train.weight_decay=0", "train.log_every=1", "--json")
    own = ("train.optimizer=scaled", "train.optimizer.factor=0.5", "train.schedule=falling", "train.schedule.by=0.5")
    ended_well(quick("train", *same, *own, "--code", "rules.py", "--out", "own", cwd=tmp_path))
    ours = ("train.lr=0.25", "train.optimizer=sgd", "train.schedule=step", "train.schedule.every=1")
    ended_well(quick("train", *same, *ours, "train.schedule.factor=0.5", "--out", "ours", cwd=tmp_path))
    found, wanted = ([loss for _, _, loss in losses(tmp_path / name)] for name in ("own", "ours"))
    assert found == pytest.approx(wanted, rel=1e-5)
    assert found[-1] < found[0]
    assert (tmp_path / "own" / "code" / "rules.py").is_file()


def test_a_recipe_of_ones_own_is_shown_knob_by_knob(quick: ForkServer, work: Path) -> None:
    knobs = {k["key"]: k for k in ended_well(quick("recipes", "mine.py", "--json", cwd=work)).json["knobs"]}
    assert (knobs["data"]["value"], knobs["data"]["doc"]) == ("views", "Things, each seen twice.")
    assert (knobs["model"]["value"], knobs["model"]["doc"]) == ("twins", "")
    assert (knobs["model.width"]["value"], knobs["model.width"]["type"]) == (8, "int")
    assert knobs["task.temperature"]["value"] == 0.1


# Using the run.


def test_evaluate_reproduces_the_figures_and_probe_looks_inside(quick: ForkServer, trained: Path) -> None:
    for split in ("test", "validation"):
        command = ("evaluate", "run", "--split", split, "--code", "mine.py", "--json")
        said = ended_well(quick(*command, cwd=trained.parent)).json
        assert {name: said[name] for name in ("loss", "infonce", "found")} == result(trained)[split]
    command = ("probe", "run", "--code", "mine.py", "--html", "probe.html", "--json")
    probed = ended_well(quick(*command, cwd=trained.parent)).json
    assert [layer["name"] for layer in probed["layers"]] == ["0", "1", "3"]
    assert probed["loss"] == pytest.approx(result(trained)["validation"]["loss"])


def test_what_cannot_be_done_with_a_run_of_ones_own_is_told(quick: ForkServer, trained: Path) -> None:
    refused = quick("predict", "run", "1,2,3,4", "--code", "mine.py", cwd=trained.parent)
    check_refused(refused, "no outputs that could be predicted")
    check_refused(quick("generate", "run", "--code", "mine.py", cwd=trained.parent), "its task is match")


def test_predict_takes_raw_inputs_of_ones_own_data(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CLOUDS)
    printed = ended_well(quick("train", "mine.py", "--out", "run", "--json", cwd=tmp_path)).json
    assert printed["test"]["accuracy"] == 1  # only if gradlab has standardised the metres
    np.save(tmp_path / "points.npy", np.array([[500.0, 500], [600, 500], [500, 600]]))
    command = ("predict", "run", "points.npy", "--code", "mine.py", "--json")
    found = ended_well(quick(*command, cwd=tmp_path)).json["predictions"]
    assert [one["label"] for one in found] == ["here", "east", "north"]
    check_refused(quick("predict", "run", "500,600", cwd=tmp_path), "--code mine.py")
    check_refused(quick("predict", "run", "1,2,3", "--code", "mine.py", cwd=tmp_path), "(3,)", "(2,)")


WRITER = """
import gradlab as gl
from gradlab.specs import Tokens
from torch import nn


@gl.register.model("bigram")
def bigram(inputs: Tokens, outputs):
    return nn.Sequential(nn.Embedding(inputs.vocabulary, 8), nn.Linear(8, inputs.vocabulary))
"""


def test_a_language_model_of_ones_own_writes(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "writer.py").write_text(WRITER)
    few = ("data.context=16", "train.steps=5", "train.schedule=constant", "--out", "run", "--json")
    ended_well(quick("train", "pydoc-gpt", "model=bigram", *few, "--code", "writer.py", cwd=tmp_path))
    command = ("generate", "run", "--prompt", "The", "--max-tokens", "5", "--no-stream")
    check_refused(quick(*command, cwd=tmp_path), "--code writer.py")
    assert ended_well(quick(*command, "--code", "writer.py", cwd=tmp_path)).out.startswith("The")


def test_the_copy_in_a_run_folder_can_be_named_too(quick: ForkServer, trained: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    said = ended_well(quick("evaluate", "run", "--code", "run/code/mine.py", "--json", cwd=run.parent)).json
    assert said["loss"] == result(run)["test"]["loss"]


def test_the_recipe_of_a_run_is_trained_again_with_its_file(quick: ForkServer, trained: Path, tmp_path: Path) -> None:
    command = ("train", trained / "recipe.toml", "--out", "again", "--json")
    check_refused(quick(*command, cwd=tmp_path), "There is no data source 'views'")
    ended_well(quick(*command, "--code", trained.parent / "mine.py", cwd=tmp_path))
    check_same(tmp_path / "again", trained)


def test_commands_that_are_told_name_the_file(quick: ForkServer, trained: Path, tmp_path: Path) -> None:
    page = (trained / "report.html").read_text()
    assert "gradlab evaluate run --code mine.py" in page
    run = Path(shutil.copytree(trained, tmp_path / "runs" / "stopped"))
    (run / "result.json").unlink()
    [listed] = ended_well(quick("runs", "--json", cwd=tmp_path)).json["runs"]
    assert listed["state"] == "not finished: gradlab resume runs/stopped --code mine.py"


# Whose code is run.

MARKED = (
    PAIRS
    + """

from pathlib import Path
Path(__file__).with_suffix(".ran").write_text("run")
"""
)


@pytest.mark.parametrize(
    "command",
    [
        ["resume", "run"],
        ["evaluate", "run"],
        ["predict", "run", "1,2,3,4"],
        ["probe", "run"],
        ["train", "run/recipe.toml", "--out", "again"],
    ],
    ids=lambda words: words[0],
)
def test_nothing_of_a_run_folder_is_executed_unless_it_is_named(
    quick: ForkServer, work: Path, command: list[str]
) -> None:
    (work / "mine.py").write_text(MARKED)
    ended_well(quick("train", "mine.py", "--out", "run", "--json", cwd=work))
    assert (work / "mine.ran").exists()  # so the mark tells
    (work / "mine.ran").unlink()
    (work / "run" / "result.json").unlink()
    before = contents(work)
    ended = quick(*command, cwd=work)
    words = ["There is no data source"] if command[0] == "train" else ["--code mine.py", "run/code/mine.py"]
    check_refused(ended, *words)
    assert contents(work) == before


def test_runs_are_listed_and_compared_without_their_files(quick: ForkServer, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "runs" / "a")
    shutil.copytree(trained, tmp_path / "runs" / "b")
    assert "my-pairs" in ended_well(quick("runs", cwd=tmp_path)).out
    assert "found" in ended_well(quick("compare", "runs/a", "runs/b", cwd=tmp_path)).out


def test_a_file_is_run_once_however_it_is_named(quick: ForkServer, work: Path) -> None:
    (work / "mine.py").write_text(PAIRS + "\nprint('I am being run')\n")
    ended = quick("train", "mine.py", "--code", "./mine.py", "--code", f"../{work.name}/mine.py", cwd=work)
    assert ended_well(ended).out.count("I am being run") == 1


# Going on.


@pytest.fixture(scope="module")
def long(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A longer run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "mine.py").write_text(PAIRS)
    ended_well(quick("train", "mine.py", *LONG, "--out", "run", "--json", cwd=folder))
    return folder / "run"


def test_a_killed_run_is_resumed_with_its_file_to_the_same_bits(long: Path, work: Path) -> None:
    killed = kill_after(work / "run", line_count(long) // 2, "train", "mine.py", *LONG, "--out", "run", cwd=work)
    assert killed.code == -signal.SIGKILL, killed.err
    check_refused(gradlab("resume", "run", cwd=work), "--code mine.py")
    resumed = ended_well(gradlab("resume", "run", "--code", "mine.py", cwd=work))
    assert "resuming at step" in resumed.out
    check_same(work / "run", long)


def test_an_interrupted_run_tells_the_command_that_goes_on(long: Path, work: Path) -> None:
    (work / "my files").mkdir()
    (work / "mine.py").rename(work / "my files" / "mine.py")
    command = ("train", "my files/mine.py", *LONG, "--out", "run")
    stopped = signal_after(signal.SIGINT, work / "run", line_count(long) // 2, *command, cwd=work)
    check_refused(stopped, "Go on with: gradlab resume run --code 'my files/mine.py'", code=130)
    told = shlex.split(stopped.err.split("Go on with: gradlab ")[1])
    ended_well(gradlab(*told, cwd=work))
    check_same(work / "run", long)


def test_a_stream_of_ones_own_is_resumed_to_the_same_bits(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STREAM)
    ended_well(quick("train", "mine.py", *LONG, "--out", "whole", "--json", cwd=tmp_path))
    half = line_count(tmp_path / "whole") // 2
    killed = kill_after(tmp_path / "run", half, "train", "mine.py", *LONG, "--out", "run", cwd=tmp_path)
    assert killed.code == -signal.SIGKILL, killed.err
    ended_well(gradlab("resume", "run", "--code", "mine.py", cwd=tmp_path))
    check_same(tmp_path / "run", tmp_path / "whole")


def unfinished(run: Path) -> None:
    """As it would be, had it been killed after its last but one checkpoint."""
    (run / "result.json").unlink()
    shutil.rmtree(sorted((run / "checkpoints").iterdir())[-1])


def test_a_changed_file_is_refused_unless_one_says_so(quick: ForkServer, work: Path) -> None:
    few = ("train.epochs=3", "train.checkpoint_every=7")
    ended_well(quick("train", "mine.py", *few, "--out", "run", "--json", cwd=work))
    unfinished(work / "run")
    (work / "mine.py").write_text(PAIRS.replace("nn.ReLU()", "nn.Tanh()"))
    before = contents(work)
    command = ("resume", "run", "--code", "mine.py")
    check_refused(quick(*command, cwd=work), "mine.py is not the file", "run/code/mine.py", "--changed-code")
    assert contents(work) == before
    changed = quick(*command, "--changed-code", cwd=work)
    assert changed.code == 0, changed.err
    assert "resuming at step 14" in changed.out
    assert (work / "run" / "code" / "mine.py").read_text() == PAIRS  # what the run began with


def test_a_changed_file_is_told_where_a_run_is_only_used(quick: ForkServer, trained: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    (tmp_path / "mine.py").write_text(PAIRS + "# a remark\n")
    ended = quick("evaluate", "run", "--code", "mine.py", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.err.count("is not the file that run was trained with") == 1
    assert ended.json["loss"] == result(run)["test"]["loss"]


TOWER = """
import gradlab as gl
from torch import nn


@gl.register.model("tower")
def tower(inputs, outputs):
    return nn.Linear(inputs.source.features, 4)
"""


def test_a_run_of_two_files_needs_both(quick: ForkServer, work: Path) -> None:
    (work / "tower.py").write_text(TOWER)
    command = ("train", "mine.py", "model=tower", "--code", "tower.py", "--out", "run", "--json")
    ended_well(quick(*command, cwd=work))
    assert set(json.loads((work / "run" / "environment.json").read_text())["code"]) == {"mine.py", "tower.py"}
    check_refused(quick("evaluate", "run", "--code", "mine.py", cwd=work), "--code tower.py")
    check_refused(quick("evaluate", "run", "--code", "tower.py", cwd=work), "--code mine.py")
    ended_well(quick("evaluate", "run", "--code", "tower.py", "--code", "mine.py", cwd=work))


def test_two_files_of_one_name_cannot_be_told_apart(quick: ForkServer, work: Path) -> None:
    (work / "more").mkdir()
    (work / "more" / "mine.py").write_text(TOWER)
    command = ("train", "mine.py", "model=tower", "--code", "more/mine.py", "--out", "run", "--json")
    check_refused(quick(*command, cwd=work), "more/mine.py and mine.py have the same name")
    assert not (work / "run").exists()


# Studies.


def test_folds_of_ones_own_data(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CLOUDS)
    command = ("train", "mine.py", "--folds", "3", "--out", "study", "--json")
    printed = ended_well(quick(*command, cwd=tmp_path)).json
    assert len(printed["folds"]) == 3
    assert printed["test"]["accuracy"]["mean"] > 0.9
    rows = [json.loads((tmp_path / "study" / f"fold-{i}" / "data.json").read_text())["sizes"] for i in (1, 2, 3)]
    assert [sizes["test"] for sizes in rows] == [30, 30, 30]
    assert (tmp_path / "study" / "fold-3" / "code" / "mine.py").read_text() == CLOUDS


def test_splits_of_ones_own_have_no_folds(quick: ForkServer, work: Path) -> None:
    check_refused(quick("train", "mine.py", "--folds", "3", cwd=work), "data=views has no folds", "--seeds")
    check_refused(quick("train", "mine.py", "--curve", cwd=work), "data=views has no key `limit`")
    assert [path.name for path in work.iterdir()] == ["mine.py"]


def test_seeds_and_checks_of_ones_own_recipe(quick: ForkServer, work: Path) -> None:
    command = ("train", "mine.py", "--seeds", "3", "--out", "study", "--json")
    printed = ended_well(quick(*command, cwd=work)).json
    assert printed["seeds"] == [0, 1, 2]
    assert 0 < printed["spread"]["found"]["mean"] <= 1
    checked = ended_well(quick("train", "mine.py", "--check", "--out", "run", "--json", cwd=work)).json
    assert [check["state"] for check in checked["checks"]] == ["skipped", "passed"]
    assert checked["result"]["test"]["found"] == printed["members"][0]["test"]["found"]


def test_a_study_tells_what_it_keeps_of_an_earlier_file(quick: ForkServer, work: Path) -> None:
    study = ("train", "mine.py", "train.epochs=1", "--out", "study", "--json")
    ended_well(quick(*study, "--seeds", "2", cwd=work))
    (work / "mine.py").write_text(PAIRS.replace("nn.ReLU()", "nn.Tanh()"))
    again = quick(*study, "--seeds", "2", cwd=work)
    assert again.code == 0, again.err
    told = "mine.py is not the file that study/seed-0 was trained with, which is study/seed-0/code/mine.py."
    assert again.err == f"gradlab: {told} Its figures are kept all the same. So it is with 1 training more.\n"


def test_a_stopped_training_of_a_study_says_how_to_go_on_with_a_changed_file(quick: ForkServer, work: Path) -> None:
    study = ("train", "mine.py", "train.epochs=1", "--seeds", "2", "--out", "study", "--json")
    ended_well(quick(*study, cwd=work))
    record = json.loads((work / "study" / "study.json").read_text())
    record["members"] = record["members"][:1]
    (work / "study" / "study.json").write_text(json.dumps(record))
    (work / "study" / "seed-1" / "result.json").unlink()
    (work / "mine.py").write_text(PAIRS + "# a remark\n")
    stopped = quick(*study, cwd=work)
    assert stopped.code == 2
    told = shlex.split(stopped.err.split("all the same: gradlab ")[1])
    assert told == ["resume", "study/seed-1", "--code", "mine.py", "--changed-code"]
    assert quick(*told, cwd=work).code == 0
    assert quick(*study, cwd=work).code == 0


@pytest.mark.parametrize("study", [["--seeds", "2"], ["--vary", "model.width=2,4"], ["--check"]], ids=lambda s: s[0])
def test_studies_of_a_stream(quick: ForkServer, tmp_path: Path, study: list[str]) -> None:
    text = STREAM.replace("def straight(inputs, outputs)", "def straight(inputs, outputs, *, width: int = 1)")
    (tmp_path / "mine.py").write_text(text)
    ended_well(quick("train", "mine.py", *study, "--out", "study", "--json", cwd=tmp_path))
    assert (tmp_path / "study" / "report.html").is_file()


def test_a_stream_can_be_evaluated_but_not_searched_for_a_rate(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STREAM)
    printed = ended_well(quick("train", "mine.py", "--out", "run", "--json", cwd=tmp_path)).json
    said = ended_well(quick("evaluate", "run", "--code", "mine.py", "--json", cwd=tmp_path)).json
    assert said["loss"] == printed["test"]["loss"] < 0.5
    check_refused(quick("evaluate", "run", "--split", "train", "--code", "mine.py", cwd=tmp_path), "no examples")
    check_refused(quick("train", "mine.py", "--find-lr", cwd=tmp_path), "a stream has none")


def test_checks_of_a_task_without_baselines(quick: ForkServer, tmp_path: Path) -> None:
    task = """

import torch.nn.functional as F
from gradlab.tasks import Supervised


@gl.register.task("tell-apart")
class TellApart(Supervised):
    def __init__(self, targets):
        self.outputs = len(targets.classes)

    def loss(self, output, target, weight=None):
        return F.cross_entropy(output, target, reduction="sum"), len(target)
"""
    (tmp_path / "mine.py").write_text(CLOUDS + task)
    command = ("train", "mine.py", "task=tell-apart", "--check", "--out", "run", "--json")
    checked = ended_well(quick(*command, cwd=tmp_path)).json["checks"]
    states = {check["name"]: check["state"] for check in checked}
    assert states["24 examples by heart"] == states["inputs matter"] == "passed"


@pytest.mark.slow
def test_two_workers_sweep_a_recipe_of_ones_own(work: Path) -> None:
    command = ("sweep", "mine.py", "model.width=2:8", "train.epochs=2", "--trials", "4", "--jobs", "2")
    ended = gradlab(*command, "--out", "search", "--json", cwd=work)
    printed = ended_well(ended).json
    assert [trial["number"] for trial in printed["trials"]] == [0, 1, 2, 3]
    assert {trial["ended"] for trial in printed["trials"]} <= {"complete", "pruned"}
    assert printed["metric"] == "found"


def test_what_a_sweep_of_ones_own_part_tells_to_train_trains_it(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CLOUDS)
    knobs = ("model=small", "model.width=2:8", "train.epochs=2")
    command = ("sweep", "iris-softmax", *knobs, "--trials", "2", "--code", "mine.py", "--out", "search")
    ended = ended_well(quick(*command, cwd=tmp_path))
    told = re.search(r"^train +gradlab (train iris-softmax --code mine.py .*)$", ended.out, re.MULTILINE)
    assert told, ended.out
    again = ended_well(quick(*shlex.split(told[1]), "--out", "again", "--json", cwd=tmp_path)).json
    best = json.loads((tmp_path / "search" / "study.json").read_text())["result"]["best"]
    assert again["validation"]["accuracy"] == best["value"]


# Packages.


def installed(folder: Path, name: str, module: str, text: str) -> dict[str, str]:
    """A package as pip leaves it, on the path of a command: its environment."""
    (folder / f"{module}.py").write_text(text)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[gradlab.parts]\n{name} = {module}\n")
    return environment(PYTHONPATH=os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))


def test_an_installed_package_brings_recipes_and_parts(tmp_path: Path) -> None:
    package, work = tmp_path / "site", tmp_path / "work"
    package.mkdir()
    work.mkdir()
    env = installed(package, "pairs", "pairs_for_gradlab", PAIRS)
    listed = ended_well(fresh("recipes", "--json", cwd=work, env=env)).json
    assert listed["my-pairs"] == "Which views are of the same thing?"
    assert "digits-mlp" in listed
    ended_well(fresh("train", "my-pairs", "--out", "run", "--json", cwd=work, env=env))
    assert not (work / "run" / "code").exists()  # a package has versions; it is not the user's file
    said = ended_well(fresh("evaluate", "run", "--json", cwd=work, env=env)).json
    assert said["found"] == result(work / "run")["test"]["found"]
    check_refused(gradlab("evaluate", "run", cwd=work), "There is no task 'match'")


BROKEN = {
    "raises": ("raise RuntimeError('half\\ndone')", "RuntimeError: half done."),
    "lacks": ("import no_such_module", "No module named 'no_such_module'"),
    "ends": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "takes": (PAIRS.replace('"twins"', '"mlp"'), "There is a model named 'mlp' already"),
}


@pytest.mark.slow
def test_packages_that_fail_are_told_and_skipped(tmp_path: Path) -> None:
    package = tmp_path / "site"
    package.mkdir()
    for name, (text, _) in BROKEN.items():
        env = installed(package, name, f"{name}_parts", text)
    ended = fresh("recipes", "--json", cwd=tmp_path, env=env)
    assert ended.code == 0, ended.err
    assert "digits-mlp" in ended.json
    told = sorted(ended.err.splitlines())
    for line, (name, (_, words)) in zip(told, sorted(BROKEN.items()), strict=True):
        assert line.startswith(f"gradlab: {name} brings parts by {name}_parts, which failed: ")
        assert words in line
    # Who asks for names of ours alone is not bothered.
    ended_well(fresh("train", "iris-softmax", "train.epochs=1", "--json", cwd=tmp_path, env=env))
