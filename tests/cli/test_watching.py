"""`gradlab runs --watch` and `gradlab report --watch`: trainings of other processes, followed."""

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cli_helpers import Forked, ForkServer, check_refused, finish, line_count, lines, start, start_fresh, wait_until

Watch = Callable[..., subprocess.Popen[str]]

PATIENCE = 60

SLOW = """
import time
from pathlib import Path
import torch
from torch import nn
import gradlab as gl

class Slow(nn.Linear):
    def forward(self, x):
        while self.training and torch.is_grad_enabled() and not Path("go").exists():
            time.sleep(0.05)
        return super().forward(x)

@gl.register.model("slow")
def slow(inputs, outputs):
    return Slow(2, outputs)
"""


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Forked]:
    """A training in runs/long that would take minutes, and has written a few lines."""
    process = start("train", "digits-mlp", "train.epochs=5000", "--out", "runs/long", "--plain", cwd=tmp_path)
    assert wait_until(lambda: line_count(tmp_path / "runs" / "long") > 6, process)
    yield process
    process.kill()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """Starts commands that do not end by themselves, and ends them."""
    with ExitStack() as stack:

        def begin(*arguments: str) -> subprocess.Popen[str]:
            process = stack.enter_context(start_fresh(*arguments, cwd=tmp_path))
            stack.callback(process.kill)
            return process

        yield begin


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    """Its output up to the first line in which the pattern is found."""
    assert process.stdout is not None
    text, deadline = "", time.monotonic() + PATIENCE
    while not re.search(pattern, text):
        line = process.stdout.readline()
        assert line, f"it ended without {pattern!r}: {text}{process.stderr.read() if process.stderr else ''}"
        assert time.monotonic() < deadline
        text += line
    return text


def test_runs_are_followed_until_they_are_interrupted(training: Forked, watch: Watch) -> None:
    watching = watch("runs", "--watch")
    first = read_until(watching, r"runs/long: running, step [\d,]+ of 195,000, training loss [\d.]+, validation loss")
    step = int(re.findall(r"step ([\d,]+) of", first)[-1].replace(",", ""))
    later = read_until(watching, r"running, step")
    assert int(re.findall(r"step ([\d,]+) of", later)[-1].replace(",", "")) > step
    training.send_signal(signal.SIGINT)
    finish(training)
    read_until(watching, r"runs/long: stopped, step")
    watching.send_signal(signal.SIGINT)
    ended = finish(watching)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
def test_a_page_follows_a_training_to_its_end(training: Forked, watch: Watch, tmp_path: Path) -> None:
    watching = watch("report", "runs/long", "--watch")
    assert "live.html" in read_until(watching, "page")
    page, run = tmp_path / "runs" / "long" / "live.html", tmp_path / "runs" / "long"
    text = page.read_text()
    assert '<meta http-equiv="refresh" content="2">' in text
    assert "<h1>long</h1>" in text
    assert re.search(r"Step [\d,]+ of 195,000", text)
    assert text.count('class="chart"') >= 4
    assert wait_until(lambda: page.read_text() != text, watching), "it is written anew"
    training.send_signal(signal.SIGINT)
    finish(training)
    ended = finish(watching)
    assert ended.code == 0, ended.err
    assert "gradlab resume runs/long" in ended.out
    left = page.read_text()
    assert "refresh" not in left.partition("</head>")[0], "a page that nobody writes does not load itself again"
    assert f"Step {lines(run)[-1]['step']:,} of" in left


def test_a_page_leads_to_the_report_of_a_training_that_finishes(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    training = watch(
        "train", "moons-mlp", "--code", "slow.py", "model=slow", "train.steps=40", "--out", "run", "--plain"
    )
    assert wait_until(lambda: line_count(tmp_path / "run") > 0, training)
    watching = watch("report", "run", "--watch", "--code", "slow.py")
    read_until(watching, "page")
    (tmp_path / "go").touch()  # the training has waited for this
    finish(training)
    ended = finish(watching)
    assert ended.code == 0, ended.err
    assert "report.html" in ended.out
    assert 'content="0; url=report.html"' in (tmp_path / "run" / "live.html").read_text()


def test_what_is_not_running_is_not_watched(quick: ForkServer, tmp_path: Path) -> None:
    assert quick("train", "moons-mlp", "train.steps=4", "--out", "run", "--json", cwd=tmp_path).code == 0
    check_refused(quick("report", "run", "--watch", cwd=tmp_path), "run is finished", "Open run/report.html")
    shutil.copytree(tmp_path / "run", tmp_path / "stopped")
    (tmp_path / "stopped" / "result.json").unlink()
    check_refused(quick("report", "stopped", "--watch", cwd=tmp_path), "is not being trained", "gradlab resume stopped")
    check_refused(quick("report", "stopped", cwd=tmp_path), "not finished", "gradlab resume stopped")
    check_refused(quick("runs", ".", "--watch", "--json", cwd=tmp_path), "--watch is for people")
    check_refused(quick("report", "run", "--watch", "--json", cwd=tmp_path), "--watch is for people")


def test_a_report_is_written_again(quick: ForkServer, tmp_path: Path) -> None:
    assert quick("train", "moons-mlp", "train.steps=4", "--out", "run", "--json", cwd=tmp_path).code == 0
    report = tmp_path / "run" / "report.html"
    before = report.read_bytes()
    report.unlink()
    assert quick("report", "run", "--json", cwd=tmp_path).json == {"run": "run", "report": "run/report.html"}
    assert report.read_bytes() == before
