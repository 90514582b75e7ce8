"""What the README says, done: its Python runs, and its commands end as it shows."""

import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from page import Page

PAGE = Page(Path(__file__).parents[2] / "README.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(PAGE.path.parent / "examples", folder / "examples")
    return folder


def test_the_commands_print_what_stands_under_them(folder):
    assert len(PAGE.shown()) >= 5
    PAGE.check_commands(folder)


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
