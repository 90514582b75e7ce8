"""Every check of every block holds, and finds the faults that were planted for it."""

import pytest

from gradlab.nn.blocks import blocks
from gradlab.verification import Subject, checks, examples, run_check

CASES = 20
ALL = [check for block in checks for check in checks[block]]


def parameter(check, *more):
    return pytest.param(check, *more, id="-".join(map(str, (check.block, check.kind, check.name, *more))))


@pytest.mark.parametrize("check", [parameter(check) for check in ALL])
def test_the_check_holds(check):
    result = run_check(check, Subject.block(check.block), CASES)
    if result.passed is None:
        pytest.skip(result.reason)
    assert result.passed, f"{result.reason} in {result.example}"
    assert result.cases > 0


@pytest.mark.parametrize(("check", "number"), [parameter(check, i) for check in ALL for i in range(len(check.faults))])
def test_the_check_finds_the_planted_fault(check, number):
    result = run_check(check, Subject(check.block, check.faults[number]), CASES, smallest=False)
    assert result.passed is False
    assert result.reason.startswith("off by"), "the planted version must run, and be wrong"


def test_every_law_has_a_planted_fault():
    assert [(check.block, check.name) for check in ALL if check.kind == "law" and not check.faults] == []


def test_every_block_is_verified():
    assert set(checks) == set(blocks) == set(examples)
