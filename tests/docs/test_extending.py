"""The page on one's own code, done: its file is written, its commands end as it shows, its Python runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
TEXT = PAGE.read_text()
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.M | re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the file that the page builds up."""
    folder = tmp_path_factory.mktemp("extending")
    pieces = [block for block in blocks("python") if "gl.fit(" not in block]
    (folder / "mine.py").write_text("\n\n".join(pieces))
    return folder


def shape(line):
    return " ".join(NUMBER.sub("#", line).split())


def test_the_commands_print_what_stands_under_them(folder):
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ |```).*\n)*)", "".join(blocks("console")), flags=re.M)
    assert len(commands) >= 5
    for command, under in commands:
        done = subprocess.run([sys.executable, "-m", *command.split()], cwd=folder, capture_output=True, text=True)
        lines = [line for line in under.splitlines() if line.strip()]
        refused = bool(lines) and lines[0].startswith("gradlab: ")
        assert done.returncode == (2 if refused else 0), f"{command}: {done.stderr}"
        printed = {shape(line): line for line in (done.stdout + done.stderr).splitlines()}
        for line in lines:
            assert shape(line) in printed, f"{command} does not print: {line}"
            found, said = (
                [float(n.replace(",", "")) for n in NUMBER.findall(text)] for text in (printed[shape(line)], line)
            )
            assert found == pytest.approx(said, abs=0.05), f"{command} prints other figures than: {line}"


def test_the_python_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (snippet,) = [block for block in blocks("python") if "gl.fit(" in block]
    exec(compile(snippet, "extending.md", "exec"), {})
    assert (folder / "autoencoder" / "report.html").is_file()


def test_every_file_that_the_page_links_to_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)
    assert links
    for link in links:
        assert (PAGE.parent / link).exists(), link
