"""Frames with columns of several types."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.estimators.frames import as_numbers, columns_of

N = 120
RNG = np.random.default_rng(0)


def frame():
    """Every type of column that is taken, each with a gap but for the last three."""
    made = pd.DataFrame(
        {
            "number": RNG.normal(5, 3, N),
            "nullable": pd.array(RNG.integers(0, 5, N), dtype="Int64"),
            "text": RNG.choice(["red", "green", "blue"], N),
            "category": pd.Categorical(RNG.choice(["S", "M", "L"], N)),
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 100, N), unit="D"),
            "mixed": RNG.choice(np.array([1, 2.5, True, Decimal("3.5")], dtype=object), N),
            "truth": RNG.random(N) < 0.5,
            "count": RNG.integers(0, 9, N),
            "day": [datetime.date(2020, 1, 1 + i % 28) for i in range(N)],
        }
    )
    for row, name in enumerate(["number", "nullable", "text", "category", "date", "mixed"]):
        made.loc[row, name] = None
    return made


FRAME = frame()
LABELS = np.where((FRAME["text"] == "red") ^ FRAME["truth"], "yes", "no")


def classifier(**parameters):
    return gl.Classifier(**{"hidden": 16, "epochs": 20, "random_state": 0, **parameters})


def fed(estimator, X):
    """What the network is fed, as a frame of its own: inputs by name."""
    preprocessing = estimator._learner.preprocessing
    names = [f for f in preprocessing.features if f not in preprocessing.categories]
    names += [f"{c}={code:g}" for c, codes in preprocessing.categories.items() for code in codes]
    names += [f"{c} missing" for c in preprocessing.missing]
    values = preprocessing(as_numbers(X, estimator._columns), dtype=torch.float64)
    return pd.DataFrame(values.numpy(), columns=names)


def test_every_type_of_column_is_learned_from():
    fitted = classifier(hidden=64, epochs=100).fit(FRAME, LABELS)
    assert fitted.score(FRAME, LABELS) == 1
    assert list(fitted.feature_names_in_) == list(FRAME.columns)
    assert {c.name: c.kind for c in columns_of(FRAME)} == {
        "number": "number",
        "nullable": "number",
        "text": "category",
        "category": "category",
        "date": "date",
        "mixed": "number",
        "truth": "number",
        "count": "number",
        "day": "date",
    }


def test_numbers_are_standardised_and_gaps_filled_with_the_mean_and_told():
    fitted = classifier(epochs=1).fit(FRAME, LABELS)
    inputs = fed(fitted, FRAME)
    known = FRAME["number"].drop(0)
    expected = (known - known.mean()) / known.std(ddof=0)
    np.testing.assert_allclose(inputs["number"].drop(0), expected, rtol=1e-12)
    assert inputs["number"][0] == pytest.approx(0, abs=1e-12)
    for row, name in enumerate(["number", "nullable"]):
        assert inputs[f"{name} missing"].tolist() == [float(i == row) for i in range(N)]
    assert "count missing" not in inputs


def test_categories_are_coded_one_hot_and_a_gap_is_one_of_them():
    inputs = fed(classifier(epochs=1).fit(FRAME, LABELS), FRAME)
    for code, value in enumerate(["blue", "green", "red"]):
        assert (inputs[f"text={code}"] == (FRAME["text"] == value)).all()
    assert inputs["text=-1"].tolist() == [float(i == 2) for i in range(N)]


def test_a_category_that_fitting_did_not_see_has_no_code():
    fitted = classifier(epochs=1).fit(FRAME, LABELS)
    inputs = fed(fitted, FRAME.assign(text="violet"))
    assert (inputs[[c for c in inputs if c.startswith("text=")]] == 0).all(axis=None)
    assert len(fitted.predict(FRAME.assign(text="violet"))) == N


def test_a_column_without_gaps_in_fitting_is_filled_too():
    fitted = classifier(epochs=1).fit(FRAME, LABELS)
    holes = FRAME.assign(count=np.nan)
    assert fed(fitted, holes)["count"].abs().max() < 1e-12
    assert len(fitted.predict(holes)) == N


def test_dates_are_days():
    column = pd.DataFrame({"when": pd.to_datetime(["1970-01-03 12:00", None]), "gap": pd.to_timedelta(["36h", "1D"])})
    np.testing.assert_array_equal(as_numbers(column, columns_of(column)), [[2.5, 1.5], [np.nan, 1.0]])
    objects = pd.DataFrame({"when": pd.Series([datetime.date(1970, 1, 2), None, np.nan, pd.NaT], dtype=object)})
    assert [c.kind for c in columns_of(objects)] == ["date"]
    np.testing.assert_array_equal(as_numbers(objects, columns_of(objects)), [[1.0], [np.nan], [np.nan], [np.nan]])
    zoned = pd.DataFrame({"when": pd.to_datetime(["1970-01-02 02:00+02:00"])})
    assert as_numbers(zoned, columns_of(zoned)).tolist() == [[1.0]]


def test_whole_numbers_keep_their_category_when_a_gap_makes_them_floats():
    kinds = pd.DataFrame({"kind": pd.Categorical([1, 2, 2])})
    columns = columns_of(kinds)
    floats = pd.DataFrame({"kind": [2.0, np.nan, 1.0]})
    assert as_numbers(floats, columns).ravel().tolist() == [1.0, -1.0, 0.0]


def test_of_more_than_a_hundred_categories_vectors_are_learned():
    names = pd.DataFrame({"name": [f"n{i}" for i in range(150)] * 2 + ["once"]})
    fitted = classifier(epochs=1).fit(names, np.arange(301) % 2)
    [vectors] = fitted.model_[0].vectors
    assert vectors.num_embeddings == 151
    assert fed(fitted, names).iloc[[0, 150, 300], 0].tolist() == [1, 1, 0]  # which is what occurs once


def test_a_frame_of_numbers_teaches_what_its_array_does():
    numbers = FRAME[["truth", "count"]].astype(float)
    first = classifier().fit(numbers, LABELS)
    second = classifier().fit(numbers.to_numpy(), LABELS)
    assert np.array_equal(first.predict_proba(numbers), second.predict_proba(numbers.to_numpy()))


def test_a_frame_in_float32_is_learned_in_float32():
    numbers = FRAME[["truth", "count"]].astype(np.float32)
    assert classifier().fit(numbers, LABELS).predict_proba(numbers).dtype == np.float32
    assert classifier().fit(FRAME, LABELS).predict_proba(FRAME).dtype == np.float64


def test_columns_without_names_are_told_apart_by_their_place():
    unnamed = FRAME[["text", "count"]].set_axis([0, 1], axis=1)
    fitted = classifier(epochs=1).fit(unnamed, LABELS)
    assert len(fitted.predict(unnamed)) == N
    assert not hasattr(fitted, "feature_names_in_")


def test_two_columns_of_one_name_are_refused():
    twice = FRAME[["text", "count"]].set_axis(["a", "a"], axis=1)
    with pytest.raises(GradlabError, match="two columns named 'a'"):
        classifier(epochs=1).fit(twice, LABELS)


def test_targets_may_be_a_column():
    truth = classifier(epochs=1).fit(FRAME, FRAME["truth"])
    assert truth.classes_.dtype == bool
    assert classifier(epochs=1).fit(FRAME, pd.Series(LABELS, dtype="category")).classes_.tolist() == ["no", "yes"]
    two = FRAME[["count", "truth"]].astype(float)
    assert gl.Regressor(epochs=1).fit(FRAME, two).predict(FRAME).shape == (N, 2)


@pytest.mark.parametrize("wrong", [FRAME[FRAME.columns[::-1]], FRAME.drop(columns="count"), FRAME.assign(more=1)])
def test_other_columns_or_another_order_are_refused_as_scikit_learn_refuses_them(wrong):
    with pytest.raises(ValueError, match="feature names should match"):
        classifier(epochs=1).fit(FRAME, LABELS).predict(wrong)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier(epochs=1).fit(FRAME, LABELS).partial_fit(wrong, LABELS)


def test_an_array_in_place_of_a_frame_is_warned_of_or_refused():
    numbers = FRAME[["truth", "count"]].astype(float)
    fitted = classifier(epochs=1).fit(numbers, LABELS)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(numbers.to_numpy())
    with pytest.warns(UserWarning, match="has feature names"):
        classifier(epochs=1).fit(numbers.to_numpy(), LABELS).predict(numbers)
    with pytest.raises(GradlabError, match="'text' is a category"):
        classifier(epochs=1).fit(FRAME, LABELS).predict(FRAME.to_numpy())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"number": "much"}, "'number' held numbers"),
        ({"date": "soon"}, "'date' held dates"),
        ({"number": np.inf}, "hold inf in row 0, column 'number'"),
        ({"text": [[1]] * N}, "'text' held categories"),
    ],
)
def test_a_column_that_has_changed_is_named(change, says):
    fitted = classifier(epochs=1).fit(FRAME, LABELS)
    with pytest.raises(GradlabError, match=says):
        fitted.predict(FRAME.assign(**change))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([[1]] * N, "'new' cannot be compared"),
        ([object()] * N, "'new' holds <object"),
        ([1j] * N, "'new' holds 1j"),
        ([np.inf] * N, "hold inf in row 0, column 'new'"),
    ],
)
def test_a_column_that_cannot_be_learned_from_is_named(values, says):
    with pytest.raises(GradlabError, match=says):
        classifier().fit(FRAME.assign(new=values), LABELS)


def test_an_empty_frame_is_refused():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        classifier().fit(FRAME.iloc[:0], LABELS[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        classifier().fit(FRAME[[]], LABELS)


def test_a_gap_in_an_array_is_refused():
    with pytest.raises(ValueError, match="contains NaN"):
        classifier().fit(np.array([[1.0], [np.nan]]), [0, 1])
