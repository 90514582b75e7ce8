"""Runs that the tests copy and then maltreat."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, checkpoints, gradlab, quick, shared_folder

# Ends at step 60 with its best weights behind it, so that the last checkpoint has every kind of file.
SMALL = [
    "train", "moons-mlp", "data.examples=200", "data.noise=0.4", "train.steps=60", "train.lr=0.1", "train.log_every=5",
    "train.evaluate_every=6", "train.checkpoint_every=15",
]  # fmt: skip


# Recipes whose every bit must survive a kill. Log lines, evaluations and checkpoints fall on different steps.
EXACT = {
    "momentum": [
        "train", "digits-mlp", "train.optimizer=momentum", "train.lr=0.05", "train.epochs=12", "train.log_every=5",
        "train.evaluate_every=3", "train.checkpoint_every=7",
    ],
    "dropout": [
        "train", "digits-dropout", "model.hidden=64,64", "train.epochs=7", "train.log_every=5",
        "train.evaluate_every=3", "train.checkpoint_every=7",
    ],
    "lbfgs": [
        "train", "digits-softmax", "train.optimizer=lbfgs", "train.batch_size=full", "train.lr=1", "train.epochs=150",
        "train.optimizer.iterations=2", "train.log_every=5", "train.evaluate_every=3", "train.checkpoint_every=7",
    ],
    "averaged": [
        "train", "digits-mlp", "train.optimizer=rmsprop", "train.optimizer.momentum=0.5", "train.ema=0.95",
        "train.schedule=plateau", "train.schedule.patience=2", "train.schedule.factor=0.9", "train.lr=0.003",
        "train.epochs=12", "train.log_every=5", "train.evaluate_every=3", "train.checkpoint_every=7",
    ],
    "carried": [
        "train", "pydoc-lstm", "data.context=64", "model.dim=8", "model.layers=1", "model.dropout=0.2",
        "train.batch_size=64", "train.steps=120", "train.schedule.warmup=10", "train.log_every=3",
        "train.evaluate_every=25", "train.checkpoint_every=7",
    ],
    "players": [
        "train", "ring-gan", "data.examples=1000", "model.spectral_norm=true", "model.hidden=16",
        "task.loss=wasserstein", "model.discriminator=16",
        "task.generator_lr=0.001", "train.batch_size=32", "train.steps=150",
        "train.log_every=5", "train.evaluate_every=3", "train.checkpoint_every=7",
    ],
    "pixels": [
        "train", "digits-pixelcnn", "data.limit=200", "model.layers=1", "model.channels=4", "train.epochs=12",
        "train.log_every=5", "train.evaluate_every=3", "train.checkpoint_every=7",
    ],
    "diffusion": [
        "train", "digits-diffusion", "model.dim=16", "model.layers=1", "train.steps=100", "train.log_every=5",
        "train.evaluate_every=15", "train.checkpoint_every=7", "task.sampling_steps=4",
    ],
    "drawn": [  # pixels that are others in each epoch, and codes that are drawn in each step and each evaluation
        "train", "digits-vae", "model.hidden=32", "model.latent=4", "train.epochs=7", "train.log_every=5",
        "train.evaluate_every=3", "train.checkpoint_every=7",
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`exact(name)`: the finished run of one of the recipes above that nobody disturbed."""

    def run(name: str) -> Path:
        with shared_folder(tmp_path_factory, f"exact-{name}") as folder:
            if not (folder / "run").exists():
                ended = gradlab(*EXACT[name], "--out", "run", "--json", cwd=folder)
                assert ended.code == 0, ended.err
            return folder / "run"

    return run


@pytest.fixture(scope="session")
def commands() -> dict[str, list[str]]:
    """The commands of `exact`, without --out."""
    return EXACT


@pytest.fixture(scope="session")
def reference(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small finished run with three checkpoints; the tests look and copy."""
    folder = tmp_path_factory.mktemp("reference")
    ended = quick(*SMALL, "--out", "run", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert [path.name for path in checkpoints(folder / "run")] == ["step-00000030", "step-00000045", "step-00000060"]
    assert (checkpoints(folder / "run")[-1] / "best.safetensors").is_file()
    return folder / "run"


@pytest.fixture
def finished(reference: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be maltreated."""
    run = Path(shutil.copytree(reference, tmp_path / "run", ignore=shutil.ignore_patterns("report.html")))
    (run / "report.html").write_text("megabytes, which no test here looks into")
    return run


@pytest.fixture
def unfinished(finished: Path) -> Path:
    """The same as it would be, had it been killed after its last checkpoint."""
    (finished / "result.json").unlink()
    (finished / "report.html").unlink()
    return finished


@pytest.fixture
def arrays(tmp_path: Path) -> Callable[..., Path]:
    """`arrays(x=…, y=…)` writes data.npz; what is not given is sound."""

    def write(**changes: np.ndarray) -> Path:
        generator = np.random.default_rng(0)
        sound = {"x": generator.normal(size=(40, 3)), "y": np.arange(40) % 2}
        np.savez(tmp_path / "data.npz", **(sound | changes))
        return tmp_path / "data.npz"

    return write
