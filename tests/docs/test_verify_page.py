"""What docs/verify.md says, done."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from page import run

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "verify.md").read_text()
CONSOLE = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", TEXT, flags=re.M | re.S)


@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_the_commands_print_what_stands_under_them_in_that_order(command, shown):
    ended = run(command, ROOT)
    assert ended.code == (3 if "broken" in shown.lower() else 0), ended.err
    printed = iter([_plain(line) for line in ended.out.splitlines()])
    for line in shown.splitlines():
        if line != "...":
            assert _plain(line) in printed, f"not printed, or not in this order: {line}"


def _plain(line):
    """Without errors, which are the processor's, and cases up to a broken one, which are those that were drawn."""
    line = re.sub(r" +\d+ +\S+ +(BROKEN|holds)$", r" \1", line.rstrip())
    return re.sub(r"off by \S+,", "off by some,", line)


def test_the_python_runs():
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.M | re.S)
    exec(compile(code, "verify.md", "exec"), {})
