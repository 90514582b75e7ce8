"""`gradlab resume`, `evaluate` and `predict` on runs that are finished, here or elsewhere."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, check_same, contents, fresh, gradlab
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits, load_iris


def result_of(run: Path) -> dict[str, dict[str, float]]:
    content: dict[str, dict[str, float]] = json.loads((run / "result.json").read_text())
    return content


@pytest.fixture(params=["digits", "iris", "diabetes"])
def run(request: pytest.FixtureRequest) -> Path:
    """Each of the finished runs in turn."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


def test_resuming_a_finished_run_prints_its_result_and_changes_nothing(digits: Path) -> None:
    before = contents(digits)
    ended = gradlab("resume", "digits", "--json", cwd=digits.parent)
    assert ended.code == 0, ended.err
    assert ended.json == json.loads((digits.parent / "stdout.json").read_text())
    assert contents(digits) == before


@pytest.mark.parametrize("split", ["test", "validation"])
def test_evaluate_reproduces_the_figures_of_the_result(quick: ForkServer, run: Path, split: str) -> None:
    figures = quick("evaluate", run, "--split", split, "--json", cwd=run.parent).json
    assert figures.pop("split") == split
    assert figures.pop("run") == str(run)
    assert figures.pop("baselines") == json.loads((run / "result.json").read_text())["baselines"][split]
    assert figures == result_of(run)[split]


def test_evaluate_in_a_process_of_its_own_says_the_same(digits: Path) -> None:
    ended = fresh("evaluate", "digits", "--json", cwd=digits.parent)
    assert ended.code == 0, ended.err
    said = ended.json
    assert said.pop("baselines")["majority class"]["accuracy"] < 0.2
    assert said == {"run": "digits", "split": "test", **result_of(digits)["test"]}


def test_evaluate_prints_a_table_for_people(quick: ForkServer, digits: Path) -> None:
    ended = quick("evaluate", digits, cwd=digits.parent)
    assert f"{result_of(digits)['test']['accuracy']:.4f}" in ended.out
    assert "baseline (majority class), test" in ended.out
    assert "\x1b" not in ended.out


def flowers() -> np.ndarray:
    return load_iris().data[::25]


def write_inputs(folder: Path, kind: str, rows: np.ndarray) -> str:
    """The same numbers as a user may keep them."""
    path = folder / f"rows.{kind.split()[0]}"
    match kind:
        case "csv":
            path.write_text("".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
        case "csv with a header":
            path.write_text("a,b,c,d\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
        case "npy":
            np.save(path, rows)
        case "npy in the other byte order":
            np.save(path, rows.astype(rows.dtype.newbyteorder()))
        case "npy in Fortran order":
            np.save(path, np.asfortranarray(rows))
        case "npz":
            np.savez(path, x=rows, y=np.zeros(len(rows)))
        case "json":
            path.write_text(json.dumps(rows.tolist()))
    return path.name


KINDS = ["csv", "csv with a header", "npy", "npy in the other byte order", "npy in Fortran order", "npz", "json"]


@pytest.mark.parametrize("kind", KINDS)
def test_predict_reads_the_same_rows_from_every_kind_of_file(
    quick: ForkServer, iris: Path, tmp_path: Path, kind: str
) -> None:
    rows = flowers()
    inline = [quick("predict", iris, ",".join(map(repr, row)), "--json", cwd=tmp_path).json for row in rows.tolist()]
    expected = [answer["predictions"][0] for answer in inline]
    ended = quick("predict", iris, write_inputs(tmp_path, kind, rows), "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    predictions = ended.json["predictions"]
    assert [p["label"] for p in predictions] == [e["label"] for e in expected]
    for ours, theirs in zip(predictions, expected, strict=True):
        assert ours["probabilities"] == pytest.approx(theirs["probabilities"], rel=1e-5)
        assert sum(ours["probabilities"].values()) == pytest.approx(1)


def test_predict_knows_most_irises(quick: ForkServer, iris: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "all.npy", load_iris().data)
    labels = [p["label"] for p in quick("predict", iris, "all.npy", "--json", cwd=tmp_path).json["predictions"]]
    names = load_iris().target_names[load_iris().target]
    assert np.mean(np.array(labels) == names) > 0.9


def test_predict_on_pictures_of_digits_finds_them(quick: ForkServer, digits: Path, tmp_path: Path) -> None:
    images, labels = load_digits().images, load_digits().target
    np.save(tmp_path / "flat.npy", images.reshape(len(images), -1))
    flat = quick("predict", digits, "flat.npy", "--json", cwd=tmp_path).json["predictions"]
    assert np.mean([p["label"] == str(y) for p, y in zip(flat, labels, strict=True)]) > 0.97
    Image.fromarray((images[0] * 255 / 16).round().astype(np.uint8)).save(tmp_path / "zero.png")
    ended = gradlab("predict", digits, "zero.png", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["predictions"][0]["probabilities"] == pytest.approx(flat[0]["probabilities"], rel=0.1, abs=1e-3)
    assert "White, 255 in the file, is 16 in the data of the run." in ended.err
    table = quick("predict", digits, "zero.png", cwd=tmp_path).out
    assert "label" in table
    assert f"{flat[0]['probability']:.2f}" in table


def test_predict_prints_the_first_rows_and_says_how_many_more(quick: ForkServer, iris: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "all.npy", load_iris().data)
    ended = quick("predict", iris, "all.npy", cwd=tmp_path)
    assert "130 more" in ended.out
    assert "setosa" in ended.out


def test_predict_of_a_regression_gives_values_in_the_units_of_the_target(
    quick: ForkServer, diabetes: Path, tmp_path: Path
) -> None:
    bunch = load_diabetes(scaled=False)
    np.save(tmp_path / "patients.npy", bunch.data)
    values = [
        p["value"] for p in quick("predict", diabetes, "patients.npy", "--json", cwd=tmp_path).json["predictions"]
    ]
    assert np.corrcoef(values, bunch.target)[0, 1] > 0.6
    assert np.mean(values) == pytest.approx(bunch.target.mean(), rel=0.1)


def test_a_finished_run_that_was_moved_elsewhere_is_used_as_before(
    quick: ForkServer, iris: Path, tmp_path: Path
) -> None:
    before = quick("predict", iris, "5.1,3.5,1.4,0.2", "--json", cwd=tmp_path).json["predictions"]
    shutil.copytree(iris, tmp_path / "here")
    (tmp_path / "far" / "away").mkdir(parents=True)
    moved = Path(shutil.move(tmp_path / "here", tmp_path / "far" / "away" / "renamed"))
    assert quick("predict", moved, "5.1,3.5,1.4,0.2", "--json", cwd=tmp_path).json["predictions"] == before
    assert quick("evaluate", moved, "--json", cwd=tmp_path).json["loss"] == result_of(iris)["test"]["loss"]
    assert quick("resume", moved, "--json", cwd=tmp_path).json["test"] == result_of(iris)["test"]


def test_a_moved_run_says_where_it_is_now(quick: ForkServer, iris: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(iris, tmp_path / "moved"))
    assert quick("resume", moved, "--json", cwd=tmp_path).json["run"] == str(moved)


def test_an_unfinished_run_that_was_moved_elsewhere_still_resumes_to_the_same_bits(
    quick: ForkServer, digits: Path, tmp_path: Path
) -> None:
    shutil.copytree(digits, tmp_path / "here")
    moved = Path(shutil.move(tmp_path / "here", tmp_path / "there"))
    (moved / "result.json").unlink()
    (moved / "report.html").unlink()
    shutil.rmtree(sorted((moved / "checkpoints").iterdir())[-1])
    ended = quick("resume", "there", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "resuming at step 1000" in ended.out
    check_same(moved, digits)
    assert (moved / "report.html").is_file()


def test_a_report_that_was_deleted_is_written_again(quick: ForkServer, iris: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(iris, tmp_path / "run"))
    (run / "report.html").unlink()
    assert quick("resume", run, cwd=tmp_path).code == 0
    assert (run / "report.html").is_file()


def test_evaluate_on_a_split_without_examples_says_so(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ("train", "iris-softmax", "train.epochs=1", "data.test=0", "--out", "run", "--json")
    assert quick(*arguments, cwd=tmp_path).code == 0
    check_refused(quick("evaluate", "run", cwd=tmp_path), "no examples", "test")
