"""Finished runs that the tests share: they look and copy, and never change these."""

from pathlib import Path

import pytest
from cli_helpers import ForkServer, gradlab, quick, shared_folder


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`gradlab train digits-mlp`, as anybody would."""
    with shared_folder(tmp_path_factory, "digits") as folder:
        if not (folder / "stdout.json").exists():
            ended = gradlab("train", "digits-mlp", "--out", "digits", "--json", cwd=folder)
            assert ended.code == 0, ended.err
            (folder / "stdout.json").write_text(ended.out)
        return folder / "digits"


@pytest.fixture(scope="session")
def iris(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Softmax regression on four measurements."""
    folder = tmp_path_factory.mktemp("iris")
    assert quick("train", "iris-softmax", "train.epochs=3", "--out", "iris", "--json", cwd=folder).code == 0
    return folder / "iris"


@pytest.fixture(scope="session")
def diabetes(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Linear regression on ten measurements, one of them a category."""
    folder = tmp_path_factory.mktemp("diabetes")
    assert quick("train", "diabetes-linear", "train.epochs=2", "--out", "diabetes", "--json", cwd=folder).code == 0
    return folder / "diabetes"
