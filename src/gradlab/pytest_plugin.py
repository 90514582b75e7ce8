"""`pytest --gradlab-doctor`: tests that train are watched, and fail where the training is certainly wrong.

pytest loads this wherever gradlab is installed, so that it imports nothing before the option is given.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradlab.diagnosis.doctor import Doctor

_OPTION, _MARK = "--gradlab-doctor", "no_gradlab_doctor"


def pytest_addoption(parser: pytest.Parser) -> None:
    words = (
        "watch every test that trains with PyTorch, and fail it where something is certainly wrong with the training"
    )
    parser.getgroup("gradlab").addoption(_OPTION, action="store_true", help=words)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{_MARK}: is not watched by {_OPTION}; it trains wrongly on purpose")
    if config.getoption(_OPTION):
        config.pluginmanager.register(_Rounds(), "gradlab-doctor")


class _Rounds:
    """A doctor for every test, and one for its fixtures, which may train too."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from _watched(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from _watched(item, "call"))


def _watched(item: pytest.Item, when: str) -> Generator[None, Any, Any]:
    if item.get_closest_marker(_MARK) is not None:
        return (yield)
    from gradlab.diagnosis.doctor import Doctor

    doctor = Doctor(tell=False)
    try:
        with doctor:
            result = yield
    except Exception:  # it has failed without us: what is wrong with the training may be why
        if (said := _said(doctor)) is not None:
            item.add_report_section(when, "gradlab doctor", said)
        raise
    if (said := _said(doctor)) is not None:
        pytest.fail(f"gradlab doctor: {said}", pytrace=False)
    return result


def _said(doctor: Doctor) -> str | None:
    """What is certainly wrong, if anything is."""
    if not doctor.done or doctor.verdict.worst != "error":
        return None
    from gradlab.diagnosis.telling import as_text

    return as_text(doctor.verdict, doctor.record)
