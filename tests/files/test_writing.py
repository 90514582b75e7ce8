"""Files and folders appear whole or not at all, wherever the process that writes them ends."""

import errno
import json
import math
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gradlab.errors import GradlabError, TrainingError
from gradlab.files import (
    clear_leftovers,
    json_text,
    read_bytes,
    write_errors,
    write_file,
    write_folder,
    write_json,
    writing,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_nothing_stays_beside_it(tmp_path):
    for content in ("first\n", "second, é\r\n", b"\x00\xff"):
        write_file(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(tmp_path) == ["file"]


def test_a_link_stays_a_link_and_the_mode_stays(tmp_path):
    write_file(tmp_path / "file", "old")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
    write_file(tmp_path / "pipe", "through")
    assert reader.communicate(timeout=20)[0] == b"through"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_an_error_of_writing_has_one_form(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GradlabError, match=r"file/below cannot be written: (Not a directory|File exists)\. Make it"):
        write_file(tmp_path / "file" / "below", "content")
    with pytest.raises(
        GradlabError, match=r"none/file cannot be written: there is no folder .*none\. Make it, or name"
    ):
        write_file(tmp_path / "none" / "file", "content")
    with (
        pytest.raises(TrainingError, match=r"place cannot be written: No space left on device\. Do this\."),
        write_errors(tmp_path / "place", "Do this.", TrainingError),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "elsewhere")


def test_a_folder_appears_when_the_block_has_ended(tmp_path):
    with write_folder(tmp_path / "below" / "folder") as new:
        (new / "file").write_text("content")
        assert not (tmp_path / "below" / "folder").exists()
    assert names(tmp_path / "below") == ["folder"]
    assert (tmp_path / "below" / "folder" / "file").read_text() == "content"


def interrupted() -> str:
    raise KeyboardInterrupt


def test_a_folder_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), write_folder(tmp_path / "folder") as new:
        (new / "file").write_text(interrupted())
    assert names(tmp_path) == []


@pytest.mark.parametrize(("exists", "content"), [("keep", "old"), ("replace", "new")])
@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_that_is_there_is_kept_or_replaced(tmp_path, monkeypatch, exists, content, exchange):
    if not exchange:
        monkeypatch.setattr(writing, "_renameat2", lambda: None)
    for text in ("old", "new"):
        with write_folder(tmp_path / "folder", exists) as new:
            (new / "file").write_text(text)
    assert (tmp_path / "folder" / "file").read_text() == content
    assert names(tmp_path) == ["folder"]


def test_a_folder_that_is_there_is_refused_unless_it_is_empty(tmp_path):
    (tmp_path / "folder").mkdir()
    with write_folder(tmp_path / "folder") as new:
        (new / "file").write_text("content")
    with pytest.raises(GradlabError, match="folder exists already"), write_folder(tmp_path / "folder"):
        pass
    assert names(tmp_path / "folder") == ["file"]


def test_what_a_block_reads_is_no_failure_of_writing(tmp_path):
    with pytest.raises(FileNotFoundError), write_folder(tmp_path / "folder"):
        (tmp_path / "data.csv").read_text()
    with (
        pytest.raises(GradlabError, match="folder cannot be written: No such file"),
        write_folder(tmp_path / "folder") as n,
    ):
        (n / "missing" / "file").write_text("")
    assert names(tmp_path) == []


STEPS = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "open")


def killed(place: Path, point: int, exchange: bool) -> bool:
    """Replace a folder in another process, which is killed before its so many-th step on the disk; or at none."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    if not exchange:
        writing._renameat2 = lambda: None
    left = point

    def die(event, arguments):
        nonlocal left
        left -= event in STEPS
        if left == 0 and event in STEPS:  # the kill itself is such an event
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(die)
    with write_folder(place, "replace") as new:
        (new / "file").write_text("new")
    os._exit(0)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_kill_at_any_point_leaves_the_old_folder_or_the_new_one(tmp_path, exchange):
    place, ended, point, died = tmp_path / "folder", [], 0, True
    while died:
        with write_folder(place, "replace") as new:
            (new / "file").write_text("old")
        point += 1
        died = killed(place, point, exchange)
        clear_leftovers(tmp_path)
        assert names(tmp_path) == ["folder"]
        ended.append((place / "file").read_text())
    assert point > 8
    assert ended == sorted(ended, reverse=True), "first the old ones, then the new ones"


def test_what_a_live_process_writes_is_left_alone(tmp_path):
    with write_folder(tmp_path / "one") as new:
        clear_leftovers(tmp_path)
        write_file(tmp_path / "file", "content")
        (new / "file").write_text("content")
    assert names(tmp_path) == ["file", "one"]


def test_json_knows_no_nan(tmp_path):
    content = {"a": math.nan, "b": [math.inf, -math.inf, 1.5], "c": (1, None)}
    assert json.loads(json_text(content)) == {"a": None, "b": [None, None, 1.5], "c": [1, None]}
    write_json(tmp_path / "file.json", content)
    assert b"NaN" not in read_bytes(tmp_path / "file.json")
