"""The helpers of these tests, `trainings`, are found beside them."""

import sys
from pathlib import Path

import pytest

from gradlab.diagnosis.watching import pace

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def every_look_is_taken(monkeypatch):
    """Steps are looked at by their number alone: on a busy machine the looks at these short trainings take too long."""
    monkeypatch.setattr(pace, "_GRACE", 1e9)
