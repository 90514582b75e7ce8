"""How the command line ends."""

import re
import tempfile
from pathlib import Path

import pytest

from gradlab import process
from gradlab.cli import app
from gradlab.errors import FAULT, GradlabError


def ended(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(app, "app", fail)
    with pytest.raises(SystemExit) as exit:
        app.main([])
    return exit.value.code


def test_what_a_library_made_of_ctrl_c_is_told_as_ctrl_c(monkeypatch, capsys):
    monkeypatch.setattr(process.interrupt, "raised", True)
    assert ended(monkeypatch, RecursionError("half loaded")) == 130
    assert capsys.readouterr().err.startswith("gradlab: Interrupted")


def test_a_fault_of_ours_is_one_line_and_a_log(monkeypatch, capsys):
    assert ended(monkeypatch, RecursionError("a real one")) == FAULT
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    log = Path(re.search(r"traceback is in (\S+\.log)", line)[1])
    assert "Traceback (most recent call last)" in log.read_text()
    assert "RecursionError: a real one" in log.read_text()
    log.unlink()


def test_a_fault_of_ours_without_room_for_a_log_is_told_all_the_same(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert ended(monkeypatch, ZeroDivisionError()) == FAULT
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_message_cannot_steer_the_terminal(monkeypatch, capsys):
    assert ended(monkeypatch, GradlabError("no \x1b]0;owned\x07 and \udce9" + "x" * 10_000)) == 2
    told = capsys.readouterr().err
    assert told.startswith(r"gradlab: no \x1b]0;owned\x07 and \xe9xxx")
    assert len(told) < 2100


def test_out_of_memory_says_what_to_do(monkeypatch, capsys):
    assert ended(monkeypatch, MemoryError()) == 1
    assert "train.batch_size" in capsys.readouterr().err
