"""How the command line ends."""

import pytest

from gradlab import process
from gradlab.cli import app


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
    assert capsys.readouterr().err == "gradlab: interrupted\n"


def test_a_fault_of_ours_is_not_hidden(monkeypatch):
    with pytest.raises(RecursionError):
        ended(monkeypatch, RecursionError("a real one"))


def test_out_of_memory_says_what_to_do(monkeypatch, capsys):
    assert ended(monkeypatch, MemoryError()) == 1
    assert "train.batch_size" in capsys.readouterr().err
