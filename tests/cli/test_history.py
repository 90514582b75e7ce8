"""`gradlab runs` and `gradlab compare`."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import ForkServer, accept_changes, check_refused, gradlab


@pytest.fixture(scope="module")
def experiments(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three runs: two of one recipe that are equal, one with another learning rate and seed."""
    folder = tmp_path_factory.mktemp("experiments")
    for name, changes in {"a": [], "b": [], "c": ["train.lr=0.3", "train.seed=5"]}.items():
        arguments = ("train", "moons-mlp", "train.steps=8", *changes, "--out", f"runs/{name}", "--json")
        assert quick(*arguments, cwd=folder).code == 0
    return folder


def test_runs_lists_every_run_with_its_recipe_and_figure(experiments: Path) -> None:
    ended = gradlab("runs", cwd=experiments)
    assert ended.code == 0, ended.err
    assert "\x1b" not in ended.out
    for name in "abc":
        accuracy = json.loads((experiments / "runs" / name / "result.json").read_text())["test"]["accuracy"]
        row = next(line for line in ended.out.splitlines() if f"runs/{name} " in line)
        assert "moons-mlp" in row
        assert f"{accuracy:.4f}" in row


def test_runs_as_json_holds_the_figures(quick: ForkServer, experiments: Path) -> None:
    listed = quick("runs", "runs", "--json", cwd=experiments).json["runs"]
    assert {run["run"] for run in listed} == {"runs/a", "runs/b", "runs/c"}
    for run in listed:
        assert run["state"] == "finished"
        assert run["test"] == json.loads((experiments / run["run"] / "result.json").read_text())["test"]
    started = [run["started"] for run in listed]
    assert started == sorted(started, reverse=True)


def test_runs_says_how_to_go_on_with_an_unfinished_run(quick: ForkServer, experiments: Path, tmp_path: Path) -> None:
    shutil.copytree(experiments / "runs", tmp_path / "runs")
    (tmp_path / "runs" / "a" / "result.json").unlink()
    states = {run["run"]: run["state"] for run in quick("runs", "--json", cwd=tmp_path).json["runs"]}
    assert "gradlab resume runs/a" in states["runs/a"]
    assert states["runs/b"] == "finished"


def test_runs_without_a_folder_says_so(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("runs", cwd=tmp_path), "runs")


def test_compare_shows_what_was_asked_for_and_what_came_out(quick: ForkServer, experiments: Path) -> None:
    ended = quick("compare", "runs/a", "runs/c", cwd=experiments)
    assert ended.code == 0, ended.err
    for word in ("train.lr", "0.3", "train.seed", "test.accuracy", "test.loss", "steps"):
        assert word in ended.out
    assert "train.epochs" not in ended.out  # equal in both


def test_compare_as_json_holds_every_difference_and_no_other(quick: ForkServer, experiments: Path) -> None:
    found = quick("compare", "runs/a", "runs/c", "runs/b", "--json", cwd=experiments).json
    assert found["runs"] == ["runs/a", "runs/c", "runs/b"]
    assert found["recipe"] == {"train.lr": [0.005, 0.3, 0.005], "train.seed": [0, 5, 0]}
    assert found["environment"] == {}
    first, second, third = found["result"]["test.loss"]
    assert first == third != second


def test_compare_shows_a_difference_of_the_environment(quick: ForkServer, experiments: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(experiments / "runs" / "b", tmp_path / "other"))
    environment = json.loads((other / "environment.json").read_text())
    (other / "environment.json").write_text(json.dumps(environment | {"torch": "1.0", "threads": 64}))
    accept_changes(other)
    found = quick("compare", experiments / "runs" / "a", other, "--json", cwd=tmp_path).json
    assert found["environment"] == {"torch": [environment["torch"], "1.0"], "threads": [environment["threads"], 64]}
    assert "Environment" in quick("compare", experiments / "runs" / "a", other, cwd=tmp_path).out


def test_compare_of_equal_runs_says_that_nothing_differs(quick: ForkServer, experiments: Path) -> None:
    ended = quick("compare", "runs/a", "runs/b", cwd=experiments)
    assert ended.out.count("no difference") == 2
    found = quick("compare", "runs/a", "runs/b", "--json", cwd=experiments).json
    assert found["recipe"] == found["environment"] == {}
    assert all(values[0] == values[1] for key, values in found["result"].items() if key != "seconds")


def figures(page: Path) -> dict[str, dict[str, Any]]:
    """The charts of a page, by their titles."""
    found = re.findall(
        r'<h3>([^<]*)</h3><div class="chart".*?<script type="application/json">(.*?)</script>', page.read_text()
    )
    return {title: json.loads(figure) for title, figure in found}


def test_compare_draws_the_curves_of_all_runs_over_each_other(quick: ForkServer, experiments: Path) -> None:
    ended = quick("compare", "runs/a", "runs/c", "runs/b", "--html", cwd=experiments)
    assert ended.code == 0, ended.err
    page = experiments / "compare.html"
    assert "compare.html" in ended.out
    drawn = figures(page)
    assert list(drawn) == ["Training loss", "Validation loss", "Training accuracy", "Validation accuracy"]
    for title, figure in drawn.items():
        assert [trace["name"] for trace in figure["data"]] == ["a", "c", "b"], title
        assert len({trace["line"]["color"] for trace in figure["data"]}) == 3
    lines = [json.loads(line) for line in (experiments / "runs" / "c" / "metrics.jsonl").read_text().splitlines()]
    judged = [line for line in lines if line["split"] == "validation" and line["step"]]
    curve = drawn["Validation accuracy"]["data"][1]
    assert (curve["x"], curve["y"]) == ([line["step"] for line in judged], [line["accuracy"] for line in judged])
    text = page.read_text()
    assert "<td>train.lr</td><td>0.005</td><td>0.3</td><td>0.005</td>" in text
    assert "train.epochs" not in text, "what is equal is no difference"
    result = json.loads((experiments / "runs" / "c" / "result.json").read_text())
    assert f"<td>{result['test']['accuracy']:.4f}</td>" in text


def test_a_page_of_many_runs_has_no_legend_and_may_have_unfinished_ones(
    quick: ForkServer, experiments: Path, tmp_path: Path
) -> None:
    for i in range(9):
        shutil.copytree(experiments / "runs" / "abc"[i % 3], tmp_path / f"run-{i}")
    (tmp_path / "run-4" / "result.json").unlink()
    runs = sorted(path.name for path in tmp_path.glob("run-*"))
    ended = quick("compare", *runs, "--html", "nine.html", "--json", cwd=tmp_path)
    assert ended.json["page"] == "nine.html"
    assert not any(figure["layout"]["showlegend"] for figure in figures(tmp_path / "nine.html").values())
    assert "not finished" in (tmp_path / "nine.html").read_text()


def test_a_page_that_cannot_be_written_is_told(quick: ForkServer, experiments: Path) -> None:
    check_refused(quick("compare", "runs/a", "runs/b", "--html", "runs/c", cwd=experiments), "runs/c")
