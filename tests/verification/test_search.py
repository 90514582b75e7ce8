"""Verification without Hypothesis, which is an extra."""

import ast
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.explanation.law import LawExplanation

SOURCE = Path(gl.__file__).parent


@contextmanager
def without_hypothesis():
    """No fixture, which Hypothesis' own plugin of pytest would see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "hypothesis", None)
        yield


def imports(tree, inside):
    """Modules that a file imports, those inside of functions if `inside`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif inside or not isinstance(node, ast.FunctionDef):
            yield from imports(node, inside)


def test_one_file_imports_hypothesis_and_none_when_it_is_loaded():
    files = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    users = {inside: [] for inside in (False, True)}
    for name, tree in files.items():
        for inside, found in users.items():
            if any(module.split(".")[0] == "hypothesis" for module in imports(tree, inside)):
                found.append(name)
    assert users == {False: [], True: ["verification/search.py"]}


@pytest.mark.parametrize(
    "verify",
    [lambda: gl.verify("activation.relu"), lambda: gl.verify(lambda x: x.relu(), like="activation.relu")],
    ids=["a block", "your own"],
)
def test_without_hypothesis_the_message_names_the_extra(verify):
    with without_hypothesis(), pytest.raises(GradlabError, match=r"pip install \"gradlab\[verify\]\""):
        verify()


def test_without_hypothesis_a_law_is_explained_without_figures():
    with without_hypothesis():
        explanation = LawExplanation.of("jensen")
    assert explanation.statements
    assert all(error is None for one in explanation.statements for error in one.worst.values())
