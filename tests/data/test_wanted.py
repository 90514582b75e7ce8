"""Targets read as the kind that a task wants."""

import numpy as np
import pytest

from gradlab.data import Raw
from gradlab.errors import GradlabError


def raw(targets, classes=None):
    targets = np.array(targets)
    return Raw(inputs=np.zeros((len(targets), 1)), targets=targets, classes=classes)


def test_what_is_of_the_kind_already_is_left_alone():
    classes, numbers = raw([0, 1], ["a", "b"]), raw([0.5, 1.5])
    assert classes.wanted("classes") is classes
    assert numbers.wanted("numbers") is numbers
    assert classes.wanted(None) is classes


def test_numbers_become_classes_in_their_order():
    got = raw([2.5, -1.0, 2.5, 10.0]).wanted("classes")
    assert got.classes == ["-1", "2.5", "10"]
    assert got.targets.tolist() == [1, 0, 1, 2]
    assert got.targets.dtype == np.int64


@pytest.mark.parametrize("values", [[1234567.0, 1234568.0], [0.1234567, 0.1234568], [1e-300, 0.0], [1e20, 2e20]])
def test_different_numbers_are_classes_of_different_names(values):
    assert len(set(raw(values).wanted("classes").classes)) == 2


def test_classes_that_are_numbers_become_them():
    got = raw([0, 2, 1], ["1", "2.5", "-3"]).wanted("numbers")
    assert got.targets.tolist() == [1, -3, 2.5]
    assert got.classes is None


def test_what_cannot_be_read_so_is_refused_with_the_task_that_can():
    with pytest.raises(GradlabError, match=r"classes such as 'a', not numbers\. Use task=classify"):
        raw([0, 1], ["a", "b"]).wanted("numbers")
    with pytest.raises(GradlabError, match=r"1,001 different numbers, too many to be classes\. Use task=regress"):
        raw(np.arange(1001) / 2).wanted("classes")
