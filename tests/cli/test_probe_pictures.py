"""`gradlab probe RUN PICTURE`: any picture is looked at as the run's own are, and what is none is told in a line."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, contents
from PIL import Image
from sklearn.datasets import load_digits

Write = Callable[[Path], object]


@pytest.fixture(scope="module")
def colours(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run trained on one's own coloured pictures, of several sizes."""
    folder = tmp_path_factory.mktemp("colours")
    for i in range(24):
        side, name = 16 + 2 * (i % 3), ("red", "blue")[i % 2]
        pixels = np.random.default_rng(i).integers(0, 90, (side, side, 3), np.uint8)
        pixels[..., 2 * (i % 2)] += 120
        (folder / "data" / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / "data" / name / f"{i}.png")
    options = ["--data", "data", "data.size=16", "model=lenet", "train.epochs=4", "--out", "run", "--json"]
    ended = quick("train", "images", *options, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run"


def digit(row: int) -> Image.Image:
    return Image.fromarray((load_digits().images[row] * 255 / 16).round().astype(np.uint8))


def test_a_picture_of_another_size_is_brought_to_that_of_the_run_and_the_page_shows_it(
    quick: ForkServer, digits: Path, tmp_path: Path
) -> None:
    digit(7).resize((80, 80), Image.Resampling.NEAREST).convert("RGB").save(tmp_path / "seven.png")
    before = contents(digits)
    ended = quick("probe", digits, "seven.png", "--html", "page.html", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["on"] == "seven.png"
    changes, white, *_ = ended.json["notes"]
    assert changes == "seven.png was read with changes: made grey, resized from 80×80 to 8×8 pixels."
    assert white == "White, 255 in the file, is 16 in the data of the run."
    (seen,) = ended.json["attributions"]
    assert (seen["label"], seen["actual"]) == ("7", None)
    assert seen["probability"] > 0.9
    assert seen["maps"]["integrated gradients"]["sum"] == pytest.approx(seen["difference"], rel=0.02)
    page = (tmp_path / "page.html").read_text().partition("<script>")[0]
    assert "Predicted 7 with probability" in page
    assert re.findall(r'alt="(gradient|integrated gradients|Grad-CAM|occlusion):', page) == [
        "gradient", "integrated gradients", "occlusion",
    ]  # fmt: skip
    assert contents(digits) == before


def test_examples_of_a_split_are_explained_with_their_actual_classes(
    quick: ForkServer, digits: Path, tmp_path: Path
) -> None:
    ended = quick("probe", digits, "--split", "test", "--html", "page.html", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "What speaks for the class" in ended.out
    page = (tmp_path / "page.html").read_text()
    assert len(re.findall(r"<h3>\d, predicted \d with probability", page)) == 6


def test_a_dark_drawing_on_white_paper_is_noticed(quick: ForkServer, digits: Path, tmp_path: Path) -> None:
    Image.new("L", (8, 8), 255).save(tmp_path / "paper.png")
    ended = quick("probe", digits, "paper.png", "--html", "page.html", "--json", cwd=tmp_path)
    (note,) = [note for note in ended.json["notes"] if "brighter" in note]
    assert "much brighter than in training: their mean is 16, there it was 4.88" in note


def saved(mode: str, size: tuple[int, int] = (30, 20), **options: object) -> Write:
    return lambda path: Image.new(mode, size).save(path, **options)


def animated(path: Path) -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    frames[0].save(path, save_all=True, append_images=frames[1:])


GOOD: dict[str, tuple[Write, str]] = {
    "alpha.png": (
        saved("RGBA"),
        "put on white where it is transparent, cut to the middle, resized from 20×30 to 16×16",
    ),
    "palette.png": (saved("P"), "cut to the middle"),
    "grey.png": (saved("L"), "given three channels"),
    "deep.png": (saved("I;16"), "brought to 8 bits, given three channels"),
    "bits.png": (saved("1"), "given three channels"),
    "moving.gif": (animated, "its first frame taken, resized from 20×20 to 16×16 pixels"),
    "dot.png": (saved("RGB", (1, 1)), "resized from 1×1 to 16×16 pixels"),
    "strip.bmp": (saved("RGB", (90, 1)), "cut to the middle, resized from 1×90 to 16×16 pixels"),
    "photo.jpg": (saved("CMYK"), "resized from 20×30 to 16×16 pixels"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_picture_of_any_mode_is_looked_at_and_what_was_done_to_it_is_told(
    quick: ForkServer, colours: Path, tmp_path: Path, name: str
) -> None:
    write, words = GOOD[name]
    write(tmp_path / name)
    ended = quick("probe", colours, name, "--html", "page.html", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["notes"][0].startswith(f"{name} was read with changes: ")
    assert words in ended.json["notes"][0]
    assert ended.json["attributions"][0]["label"] in ("red", "blue")
    assert set(ended.json["attributions"][0]["maps"]) == {"gradient", "integrated gradients", "Grad-CAM", "occlusion"}


def cut(path: Path) -> None:
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32), np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:300])


BAD: dict[str, tuple[Write, str]] = {
    "cut.png": (cut, "cut.png cannot be read as a picture"),
    "empty.png": (Path.touch, "empty.png cannot be read as a picture"),
    "text.png": (lambda path: path.write_text("hello"), "text.png cannot be read as a picture"),
    "missing.png": (lambda path: None, "missing.png is neither a"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("run", ["digits", "colours"])
def test_what_is_no_picture_is_told_in_a_line(
    quick: ForkServer, request: pytest.FixtureRequest, tmp_path: Path, run: str, name: str
) -> None:
    write, words = BAD[name]
    write(tmp_path / name)
    folder: Path = request.getfixturevalue(run)
    before = contents(folder)
    check_refused(quick("probe", folder, name, cwd=tmp_path), words)
    assert contents(folder) == before, "no page"


OTHERS = {
    ("colours", "rows.csv"): "rows.csv is no picture, but this run was trained on pictures",
    ("colours", "notes.txt"): "notes.txt is no picture, but this run was trained on pictures",
    ("digits", "notes.txt"): "files of type .txt are not read",
    ("digits", "rows.csv"): "(1, 8, 8)",
    ("iris", "photo.png"): "photo.png is a picture, but the model takes inputs of shape (4,)",
    ("churn", "photo.png"): "photo.png is a picture",
    ("gpt", "photo.png"): "photo.png is a picture, but",
}


@pytest.fixture(scope="module")
def churn(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("churn")
    (folder / "data.csv").write_text("size,kind\n" + "\n".join(f"{i % 7},{'ab'[i % 2]}" for i in range(40)))
    ended = quick(
        "train", "csv", "--data", "data.csv", "data.target=kind", "train.steps=2", "--out", "run", "--json", cwd=folder
    )
    assert ended.code == 0, ended.err
    return folder / "run"


@pytest.fixture(scope="module")
def gpt(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpt")
    (folder / "text.txt").write_text("the cat sat on the mat.\n" * 40)
    sizes = ["model.dim=8", "model.layers=1", "model.heads=2", "data.context=16", "train.batch_size=4", "train.steps=2"]
    ended = quick(
        "train", "text-gpt", *sizes, "train.schedule=constant", "--data", "text.txt", "--out", "run", cwd=folder
    )
    assert ended.code == 0, ended.err
    return folder / "run"


@pytest.mark.parametrize(("run", "name"), OTHERS)
def test_a_file_of_another_kind_than_the_run_is_told_in_a_line(
    quick: ForkServer, request: pytest.FixtureRequest, tmp_path: Path, run: str, name: str
) -> None:
    saved("L")(tmp_path / "photo.png")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    check_refused(quick("probe", request.getfixturevalue(run), name, cwd=tmp_path), OTHERS[run, name])
