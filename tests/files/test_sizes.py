"""Files that are larger than what they hold are refused by their headers, before minutes go by."""

import json
from pathlib import Path

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.files import check_sums, sizes, sums, write_sums
from gradlab.files.sizes import check_size
from gradlab.files.tensors import load_tensors, save_tensors

LARGE = 2**36  # bytes of a sparse file, which takes no room on the disk


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_tensors(path, {"weight": torch.ones(3, 4), "empty": torch.ones(0)}, {"made": "by us"})
    return path


def extend(path: Path, size: int = LARGE) -> None:
    with path.open("ab") as stream:
        stream.truncate(size)


def declare(path: Path, size: int) -> None:
    """A file whose header says that it has a tensor of so many bytes, and which is as large."""
    header = json.dumps({"weight": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    extend(path, 8 + len(header) + size)


def test_a_sound_file_is_read(file: Path) -> None:
    check_size(file)
    assert load_tensors(file)["weight"].sum() == 12


def test_a_file_longer_than_its_header_says_is_refused(file: Path) -> None:
    extend(file)
    for use in (check_size, load_tensors):
        with pytest.raises(GradlabError, match=r"model\.safetensors is damaged: its 68,719,476,736 bytes"):
            use(file)


def test_a_file_that_does_not_fit_into_memory_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(file, LARGE)
    monkeypatch.setattr(sizes, "memory", lambda: LARGE)
    with pytest.raises(GradlabError, match=r"its 68\.7 GB do not fit into the memory"):
        load_tensors(file)


def test_a_file_that_takes_long_is_announced(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(file, LARGE)
    monkeypatch.setattr(sizes, "memory", lambda: 2 * LARGE)
    check_size(file)
    assert f"Reading {file} (68.7 GB)" in capsys.readouterr().err


@pytest.mark.parametrize("length", [2**40, 2**26, 2**64 - 1])
def test_a_header_that_is_too_long_is_refused(file: Path, length: int) -> None:
    file.write_bytes(length.to_bytes(8, "little") + b"{}")
    extend(file, 2**27)
    with pytest.raises(GradlabError, match=r"model\.safetensors is damaged: a header of .* bytes is too long"):
        check_size(file)


@pytest.mark.parametrize("header", [b"{", b"[]", b'{"a": 3}', b'{"a": {}}', b'{"a": {"data_offsets": ["a", "b"]}}'])
def test_a_header_that_is_none_is_refused(file: Path, header: bytes) -> None:
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(GradlabError, match=r"model\.safetensors is damaged"):
        check_size(file)


@pytest.mark.parametrize("name", ["model.safetensors", "state.json"])
def test_a_file_that_is_too_large_is_not_hashed(file: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.parent / "state.json").write_text("{}")
    write_sums(file.parent)
    extend(file.parent / name)

    def hashed(path: Path) -> str:
        assert path.stat().st_size < LARGE
        return real(path)

    real = sums.sha256
    monkeypatch.setattr(sums, "sha256", hashed)
    with pytest.raises(GradlabError, match=f"{name} is damaged: its 68,719,476,736 bytes are more than"):
        check_sums(file.parent, {"model.safetensors", "state.json"})
