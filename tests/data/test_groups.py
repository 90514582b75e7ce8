"""Groups that stay whole, and folds."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gradlab.data import Raw
from gradlab.data.dataset import prepare
from gradlab.data.splits import Split, divide, fold_numbers, hold_out
from gradlab.errors import GradlabError

SEEDS = st.integers(0, 2**31)
SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=30)


def shuffled(sizes, seed):
    """The group of each row, for groups of these sizes."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 7 - 3, sizes))


def are_whole(groups, *parts):
    """No group is in two of the parts."""
    found = [set(groups[part].tolist()) for part in parts]
    return sum(map(len, found)) == len(set.union(*found))


@given(SIZES, st.floats(0.01, 0.95), SEEDS, st.booleans())
def test_whole_groups_are_held_out_and_no_row_is_lost(sizes, share, seed, labelled):
    groups = shuffled(sizes, seed)
    labels = np.arange(len(groups)) % 3 if labelled else None
    kept, held = hold_out(np.arange(len(groups)), share, seed, labels, groups)
    assert sorted([*kept, *held]) == list(range(len(groups)))
    assert are_whole(groups, kept, held)
    assert len(kept) > 0
    assert len(held) > 0


@given(SIZES, st.floats(0.01, 0.95), SEEDS)
def test_the_share_is_as_near_as_half_the_largest_group(sizes, share, seed):
    groups = shuffled(sizes, seed)
    _, held = hold_out(np.arange(len(groups)), share, seed, None, groups)
    wanted = share * len(groups)
    assume(wanted > min(sizes) and wanted < len(groups) - min(sizes))  # else one group is too much, or too little
    assert abs(len(held) - wanted) <= max(sizes) / 2


@given(st.integers(20, 60), st.integers(2, 4), SEEDS)
def test_each_class_is_held_out_in_about_its_share_where_groups_are_small(count, classes, seed):
    groups = np.repeat(np.arange(count), 3)
    labels = np.repeat(np.arange(count) % classes, 3)  # a patient is ill, or not
    _, held = hold_out(np.arange(len(groups)), 0.25, seed, labels, groups)
    for label in range(classes):
        assert abs((labels[held] == label).sum() - 0.25 * (labels == label).sum()) <= 3


def test_a_hold_out_of_groups_is_a_pure_function_of_the_seed():
    groups = np.arange(90) // 3
    splits = [tuple(hold_out(np.arange(90), 0.3, seed, None, groups)[1]) for seed in (1, 1, 2, 3)]
    assert splits[0] == splits[1]
    assert len(set(splits)) == 3


def test_one_group_cannot_be_divided():
    with pytest.raises(GradlabError, match="Of a single group none can be held out"):
        hold_out(np.arange(9), 0.3, 0, None, np.zeros(9, int))


@given(SIZES, SEEDS, st.floats(0.05, 0.4), st.floats(0.05, 0.4), st.booleans())
def test_three_splits_keep_groups_whole(sizes, seed, test, validation, labelled):
    assume(len(sizes) > 3)
    groups = shuffled(sizes, seed)
    labels = np.arange(len(groups)) % 2 if labelled else None
    parts = divide(Split(test=test, validation=validation, seed=seed), len(groups), labels, groups)
    assert sorted(np.concatenate(parts)) == list(range(len(groups)))
    assert are_whole(groups, *parts)


@given(st.lists(st.integers(5, 40), min_size=1, max_size=5), st.integers(2, 5), SEEDS)
def test_every_row_is_in_one_fold_and_each_class_evenly_up_to_one(sizes, folds, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    numbers = fold_numbers(np.arange(len(labels)), folds, seed, labels)
    assert set(numbers.tolist()) == set(range(folds))
    for label in range(len(sizes)):
        counts = np.bincount(numbers[labels == label], minlength=folds)
        assert counts.max() - counts.min() <= 1


@given(st.integers(2, 90), st.integers(2, 5), SEEDS)
def test_folds_without_classes_are_equal_up_to_one(count, folds, seed):
    assume(count >= folds)
    counts = np.bincount(fold_numbers(np.arange(count), folds, seed), minlength=folds)
    assert counts.max() - counts.min() <= 1


@given(SIZES, st.integers(2, 5), SEEDS, st.booleans())
def test_folds_keep_groups_whole(sizes, folds, seed, labelled):
    assume(len(sizes) >= folds)
    groups = shuffled(sizes, seed)
    labels = np.arange(len(groups)) % 2 if labelled else None
    assume(not labelled or min(np.bincount(labels, minlength=2)) >= folds)
    numbers = fold_numbers(np.arange(len(groups)), folds, seed, labels, groups)
    assert all(len(set(numbers[groups == group].tolist())) == 1 for group in np.unique(groups))
    assert set(numbers.tolist()) == set(range(folds))


def source(rng, count=60, **values):
    return Raw(inputs=rng.normal(size=(count, 2)), targets=np.arange(count) % 3, classes=list("abc"), **values)


def test_the_folds_of_a_data_set_judge_each_row_once(rng):
    raw = source(rng)
    splits = [prepare(raw, folds=4, fold=k) for k in range(4)]
    assert sorted(np.concatenate([data.test.rows for data in splits])) == list(range(60))
    for data in splits:
        parts = [data.split(s).rows for s in ("train", "validation", "test")]
        assert sorted(np.concatenate(parts)) == list(range(60))
        assert data.test.targets.bincount().tolist() == [5, 5, 5]
        assert len(data.validation) == round(0.15 * 45)


def test_folds_of_a_source_with_splits_of_its_own_take_all_of_it(rng):
    raw = source(rng, validation_from=30, test_from=45)
    assert sorted(np.concatenate([prepare(raw, folds=3, fold=k).test.rows for k in range(3)])) == list(range(60))


def test_folds_with_groups_keep_them_whole(rng):
    groups = np.arange(60) // 4
    raw = source(rng, groups=groups)
    for k in range(3):
        data = prepare(raw, folds=3, fold=k)
        assert are_whole(groups, *(data.split(s).rows for s in ("train", "validation", "test")))


def test_own_validation_rows_are_kept_apart_and_the_test_is_held_out_of_the_rest(rng):
    data = prepare(source(rng, validation_from=50))
    assert data.validation.rows.tolist() == list(range(50, 60))
    assert len(data.test) == 10
    assert sorted([*data.train.rows, *data.test.rows]) == list(range(50))


def test_own_validation_and_test_rows_are_the_splits(rng):
    data = prepare(source(rng, validation_from=40, test_from=50))
    assert data.train.rows.tolist() == list(range(40))
    assert data.validation.rows.tolist() == list(range(40, 50))
    assert data.test.rows.tolist() == list(range(50, 60))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"folds": 3, "fold": 3}, r"data\.fold=3 is not one of the 3 folds, which count from 0"),
        ({"fold": 1}, r"data\.fold=1 says nothing without data\.folds"),
        ({"folds": 3, "test": 0.2}, r"data\.test cannot be set: data\.folds says what it is"),
        ({"folds": 21}, r"Class 'a' has 20 examples, fewer than the 21 folds\. Use at most 20 folds"),
    ],
)
def test_folds_that_cannot_be_are_refused(rng, values, says):
    with pytest.raises(GradlabError, match=says):
        prepare(source(rng), **values)


@pytest.mark.parametrize(
    ("targets", "says"),
    [([0, 0, 0, 1], "Class 'b' has 1 example, fewer than the 2 folds. Leave that class out."), ([0] * 4, "0 examples")],
)
def test_a_class_too_rare_for_any_folds_is_named(rng, targets, says):
    raw = Raw(inputs=rng.normal(size=(4, 2)), targets=np.array(targets), classes=["a", "b"])
    with pytest.raises(GradlabError) as caught:
        prepare(raw, folds=2)
    assert says in str(caught.value)


def test_more_folds_than_rows_or_groups_are_refused(rng):
    raw = Raw(inputs=rng.normal(size=(4, 2)), targets=rng.normal(size=4))
    with pytest.raises(GradlabError, match="4 examples cannot be divided into 5 folds"):
        prepare(raw, folds=5)
    with pytest.raises(GradlabError, match="3 groups cannot be divided into 4 parts that keep each group whole"):
        prepare(source(rng, groups=np.arange(60) % 3), folds=4)
