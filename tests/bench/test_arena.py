"""The comparison: the same work for everybody, and medians of ratios within rounds."""

import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from gradlab.bench.arena import Table, bench_train, compete, faster, ratios
from gradlab.bench.cases import CASES
from gradlab.bench.contestants import ENTRIES
from gradlab.errors import GradlabError

ALWAYS_HERE = ["gradlab", "gradlab-bare", "tutorial", "tutorial-1", "by-hand"]


@pytest.fixture(scope="module")
def table() -> Table:
    small = replace(CASES["digits"], rows=200, epochs=10)
    return compete(small, 1, lambda text: None, ALWAYS_HERE)


@pytest.mark.slow
def test_every_contestant_does_the_same_work(table):
    assert {row.contestant for row in table.rows} == set(ALWAYS_HERE)
    assert {row.steps for row in table.rows} == {table.steps} == {70}
    losses = [row.loss for row in table.rows]
    # All start near log 10 = 2.30 with the same weights, and differ by the order of the batches alone.
    assert max(losses) < 1.5
    assert max(losses) - min(losses) < 0.1


@pytest.mark.slow
def test_ratios_are_to_the_faster_tutorial_loop(table):
    loops = {row.contestant: row for row in table.rows if row.contestant.startswith("tutorial")}
    assert loops[table.reference].wall == loops[table.reference].cpu == 1.0
    assert loops[table.reference].seconds == min(row.seconds for row in loops.values())
    assert [row.wall for row in table.rows] == sorted(row.wall for row in table.rows)


@pytest.mark.slow
def test_a_table_is_plain_data(table):
    assert json.loads(json.dumps(asdict(table)))["rows"][0]["steps"] == 70


def test_the_ratio_is_the_median_over_rounds_not_the_ratio_of_medians():
    samples = {"a": [1.0, 8.0, 3.0], "b": [2.0, 4.0, 1.0]}
    assert ratios(samples, "b") == {"a": 2.0, "b": 1.0}


def test_the_faster_one_has_the_lower_median():
    assert faster({"a": [1.0, 9.0, 9.0], "b": [5.0, 5.0, 5.0], "c": [0.0]}, ["a", "b"]) == "b"


@pytest.mark.slow
def test_a_missing_contestant_is_said(monkeypatch):
    monkeypatch.setitem(ENTRIES, "keras", replace(ENTRIES["keras"], requires="no_such_library"))
    small = replace(CASES["digits"], rows=64, epochs=1)
    table = compete(small, 1, lambda text: None, ["keras"])
    assert table.absent == {"keras": "no_such_library is not installed"}
    assert [row.contestant for row in table.rows if row.contestant == "keras"] == []


@pytest.mark.slow
def test_a_contestant_that_breaks_is_said():
    # torch takes a rate of 0, scikit-learn does not.
    case = replace(CASES["digits"], rows=64, epochs=1, lr=0.0)
    table = compete(case, 1, lambda text: None, ["scikit-learn"])
    assert table.absent["scikit-learn"].startswith("failed: ")
    assert [row.contestant for row in table.rows if row.contestant == "scikit-learn"] == []


@pytest.mark.slow
def test_nothing_is_compared_without_the_tutorial_loop():
    impossible = replace(CASES["digits"], model="lenet")  # 8×8 pixels are not 28×28
    with pytest.raises(GradlabError, match="'tutorial' failed: ValueError: cannot reshape"):
        compete(impossible, 1, lambda text: None, ["gradlab"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cases": ["digit"], "rounds": 1}, "There is no case 'digit'. Did you mean 'digits'"),
        ({"cases": ["digits"], "rounds": 1, "contestants": ["kears"]}, "There is no contestant 'kears'"),
        ({"cases": ["digits"], "rounds": 0}, "at least one round, got 0"),
    ],
)
def test_bad_requests_are_refused_before_anything_starts(arguments, message):
    started = []
    with pytest.raises(GradlabError, match=message):
        bench_train(**arguments, progress=started.append)
    assert started == []


def test_importing_the_benchmarks_is_light():
    heavy = {"torch", "numpy", "lightning", "keras", "skorch", "sklearn"}
    script = f"import sys, gradlab.cli.benchmarks.app; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
