"""`train.log=tensorboard`: the scalars of the metrics log as event files, exact when resumed."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, check_same, gradlab, kill_after, lines

import gradlab as gl
from gradlab.errors import GradlabError

LOGGED = ("train.log=tensorboard", "train.log_every=5", "train.checkpoint_every=20")


def events(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows: steps and values by tag."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    read = accumulator.EventAccumulator(str(folder), size_guidance={accumulator.SCALARS: 0}).Reload()
    return {tag: [(event.step, event.value) for event in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def expected(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The same from metrics.jsonl; TensorBoard keeps single precision."""
    found: dict[str, list[tuple[int, float]]] = {}
    for line in lines(run):
        figures = {f"{k}/{line['split']}": v for k, v in line.items() if isinstance(v, float) and k not in WHERE}
        figures |= {f"update_ratio/{k}": v for k, v in line.get("update_ratio", {}).items()}
        for tag, value in figures.items():
            found.setdefault(tag, []).append((line["step"], pytest.approx(value, rel=1e-6)))
    return found


WHERE = ("epoch", "seconds")


def test_the_scalars_are_those_of_the_metrics_log(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "digits-mlp", "train.epochs=2", *LOGGED, "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.err == ""
    found = events(tmp_path / "run" / "tensorboard")
    assert {"loss/train", "loss/validation", "accuracy/validation", "lr/train", "update_ratio/1.weight"} <= set(found)
    assert found == expected(tmp_path / "run")


def test_the_training_is_the_same_to_the_bit(quick: ForkServer, tmp_path: Path) -> None:
    for name, log in {"with": LOGGED, "without": LOGGED[1:]}.items():
        assert quick("train", "digits-mlp", "train.epochs=2", *log, "--out", name, "--json", cwd=tmp_path).code == 0
    check_same(tmp_path / "with", tmp_path / "without")
    assert not (tmp_path / "without" / "tensorboard").exists()


def test_a_killed_and_resumed_run_has_every_point_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train = ("train", "digits-mlp", "train.epochs=60", *LOGGED, "--out", "run", "--plain")
    assert kill_after(run, 40, *train, cwd=tmp_path).code != 0
    ended = gradlab("resume", "run", "--plain", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len(list((run / "tensorboard").iterdir())) == 2
    assert events(run / "tensorboard") == expected(run)


def test_without_tensorboard_it_is_refused_before_there_is_a_folder(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['tensorboard'] = None; from gradlab.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", hidden, "train", "digits-mlp", "train.log=tensorboard", "--out", "run"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.returncode == 2
    assert 'pip install "gradlab[tensorboard]"' in ended.stderr
    assert not (tmp_path / "run").exists()


def test_another_word_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("train", "digits-mlp", "train.log=wandb", cwd=tmp_path), "train.log", "none | tensorboard")


def test_fit_needs_a_folder_for_it() -> None:
    import torch

    with pytest.raises(GradlabError, match="out=FOLDER"):
        gl.fit(torch.nn.Linear(2, 2), (torch.randn(8, 2), torch.zeros(8, dtype=torch.long)), log="tensorboard")
