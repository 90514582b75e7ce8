"""Any module ends a training with the bits of an eager step, and with a message that says why its step is eager."""

import contextlib
import importlib.util
import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import gradlab as gl
from gradlab.kernels.graphs import recording
from gradlab.training import capture, comparisons
from gradlab.training.observers import Observer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.filterwarnings("default"),  # of packages that are not ours
]

_spec = importlib.util.spec_from_file_location("custom_modules", Path(__file__).with_name("custom_modules.py"))
custom_modules = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(custom_modules)
CASES, CLASSES = custom_modules.CASES, custom_modules.CLASSES
ROWS, STEPS = 640, 160
PACKAGES = {"torchvision": "torchvision", "timm": "timm", "BERT": "transformers", "Llama": "transformers"}
PACKAGES["torch_geometric"] = "torch_geometric"


class Killed(BaseException):
    pass


class Kill(Observer):
    """Ends a training in the middle, as a kill does: nothing of it is concluded."""

    every = 70

    def step(self, training):
        raise Killed


class Mode(Observer):
    def end(self, training):
        self.mode, self.reason = training.mode, training.mode_reason


def data(case):
    generator = torch.Generator().manual_seed(0)
    if case.tokens:
        x = torch.randint(4, 50, (ROWS, *case.inputs), generator=generator)
    else:
        x = torch.randn(ROWS, *case.inputs, generator=generator)
    return x, torch.randint(CLASSES, (ROWS,), generator=generator)


def train(case, compile, out=None, observers=(), **values):
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    custom_modules.total_calls, custom_modules.schedule.temperature = 0, 1.0
    custom_modules.CountingClass.seen = 0
    model, mode = case.make(), Mode()
    options = {"objective": case.objective()} if case.objective else {}
    options |= {
        "steps": STEPS,
        "batch_size": 32,
        "log_every": 20,
        "keep": "last",
        "deterministic": True,
        "doctor": False,
    }
    options |= {"validation": 0.1, "evaluate_every": 80, "device": "cuda", "compile": compile}
    fit = gl.fit(model, data(case), out=out, observers=[mode, *observers], **{**options, **values})
    return fit, mode


def check_same(one, other):
    for (name, value), again in zip(one.model.state_dict().items(), other.model.state_dict().values(), strict=True):
        assert torch.equal(value.to_dense(), again.to_dense()) if value.is_sparse else torch.equal(value, again), name
    lines = [[{k: v for k, v in line.items() if k != "seconds"} for line in fit.history] for fit in (one, other)]
    assert repr(lines[0]) == repr(lines[1])  # NaN equals itself so


@pytest.fixture(autouse=True)
def together(monkeypatch):
    """Many steps in a replay, and comparisons, in short trainings too."""
    monkeypatch.setattr(capture, "_AT_ONCE_STEPS", 0)
    monkeypatch.setattr(comparisons, "_FIRST_OF_SMALL", 40)


@pytest.mark.parametrize("name", CASES)
def test_a_custom_module_ends_with_the_bits_of_the_eager_step(name, tmp_path):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    case = CASES[name]
    plain, _ = train(case, "off")
    for _ in range(2):
        fit, mode = train(case, "auto")
        check_same(plain, fit)
        print(f"{name}: {mode.mode} ({mode.reason})")
        assert case.mode in ("", mode.mode), (mode.mode, mode.reason)
        assert re.search(case.reason, mode.reason), mode.reason
    ends = {}
    for compile in ("off", "auto"):
        with pytest.raises(Killed):
            train(case, compile, out=tmp_path / compile, observers=[Kill()], checkpoint_every=60)
        ends[compile], _ = train(case, compile, out=tmp_path / compile, checkpoint_every=60)
    check_same(ends["off"], ends["auto"])


def test_a_failed_recording_leaves_the_process_usable(monkeypatch, capsys):
    """What the watch does not see: the recording itself fails, and everything goes on."""
    case = CASES["branch on a value"]
    monkeypatch.setattr(capture.StepWatch, "watching", lambda self: contextlib.nullcontext())
    plain, _ = train(case, "off")
    for _ in range(3):
        fit, mode = train(case, "auto")
        check_same(plain, fit)
        assert "it cannot be recorded" in mode.reason
    monkeypatch.undo()
    fit, mode = train(CASES["dropout"], "auto")
    assert mode.mode == "graph"
    check_same(train(CASES["dropout"], "off")[0], fit)


def test_failed_recordings_leave_no_memory_and_no_capture_behind():
    stream, x = torch.cuda.Stream(), torch.ones(2**22, device="cuda")
    x.sum().item()
    reserved, generator = [], torch.cuda.get_rng_state()
    for _ in range(4):
        with pytest.raises(RuntimeError), recording(torch.cuda.CUDAGraph(), stream):
            (torch.rand_like(x) * 2).sum().item()
        with pytest.raises(KeyError), recording(torch.cuda.CUDAGraph(), stream):
            raise KeyError(torch.rand_like(x).shape)
        torch.cuda.empty_cache()
        reserved.append(torch.cuda.memory_reserved())
    assert reserved[-1] == reserved[0]
    assert torch.equal(torch.cuda.get_rng_state(), generator)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    graph = torch.cuda.CUDAGraph()
    with recording(graph, stream):
        y = torch.rand_like(x)
    graph.replay()
    assert float(y.sum()) > 0


def test_a_step_whose_sums_have_no_order_is_replayed_within_its_own_rounding():
    class Unordered(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.last = nn.Linear(8, 64), nn.Linear(64, CLASSES)

        def forward(self, x):
            z = self.table(x)
            place = torch.arange(len(x), device=x.device) % 4
            sums = torch.zeros(4, 64, device=x.device).index_add(0, place, z)
            return self.last(torch.tanh(z + sums[place]))

    fit, mode = train(custom_modules.Case(Unordered), "auto", deterministic=False, batch_size=512)
    assert mode.mode == "graph", mode.reason
    assert all(p.isfinite().all() for p in fit.model.parameters())


def test_a_demanded_fast_step_is_an_error_where_there_is_none():
    with pytest.raises(gl.GradlabError, match=r"compile=.on.*reads a value back: z\.mean\(\)\.item\(\)"):
        train(CASES["branch on a value"], "on")
    assert train(CASES["plain"], "on")[1].mode == "graph"


def test_the_doctor_reports_what_host_reads_cost():
    fit, _ = train(CASES["branch on a value"], "auto", doctor=True)
    note = next(finding for finding in fit.findings if finding.slug == "host_reads")
    assert note.severity == "note"
    assert note.measured["reads"] == 1
    assert 0 < note.measured["milliseconds"] < 1e3
    assert "z.mean().item()" in note.evidence


def test_a_resumed_run_repeats_the_eager_step_and_its_reason(tmp_path, capsys):
    case = CASES["annealed module"]
    with pytest.raises(Killed):
        train(case, "auto", out=tmp_path / "run", observers=[Kill()], checkpoint_every=60)
    environment = gl.load_run(tmp_path / "run").environment
    assert environment["step"] == "eager"
    assert "changes Annealed.steps from 1 to 2" in environment["step_reason"]
