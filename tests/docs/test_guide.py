"""What the README and the pages of the guide say, done: their Python runs, and their commands end as they show."""

import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from page import Page

ROOT = Path(__file__).parents[2]
README = Page(ROOT / "README.md")
PAGES = [
    README,
    *(Page(ROOT / "docs" / f"{name}.md") for name in ("data", "practice", "text", "graphs", "acting", "blocks")),
]
LINKED = sorted([README.path, *(ROOT / "docs").glob("*.md")])


def name(page: Page) -> str:
    return page.path.stem


@pytest.fixture(params=PAGES, ids=name)
def page(request: pytest.FixtureRequest) -> Page:
    return request.param


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def test_the_commands_print_what_stands_under_them(page, folder):
    assert page.shown() or page.blocks("python")
    page.check_commands(folder)


def test_the_python_runs(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for block in page.blocks("python"):
        exec(compile(block, page.path.name, "exec"), {})


@pytest.mark.parametrize("path", LINKED, ids=lambda path: path.stem)
def test_every_file_and_heading_that_a_page_links_to_exists(path):
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(), flags=re.M | re.S)
    for link, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", prose):
        target = path.parent / link if link else path
        assert target.exists(), link
        assert not heading or heading in headings(target), f"{link}#{heading}"


def test_the_readme_links_to_every_page():
    links = set(re.findall(r"\]\((docs/[^)#]+\.md)\)", README.path.read_text()))
    assert links == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def headings(path: Path) -> set[str]:
    """Of a page, as they are linked to."""
    lines = re.findall(r"^#+ (.+)$", path.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}
