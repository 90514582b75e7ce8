"""A script under the doctor finds what it finds under Python, and ends as it ends there."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent

import pytest

from gradlab.diagnosis import doctor as doctors
from gradlab.diagnosis.program import NotRunnable, find_module, find_script
from gradlab.diagnosis.script import Outcome, run

TRAINING = """
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 3)).square().mean()
    loss.backward()
    optimizer.step()
"""

Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scripts are; a script takes the process, which is given back after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gradlab", "doctor"])
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    return tmp_path


@pytest.fixture
def ended(folder: Path) -> Run:
    """`ended(code, *arguments)`: what came of a script."""

    def make(code: str, *arguments: str, name: str = "script.py", **options: object) -> Outcome:
        (folder / name).write_text(dedent(code))
        return run(name, arguments, **options)  # type: ignore[arg-type]

    return make


def by_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=100)


ITSELF = """
import json, sys
keys = [key for key in globals() if key.startswith("__")]
about = [__name__, __file__, __package__, str(type(__loader__)), str(__spec__ and __spec__.name), str(__builtins__)]
class Thing: pass
here = [sys.argv, sys.path[0], Thing.__module__, sys.modules["__main__"].Thing is Thing, keys, about]
print(json.dumps(here))
"""


@pytest.mark.parametrize("name", ["script.py", "./script.py", "sub/../script.py", "link.py"])
def test_a_script_sees_of_itself_what_it_sees_under_python(
    ended: Run, folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "target.py").write_text(ITSELF)
    (folder / "link.py").symlink_to(folder / "sub" / "target.py")
    (folder / "script.py").write_text(ITSELF)
    assert run(name, ["--steps", "5"]).code == 0
    assert json.loads(capsys.readouterr().out) == json.loads(by_python(name, "--steps", "5").stdout)


@pytest.mark.parametrize("name", ["package", "package.part", "alone"])
def test_a_module_sees_of_itself_what_it_sees_under_python(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / "package").mkdir()
    for file in ("package/__init__.py", "package/part.py", "package/__main__.py", "alone.py"):
        (folder / file).write_text("" if "init" in file else ITSELF)
    by = json.loads(by_python("-m", name, "-x").stdout)
    monkeypatch.delitem(sys.modules, "package", raising=False)
    assert run(name, ["-x"], module=True).code == 0
    assert json.loads(capsys.readouterr().out) == by


def test_its_classes_can_be_pickled_in_it_and_after_it(ended: Run, folder: Path) -> None:
    code = """
    import pickle
    class Thing: pass
    thing = pickle.loads(pickle.dumps(Thing()))
    """
    ended(code)
    thing = sys.modules["__main__"].thing
    assert type(pickle.loads(pickle.dumps(thing))) is type(thing)  # noqa: S301


def test_a_training_is_watched(ended: Run) -> None:
    outcome = ended(TRAINING)
    assert outcome.verdict.refusal is None
    assert (outcome.verdict.steps, outcome.code, outcome.failure) == (12, 0, None)
    assert outcome.record is not None
    assert outcome.record.steps == 12


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("", 0),
        ("exit()", 0),
        ("raise SystemExit", 0),
        ("exit(4)", 4),
        ("exit(True)", 1),
        ("exit('gone')", 1),
        ("1/0", 1),
    ],
)
def test_the_exit_code_is_that_of_python(
    ended: Run, capfd: pytest.CaptureFixture[str], code: str, expected: int
) -> None:
    outcome = ended(f"import sys\nprint('out')\n{code.replace('exit(', 'sys.exit(')}")
    under_python = by_python("script.py")
    assert outcome.code == expected == under_python.returncode
    assert tuple(capfd.readouterr()) == (under_python.stdout, under_python.stderr)


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    raise ValueError(1)\ntry:\n    f()\nexcept ValueError as e:\n    raise KeyError('o') from e",
        "try:\n    1 / 0\nfinally:\n    undefined",
        "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
        "import sys\nsys.excepthook = lambda kind, error, trace: print('mine', kind.__name__, trace.tb_lineno)\n1/0",
        "import sys\nsys.excepthook = None\n1/0",
        "import missing_module",
        "exec('1 +')",
    ],
)
def test_a_failure_is_told_as_python_tells_it(ended: Run, capfd: pytest.CaptureFixture[str], code: str) -> None:
    outcome = ended(code)
    assert outcome.code == 1
    under_python = by_python("script.py")
    out, err = capfd.readouterr()
    assert out == under_python.stdout
    if "excepthook = None" not in code:  # Python complains of the hook as well
        assert err == under_python.stderr
    assert err.endswith(under_python.stderr[-40:])


def test_frames_of_the_doctor_are_not_shown(ended: Run, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = ended(TRAINING.replace("loss.backward()", "loss.backward(torch.ones(7))"))
    assert outcome.failure == "ended with RuntimeError"
    shown = capfd.readouterr().err
    assert "loss.backward(torch.ones(7))" in shown
    assert "gradlab" not in shown


def test_ctrl_c_ends_a_script_and_the_doctor_still_speaks(ended: Run, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = ended(TRAINING + "raise KeyboardInterrupt")
    assert (outcome.code, outcome.failure, outcome.verdict.steps) == (130, "was interrupted", 12)
    assert "KeyboardInterrupt" in capfd.readouterr().err


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "try:\n{}\nexcept Exception:\n    print('not caught')",
        "try:\n{}\nexcept BaseException as error:\n    raise RuntimeError('stopped') from error",
        "import sys\ntry:\n{}\nexcept BaseException:\n    sys.exit(1)",
    ],
)
def test_to_stop_after_some_steps_is_a_good_end(ended: Run, capfd: pytest.CaptureFixture[str], around: str) -> None:
    code = around.format(indent(TRAINING, "    ") if "try" in around else TRAINING)
    outcome = ended(code, steps=5)
    assert (outcome.code, outcome.failure, outcome.verdict.steps) == (0, None, 5)
    assert tuple(capfd.readouterr()) == ("", "")


def test_more_steps_than_there_are_change_nothing(ended: Run) -> None:
    outcome = ended(TRAINING + "import sys; sys.exit(7)", steps=500)
    assert (outcome.code, outcome.verdict.steps) == (7, 12)


def test_a_doctor_that_fails_does_not_touch_the_script(
    ended: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(**options: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(doctors, "Doctor", fails)
    outcome = ended(TRAINING + "print('trained')")
    assert capfd.readouterr().out == "trained\n"
    assert outcome.code == 0
    assert outcome.verdict.faults == ["It could not begin: KeyError: 'broken'"]
    assert "itself failed" in (outcome.verdict.refusal or "")


def test_a_doctor_that_fails_at_the_end_says_so(ended: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(doctor: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(doctors.Doctor, "_judge", fails)
    assert ended("").verdict.faults == ["It could not make up its mind: KeyError: 'broken'"]


def test_a_package_that_fails_on_import_is_a_failure_of_the_script(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "__init__.py").write_text("import missing_module")
    (folder / "broken" / "part.py").write_text("")
    outcome = run("broken.part", module=True)
    assert (outcome.code, outcome.failure) == (1, "ended with ModuleNotFoundError")
    assert "missing_module" in capfd.readouterr().err


def test_a_script_is_refused_in_a_line(folder: Path) -> None:
    (folder / "train.py").write_text("x = 1\ny = = 2\n")
    (folder / "package").mkdir()
    (folder / "package" / "train.py").write_text("")
    (folder / "notes.ipynb").write_text("{}")
    (folder / "weights.pt").write_bytes(b"PK\0\3")
    (folder / "bytes.py").write_bytes("x = 'größe'".encode("latin-1"))
    refused = {
        "train.py": "train.py, line 2 is not valid Python: invalid syntax: y = = 2",
        "trian.py": "There is no script 'trian.py'. Did you mean 'train.py'?",
        "train": "There is no script 'train'. Did you mean 'train.py'?",
        "zzz.py": f"There is no script 'zzz.py'. Looked in {folder}.",
        "missing/train.py": "There is no folder missing, so there is no script missing/train.py.",
        "package.train": "There is no script 'package.train'. Did you mean the module: -m package.train?",
        "package": "package is a folder. Give a script, such as package/train.py, or a package by its name: -m",
        "notes.ipynb": "notes.ipynb is a notebook.",
        "weights.pt": "weights.pt is not valid Python: ",
        "bytes.py": "bytes.py",
    }
    for name, words in refused.items():
        with pytest.raises(NotRunnable) as told:
            find_script(name)
        assert str(told.value).startswith(words), told.value
        assert "\n" not in str(told.value), told.value


def test_a_module_is_refused_in_a_line(folder: Path) -> None:
    (folder / "train.py").write_text("y = = 2\n")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "learn.py").write_text("")
    refused = {
        "train": f"{folder}/train.py, line 1 is not valid Python: invalid syntax: y = = 2",
        "trian": "There is no module 'trian'. Did you mean 'train'?",
        "train.py": "train.py is a script, not the name of a module: leave out -m.",
        "package.laern": "There is no module 'package.laern'. Did you mean 'package.learn'?",
        "package": "package is a package without __main__.py. Give one of its modules, such as package.learn.",
        "nothing_like_it": "There is no module 'nothing_like_it'. Python looked in ",
        ".train": "There is no module '.train'.",
        "math": "The module math is not Python code",
    }
    for name, words in refused.items():
        with pytest.raises(NotRunnable) as told:
            find_module(name)
        assert str(told.value).startswith(words), told.value
        sys.modules.pop("package", None)


def test_a_refused_script_changes_nothing(folder: Path) -> None:
    before = sys.argv, sys.path[0], sys.meta_path[:], os.environ.copy()
    with pytest.raises(NotRunnable):
        run("missing.py")
    assert (sys.argv, sys.path[0], sys.meta_path[:], os.environ.copy()) == before
