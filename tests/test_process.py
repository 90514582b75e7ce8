import os
import subprocess
import sys

from gradlab import process


def test_waiting_threads_spin_for_a_moment_unless_the_user_has_said_otherwise(monkeypatch):
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    process.prepare()
    assert os.environ["GOMP_SPINCOUNT"] == "30000"
    monkeypatch.setenv("GOMP_SPINCOUNT", "0")
    process.prepare()
    assert os.environ["GOMP_SPINCOUNT"] == "0"


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


def test_an_interrupt_waits_for_an_import_to_end(tmp_path):
    (tmp_path / "greedy.py").write_text("""
import _thread, time
try:
    _thread.interrupt_main()
    for _ in range(20): time.sleep(0.01)
except BaseException:
    pass
whole = True
""")
    code = """
import time
from gradlab import process

process.prepare()
try:
    import greedy
    for _ in range(500): time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted", greedy.whole, process.interrupt.raised)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("interrupted True True\n", "")


def test_an_import_that_never_ends_can_be_left(tmp_path):
    (tmp_path / "endless.py").write_text("import _thread\n_thread.interrupt_main()\nwhile True: pass")
    code = """
from gradlab import process

process.prepare()
process.interrupt.patience = 0.1
try:
    import endless
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
