"""A line while the training runs: when it comes, that it comes once, and that nothing else changes."""

import io
import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gradlab.diagnosis import live
from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.finding import Finding
from gradlab.diagnosis.live import Live


def train(doctor: Doctor, steps: int = 60, clear: bool = False, each: Any = lambda step: None) -> Doctor:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    with doctor:
        for step in range(steps):
            if clear:
                optimizer.zero_grad()
            x = torch.randn(16, 3)
            (model(x)[:, 0] - x.sum(1)).square().mean().backward()
            optimizer.step()
            each(step)
    return doctor


def test_the_line_comes_while_the_training_runs(capsys):
    said = {}

    def each(step: int) -> None:
        if text := capsys.readouterr().err:
            said[step] = text

    train(Doctor(tell=False, live=True), each=each)
    ((step, line),) = said.items()
    assert step < 30
    words = r"gradients are never cleared; SGD made at \S+test_live.py:\d+ \(missing_zero_grad\)"
    assert re.fullmatch(rf"gradlab doctor, step {step + 1}: {words}\n", line)


def test_of_a_healthy_training_there_is_no_line(capsys):
    assert train(Doctor(tell=False, live=True), clear=True).verdict.worst in (None, "note")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("clear", [True, False])
def test_the_verdict_and_what_it_rests_on_are_those_without(clear, capsys):
    with_line, without = (train(Doctor(tell=False, live=on), clear=clear) for on in (True, False))
    shown = [doctor.verdict.as_json() | {"seconds": None} for doctor in (with_line, without)]
    assert shown[0] == shown[1]
    assert with_line.record.looks == without.record.looks
    assert len(with_line.record.optimizers) == len(without.record.optimizers) == 1


def test_a_stream_that_is_closed_is_left_alone(capsys):
    doctor = Doctor(tell=False)
    closed = io.StringIO()
    closed.close()
    doctor._watch.listener = Live(doctor._watch, closed).look
    assert train(doctor).verdict.faults == []


def error(slug: str, confidence: float = 0.97, **more: Any) -> Finding:
    severity: Any = more.pop("severity", "error")
    return Finding(slug=slug, severity=severity, confidence=confidence, since_step=0, evidence="", fix="", **more)


@pytest.fixture
def told(monkeypatch):
    """`told(found)`: at which step the line comes, where `found(step)` are the findings of each."""

    def run(found: Any) -> int | None:
        stream, watch = io.StringIO(), SimpleNamespace(step=0, so_far=lambda: watch.step)
        monkeypatch.setattr(live, "judge", lambda step: (found(step), []))
        one = Live(watch, stream)  # type: ignore[arg-type]
        one._over = lambda now: False  # type: ignore[method-assign]
        for watch.step in range(1, 200):
            one.look()
            if stream.getvalue():
                assert stream.getvalue().count("\n") == 1
                return int(watch.step)
        return None

    return run


def test_what_is_plain_is_sure_when_it_has_lasted_half_as_long_again(told):
    assert told(lambda step: [error("a")] if step >= 10 else []) == 15


def test_what_rests_on_the_course_of_the_training_must_last(told):
    assert told(lambda step: [error("a", 0.93)] if step >= 10 else []) == 40


def test_what_goes_away_begins_anew(told):
    assert told(lambda step: [error("a")] if step != 7 else []) == 12  # found again at 8
    assert told(lambda step: [error("a")] if step % 2 else []) is None


def test_only_errors_that_follow_from_nothing_are_told(told):
    others = [error("a", severity="warning"), error("b", follows_from="c")]
    assert told(lambda step: others) is None
    assert told(lambda step: [*others, error("c")]) == 8  # found at 5, the first that is judged


def test_judging_has_a_share_of_the_time(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(live, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    judged = []

    def slowly(step: int) -> tuple[list[Finding], list[str]]:
        judged.append(step)
        clock.now += 0.5
        return [], []

    monkeypatch.setattr(live, "judge", slowly)
    watch = SimpleNamespace(step=0, so_far=lambda: watch.step)
    one = Live(watch, io.StringIO())  # type: ignore[arg-type]
    for watch.step in range(5, 1005):
        one.look()
        clock.now += 0.1
    assert 2 <= len(judged) <= 6  # 100 s of training allow 2 s of it
