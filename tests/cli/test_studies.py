"""`gradlab train --folds`, `--seeds`, `--find-lr`, `--curve`, `--vary` and `--check`."""

import json
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import (
    ForkServer,
    check_refused,
    check_same,
    contents,
    gradlab,
    kill_after,
    lines,
    losses,
    signal_after,
)

from gradlab.wording import number

SMALL = ["train", "moons-mlp", "data.examples=120", "model.hidden=8", "train.steps=12", "train.evaluate_every=4"]

# Log lines, evaluations and checkpoints fall on different steps, so that a kill in the middle is in the middle.
FOLDED = [
    "train", "digits-mlp", "model.hidden=32", "train.epochs=6", "train.log_every=5", "train.evaluate_every=9",
    "train.checkpoint_every=14", "--folds", "3",
]  # fmt: skip


def study_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "study.json").read_text())
    return content


def without_clock(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in member.items() if k != "seconds"} for member in members]


def test_folds_print_each_fold_and_the_spread_against_the_baseline(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick(*SMALL, "--folds", "3", "--out", "study", cwd=tmp_path)
    assert ended.code == 0, ended.err
    for word in ("fold 1", "fold 3", "mean", "standard deviation", "standard error", "baseline (majority class)"):
        assert word in ended.out
    assert str(tmp_path / "study" / "report.html") in ended.out
    result = study_of(tmp_path / "study")["result"]
    assert f"{result['test']['accuracy']['mean']:.4f}" in ended.out
    assert "\x1b" not in ended.out


def test_folds_as_json_are_one_object_and_a_folder_below_runs(quick: ForkServer, tmp_path: Path) -> None:
    printed = quick(*SMALL, "--folds", "2", "--json", cwd=tmp_path).json
    assert printed["study"] == "folds"
    assert re.fullmatch(r"runs/moons-mlp-folds-[0-9a-f]{4}", printed["out"])
    assert printed == study_of(tmp_path / printed["out"])["result"]
    assert len(printed["folds"]) == 2
    listed = quick("runs", printed["out"], "--json", cwd=tmp_path).json["runs"]
    assert {run["state"] for run in listed} == {"finished"}
    assert quick("runs", "--json", cwd=tmp_path).json == {"runs": []}  # a study is no run of its own


def test_killed_folds_go_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = gradlab(*FOLDED, "--out", "whole", "--json", cwd=tmp_path)
    assert whole.code == 0, whole.err
    count = len(lines(tmp_path / "whole" / "fold-2")) // 2
    killed = kill_after(tmp_path / "study" / "fold-2", count, *FOLDED, "--out", "study", "--json", cwd=tmp_path)
    assert killed.code == -9
    assert (tmp_path / "study" / "fold-1" / "result.json").exists()
    assert not (tmp_path / "study" / "fold-2" / "result.json").exists()
    assert not (tmp_path / "study" / "report.html").exists()
    begun = (tmp_path / "study" / "fold-1" / "metrics.jsonl").stat().st_mtime_ns
    again = gradlab(*FOLDED, "--out", "study", "--json", cwd=tmp_path)
    assert again.code == 0, again.err
    for fold in ("fold-1", "fold-2", "fold-3"):
        check_same(tmp_path / "study" / fold, tmp_path / "whole" / fold)
    assert (tmp_path / "study" / "fold-1" / "metrics.jsonl").stat().st_mtime_ns == begun
    assert again.json["test"] == whole.json["test"]
    assert without_clock(again.json["folds"]) == without_clock(whole.json["folds"])


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_with_the_study(tmp_path: Path) -> None:
    study = tmp_path / "study"
    stopped = signal_after(signal.SIGINT, study / "fold-2", 6, *FOLDED, "--out", "study", cwd=tmp_path)
    check_refused(stopped, "Go on with: gradlab train digits-mlp", "--folds 3 --out study", code=130)
    command = shlex.split(stopped.err.split("Go on with: gradlab ")[1])
    ended = gradlab(*command, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len(ended.json["folds"]) == 3


def test_seeds_print_a_row_for_each_seed_and_their_mean_and_spread(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick(*SMALL, "--seeds", "3", "--out", "study", cwd=tmp_path)
    assert ended.code == 0, ended.err
    for word in ("seed 0", "seed 2", "mean", "± standard deviation", "standard error", "baseline (majority class)"):
        assert word in ended.out
    assert "the split of the data does not" in ended.out
    assert [row[:2] for row in re.findall(r"^training +(\d) of 3 \| (seed \d)", ended.out, re.MULTILINE)] == [
        ("1", "seed 0"), ("2", "seed 1"), ("3", "seed 2"),
    ]  # fmt: skip
    accuracy = study_of(tmp_path / "study")["result"]["spread"]["accuracy"]
    assert f"test accuracy {number(accuracy['mean'])} ± {number(accuracy['std'])}" in ended.out
    assert "of 3 seeds" in ended.out
    assert str(tmp_path / "study" / "report.html") in ended.out
    assert "\x1b" not in ended.out


def test_seeds_as_json_are_one_object_and_a_folder_below_runs(quick: ForkServer, tmp_path: Path) -> None:
    printed = quick(*SMALL, "train.seed=4", "--seeds", "2", "--json", cwd=tmp_path).json
    assert printed["study"] == "seeds"
    assert re.fullmatch(r"runs/moons-mlp-seeds-[0-9a-f]{4}", printed["out"])
    assert printed == study_of(tmp_path / printed["out"])["result"]
    assert printed["seeds"] == [4, 5]
    assert [member["name"] for member in printed["members"]] == ["seed-4", "seed-5"]
    assert printed["split"] == "test"
    checked = quick(*SMALL, "--seeds", "2", "--check", "--json", "--out", "checked", cwd=tmp_path)
    assert list(checked.json) == ["checks", "result"], checked.err
    assert checked.json["result"]["seeds"] == [0, 1]


def test_a_seed_that_diverged_is_a_row_of_its_own(quick: ForkServer, tmp_path: Path) -> None:
    arguments = (*SMALL, "--seeds", "3", "--out", "study")
    assert quick(*arguments, "--json", cwd=tmp_path).code == 0
    study = study_of(tmp_path / "study")
    nothing = {"ended": "diverged", "train": {}, "validation": {}, "test": {}, "baseline": {}}
    study["members"][1] |= nothing  # as a training that went out of the numbers is noted
    (tmp_path / "study" / "study.json").write_text(json.dumps(study))
    ended = quick(*arguments, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert re.search(r"^training +2 of 3 \| seed 1 \| diverged", ended.out, re.MULTILINE)
    assert re.search(r"^ +seed 1 \(diverged\) +–", ended.out, re.MULTILINE)
    assert "of 2 of 3 seeds; seed 1 diverged" in ended.out


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_with_the_seeds(tmp_path: Path) -> None:
    asked = [*FOLDED[:-2], "--seeds", "3"]
    stopped = signal_after(signal.SIGINT, tmp_path / "study" / "seed-1", 6, *asked, "--out", "study", cwd=tmp_path)
    check_refused(stopped, "Go on with: gradlab train digits-mlp", "--seeds 3 --out study", code=130)
    ended = gradlab(*shlex.split(stopped.err.split("Go on with: gradlab ")[1]), "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    whole = gradlab(*asked, "--out", "whole", "--json", cwd=tmp_path)
    assert ended.json["spread"] == whole.json["spread"]
    for seed in ("seed-0", "seed-1", "seed-2"):
        check_same(tmp_path / "study" / seed, tmp_path / "whole" / seed)


def test_find_lr_draws_suggests_and_leaves_no_run(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "digits-mlp", "train.lr=7", "model.hidden=16", "--find-lr", cwd=tmp_path)
    assert ended.code == 0, ended.err
    found = re.search(r"^train +(gradlab train digits-mlp model\.hidden=16 train\.lr=(\S+))$", ended.out, re.MULTILINE)
    assert found, ended.out
    assert 1e-4 < float(found[2]) < 0.1
    assert sum("⠀" in line for line in ended.out.splitlines()) >= 5  # the picture
    assert "falls fastest" in ended.out
    (study,) = (tmp_path / "runs").iterdir()
    assert {path.name for path in study.iterdir()} == {"study.json", "report.html"}
    assert study_of(study)["result"]["suggestion"] == float(found[2])
    trained = quick(*shlex.split(found[1])[1:], "train.steps=2", "--out", "run", "--json", cwd=tmp_path)
    assert trained.code == 0, trained.err


def test_curve_prints_the_figures_by_the_number_of_examples(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick(*SMALL, "--curve", "--out", "study", cwd=tmp_path)
    assert ended.code == 0, ended.err
    points = study_of(tmp_path / "study")["result"]["points"]
    assert len(points) >= 5
    assert [p["examples"] for p in points] == sorted(p["examples"] for p in points)
    assert "train accuracy" in " ".join(ended.out.split())
    assert "more examples" in ended.out


def test_vary_prints_a_row_for_each_value_and_the_best(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "curve-fitting", "--vary", "model.degree=1,3,9", "--out", "study", cwd=tmp_path)
    assert ended.code == 0, ended.err
    rows = [line.split() for line in ended.out.splitlines() if re.match(r"^ +\d+ +\S+ +\S+ +\S+ *(best)? *$", line)]
    assert [row[0] for row in rows] == ["1", "3", "9"]
    assert rows[1][-1] == "best"
    assert "gradlab train curve-fitting model.degree=3" in ended.out
    result = study_of(tmp_path / "study")["result"]
    assert result["best"] == {"model.degree": 3}


def test_two_knobs_are_varied_together(quick: ForkServer, tmp_path: Path) -> None:
    arguments = (*SMALL, "--vary", "model.hidden=4/8,8", "--vary", "train.lr=0.01,0.1", "--out", "study", "--json")
    printed = quick(*arguments, cwd=tmp_path).json
    assert [m["changes"] for m in printed["members"]] == [
        {"model.hidden": hidden, "train.lr": lr} for hidden in ([4], [8, 8]) for lr in (0.01, 0.1)
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--folds", "3", "--curve"], ["--folds and --curve", "together"]),
        (["--find-lr", "--vary", "train.lr=1,2"], ["--find-lr and --vary"]),
        (["--folds", "61"], ["61 folds"]),
        (["--folds", "1"], ["data.folds=1"]),
        (["--folds", "-4"], ["data.folds=-4"]),
        (["--folds", "1000000000"], ["folds"]),
        (["--folds", "two"], ["two"]),
        (["--folds", "3", "data.test=0.5"], ["data.test"]),
        (["--folds", "3", "train.lr=x"], ["train.lr=x"]),
        (["--seeds", "1"], ["--seeds 1", "one seed has no spread"]),
        (["--seeds", "0"], ["--seeds 0", "one seed has no spread"]),
        (["--seeds", "-5"], ["--seeds -5", "one seed has no spread"]),
        (["--seeds", "201"], ["--seeds 201", "200 are the most"]),
        (["--seeds", "1000000000000"], ["200 are the most"]),
        (["--seeds", "two"], ["two"]),
        (["--seeds", "3", "train.seed=4294967295"], ["train.seed=4294967297"]),
        (["--seeds", "3", "train.lr=x"], ["train.lr=x"]),
        (["--seeds", "3", "data.test=0", "data.validation=0"], ["nothing to judge"]),
        (["--seeds", "3", "--folds", "3"], ["--folds and --seeds", "together"]),
        (["--seeds", "3", "--curve"], ["--seeds and --curve"]),
        (["--seeds", "1", "--vary", "train.lr=1,2"], ["--seeds 1"]),
        (["--seeds", "3", "--vary", "train.seed=1,2"], ["leave out --vary train.seed"]),
        (["--seeds", "3", "--find-lr"], ["--seeds and --find-lr"]),
        (["--vary", "train.lr"], ["key=value"]),
        (["--vary", "train.lr=1", "--vary", "train.lr=2"], ["same key twice"]),
        (["--vary", "train.lr=0.1,zero"], ["train.lr=zero"]),
        (["--vary", "train.lt=0.1,1"], ["Did you mean 'lr'"]),
        (["--vary", "train.optimizer=adam,sgdd"], ["Did you mean 'sgd'"]),
        (["--find-lr", "train.optimizer=lbfgs", "train.batch_size=full"], ["lbfgs"]),
        (["--curve", "data.examples=0"], ["data.examples=0"]),
        (["--check", "data.examples=0"], ["data.examples=0"]),
    ],
)
def test_bad_requests_are_refused_before_anything_is_made(
    quick: ForkServer, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    check_refused(quick(*SMALL, *arguments, cwd=tmp_path), *words)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_another_study_is_refused_and_left_as_it_is(quick: ForkServer, tmp_path: Path) -> None:
    assert quick(*SMALL, "--folds", "2", "--out", "study", "--json", cwd=tmp_path).code == 0
    before = contents(tmp_path)
    check_refused(quick(*SMALL, "--folds", "3", "--out", "study", cwd=tmp_path), "folds=2")
    check_refused(quick(*SMALL, "train.lr=9", "--folds", "2", "--out", "study", cwd=tmp_path), "train.lr=0.005")
    check_refused(quick(*SMALL, "--curve", "--out", "study", cwd=tmp_path), "study=folds")
    check_refused(quick(*SMALL, "--seeds", "2", "--out", "study", cwd=tmp_path), "study=folds")
    check_refused(quick(*SMALL, "--find-lr", "--out", "study", cwd=tmp_path), "exists")
    assert contents(tmp_path) == before


def test_checks_that_pass_are_followed_by_the_same_training(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ("train", "wine-mlp", "train.epochs=3")
    checked = quick(*arguments, "--check", "--out", "checked", cwd=tmp_path)
    assert checked.code == 0, checked.err
    assert len(re.findall(r"^(passed|warning|skipped) ", checked.out, re.MULTILINE)) == 5
    assert "baseline (majority class)" in checked.out
    assert quick(*arguments, "--out", "plain", "--json", cwd=tmp_path).code == 0
    assert losses(tmp_path / "checked") == losses(tmp_path / "plain")


def test_checks_as_json_come_before_the_result_in_one_object(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ("train", "wine-mlp", "train.epochs=3", "--check", "--json")
    printed = quick(*arguments, "--out", "run", cwd=tmp_path).json
    assert list(printed) == ["checks", "result"]
    assert len(printed["checks"]) == 5
    assert set(printed["checks"][0]) == {"name", "state", "measured", "advice"}
    assert printed["result"]["run"] == "run"
    study = quick(*arguments, "--folds", "2", "--out", "study", cwd=tmp_path).json
    assert study["result"]["study"] == "folds"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_check_that_fails_ends_with_3_and_nothing_is_written(
    quick: ForkServer, tmp_path: Path, more: list[str]
) -> None:
    ended = quick("train", "curve-fitting", "--check", *more, cwd=tmp_path)
    check_refused(ended, "checks failed", "initial loss", "--check", code=3)
    assert list(tmp_path.iterdir()) == []
    if more:
        assert ended.json["result"] is None
        assert [c["state"] for c in ended.json["checks"]].count("failed") == 2
    else:
        assert re.search(r"^failed +initial loss", ended.out, re.MULTILINE)
    assert quick("train", "curve-fitting", "--out", "run", "--json", cwd=tmp_path).code == 0  # without, it trains


def test_help_teaches_each_study(quick: ForkServer, tmp_path: Path) -> None:
    text = " ".join(quick("train", "--help", cwd=tmp_path).out.split())
    for example in ("--check", "--find-lr", "--folds 5", "--seeds 5", "--curve", "--vary model.degree=1,2,3,5,9"):
        assert example in text
