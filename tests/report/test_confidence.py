"""The reliability diagram and what stands behind it."""

import numpy as np
import pytest

from gradlab.registry import Part
from gradlab.run import Run


@pytest.fixture(scope="module")
def logistic(train) -> Run:
    return train(Part("breast-cancer"), "linear", "bernoulli", epochs=2)


def points(trace):
    return np.array(trace["customdata"]), np.array(trace["x"]), np.array(trace["y"])


@pytest.fixture(scope="module")
def unsure(train) -> Run:
    """Trained so little that it knows more than it says."""
    return train(Part("breast-cancer"), "linear", "bernoulli", steps=2)


@pytest.mark.parametrize("name", ["digits", "unsure"])
def test_the_diagram_agrees_with_the_figures_before_and_after(name, read, request):
    run: Run = request.getfixturevalue(name)
    page = read(run)
    diagonal, before, after = page.figures["Reliability"]["data"]
    assert diagonal["x"] == diagonal["y"] == [0, 1]
    calibration = run.finished["calibration"]
    size = len(run.dataset.test)
    for trace, ece in ((before, calibration["test_ece"]), (after, calibration["test_ece_calibrated"])):
        count, confidence, accuracy = points(trace)
        assert count.sum() == size
        assert (count @ np.abs(accuracy - confidence)) / size == pytest.approx(ece)
        assert count @ accuracy / size == pytest.approx(run.test["accuracy"])
        assert np.argmax(trace["marker"]["size"]) == np.argmax(count)
    assert run.test["ece"] == pytest.approx(calibration["test_ece"])
    words = (
        f"ECE {calibration['test_ece']:.3f} as trained, {calibration['test_ece_calibrated']:.3f} at temperature "
        f"{calibration['temperature']:.3g}"
    )
    assert words in page.text


def test_a_refused_temperature_is_told_with_its_reason(logistic, read):
    page = read(logistic)
    calibration = logistic.finished["calibration"]
    assert [trace.get("name") for trace in page.figures["Reliability"]["data"]] == [None, "as trained"]
    assert f"ECE {calibration['test_ece']:.3f} at temperature 1: {calibration['refused']}" in page.text


def test_confidence_is_counted_for_right_and_wrong(digits, read):
    right, wrong = read(digits).figures["Confidence"]["data"]
    assert sum(right["y"]) == round(digits.test["accuracy"] * 359)
    assert sum(right["y"]) + sum(wrong["y"]) == 359


def test_without_validation_there_is_no_temperature(train, read):
    page = read(train(Part("moons", {"examples": 60, "validation": 0.0})))
    assert [trace.get("name") for trace in page.figures["Reliability"]["data"]] == [None, "as trained"]
    assert "temperature" not in page.text


def test_calibration_has_no_card_beside_a_baseline_that_is_calibrated_by_knowing_nothing(digits_page):
    assert "test ECE" not in digits_page.text
    assert "ECE" in digits_page.figures, "its curve"


def test_one_logit_has_everything_that_two_have(logistic, read):
    page = read(logistic)
    counts = np.array([[int(c or 0) for c in row] for row in page.figures["Confusion matrix"]["data"][0]["text"]])
    assert counts.trace() / counts.sum() == pytest.approx(logistic.test["accuracy"])
    assert {"Each class", "The most confident mistakes"} <= set(page.titles)


def test_one_logit_has_decision_regions(train, read):
    run = train(Part("moons", {"examples": 100}), "mlp", "bernoulli")
    assert "Decision regions" in read(run).figures
