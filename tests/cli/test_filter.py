"""`gradlab filter`: known kernels on a picture, beside SciPy and OpenCV."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused
from PIL import Image
from scipy.ndimage import correlate

from gradlab.data.pictures.filtering import KERNELS, read_kernel

OWN = "[[1, -2.5, 0.25, 0, 2]]"
LAPLACE = "[[0, 1, 0], [1, -4, 1], [0, 1, 0]]"
ABSOLUTE = ["sobel-x", "sobel-y", LAPLACE]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Smooth shades with an edge and some noise, grey and in colour."""
    y, x = np.mgrid[:30, :41]
    shades = np.stack([120 + 90 * np.sin(x / 5) * np.cos(y / 7), 6.0 * x, 255.0 * (x + y > 35)], axis=-1)
    colour = (shades + np.random.default_rng(0).normal(0, 12, shades.shape)).clip(0, 255).astype(np.uint8)
    Image.fromarray(colour).save(tmp_path / "colour.png")
    Image.fromarray(colour[..., 0]).save(tmp_path / "grey.png")
    return tmp_path


def filtered(quick: ForkServer, folder: Path, image: str, kernel: str) -> np.ndarray:
    ended = quick("filter", image, "--kernel", kernel, "--out", "out.png", cwd=folder)
    assert ended.code == 0, ended.err
    with Image.open(folder / "out.png") as out:
        assert out.mode == ("L" if image == "grey.png" else "RGB")
        return np.asarray(out).astype(int)


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image).astype(np.float64)


@pytest.mark.parametrize("kernel", [*KERNELS, OWN, LAPLACE])
@pytest.mark.parametrize("image", ["grey.png", "colour.png"])
def test_each_channel_is_correlated_with_the_kernel_and_mirrored_at_the_border(
    quick: ForkServer, pictures: Path, image: str, kernel: str
) -> None:
    chosen, source = read_kernel(kernel), pixels(pictures / image)
    weights = chosen.kernel.double().numpy() / chosen.divisor
    planes = source[..., None] if source.ndim == 2 else source
    answer = np.stack([correlate(planes[..., c], weights, mode="mirror") for c in range(planes.shape[-1])], axis=-1)
    shown = (np.abs(answer) if kernel in ABSOLUTE else answer).clip(0, 255)
    result = filtered(quick, pictures, image, kernel)
    assert np.abs(result - shown.reshape(result.shape)).max() <= 0.5001
    assert result.std() > 3


def opencv(cv2: ModuleType, source: np.ndarray, kernel: str) -> np.ndarray:
    """OpenCV's own function for the kernel, with its default border, in double precision."""
    match kernel:
        case "mean":
            return cv2.blur(source, (5, 5))
        case "sobel-x":
            return cv2.Sobel(source, cv2.CV_64F, 1, 0)
        case "sobel-y":
            return cv2.Sobel(source, cv2.CV_64F, 0, 1)
        case "gaussian":
            whole = [[1, 4, 7, 4, 1], [4, 16, 26, 16, 4], [7, 26, 41, 26, 7], [4, 16, 26, 16, 4], [1, 4, 7, 4, 1]]
            return cv2.filter2D(source, -1, np.array(whole) / 273)
        case "sharpen":
            return cv2.filter2D(source, -1, np.array([[0.0, -1, 0], [-1, 5, -1], [0, -1, 0]]))
    return cv2.filter2D(source, -1, np.array(json.loads(kernel), dtype=np.float64))


@pytest.mark.parametrize("kernel", [*KERNELS, OWN, LAPLACE])
@pytest.mark.parametrize("image", ["grey.png", "colour.png"])
def test_it_is_what_opencv_computes(quick: ForkServer, pictures: Path, image: str, kernel: str) -> None:
    cv2 = pytest.importorskip("cv2")
    answer = opencv(cv2, pixels(pictures / image), kernel)
    shown = (np.abs(answer) if kernel in ABSOLUTE else answer).clip(0, 255)
    assert np.abs(filtered(quick, pictures, image, kernel) - shown).max() <= 0.5001


def test_the_gaussian_is_near_that_of_opencv(quick: ForkServer, pictures: Path) -> None:
    """Which takes the density at the middle of each pixel, where the course's numbers are sums over the pixel."""
    cv2 = pytest.importorskip("cv2")
    answer = cv2.GaussianBlur(pixels(pictures / "grey.png"), (5, 5), 1)
    assert np.abs(filtered(quick, pictures, "grey.png", "gaussian") - answer).mean() < 1


def test_what_was_done_is_printed(quick: ForkServer, pictures: Path) -> None:
    ended = quick("filter", "colour.png", "--kernel", "sobel_x", "--out", "edges.jpg", "--plain", cwd=pictures)
    for words in ["colour.png: 41×30 pixels, colour", "3×3: sobel_x", "absolute values, since the kernel sums to 0"]:
        assert words in ended.out
    with Image.open(pictures / "edges.jpg") as out:
        assert (out.format, out.size) == ("JPEG", (41, 30))
    printed = quick("filter", "grey.png", "--kernel", "sharpen", "--out", "s.png", "--json", cwd=pictures).json
    assert printed["kernel"] == [[0, -1, 0], [-1, 5, -1], [0, -1, 0]]
    assert (printed["height"], printed["width"], printed["channels"], printed["absolute"]) == (30, 41, 1, False)
    assert 0 < printed["clipped"] < 0.5


def test_a_picture_is_filtered_as_a_viewer_shows_it(quick: ForkServer, tmp_path: Path) -> None:
    """Turned upright, and on white where it is transparent."""
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(np.zeros((6, 9, 4), np.uint8), "RGBA").save(tmp_path / "clear.png", exif=turned)
    result = filtered(quick, tmp_path, "clear.png", "mean")
    assert result.shape == (9, 6, 3)
    assert (result == 255).all()


KERNEL_FAULTS = {
    "no such name": ("gausian", ["no kernel 'gausian'", "Did you mean 'gaussian'?", "[[0, 1, 0]"]),
    "nothing": ("", ["no kernel ''"]),
    "a number": ("3", ["no kernel '3'"]),
    "cut short": ("[[1, 2", ["cannot be read"]),
    "no rows": ("[]", ["[] is no matrix"]),
    "an empty row": ("[[]]", ["[[]] is no matrix"]),
    "one row without brackets": ("[1, 2, 3]", ["[1, 2, 3] is no matrix"]),
    "uneven rows": ("[[1, 2, 3], [1], [1, 2, 3]]", ["rows of the kernel have 1 and 3 numbers"]),
    "an even size": ("[[1, 2], [3, 4]]", ["2×2", "odd number of rows"]),
    "even columns": ("[[1, 2]]", ["1×2"]),
    "a word": ('[["a"]]', ['"a"', "no number"]),
    "no number": ("[[NaN]]", ["NaN", "no number"]),
    "a truth value": ("[[true]]", ["true", "no number"]),
    "too deep": ("[[[1]]]", ["[1]", "no number"]),
    "too large": ("[[1e300]]", ["1e+300", "no number up to 1e+30"]),
    "nested for ever": ("[" * 100_000, ["cannot be read"]),
    "larger than the picture": (json.dumps([[1] * 99] * 99), ["50×50 pixels or more, got 30×41"]),
}


@pytest.mark.parametrize("name", KERNEL_FAULTS)
def test_a_kernel_that_is_none_is_refused(quick: ForkServer, pictures: Path, name: str) -> None:
    kernel, words = KERNEL_FAULTS[name]
    check_refused(quick("filter", "grey.png", f"--kernel={kernel}", "--out", "out.png", cwd=pictures), *words)
    assert not (pictures / "out.png").exists()


def test_a_file_that_is_no_picture_is_refused(quick: ForkServer, pictures: Path) -> None:
    whole = (pictures / "colour.png").read_bytes()
    (pictures / "cut.png").write_bytes(whole[: len(whole) // 2])
    (pictures / "empty.png").write_bytes(b"")
    (pictures / "words.txt").write_text("no picture")
    for image in ["cut.png", "empty.png", "words.txt", "missing.png", "."]:
        ended = quick("filter", image, "--kernel", "mean", "--out", "out.png", cwd=pictures)
        check_refused(ended, f"{image} cannot be read as a picture")
        assert not (pictures / "out.png").exists()


def test_a_place_that_cannot_be_written_is_refused(quick: ForkServer, pictures: Path) -> None:
    def to(out: str, *words: str) -> None:
        check_refused(quick("filter", "grey.png", "--kernel", "mean", "--out", out, cwd=pictures), *words)

    (pictures / "folder.png").mkdir()
    before = (pictures / "grey.png").read_bytes()
    to("nowhere/out.png", "nowhere/out.png cannot be written")
    to("folder.png", "folder.png cannot be written")
    to("out", "out does not end in a format of pictures: .bmp")
    to("out.txt", "out.txt does not end")
    to("./grey.png", "--out is the picture itself")
    assert (pictures / "grey.png").read_bytes() == before
    check_refused(quick("filter", "grey.png", "--kernel", "mean", cwd=pictures), "--out")


def test_a_format_that_cannot_hold_the_picture_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    Image.fromarray(np.zeros((5, 70_000), np.uint8)).save(tmp_path / "wide.png")
    ended = quick("filter", "wide.png", "--kernel", "mean", "--out", "wide.jpg", cwd=tmp_path)
    check_refused(ended, "cannot be written as .jpg", "Name a .png file")
