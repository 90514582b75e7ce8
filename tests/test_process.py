import os

from gradlab import process


def test_waiting_threads_sleep_unless_the_user_has_said_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    process.prepare()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    process.prepare()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
