"""One's own tables and pictures, from `train` to `predict`, and a run that outlives its data."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Finished, ForkServer, check_refused, fresh
from PIL import Image


def write_table(folder: Path) -> None:
    """Prices that follow from size, district and year, with gaps and an identifier; and some new rows."""
    generator = np.random.default_rng(0)
    with (folder / "houses.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "size", "district", "built", "sold", "price"])
        for i in range(300):
            size, district, year = generator.uniform(30, 200), generator.integers(3), generator.integers(1950, 2020)
            price = 2 * size + 50 * district + year - 1950 + generator.normal(0, 2)
            name, gap = ["inner, old", "Süd", "north"][district], "" if i % 20 == 0 else f"{size:.1f}"
            writer.writerow([i + 1, gap, name, f"{year}-06-01", "ny"[i % 2], f"{price:.2f}"])
    (folder / "new.csv").write_text(
        'district;size;built\n"inner, old";100;1980-06-01\nSüd;;2010-06-01\nnorth;55.5;\n', encoding="utf-8"
    )


def write_pictures(folder: Path) -> None:
    """Stripes along or across, of several sizes; and new ones without a class."""
    generator = np.random.default_rng(0)
    for i in range(60):
        label = ("along", "across")[i % 2]
        size = int(generator.integers(24, 40))
        wave = np.sin(np.arange(size) * 0.8 + generator.uniform(0, 6))
        pixels = np.broadcast_to(wave if label == "along" else wave[:, None], (size, size))
        noisy = 128 + 90 * pixels + generator.normal(0, 10, (size, size))
        path = folder / ("pictures" if i < 50 else "new") / (label if i < 50 else ".") / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path)


HOUSES = ["csv", "--data", "houses.csv"]
KINDS = {
    "regression": (write_table, [*HOUSES, "data.target=price", "data.drop=sold", "train.epochs=40"], "new.csv"),
    "table": (write_table, [*HOUSES, "data.target=sold", "data.drop=price", "train.epochs=2"], "new.csv"),
    "pictures": (write_pictures, ["images", "--data", "pictures", "data.size=32", "train.epochs=8"], "new"),
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest, quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a cache, new inputs and a finished run; the tests copy it."""
    write, arguments, new = KINDS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    write(folder)
    env = {"GRADLAB_CACHE": str(folder / "cache")}
    ended = quick("train", *arguments, "--out", "run", "--json", cwd=folder, env=env)
    assert ended.code == 0, ended.err
    (folder / "new-name").write_text(new)
    return folder


def answers(quick: ForkServer, run: Path, new: Path) -> list[Finished]:
    """What `predict` says in each of its forms."""
    forms: list[list[str]] = [["--json"], ["--csv"], []]
    return [quick("predict", run.name, new, *form, cwd=run.parent) for form in forms]


def test_a_run_outlives_its_data_and_the_cache_and_being_moved(
    quick: ForkServer, trained: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "here"))
    new = folder / (folder / "new-name").read_text()
    before = answers(quick, folder / "run", new)
    assert [ended.code for ended in before] == [0, 0, 0]
    (tmp_path / "far" / "away").mkdir(parents=True)
    shutil.move(folder / "run", tmp_path / "far" / "away" / "run")
    shutil.move(new, tmp_path / "far" / new.name)
    shutil.rmtree(folder)
    # The data were named by an absolute path, of the folder that was copied here.
    moved = tmp_path / "far" / "away" / "run"
    hidden = trained.with_name(f"{trained.name}-hidden")
    trained.rename(hidden)
    try:
        after = answers(quick, moved, tmp_path / "far" / new.name)
    finally:
        hidden.rename(trained)
    assert before[0].json["predictions"] == after[0].json["predictions"]
    for one, other in zip(before[1:], after[1:], strict=True):
        assert (one.code, one.out, one.err) == (other.code, other.out, other.err)


def test_a_process_of_its_own_says_the_same(quick: ForkServer, trained: Path) -> None:
    new = (trained / "new-name").read_text()
    ended = fresh("predict", "run", new, "--json", cwd=trained)
    assert ended.code == 0, ended.err
    expected = quick("predict", "run", new, "--json", cwd=trained).json["predictions"]
    for ours, theirs in zip(ended.json["predictions"], expected, strict=True):
        assert ours.keys() == theirs.keys()
        key = "value" if "value" in ours else "probability"
        assert ours[key] == pytest.approx(theirs[key], rel=1e-5)


def test_predictions_as_csv_hold_what_the_json_holds(quick: ForkServer, trained: Path) -> None:
    as_json, as_csv, as_table = answers(quick, trained / "run", trained / (trained / "new-name").read_text())
    rows = list(csv.DictReader(io.StringIO(as_csv.out)))
    predictions = as_json.json["predictions"]
    assert len(rows) == len(predictions)
    for number, (row, prediction) in enumerate(zip(rows, predictions, strict=True)):
        assert row.pop("file", row.pop("row", None)) == prediction.get("file", str(number))
        if "value" in prediction:
            assert {key: float(text) for key, text in row.items()} == {"price": prediction["value"]}
        else:
            assert row.pop("label", row.pop("sold", None)) == prediction["label"]
            assert {key: float(text) for key, text in row.items()} == {
                f"p({name})": p for name, p in prediction["probabilities"].items()
            }
        shown = prediction.get("label", prediction.get("file", ""))
        assert shown in as_table.out
    assert as_csv.err == as_json.err == ""


def test_several_values_have_a_column_each(quick: ForkServer, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=generator.normal(size=(40, 2)), y=generator.normal(size=(40, 3)))
    arguments = ("train", "npz", "--data", "data.npz", "train.steps=2", "--out", "run", "--json")
    assert quick(*arguments, cwd=tmp_path).code == 0
    (prediction,) = quick("predict", "run", "1,2", "--json", cwd=tmp_path).json["predictions"]
    header, line = csv.reader(quick("predict", "run", "1,2", "--csv", cwd=tmp_path).out.splitlines())
    assert header == ["row", "value 0", "value 1", "value 2"]
    assert line == ["0", *map(str, prediction["value"])]


def test_what_is_predicted_is_near_the_truth(quick: ForkServer, trained: Path) -> None:
    predictions = answers(quick, trained / "run", trained / (trained / "new-name").read_text())[0].json["predictions"]
    if "file" in predictions[0]:
        right = [p["label"] == ("along", "across")[int(Path(p["file"]).stem) % 2] for p in predictions]
        assert np.mean(right) >= 0.8
    elif "value" in predictions[0]:
        assert predictions[0]["value"] == pytest.approx(2 * 100 + 30, rel=0.25)


def test_the_plan_tells_what_each_column_was_taken_for(quick: ForkServer, tmp_path: Path) -> None:
    write_table(tmp_path)
    ended = quick("train", "csv", "--data", "houses.csv", "data.target=price", "train.steps=1", cwd=tmp_path)
    assert ended.code == 0, ended.err
    lines = {line.split()[0]: line for line in ended.out.splitlines() if line.split()}
    for name, words in {
        "id": "left out",
        "size": "15 missing",
        "district": "category",
        "built": "date",
        "sold": "n, y",
        "price": "target",
    }.items():
        assert words in lines[name], lines[name]
    assert "Left out 'id': it counts the rows. Use it anyway with data.keep=id" in ended.out
    assert "15 missing values of 'size': filled with the training mean." in ended.out


def test_a_table_is_in_the_cache_after_the_first_training_and_is_made_again_without_it(
    quick: ForkServer, tmp_path: Path
) -> None:
    write_table(tmp_path)
    env = {"GRADLAB_CACHE": str(tmp_path / "cache")}
    runs = []
    for name in ("first", "second"):
        arguments = ("csv", "--data", "houses.csv", "data.target=price", "train.steps=3", "--out", name, "--json")
        runs.append(quick("train", *arguments, cwd=tmp_path, env=env).json)
    assert len(list((tmp_path / "cache" / "tables").iterdir())) == 1
    assert runs[0]["test"] == runs[1]["test"]
    shutil.rmtree(tmp_path / "cache")
    figures = quick("evaluate", "first", "--json", cwd=tmp_path, env=env).json
    assert figures["loss"] == runs[0]["test"]["loss"]
    (tmp_path / "houses.csv").write_text((tmp_path / "houses.csv").read_text().replace("north", "South"))
    check_refused(quick("evaluate", "first", cwd=tmp_path, env=env), "first", "not the ones it was trained on")


def test_what_a_run_says_of_its_columns_is_plain_json(quick: ForkServer, trained: Path) -> None:
    reader = json.loads((trained / "run" / "data.json").read_text())["reader"]
    if reader["kind"] == "table":
        uses = {column["name"]: column["use"] for column in reader["columns"]}
        assert uses["id"] == "left out"
        assert "target" in uses.values()
    else:
        assert reader == {"kind": "pictures", "height": 32, "width": 32, "channels": 1, "resize": "crop"}
