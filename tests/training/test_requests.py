"""What a running training is asked to do: done between two steps, logged, and there again when it is resumed."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from gradlab import api
from gradlab.errors import GradlabError
from gradlab.models import mlp
from gradlab.run import checkpoint as disk
from gradlab.specs import Table
from gradlab.training.observers import Checkpoints, MetricsLog, Observer
from gradlab.training.requests import Request


class Asks(Observer):
    """Asks for something after some steps, and remembers what was done."""

    every = 1

    def __init__(self, asked):
        self.asked, self.done, self.judged = asked, [], []

    def step(self, training):
        for request in self.asked.get(training.progress.step, ()):
            training.request(*request)

    def evaluation(self, training, line):
        self.judged.append(line["step"])

    def request(self, training, request):
        self.done.append((training.progress.step, request.what, request.value))


def noisy():
    torch.manual_seed(0)
    return mlp(Table(4), 3, hidden=[8], dropout=0.3)


@pytest.fixture
def asking(make_training):
    """`asking({5: [("lr", 0.1)]})`: a training of 18 steps with an evaluation every 6, and who asks."""

    def make(asked, observers=(), **plan):
        observer = Asks(asked)
        values = {"log_every": 2, "lr": 0.01, "model": noisy(), **plan}
        return make_training(observers=[observer, *observers], **values), observer

    return make


def rates(training):
    return {line["step"]: line["lr"] for line in training.record.lines if line["split"] == "train"}


def asked_lines(training):
    return [
        (line["step"], line["request"], line.get("value"))
        for line in training.record.lines
        if line["split"] == "request"
    ]


def assert_same_bits(one, other):
    for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_stop_ends_the_training_between_two_steps_and_leaves_no_line(asking, run):
    training, observer = asking({5: [("stop",)]})
    run(training)
    assert (training.progress.ended, training.progress.step) == ("interrupted", 5)
    assert asked_lines(training) == []
    assert observer.done == []
    whole, _ = asking({})
    run(whole)
    assert training.record.lines == [line for line in whole.record.lines if line["step"] <= 5]


def test_nothing_more_is_done_after_a_stop(asking, run):
    training, observer = asking({5: [("save",), ("stop",), ("evaluate",)]})
    run(training)
    assert observer.done == [(5, "save", None)]
    assert observer.judged == [0]


def test_an_evaluation_that_is_asked_for_is_one_more(asking, run):
    training, observer = asking({3: [("evaluate",)], 12: [("evaluate",)]})
    run(training)
    assert observer.judged == [0, 3, 6, 12, 12, 18]
    assert asked_lines(training) == [(3, "evaluate", None), (12, "evaluate", None)]
    splits = [line["split"] for line in training.record.lines if line["step"] == 3]
    assert splits == ["request", "train-sample", "validation"]
    whole, _ = asking({})
    run(whole)  # which is judged as often in its own order, with the same weights
    assert_same_bits(training, whole)
    assert [line for line in training.record.lines if line["step"] not in (3, 12)] == [
        line for line in whole.record.lines if line["step"] not in (3, 12)
    ]


def test_an_evaluation_that_is_asked_for_may_find_the_best_weights_or_end_the_patience(asking, run):
    steps = {step: [("evaluate",)] for step in range(1, 60)}
    training, _ = asking(steps, lr=0.03, evaluate_every=60, steps=60, patience=2)
    run(training)
    progress = training.progress
    assert progress.best_step not in (0, 60)
    assert (progress.ended, progress.step) == ("patience", progress.best_step + 2)


def test_a_save_that_is_asked_for_is_on_disk_before_the_next_step(asking, run, tmp_path):
    class Looks(Observer):
        every = 1

        def step(self, training):
            there.append([path.name for path in disk.steps(tmp_path)])

    there = []
    training, _ = asking({3: [("save",)]}, [Checkpoints(tmp_path, 500, 3), Looks()])
    run(training)
    assert there[2] == []
    assert there[3] == ["step-00000003"]
    assert asked_lines(training) == [(3, "save", None)]
    plain, _ = asking({})
    assert_same_bits(training, run(plain))


def test_a_rate_that_is_asked_for_holds_from_the_next_step_on(asking, run):
    training, observer = asking({5: [("lr", 0.1)], 11: [("lr", 0.02)]}, log_every=1)
    run(training)
    got = rates(training)
    assert [got[step] for step in (1, 5, 6, 11, 12, 18)] == [0.01, 0.01, 0.1, 0.1, 0.02, 0.02]
    assert asked_lines(training) == [(5, "lr", 0.1), (11, "lr", 0.02)]
    assert observer.done == asked_lines(training)


def test_a_rate_that_is_asked_for_is_what_the_schedule_is_a_factor_of(asking, run):
    schedule = {"name": "step", "every": 6, "factor": 0.5}
    training, _ = asking({8: [("lr", 0.4)]}, log_every=1, schedule=schedule)
    got = rates(run(training))
    assert [got[step] for step in (6, 7, 8, 9, 12, 13)] == pytest.approx([0.01, 0.005, 0.005, 0.2, 0.2, 0.1])


def test_a_rate_that_is_asked_for_is_the_rate_of_the_updates(asking, run):
    """The same steps by two trainings, of which one begins with the rate that the other is asked to take."""
    training, _ = asking({6: [("lr", 0.1)]}, optimizer="sgd", keep="last")
    begun, _ = asking({6: [("lr", 0.1)]}, optimizer="sgd", keep="last", lr=0.1)
    other, _ = asking({6: [("lr", 0.01)]}, optimizer="sgd", keep="last", lr=0.1)
    run(training)
    run(begun)
    run(other)
    assert rates(training)[8] == rates(begun)[8] == 0.1 != rates(other)[8]
    longer, _ = asking({}, optimizer="sgd", keep="last", lr=0.1)
    assert_same_bits(begun, run(longer))
    assert not torch.equal(begun.model[0].weight, other.model[0].weight)


class Breaks(Observer):
    """Ends the training as a crash would, after some step."""

    every = 1

    def __init__(self, after):
        self.after = after

    def step(self, training):
        if training.progress.step == self.after:
            raise RuntimeError("killed")


@pytest.mark.parametrize("later", [6, 9, 13])
def test_a_resumed_training_has_the_rate_that_was_asked_for(asking, run, tmp_path, later):
    """Though no checkpoint was due: it is written when the rate is asked for."""
    asked = {5: [("lr", 0.2)]}
    log = tmp_path / "metrics.jsonl"
    keepers = [MetricsLog(log, 500), Checkpoints(tmp_path / "checkpoints", 500, 3)]
    broken, _ = asking(asked, [*keepers, Breaks(later)])
    with pytest.raises(RuntimeError, match="killed"):
        run(broken)
    found, _ = disk.newest_sound(tmp_path / "checkpoints")
    assert found.step == 5
    whole, _ = asking(asked)
    resumed, _ = asking({}, [MetricsLog(log, 500), Checkpoints(tmp_path / "checkpoints", 500, 3)])
    run(whole)
    run(resumed, found)
    assert_same_bits(resumed, whole)
    assert resumed.record.lines == [line for line in whole.record.lines if line["step"] > 5]
    assert sum('"request"' in line for line in log.read_text().splitlines()) == 1  # the one that was asked for


SCRIPT = """
import os, signal, sys
import gradlab as gl

class Asks(gl.Observer):
    every = 1

    def step(self, training):
        if training.progress.step == 30:
            training.request("lr", 0.02)
        if training.progress.step == 34:
            os.kill(os.getpid(), signal.SIGKILL)

gl.train("moons-mlp", {"data.examples": 400, "train.epochs": 6, "train.log_every": 5}, out="killed", observers=[Asks()])
"""


def test_a_run_killed_after_a_rate_was_asked_for_resumes_to_the_same_bits(tmp_path):
    killed = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, timeout=180, cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    recipe = {"data.examples": 400, "train.epochs": 6, "train.log_every": 5}
    whole = api.train("moons-mlp", recipe, out=tmp_path / "whole", observers=[Asks({30: [("lr", 0.02)]})])
    resumed = api.resume(tmp_path / "killed")

    def content(run):
        lines = [{k: v for k, v in line.items() if k != "seconds"} for line in run.metrics]
        return lines, (disk.steps(run.checkpoints)[0] / "model.safetensors").read_bytes()

    assert content(resumed) == content(whole)
    assert {line["lr"] for line in whole.metrics if line["split"] == "train"} == {0.005, 0.02}


def test_the_log_is_on_disk_before_the_checkpoint_that_was_asked_for(asking, run, tmp_path, monkeypatch):
    flushed = []
    real = os.fsync

    def watched(descriptor):
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    log = MetricsLog(tmp_path / "metrics.jsonl", 500)
    training, _ = asking({3: [("save",), ("stop",)]}, [log, Checkpoints(tmp_path / "checkpoints", 500, 3)])
    run(training)
    assert flushed[0] == "metrics.jsonl"
    assert "state.json" in flushed


# From another thread.


class Thread(Observer):
    """Asks from a thread of its own as soon as some steps have been made."""

    every = 1

    def __init__(self, after, *request):
        self.after, self.asked, self.steps = after, request, threading.Semaphore(0)

    def start(self, training):
        self.thread = threading.Thread(target=self.ask, args=[training])
        self.thread.start()

    def ask(self, training):
        for _ in range(self.after):
            self.steps.acquire()
        training.request(*self.asked)

    def step(self, training):
        self.steps.release()

    def end(self, training):
        self.checkpoint = training.checkpoint()
        for _ in range(self.after):
            self.steps.release()
        self.thread.join()


def test_a_stop_from_another_thread_leaves_a_training_that_goes_on_to_the_bit(make_training, run):
    observer = Thread(7, "stop")
    stopped = run(make_training(model=noisy(), observers=[observer], epochs=3000))
    assert stopped.progress.ended == "interrupted"
    assert 7 <= stopped.progress.step < stopped.total_steps
    end = stopped.progress.step + 20
    whole = run(make_training(model=noisy(), steps=end))
    resumed = run(make_training(model=noisy(), steps=end), observer.checkpoint)
    assert_same_bits(resumed, whole)


@pytest.mark.parametrize("request_", [("lr", 0.5), ("evaluate",), ("save",)])
def test_what_another_thread_asks_for_is_logged_and_done_between_steps(make_training, run, request_):
    observer, asked = Thread(3, *request_), Asks({})
    training = make_training(observers=[asked, observer], epochs=40, log_every=1)
    run(training)
    ((step, what, value),) = asked.done
    assert (what, value) == (request_[0], request_[1] if len(request_) > 1 else None)
    assert 3 <= step <= training.progress.step
    assert asked_lines(training) == [(step, what, value)]
    got = rates(training)
    if what == "lr" and step < training.total_steps:
        assert (got[step], got[step + 1]) == (1e-3, 0.5)
    if what == "evaluate":
        assert step in asked.judged


# What cannot be asked for.


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (("pause",), "no request 'pause'.*Valid: checkpoint, evaluate, lr, save, stop"),
        (("evalute",), "Did you mean 'evaluate'"),
        (("lr",), "a learning rate has a value"),
        (("stop", 3.0), "no other has"),
        (("lr", 0.0), "must be a positive number, got 0"),
        (("lr", -1.0), "must be a positive number, got -1"),
        (("lr", float("nan")), "must be a positive number, got nan"),
        (("lr", float("inf")), "must be a positive number, got inf"),
        (("lr", "high"), "must be a positive number, got 'high'"),
        (("lr", [0.1]), r"must be a positive number, got \[0.1\]"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(make_training, request_, says):
    training = make_training()
    with pytest.raises(GradlabError, match=says):
        training.request(*request_)
    assert not training.requests
    with pytest.raises(GradlabError):
        Request(*request_)


@pytest.mark.parametrize("value", [1, np.float32(0.5), torch.tensor(0.25)])
def test_a_rate_may_be_any_kind_of_number_and_is_a_plain_one_in_the_log(asking, run, value):
    training, observer = asking({3: [("lr", value)]})
    run(training)
    assert observer.done == [(3, "lr", float(value))]
    assert json.loads(json.dumps(training.record.lines)) == training.record.lines


# The end.


def test_an_observer_that_fails_at_the_end_does_not_keep_it_from_the_others(make_training, run):
    class Ends(Observer):
        def __init__(self, name, fails=False):
            self.name, self.fails = name, fails

        def end(self, training):
            told.append((self.name, training.progress.ended))
            if self.fails:
                raise RuntimeError(f"{self.name} failed")

    told = []
    with pytest.raises(RuntimeError, match="second failed"):
        run(make_training(observers=[Ends("first"), Ends("second", fails=True), Ends("third")]))
    assert told == [("first", "finished"), ("second", "finished"), ("third", "finished")]


def test_a_checkpoint_is_saved_although_an_observer_before_it_fails_at_the_end(make_training, run, tmp_path):
    class Fails(Observer):
        def end(self, training):
            raise RuntimeError("no more room on the screen")

    with pytest.raises(RuntimeError, match="no more room"):
        run(make_training(observers=[Fails(), Checkpoints(tmp_path, 500, 3)]))
    assert [path.name for path in disk.steps(tmp_path)] == ["step-00000018"]
