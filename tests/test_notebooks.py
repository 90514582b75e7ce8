"""A notebook that is really executed: what its cells show, how large they are, and what the stop button does."""

import json
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

RUN = """
import torch, gradlab as gl
run = gl.train("wine-mlp", {"train.epochs": 20}, out="wine")
run"""
FIT = """
X, y = torch.randn(300, 4), torch.randint(0, 3, (300,))
gl.fit(torch.nn.Linear(4, 3), (X, y), validation=0.2, epochs=5)"""
DOCTOR = """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with gl.doctor():
    for _ in range(12):
        model(torch.randn(8, 3)).square().mean().backward()
        optimizer.step()"""
STOP = """
import os, signal
class StopButton(gl.Observer):
    every, pressed = 4, False
    def step(self, training):
        if not self.pressed:
            self.pressed = True
            os.kill(os.getpid(), signal.SIGINT)
button = StopButton()"""
TRAIN = 'gl.train("moons-mlp", {"train.steps": 12}, out="moons", observers=[button])'
STOP_FIT = """button.pressed = False
torch.manual_seed(0)
moons = torch.randn(64, 2), torch.randint(0, 2, (64,))
net = torch.nn.Linear(2, 2)"""
FIT_INTO = 'gl.fit(net, moons, steps=12, batch_size=8, out="fitted", observers=[button])'
FIT_ALONE = """button.pressed = False
gl.fit(net, moons, steps=12, batch_size=8, observers=[button])"""


def execute(cells: list[str], folder: Path) -> Any:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=300, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return notebook


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each cell shows."""
    cells = [RUN, FIT, DOCTOR, STOP, TRAIN, f"{TRAIN} ", STOP_FIT, FIT_INTO, f"{FIT_INTO} ", FIT_ALONE]
    notebook = execute(cells, tmp_path_factory.mktemp("notebook"))
    return {cell.source: cell.outputs for cell in notebook.cells}


def html(outputs: list[Any]) -> list[str]:
    return [output.data["text/html"] for output in outputs if "data" in output and "text/html" in output.data]


@pytest.mark.slow
def test_cells_of_a_run_a_fit_and_a_doctor_take_few_bytes(outputs: dict[str, list[Any]]) -> None:
    shown = {cell: html(outputs[cell]) for cell in (RUN, FIT, DOCTOR)}
    assert [len(each) for each in shown.values()] == [2, 2, 1]  # progress and result; the doctor has no progress
    assert all("<svg" in piece for each in shown.values() for piece in each)
    assert sum(len(json.dumps(outputs[cell])) for cell in shown) < 60_000
    assert "gradients are never cleared" in shown[DOCTOR][0]


@pytest.mark.slow
def test_progress_of_a_finished_training_says_so(outputs: dict[str, list[Any]]) -> None:
    assert outputs[RUN][0].data["text/plain"].startswith("finished, step 160 of 160 · validation accuracy ")
    assert "<progress" not in outputs[RUN][0].data["text/html"]


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "folder"), [(TRAIN, "moons"), (FIT_INTO, "fitted")])
def test_a_stopped_cell_ends_in_one_line_and_resumes(outputs: dict[str, list[Any]], cell: str, folder: str) -> None:
    *_, error = outputs[cell]
    assert error.ename == "Interrupted"
    assert error.traceback == [f"Interrupted: {error.evalue}"]
    assert error.evalue.startswith("Stopped and saved at step 4. Go on with: ")
    again = outputs[f"{cell} "]
    assert [output.output_type for output in again if output.output_type == "error"] == []
    assert again[0].data["text/plain"].startswith("finished, step 12 of 12")
    assert f"({folder}, " in again[-1].data["text/plain"]
    assert "12 steps" in again[-1].data["text/plain"]


@pytest.mark.slow
def test_a_stopped_fit_without_a_folder_says_that_nothing_is_saved(outputs: dict[str, list[Any]]) -> None:
    *_, error = outputs[FIT_ALONE]
    assert error.traceback == [
        "UnsavedInterrupt: Stopped at step 4. Nothing was saved: with out=FOLDER, the same call resumes."
    ]
