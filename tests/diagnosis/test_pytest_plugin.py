"""`pytest --gradlab-doctor`: what it fails, how it says why, and what it leaves alone."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

pytest_plugins = ("pytester",)

TRAINING = """
import pytest
import torch

def train(clear, steps=30):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        x = torch.randn(16, 3)
        (model(x)[:, 0] - x.sum(1)).square().mean().backward()
        optimizer.step()
    return model
"""


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Before pytester, which makes Python forget what is imported inside of it: torch cannot be loaded twice."""
    for name in ("torch._dynamo", "gradlab.diagnosis.doctor", "gradlab.diagnosis.telling"):
        importlib.import_module(name)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """`run(tests)`: pytest on tests of a stranger's, by default with the option."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # whether or not gradlab is installed with its plugin

    def make(tests: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_training=TRAINING + dedent(tests))
        plugin = ["-p", "gradlab.pytest_plugin", "-p", "no:cacheprovider"]
        return pytester.runpytest_inprocess(*plugin, *(options or ["--gradlab-doctor"]))

    return make


def test_a_test_that_trains_wrongly_fails_with_what_to_change(run):
    result = run("""
        def test_faulty():
            train(clear=False)

        def test_healthy():
            assert train(clear=True) is not None
    """)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ test_faulty _*",
            "gradlab doctor: Gradients are never cleared (30 steps watched).",
            "1  missing_zero_grad  error  97% sure",
            "   where     SGD made at test_training.py:7",
            "   change    optimizer.zero_grad()  # before loss.backward(), in every step",
            "FAILED test_training.py::test_faulty - Failed: gradlab doctor: Gradients are*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_without_the_option_nothing_is_watched(run):
    result = run(
        """
        from torch.nn.modules import module

        def test_faulty():
            train(clear=False)
            assert not module._has_any_global_hook()
    """,
        "--strict-markers",
    )
    result.assert_outcomes(passed=1)


def test_tests_that_do_not_train_are_as_before(run):
    result = run("""
        import unittest
        import warnings

        def test_passes():
            assert torch.ones(2).sum() == 2

        def test_fails():
            assert torch.ones(2).sum() == 3

        def test_skips():
            pytest.skip("not today")

        @pytest.mark.xfail
        def test_is_expected_to_fail():
            raise ValueError

        def test_gradients_without_steps():
            torch.nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward()

        def test_warns():
            with pytest.warns(UserWarning, match="mine"):
                warnings.warn("mine")

        class TestCase(unittest.TestCase):
            def test_unit(self):
                self.assertTrue(True)
    """)
    result.assert_outcomes(passed=4, failed=1, skipped=1, xfailed=1)
    result.stdout.no_fnmatch_line("*gradlab doctor*")


def test_a_test_that_fails_by_itself_fails_as_it_did_and_shows_the_findings_beside(run):
    result = run("""
        def test_faulty():
            train(clear=False)
            assert 1 == 2, "mine"
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*AssertionError: mine", "*- Captured gradlab doctor call -*", "1  missing_zero_grad  error*"]
    )
    result.stdout.fnmatch_lines(["FAILED test_training.py::test_faulty - AssertionError: mine*"])


def test_a_fixture_that_trains_wrongly_is_an_error_of_its_test(run):
    result = run("""
        @pytest.fixture
        def model():
            return train(clear=False)

        def test_uses_it(model):
            pass
    """)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["gradlab doctor: Gradients are never cleared (30 steps watched)."])


def test_what_is_wrong_on_purpose_is_marked(run):
    result = run(
        """
        @pytest.mark.no_gradlab_doctor
        def test_faulty():
            train(clear=False)

        @pytest.mark.xfail(strict=True)
        def test_is_expected():
            train(clear=False)
    """,
        "--gradlab-doctor",
        "--strict-markers",
    )
    result.assert_outcomes(passed=1, xfailed=1)


def test_pytest_finds_the_plugin_and_it_is_light():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gradlab": "gradlab.pytest_plugin"}
    code = "import sys, gradlab.pytest_plugin; print(sorted({'torch', 'numpy', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
