"""The training benchmark of a GPU, on the CPU at small sizes."""

import pytest
from rich.console import Console

from gradlab.bench.train_cuda import CudaTrainRow, bench_train_cuda, check_same_work
from gradlab.cli.benchmark_tables import show_cuda
from gradlab.errors import GradlabError


def row(*losses, title="a"):
    return CudaTrainRow(
        title=title, milliseconds=1.0, examples_per_second=1.0, before=0.0, gibibytes=0.0, losses=list(losses)
    )


def test_trainings_of_other_work_are_not_compared():
    check_same_work([row(2.0, 1.0), row(2.001, 1.01, title="b")])
    with pytest.raises(GradlabError, match="b does other work than a"):
        check_same_work([row(2.0, 1.0), row(2.0, 1.5, title="b")])


def test_both_works_are_measured_and_shown():
    pytest.importorskip("transformers")
    gpt = {"vocabulary": 32, "context": 16, "batch": 4, "dim": 16, "layers": 2, "heads": 2}
    mlp = {"rows": 512, "inputs": 8, "hidden": 8, "classes": 3, "batch": 16, "epochs": 40}
    results = bench_train_cuda(lambda text: None, device="cpu", steps=8, gpt=gpt, mlp=mlp)
    assert [len(one.rows) for one in results] == [2, 2]
    ours, theirs = results[0].rows
    assert len(ours.losses) == len(theirs.losses) == 2  # of each half
    assert all(r.milliseconds > 0 and r.examples_per_second > 0 for one in results for r in one.rows)
    screen = Console(width=160, record=True)
    show_cuda(screen, results)
    assert "Hugging Face" in screen.export_text()
