"""`gradlab doctor`: whose options are whose, what the script is left alone with, and how it ends."""

import inspect
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from cli_helpers import Finished, ForkServer, check_refused, environment, finish, fresh, start_fresh

from gradlab.cli import diagnosing
from gradlab.cli.diagnosing import before_the_script

HEALTHY = """
import sys
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 10)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
for step in range(60):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""
FAULTY = HEALTHY.replace("    optimizer.zero_grad()\n", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "healthy.py").write_text(HEALTHY)
    (tmp_path / "faulty.py").write_text(FAULTY)
    return tmp_path


def by_python(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Finished:
    ended = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, env=env or environment(), timeout=100
    )
    return Finished(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.parametrize(
    ("arguments", "separated"),
    [
        ("train.py", "-- train.py"),
        ("train.py --steps 9 --deep -h", "-- train.py --steps 9 --deep -h"),
        ("--steps 5 train.py --json x", "--steps 5 -- train.py --json x"),
        ("--steps=5 --deep train.py", "--steps=5 --deep -- train.py"),
        ("--exit-code script --html a.html -m pkg.train -m x", "--exit-code script --html a.html -m -- pkg.train -m x"),
        ("--module pkg.train --help", "--module -- pkg.train --help"),
        ("--deep -- train.py -- x", "--deep -- train.py -- x"),
        ("--help", "--help"),
        ("--steps", "--steps"),
        ("-m", "-m"),
        ("", ""),
    ],
)
def test_what_follows_the_script_is_the_scripts(arguments: str, separated: str) -> None:
    assert before_the_script(arguments.split()) == separated.split()


def test_the_options_with_a_value_are_known() -> None:
    """Those of the signature that are no flags, by the names they have on the command line."""
    taken = inspect.signature(diagnosing.doctor).parameters.values()
    options = {p.name for p in taken if p.kind is p.KEYWORD_ONLY and "bool" not in str(p.annotation)}
    named = {"json_file": "--json"}
    assert {named.get(o, f"--{o.replace('_', '-')}") for o in options} == set(diagnosing._WITH_A_VALUE)


def test_a_healthy_script_prints_what_it_prints_alone(folder: Path) -> None:
    ended = fresh("doctor", "--json", "out.json", "--html", "out.html", "healthy.py", cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.out == by_python("healthy.py", cwd=folder).out
    assert "Looks healthy" in ended.err
    written = json.loads((folder / "out.json").read_text())
    assert written["healthy"] is True
    assert written["steps"] == 60
    assert "The course of the training" in (folder / "out.html").read_text()


def test_a_fault_is_named_and_is_the_exit_code(quick: ForkServer, folder: Path) -> None:
    ended = quick("doctor", "--json", "out.json", "faulty.py", cwd=folder)
    assert ended.code == 3
    assert "missing_zero_grad  error" in ended.err
    assert max(map(len, ended.err.splitlines())) <= 100
    first = json.loads((folder / "out.json").read_text())["findings"][0]
    assert first["slug"] == "missing_zero_grad"
    assert first["severity"] == "error"
    assert set(first) >= {"slug", "severity", "confidence", "where", "since_step", "evidence", "fix"}
    assert "faulty.py" in first["where"]
    assert first["measured"]["stale"] >= first["measured"]["checked"] - 1 > 5  # the first gradient has none before it
    assert [Path(spot["file"]).name for spot in first["place"]] == ["faulty.py"]


def test_a_live_line_comes_before_the_report_and_changes_nothing_else(quick: ForkServer, folder: Path) -> None:
    (folder / "train.py").write_text(FAULTY + "print('the end', file=sys.stderr)\n")
    lively, plain = (quick("doctor", *option, "train.py", cwd=folder) for option in (["--live"], []))
    first, rest = lively.err.split("\n", 1)
    assert first.startswith("gradlab doctor, step ")
    assert first.endswith("gradients are never cleared; SGD made at train.py:10 (missing_zero_grad)")
    assert rest.startswith("the end\n")
    assert rest.partition("Watched ")[0] == plain.err.partition("Watched ")[0]
    assert (lively.code, lively.out) == (plain.code, plain.out)


@pytest.mark.parametrize(
    ("end", "options", "code"),
    [
        ("", ["--exit-code", "script"], 0),
        ("sys.exit(5)", [], 3),
        ("sys.exit(5)", ["--exit-code", "script"], 5),
        ("1 / 0", ["--exit-code=script"], 1),
        ("1 / 0", ["--exit-code=script", "--steps", "30"], 0),
    ],
)
def test_the_exit_code_can_be_the_scripts_own(
    quick: ForkServer, folder: Path, end: str, options: list[str], code: int
) -> None:
    (folder / "train.py").write_text(FAULTY + end)
    ended = quick("doctor", *options, "train.py", cwd=folder)
    assert ended.code == code
    assert "Gradients are never cleared" in ended.err


def test_an_exception_of_the_script_comes_before_the_verdict(quick: ForkServer, folder: Path) -> None:
    (folder / "train.py").write_text(HEALTHY + "raise ValueError('mine')\n")
    ended = quick("doctor", "train.py", cwd=folder)
    assert ended.code == 1
    assert ended.err.startswith("Traceback (most recent call last):\n")
    assert ended.err.index("ValueError: mine") < ended.err.index("Looks healthy")
    assert "gradlab/" not in ended.err


def test_some_steps_are_enough(quick: ForkServer, folder: Path) -> None:
    ended = quick("doctor", "--steps", "20", "healthy.py", "--steps", "1000", cwd=folder)
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 19
    assert "20 steps watched" in ended.err


def test_a_module_is_run_by_its_name(quick: ForkServer, folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "helper.py").write_text("RATE = 0.3")
    (folder / "package" / "train.py").write_text(
        f"from .helper import RATE\nimport sys\nprint(sys.argv[1:])\n{HEALTHY}"
    )
    ended = quick("doctor", "-m", "package.train", "-m", "--help", cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("['-m', '--help']\n")
    assert "Looks healthy" in ended.err


@pytest.mark.slow
def test_the_script_meets_its_process_as_python_makes_it(folder: Path) -> None:
    (folder / "train.py").write_text(
        dedent("""
        import os, signal, sys, threading
        print("torch" in sys.modules, "numpy" in sys.modules, threading.active_count())
        print(sorted(os.environ.items()))
        print(signal.getsignal(signal.SIGINT), sys.unraisablehook is sys.__unraisablehook__, sys.excepthook)
        os.environ["OMP_NUM_THREADS"] = "3"
        import importlib.util
        print(importlib.util.find_spec("torch").origin)
        import torch
        print(torch.get_num_threads(), torch.__spec__, torch.__spec__.loader is torch.__loader__)
        print([type(finder) for finder in sys.meta_path], vars(torch.__loader__))
        """)
        + HEALTHY
    )
    clean = environment()
    clean.pop("OMP_NUM_THREADS", None)
    alone = by_python("train.py", cwd=folder, env=clean)
    ended = fresh("doctor", "train.py", cwd=folder, env=clean)
    assert alone.code == ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "False False 1"
    hide = str.maketrans("", "", "0123456789abcdefx")  # addresses of functions differ
    ours, theirs = (
        [line if "0x" not in line else line.translate(hide) for line in e.out.splitlines()] for e in (ended, alone)
    )
    assert ours == theirs


@pytest.mark.slow
def test_workers_and_pickled_classes_work(folder: Path) -> None:
    (folder / "train.py").write_text(
        dedent("""
        import pickle
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self): return 64
            def __getitem__(self, i): return torch.full((3,), i / 64), torch.tensor([i / 64])

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 1)
            def forward(self, x): return self.layer(x)

        if __name__ == "__main__":
            torch.manual_seed(0)
            net = pickle.loads(pickle.dumps(Net()))
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for start in ("fork", "spawn"):
                for x, y in DataLoader(Numbers(), 8, num_workers=1, multiprocessing_context=start):
                    optimizer.zero_grad()
                    loss = nn.functional.mse_loss(net(x), y)
                    loss.backward()
                    optimizer.step()
                print(start, loss.item())
            torch.save(net, "net.pt")
            print(type(torch.load("net.pt", weights_only=False)))
        """)
    )
    ended = fresh("doctor", "train.py", cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.out == by_python("train.py", cwd=folder).out
    assert "16 steps watched" in ended.err


def test_ctrl_c_stops_the_script_and_the_verdict_follows(folder: Path) -> None:
    (folder / "train.py").write_text(
        HEALTHY.replace("range(60)", "range(10**9)").replace("loss.item())", "loss.item(), flush=True)")
    )
    process = start_fresh("doctor", "train.py", cwd=folder)
    assert process.stdout is not None
    for _ in range(100):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended.code == 130
    assert ended.err.index("KeyboardInterrupt") < ended.err.index("steps watched")


def test_a_forked_child_says_nothing(quick: ForkServer, folder: Path) -> None:
    (folder / "train.py").write_text(HEALTHY + "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n")
    ended = quick("doctor", "train.py", cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.err.count("Looks healthy") == 1


def test_the_verdict_goes_to_the_first_stderr(quick: ForkServer, folder: Path) -> None:
    (folder / "train.py").write_text(HEALTHY + "sys.stderr = open('log.txt', 'w')\nimport os\nos.chdir('/')\n")
    ended = quick("doctor", "--json", "out.json", "train.py", cwd=folder)
    assert "Looks healthy" in ended.err
    assert (folder / "out.json").exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "SCRIPT"),
        (["helthy.py"], "Did you mean 'healthy.py'?"),
        (["."], "is a folder"),
        (["broken.py"], "broken.py, line 2"),
        (["-m", "helthy"], "Did you mean 'healthy'?"),
        (["-m", "healthy.py"], "leave out -m"),
        (["--steps", "0", "healthy.py"], "--steps 0"),
        (["--steps", "many", "healthy.py"], "--steps"),
        (["--setps", "4", "healthy.py"], "Did you mean --steps?"),
        (["--exit-code", "mine", "healthy.py"], "mine"),
        (["--json", "missing/out.json", "healthy.py"], "there is no folder"),
        (["--html", ".", "healthy.py"], "--html . is a folder"),
        (["idle.py"], "nothing called backward()"),
    ],
)
def test_what_cannot_be_diagnosed_is_told_in_a_line(
    quick: ForkServer, folder: Path, arguments: list[str], word: str
) -> None:
    (folder / "broken.py").write_text("x = 1\ndef f(:\n")
    (folder / "idle.py").write_text("import torch\n")
    ended = quick("doctor", *arguments, cwd=folder)
    check_refused(ended, word)
    assert ended.out == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_told_before_the_run(quick: ForkServer, folder: Path) -> None:
    (folder / "out.json").write_text("")
    (folder / "out.json").chmod(0o400)
    check_refused(quick("doctor", "--json", "out.json", "healthy.py", cwd=folder), "permission denied")


def test_a_script_without_torch_is_told(folder: Path) -> None:
    (folder / "train.py").write_text("print('no network here')")
    ended = fresh("doctor", "--json", "out.json", "train.py", cwd=folder)
    check_refused(ended, "train.py used no torch")
    assert ended.out == "no network here\n"
    assert json.loads((folder / "out.json").read_text())["healthy"] is False
    assert fresh("doctor", "--exit-code", "script", "train.py", cwd=folder).code == 0


@pytest.mark.parametrize(
    ("code", "words", "expected"),
    [
        ("import torch\nopen('missing.csv')", "ended with FileNotFoundError before it trained anything", 1),
        (
            "import argparse\nargparse.ArgumentParser().parse_args()",
            "ended by sys.exit(2) before it trained anything",
            2,
        ),
        ("import sys\nsys.exit('no data')", "ended by sys.exit with a message before it trained anything", 1),
    ],
)
def test_a_script_that_fails_before_it_trains_has_its_own_exit_code(
    quick: ForkServer, folder: Path, code: str, words: str, expected: int
) -> None:
    (folder / "train.py").write_text(code)
    ended = quick("doctor", "train.py", "--unknown", cwd=folder)
    assert ended.code == expected
    assert ended.err.splitlines()[-1] == f"gradlab: train.py {words}: there is no training to look at."
    assert "gradlab/" not in ended.err


def test_help_shows_the_options_and_where_they_stand(quick: ForkServer, tmp_path: Path) -> None:
    shown = quick("doctor", "--help", cwd=tmp_path).out
    for words in (
        "--steps",
        "--deep",
        "--live",
        "--json",
        "--html",
        "--exit-code",
        "-m",
        "SCRIPT",
        "gradlab doctor --steps 500 train.py",
    ):
        assert words in shown


WARNING = """
import warnings
import torch
from torch import nn
from torch.nn import functional as F

warnings.warn("beyond the script", stacklevel=2)
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
schedule.step()

def helper():
    warnings.warn("of its caller", stacklevel=2)

x, y = torch.randn(8, 4), torch.zeros(8, 1)
for _ in range(3):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss = loss + F.mse_loss(F.softmax(net(x)), y)
    loss.backward()
    optimizer.step()
    helper()
with warnings.catch_warnings(record=True) as kept:
    warnings.simplefilter("always")
    F.l1_loss(net(x), y)
print([one.lineno for one in kept])
"""


def test_warnings_of_a_script_name_its_lines(tmp_path: Path) -> None:
    """As they do without the doctor, once for each line."""
    (tmp_path / "mine.py").write_text(WARNING)
    alone = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True)
    watched = fresh("doctor", "mine.py", cwd=tmp_path)
    told = [line for line in alone.stderr.splitlines() if "Warning: " in line]
    assert sum(line.startswith(str(tmp_path / "mine.py")) for line in told) == 5
    assert sum("target size" in line for line in told) == 2
    assert [line for line in watched.err.splitlines() if "Warning: " in line] == told
    assert alone.stdout.splitlines()[0] in watched.out
