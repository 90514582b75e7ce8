"""No file that gradlab reads can run code."""

import hashlib
import io
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from cli_helpers import ForkServer, check_refused, checkpoints


class Payload:
    """Unpickling it writes a file."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return exec, (f"open({str(self.marker)!r}, 'w').close()",)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where the payload would leave its trace."""
    return tmp_path / "pwned"


def pickled(marker: Path) -> bytes:
    return pickle.dumps(Payload(marker))


def saved_by_torch(marker: Path) -> bytes:
    buffer = io.BytesIO()
    torch.save({"weight": Payload(marker)}, buffer)
    return buffer.getvalue()


def object_array(marker: Path) -> np.ndarray:
    array = np.empty((40, 2), object)
    array[:] = 0.0
    array[0, 0] = Payload(marker)
    return array


def test_the_payload_would_work(marker: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "trap.npy", object_array(marker), allow_pickle=True)
    np.load(tmp_path / "trap.npy", allow_pickle=True)
    assert marker.exists()


def npy(path: Path, marker: Path) -> None:
    np.save(path, object_array(marker), allow_pickle=True)


def npz(path: Path, marker: Path) -> None:
    np.savez(path, x=object_array(marker), y=np.arange(40) % 2)


def npz_in_the_target(path: Path, marker: Path) -> None:
    np.savez(path, x=np.ones((40, 2)), y=object_array(marker)[:, 0])


def bare(path: Path, marker: Path) -> None:
    path.write_bytes(pickled(marker))


def torch_file(path: Path, marker: Path) -> None:
    path.write_bytes(saved_by_torch(marker))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("array.npy", npy),
        ("arrays.npz", npz),
        ("bare.npy", bare),
        ("bare.npz", bare),
        ("model.pt", torch_file),
        ("model.npz", torch_file),  # a zip, as .npz is
        ("model.npy", torch_file),
        ("rows.json", bare),
        ("rows.csv", bare),
        ("rows.png", bare),
        ("rows.pkl", bare),
    ],
)
def test_predict_never_unpickles(
    quick: ForkServer, reference: Path, tmp_path: Path, marker: Path, name: str, write: Callable[[Path, Path], None]
) -> None:
    write(tmp_path / name, marker)
    check_refused(quick("predict", reference, name, cwd=tmp_path), name)
    assert not marker.exists()


@pytest.mark.parametrize("write", [npz, npz_in_the_target, bare, torch_file])
def test_train_never_unpickles(
    quick: ForkServer, tmp_path: Path, marker: Path, write: Callable[[Path, Path], None]
) -> None:
    write(tmp_path / "data.npz", marker)
    check_refused(quick("train", "npz", "--data", "data.npz", "--out", "run", cwd=tmp_path), "data.npz")
    assert not marker.exists()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("file", ["model.safetensors", "best.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("sums", ["old sums", "matching sums"])
def test_a_checkpoint_is_never_unpickled(
    quick: ForkServer, unfinished: Path, tmp_path: Path, marker: Path, file: str, sums: str
) -> None:
    for folder in checkpoints(unfinished):
        content = pickled(marker) if file == "state.json" else saved_by_torch(marker)
        (folder / file).write_bytes(content)
        if sums == "matching sums":
            names = sorted(path.name for path in folder.iterdir() if path.name != "SHA256SUMS")
            digests = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
            (folder / "SHA256SUMS").write_text("".join(digests))
    check_refused(quick("predict", unfinished, "1,2", cwd=tmp_path), "step-00000060")
    resumed = quick("resume", unfinished, "--json", cwd=tmp_path)
    assert "Traceback" not in resumed.err
    assert "step-00000060" in resumed.err
    assert resumed.code == 0, resumed.err
    assert not marker.exists()
