"""What docs/extending.md says, done: its file, its commands and its Python, and figures as it shows them."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cli_helpers import environment, fresh, gradlab
from page import Page

PAGE = Page(Path(__file__).parents[2] / "docs" / "extending.md")


def pieces() -> list[str]:
    """Of the file mine.py: what registers something."""
    return [block for block in PAGE.blocks("python") if "@gl.register" in block]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extending")
    (folder / "mine.py").write_text("\n\n".join(pieces()))
    return folder


def test_the_page_has_its_file_and_its_commands() -> None:
    assert len(pieces()) == 6
    commands = [command.split()[1] for command, _ in PAGE.shown()]
    assert {"train", "evaluate", "probe", "resume"} <= set(commands)


def test_the_commands_print_what_stands_under_them(folder: Path) -> None:
    PAGE.check_commands(folder)


def test_the_python_runs_after_the_commands(folder: Path) -> None:
    if not (folder / "halves").exists():
        assert gradlab("train", "mine.py", "--out", "halves", cwd=folder).code == 0
    [snippet] = [block for block in PAGE.blocks("python") if "@gl.register" not in block]
    done = subprocess.run([sys.executable, "-c", snippet], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.match(r"0\.\d+ Sequential", done.stdout)
    assert all((folder / name / "report.html").is_file() for name in ("short", "autoencoder"))


def test_the_entry_point_brings_the_recipe(folder: Path, tmp_path: Path) -> None:
    [(group, points)] = tomllib.loads(PAGE.blocks("toml")[0])["project"]["entry-points"].items()
    [(name, module)] = points.items()
    (tmp_path / f"{module}.py").write_text((folder / "mine.py").read_text())
    info = tmp_path / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    listed = fresh("recipes", "--json", cwd=tmp_path, env=environment(PYTHONPATH=path))
    assert listed.json["digit-halves"] == "Which two halves are of the same digit?"
