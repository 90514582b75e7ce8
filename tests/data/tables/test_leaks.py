"""Columns that give the answer away are named, and columns that are merely good are not."""

import numpy as np
import pytest
from sklearn import datasets

from gradlab.data.tables import leaks
from gradlab.data.tables.leaks import find_leaks

ROWS = 1500


@pytest.fixture
def named(read_table):
    """`named(target, column, …)`: which of these columns of a CSV file are named, as the text of each value."""

    def look(target, *columns, **knobs):
        names = [*(f"x{i}" for i in range(len(columns))), "y"]
        rows = [",".join(map(str, row)) for row in zip(*columns, target, strict=True)]
        raw = read_table("\n".join([",".join(names), *rows]), **knobs)
        return [leak.column for leak in find_leaks(raw, np.arange(len(raw.targets)))]

    return look


@pytest.fixture
def noise(rng):
    return [rng.normal(size=ROWS) for _ in range(4)]


@pytest.fixture
def rare(rng, noise):
    """Some 3 % of one class, which the columns of noise say something about."""
    urge = noise[0] + noise[1] + rng.logistic(size=ROWS)
    return np.where(urge > np.quantile(urge, 0.97), "yes", "no")


def flipped(rng, target):
    """The same with one row in a hundred wrong."""
    return np.where(rng.random(len(target)) < 0.01, np.where(target == "yes", "no", "yes"), target)


def ranks(values):
    return np.argsort(np.argsort(values))


RECODED = {
    "a copy": lambda rng, y: y,
    "a copy with noise": flipped,
    "other names": lambda rng, y: np.where(y == "yes", "Z9", "A1"),
    "numbers for it": lambda rng, y: np.where(y == "yes", 17, -4),
    "filled in afterwards": lambda rng, y: np.where(y == "yes", rng.integers(1, 6, len(y)).astype(str), ""),
    "filled in for most of them": lambda rng, y: np.where((y == "yes") & (rng.random(len(y)) < 0.95), "left", ""),
    "a date of it": lambda rng, y: np.where(y == "yes", [f"2021-{m:02d}-11" for m in rng.integers(1, 13, len(y))], ""),
    "a number given in its order": lambda rng, y: 7000 + 3 * ranks((y == "yes") + 0.5 * rng.random(len(y))),
    "many names of either": lambda rng, y: [f"{v}-{n}" for v, n in zip(y, rng.integers(6, size=len(y)), strict=True)],
}  # fmt: skip


@pytest.mark.parametrize("how", RECODED)
def test_the_target_in_other_words_is_named(how, named, noise, rare, rng):
    assert named(rare, *noise) == []
    assert named(rare, *noise, RECODED[how](rng, rare)) == ["x4"]


def test_two_leaks_do_not_hide_each_other(named, noise, rare, rng):
    assert named(rare, *noise, flipped(rng, rare), np.where(rare == "yes", "", "still here")) == ["x4", "x5"]


@pytest.mark.parametrize("data", ["iris", "breast_cancer", "wine", "digits"])
def test_good_columns_of_real_data_are_not_named_and_a_copy_among_them_is(data, named, rng):
    x, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    count = x.shape[1]
    assert named([f"class {c}" for c in y], *x.T) == []
    code = 3 * y % 11
    wrong = rng.random(len(y)) < 0.01
    assert named([f"class {c}" for c in y], *x.T, np.where(wrong, rng.permutation(code), code)) == [f"x{count}"]


def test_a_class_that_several_measurements_part_perfectly_is_no_leak(named):
    x, y = datasets.load_iris(return_X_y=True)
    assert named(np.where(y == 0, "setosa", "other"), *x.T) == []


@pytest.mark.parametrize("spread", [0.05, 0.1, 0.3])
def test_a_number_that_follows_a_column_but_for_noise_is_not_named(spread, named, noise, rng):
    assert named(noise[0] + spread * rng.normal(size=ROWS), *noise) == []


UNITS = {
    "a copy": lambda rng, y: y,
    "another unit": lambda rng, y: 32 + 1.8 * y,
    "its logarithm": lambda rng, y: np.log(y),
    "one part in a hundred of noise": lambda rng, y: y + 0.01 * y.std() * rng.normal(size=len(y)),
    "one row in a hundred wrong": lambda rng, y: np.where(rng.random(len(y)) < 0.01, rng.permutation(y), y),
    "gaps": lambda rng, y: [v if i % 40 else "" for i, v in enumerate(y)],
}


@pytest.mark.parametrize("how", UNITS)
def test_a_number_in_other_units_is_named(how, named, noise, rng):
    price = 1000 + 100 * noise[0] + 50 * rng.normal(size=ROWS)
    price = price.clip(10)
    assert named(price, *noise) == []
    assert named(price, *noise, UNITS[how](rng, price)) == ["x4"]


def test_names_that_hardly_recur_are_not_learned_by_heart(named, noise, rare, rng):
    names = [f"street {n}" for n in rng.integers(700, size=ROWS)]
    assert named(rare, *noise, names) == []


def test_a_column_alone_is_all_there_is_to_learn_from(named, noise):
    assert named(np.where(noise[0] > 0, "yes", "no"), noise[0]) == []
    assert named(np.sin(noise[0]), noise[0]) == []


def test_of_a_few_rows_nothing_is_said(named, rng):
    target = rng.choice(["yes", "no"], 40)
    assert named(target, rng.normal(size=40), target) == []


def test_only_the_rows_that_are_named_are_looked_at(read_table, rng):
    target = rng.choice(["yes", "no"], 400)
    there = np.where(np.arange(400) < 200, target, "no")
    rows = [f"{a},{b},{c}" for a, b, c in zip(rng.normal(size=400), there, target, strict=True)]
    raw = read_table("\n".join(["a,b,y", *rows]))
    assert [leak.column for leak in find_leaks(raw, np.arange(200))] == ["b"]
    assert find_leaks(raw, np.arange(200, 400)) == []


def test_what_to_leave_out_is_said_as_a_shell_takes_it():
    leak = leaks.Leak(column="day of it", target="y", figure="R²", alone=1.0, others=0.5)
    assert leak.note.endswith("leave it out: data.drop='day of it'")


def test_of_many_rows_some_are_looked_at_and_always_the_same(read_table, rng, monkeypatch):
    target = rng.choice(["yes", "no"], ROWS)
    rows = [f"{a},{b},{c}" for a, b, c in zip(rng.normal(size=ROWS), flipped(rng, target), target, strict=True)]
    raw = read_table("\n".join(["a,b,y", *rows]))
    monkeypatch.setattr(leaks, "_ROWS", 500)
    state = np.random.get_state()[1].tolist()
    first, again = (find_leaks(raw, np.arange(ROWS)) for _ in range(2))
    assert first == again
    assert "data.drop=b" in first[0].note
    assert np.random.get_state()[1].tolist() == state
