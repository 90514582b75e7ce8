"""The laws of the course by their names: none is missing, and none can hold without asking what it is about."""

import pytest

from gradlab.verification import Subject, checks, run_check
from gradlab.verification.course import LAWS

NAMED = [check for of_block in checks.values() for check in of_block if check.ids]


def absent(*args, **kwargs):
    raise NotImplementedError("nothing is computed here")


def test_only_laws_of_the_course_are_named():
    assert {law for check in NAMED for law in check.ids} <= set(LAWS)


@pytest.mark.parametrize("check", NAMED, ids=lambda check: f"{check.block}-{check.name}")
def test_a_law_asks_what_it_is_about(check):
    result = run_check(check, Subject(check.block, absent), 3, smallest=False)
    assert result.passed is False
    assert "nothing is computed here" in result.reason
