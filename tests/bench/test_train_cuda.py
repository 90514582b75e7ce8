"""The training benchmark of a GPU, on the CPU at small sizes."""

import pytest
import torch
from rich.console import Console

from gradlab.bench.cuda.training import CudaTrainRow, bench_train_cuda, check_same_work
from gradlab.bench.cuda.training_worker import CellLoop
from gradlab.cli.benchmarks.train import show_train_cuda
from gradlab.errors import GradlabError
from gradlab.models.language import RecurrentLanguageModel


def row(*losses, title="a"):
    return CudaTrainRow(
        title=title, milliseconds=1.0, examples_per_second=1.0, before=0.0, gibibytes=0.0, losses=list(losses)
    )


def test_trainings_of_other_work_are_not_compared():
    check_same_work([row(2.0, 1.0), row(2.001, 1.01, title="b")])
    with pytest.raises(GradlabError, match="b does other work than a"):
        check_same_work([row(2.0, 1.0), row(2.0, 1.5, title="b")])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_loop_over_cells_is_the_same_model(cell):
    torch.manual_seed(0)
    model, tokens = RecurrentLanguageModel(11, cell=cell, dim=8, layers=2), torch.randint(11, (3, 7))
    torch.testing.assert_close(CellLoop(model)(tokens), model(tokens))


def test_all_works_are_measured_and_shown():
    pytest.importorskip("transformers")
    gpt = {"vocabulary": 32, "context": 16, "batch": 4, "dim": 16, "layers": 2, "heads": 2}
    mlp = {"rows": 512, "inputs": 8, "hidden": 8, "classes": 3, "batch": 16, "epochs": 40}
    cells = {"vocabulary": 32, "context": 16, "batch": 4, "dim": 16, "layers": 2}
    results = list(bench_train_cuda(lambda text: None, device="cpu", steps=8, gpt=gpt, lstm=cells, gru=cells, mlp=mlp))
    assert [one.title.split(":")[0].split()[0] for one in results] == ["GPT-2", "LSTM", "GRU", "MLP"]
    assert [len(one.rows) for one in results] == [2, 2, 2, 2]
    for ours, theirs in (one.rows for one in results[:3]):
        assert len(ours.losses) == 2  # of each half
        assert ours.losses == pytest.approx(theirs.losses, rel=1e-4)
    assert all(r.milliseconds > 0 and r.examples_per_second > 0 for one in results for r in one.rows)
    screen = Console(width=160, record=True)
    show_train_cuda(screen, results)
    shown = screen.export_text()
    assert "Hugging Face" in shown
    assert f"{results[0].rows[0].losses[1]:.3f}" in shown
