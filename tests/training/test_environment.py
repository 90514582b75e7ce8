import json
import os
import sys

import pytest
import torch
from torch import nn

import gradlab
from gradlab.errors import GradlabError
from gradlab.training.environment import choose_threads, describe_environment, find_device, settings

CPU = torch.device("cpu")


@pytest.fixture
def cores(monkeypatch):
    """As many threads as torch would take on a machine of so many cores."""
    return lambda count: monkeypatch.setattr(torch, "get_num_threads", lambda: count)


@pytest.mark.parametrize(
    ("flops", "available", "threads"),
    [(0, 8, 1), (9e6, 8, 1), (19e6, 8, 1), (20e6, 8, 2), (1e12, 8, 8), (1e12, 1, 1)],
)
def test_a_thread_is_woken_only_for_enough_work(make_plan, cores, flops, available, threads):
    cores(available)
    assert choose_threads(make_plan(), flops) == threads


class Last(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, hidden, batch_first=True), nn.Linear(hidden, 2)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


@pytest.mark.parametrize(("hidden", "threads"), [(64, 1), (128, 1), (512, 2)])
def test_the_steps_of_a_recurrent_network_are_counted_one_by_one(cores, tmp_path, hidden, threads):
    """A step has 0.5, 1.8 and 27 GFLOP, but each product only a 64th of a third of it."""
    cores(2)
    x, y = torch.randn(64, 64, 8), torch.arange(64) % 2
    run = gradlab.fit(Last(hidden), (x, y), steps=1, batch_size=32, out=tmp_path / "run", doctor="off").run
    assert run.environment["threads"] == threads


@pytest.mark.parametrize(("batch_size", "accumulate", "threads"), [(8, 1, 1), (64, 1, 2), (64, 8, 1)])
def test_a_product_is_as_large_as_the_rows_that_it_has_at_once(cores, tmp_path, batch_size, accumulate, threads):
    cores(2)
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
    x = torch.randn(64, 512)
    plan = {"batch_size": batch_size, "accumulate": accumulate, "steps": 1, "doctor": "off"}
    run = gradlab.fit(model, (x, x), loss="mse", out=tmp_path / "run", **plan).run
    assert run.environment["threads"] == threads


def test_threads_asked_for_are_taken(make_plan, cores):
    cores(2)
    assert choose_threads(make_plan(threads=5), 0) == 5


def test_a_run_leaves_threads_and_generators_as_they_were(make_plan):
    threads, state = torch.get_num_threads(), torch.get_rng_state()

    def fails():
        with settings(CPU, 2, make_plan(seed=7)):
            assert torch.get_num_threads() == 2
            assert torch.initial_seed() == 7
            torch.rand(3)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_the_same_seed_gives_the_same_numbers(make_plan):
    drawn = []
    for seed in (1, 1, 2):
        with settings(CPU, 1, make_plan(seed=seed)):
            drawn.append(torch.rand(4).tolist())
    assert drawn[0] == drawn[1] != drawn[2]


def test_devices_are_found_by_name():
    assert find_device("cpu") == CPU
    assert find_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(GradlabError, match="There is no device 'tpu'"):
        find_device("tpu")


def test_a_device_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(GradlabError, match="--device cuda was asked for, but this machine has none"):
        find_device("cuda")


def test_the_environment_says_what_a_repetition_needs_to_know():
    said = describe_environment(CPU, 3, "eager")
    assert json.loads(json.dumps(said)) == said
    assert (said["gradlab"], said["torch"]) == (gradlab.__version__, torch.__version__)
    assert (said["threads"], said["step"], said["device"], said["cores"]) == (3, "eager", "cpu", os.cpu_count())


def test_a_password_in_the_command_is_not_kept(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gradlab", "sweep", "--storage", "mysql://me:secret@host/db"])
    assert describe_environment(torch.device("cpu"), 1, "eager")["command"].endswith("mysql://me:***@host/db")
