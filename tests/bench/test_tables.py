"""Tables by default beside scikit-learn."""

import json

import numpy as np
import pytest
from cli_helpers import check_refused, gradlab

from gradlab.bench.tables.generated import GENERATED, write_table
from gradlab.bench.tables.scores import TABLES, bench_tables
from gradlab.data.tables.csv_files import csv


@pytest.mark.parametrize("name", GENERATED)
def test_invented_tables_have_what_tables_in_the_world_have(name, tmp_path):
    make, target = GENERATED[name]
    write_table(tmp_path / "t.csv", make(2000, np.random.default_rng(0)))
    raw = csv(0, path=str(tmp_path / "t.csv"), target=target)
    assert len(raw.inputs) == 2000
    if name != "faults":
        assert raw.dates
        assert raw.categorical
        assert any(column.unit for column in raw.reader.inputs)
        assert np.isnan(raw.inputs).any()


def test_every_method_is_scored_on_the_same_folds():
    rows = bench_tables(["iris"], 2, lambda text: None)
    assert [row.method for row in rows] == ["gradlab", "logistic regression", "MLPClassifier", "boosted trees"]
    assert {(row.table, row.rows, row.metric) for row in rows} == {("iris", 150, "accuracy")}
    assert all(row.score > 0.85 and row.seconds > 0 for row in rows)


def test_bad_requests_are_refused(tmp_path):
    check_refused(gradlab("bench", "tables", "irsi", cwd=tmp_path), "Did you mean 'iris'")
    check_refused(gradlab("bench", "tables", "iris", "--folds", "1", cwd=tmp_path), "at least 2")
    assert len(TABLES) == 7


@pytest.mark.slow
def test_the_default_is_as_good_as_scikit_learns_network():
    by_table = {}
    for row in bench_tables([name for name in TABLES if name not in GENERATED], 5, lambda text: None):
        by_table.setdefault(row.table, {})[row.method] = row
    for rows in by_table.values():
        network = next(row for method, row in rows.items() if method.startswith("MLP"))
        assert rows["gradlab"].score >= network.score - network.standard_error, json.dumps(network.score)
