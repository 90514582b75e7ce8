import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.splits import Split, divide, hold_out
from gradlab.errors import GradlabError

SEEDS = st.integers(0, 2**31)
SHARES = st.floats(0, 0.9)


@given(st.integers(1, 200), SHARES, SEEDS)
def test_kept_and_held_out_rows_are_disjoint_and_cover_everything(count, share, seed):
    rows = np.arange(count) * 3
    kept, held = hold_out(rows, share, seed)
    assert sorted([*kept, *held]) == rows.tolist()
    assert len(held) == round(share * count)
    assert (np.diff(kept) > 0).all()
    assert (np.diff(held) > 0).all()


@given(st.lists(st.integers(1, 100), min_size=1, max_size=12), SHARES, SEEDS)
def test_each_class_is_held_out_in_its_share_up_to_one_example(sizes, share, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    kept, held = hold_out(np.arange(len(labels)), share, seed, labels)
    assert sorted([*kept, *held]) == list(range(len(labels)))
    assert len(held) == round(share * len(labels))
    for label, size in enumerate(sizes):
        assert abs((labels[held] == label).sum() - share * size) <= 1


def test_a_large_class_does_not_pay_for_the_small_ones():
    labels = np.repeat(np.arange(10), [100] + [2] * 9)
    _, held = hold_out(np.arange(len(labels)), 0.2, 0, labels)
    assert abs((labels[held] == 0).sum() - 20) <= 1


@given(st.integers(10, 200), SEEDS)
def test_a_split_is_a_pure_function_of_the_seed(count, seed):
    labels = np.arange(count) % 3
    first = hold_out(np.arange(count), 0.3, seed, labels)
    np.random.random(3)
    again = hold_out(np.arange(count), 0.3, seed, labels)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_another_seed_gives_another_split():
    splits = {tuple(hold_out(np.arange(60), 0.5, seed)[1]) for seed in range(20)}
    assert len(splits) == 20


@given(st.integers(5, 200), st.floats(0, 0.5), st.floats(0, 0.5), SEEDS, st.booleans())
def test_three_splits_are_disjoint_and_cover_everything(count, test, validation, seed, stratified):
    labels = np.arange(count) % 4 if stratified else None
    splits = divide(Split(test=test, validation=validation, seed=seed), count, labels)
    assert sorted(np.concatenate(splits)) == list(range(count))


def test_the_official_test_split_is_kept_whole_and_apart():
    train, validation, test = divide(Split(test_from=70, test=0.2, validation=0.1), 100, np.arange(100) % 5)
    assert test.tolist() == list(range(70, 100))
    assert sorted([*train, *validation]) == list(range(70))
    assert len(validation) == 7


def test_a_split_that_leaves_nothing_to_train_on_is_refused_with_its_counts():
    with pytest.raises(GradlabError, match="No example is left to train on: 2 examples, of which 2 are for test"):
        divide(Split(test=0.9), 2)
