import os
import subprocess
import sys

from gradlab import process


def test_waiting_threads_sleep_unless_the_user_has_said_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    process.prepare()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    process.prepare()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


def test_an_interrupt_inside_a_callback_of_the_interpreter_comes_again_without_a_traceback():
    code = """
import time
import weakref
from gradlab import process

class Thing: pass

def callback(_):
    raise KeyboardInterrupt

process.prepare()
try:
    thing = Thing()
    reference = weakref.ref(thing, callback)
    del thing
    for _ in range(500): time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
