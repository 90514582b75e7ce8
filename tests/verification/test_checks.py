"""Every check of every block holds, and every law finds the fault that was planted for it."""

import pytest

from gradlab.nn.blocks import blocks
from gradlab.verification import Subject, checks, examples, judge

CASES = 20
ALL = [pytest.param(check, id=f"{name}-{check.kind}-{check.name}") for name in checks for check in checks[name]]
LAWS = [parameter for parameter in ALL if parameter.values[0].kind == "law"]


@pytest.mark.parametrize("check", ALL)
def test_the_check_holds(check):
    verdict = judge(check, Subject.block(check.block), CASES)
    if verdict.passed is None:
        pytest.skip(verdict.reason)
    assert verdict.passed, f"{verdict.reason} in {verdict.example}"
    assert verdict.cases > 0


@pytest.mark.parametrize("check", LAWS)
def test_the_law_finds_the_planted_fault(check):
    verdict = judge(check, Subject(check.block, check.wrong), CASES, smallest=False)
    assert verdict.passed is False
    assert verdict.reason.startswith("off by"), "the planted version must run, and be wrong"


def test_every_block_is_verified():
    assert set(checks) == set(blocks) == set(examples)
