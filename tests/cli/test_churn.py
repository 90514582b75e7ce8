"""A table as a company has it, by default: what its columns are taken for, what stands beside the result."""

import json
import re
import sys
from pathlib import Path

import pytest
from cli_helpers import ForkServer

sys.path.append(str(Path(__file__).parents[1] / "data"))

from churn import write_churn


@pytest.fixture(scope="module")
def churn(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("churn")
    write_churn(folder / "churn.csv", 2500, rare=0.1)
    ended = quick("train", "csv", "--data", "churn.csv", "data.target=churn", "--out", "run", cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run", ended.out


def test_the_plan_says_how_each_column_is_read(churn: tuple[Path, str]) -> None:
    before = churn[1].partition("\nstep ")[0]
    assert re.search(r"balance +number +input .*written as \$[\d,]+\.\d\d; 50 missing", before)
    assert re.search(r"usage +number +input .*written as [\d.]+%", before)
    assert re.search(r"joined +date +input +2015-\d\d-\d\d to 202\d-\d\d-\d\d", before)
    assert "50 missing values of 'balance'" in before
    merged = (
        r"'region' has \d+ categories: a vector is learned for each; the \d that training has only once count as one"
    )
    assert re.search(merged, before)
    assert "one-cycle schedule" in before


def test_the_model_sees_what_is_missing_the_parts_of_dates_and_all_regions(churn: tuple[Path, str]) -> None:
    inputs = json.loads((churn[0] / "data.json").read_text())["inputs"]
    assert inputs["missing"] == ["balance"]
    assert inputs["dates"] == {"joined": ["weekday", "month", "day of year"]}
    assert len(inputs["embedded"]["region"]) > 250
    assert list(inputs["categories"]) == ["plan"]


def test_other_methods_stand_beside_the_result(churn: tuple[Path, str]) -> None:
    run, out = churn
    result = json.loads((run / "result.json").read_text())
    beside = result["baselines"]["test"]
    assert set(beside) == {"majority class", "logistic regression", "boosted trees"}
    assert result["test"]["auroc"] > beside["boosted trees"]["auroc"] - 0.05
    assert re.search(r"^ +balanced_accuracy +0\.\d", out, re.MULTILINE), "however many columns are beside it"


def test_figures_of_a_finding_are_those_of_the_result(churn: tuple[Path, str]) -> None:
    run, out = churn
    result = json.loads((run / "result.json").read_text())
    (overfitting,) = [found for found in result["findings"] if found["slug"] == "overfitting"]
    measured = overfitting["measured"]
    assert measured["lowest"] == result["validation"]["loss"]
    assert f"weights: best, of step {measured['step']}" in out
    told = f"the loss was {measured['lowest']:.4f} at step {measured['step']}"
    assert told in out
    assert told in (run / "report.html").read_text()


def test_a_network_that_loses_to_a_baseline_is_not_healthy(quick: ForkServer, churn: tuple[Path, str]) -> None:
    """Trained for two steps only, it loses to all of them."""
    asked = ("train", "csv", "--data", "churn.csv", "data.target=churn", "train.lr=1e-6", "train.epochs=1", "--plain")
    ended = quick(*asked, "--out", "short", cwd=churn[0].parent)
    assert ended.code == 0, ended.err
    last = ended.out.strip().splitlines()[-1]
    best = json.loads((churn[0].parent / "short" / "result.json").read_text())["best_baseline"]
    assert best["better"] is False
    assert last.startswith(f"verdict      not better than {best['baseline']}: test ")
    assert "standard error of the difference" in last
    assert "looks healthy" not in ended.out
    assert f"It is not better than {best['baseline']}: test" in (churn[0].parent / "short" / "report.html").read_text()
