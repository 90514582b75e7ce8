"""The page of errata names blocks and laws that exist."""

import re
from pathlib import Path

import pytest

from gradlab.verification import checks

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text()
NAMED = re.findall(r"`([a-z]+\.[a-z0-9_]+)`|(?<!\*)\*([^*\n]+)\*(?!\*)", "\n".join(re.findall(r"^  → .*", PAGE, re.M)))


def pairs():
    """Each law with the blocks named before it."""
    blocks: list[str] = []
    fresh = True
    for block, law in NAMED:
        if block:
            blocks = [block] if fresh else [*blocks, block]
            fresh = False
        else:
            fresh = True
            yield from ((block, law) for block in blocks)


@pytest.mark.parametrize(("block", "law"), [*pairs()])
def test_the_law_is_one_of_the_block(block, law):
    assert law in [check.name for check in checks[block] if check.kind == "law"]


def test_every_entry_names_a_law():
    entries = re.findall(r"^- \*\*.*?(?=^- \*\*|^## |\Z)", PAGE, re.M | re.S)
    assert len(entries) >= 40
    assert all(re.search(r"^  → `.*\*$", entry, re.M) for entry in entries)
