"""Long conversions are told of, short ones are not."""

import sys

import pytest

from gradlab.data import load, sources
from gradlab.data.progress import converting
from gradlab.data.tables import csv_files, records
from gradlab.registry import Part


def test_short_work_is_done_in_silence(capsys):
    with converting("Converting", 10, long=False) as tell:
        tell(5)
    assert capsys.readouterr().err == ""


def test_long_work_is_announced_and_has_no_bar_in_a_pipe(capsys):
    with converting("Converting x", 10, long=True) as tell:
        tell(5)
    assert capsys.readouterr().err == "gradlab: Converting x\n"


def test_in_a_terminal_long_work_has_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with converting("Converting x", 10, long=True) as tell:
        tell(5)
    assert "50%" in capsys.readouterr().err


def test_a_large_file_is_told_to_its_end(tmp_path, monkeypatch, capsys):
    text = "a,b\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(50_000))
    (tmp_path / "large.csv").write_text(text)
    progress = []
    monkeypatch.setattr(csv_files, "_LARGE", 1000)
    monkeypatch.setattr(records, "_TOGETHER", len(text) // 5)
    real = csv_files._Conversion

    def listened(file, settings, folder, tell):
        return real(file, settings, folder, progress.append)

    monkeypatch.setattr(csv_files, "_Conversion", listened)
    load(sources.resolve(Part("csv", {"path": str(tmp_path / "large.csv"), "target": "b"}), "data"))
    assert "Converting" in capsys.readouterr().err
    assert progress == sorted(progress)
    assert len(progress) >= 4
    assert progress[-1] == pytest.approx(len(text), rel=0.1)
