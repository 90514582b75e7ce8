"""The shapes in the annotations are true: tests of these rooms pass while jaxtyping and beartype check each call."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ["nn", "models", "tasks", "data", "sampling"]
# Their `Task` and `Reader` are protocols, which beartype cannot look into.
UNCHECKED = ["gradlab.tasks.evaluation", "gradlab.tasks.auto", "gradlab.data.readers"]
APART = [
    *("byte", "cut_short"),  # damaged files have no shapes
    *("compil", "told"),  # the checks would be in their way
    *("larger_than_memory", "killed"),  # processes of their own, in which nothing is checked
    # Long, and of shapes that others have.
    *("judged_to_be_alike", "work_grows", "their_models", "standard_library"),
    *("as_often", "another_distribution", "without_a_draft", "wider_beams"),
]


def checked_modules():
    rooms = [importlib.import_module(f"gradlab.{room}") for room in ROOMS]
    found = [m.name for room in rooms for m in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")]
    return [name for name in found if name not in UNCHECKED]


@pytest.mark.slow
def test_the_rooms_pass_their_tests_with_annotations_checked():
    hook = f"--jaxtyping-packages={','.join(checked_modules())},beartype.beartype"
    options = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-profile=few"]
    chosen = ["-k", " and ".join(f"not {word}" for word in APART), *(f"tests/{room}" for room in ROOMS)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", hook, *options, *chosen],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_a_wrong_shape_is_seen_while_annotations_are_checked():
    code = """
import jaxtyping, torch
with jaxtyping.install_import_hook("gradlab.nn", "beartype.beartype"):
    from gradlab.nn import PolynomialFeatures
PolynomialFeatures(2)(torch.zeros(3, 2))
try:
    PolynomialFeatures(2)(torch.zeros(3, 2, 2))
except jaxtyping.TypeCheckError:
    print("seen")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "seen\n", done.stderr
