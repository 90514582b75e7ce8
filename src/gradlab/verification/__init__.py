"""Twins, laws and peers: why each building block can be believed. The tests run all of it."""

from gradlab.verification import families  # which enter their checks
from gradlab.verification.checks import Check, checks, examples
from gradlab.verification.judgement import Judgement, judged, judged_like, names_of
from gradlab.verification.judging import CASES, Verdict, judge
from gradlab.verification.subject import Subject

__all__ = [
    "CASES",
    "Check",
    "Judgement",
    "Subject",
    "Verdict",
    "checks",
    "examples",
    "families",
    "judge",
    "judged",
    "judged_like",
    "names_of",
]
