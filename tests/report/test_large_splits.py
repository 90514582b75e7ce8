"""Test splits that may be larger than memory: they are predicted in parts, and few raw rows are read."""

from dataclasses import replace

import numpy as np
import pytest

from gradlab.data.examples import Streamed
from gradlab.registry import Part
from gradlab.report import regions, regression
from gradlab.run import Run, columns


class Watched(np.ndarray):
    """An array that knows how many of its rows were asked for by their numbers."""

    asked: list[int]

    def __getitem__(self, index):
        if isinstance(index, (np.ndarray, list)):
            self.asked.append(len(index))
        return np.asarray(self)[index]


def watch(run: Run) -> list[int]:
    """The run anew, its raw inputs watched and its test split read only as it is needed."""
    dataset = run.dataset
    inputs = np.asarray(dataset.raw.inputs).view(Watched)
    inputs.asked = []
    raw = replace(dataset.raw, inputs=inputs)
    streamed = Streamed(np.asarray(inputs), dataset.test.rows, dataset.preprocessing)
    run.dataset = replace(dataset, raw=raw, test=dataset.test.but(inputs=streamed))
    return inputs.asked


def again(run: Run) -> Run:
    other = Run(run.path)
    other.dataset = run.dataset
    return other


@pytest.fixture
def few(monkeypatch) -> int:
    """So many rows are read to see what the columns do."""
    monkeypatch.setattr(columns, "_ROWS", 20)
    monkeypatch.setattr(columns, "_EFFECT_ROWS", 20)
    return 20


@pytest.fixture(scope="module")
def moons(train) -> Run:
    return train(Part("moons", {"examples": 500}), lr=1e-3, epochs=1)


def test_only_the_mistakes_that_are_shown_are_read_raw(digits, digits_page, read):
    before = digits_page.figures, digits_page.pictures, digits_page.text
    run = again(digits)
    asked = watch(run)
    page = read(run)
    assert (page.figures, page.pictures, page.text) == before
    wrong = 359 - round(digits.test["accuracy"] * 359)
    assert sorted(asked) == sorted([6, min(24, wrong)]), "and those of which it is shown what speaks for their classes"


def test_regions_show_a_sample(moons, read, monkeypatch, few):
    monkeypatch.setattr(regions, "_MOST", 40)
    run = again(moons)
    asked = watch(run)
    traces = read(run).figures["Decision regions"]["data"]
    assert sum(len(trace["x"]) for trace in traces) <= 40
    ones = asked.count(1)
    assert sum(asked) <= 40 + 12 + 3 * few + ones
    assert ones <= 3, "an example to see what it costs, for the importance and each effect"


@pytest.mark.parametrize(("source", "task"), [("linear", "regress"), ("counts", "poisson")])
def test_a_regression_shows_a_sample_and_says_so(train, read, monkeypatch, few, source, task):
    run = train(Part(source, {"examples": 500}), "linear", task)
    assert "of them" not in read(run).text
    monkeypatch.setattr(regression, "_MOST", 30)
    other = again(run)
    asked = watch(other)
    page = read(other)
    assert len(page.figures["Predicted against actual"]["data"][1]["x"]) == 30
    assert "100 examples that the training never saw; the pictures show 30 of them." in page.text
    assert sorted(set(asked)) == [1, few], "and its columns"
