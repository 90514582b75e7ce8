"""Malformed inputs of every family: a few hundred each time, and with `-m slow` 20,000. See fuzz.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from families import FAMILIES, count_inputs
from sound import prepare
from trial import attempt

EACH = 15
SLOW = 20_000 // len(FAMILIES) + 1
_TOGETHER = 250


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("sound")


def check(family, seeds, home, folder):
    prepare(home, [family])
    failures = [failure for seed in seeds if (failure := attempt(family, seed, home, folder / str(seed)))]
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES)
def test_malformed_inputs_end_in_a_message(family, home, tmp_path):
    check(family, range(count_inputs(family, EACH)), home, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(EACH, SLOW, _TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_many_malformed_inputs_end_in_a_message(family, first, home, tmp_path):
    check(family, range(first, min(first + _TOGETHER, count_inputs(family, SLOW))), home, tmp_path)
