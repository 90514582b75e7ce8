"""What `gradlab train csv` says of one's own table: leaks, a rare class that is missed, a target that is none."""

import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Finished, ForkServer, check_refused, kill_after

sys.path.append(str(Path(__file__).parents[1] / "data"))

from churn import write_churn

# Without the columns whose texts may be read as numbers or not, which is not what this is about.
CHURN = ["csv", "--data", "churn.csv", "data.target=churn", "data.drop=balance,usage", "train.epochs=2"]


def slugs(ended: Finished) -> dict[str, dict]:
    """The findings that are more than a note."""
    assert ended.code == 0, ended.err
    return {found["slug"]: found for found in ended.json["findings"] if found["severity"] != "note"}


def test_a_column_that_gives_the_answer_away_is_named_before_the_training_and_after(
    quick: ForkServer, tmp_path: Path
) -> None:
    write_churn(tmp_path / "churn.csv", 4000, leak=True)
    ended = quick("train", *CHURN, "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    before, _, after = ended.out.partition("\nstep ")
    assert "'closing_code' alone predicts 'churn' nearly without error: balanced accuracy 0.9" in before
    assert "leave it out: data.drop=closing_code" in before
    assert "warning: a column gives the answer away" in after
    assert "change: data.drop=closing_code" in after
    report = (tmp_path / "run" / "report.html").read_text()
    assert "A column gives the answer away" in report
    assert "data.drop=closing_code" in report


def test_it_is_named_by_a_look_at_the_data_too(quick: ForkServer, tmp_path: Path) -> None:
    write_churn(tmp_path / "churn.csv", 1000, leak=True, rare=0.1)
    shown = quick("data", "show", *CHURN[:-1], "--json", cwd=tmp_path)
    assert any("'closing_code' alone predicts 'churn'" in note for note in shown.json["notes"]), shown


def test_without_it_nothing_is_named(quick: ForkServer, tmp_path: Path) -> None:
    write_churn(tmp_path / "churn.csv", 4000, leak=True)
    dropped = [*CHURN[:-2], "data.drop=balance,usage,closing_code", "train.epochs=2"]
    ended = quick("train", *dropped, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "alone predicts" not in ended.out
    assert "gives the answer away" not in ended.out


def test_a_rare_class_that_is_missed_is_not_healthy_until_it_counts_more(quick: ForkServer, tmp_path: Path) -> None:
    write_churn(tmp_path / "churn.csv", 8000)
    finding = slugs(quick("train", *CHURN, "--json", cwd=tmp_path))["missed_class"]
    assert finding["measured"]["missed"] == "yes"
    assert finding["measured"]["recall"] <= 0.2
    assert finding["measured"]["guessing"] == pytest.approx(0.97, abs=0.005)
    remedy = finding["fix"].partition("#")[0].split()
    assert slugs(quick("train", *CHURN, *remedy, "--json", cwd=tmp_path)) == {}


def test_a_rare_class_of_which_nothing_can_be_known_is_not_called_missed(quick: ForkServer, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = [f"{a:.3f},{'yes' if b < 0.03 else 'no'}" for a, b in generator.random((4000, 2))]
    (tmp_path / "churn.csv").write_text("\n".join(["a,churn", *rows]))
    command = ["csv", "--data", "churn.csv", "data.target=churn", "train.epochs=2"]
    assert "missed_class" not in slugs(quick("train", *command, "--json", cwd=tmp_path))


def test_a_run_that_was_killed_has_the_same_findings(quick: ForkServer, tmp_path: Path) -> None:
    write_churn(tmp_path / "churn.csv", 8000, leak=True)
    command = ["train", *CHURN, "train.lr=3e-4", "train.checkpoint_every=20", "--json"]
    whole = slugs(quick(*command, "--out", "whole", cwd=tmp_path))
    assert whole.keys() == {"target_leak", "missed_class"}
    kill_after(tmp_path / "run", 12, *command, "--out", "run", cwd=tmp_path)
    assert not (tmp_path / "run" / "result.json").exists()
    assert slugs(quick("resume", "run", "--json", cwd=tmp_path)) == whole


def test_a_target_of_names_is_questioned_before_anything_is_trained(quick: ForkServer, tmp_path: Path) -> None:
    write_churn(tmp_path / "churn.csv", 300)
    named = ["csv", "--data", "churn.csv", "data.target=customer", "train.steps=1", "--out", "run"]
    words = ("'customer' has 300 classes, of which 300 have one example", "identifier", "numbers", "another target")
    check_refused(quick("train", *named, cwd=tmp_path), *words, "data.categories=customer")
    assert not (tmp_path / "run").exists()


def test_who_insists_on_such_classes_gets_them(quick: ForkServer, tmp_path: Path) -> None:
    rows = [f"{i},{i % 7},{'common' if i % 2 else f'name {i}'}" for i in range(400)]
    (tmp_path / "names.csv").write_text("\n".join(["a,b,name", *rows]))
    command = ["train", "csv", "--data", "names.csv", "data.target=name", "train.steps=1"]
    check_refused(quick(*command, cwd=tmp_path), "201 classes, of which 200 have one example")
    insisted = quick(*command, "data.categories=name", cwd=tmp_path)
    assert insisted.code == 0, insisted.err


def test_many_classes_that_have_examples_are_sound(quick: ForkServer, tmp_path: Path) -> None:
    rows = [f"{i},{i % 7},name {i % 250}" for i in range(600)]
    (tmp_path / "names.csv").write_text("\n".join(["a,b,name", *rows]))
    ended = quick("train", "csv", "--data", "names.csv", "data.target=name", "train.steps=1", cwd=tmp_path)
    assert ended.code == 0, ended.err
