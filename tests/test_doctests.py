"""The examples in docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import gradlab

_ELSEWHERE = ("gradlab.bench", "gradlab.__main__", "gradlab.cli.app")
MODULES = [m.name for m in pkgutil.walk_packages(gradlab.__path__, "gradlab.") if not m.name.startswith(_ELSEWHERE)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_give_what_they_say(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder()
    found = [t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples]
    assert len(found) >= 15
