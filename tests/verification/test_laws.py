"""The laws of the course by their names: none is missing, and none can hold without asking what it is about."""

from functools import wraps

import pytest
from torch import nn

from gradlab.explanation.walk import walks
from gradlab.verification import Subject, checks, run_check
from gradlab.verification.checks import Fault
from gradlab.verification.course import EXAMPLES, LAWS
from gradlab.verification.subject import find_subject

NAMED = [check for of_block in checks.values() for check in of_block if check.ids]


def absent(*args, **kwargs):
    raise NotImplementedError("nothing is computed here")


def absent_like(method):
    """With its signature, at which some laws look."""
    return wraps(method)(lambda *args, **kwargs: absent())


def without_answers(name):
    """The function, or the class that can be built, with nothing behind it."""
    subject = find_subject(name)
    if not isinstance(subject, type):
        return absent
    module = issubclass(subject, nn.Module)  # whose other methods build it
    own = ("forward", "as_matrix") if module else (each for each in vars(subject) if not each.startswith("_"))
    methods = {each: getattr(subject, each) for each in own if callable(getattr(subject, each, None))}
    return Fault(**{each: absent_like(method) for each, method in methods.items()}).of(name)


def test_each_law_of_the_course_is_stated_and_no_other_is_named():
    assert {law for check in NAMED for law in check.ids} == set(LAWS)


def test_each_worked_example_is_walked_through():
    assert set(walks()) == set(EXAMPLES)


@pytest.mark.parametrize("check", NAMED, ids=lambda check: f"{check.block}-{check.name}")
def test_a_law_asks_what_it_is_about(check):
    result = run_check(check, Subject(check.block, without_answers(check.block)), 3, smallest=False)
    assert not result.passed  # broken, or not made since nothing answers
    assert "nothing is computed here" in result.reason
