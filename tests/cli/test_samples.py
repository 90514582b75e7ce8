"""`gradlab generate` of runs that draw examples, and how such runs are judged and shown."""

import base64
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, contents, flip_byte, gradlab
from own_files import DRAWING
from PIL import Image
from safetensors.numpy import load_file

CODE = ["--code", "drawing.py"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of pictures, and of points that were told their classes."""
    folder = tmp_path_factory.mktemp("drawing")
    (folder / "drawing.py").write_text(DRAWING)
    few = ["data.limit=200", "train.epochs=2"]
    for command in (
        ["drawn-digits", *few, "--out", "digits"],
        ["drawn-moons", "task.conditional=true", "train.epochs=8", "--out", "moons"],
    ):
        ended = gradlab("train", *command, *CODE, "--plain", cwd=folder)
        assert ended.code == 0, ended.err
        (folder / f"{command[-1]}.txt").write_text(ended.out)
    return folder


def result(folder: Path, run: str) -> dict:
    return json.loads((folder / run / "result.json").read_text())


# How they are judged.


def test_test_figures_have_distances_beside_real_examples_and_a_baseline(folder: Path) -> None:
    found = result(folder, "digits")
    test = found["test"]
    assert test["frechet"] > test["frechet_real"] > 0
    assert 0 <= test["precision"] <= 1
    assert found["judged"] == {
        "features": "classifier", "dimension": 64, "draws": 10, "samples": {"validation": 200, "test": 200}
    }  # fmt: skip
    assert found["baselines"]["test"]["clouds"]["frechet"] > test["frechet_real"]
    assert "small classifier" in found["signatures"]["frechet"]
    shown = (folder / "digits.txt").read_text()
    assert re.search(r"frechet +[\d.]+ +[\d.]+ +[\d.]+", shown)
    assert "frechet_real_se" in shown


def test_points_have_a_sliced_distance(folder: Path) -> None:
    test = result(folder, "moons")["test"]
    assert test["sliced_wasserstein"] > test["sliced_wasserstein_real"] > 0
    assert result(folder, "moons")["judged"]["features"] == "numbers"


def test_evaluate_says_the_same_and_trains_nothing(quick: ForkServer, folder: Path) -> None:
    before = contents(folder / "digits")
    again = quick("evaluate", "digits", *CODE, "--json", cwd=folder)
    assert again.code == 0, again.err
    for name, value in result(folder, "digits")["test"].items():
        assert again.json[name] == pytest.approx(value, rel=1e-6)
    assert again.json["baselines"] == {"clouds": pytest.approx(result(folder, "digits")["baselines"]["test"]["clouds"])}
    assert "small classifier" in again.json["signatures"]["frechet"]
    assert contents(folder / "digits") == before


def test_damaged_features_are_told_but_do_not_keep_it_from_drawing(quick: ForkServer, folder: Path) -> None:
    shutil.copytree(folder / "digits", folder / "damaged")
    flip_byte(folder / "damaged" / "features" / "network.safetensors")
    check_refused(quick("evaluate", "damaged", *CODE, cwd=folder), "network.safetensors", "damaged")
    assert quick("generate", "damaged", *CODE, cwd=folder).code == 0


# What is drawn.


def test_a_grid_is_written_into_the_run(quick: ForkServer, folder: Path) -> None:
    ended = quick("generate", "digits", "-n", 7, *CODE, cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.out.split() == ["drawn", "7", "samples:", "digits/samples.png"]
    with Image.open(folder / "digits" / "samples.png") as picture:
        assert picture.size == (3 * 50 - 2, 3 * 50 - 2)  # 8×8 pixels, six times as large, and lines of 2


def test_arrays_are_in_the_units_of_the_data_and_the_seed_decides_them(quick: ForkServer, folder: Path) -> None:
    def drawn(name: str, *options: object) -> np.ndarray:
        ended = quick("generate", "digits", "-n", 300, "--out", f"{name}.npz", *options, *CODE, "--json", cwd=folder)
        assert ended.json == {
            "run": "digits",
            "samples": 300,
            "file": f"{name}.npz",
            "seed": ended.json["seed"],
            "classes": None,
        }
        return np.load(folder / f"{name}.npz")["x"]

    first, same, other = drawn("a"), drawn("b"), drawn("c", "--seed", 1)
    assert first.shape == (300, 1, 8, 8)
    assert 2 < first.mean() < 8  # where pixels are 0 to 16
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[:44], first[256:])  # parts are drawn from seeds of their own


def test_one_class_is_drawn_where_the_model_was_told_them(quick: ForkServer, folder: Path) -> None:
    asked = ["generate", "moons", "-n", 50, "--out", "points.npz", "--json", *CODE]
    assert quick(*asked, "--class", "lower", cwd=folder).json["classes"] == {"lower": 50}
    with np.load(folder / "points.npz") as read:
        assert read["x"].shape == (50, 2)
        assert read["y"].tolist() == [1] * 50
    both = quick(*asked, cwd=folder).json["classes"]
    assert both["lower"] + both["upper"] == 50
    assert min(both.values()) > 10


def test_points_are_drawn_in_the_terminal_too(quick: ForkServer, folder: Path) -> None:
    ended = quick("generate", "moons", "-n", 100, *CODE, cwd=folder)
    assert re.search(r"^x -?[\d.]+ … [\d.]+, y ", ended.out, re.M)
    with Image.open(folder / "moons" / "samples.png") as picture:
        colours = {colour for _, colour in picture.getcolors(1000)}
    assert {(0x44, 0x77, 0xAA), (0xEE, 0x66, 0x77)} <= colours


def test_ways_between_noises_and_the_way_from_noise(quick: ForkServer, folder: Path) -> None:
    for option, name in (("--interpolate", "interpolation"), ("--trajectory", "trajectory")):
        assert quick("generate", "digits", option, "-n", 3, *CODE, cwd=folder).code == 0
        with Image.open(folder / "digits" / f"{name}.png") as picture:
            assert picture.size == (10 * 50 - 2, 3 * 50 - 2)
    ended = quick("generate", "digits", "--trajectory", "--steps", 5, "--out", "way.gif", *CODE, cwd=folder)
    assert ended.code == 0, ended.err
    with Image.open(folder / "way.gif") as animation:
        assert animation.n_frames == 6
    ended = quick("generate", "moons", "--trajectory", "--out", "way.npz", "-n", 4, *CODE, cwd=folder)
    assert np.load(folder / "way.npz")["x"].shape == (10, 4, 2)
    ended = quick("generate", "moons", "--trajectory", "--out", "many.npz", "-n", 300, *CODE, cwd=folder)
    many = np.load(folder / "many.npz")["x"]  # more than are drawn at once
    assert many.shape == (10, 300, 2)
    assert not np.array_equal(many[:, :44], many[:, 256:])
    asked = ["generate", "moons", "--trajectory", "--out", "points.gif", "-n", 1000, "--steps", 20, *CODE]
    assert quick(*asked, cwd=folder).code == 0  # 21,000 points, of which a frame has 1,000
    assert quick("generate", "moons", "--interpolate", "-n", 1, *CODE, cwd=folder).code == 0
    with Image.open(folder / "moons" / "interpolation.png") as picture:
        inked = (np.asarray(picture) == (0x44, 0x77, 0xAA)).all(-1).sum()
    assert inked > 10 * 25 + 100  # ten points, and the way between them


@pytest.mark.parametrize(
    ("run", "options", "told"),
    [
        ("digits", ["--class", "3"], ["is not class-conditional", "--class"]),
        ("digits", ["--guidance", "2"], ["is not class-conditional", "--guidance"]),
        ("moons", ["--class", "uper"], ["'uper'", "Did you mean 'upper'"]),
        ("digits", ["--prompt", "a"], ["draws examples", "leave out --prompt"]),
        ("digits", ["--temperature", "0.5"], ["leave out --temperature"]),
        ("digits", ["--no-stream"], ["leave out --no-stream"]),
        ("digits", ["-n", "0"], ["-n 0", "at least one"]),
        ("digits", ["-n", "20000"], ["--out FILE.npz"]),
        ("digits", ["-n", str(10**15), "--out", "a.npz"], ["GB left", "Ask for fewer"]),
        ("digits", ["--steps", "0"], ["--steps 0", "at least one"]),
        ("moons", ["--guidance", "-1"], ["--guidance -1", "from 0 on"]),
        ("moons", ["--guidance", "nan"], ["--guidance nan"]),
        ("digits", ["--seed", "-1"], ["--seed -1", "from 0 on"]),
        ("digits", ["--out", "a.jpg"], [".png, .npz"]),
        ("digits", ["--out", "a.gif"], [".gif is for --trajectory"]),
        ("digits", ["--out", "nowhere/a.png"], ["nowhere/a.png cannot be written", "there is no folder nowhere"]),
        ("digits", ["-n", "2000", "--trajectory"], ["20,000 samples", "--out FILE.npz"]),
        ("digits", ["-n", "300", "--trajectory", "--out", "a.gif"], ["18,000 samples", "--out FILE.npz"]),
        ("digits", ["--interpolate", "--trajectory"], ["ask for one of them"]),
    ],
)
def test_what_does_not_fit_is_refused_in_one_message(
    quick: ForkServer, folder: Path, run: str, options: list[str], told: list[str]
) -> None:
    check_refused(quick("generate", run, *options, *CODE, cwd=folder), *told)


def test_options_that_a_kind_of_model_does_not_know_are_refused(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "drawing.py").write_text(
        DRAWING.replace('options = ("guidance", "steps", "sampler")', "options = ()").replace(
            "def trajectory", "def way"
        )
    )
    assert quick("train", "drawn-moons", "--out", "run", *CODE, cwd=tmp_path).code == 0
    for option in (["--steps", 5], ["--sampler", "ddim"], ["--guidance", 2]):
        check_refused(quick("generate", "run", *option, *CODE, cwd=tmp_path), f"without {option[0]}")
    check_refused(quick("generate", "run", "--trajectory", *CODE, cwd=tmp_path), "step by step", "Leave out --traj")


def test_other_runs_are_told_how_they_are_used(quick: ForkServer, folder: Path, iris: Path) -> None:
    check_refused(quick("generate", iris, "-n", 3, cwd=folder), "neither writes nor draws", "gradlab predict")
    check_refused(quick("predict", "moons", "1,2", *CODE, cwd=folder), "gradlab generate moons")
    check_refused(quick("generate", "nothing", "-n", 3, cwd=folder), "nothing is not a folder")


def test_drawing_options_are_refused_by_a_language_model(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat sat on the mat.\n" * 200)
    counted = ["text-gpt", "--data", "text.txt", "model=ngram", "train.steps=1"]
    ended = quick("train", *counted, "--out", "text", cwd=tmp_path)
    assert ended.code == 0, ended.err
    for option in (["-n", 3], ["--class", "a"], ["--out", "a.png"], ["--interpolate"]):
        check_refused(quick("generate", "text", *option, cwd=tmp_path), "writes text", f"leave out {option[0]}")


# What is shown.


def test_the_report_shows_samples_and_what_is_behind_them(folder: Path) -> None:
    digits = (folder / "digits" / "report.html").read_text()
    for title in (
        "Samples", "Samples and their nearest training examples", "Between two samples", "From noise to samples",
        "Reconstructions", "Latent space", "Samples over training",
    ):  # fmt: skip
        assert f"<h3>{title}</h3>" in digits
    assert "real examples" in digits
    assert "gradlab generate digits -n 64" in digits
    assert "Left out of this report" not in digits
    moons = (folder / "moons" / "report.html").read_text()
    assert "over as many examples of the test split" in moons
    way = moons.split("<h3>From noise to samples</h3>")[1].split("</figure>")[0]
    assert re.findall(r"samples at (\d+)% of their way", way) == ["0", "14", "29", "43", "57", "71", "86", "100"]
    assert way.count("<svg ") == 8


def test_the_report_shows_the_same_samples_at_moments_of_the_training(quick: ForkServer, folder: Path) -> None:
    for run, shape, frame in (("digits", (10, 1, 8, 8), "img"), ("moons", (128, 2), "svg")):
        files = sorted((folder / run / "samples").glob("step-*"))
        steps = [int(path.stem.removeprefix("step-")) for path in files]
        assert steps[0] == 0
        assert steps[-1] == result(folder, run)["steps"]
        kept = [load_file(path) for path in files]
        assert {tuple(one["x"].shape) for one in kept} == {shape}
        shown = (folder / run / "report.html").read_text().split("<h3>Samples over training</h3>")[1]
        shown = shown.split("</figure>")[0]
        assert [int(n.replace(",", "")) for n in re.findall(r"samples after ([\d,]+) steps", shown)] == steps
        assert shown.count(f"<{frame} ") == len(steps)
    assert [one["y"].tolist() for one in kept] == [[i % 2 for i in range(128)]] * len(kept)
    with Image.open(io.BytesIO(base64.b64decode(first_picture(folder / "digits")))) as picture:
        assert picture.size == (10 * 50 - 2, 48)
    old = Path(shutil.copytree(folder / "digits", folder / "old"))
    shutil.rmtree(old / "samples")  # as it is in runs of earlier versions
    assert quick("report", "old", *CODE, cwd=folder).code == 0
    shown = (old / "report.html").read_text()
    assert "<h3>Samples over training</h3>" not in shown
    assert "<h3>Samples</h3>" in shown


def first_picture(run: Path) -> str:
    shown = (run / "report.html").read_text().split("<h3>Samples over training</h3>")[1]
    found = re.search(r"data:image/png;base64,([^\"]+)", shown)
    assert found
    return found[1]


def test_the_same_through_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gradlab as gl

    monkeypatch.chdir(folder)
    run = gl.load_run("moons", code="drawing.py")
    drawn = gl.sample(run, 600, class_name="upper", guidance=3.0, seed=4)
    assert drawn.x.shape == (600, 2)
    assert set(drawn.y.tolist()) == {0}
    np.testing.assert_array_equal(drawn.x, run.sample(600, class_name="upper", guidance=3.0, seed=4).x)
    assert not np.allclose(drawn.x.mean(0), run.sample(600, class_name="upper", seed=4).x.mean(0), atol=0.05)
    with pytest.raises(gl.GradlabError, match="at least 1"):
        run.sample(0)
