"""The page on notebooks: its cells run, one after the other."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from page import Page

PAGE = Page(Path(__file__).parents[2] / "docs" / "notebooks.md")


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in PAGE.blocks("python"):
        exec(compile(cell, "notebooks.md", "exec"), names)
    assert (tmp_path / "runs" / "wine" / "report.html").exists()
    assert "runs/wine is finished, and is returned as it is." in capsys.readouterr().err


@pytest.mark.parametrize("line", PAGE.blocks("text"))
def test_the_line_of_a_stopped_cell_is_that_of_the_error(line, tmp_path, monkeypatch):
    import gradlab as gl
    from gradlab.errors import Interrupted

    class StopButton(gl.Observer):
        every = 120

        def step(self, training):
            training.request("stop")

    monkeypatch.chdir(tmp_path)
    with pytest.raises(Interrupted) as stopped:
        gl.train("wine-mlp", {"train.epochs": 20}, out="runs/wine", observers=[StopButton()])
    assert stopped.value._render_traceback_() == [line.strip()]
