"""`--help`: at once, with an example, for every command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused

COMMANDS = [
    "train",
    "resume",
    "evaluate",
    "predict",
    "probe",
    "prune",
    "doctor",
    "recipes",
    "runs",
    "compare",
    "explain",
    "verify",
    "filter",
    "sweep",
    "bench",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example(quick: ForkServer, tmp_path: Path, command: str) -> None:
    ended = quick(command, "--help", cwd=tmp_path)
    assert ended.code == 0
    assert ended.err == ""
    assert "Example" in ended.out
    assert f"gradlab {command}" in ended.out.partition("Example")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_explains_each_argument(quick: ForkServer, tmp_path: Path, command: str) -> None:
    text = quick(command, "--help", cwd=tmp_path).out.partition("Arguments")[2].partition("╯")[0]
    rows = re.findall(r"^│ ?\*? {0,4}([A-Z]{2,})(.*?) *│$", text, re.MULTILINE)
    assert rows
    for name, meaning in rows:
        assert meaning.partition("[")[0].strip(), f"{command} {name} is not explained"


def test_help_lists_the_commands_and_imports_no_torch(tmp_path: Path) -> None:
    probe = (
        "import sys\nfrom gradlab.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit as e: print('torch' in sys.modules, e.code)"
    )
    ended = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ended.stdout.splitlines()[-1] == "False 0"
    for command in COMMANDS:
        assert f" {command} " in ended.stdout


def test_version_is_printed(quick: ForkServer, tmp_path: Path) -> None:
    import gradlab as package

    assert quick("--version", cwd=tmp_path).out.strip() == package.__version__


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["trian"], "trian"),
        (["train", "digits-mlp", "--epochs", "3"], "--epochs"),
        (["train", "digits-mlp", "--device", "tpu"], "tpu"),
        (["evaluate"], "RUN"),
        (["data", "show", "text", "--html"], "Try: gradlab data show --help"),
        (["predict", "somewhere"], "INPUTS"),
        (["compare", "one"], "SECOND"),
        (["evaluate", "somewhere", "--split", "tset"], "tset"),
    ],
)
def test_wrong_usage_is_told_in_a_line_or_two(
    quick: ForkServer, tmp_path: Path, arguments: list[str], word: str
) -> None:
    ended = quick(*arguments, cwd=tmp_path)
    check_refused(ended)
    assert word.lower() in ended.err.lower()
