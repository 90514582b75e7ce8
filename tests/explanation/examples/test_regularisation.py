"""The numbers of the worked examples of regularisation."""

import re

import pytest

from gradlab.explanation.walk import Walk


def test_dropout_doubles_what_it_keeps_and_does_nothing_at_test_time():
    ones, share, layers, training, test, units = (step.values for step in Walk.of("dropout-code").steps)
    first, second = (list(map(int, row.split())) for row in ones.split(": ")[1].split(", then "))
    assert {*first, *second} == {0, 2}
    assert first != second
    assert float(share.split()[-1]) == pytest.approx(0.2, abs=5 * (0.2 * 0.8 / 100_000) ** 0.5)
    assert layers == "Linear, ReLU, Dropout, Linear"
    assert float(re.search(r"[\d.]+$", training)[0]) > 0.01
    assert test.endswith("by up to 0")
    assert units.endswith(": 160")
