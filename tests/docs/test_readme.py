"""What the README says, done: its Python runs, and its commands end as it shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from page import Page, figures, shape

PAGE = Page(Path(__file__).parents[2] / "README.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(PAGE.path.parent / "examples", folder / "examples")
    return folder


def test_the_commands_print_what_stands_under_them(folder):
    assert len(PAGE.shown()) >= 5
    for command, lines in PAGE.shown():
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
    found = PAGE.blocks("python")
    assert found
    for block in found:
        exec(compile(block, "README.md", "exec"), {})


def test_every_file_that_the_readme_links_to_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE.path.read_text())
    assert links
    for link in links:
        assert (PAGE.path.parent / link).exists(), link
