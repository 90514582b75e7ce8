"""The environment of processes that train together."""

import pytest

from gradlab.errors import GradlabError
from gradlab.parallel import Launch

WHOLE = {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}


def read(monkeypatch, **changes):
    for name, value in (WHOLE | changes).items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    launch = Launch.read()
    launch.check_complete()
    return launch


def test_environment_of_torchrun_is_read(monkeypatch):
    assert read(monkeypatch) == Launch(2, 1, 1)


def test_process_alone_needs_no_environment(monkeypatch):
    for name in WHOLE:
        monkeypatch.delenv(name, raising=False)
    assert Launch.read() == Launch()


@pytest.mark.parametrize("value", ["x", "-1", "1.5", " ", "²"])
@pytest.mark.parametrize("name", ["WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_PORT"])
def test_variable_that_is_no_number_is_named(monkeypatch, name, value):
    with pytest.raises(GradlabError, match=f"{name}='{value}' in the environment must be a whole number"):
        read(monkeypatch, **{name: value})


@pytest.mark.parametrize("name", ["RANK", "MASTER_ADDR", "MASTER_PORT"])
def test_missing_variable_is_named(monkeypatch, name):
    with pytest.raises(GradlabError, match=f"WORLD_SIZE=2, but the environment has no {name}"):
        read(monkeypatch, **{name: None})


def test_rank_beyond_the_number_of_processes_is_refused(monkeypatch):
    with pytest.raises(GradlabError, match="RANK=2 must be less than WORLD_SIZE=2"):
        read(monkeypatch, RANK="2")
