"""`predict` for a submission, `evaluate` on new data, thresholds, and data that have moved."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, accept_changes, check_refused, check_same
from PIL import Image
from sklearn.metrics import accuracy_score, f1_score

import gradlab as gl

COLUMNS = "id,size,colour,sold,price"


def rows(numbers: range, rng: np.random.Generator) -> list[str]:
    """Houses: what is sold, and for how much, follows from size and colour, but for some noise."""
    found = []
    for i in numbers:
        size, colour = rng.uniform(20, 120), ("red", "green", "blue")[rng.integers(3)]
        price = 2 * size + 30 * (colour == "red") + rng.normal(0, 10)
        found.append(f"{i:05},{size:.2f},{colour},{'yes' if price < 160 else 'no'},{price:.2f}")
    return found


def write(path: Path, lines: list[str], columns: str = COLUMNS) -> None:
    path.write_text("\n".join([columns, *lines]) + "\n")


@pytest.fixture(scope="module")
def houses(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with houses.csv, new.csv, and two runs: of what is sold, and of the price."""
    folder, rng = tmp_path_factory.mktemp("houses"), np.random.default_rng(0)
    write(folder / "houses.csv", rows(range(300), rng))
    write(folder / "new.csv", rows(range(300, 380), rng))
    for target, other in (("sold", "price"), ("price", "sold")):
        asked = ["csv", "--data", "houses.csv", f"data.target={target}", f"data.drop={other}", "train.epochs=30"]
        ended = quick("train", *asked, "--out", target, "--json", cwd=folder)
        assert ended.code == 0, ended.err
    return folder


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def read(path: Path) -> list[dict[str, str]]:
    return table(path.read_text())


# Submissions.


@pytest.mark.parametrize("target", ["sold", "price"])
def test_a_submission_has_the_ids_as_they_are_and_the_target_by_its_name(
    quick: ForkServer, houses: Path, target: str
) -> None:
    ended = quick("predict", target, "new.csv", "--id", "id", "--csv", "--only", "labels", cwd=houses)
    assert ended.code == 0, ended.err
    lines = table(ended.out)
    assert list(lines[0]) == ["id", target]
    assert [line["id"] for line in lines] == [f"{i:05}" for i in range(300, 380)]
    as_json = quick("predict", target, "new.csv", "--id", "id", "--json", cwd=houses).json["predictions"]
    assert [p["id"] for p in as_json] == [line["id"] for line in lines]
    assert [str(p.get("label", p.get("value"))) for p in as_json] == [line[target] for line in lines]
    assert "00300" in quick("predict", target, "new.csv", "--id", "id", cwd=houses).out


def test_probabilities_are_named_by_their_classes(quick: ForkServer, houses: Path) -> None:
    both = table(quick("predict", "sold", "new.csv", "--csv", cwd=houses).out)
    assert list(both[0]) == ["row", "sold", "p(no)", "p(yes)"]
    alone = table(quick("predict", "sold", "new.csv", "--id", "id", "--csv", "--only", "probabilities", cwd=houses).out)
    assert list(alone[0]) == ["id", "no", "yes"]
    assert [line["yes"] for line in alone] == [line["p(yes)"] for line in both]
    refused = quick("predict", "price", "new.csv", "--csv", "--only", "probabilities", cwd=houses)
    check_refused(refused, "predicts numbers")
    check_refused(quick("predict", "sold", "new.csv", "--only", "labels", cwd=houses), "--csv")


def test_an_id_column_that_training_never_had(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    lines = [f'{line},"Ä, ""{i:02}"""' for i, line in enumerate((houses / "new.csv").read_text().split()[1:])]
    write(tmp_path / "new.csv", lines, f"{COLUMNS},ticket")
    ended = quick("predict", houses / "sold", "new.csv", "--id", "ticket", "--csv", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert [line["ticket"] for line in table(ended.out)] == [f'Ä, "{i:02}"' for i in range(80)]
    check_refused(quick("predict", houses / "sold", "new.csv", "--csv", cwd=tmp_path), "'ticket'", "Remove it")
    (tmp_path / "new.json").write_text(json.dumps(read(tmp_path / "new.csv")))
    from_json = quick("predict", houses / "sold", "new.json", "--id", "ticket", "--csv", cwd=tmp_path)
    assert from_json.out == ended.out


def test_an_id_column_that_is_not_there_is_one_message(quick: ForkServer, houses: Path) -> None:
    predict = ["predict", "sold", "new.csv", "--csv", "--id"]
    check_refused(quick(*predict, "ids", cwd=houses), "no column in new.csv, 'ids'", "'id'")
    check_refused(quick(*predict, "sold", cwd=houses), "is the column that is predicted")
    check_refused(quick("predict", "sold", "50,red", "--id", "id", cwd=houses), "no column 'id'", "no table")


# Thresholds.


def test_a_threshold_moves_the_labels_and_leaves_the_probabilities(quick: ForkServer, houses: Path) -> None:
    plain = quick("predict", "sold", "new.csv", "--json", cwd=houses).json["predictions"]
    moved = quick("predict", "sold", "new.csv", "--json", "--threshold", "0.9", cwd=houses).json["predictions"]
    assert [p["probabilities"] for p in plain] == [p["probabilities"] for p in moved]
    targets = gl.load_run(houses / "sold").targets
    rarer = targets.classes[int(np.argmin(targets.counts))]
    assert all((p["label"] == rarer) == (p["probabilities"][rarer] >= 0.9) for p in moved)
    assert all(p["probability"] == p["probabilities"][p["label"]] for p in moved)
    assert [p["label"] for p in plain] != [p["label"] for p in moved]


@pytest.mark.parametrize("task", ["classify", "bernoulli"])
def test_the_figures_at_a_threshold_are_those_of_its_labels(quick: ForkServer, houses: Path, task: str) -> None:
    asked = ["csv", "--data", "houses.csv", "data.target=sold", "data.drop=price", f"task={task}", "train.epochs=5"]
    assert quick("train", *asked, "--out", task, "--json", cwd=houses).code == 0
    run = gl.load_run(houses / task)
    truth = [line["sold"] for line in read(houses / "new.csv")]
    plain, moved = (run.evaluate(data=houses / "new.csv", threshold=t) for t in (None, 0.8))
    labels = run.predict(houses / "new.csv", threshold=0.8)
    assert moved["accuracy"] == pytest.approx(accuracy_score(truth, labels))
    assert moved["f1"] == pytest.approx(f1_score(truth, labels, average="macro"))
    assert moved["accuracy"] != plain["accuracy"]
    assert {k: moved[k] for k in ("loss", "auroc", "ece")} == {k: plain[k] for k in ("loss", "auroc", "ece")}


@pytest.mark.parametrize("value", ["0", "1", "1.5", "-0.1", "nan"])
def test_a_threshold_outside_of_0_and_1_is_refused(quick: ForkServer, houses: Path, value: str) -> None:
    check_refused(quick("predict", "sold", "new.csv", f"--threshold={value}", cwd=houses), "between 0 and 1", value)
    check_refused(quick("evaluate", "sold", f"--threshold={value}", cwd=houses), "between 0 and 1", value)


def test_a_threshold_is_for_two_classes(quick: ForkServer, houses: Path, iris: Path) -> None:
    check_refused(quick("evaluate", iris, "--threshold", "0.5", cwd=houses), "two classes", "has 3")
    check_refused(quick("predict", iris, "1,2,3,4", "--threshold", "0.5", cwd=houses), "two classes", "has 3")
    check_refused(quick("predict", "price", "new.csv", "--threshold", "0.5", cwd=houses), "two classes")


# New data.


def test_new_rows_are_evaluated_as_a_split_is(quick: ForkServer, houses: Path) -> None:
    ended = quick("evaluate", "sold", "--data", "new.csv", "--json", cwd=houses)
    assert ended.code == 0, ended.err
    said, truth = ended.json, [line["sold"] for line in read(houses / "new.csv")]
    predictions = quick("predict", "sold", "new.csv", "--json", cwd=houses).json["predictions"]
    assert (said["data"], said["examples"]) == ("new.csv", 80)
    assert said["accuracy"] == pytest.approx(
        np.mean([p["label"] == y for p, y in zip(predictions, truth, strict=True)])
    )
    surprise = [-np.log(p["probabilities"][y]) for p, y in zip(predictions, truth, strict=True)]
    assert said["loss"] == pytest.approx(np.mean(surprise), rel=1e-5)
    majority = max(truth.count("yes"), truth.count("no")) / len(truth)
    assert said["baselines"]["majority class"]["accuracy"] in (pytest.approx(majority), pytest.approx(1 - majority))
    shown = quick("evaluate", "sold", "--data", "new.csv", cwd=houses).out
    assert "new.csv" in shown
    assert "(majority" in shown


def test_new_rows_of_a_regression(houses: Path) -> None:
    run = gl.load_run(houses / "price")
    truth = np.array([float(line["price"]) for line in read(houses / "new.csv")])
    figures = run.evaluate(data=houses / "new.csv")
    assert figures["mae"] == pytest.approx(np.abs(run.predict(houses / "new.csv") - truth).mean(), rel=1e-4)
    baseline = run.baselines(data=houses / "new.csv")["training mean"]
    assert baseline["mae"] == pytest.approx(np.abs(truth - run.targets.mean[0]).mean(), rel=1e-4)


def test_the_rows_of_a_split_alone_have_its_figures(houses: Path, tmp_path: Path) -> None:
    run, lines = gl.load_run(houses / "sold"), (houses / "houses.csv").read_text().split()[1:]
    write(tmp_path / "test.csv", [lines[i] for i in run.dataset.test.rows])
    assert run.evaluate(data=tmp_path / "test.csv") == pytest.approx(run.test, rel=1e-5)


def test_rows_without_a_target_are_left_out_and_told(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    lines = (houses / "new.csv").read_text().split()[1:]
    write(tmp_path / "gaps.csv", ["00300,50,red,,1", "00301,50,red,NA,1", *lines])
    ended = quick("evaluate", houses / "sold", "--data", "gaps.csv", "--json", cwd=tmp_path)
    assert "left out 2 rows in which 'sold' is missing" in ended.err
    whole = quick("evaluate", houses / "sold", "--data", houses / "new.csv", "--json", cwd=tmp_path).json
    assert {**ended.json, "data": ""} == {**whole, "data": ""}


@pytest.mark.parametrize(
    ("columns", "line", "words"),
    [
        ("id,size,colour,price", "1,50,red,100", ["no column in new.csv, 'sold'"]),
        ("id,size,sold,price", "1,50,yes,100", ["no column 'colour'", "training had"]),
        (f"{COLUMNS},extra", "1,50,red,yes,100,0", ["a column 'extra' that training did not have"]),
        (COLUMNS, "1,50,red,maybe,100", ["new.csv, line 2, column 'sold': 'maybe' is none of the classes", "no, yes"]),
        (COLUMNS, "1,fifty,red,yes,100", ["line 2, column 'size': 'fifty' is not a number"]),
        (COLUMNS, "1,50,red,,100", ["the target 'sold' is missing in every row"]),
    ],
)
def test_new_rows_that_do_not_fit_are_refused_in_one_message(
    quick: ForkServer, houses: Path, tmp_path: Path, columns: str, line: str, words: list[str]
) -> None:
    write(tmp_path / "new.csv", [line], columns)
    check_refused(quick("evaluate", houses / "sold", "--data", "new.csv", cwd=tmp_path), *words)


def test_what_new_data_cannot_be_asked_for(quick: ForkServer, houses: Path) -> None:
    check_refused(quick("evaluate", "sold", "--data", "new.csv", "--split", "test", cwd=houses), "Leave out --split")
    check_refused(quick("evaluate", "sold", "--data", "nowhere.csv", cwd=houses), "nowhere.csv is not a file")
    check_refused(quick("evaluate", "sold", "--data", ".", cwd=houses), "no table")


def test_new_data_leave_nothing_in_the_cache(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    shutil.copy(houses / "houses.csv", tmp_path)
    env = {"GRADLAB_CACHE": str(tmp_path / "cache")}
    asked = ["evaluate", houses / "sold", "--json", "--data"]
    assert quick(*asked, houses / "new.csv", cwd=tmp_path, env=env).code == 0
    assert len(list((tmp_path / "cache" / "tables").iterdir())) == 1  # of the training rows, for the baseline


def test_numbers_that_are_classes_and_new_arrays(quick: ForkServer, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    y = (x.sum(1) > 0).astype(int) + 1
    np.savez(tmp_path / "train.npz", x=x[:80], y=y[:80])
    np.savez(tmp_path / "new.npz", x=x[80:], y=y[80:])
    np.savez(tmp_path / "other.npz", x=x[80:], y=y[80:] + 1)
    np.save(tmp_path / "x.npy", x)
    asked = ["npz", "--data", "train.npz", "task=classify", "train.epochs=20", "--out", "run", "--json"]
    assert quick("train", *asked, cwd=tmp_path).code == 0
    ended = quick("evaluate", "run", "--data", "new.npz", "--json", cwd=tmp_path)
    labels = [p["label"] for p in quick("predict", "run", "new.npz", "--json", cwd=tmp_path).json["predictions"]]
    assert ended.json["accuracy"] == pytest.approx(np.mean(np.array(labels) == y[80:].astype(str)))
    check_refused(quick("evaluate", "run", "--data", "other.npz", cwd=tmp_path), "3 is none of the classes", "1, 2")
    for other in ("x.npy", "."):
        check_refused(quick("evaluate", "run", "--data", other, cwd=tmp_path), "arrays x and y")


def test_whole_numbers_that_are_classes_of_a_table(quick: ForkServer, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{rng.normal():.3f},{int(x > 0)}" for x in rng.normal(size=80)]
    write(tmp_path / "train.csv", lines[:60], "x,z,y")
    write(tmp_path / "new.csv", lines[60:], "x,z,y")
    write(tmp_path / "points.csv", [f"{line}.0" for line in lines[60:]], "x,z,y")
    asked = ["csv", "--data", "train.csv", "data.target=y", "train.epochs=10", "--json"]
    for task in ("classify", "regress"):
        assert quick("train", *asked, f"task={task}", "--out", task, cwd=tmp_path).code == 0
        new, points = (quick("evaluate", task, "--data", f, "--json", cwd=tmp_path) for f in ("new.csv", "points.csv"))
        assert new.code == 0, new.err
        assert {**new.json, "data": ""} == {**points.json, "data": ""}
        key = "accuracy" if task == "classify" else "r2"
        assert new.json[key] > 0.4


def test_new_pictures_are_in_a_folder_for_each_class(quick: ForkServer, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for folder, count in (("train", 12), ("new", 5)):
        for name in ("along", "across"):
            (tmp_path / folder / name).mkdir(parents=True)
            for i in range(count):
                pixels = rng.integers(0, 60, (12, 12))
                pixels[(4, slice(None)) if name == "along" else (slice(None), 4)] = 255
                Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / folder / name / f"{i}.png")
    asked = ["images", "--data", "train", "train.epochs=15", "--out", "run", "--json"]
    ended = quick("train", *asked, cwd=tmp_path)
    assert ended.code == 0, ended.err
    said = quick("evaluate", "run", "--data", "new", "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    right = [
        p["label"] == Path(p["file"]).parts[0]
        for p in quick("predict", "run", "new", "--json", cwd=tmp_path).json["predictions"]
    ]
    assert said.json["examples"] == 10
    assert said.json["accuracy"] == pytest.approx(np.mean(right))
    check_refused(quick("evaluate", "run", "--data", "new/along", cwd=tmp_path), "0.png is in no folder of a class")
    check_refused(quick("evaluate", "run", "--data", ".", cwd=tmp_path), "'new' is none of the classes")
    check_refused(quick("evaluate", "run", "--data", "new/along/0.png", cwd=tmp_path), "a folder of pictures for each")
    # The run's own pictures at another place are its own splits.
    (tmp_path / "train").rename(tmp_path / "elsewhere")
    check_refused(quick("evaluate", "run", cwd=tmp_path), "--data FOLDER")
    own = quick("evaluate", "run", "--data", "elsewhere", "--json", cwd=tmp_path)
    assert own.json["loss"] == ended.json["test"]["loss"]


def test_new_texts_of_a_classifier(quick: ForkServer, tmp_path: Path) -> None:
    words = {"sea": "wave salt shore tide", "wood": "leaf bark moss root"}
    rng = np.random.default_rng(0)

    def lines(count: int) -> list[str]:
        kinds = [("sea", "wood")[i % 2] for i in range(count)]
        return [f"{' '.join(rng.choice(words[kind].split(), 5))},{kind}" for kind in kinds]

    write(tmp_path / "train.csv", lines(60), "said,kind")
    write(tmp_path / "new.csv", lines(20), "said,kind")
    asked = ["text-classifier", "--data", "train.csv", "data.text=said", "data.target=kind", "train.epochs=60"]
    ended = quick("train", *asked, "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    said = quick("evaluate", "run", "--data", "new.csv", "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    submission = table(quick("predict", "run", "new.csv", "--id", "said", "--csv", cwd=tmp_path).out)
    truth = read(tmp_path / "new.csv")
    assert [line["said"] for line in submission] == [line["said"] for line in truth]
    right = [a["kind"] == b["kind"] for a, b in zip(submission, truth, strict=True)]
    assert said.json["accuracy"] == pytest.approx(np.mean(right))
    shutil.move(tmp_path / "train.csv", tmp_path / "moved.csv")
    own = quick("evaluate", "run", "--data", "moved.csv", "--json", cwd=tmp_path)
    assert own.json["loss"] == ended.json["test"]["loss"]


def test_a_language_model_on_another_text(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("".join(f"the cat sat on mat {i % 7}.\n" for i in range(200)))
    (tmp_path / "same.txt").write_text("".join(f"the cat sat on mat {i % 7}.\n" for i in range(30)))
    (tmp_path / "other.txt").write_text("".join(f"XYZ {i} QQ! ZZ?\n" for i in range(60)))
    asked = ["text-gpt", "--data", "train.txt", "train.steps=120", "data.context=32", "model.dim=32", "model.layers=1"]
    ended = quick("train", *asked, "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    same, other = (
        quick("evaluate", "run", "--data", f"{name}.txt", "--json", cwd=tmp_path) for name in ("same", "other")
    )
    assert same.code == other.code == 0, same.err + other.err
    assert same.json["bits_per_byte"] < other.json["bits_per_byte"]
    (tmp_path / "train.txt").rename(tmp_path / "moved.txt")
    own = quick("evaluate", "run", "--data", "moved.txt", "--json", cwd=tmp_path)
    assert own.json["split"] == "test"
    assert own.json["loss"] == ended.json["test"]["loss"]


# Data that have moved.


@pytest.fixture
def moved(houses: Path, tmp_path: Path) -> Path:
    """A copy of the run whose data have been moved to elsewhere/homes.csv."""
    shutil.copytree(houses / "sold", tmp_path / "run")
    recipe = (tmp_path / "run" / "recipe.toml").read_text()
    (tmp_path / "run" / "recipe.toml").write_text(
        recipe.replace(str(houses / "houses.csv"), str(tmp_path / "gone.csv"))
    )
    accept_changes(tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(houses / "houses.csv", tmp_path / "elsewhere" / "homes.csv")
    return tmp_path


def test_moved_data_are_the_splits_of_the_run(quick: ForkServer, houses: Path, moved: Path) -> None:
    for command in ("evaluate", "probe"):
        check_refused(quick(command, "run", cwd=moved), "gone.csv is not a file", "--data FILE")
    figures = quick("evaluate", "run", "--data", "elsewhere/homes.csv", "--json", cwd=moved).json
    assert (figures["split"], figures["loss"]) == ("test", gl.load_run(houses / "sold").test["loss"])
    asked = ["evaluate", "run", "--split", "validation", "--data", "elsewhere/homes.csv", "--json"]
    assert quick(*asked, cwd=moved).json["loss"] == gl.load_run(houses / "sold").validation["loss"]
    probed = quick("probe", "run", "--data", "elsewhere/homes.csv", "--json", cwd=moved)
    assert probed.code == 0, probed.err
    assert probed.json["loss"] == quick("probe", "sold", "--json", "--html", moved / "x.html", cwd=houses).json["loss"]


def test_new_data_of_a_run_whose_own_are_gone_have_no_baseline(quick: ForkServer, houses: Path, moved: Path) -> None:
    ended = quick("evaluate", "run", "--data", houses / "new.csv", "--json", cwd=moved)
    assert ended.code == 0, ended.err
    assert ended.json["baselines"] == {}
    assert "gone.csv is not a file" in ended.err
    assert ended.json["loss"] == quick("evaluate", "sold", "--data", "new.csv", "--json", cwd=houses).json["loss"]


def test_other_content_is_refused_where_the_run_must_have_its_own(
    quick: ForkServer, houses: Path, moved: Path, digits: Path
) -> None:
    new = houses / "new.csv"
    check_refused(quick("probe", "run", "--data", new, cwd=moved), "not the ones it was trained on")
    (moved / "run" / "result.json").unlink()
    check_refused(quick("resume", "run", "--data", new, cwd=moved), "not the ones it began with", "--data PATH")
    check_refused(quick("probe", digits, "--data", new, cwd=moved), "data=digits is read from no file")


def test_a_run_is_resumed_on_moved_data_to_the_bit(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    shutil.copy(houses / "houses.csv", tmp_path / "one.csv")
    asked = [
        "csv",
        "--data",
        "one.csv",
        "data.target=sold",
        "data.drop=price",
        "train.steps=40",
        "train.checkpoint_every=10",
    ]
    whole = quick("train", *asked, "--out", "whole", "--json", cwd=tmp_path)
    assert whole.code == 0, whole.err
    shutil.copytree(tmp_path / "whole", tmp_path / "part")
    for name in ("result.json", "report.html"):
        (tmp_path / "part" / name).unlink()
    saved = sorted((tmp_path / "part" / "checkpoints").iterdir())
    shutil.rmtree(saved[-1])
    (tmp_path / "one.csv").rename(tmp_path / "two.csv")
    check_refused(quick("resume", "part", cwd=tmp_path), "one.csv is not a file", "--data FILE")
    ended = quick("resume", "part", "--data", "two.csv", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    check_same(tmp_path / "part", tmp_path / "whole")
    assert "Left out of this report" not in (tmp_path / "part" / "report.html").read_text()


def test_files_of_splits_that_moved_together_are_found_beside_the_first(quick: ForkServer, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name in ("train", "test"):
        write(tmp_path / f"{name}.csv", rows(range(60), rng))
    asked = ["csv", "--data", "train.csv", "data.test_file=test.csv", "data.target=sold", "train.steps=5"]
    trained = quick("train", *asked, "--out", "run", "--json", cwd=tmp_path)
    assert trained.code == 0, trained.err
    (tmp_path / "there").mkdir()
    for name in ("train", "test"):
        (tmp_path / f"{name}.csv").rename(tmp_path / "there" / f"{name}.csv")
    ended = quick("evaluate", "run", "--data", "there/train.csv", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (ended.json["split"], ended.json["loss"]) == ("test", trained.json["test"]["loss"])


def test_the_same_from_python(houses: Path, moved: Path) -> None:
    run = gl.load_run(moved / "run", data=moved / "elsewhere" / "homes.csv")
    assert run.evaluate() == gl.load_run(houses / "sold").test
    assert len(gl.probe(moved / "run", data=moved / "elsewhere" / "homes.csv").layers) > 0
    assert gl.resume(moved / "run", data=moved / "elsewhere" / "homes.csv").test == run.test
