"""Sums over a folder whose files are replaced one by one."""

import os
import subprocess
from pathlib import Path

import pytest

from gradlab.errors import GradlabError
from gradlab.files import FolderSums, writing
from gradlab.files.folder_sums import FolderSums as Sums

ODD = ["plain", "with blanks ", "line\nbreak", "back\\slash", "back\\nslash", "\\", "car\rriage", "é", "\udcff"]


@pytest.fixture
def sums(tmp_path: Path) -> Sums:
    (tmp_path / "file").write_text("old")
    (tmp_path / "other").write_text("other")
    sums = FolderSums(tmp_path)
    sums.create(["file", "other"])
    return sums


def sha256sum(folder: Path) -> int:
    return subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, check=False).returncode


def test_sha256sum_reads_them_whatever_the_names(tmp_path: Path) -> None:
    for name in ODD:
        (tmp_path / name).write_text(name, errors="surrogateescape")
    sums = FolderSums(tmp_path)
    sums.create(ODD)
    assert {*sums.read()} == {*ODD}
    for name in ODD:
        assert sums.read_bytes(name) == os.fsencode(name)
    assert sha256sum(tmp_path) == 0
    (tmp_path / ODD[2]).write_text("changed")
    assert sha256sum(tmp_path) == 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_flipped_bit_is_reported(sums: Sums, place: int) -> None:
    content = bytearray(b"old")
    content[place] ^= 1
    (sums.folder / "file").write_bytes(content)
    for read in (sums.read_bytes, sums.check):
        with pytest.raises(GradlabError, match=r"file is damaged: its SHA-256 is not the one in SHA256SUMS\. Do this"):
            read("file", "Do this.")
    assert sums.read_bytes("other") == b"other"


def test_a_file_that_is_not_listed_is_refused(sums: Sums) -> None:
    (sums.folder / "new").write_text("new")
    with pytest.raises(GradlabError, match="SHA256SUMS is damaged: it does not list new"):
        sums.read_bytes("new")


def test_a_replaced_file_has_its_new_sum_alone(sums: Sums) -> None:
    with sums.new_file("file") as new:
        new.write_text("new")
    assert sums.read_text("file") == "new"
    assert {len(digests) for digests in sums.read().values()} == {1}
    assert sha256sum(sums.folder) == 0


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_file_is_sound_wherever_its_replacement_ends(
    sums: Sums, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """The folder is looked at after each rename, which is all that a killed process leaves."""
    seen = []

    class Killed(BaseException):
        pass

    def rename(path: Path, target: Path, real=Path.replace) -> None:
        if len(seen) == writes:
            raise Killed
        seen.append(target.name)
        real(path, target)

    monkeypatch.setattr(writing.Path, "replace", rename)
    with pytest.raises(Killed), sums.new_file("file") as new:
        new.write_text("new")
    monkeypatch.undo()
    assert seen == ["SHA256SUMS", "file"][:writes]
    assert sums.read_text("file") == ("new" if writes == 2 else "old")
    with sums.new_file("other") as new:
        new.write_text("newer")
    assert sums.read_text("file") == ("new" if writes == 2 else "old")
    sums.remove([])
    assert {len(digests) for digests in sums.read().values()} == {1}


def test_the_sums_of_an_empty_folder_list_nothing(tmp_path: Path) -> None:
    sums = FolderSums(tmp_path)
    sums.create([])
    assert sums.read() == {}
    sums.remove([])
    assert (tmp_path / "SHA256SUMS").read_bytes() == b""


def test_a_removed_file_is_listed_no_longer(sums: Sums) -> None:
    sums.remove(["other"])
    assert [*sums.read()] == ["file"]


def test_a_reader_does_not_mind_that_a_file_is_replaced_meanwhile(sums: Sums, monkeypatch: pytest.MonkeyPatch) -> None:
    real, read = FolderSums.read, []

    def replace_before(self: Sums) -> dict[str, list[str]]:
        if not read:
            read.append(True)
            with FolderSums(self.folder).new_file("file") as new:
                new.write_text("new")
        return real(self)

    monkeypatch.setattr(FolderSums, "read", replace_before)
    assert sums.read_text("file") == "new"
