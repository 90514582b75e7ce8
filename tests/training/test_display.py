"""What a training shows of itself where Python calls it: in a notebook, in a terminal, and elsewhere nothing."""

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

import gradlab as gl
from gradlab import parallel
from gradlab.api import runs
from gradlab.errors import TrainingError
from gradlab.training import display
from gradlab.training.display import LiveProgress, NotebookProgress, default_progress

X, Y = torch.randn(64, 3), torch.randint(0, 2, (64,))


class Kernel:
    """What a notebook's kernel is asked to show: the states of one output, one after the other."""

    def __init__(self) -> None:
        self.states: list[dict[str, str]] = []
        self.displays = 0

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> "Kernel":
        assert raw
        assert display_id
        self.displays += 1
        self.states.append(content)
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.states.append(content)

    @property
    def texts(self) -> list[str]:
        return [state["text/plain"] for state in self.states]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel, whole, module = Kernel(), ModuleType("IPython"), ModuleType("IPython.display")
    whole.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    whole.display, module.display = module, kernel.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", whole)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return kernel


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report takes longer than the training."""
    monkeypatch.setattr(runs, "_report", lambda run: None)


def fit(**options: Any) -> Any:
    options = {"epochs": 20, "validation": 0.25, "doctor": False, **options}
    return gl.fit(torch.nn.Linear(3, 2), (X, Y), **options)


def test_a_notebook_has_one_output_that_ends_with_the_curves(kernel: Kernel) -> None:
    fitted = fit()
    assert kernel.displays == 1
    assert kernel.texts[0].startswith("step 0 of ")
    assert kernel.texts[-1].startswith(f"finished, step {fitted.steps} of {fitted.steps} · validation accuracy 0.")
    assert kernel.states[-1]["text/html"].count("<svg") == 2
    assert "<progress" not in kernel.states[-1]["text/html"]


@pytest.mark.parametrize(("seconds", "states"), [(0.0, 40), (1e9, 2)])
def test_the_output_is_renewed_at_an_interval(kernel: Kernel, monkeypatch: Any, seconds: float, states: int) -> None:
    monkeypatch.setattr(display, "_RENEWAL", seconds)
    fit(epochs=40)
    assert len(kernel.states) == states if seconds else len(kernel.states) >= states
    assert all("<progress" in state["text/html"] for state in kernel.states[:-1])


def test_progress_can_be_switched_off(kernel: Kernel, tmp_path: Any) -> None:
    fit(progress=False)
    fit(progress=False, out=tmp_path / "fitted")
    run = gl.train("moons-mlp", {"train.steps": 4}, out=tmp_path / "moons", progress=False)
    gl.resume(run, progress=False)
    assert kernel.states == []


def test_train_and_resume_show_progress(kernel: Kernel, tmp_path: Any) -> None:
    class StopButton(gl.Observer):
        every = 4

        def step(self, training: Any) -> None:
            training.request("stop")

    with pytest.raises(gl.GradlabError, match="Stopped and saved"):
        gl.train("moons-mlp", {"train.steps": 8}, out=tmp_path / "moons", observers=[StopButton()])
    assert kernel.texts[-1].startswith("interrupted, step 4 of 8")
    gl.resume(tmp_path / "moons")
    assert kernel.displays == 2
    assert kernel.texts[-1].startswith("finished, step 8 of 8")


def test_a_diverged_training_says_so(kernel: Kernel) -> None:
    with pytest.raises(TrainingError):
        gl.fit(torch.nn.Linear(3, 1), (X, X[:, :1]), loss="mse", lr=1e30, optimizer="sgd", doctor=False)
    assert kernel.texts[-1].startswith("diverged, step ")


def test_a_training_that_is_stopped_within_a_step_says_so(kernel: Kernel) -> None:
    class StopButton(gl.Observer):
        every = 2

        def step(self, training: Any) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="Nothing was saved: with out=FOLDER, the same call resumes"):
        fit(observers=[StopButton()])
    assert kernel.texts[-1].startswith("stopped, step 2 of ")
    assert "<progress" not in kernel.states[-1]["text/html"]


def test_progress_changes_no_weight(kernel: Kernel, monkeypatch: Any) -> None:
    monkeypatch.setattr(display, "_RENEWAL", 0.0)
    torch.manual_seed(1)
    shown = fit().model.state_dict()
    torch.manual_seed(1)
    quiet = fit(progress=False).model.state_dict()
    assert all(torch.equal(shown[name], quiet[name]) for name in quiet)


def test_a_terminal_has_a_line_on_stderr_and_a_pipe_nothing(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert default_progress() == []  # as pytest has it
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    (line,) = default_progress()
    assert isinstance(line, LiveProgress)
    assert line.console.stderr
    monkeypatch.setattr(sys, "stderr", None)
    assert default_progress() == []


def test_only_the_first_of_several_processes_shows_progress(kernel: Kernel, monkeypatch: Any) -> None:
    assert isinstance(default_progress()[0], NotebookProgress)
    monkeypatch.setattr(parallel, "rank", lambda: 1)
    assert default_progress() == []
