"""Data larger than the memory that the process may have, through the whole of a training."""

import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import TIMEOUT, Finished, environment

LIMIT = 448 * 2**20  # bytes, of which Python with torch needs about 350


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


@pytest.fixture
def limited(tmp_path: Path) -> Callable[..., Finished]:
    """`limited(*arguments)`: Python with so much memory, and a cache of its own."""
    env = environment(GRADLAB_CACHE=str(tmp_path / "cache"))

    def run(*arguments: str) -> Finished:
        command = [sys.executable, *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        ended = subprocess.run(command, cwd=tmp_path, env=env, preexec_fn=limit, timeout=3 * TIMEOUT, **pipes)
        return Finished(ended.returncode, ended.stdout, ended.stderr)

    return run


def test_the_limit_is_real(limited: Callable[..., Finished]) -> None:
    assert "MemoryError" in limited("-c", f"bytearray({LIMIT})").err


def block(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of points that lie apart."""
    labels = np.arange(rows) % 2
    return np.random.default_rng(0).normal(size=(rows, columns)) + labels[:, None], labels


@pytest.mark.slow
def test_arrays_are_trained_on_that_are_larger_than_memory(limited: Callable[..., Finished], tmp_path: Path) -> None:
    values, labels = block(2000, 1000)
    times, path = 60, tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("x.npy", "w", force_zip64=True) as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (times * 2000, 1000)}
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(times):
                file.write(values.astype(np.float32).tobytes())
        with archive.open("y.npy", "w") as file:
            np.lib.format.write_array(file, np.tile(labels, times))
    assert path.stat().st_size > LIMIT
    ended = limited("-m", "gradlab", "train", "npz", "--data", "data.npz", "train.steps=20", "--out", "run", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["test"]["accuracy"] > 0.9


@pytest.mark.slow
def test_a_table_is_trained_on_that_is_larger_than_memory(limited: Callable[..., Finished], tmp_path: Path) -> None:
    values, labels = block(1000, 30)
    lines = [",".join([*(f"{v:.24f}" for v in row), "ab"[label]]) for row, label in zip(values, labels, strict=True)]
    content, path = "\n".join(lines) + "\n", tmp_path / "data.csv"
    with path.open("w") as file:
        file.write(",".join([*(f"x{i}" for i in range(30)), "y"]) + "\n")
        while file.tell() <= LIMIT:
            file.write(content)
    arguments = ("train", "csv", "--data", "data.csv", "data.target=y", "train.steps=50", "--out", "run", "--json")
    ended = limited("-m", "gradlab", *arguments)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["accuracy"] > 0.9
