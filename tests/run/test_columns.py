"""What the columns of a table do for a model."""

import csv
import math

import numpy as np
import pytest

import gradlab as gl
from gradlab.run import columns

ROWS = 300
HEAD = ["size", "noise", "still", "kind", "day", "bought"]
PLAIN = {"train.epochs": 15, "train.lr": 0.02, "train.doctor": False}


def write(path, head, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Whether somebody buys follows from the size and, a little, from the kind, and from nothing else."""
    draw = np.random.default_rng(0)
    size, noise = draw.normal(10, 3, ROWS).round(3), draw.normal(size=ROWS).round(3)
    kind = draw.choice(["a", "b", "c", ""], ROWS)
    day = np.datetime64("2024-01-01") + draw.integers(0, 300, ROWS)
    bought = np.where(size + 2 * (kind == "a") + draw.normal(size=ROWS) > 13, "yes", "no")
    rows = list(zip(size, noise, ["same"] * ROWS, kind, day, bought, strict=True))
    return write(tmp_path_factory.mktemp("data") / "t.csv", HEAD, rows)


@pytest.fixture(scope="module")
def run(table, tmp_path_factory):
    changes = {"data.target": "bought", "data.keep": ["still"], **PLAIN}
    return gl.train("csv", changes, data=table, out=tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A linear regression."""
    draw = np.random.default_rng(1)
    x = draw.normal(5, 2, (200, 2))
    y = 3 * x[:, 0] - x[:, 1] + 0.1 * draw.normal(size=200)
    path = write(tmp_path_factory.mktemp("data") / "s.csv", ["x", "z", "y"], np.column_stack([x, y]).tolist())
    changes = {"data.target": "y", "model": "linear", "train.epochs": 60, "train.lr": 0.05, "train.doctor": False}
    return gl.train("csv", changes, data=path, out=tmp_path_factory.mktemp("runs") / "straight")


def held_out(run, table):
    """The test rows of the file, as texts."""
    lines = list(csv.reader(table.read_text().splitlines()))[1:]
    return [lines[i] for i in run.dataset.test.rows]


def test_a_column_that_says_nothing_is_worth_nothing_and_one_that_says_all_the_most(run):
    found = run.importance()
    worth = {column.name: column for column in found.columns}
    assert [c.mean for c in found.columns] == sorted((c.mean for c in found.columns), reverse=True)
    assert found.columns[0].name == "size"
    assert (worth["still"].mean, worth["still"].std) == (0, 0)
    for name in ("noise", "day"):
        assert abs(worth[name].mean) < 0.1 * worth["size"].mean
    assert (found.split, found.figure, found.rows, found.repeats) == ("test", "loss", ROWS // 5, 5)
    assert found.figures == pytest.approx(run.test)


@pytest.mark.parametrize("name", ["size", "kind", "day"])
def test_a_permuted_column_is_evaluated_like_a_file_that_was_permuted_by_hand(run, table, tmp_path, name):
    """The file goes all the way that new rows go."""
    rows, place = held_out(run, table), HEAD.index(name)

    def loss(order):
        column = [rows[i][place] for i in order]
        texts = [[*row[:place], text, *row[place + 1 :]] for row, text in zip(rows, column, strict=True)]
        file = write(tmp_path / "new.csv", HEAD, texts)
        said = run.task.decode(run.outputs(file))
        return -np.mean([math.log(one["probabilities"][row[-1]]) for one, row in zip(said, rows, strict=True)])

    losses = [loss(np.random.default_rng(i).permutation(len(rows))) for i in range(5)]
    found = next(column for column in run.importance().columns if column.name == name)
    before = loss(range(len(rows)))
    assert before == pytest.approx(run.test["loss"], rel=1e-5)
    assert found.mean == pytest.approx(np.mean(losses) - before, abs=1e-6)
    assert found.std == pytest.approx(np.std(losses, ddof=1), abs=1e-6)
    assert found.figures["loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_what_is_said_of_a_column_does_not_depend_on_the_others_that_are_asked_for(run):
    every = {column.name: column for column in run.importance().columns}
    assert run.importance(columns=["noise", "size"]).columns == [every["size"], every["noise"]]


def test_a_criterion_that_is_better_when_higher_worsens_by_falling(run, monkeypatch):
    monkeypatch.setattr(type(run.task), "criterion", gl.Criterion("auroc", higher_is_better=True))
    found = run.importance()
    assert found.figure == "auroc"
    assert found.columns[0].name == "size"
    for column in found.columns:
        assert column.mean == pytest.approx(found.figures["auroc"] - column.figures["auroc"])


def test_nothing_of_the_run_or_of_the_callers_numbers_is_changed(run):
    state, before = np.random.get_state()[1].tolist(), np.asarray(run.dataset.raw.inputs).copy()
    assert run.importance() == run.importance()
    assert np.random.get_state()[1].tolist() == state
    np.testing.assert_array_equal(run.dataset.raw.inputs, before)


def test_wide_tables_have_fewer_permutations_of_fewer_rows_and_then_none(run, monkeypatch):
    sizes = []
    for seconds in (3e-2, 1.2e-2, 5.25e-3):  # of which each evaluation, without its rows, takes 1e-3
        monkeypatch.setattr(columns, "_SECONDS", seconds)
        found = run.importance()
        sizes.append((found.repeats, found.rows))
    assert sizes[:2] == [(5, 60), (2, 60)]
    assert sizes[2][0] == 1
    assert 50 <= sizes[2][1] < 60
    monkeypatch.setattr(columns, "_SECONDS", 1e-3)
    with pytest.raises(gl.GradlabError, match=r"5 columns are too many to permute.*importance\(columns="):
        run.importance()


def test_rows_are_sampled_from_large_splits(run, monkeypatch):
    monkeypatch.setattr(columns, "_ROWS", 20)
    assert run.importance().rows == 20


def test_without_a_test_split_validation_is_held_out_and_without_either_there_is_nothing(table, tmp_path):
    changes = {"data.target": "bought", "data.test": 0.0, **PLAIN, "train.epochs": 1}
    assert gl.train("csv", changes, data=table, out=tmp_path / "a").importance().split == "validation"
    none = gl.train("csv", {**changes, "data.validation": 0.0}, data=table, out=tmp_path / "b")
    with pytest.raises(gl.GradlabError, match="held out no examples"):
        none.importance()
    assert "Importance" not in (none.path / "report.html").read_text()


def test_an_unknown_column_is_refused(run):
    for ask in (lambda: run.effect("siez"), lambda: run.importance(["siez"])):
        with pytest.raises(gl.GradlabError, match="'siez'"):
            ask()


def test_pictures_have_no_columns(tmp_path):
    digits = gl.train("digits-mlp", {"train.steps": 2}, out=tmp_path / "run")
    with pytest.raises(gl.GradlabError, match="not trained on a table"):
        digits.importance()


# Effects.


def test_the_effect_of_a_number_is_the_mean_of_predictions_with_that_number(run, table):
    found = run.effect("size")
    raw = np.asarray(run.dataset.raw.inputs[run.dataset.test.rows])
    assert found.kind == "number"
    assert len(found.values) == 25
    assert found.seen == raw[:, 0].tolist()
    assert list(found.predictions) == ["yes"], "the rarer class"
    for value, mean in zip(found.values, found.predictions["yes"], strict=True):
        assert value in raw[:, 0]
        raw[:, 0] = value
        assert mean == pytest.approx(np.mean([one["probabilities"]["yes"] for one in run.describe(raw)]))
        raw[:, 0] = run.dataset.raw.inputs[run.dataset.test.rows, 0]
    assert found.predictions["yes"] == sorted(found.predictions["yes"])


def test_the_effect_of_a_category_has_its_names_the_most_frequent_first(run, table):
    found = run.effect("kind")
    kinds = [row[3] or "missing" for row in held_out(run, table)]
    assert found.seen == kinds
    assert found.values == sorted(set(kinds), key=lambda kind: -kinds.count(kind))
    assert max(zip(found.predictions["yes"], found.values, strict=True))[1] == "a"


def test_dates_are_shown_as_dates(run, table):
    found = run.effect("day")
    days = [f"{row[4]} 00:00" for row in held_out(run, table)]
    assert found.kind == "date"
    assert found.seen == days
    assert set(found.values) <= set(days)
    assert found.values == sorted(found.values)


def test_the_effect_in_a_linear_model_is_a_straight_line(straight):
    found = straight.effect("x")
    (means,) = found.predictions.values()
    assert list(found.predictions) == ["y"]
    slopes = np.diff(means) / np.diff(found.values)
    assert slopes == pytest.approx(np.full(24, 3), rel=0.03)
    assert np.ptp(slopes) < 1e-3
    assert found.missing == {}


def test_missing_values_have_an_effect_of_their_own(tmp_path):
    rows = [["" if i % 5 == 0 else i % 17, i % 3, i % 17 + (i % 5 == 0) * 40] for i in range(200)]
    path = write(tmp_path / "gaps.csv", ["x", "z", "y"], rows)
    run = gl.train("csv", {"data.target": "y", "data.numbers": ["z", "y"], **PLAIN}, data=path, out=tmp_path / "run")
    found = run.effect("x")
    assert found.values == sorted(set(found.seen)), "each of the few that there are"
    raw = np.asarray(run.dataset.raw.inputs[run.dataset.test.rows])
    raw[:, 0] = np.nan
    assert found.missing["y"] == pytest.approx(np.mean(run.predict(raw)), rel=1e-5)
    assert found.missing["y"] > max(found.predictions["y"])


KINDS = ["?", *np.typecodes["AllInteger"], *np.typecodes["Float"]]


@pytest.fixture
def numbers():
    """`numbers(kind, columns)`: a few values of a type; of integers the largest, of which no float has all."""

    def draw(kind, columns):
        x = np.random.default_rng(0).integers(0, 2 if kind == "?" else 9, (80, columns)).astype(kind)
        return (np.iinfo(kind).max - x).astype(kind) if x.dtype.kind in "iu" else x

    return draw


@pytest.mark.parametrize("kind", KINDS)
def test_effect_of_every_type_of_number_is_that_of_its_values(tmp_path, numbers, kind):
    np.savez(tmp_path / "data.npz", x=numbers(kind, 2), y=np.arange(80) % 2)
    run = gl.train("npz", {"train.steps": 2, "train.doctor": False}, data=tmp_path / "data.npz", out=tmp_path / "run")
    effect = run.effect("x0")
    raw = np.asarray(run.dataset.raw.inputs[run.dataset.test.rows])
    assert effect.values == [float(value) for value in np.unique(raw[:, 0])]
    raw[:, 0] = raw[:, 0].min()
    ((name, means),) = effect.predictions.items()
    expected = np.mean([one["probabilities"][name] for one in run.describe(raw)])
    assert means[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_report_of_a_curve_takes_every_type_of_number(tmp_path, numbers, kind):
    np.savez(tmp_path / "data.npz", x=numbers(kind, 1), y=np.arange(80) / 10)
    run = gl.train("npz", {"train.steps": 2}, data=tmp_path / "data.npz", out=tmp_path / "run")
    assert "Data and fitted curve" in (run.path / "report.html").read_text()
    assert run.predict(numbers(kind, 1)).shape == (80,)


# Thresholds.


def test_the_threshold_is_the_best_of_the_validation_split(run):
    validation = run.rankings("validation")["yes"]
    assert run.threshold == validation.best.threshold
    assert validation.at(run.threshold).f1 == validation.f1.max() >= validation.at(0.5).f1
    assert run.rankings()["yes"].auroc == pytest.approx(run.test["auroc"], abs=1e-9)


def test_a_regression_has_no_threshold_nor_have_three_classes(straight, tmp_path):
    with pytest.raises(gl.GradlabError, match="no classification"):
        straight.rankings()
    iris = gl.train("iris-softmax", {"train.epochs": 2}, out=tmp_path / "run")
    assert len(iris.rankings()) == 3
    with pytest.raises(gl.GradlabError, match="two classes"):
        _ = iris.threshold
