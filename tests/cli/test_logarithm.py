"""A table whose answer follows the logarithm of a column: `data.log`."""

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused

LINEAR = ["model=linear", "train.optimizer=lbfgs", "train.lr=1", "train.batch_size=full", "train.epochs=5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """loans.csv: who repays follows the salary's logarithm; the same with a salary of 0 in one row."""
    folder, rng = tmp_path_factory.mktemp("loans"), np.random.default_rng(0)
    salaries = 10 ** rng.uniform(3, 6, 300)
    repaid = rng.uniform(size=300) < 1 / (1 + (40_000 / salaries) ** 3)
    rows = [f"{salary:.0f},{'yes' if paid else 'no'}" for salary, paid in zip(salaries, repaid, strict=True)]
    (folder / "loans.csv").write_text("\n".join(["salary,repaid", *rows]) + "\n")
    (folder / "new.csv").write_text("salary\n50000\n0\n")
    rows[17] = "0,no"
    (folder / "none.csv").write_text("\n".join(["salary,repaid", *rows]) + "\n")
    return folder


def test_a_linear_model_of_the_logarithm_knows_more_and_predicts_from_raw_numbers(
    quick: ForkServer, folder: Path
) -> None:
    asked = ["train", "csv", "--data", "loans.csv", "data.target=repaid", *LINEAR, "--json"]
    plain = quick(*asked, "--out", "plain", cwd=folder).json
    ended = quick(*asked, "data.log=salary", "--out", "log", cwd=folder)
    assert ended.json["test"]["loss"] < 0.8 * plain["test"]["loss"]
    (folder / "one.csv").write_text("salary\n1000\n1000000\n")
    predicted = quick("predict", "log", "one.csv", "--json", cwd=folder).json
    assert [row["label"] for row in predicted["predictions"]] == ["no", "yes"]
    check_refused(quick("predict", "log", "new.csv", cwd=folder), "0 in row 1, column 'salary', which has no logarithm")


def test_a_number_without_a_logarithm_is_refused_before_anything_is_trained(quick: ForkServer, folder: Path) -> None:
    asked = ["train", "csv", "--data", "none.csv", "data.target=repaid", "data.log=salary", "--out", "refused"]
    says = "The data hold 0 in row 17, column 'salary', which has no logarithm; rows count from 0."
    check_refused(quick(*asked, cwd=folder), says)
    assert not (folder / "refused").exists()
