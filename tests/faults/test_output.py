"""What is printed: one JSON object or nothing with --json, and nothing of others' that steers the terminal."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Finished, ForkServer, check_refused, check_same, environment, finish, fresh, gradlab, start

FAILING = {
    "train": ["train", "digits-mpl"],
    "train a study": ["train", "digits-mlp", "--folds", "1", "--out", "study"],
    "resume": ["resume", "missing"],
    "sweep": ["sweep", "digits-mlp", "--trials", "0"],
    "evaluate": ["evaluate", "missing"],
    "predict": ["predict", "missing", "1,2"],
    "generate": ["generate", "missing"],
    "probe": ["probe", "missing"],
    "recipes": ["recipes", "digits-mpl"],
    "runs": ["runs", "missing"],
    "compare": ["compare", "missing", "other"],
    "explain": ["explain", "norm.rsm"],
    "filter": ["filter", "missing.png", "--kernel", "mean", "--out", "x.png"],
    "verify": ["verify", "norm.rsm"],
    "data show": ["data", "show", "digist"],
    "data fetch": ["data", "fetch", "digits"],
    "bench train": ["bench", "train", "nothing"],
    "no such command": ["trian"],
    "no such option": ["train", "--epochs", "3"],
    "no argument": ["evaluate"],
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_is_one_json_object(quick: ForkServer, tmp_path: Path, name: str) -> None:
    ended = quick(*FAILING[name], "--json", cwd=tmp_path)
    check_refused(ended)
    assert list(ended.json) == ["error"]
    assert f"gradlab: {ended.json['error']}\n" == ended.err


@pytest.mark.parametrize("name", ["train", "runs", "data show", "bench train"])
def test_help_leaves_stdout_to_json(quick: ForkServer, tmp_path: Path, name: str) -> None:
    ended = quick(*name.split(), "--json", "--help", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "")
    assert "--json" in ended.err


def test_what_a_file_of_ones_own_prints_is_not_in_the_json(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'import gradlab as gl\nprint("hello")\n\n@gl.register.recipe\ndef mine():\n    """Mine."""\n'
        '    return gl.Recipe("mine", "moons", "mlp", "classify", {"steps": 2})\n'
    )
    ended = quick("train", "mine.py", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["steps"] == 2
    assert "hello" in ended.err


def check_json(path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{path} has {constant}")

    texts = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    for text in texts:
        json.loads(text, parse_constant=refuse)


def test_no_file_has_nan_in_it(quick: ForkServer, tmp_path: Path) -> None:
    """One example to test on, of one class: some figures are not defined."""
    x = np.random.default_rng(0).normal(size=(12, 2))
    np.savez(tmp_path / "data.npz", x=x, y=x[:, :1] * 0 + 1.0)
    arguments = ["data.test=0.1", "data.validation=0.1", "train.steps=4", "--out", "run"]
    ended = quick("train", "npz", "--data", "data.npz", "task=regress", *arguments, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    files = [*(tmp_path / "run").rglob("*.json*")]
    assert len(files) >= 5
    for path in files:
        check_json(path)
    assert quick("evaluate", "run", "--json", cwd=tmp_path).code == 0
    assert quick("resume", "run", cwd=tmp_path).code == 0


ODD = "\x1b]0;owned\x07[red]\x9b31m"


def test_names_of_classes_and_columns_cannot_steer_the_terminal(quick: ForkServer, tmp_path: Path) -> None:
    rows = [f"{i % 7},{i % 3},{'ab'[i % 2]}{ODD}" for i in range(60)]
    (tmp_path / "data.csv").write_text("\n".join([f"one{ODD},two,kind", *rows]))
    shown = quick("data", "show", "csv", "--data", "data.csv", "target=kind", cwd=tmp_path)
    assert shown.code == 0, shown.err
    options = ["data.target=kind", "train.epochs=1", "--out", "run"]
    trained = quick("train", "csv", "--data", "data.csv", *options, cwd=tmp_path)
    assert trained.code == 0, trained.err
    predicted = quick("predict", "run", "data.csv", cwd=tmp_path)
    assert predicted.code == 0, predicted.err
    for ended in (shown, trained, predicted):
        assert "\x1b" not in ended.out + ended.err
        assert "\x07" not in ended.out + ended.err
        assert "\x9b" not in ended.out + ended.err
    assert r"\x1b]0;owned\x07" in predicted.out


def test_a_name_that_is_no_utf8(quick: ForkServer, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    ended = gradlab("train", "iris-softmax", "train.epochs=1", "--out", folder / "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert r"caf\xe9" in ended.out
    assert gradlab("evaluate", folder / "run", "--json", cwd=tmp_path).code == 0
    (folder / "data.csv").write_text("a,b\n" + "1,2\n3,4\n" * 20)
    refused = gradlab("train", "csv", "--data", folder / "data.csv", "data.target=b", "--json", cwd=tmp_path)
    check_refused(refused, "UTF-8", r"caf\xe9")
    assert "UTF-8" in refused.json["error"]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_all_characters(tmp_path: Path, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    for arguments in (["train", "iris-softmax", "train.epochs=1", "--out", "run"], ["evaluate", "run", "--json"]):
        ended = fresh(*arguments, cwd=tmp_path, env=environment, encoding=encoding)
        assert ended.code == 0, ended.err
    assert fresh("recipes", "digits-mlp", "--json", cwd=tmp_path, env=environment, encoding=encoding).json["recipe"]


def test_a_password_in_an_address_is_not_told(quick: ForkServer, tmp_path: Path) -> None:
    address = "postgresql://me:s3cr:et@localhost:1/db"
    ended = quick("sweep", "iris-softmax", "train.lr=0.1:1", "--storage", address, "--json", cwd=tmp_path)
    check_refused(ended, "postgresql://me:***@localhost:1/db")
    assert "s3cr" not in ended.out + ended.err
    assert "et@" not in ended.out + ended.err


# Standard output that cannot be written.

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
TRAIN = ["train", "iris-softmax", "train.steps=40", "train.log_every=1", "--out"]
COMMANDS = [
    "train", "resume", "sweep", "evaluate", "predict", "generate", "play", "probe", "prune", "doctor", "recipes",
    "runs", "compare", "report", "explain", "verify", "filter", "data", "data show", "bench", "bench train",
]  # fmt: skip


def check_output_lost(ended: Finished) -> None:
    check_refused(ended, "standard output cannot be written", code=1)
    assert ended.err.count("gradlab: ") == 1


@needs_full
@pytest.mark.parametrize("command", COMMANDS)
def test_help_that_cannot_be_printed_is_one_message(command: str, tmp_path: Path) -> None:
    check_output_lost(finish(start(*command.split(), "--help", cwd=tmp_path, stdout=str(FULL))))


@needs_full
@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize(
    "command",
    [
        ["train", "iris-softmax", "train.steps=2", "--out", "new"],
        ["resume", "run"],
        ["evaluate", "run"],
        ["predict", "run", "0.5,0.5"],
        ["compare", "run", "run"],
        ["runs", "."],
        ["recipes"],
        ["recipes", "digits-mlp"],
        ["data", "show", "iris"],
    ],
    ids=" ".join,
)
def test_results_that_cannot_be_printed_are_one_message(
    finished: Path, tmp_path: Path, command: list[str], options: list[str]
) -> None:
    check_output_lost(finish(start(*command, *options, cwd=tmp_path, stdout=str(FULL))))


@needs_full
def test_run_is_complete_though_its_progress_cannot_be_printed(quick: ForkServer, tmp_path: Path) -> None:
    check_output_lost(finish(start(*TRAIN, "run", cwd=tmp_path, stdout=str(FULL))))
    assert quick(*TRAIN, "other", cwd=tmp_path).code == 0
    check_same(tmp_path / "run", tmp_path / "other")
    assert (tmp_path / "run" / "report.html").exists()


@needs_full
def test_error_is_reported_though_output_fails(tmp_path: Path) -> None:
    check_refused(finish(start("train", "digits-mpl", "--json", cwd=tmp_path, stdout=str(FULL))), "digits-mpl")


@pytest.mark.parametrize(("closed", "message"), [(">&-", True), ("2>&-", False), (">&- 2>&-", False)])
def test_closed_streams_do_not_stop_a_command(tmp_path: Path, closed: str, message: bool) -> None:
    command = f"{shlex.join([sys.executable, '-m', 'gradlab', 'recipes'])} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment())
    assert done.returncode == (1 if ">&-" in closed.split() else 0)
    assert ("standard output cannot be written" in done.stderr) == message
    assert "Traceback" not in done.stderr + done.stdout


def test_reader_that_leaves_early_ends_a_command_quietly(tmp_path: Path) -> None:
    command = f"{shlex.join([sys.executable, '-m', 'gradlab', 'recipes'])} | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment())
    assert done.stdout.startswith("Recipes")
    assert done.stderr == ""
