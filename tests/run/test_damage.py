"""A byte that flips in any file of a run that is read again is reported, and changes no result in silence."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradlab.data import Context
from gradlab.errors import GradlabError
from gradlab.files import SUMS
from gradlab.recipes import find
from gradlab.run import open_run
from gradlab.run.sample_files import read_samples
from gradlab.training import experiment

RECIPES: dict[str, tuple[str, dict[str, Any]]] = {
    "classifier": ("moons-mlp", {"data.examples": 100}),
    "language": ("pydoc-lstm", {"data.context": 16, "model.dim": 8, "model.layers": 1}),
    "pairs": ("copy-seq2seq", {"data.examples": 200, "model.dim": 8, "model.layers": 1}),
    "generative": (
        "ring-gan",
        {"data.examples": 100, "model.hidden": [8], "model.discriminator": [8], "train.steps": 100},
    ),
    "graph": ("karate-gcn", {}),
    "playing": ("grid-qlearning", {}),
}
UNREAD = (".html", ".lock")
"""Pages, which gradlab never reads again; those who do can compare them with a new one."""


@pytest.fixture(scope="module", params=RECIPES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of each kind."""
    name, changes = RECIPES[request.param]
    recipe = find(name).override({"train.steps": 6, "train.checkpoints": 1, "train.doctor": False, **changes})
    prepared = experiment.Experiment.of(recipe, torch.device("cpu"))
    return experiment.start(prepared, tmp_path_factory.mktemp("runs") / "run").path


def read_all(path: Path) -> None:
    """Use whatever there is of a run."""
    run = open_run(path)
    assert run.finished
    assert run.environment
    assert run.metrics
    assert run.targets
    run.with_judge(run.task)
    if isinstance(run.preprocessing, Context):
        assert run.tokenizer
    assert run.model
    if (path / "samples").exists():
        read_samples(path / "samples", run.preprocessing.spec.shape, len(run.targets.classes or []))


def places(size: int) -> set[int]:
    """Where bytes are flipped: at both ends and between them."""
    return {0, 1, size // 3, size // 2, 2 * size // 3, size - 1} & {*range(size)}


def test_no_flipped_byte_of_a_run_passes_in_silence(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    read_all(run)
    assert capsys.readouterr().err == ""
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and not path.name.endswith(UNREAD)]
    assert {"recipe.toml", "environment.json", "data.json", "metrics.jsonl", "result.json", SUMS} <= {
        path.name for path in files
    }
    for file in files:
        sound = file.read_bytes()
        for place in places(len(sound)):
            damaged = bytearray(sound)
            damaged[place] ^= 4
            file.write_bytes(damaged)
            assert reports(lambda: read_all(run), capsys), f"{file.relative_to(run)}, byte {place}"
        file.write_bytes(sound)
    read_all(run)


def reports(use: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether something is refused with one message, or a notice is printed."""
    try:
        use()
    except GradlabError as error:
        return " is damaged: " in str(error)
    return " is damaged: " in capsys.readouterr().err
