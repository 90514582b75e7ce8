"""Twins, laws and peers: why each building block can be believed. The tests run all of it."""

from gradlab.verification import families  # which enter their checks
from gradlab.verification.checks import Check, checks, examples
from gradlab.verification.laws import LawResult, law_names, verify_law
from gradlab.verification.place import HOME, Place
from gradlab.verification.results import CheckResult, Verification
from gradlab.verification.running import CASES, block_names, run_check, verify_block, verify_like
from gradlab.verification.subject import Subject

__all__ = [
    "CASES",
    "HOME",
    "Check",
    "CheckResult",
    "LawResult",
    "Place",
    "Subject",
    "Verification",
    "block_names",
    "checks",
    "examples",
    "families",
    "law_names",
    "run_check",
    "verify_block",
    "verify_law",
    "verify_like",
]
