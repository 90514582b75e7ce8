"""What `gradlab train` shows of its plan before it starts."""

from pathlib import Path

import pytest
from cli_helpers import ForkServer


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ("one-cycle", "schedule     ▁"),
        ("cosine", "schedule     █"),
        ("plateau", "schedule     falls with the validation loss: times 0.1 after 11 evaluations"),
    ],
)
def test_the_rate_over_the_run_is_drawn_or_told(quick: ForkServer, tmp_path: Path, schedule: str, says: str) -> None:
    ended = quick("train", "moons-mlp", f"train.schedule={schedule}", "train.steps=30", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert says in ended.out
    assert ended.out.index("plan  ") < ended.out.index("schedule  ") < ended.out.index("device  ")


def test_a_rate_that_stays_is_not_drawn(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "moons-mlp", "train.steps=5", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "constant schedule" in ended.out
    assert "schedule  " not in ended.out
