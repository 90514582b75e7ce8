"""Preprocessing of tables with gaps and rare categories."""

import datetime
import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from gradlab.data import Preprocessing
from gradlab.data import preprocessing as module
from gradlab.errors import GradlabError
from gradlab.specs import Table

SCALERS = {"standardise": StandardScaler, "scale": MinMaxScaler}


@pytest.mark.parametrize("method", SCALERS)
@given(hnp.arrays(bool, (12, 3)), st.integers(0, 10**6))
def test_gaps_are_filled_and_told_as_in_scikit_learn(method, holes, seed):
    holes[:2] = False
    holes[2, 0] = True
    values = np.where(holes, np.nan, np.random.default_rng(seed).normal(5, 3, holes.shape))
    ours = Preprocessing.fit(values, method, list("abc"), [], missing=True)
    # A scaler of scikit-learn passes over what is missing; the training mean is put in its place afterwards.
    filled = make_pipeline(SCALERS[method](), SimpleImputer(strategy="mean"))
    judge = make_union(filled, MissingIndicator(features="missing-only"))
    np.testing.assert_allclose(ours(values).numpy(), judge.fit_transform(values), atol=1e-4)
    new = np.array([[1.0, np.nan, 2.0]])
    assert ours.output_shape == ours(new).shape[1:]
    assert torch.isfinite(ours(new)).all()


def test_a_gap_in_a_column_that_had_none_is_filled_but_not_told():
    fitted = Preprocessing.fit(np.array([[1.0, np.nan], [3.0, 5.0]]), "none", ["a", "b"], [], missing=True)
    assert fitted.missing == ["b"]
    assert fitted(np.array([[np.nan, np.nan]])).tolist() == [[2.0, 5.0, 1.0]]


@pytest.mark.parametrize("method", ["standardise", "scale", "none"])
def test_a_column_that_is_empty_in_training_is_zero(method):
    values = np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 7.0]])
    fitted = Preprocessing.fit(values, method, ["a", "b"], [], rows=np.array([0, 1]), missing=True)
    assert fitted(values[:2])[:, 1].tolist() == [0, 0]
    assert torch.isfinite(fitted(values)).all()
    json.dumps(asdict(fitted), allow_nan=False)


def test_what_is_missing_is_refused_where_nothing_may_be():
    fitted = Preprocessing.fit(np.array([[1.0], [3.0]]), "none", ["a"], [])
    with pytest.raises(GradlabError, match="hold nan in row 0, column 'a'"):
        fitted(np.array([[np.nan]]))
    may = Preprocessing.fit(np.array([[1.0], [3.0]]), "none", ["a"], [], missing=True)
    with pytest.raises(GradlabError, match="hold inf in row 0, column 'a'"):
        may(np.array([[np.inf]]))


def test_more_categories_than_levels_are_numbered_and_those_that_occur_once_share_a_number():
    values = np.array([[0], [1], [1], [2], [2], [2], [3], [-1], [-1]], float)
    fitted = Preprocessing.fit(values, "none", ["kind"], ["kind"], levels=3)
    assert (fitted.categories, fitted.embedded) == ({}, {"kind": [-1, 1, 2]})
    assert fitted(np.array([[2.0], [0.0], [-1.0], [-2.0]])).tolist() == [[3], [0], [1], [0]]
    assert fitted.spec == Table(1, embedded=(4,))


def test_a_column_of_dates_has_its_parts_and_days_since_the_training_mean():
    days = np.array([["2024-02-29"], ["2023-12-31"], ["NaT"]], dtype="datetime64[D]")
    values = np.where(np.isnat(days), np.nan, days.astype(np.int64))
    fitted = Preprocessing.fit(values, "none", ["day"], [], missing=True, dates=["day"])
    rows = fitted(values).numpy()
    assert rows.shape == (3, *fitted.output_shape) == (3, 1 + 1 + 7 + 12 + 2)
    assert rows[0, 2:9].argmax() == datetime.date(2024, 2, 29).weekday()
    assert rows[:2, 9:21].argmax(1).tolist() == [1, 11]
    turn = 2 * np.pi * np.array([59, 364]) / 365.25
    assert rows[:2, 21:] == pytest.approx(np.stack([np.sin(turn), np.cos(turn)], 1), abs=1e-6)
    assert rows[2, 1:].tolist() == [1.0] + [0.0] * 21


def test_only_dates_with_a_time_of_day_have_an_hour():
    fitted = Preprocessing.fit(np.array([[0.0], [0.25]]), "none", ["at"], [], dates=["at"])
    assert fitted.dates == {"at": ["weekday", "month", "day of year", "hour"]}
    assert fitted(np.array([[0.25]]))[0, -2:].tolist() == pytest.approx([1.0, 0.0], abs=1e-6)


def test_a_table_of_nothing_but_categories_is_read(rng):
    values = rng.integers(0, 3, (20, 2)).astype(float)
    fitted = Preprocessing.fit(values, "standardise", ["a", "b"], ["a", "b"], missing=True)
    assert fitted(values).shape == (20, 6)
    assert fitted(values).sum(1).tolist() == [2] * 20


@pytest.mark.parametrize("method", ["standardise", "scale"])
def test_rows_and_weights_and_chunks_are_those_of_the_rows_repeated(rng, monkeypatch, method):
    monkeypatch.setattr(module, "_CHUNK", 64)
    values = rng.normal(3, 2, (50, 3))
    values[rng.random((50, 3)) < 0.1] = np.nan
    rows, weights = rng.permutation(50)[:30], rng.integers(0, 4, 30).astype(float)
    ours = Preprocessing.fit(values, method, list("abc"), [], rows=rows, weights=weights, missing=True)
    want = Preprocessing.fit(values[np.repeat(rows, weights.astype(int))], method, list("abc"), [], missing=True)
    np.testing.assert_allclose([*ours.shift, *ours.scale, *ours.fill], [*want.shift, *want.scale, *want.fill])
    assert ours.missing == want.missing


def test_it_survives_json_exactly(rng):
    values = rng.normal(size=(20, 3))
    values[rng.random((20, 3)) < 0.3] = np.nan
    values[:, 2] = rng.integers(0, 3, 20)
    fitted = Preprocessing.fit(values, "standardise", ["a", "b", "c"], ["c"], missing=True)
    assert Preprocessing(**json.loads(json.dumps(asdict(fitted)))) == fitted
