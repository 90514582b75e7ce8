"""Twins, laws and peers: why each building block can be believed. One file a family; the tests run all of it."""

from gradlab.verification import (  # each enters its checks
    activations,
    perceptron,
)
from gradlab.verification.checks import Check, checks, examples
from gradlab.verification.judging import Verdict, judge
from gradlab.verification.subject import Subject

__all__ = [
    "Check",
    "Subject",
    "Verdict",
    "activations",
    "checks",
    "examples",
    "judge",
    "perceptron",
]
