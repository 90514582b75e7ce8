"""The doctor in a notebook: its findings are shown below the cell, and nowhere else."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

import gradlab as gl
from gradlab.report.diagnosis import notebook


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook's kernel is asked to show."""
    return ipython(monkeypatch, SimpleNamespace(kernel=object()))


def ipython(monkeypatch: pytest.MonkeyPatch, shell: Any) -> list[Any]:
    """As much of IPython as is used, in its place."""
    objects: list[Any] = []
    whole, display = ModuleType("IPython"), ModuleType("IPython.display")
    whole.get_ipython, whole.display, display.display = lambda: shell, display, objects.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", whole)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return objects


def train(steps: int = 12, **options: Any) -> Any:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with gl.doctor(**options) as doctor:
        for _ in range(steps):
            model(torch.randn(8, 3)).square().mean().backward()
            optimizer.step()
    return doctor


def test_findings_are_shown_in_place_of_the_text(shown, capsys):
    doctor = train()
    assert shown == [doctor]
    assert capsys.readouterr() == ("", "")
    html = doctor._repr_html_()
    assert "Gradients are never cleared" in html
    assert "optimizer.zero_grad()" in html
    assert html.count("<svg") == 2  # the loss, and the gradient of the finding


def test_the_findings_take_few_bytes_and_no_script(shown):
    html = train()._repr_html_()
    assert len(html) < 10_000
    assert "<script" not in html


def test_what_is_not_to_be_told_is_not_shown(shown, capsys):
    doctor = train(tell=False)
    assert shown == []
    assert capsys.readouterr().err == ""
    assert doctor._repr_html_() is not None


def test_without_a_training_there_is_no_page_but_a_line(shown, capsys):
    doctor = train(0)
    assert shown == []
    assert doctor._repr_html_() is None
    assert "No training was seen" in capsys.readouterr().err
    assert "No training was seen" in repr(doctor)


def test_findings_that_cannot_be_shown_are_printed_as_text(shown, capsys, monkeypatch):
    def fails(*_: Any) -> None:
        raise KeyError("ink")

    monkeypatch.setattr(notebook, "findings_list", fails)
    train()
    said = capsys.readouterr().err
    assert shown == []
    assert "the findings could not be shown, a fault of gradlab: KeyError: 'ink'" in said
    assert "missing_zero_grad" in said


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(kernel=None)])
def test_a_terminal_gets_text(monkeypatch, capsys, shell):
    shown = ipython(monkeypatch, shell)
    train()
    assert shown == []
    assert "missing_zero_grad" in capsys.readouterr().err


def test_before_its_end_it_has_no_page():
    with gl.doctor(tell=False) as doctor:
        assert doctor._repr_html_() is None
        assert repr(doctor) == "<gradlab doctor: still watching>"


def test_the_page_can_be_written(tmp_path):
    path = train(tell=False).to_html(tmp_path / "doctor.html")
    assert path.read_text().startswith("<!doctype html>")
    assert "missing_zero_grad" in path.read_text()
