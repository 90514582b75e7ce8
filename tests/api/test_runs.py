"""The same call again: a run that was stopped is resumed, one that is finished is returned."""

from pathlib import Path
from typing import Any

import pytest

import gradlab as gl

CHANGES = {"train.steps": 12, "data.examples": 120}


class StopButton(gl.Observer):
    """Asks once for the training to stop."""

    every, pressed = 4, False

    def step(self, training: Any) -> None:
        if not self.pressed:
            self.pressed = True
            training.request("stop")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    with pytest.raises(gl.GradlabError, match="Stopped and saved at step 4"):
        gl.train("moons-mlp", CHANGES, out=tmp_path / "run", observers=[StopButton()])
    return tmp_path / "run"


def test_the_same_call_resumes_to_the_bit(stopped: Path, tmp_path: Path) -> None:
    resumed = gl.train("moons-mlp", CHANGES, out=stopped)
    whole = gl.train("moons-mlp", CHANGES, out=tmp_path / "whole")
    assert resumed.path == stopped
    assert resumed.test == whole.test
    assert [line["step"] for line in resumed.metrics] == [line["step"] for line in whole.metrics]
    assert (stopped / "report.html").exists()


def test_a_finished_run_is_returned_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = gl.train("moons-mlp", CHANGES, out=tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in first.path.rglob("*")}
    assert gl.train("moons-mlp", CHANGES, out=tmp_path / "run").test == first.test
    assert {path: path.stat().st_mtime_ns for path in first.path.rglob("*")} == before
    assert "is finished, and is returned as it is" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train.lr": 0.5}, r"begun with train.lr=0.\d+, and this call has 0.5"),
        ({"train.steps": 13}, "begun with train.steps=12, and this call has 13"),
        ({"data.noise": 0.3}, r"begun with data.noise=0.\d+, and this call has 0.3"),
        ({"model": "linear"}, "begun with model.name=mlp, and this call has linear"),
    ],
)
def test_another_call_is_refused_and_leaves_the_run_alone(stopped: Path, changes: dict[str, Any], words: str) -> None:
    before = {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()}
    with pytest.raises(gl.GradlabError, match=words):
        gl.train("moons-mlp", {**CHANGES, **changes}, out=stopped)
    assert {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()} == before


def test_changed_data_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b,target\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(60)))
    call = {"overrides": {"data.target": "target", "train.epochs": 1}, "data": table, "out": tmp_path / "run"}
    gl.train("csv", **call)
    table.write_text(table.read_text().replace("\n3,3,", "\n4,3,"))
    with pytest.raises(gl.GradlabError, match=r"The data of .* are not the ones it began with"):
        gl.train("csv", **call)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gl.GradlabError, match="exists already"):
        gl.train("moons-mlp", CHANGES, out=tmp_path)
