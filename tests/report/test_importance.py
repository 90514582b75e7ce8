"""Importance, effects and thresholds, as the report of a run on a table shows them."""

import csv

import numpy as np
import pytest

import gradlab as gl
from gradlab.registry import Part
from gradlab.report import headline
from gradlab.wording import number

SECTIONS = {"Importance of the columns", "Effect of the most important columns"}


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """Many columns, of which two matter, one by its categories; the class that is looked for is rare."""
    draw, count = np.random.default_rng(0), 900
    numbers, place = draw.normal(size=(count, 18)), draw.choice(["in <b>", "out"], count)
    chance = 1 / (1 + np.exp(4 - 2 * numbers[:, 0] - 2.5 * (place == "out")))
    hit = np.where(draw.random(count) < chance, "hit", "miss")
    path = tmp_path_factory.mktemp("data") / "rare.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*(f"column {i}, whose name is very long" for i in range(18)), "place", "what"])
        lines.writerows([*row, a, b] for row, a, b in zip(numbers.round(3).tolist(), place, hit, strict=True))
    changes = {"data.target": "what", "train.epochs": 12, "train.doctor": False}
    return gl.train("csv", changes, data=path, out=tmp_path_factory.mktemp("runs") / "rare")


@pytest.fixture(scope="module")
def page(rare, read):
    return read(rare)


def test_the_bars_are_the_most_important_columns_and_a_line_sums_up_the_rest(rare, page):
    figure, found = page.figures["Permutation importance"], rare.importance()
    (bars,) = figure["data"]
    assert bars["x"] == [column.mean for column in found.columns[:15]]
    assert bars["error_x"]["array"] == [column.std for column in found.columns[:15]]
    assert figure["layout"]["yaxis"]["ticktext"][0] == "column 0, whose name is…"
    assert bars["customdata"][:2] == ["column 0, whose name is very long", "place"]
    rest = [column.mean for column in found.columns[15:]]
    assert f"4 more columns, none above {number(rest[0])}: {number(sum(rest))} in all." in page.text
    first = found.columns[0]
    words = f"the AUROC of {rare.test['auroc']:.4f} becomes {first.figures['auroc']:.4f}"
    assert words in page.text


def test_the_two_most_important_columns_have_effects_on_one_scale(rare, page):
    size, place = (rare.effect(name) for name in ("column 0, whose name is very long", "place"))
    curve, below = page.figures[size.column]["data"]
    assert (curve["x"], curve["y"]) == (size.values, size.predictions["hit"])
    assert (below["type"], below["yaxis"]) == ("histogram", "y2")
    (bars,) = page.figures["place"]["data"]
    assert bars["x"] == place.predictions["hit"]
    counts = [place.seen.count(value) for value in place.values]
    named = {"in <b>": "in &lt;b&gt;", "out": "out"}
    texts = [f"{named[value]} ({count})" for value, count in zip(place.values, counts, strict=True)]
    assert page.figures["place"]["layout"]["yaxis"]["ticktext"] == texts
    assert page.figures[size.column]["layout"]["yaxis"]["range"] == page.figures["place"]["layout"]["xaxis"]["range"], (
        "so that a small effect looks small"
    )
    assert "The probability of 'hit'" in page.text


def test_thresholds_name_the_rare_class_and_what_another_threshold_gives(rare, page):
    ranking = rare.rankings()["hit"]
    usual, best = ranking.at(0.5), ranking.at(rare.threshold)
    validated = rare.rankings("validation")["hit"]
    assert validated.at(rare.threshold).f1 > validated.at(0.5).f1
    assert "The positive class is 'hit', the rarer one" in page.text
    assert f"AUROC {rare.test['auroc']:.3f}" in page.text
    assert f"average precision {ranking.average_precision:.3f}" in page.text
    for outcome in (usual, best):
        assert f"recall {outcome.recall:.2f}, precision {outcome.precision:.2f}, F1 {outcome.f1:.2f}" in page.text
    assert f"at {rare.threshold:.3g}, which has the best F1 on the validation split" in page.text
    _, roc, *marks = page.figures["ROC"]["data"]
    assert (roc["x"][0], roc["y"][0], roc["x"][-1], roc["y"][-1]) == (0, 0, 1, 1)
    assert [(m["x"], m["y"]) for m in marks] == [([o.false_alarms], [o.recall]) for o in (usual, best)]
    _, *marks = page.figures["Precision and recall"]["data"]
    assert [(m["x"], m["y"]) for m in marks] == [([o.recall], [o.precision]) for o in (usual, best)]


def test_a_report_that_is_written_again_is_the_same(rare, page, read):
    again = read(gl.load_run(rare.path))
    assert (again.text, again.figures) == (page.text, page.figures)


def test_several_classes_have_a_curve_each_as_far_as_there_are_colours(digits, digits_page, train, read):
    names = [trace["name"] for trace in digits_page.figures["ROC"]["data"][1:]]
    hardest = sorted(digits.rankings().items(), key=lambda item: item[1].auroc)[:7]
    assert names == [f"{name}: AUROC {ranking.auroc:.3f}" for name, ranking in sorted(hardest)]
    assert "Of 10 classes the 7 with the lowest AUROC are shown." in digits_page.text
    assert not SECTIONS & set(digits_page.titles), "pixels have no names"
    iris = read(train(Part("iris")))
    assert len(iris.figures["ROC"]["data"]) == 4
    assert set(iris.titles) >= SECTIONS


def test_without_validation_there_is_0_5_alone(train, read):
    page = read(train(Part("moons", {"examples": 60, "validation": 0.0})))
    assert "At a probability of 0.5: recall" in page.text
    assert "best F1" not in page.text


def test_a_regression_tells_how_far_off_it_would_be(train, read):
    run = train(Part("diabetes"), task="regress")
    page, found = read(run), run.importance()
    words = f"the RMSE of {found.figures['rmse']:.4f} becomes {found.columns[0].figures['rmse']:.4f}"
    assert words in page.text
    assert set(page.titles) >= SECTIONS
    assert "Thresholds" not in page.titles


def test_one_column_is_not_compared_with_others(train, read):
    assert not SECTIONS & set(read(train(Part("sine"), task="regress")).titles)


def test_too_many_columns_are_said_to_be_left_out(train, read, monkeypatch):
    run = train(Part("iris"))
    monkeypatch.setattr("gradlab.run.columns._SECONDS", 1e-4)
    page = read(run)
    assert "Left out of this report: 4 columns are too many to permute" in page.text
    assert "Confusion matrix" in page.titles


@pytest.mark.parametrize(("accuracy", "colour"), [(0.99, "better"), (0.9, ""), (0.6, "poor")])
def test_a_figure_is_green_only_where_other_methods_are_beaten_too(rare, monkeypatch, accuracy, colour):
    others = {"majority class": {"accuracy": 0.7}, "boosted trees": {"accuracy": 0.95}}
    changed = {
        "test": {"accuracy": accuracy},
        "baseline": {"name": "majority class", "test": others["majority class"]},
        "baselines": {"test": others},
    }
    monkeypatch.setattr(type(rare), "finished", {**rare.finished, **changed})
    drawn = headline._card(rare, "test", "accuracy")
    assert [c for c in ("better", "poor") if c in drawn] == [colour] * bool(colour)
