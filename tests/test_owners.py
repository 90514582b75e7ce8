"""Files that people bring, run in this process: once, as they are, and told by their own lines."""

import gc
import importlib.metadata
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from own_files import CLOUDS, PAIRS

import gradlab as gl
from gradlab import owners
from gradlab.data import sources
from gradlab.errors import TrainingError
from gradlab.models import models
from gradlab.recipes import find
from gradlab.registry import Part
from gradlab.specs import Pair, Table


@pytest.fixture(autouse=True)
def path_stays(monkeypatch):
    """Packages of this machine bring nothing, and the files that are run leave the search path as it was."""
    monkeypatch.setattr(owners, "_installed", True)
    path = list(sys.path)
    yield
    assert sys.path == path


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PAIRS)
    return path


ONE = """
import gradlab as gl
from torch import nn

@gl.register.model("one")
def one(inputs, outputs, *, width: int = 3):
    return nn.Linear(width, 1)
"""


def width():
    return models.schema("one").knobs["width"].default


# Running a file.


def test_a_file_says_what_it_registered(mine):
    code = owners.load(mine)
    assert set(code.registered) == {
        ("data source", "views"),
        ("model", "twins"),
        ("task", "match"),
        ("recipe", "my-pairs"),
    }
    assert code.recipes == ["my-pairs"]
    assert code.content == mine.read_bytes()
    assert models.owner("twins") == str(mine)
    assert models.owner("mlp") == ""
    assert find(str(mine)).name == find("my-pairs").name == "my-pairs"


def test_it_is_run_once_unless_it_has_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # as it is for most people
    path = tmp_path / "one.py"
    path.write_text(ONE)
    first = owners.load(path)
    assert owners.load(path) is first
    path.write_text(ONE.replace("= 3", "= 4"))  # as long as before, and in the same second
    second = owners.load(path)
    assert second.sha256 != first.sha256
    assert width() == 4
    assert not (tmp_path / "__pycache__").exists()


def test_a_file_that_failed_can_be_mended(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(ONE + "\n1 / 0\n")
    with pytest.raises(gl.GradlabError, match=r"line 9: '1 / 0'. ZeroDivisionError: division by zero"):
        owners.load(path)
    assert not any(name.startswith("gradlab_code_") for name in sys.modules)
    path.write_text(ONE)
    owners.load(path)
    assert width() == 3


def test_another_file_may_not_take_its_names(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(ONE)
    owners.load(tmp_path / "a.py")
    with pytest.raises(gl.GradlabError, match=r"There is a model named 'one' in .*a\.py"):
        owners.load(tmp_path / "b.py")


def test_its_neighbours_can_be_imported_and_dataclasses_made(tmp_path):
    (tmp_path / "its_neighbour.py").write_text("WIDTH = 7\n")
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom its_neighbour import WIDTH\n"
    text += "\n\n@dataclass\nclass Settings:\n    width: int = WIDTH\n"
    (tmp_path / "one.py").write_text(text + ONE.replace("= 3", "= Settings().width"))
    owners.load(tmp_path / "one.py")
    assert width() == 7
    del sys.modules["its_neighbour"]


def test_a_file_that_loads_another_keeps_its_own_names(tmp_path):
    (tmp_path / "one.py").write_text(ONE)
    other = f"import gradlab.owners\ngradlab.owners.load({str(tmp_path / 'one.py')!r})\n" + ONE.replace(
        '"one"', '"two"'
    )
    (tmp_path / "two.py").write_text("import gradlab as gl\n@gl.register.recipe\ndef before(): ...\n" + other)
    code = owners.load(tmp_path / "two.py")
    assert code.registered == (("recipe", "before"), ("model", "two"))
    assert models.owner("one") == str(tmp_path / "one.py")


def test_names_of_ours_stay_ours_in_a_fresh_process(mine):
    code = (
        "import sys\nfrom gradlab import owners\n"
        f"code = owners.load({str(mine)!r})\n"
        "from gradlab.models import models\nfrom gradlab.training.optimizers import optimizers\n"
        "print(len(code.registered), code.recipes, repr(models.owner('mlp') + optimizers.owner('adam')))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "4 ['my-pairs'] ''\n"


def test_a_recipe_and_a_run_by_the_library(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = gl.train("my-pairs", {"train.epochs": 1, "doctor": "off"}, code=mine, out="run")
    assert set(run.test) == {"loss", "infonce", "found"}
    assert (tmp_path / "run" / "code" / "mine.py").read_text() == PAIRS
    monkeypatch.setattr(owners, "loaded", {})
    with pytest.raises(gl.GradlabError, match=r"--code mine\.py"):
        gl.load_run("run").evaluate()
    assert gl.load_run("run", code=[mine]).evaluate() == run.test


def test_what_a_run_keeps_is_what_was_run(mine, tmp_path):
    owners.load(mine)
    mine.write_text("something else by now")
    run = gl.train("my-pairs", {"train.epochs": 1}, out=tmp_path / "run")
    assert (run.path / "code" / "mine.py").read_text() == PAIRS
    assert run.environment["code"] == {"mine.py": owners.loaded[str(mine)].sha256}


def test_a_failing_run_is_a_training_error_that_has_its_cause(mine, tmp_path):
    text = "if model.training and len(seen) > 9:\n            seen['third']\n        seen.append(1)\n        "
    mine.write_text(PAIRS.replace("scores = self", text + "scores = self", 1) + "\n\nseen = []\n")
    with pytest.raises(TrainingError, match="list indices must be integers") as told:
        gl.train(mine, {"train.checkpoint_every": 2}, out=tmp_path / "run")
    assert isinstance(told.value.__cause__, TypeError)


# Blame.


def test_the_last_line_of_ones_own_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = ONE + "\n\ndef deep(x):\n    return torch.zeros(2) @ x\n\n\ndef high(x):\n    return deep(x)\n"
    (tmp_path / "one.py").write_text("import torch\n" + text)
    owners.load("one.py")
    high = next(m for n, m in sys.modules.items() if n.startswith("gradlab_code_")).high
    with pytest.raises(gl.GradlabError) as told, owners.telling():
        high(torch.zeros(3))
    assert str(told.value).startswith("one.py, line 12: 'return torch.zeros(2) @ x'. RuntimeError: ")
    assert told.value.exit_code == 2
    with pytest.raises(TrainingError), owners.telling(TrainingError):
        high(torch.zeros(3))


def test_what_is_nobodys_fault_passes_as_it_is(mine):
    owners.load(mine)
    with pytest.raises(ZeroDivisionError), owners.telling():
        1 / 0  # noqa: B018
    with pytest.raises(KeyboardInterrupt), owners.telling():
        raise KeyboardInterrupt


def test_want_of_memory_is_nobodys_fault(tmp_path):
    (tmp_path / "one.py").write_text(ONE.replace("nn.Linear(width, 1)", "bytearray(10**18)"))
    owners.load(tmp_path / "one.py")
    with pytest.raises(MemoryError):
        models.build(models.resolve(Part("one"), "model"), Table(1), 1)
    gc.collect()


# Names.


def test_a_source_may_give_ready_splits_or_raw_examples(tmp_path):
    (tmp_path / "clouds.py").write_text(CLOUDS)
    owners.load(tmp_path / "clouds.py")
    assert {"validation", "folds", "preprocess", "count"} <= set(sources.schema("clouds").knobs)
    (tmp_path / "mine.py").write_text(PAIRS)
    owners.load(tmp_path / "mine.py")
    assert set(sources.schema("views").knobs) == {"noise", "seed"}


def test_the_seed_of_ones_own_data_is_a_knob(mine):
    owners.load(mine)
    prepared = [gl.api.prepare("my-pairs", {"data.seed": seed}) for seed in (0, 0, 1)]
    first, again, other = (one.dataset.train.parts["first"] for one in prepared)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert prepared[0].dataset.raw.fingerprint() != prepared[2].dataset.raw.fingerprint()
    assert prepared[0].dataset.preprocessing.spec == Pair(Table(4), Table(4))


def test_a_task_without_knobs_needs_no_constructor(tmp_path):
    text = PAIRS[: PAIRS.index("    def __init__")] + PAIRS[PAIRS.index("    def objectives") :]
    text = text.replace("self.temperature", "0.1").replace(
        'gl.Criterion("found", higher_is_better=True)', "gl.Criterion()"
    )
    (tmp_path / "mine.py").write_text(text)
    owners.load(tmp_path / "mine.py")
    assert gl.api.prepare("my-pairs").task.headline == "loss"


# Packages.


class Point:
    """An entry point, as far as it is asked."""

    def __init__(self, value, load):
        self.value, self.load, self.dist = value, load, SimpleNamespace(name=f"the-{value}-package")


@pytest.fixture
def install(monkeypatch):
    def install(*points):
        monkeypatch.setattr(owners, "_installed", False)
        groups = {"gradlab.parts": points}
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: groups[group])

    return install


def test_a_package_is_loaded_when_a_name_is_not_ours(install):
    loads = []
    install(Point("first", lambda: loads.append(1) or models.register("from-a-package")(lambda inputs, outputs: None)))
    assert models["mlp"]
    assert not loads
    assert models["from-a-package"]
    with pytest.raises(gl.GradlabError, match="no model 'missing'"):
        models["missing"]
    assert loads == [1]
    assert models.owner("from-a-package") == ""


def test_a_broken_package_is_told_and_the_next_one_loaded(install, capsys):
    def broken():
        raise ImportError("no libfoo\nhere")

    install(Point("first", broken), Point("second", lambda: models.register("of-the-second")(lambda i, o: None)))
    assert "of-the-second" in models.names()
    assert capsys.readouterr().err == (
        "gradlab: the-first-package brings parts by first, which failed: ImportError: no libfoo here.\n"
    )


def test_a_package_is_not_part_of_the_file_that_asks_for_it(install, tmp_path):
    install(Point("first", lambda: models.register("of-a-package")(lambda inputs, outputs: None)))
    (tmp_path / "one.py").write_text("from gradlab.models import models\nmodels.names()\n" + ONE)
    code = owners.load(tmp_path / "one.py")
    assert code.registered == (("model", "one"),)
    assert models.owner("of-a-package") == ""
