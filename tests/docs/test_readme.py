"""What the README says, done: its Python runs, and its commands end as it shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.M | re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(README.parent / "examples", folder / "examples")
    return folder


NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def shape(line: str) -> str:
    """A line with its numbers, and the spaces that align them, taken out."""
    return " ".join(NUMBER.sub("#", line).split())


def figures(line: str) -> list[float]:
    return [float(n.replace(",", "")) for n in NUMBER.findall(line)]


def shown() -> list[tuple[str, list[str]]]:
    """Each command of the README with the lines that stand under it."""
    found: list[tuple[str, list[str]]] = []
    for line in "".join(blocks("console")).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() and line.strip() != "...":
            found[-1][1].append(line)
    return found


def test_the_commands_print_what_stands_under_them(folder):
    assert len(shown()) >= 5
    for command, lines in shown():
        done = subprocess.run(
            [sys.executable, "-m", *command.split()], cwd=folder, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == (2 if lines and lines[0].startswith("gradlab: ") else 0), f"{command}: {done.stderr}"
        printed: dict[str, list[list[float]]] = {}
        for line in (done.stdout + done.stderr).replace(f"{folder}/", "").splitlines():
            printed.setdefault(shape(line), []).append(figures(line))
        for line in lines:
            assert shape(line) in printed, f"{command} does not print: {line}"
            if not line.startswith("done"):  # its seconds are this machine's
                # Another processor may round another way; what the README claims holds all the same.
                close = [pytest.approx(values, abs=0.03, rel=0.1) for values in printed[shape(line)]]
                assert figures(line) in close, f"{command} prints other figures than: {line}"


def test_the_python_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = blocks("python")
    assert found
    for block in found:
        exec(compile(block, "README.md", "exec"), {})


def test_every_file_that_the_readme_links_to_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)
    assert links
    for link in links:
        assert (README.parent / link).exists(), link
