import numpy as np
import pytest

from gradlab.data import Raw, Targets
from gradlab.data.raw import check_finite
from gradlab.errors import GradlabError


def spoiled(shape, where, value=np.nan):
    values = np.zeros(shape)
    values[where] = value
    return values


@pytest.mark.parametrize(
    ("values", "columns", "says"),
    [
        (spoiled((5, 3), (3, 1)), ["a", "b", "c"], "hold nan in row 3, column 'b';"),
        (spoiled((5, 3), (3, 1), -np.inf), ["a", "b", "c"], "hold -inf in row 3, column 'b';"),
        (spoiled((5, 3), (3, 1)), [], "hold nan in row 3, column 1;"),
        (spoiled((5,), (4,)), ["target"], "hold nan in row 4, column 'target';"),
        (spoiled((5,), (4,)), [], "hold nan in row 4, column 0;"),
        (spoiled((5, 3, 8, 8), (2, 1, 6, 7)), [], "hold nan in row 2, column (1, 6, 7);"),
        (spoiled((5, 3), ([1, 3], [2, 0])), [], "hold nan in row 1, column 2 (1 more like it);"),
    ],
)
def test_a_value_that_is_not_finite_is_named_by_row_and_column(values, columns, says):
    with pytest.raises(GradlabError) as caught:
        check_finite(values, columns)
    assert says in str(caught.value)


@pytest.mark.parametrize("values", [np.zeros((3, 2)), np.zeros((0, 2)), np.arange(4), np.array(["a"])])
def test_what_is_finite_passes(values):
    check_finite(values, [])


def test_inputs_and_targets_must_be_equally_many():
    with pytest.raises(GradlabError, match="There are 3 inputs but 2 targets"):
        Raw(inputs=np.zeros((3, 1)), targets=np.zeros(2))


@pytest.mark.parametrize(
    ("inputs", "targets", "says"),
    [
        (np.zeros((3, 1)), np.zeros((3, 0)), r"targets of shape \(3, 0\) holds no examples"),
        (np.zeros((3, 0)), np.zeros(3), r"inputs of shape \(3, 0\) holds no examples"),
        (np.zeros(3), np.zeros(3), r"got shape \(3,\)"),
        (np.zeros((3, 1), complex), np.zeros(3), "of type complex128 does not hold numbers"),
        (np.zeros((3, 1)), np.array(["a", None, "b"], object), "of type object does not hold numbers"),
    ],
)
def test_other_things_than_arrays_of_numbers_are_refused(inputs, targets, says):
    with pytest.raises(GradlabError, match=says):
        Raw(inputs=inputs, targets=targets)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"test_from": -1}, "begin in the order training, validation, test, within its 3 examples"),
        ({"test_from": 4}, "test_from=4"),
        ({"validation_from": 2, "test_from": 1}, "validation_from=2 and test_from=1"),
        ({"groups": np.zeros(2, np.int64)}, "There are 3 inputs but 2 groups"),
        ({"features": ["a"]}, "There are 1 names of features"),
    ],
)
def test_parts_that_do_not_fit_the_examples_are_refused(parts, says):
    with pytest.raises(GradlabError, match=says):
        Raw(inputs=np.zeros((3, 2)), targets=np.zeros(3), **parts)


def test_a_bad_target_is_told_as_such():
    with pytest.raises(GradlabError, match="row 2, column 'target'"):
        Raw(inputs=np.zeros((3, 1)), targets=spoiled((3,), (2,)))


def test_the_fingerprint_changes_with_any_value_shape_or_type():
    x, y = np.arange(6.0).reshape(3, 2), np.arange(3)
    prints = {
        Raw(inputs=a, targets=b).fingerprint()
        for a, b in [(x, y), (x + 1, y), (x.astype("f4"), y), (x, y + 1), (x.reshape(3, 2, 1), y), (x[::-1], y)]
    }
    assert len(prints) == 6
    assert Raw(inputs=x.copy(order="F"), targets=y).fingerprint() in prints


def test_targets_of_numbers_have_the_mean_and_spread_of_each_column():
    y = np.random.default_rng(0).normal([1, 5], [2, 3], (50, 2))
    targets = Targets.of(y, None)
    np.testing.assert_allclose(targets.mean, y.mean(0))
    np.testing.assert_allclose(targets.std, y.std(0))


def test_a_constant_target_has_spread_one():
    assert Targets.of(np.full(9, 4.0), None) == Targets(mean=[4.0], std=[1.0])


def test_targets_of_classes_have_the_number_of_examples_of_each():
    targets = Targets.of(np.array([2, 0, 2, 2], dtype=np.uint8), ["a", "b", "c"])
    assert targets == Targets(classes=["a", "b", "c"], counts=[1, 0, 3])


def test_targets_that_were_saved_without_counts_are_still_read():
    assert Targets(classes=["a", "b"], mean=[], std=[]).counts == []


def test_what_is_no_array_is_told():
    with pytest.raises(GradlabError, match="The inputs of a Raw must be a NumPy array, got a list"):
        Raw(inputs=[[1.0]], targets=np.zeros(1))
