"""The page of errata: its Python runs, and it names blocks, laws and examples that exist."""

import re
import sys
from pathlib import Path

import pytest

from gradlab.verification import checks
from gradlab.verification.course import EXAMPLES, LAWS

sys.path.insert(0, str(Path(__file__).parent))

from page import Page

PAGE = Page(Path(__file__).parents[2] / "docs" / "errata.md")
TEXT = PAGE.path.read_text()
FIRST_LINES = PAGE.blocks("python")[0]
ENTRIES = re.findall(r'^<a id="([a-z-]+)"></a>\n(\*\*.*?)(?=^<a id=|^## |\Z)', TEXT, re.M | re.S)
WITHOUT_PYTHON = ["letters-twice"]
POINTERS = [" ".join(text.split()) for text in re.findall(r"^→ .*?(?=\n\n|\Z)", TEXT, re.M | re.S)]


def python(entry):
    return re.findall(r"^```python\n(.*?)^```", entry, re.M | re.S)


@pytest.mark.parametrize("entry", [pytest.param(entry, id=name) for name, entry in ENTRIES])
def test_the_python_of_an_entry_runs(entry):
    for block in python(entry):
        namespace = {}
        exec(FIRST_LINES, namespace)
        exec(compile(block, "errata.md", "exec"), namespace)


def test_there_is_an_entry_for_every_slip():
    names = [name for name, _ in ENTRIES]
    slips, on_purpose = TEXT.split("## Where gradlab differs on purpose")
    assert len(names) == len(set(names)) == TEXT.count("<a id=")
    assert (slips.count("<a id="), on_purpose.count("<a id=")) == (108, 3)  # of 97 slips, some in several entries


def test_every_entry_shows_what_it_says():
    assert [name for name, entry in ENTRIES if not python(entry)] == WITHOUT_PYTHON
    assert all("assert " in block for _, entry in ENTRIES for block in python(entry))


def pairs():
    """Each law of a block with the blocks named before it."""
    for pointer in POINTERS:
        blocks, fresh = [], True
        for block, law in re.findall(r"`([a-z]+\.[a-z0-9_]+)`|(?<!\*)\*([^*]+)\*(?!\*)", pointer):
            if block:
                blocks, fresh = [block] if fresh else [*blocks, block], False
            else:
                fresh = True
                yield from ((block, law) for block in blocks)


@pytest.mark.parametrize(("block", "law"), [*pairs()])
def test_the_law_is_one_of_the_block(block, law):
    assert law in [check.name for check in checks[block] if check.kind == "law"]


@pytest.mark.parametrize(("kind", "known"), [("law", LAWS), ("example", EXAMPLES)])
def test_the_names_are_those_of_the_course(kind, known):
    lists = re.findall(rf"\b{kind}s? ((?:`[a-z0-9-]+`(?:, )?)+)", " ".join(POINTERS))
    named = [name for names in lists for name in re.findall(r"`([^`]+)`", names)]
    assert len(named) >= 20
    assert [name for name in named if name not in known] == []


def test_most_entries_point_to_what_tests_them():
    assert len(POINTERS) >= 95
    assert len([*pairs()]) >= 80
