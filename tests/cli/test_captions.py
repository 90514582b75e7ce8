"""Pictures with captions, as a user has them: trained, asked, probed and judged, and what is refused."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from cli_helpers import ForkServer, check_refused
from PIL import Image

from gradlab.api import load_run
from gradlab.data.captions.grammar import caption
from gradlab.data.captions.scenes import example

TRUNK = ["model.trunk.widths=4,4", "model.trunk.convolutions=1"]
SMALL = ["model=caption-rnn", *TRUNK, "model.dim=8", "model.hidden=16", "train.epochs=2", "train.schedule=constant"]
GENERATED = ["data.examples=60", "data.held_out=20"]


def write_table(folder: Path, rows: list[tuple[str, str]], names: tuple[str, str] = ("file", "caption")) -> Path:
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    return folder / "captions.csv"


def save(pixels: np.ndarray, path: Path) -> None:
    Image.fromarray(np.moveaxis(pixels, 0, -1)).save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("captions")
    (made / "pictures").mkdir()
    rows = []
    for i in range(40):
        scene, drawn = example(0, i)
        save(drawn.pixels, made / "pictures" / f"{i}.png")
        rows.append((f"pictures/{i}.png", caption(scene)))
    write_table(made, [*rows, ("pictures/0.png", "another way to say it")])
    return made


@pytest.fixture(scope="module")
def run(quick: ForkServer, folder: Path) -> Path:
    ended = quick("train", "shapes-caption", *GENERATED, *SMALL, "--out", "shapes", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert 0 <= ended.json["test"]["exact_match"] <= 1
    return folder / "shapes"


def test_the_result_says_where_it_looked_and_the_report_shows_it(quick: ForkServer, run: Path, folder: Path) -> None:
    looked = json.loads((run / "result.json").read_text())["attention_on_shape"]
    assert 0 < looked["mass"] < 1
    assert looked["ratio"] == pytest.approx(looked["mass"] / looked["area"])
    assert looked["words"] >= 40
    report = (run / "report.html").read_text()
    assert "Where it looked" in report
    assert f"{looked['ratio']:.1f} times as much as by chance" in report
    again = quick("evaluate", "shapes", "--json", cwd=folder).json
    assert again["exact_match"] == json.loads((run / "result.json").read_text())["test"]["exact_match"]


def test_a_picture_is_described_and_probed(quick: ForkServer, run: Path, folder: Path) -> None:
    ended = quick("predict", "shapes", "pictures/3.png", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    said = ended.json["predictions"][0]["text"]
    probed = quick("probe", "shapes", "pictures/3.png", "--html", "page.html", "--json", cwd=folder)
    assert probed.code == 0, probed.err
    assert probed.json["written"] == said
    weights = np.array(probed.json["alignment"]["weights"])
    assert weights.shape == (len(probed.json["alignment"]["target"]), 81)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
    assert (folder / "page.html").read_text().count("where it looked for") == len(weights)
    table = quick("probe", "shapes", "pictures/3.png", "--plain", cwd=folder)
    assert "Where it looked most" in table.out


def test_a_table_of_ones_own_is_learned_and_judged(quick: ForkServer, folder: Path) -> None:
    options = [*SMALL, "model.attention=none", "--data", "captions.csv"]
    ended = quick("train", "captions", *options, "--out", "own", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert "attention_on_shape" not in json.loads((folder / "own" / "result.json").read_text())
    for page in ("predict", "probe"):
        assert quick(page, "own", "pictures/1.png", cwd=folder).code == 0
    other = folder / "other"
    other.mkdir()
    save(example(5, 1)[1].pixels, other / "a.png")
    write_table(other, [("a.png", caption(example(5, 1)[0]))])
    judged = quick("evaluate", "own", "--data", "other/captions.csv", "--json", cwd=folder)
    assert judged.code == 0, judged.err
    assert judged.json["examples"] == 1


def test_the_network_of_a_trained_classifier_looks_at_the_pictures(quick: ForkServer, folder: Path) -> None:
    for i in range(40):
        scene, drawn = example(0, i)
        place = folder / "classes" / ("one" if len(scene) == 1 else "several")
        place.mkdir(parents=True, exist_ok=True)
        save(drawn.pixels, place / f"{i}.png")
    network = ["model=vgg", "model.widths=4,4", "model.convolutions=1", "model.hidden=8", "train.epochs=1"]
    trained = quick("train", "images", "--data", "classes", *network, "--out", "network", "--json", cwd=folder)
    assert trained.code == 0, trained.err
    options = [*GENERATED, *SMALL, "--from", "network", "--freeze", "encoder.trunk", "train.epochs=1"]
    ended = quick("train", "shapes-caption", *options, "--out", "taken", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    before, after = (load_run(str(folder / run)).chosen_weights() for run in ("network", "taken"))
    names = [name for name in before if name.startswith("features.") and not name.endswith("num_batches_tracked")]
    assert names
    for name in names:
        assert torch.equal(after[f"encoder.trunk.{name}"], before[name])
    other = quick("train", "shapes-caption", *GENERATED, "--from", "network", "--out", "x", cwd=folder)
    check_refused(other, "do not fit model=caption-transformer", "features.0.weight")


def test_a_transformer_writes_captions_too(quick: ForkServer, folder: Path) -> None:
    model = ["model.dim=8", "model.layers=1", "model.heads=2", *TRUNK]
    options = [*GENERATED, *model, "train.epochs=1", "train.schedule=constant", "--out", "attentive"]
    ended = quick("train", "shapes-caption", *options, cwd=folder)
    assert ended.code == 0, ended.err
    assert "times as much as by chance" in ended.out


@pytest.mark.parametrize(
    ("rows", "names", "told"),
    [
        ([("no.png", "a dog")], ("file", "caption"), "line 2: there is no picture"),
        ([("a.png", "")], ("file", "caption"), "line 2: the caption is empty"),
        ([("broken.png", "a dog")], ("file", "caption"), "broken.png cannot be read as a picture"),
        ([("a.png", "a dog")], ("picture", "caption"), "'file'"),
        ([], ("file", "caption"), "no row with a picture"),
    ],
)
def test_what_cannot_be_learned_from_is_told(
    quick: ForkServer, tmp_path: Path, rows: list[tuple[str, str]], names: tuple[str, str], told: str
) -> None:
    save(example(0, 1)[1].pixels, tmp_path / "a.png")
    (tmp_path / "broken.png").write_bytes(b"this is no picture")
    write_table(tmp_path, rows, names)
    check_refused(quick("train", "captions", "--data", "captions.csv", "--out", "x", cwd=tmp_path), told)
    assert not (tmp_path / "x").exists()


def test_a_picture_that_does_not_open_and_a_model_for_texts_are_told(
    quick: ForkServer, run: Path, folder: Path
) -> None:
    (folder / "broken.png").write_bytes(b"this is no picture")
    for command in ("predict", "probe"):
        check_refused(quick(command, "shapes", "broken.png", cwd=folder), "broken.png cannot be read as a picture")
        check_refused(quick(command, "shapes", "a red circle", cwd=folder), "neither a picture nor a folder")
    wrong = quick("train", "shapes-caption", *GENERATED, "model=seq2seq-rnn", "--out", "x", cwd=folder)
    check_refused(wrong, "is for pairs of texts, and these are pairs: pictures of 3×36×36 pixels")
