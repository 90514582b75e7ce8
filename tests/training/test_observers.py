import json
import threading
import time

import pytest
import torch

from gradlab.errors import TrainingError
from gradlab.run import checkpoint
from gradlab.training import observers
from gradlab.training.observers import Checkpoints, MetricsLog, Observer, keep_lines_until

LINES = [
    json.dumps({"step": s, "epoch": 0.5, "split": "train", "update_ratio": {"0.weight": 0.5}, "seconds": 1.0})
    for s in (2, 4, 6)
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(line + "\n" for line in LINES))
    return path


@pytest.mark.parametrize(("step", "kept"), [(0, 0), (2, 1), (3, 1), (4, 2), (6, 3), (99, 3)])
def test_lines_after_the_step_of_the_checkpoint_are_dropped(log, step, kept):
    keep_lines_until(log, step)
    assert log.read_text().splitlines() == LINES[:kept]


def test_a_last_line_torn_at_any_byte_is_dropped(log):
    whole = log.read_bytes()
    start = len((LINES[0] + "\n" + LINES[1] + "\n").encode())
    for length in range(start + 1, len(whole) - 1):
        log.write_bytes(whole[:length])
        keep_lines_until(log, 99)
        assert log.read_text().splitlines() == LINES[:2]


def test_a_log_that_is_not_there_yet_is_no_error(tmp_path):
    keep_lines_until(tmp_path / "metrics.jsonl", 3)
    assert not list(tmp_path.iterdir())


def test_the_log_holds_one_json_object_a_line(make_training, run, tmp_path):
    training = run(make_training(observers=[MetricsLog(tmp_path / "metrics.jsonl", 500)]))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [{k: v for k, v in line.items() if k != "seconds"} for line in lines] == training.record.lines
    assert [line["seconds"] for line in lines] == sorted(line["seconds"] for line in lines)


def test_the_newest_few_checkpoints_are_kept_and_the_end_is_always_one(make_training, run, tmp_path):
    run(make_training(observers=[Checkpoints(tmp_path, 5, 2)]))
    assert [p.name for p in checkpoint.steps(tmp_path)] == ["step-00000018", "step-00000015"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000015", "step-00000018"]


class Slow(Observer):
    """Steps that take their time, so that the clock has something to do."""

    every = 1

    def step(self, training):
        time.sleep(0.01)


def test_checkpoints_come_by_the_clock_whatever_the_steps(make_training, run, tmp_path):
    before = threading.active_count()
    run(make_training(observers=[Slow(), Checkpoints(tmp_path, 500, 99, minutes=0.02 / 60)]))
    saved = [int(p.name.removeprefix("step-")) for p in checkpoint.steps(tmp_path)]
    assert saved[0] == 18
    assert len(saved) > 3
    assert threading.active_count() == before


def test_the_first_checkpoint_comes_after_a_minute_at_most(make_training, run, tmp_path, monkeypatch):
    monkeypatch.setattr(observers, "_FIRST", 0.03)
    run(make_training(observers=[Slow(), Checkpoints(tmp_path, 500, 99, minutes=60.0)]))
    assert len(list(checkpoint.steps(tmp_path))) == 2, "one then, and one at the end"


def test_the_clock_waits_where_steps_have_brought_one(make_training, run, tmp_path, monkeypatch):
    monkeypatch.setattr(observers, "_FIRST", 0.1)
    run(make_training(observers=[Slow(), Checkpoints(tmp_path, 1, 99, minutes=60.0), asked := Asked()]))
    assert asked.requests == []


class Asked(Observer):
    def __init__(self):
        self.requests = []

    def request(self, training, request):
        self.requests.append(request)


def test_when_a_checkpoint_is_taken_changes_no_bit(make_training, run, tmp_path):
    """And from each of them the same end is reached."""
    whole = run(make_training(observers=[Slow()]))
    often = run(make_training(observers=[Slow(), Checkpoints(tmp_path, 500, 99, minutes=0.015 / 60)]))
    assert often.record.lines == whole.record.lines
    taken = [checkpoint.read(path) for path in checkpoint.steps(tmp_path)]
    assert len(taken) > 3
    for middle in taken:
        again = run(make_training(), middle)
        for name, value in whole.model.state_dict().items():
            assert torch.equal(again.model.state_dict()[name], value), f"{name}, from step {middle.step}"


def test_leftovers_of_a_killed_writer_are_removed(make_training, run, tmp_path):
    for name in (".step-00000005-0123abcd", ".step-00000010-4567cdef"):
        (tmp_path / f"{name}.new").mkdir()
        (tmp_path / f"{name}.new" / "model.safetensors").write_bytes(b"half")
        (tmp_path / f"{name}.writing").touch()
    run(make_training(observers=[Checkpoints(tmp_path, 500, 3)]))
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000018"]


def test_checkpoints_beyond_the_one_resumed_from_are_removed(make_training, run, save_at, tmp_path):
    run(make_training(observers=[Checkpoints(tmp_path, 5, 9)]))
    middle = checkpoint.read(tmp_path / "step-00000010")
    resumed = make_training(observers=[Checkpoints(tmp_path, 100, 9)], steps=11)
    run(resumed, middle)
    assert [p.name for p in checkpoint.steps(tmp_path)] == ["step-00000011", "step-00000010", "step-00000005"]


def test_a_diverged_training_is_not_saved_over_its_last_sound_checkpoint(make_training, run, tmp_path):
    training = make_training(observers=[Checkpoints(tmp_path, 5, 3)], validation=None)
    left = [7]

    def breaks(module, inputs, output):
        left[0] -= 1
        return output * (1.0 if left[0] >= 0 else float("nan"))

    training.model.register_forward_hook(breaks)
    with pytest.raises(TrainingError):
        run(training)
    assert [p.name for p in checkpoint.steps(tmp_path)] == ["step-00000005"]


def test_a_checkpoint_that_cannot_be_written_ends_the_training_with_the_last_sound_one_named(
    make_training, run, tmp_path, monkeypatch
):
    training = make_training(observers=[Checkpoints(tmp_path, 5, 3)])
    real = checkpoint.save_tensors

    def full(path, tensors):
        if "step-00000010" in str(path):
            raise OSError(28, "No space left on device")
        real(path, tensors)

    monkeypatch.setattr(checkpoint, "save_tensors", full)
    with pytest.raises(TrainingError, match=r"cannot be written: No space left.*step 10 is lost.* that of step 5"):
        run(training)
    assert checkpoint.newest_sound(tmp_path)[0].step == 5
