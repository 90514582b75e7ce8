"""`gradlab bench decode`: the same text from both, and ratios that are what they say."""

import pytest
from rich.console import Console

from gradlab.bench.decoding.cuda import bench_decode_cuda
from gradlab.bench.decoding.small import bench_decode
from gradlab.bench.decoding.speculative import bench_speculative
from gradlab.cli.benchmarks.decode import show_decode_cuda
from gradlab.errors import GradlabError


@pytest.mark.slow
def test_everybody_writes_the_same():
    pytest.importorskip("transformers")
    (found,) = bench_decode([2], 1, lambda text: None, new=8, prompt=3)
    assert found.same
    assert {row.title for row in found.rows if row.speed == 1} <= {
        "Hugging Face generate",
        "Hugging Face generate, 1 thread",
    }
    assert all(row.microseconds > 0 for row in found.rows)
    assert all((row.early is not None) == row.title.startswith("gradlab") for row in found.rows)


@pytest.mark.parametrize(("batches", "rounds", "new"), [([0], 1, 8), ([1], 0, 8), ([1], 1, 0)])
def test_nothing_to_measure_is_refused(batches, rounds, new):
    with pytest.raises(GradlabError, match="at least"):
        bench_decode(batches, rounds, lambda text: None, new=new)


@pytest.mark.slow
def test_the_figures_of_a_gpu_are_measured_in_fresh_processes():
    # On the CPU, at a small size: what is measured is the same.
    sizes = {"vocabulary": 64, "context": 32, "dim": 16, "layers": 1, "heads": 2}
    work = [("gpt", 1, 1), ("gpt", 2, 3), ("linear", 1, 1), ("lstm", 2, 1)]
    results = bench_decode_cuda(lambda text: None, new=8, prompt=3, work=work, device="cpu", **sizes)
    assert [(one.texts, one.beams, one.new) for one in results] == [(1, 1, 8), (2, 3, 8), (1, 1, 8), (2, 1, 8)]
    assert [one.model.split(",")[0] for one in results] == ["GPT-2", "GPT-2", "GPT-2 with linear attention", "LSTM"]
    assert [len(one.rows) for one in results][2:] == [1, 1]
    for one in results:
        assert one.same
        assert one.floor > 0
        assert one.rows[0].title == "gradlab"
        assert all(row.first_token > 0 and row.tokens_per_second > 0 for row in one.rows)
        assert "torch" in one.versions


@pytest.mark.slow
def test_speculative_decoding_is_measured_with_models_that_were_trained():
    both = {"data.context": 64, "train.batch_size": 8, "train.lr": 3e-3}
    shape = {"model.layers": 1, "model.heads": 2}
    small, tiny = {**shape, "model.dim": 32, "train.steps": 60}, {**shape, "model.dim": 16, "train.steps": 60}
    result = bench_speculative(
        lambda text: None, new=16, texts=2, device="cpu", recipe="pydoc-gpt", both=both, model=small, draft=tiny
    )
    assert result.same
    assert [row.acceptance is None for row in result.rows] == [True, False, False] * 2
    for row in result.rows:
        assert row.tokens_per_second > 0
        assert 1 <= row.tokens_per_reading <= 4
    assert result.rows[1].acceptance > 0.1  # bytes of English, after little training
    screen = Console(record=True, width=200)
    show_decode_cuda(screen, [result])
    assert "greedy, guesses by looking up" in screen.export_text()
