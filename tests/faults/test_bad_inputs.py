"""Inputs of `gradlab predict` that do not fit."""

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, contents, gradlab
from PIL import Image

INLINE = {
    "1": ["(1,)", "(2,)"],
    "1,2,3": ["(3,)", "(2,)"],
    "one,two": ["one,two", "file", "numbers"],
    "": ["numbers"],
    ",": ["numbers"],
    "1,": ["numbers"],
    "nan,1": ["nan", "row 0", "'x0'"],
    "1,inf": ["inf", "row 0", "'x1'"],
    "1e300,0": ["row 0", "'x0'"],
    "missing.npy": ["missing.npy", "file"],
    ".": ["file"],
}


@pytest.mark.parametrize("text", INLINE)
def test_bad_numbers_are_refused(quick: ForkServer, reference: Path, tmp_path: Path, text: str) -> None:
    check_refused(quick("predict", reference, text, cwd=tmp_path), *INLINE[text])


def npy(array: np.ndarray) -> Callable[[Path], None]:
    return lambda path: np.save(path, array, allow_pickle=False)


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


def raw(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def too_large(path: Path) -> None:
    """A header that claims terabytes."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 2)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)


def png(path: Path) -> None:
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(path)


FILES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "wide.npy": (npy(np.ones((5, 3))), ["(5, 3)", "(2,)"]),
    "deep.npy": (npy(np.ones((5, 2, 2))), ["(5, 2, 2)", "(2,)"]),
    "scalar.npy": (npy(np.array(3.0)), ["()", "no examples"]),
    "text.npy": (npy(np.array([["a", "b"]])), ["numbers"]),
    "complex.npy": (npy(np.ones((1, 2), complex)), ["numbers"]),
    "norows.npy": (npy(np.empty((0, 2))), ["(0, 2)", "no examples"]),
    "nan.npy": (npy(np.array([[0, 0], [0, np.nan]])), ["nan", "row 1", "'x1'"]),
    "empty.npy": (raw(b""), ["empty.npy"]),
    "noise.npy": (raw(b"\x93NUMPY\x01\x00 noise"), ["noise.npy"]),
    "large.npy": (too_large, ["large.npy"]),
    "other.npz": (lambda path: np.savez(path, z=np.ones(2)), ["other.npz", "'x'", "z"]),
    "noise.npz": (raw(b"PK\x03\x04 noise"), ["noise.npz"]),
    "empty.csv": (text(""), ["empty.csv"]),
    "header.csv": (text("a,b\n"), ["header.csv"]),
    "words.csv": (text("a,b\n1,2\n3,four\n"), ["words.csv", "row 1", "3,four"]),
    "ragged.csv": (text("1,2\n3\n"), ["ragged.csv", "row 1"]),
    "wide.csv": (text("1,2,3\n"), ["wide.csv", "(1, 3)", "(2,)"]),
    "nan.csv": (text("0,1\n0,nan\n"), ["nan", "row 1"]),
    "quoted.csv": (text('"1,2",3\n'), ["quoted.csv"]),
    "endless.csv": (text('"' + "1" * 200_000), ["endless.csv"]),
    "binary.csv": (raw(b"\xff\xfe\x00"), ["binary.csv"]),
    "broken.json": (text("[[1, 2]"), ["broken.json"]),
    "ragged.json": (text("[[1, 2], [3]]"), ["ragged.json"]),
    "object.json": (text('{"x": [1, 2]}'), ["object.json"]),
    "words.json": (text('[["a", "b"]]'), ["words.json"]),
    "empty.json": (text("[]"), ["empty.json"]),
    "null.json": (text("[[1, null]]"), ["row 0"]),
    "nan.json": (text("[[1, NaN]]"), ["nan", "row 0"]),
    "nested.json": (text("[" * 100_000), ["nested.json"]),
    "huge.json": (text(f"[[1, {10**400}]]"), ["huge.json"]),
    "picture.png": (png, ["picture.png", "(2,)"]),
    "weights.pt": (raw(b"anything"), ["weights.pt", ".npy"]),
    "noending": (text("1,2"), ["noending", ".npy"]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_refused(quick: ForkServer, reference: Path, tmp_path: Path, name: str) -> None:
    write, words = FILES[name]
    write(tmp_path / name)
    before = contents(reference)
    check_refused(quick("predict", reference, name, "--json", cwd=tmp_path), *words)
    assert contents(reference) == before


@pytest.fixture(scope="module")
def pictures(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that takes pictures of 8×8 pixels."""
    folder = tmp_path_factory.mktemp("pictures")
    assert quick("train", "digits-softmax", "train.steps=2", "--out", "run", "--json", cwd=folder).code == 0
    return folder / "run"


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def bomb(side: int) -> bytes:
    """A small file that unfolds to a huge picture."""
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    data = zlib.compress(bytes(side // 8 + 1) * 8)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def saved(size: int, damage: Callable[[bytearray], None]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        noise = np.random.default_rng(0).integers(0, 255, (size, size), np.uint8)
        Image.fromarray(noise).save(path)
        content = bytearray(path.read_bytes())
        damage(content)
        path.write_bytes(content)

    return write


def truncate(content: bytearray) -> None:
    del content[len(content) // 2 :]


def scramble(content: bytearray) -> None:
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(8)


PICTURES: dict[str, Callable[[Path], None]] = {
    "cut.png": saved(8, truncate),
    "scrambled.png": saved(8, scramble),
    "text.png": text("not a picture"),
    "empty.jpg": raw(b""),
    "bomb.png": raw(bomb(20_000)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_bad_picture_is_refused(quick: ForkServer, pictures: Path, tmp_path: Path, name: str) -> None:
    PICTURES[name](tmp_path / name)
    check_refused(quick("predict", pictures, name, cwd=tmp_path), name)


def test_a_row_of_the_wrong_length_for_pictures_names_both_shapes(
    quick: ForkServer, pictures: Path, tmp_path: Path
) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([[0] * 63]))
    check_refused(quick("predict", pictures, "rows.json", cwd=tmp_path), "(1, 63)", "(1, 8, 8)")


def test_a_category_that_was_not_in_training_is_named(quick: ForkServer, tmp_path: Path) -> None:
    assert quick("train", "diabetes-linear", "train.epochs=1", "--out", "run", "--json", cwd=tmp_path).code == 0
    check_refused(quick("predict", "run", "59,3,32.1,101,157,93.2,38,4,4.9,87", cwd=tmp_path), "Row 0", "'sex'", "3")


def test_bad_numbers_are_refused_by_a_process_of_its_own_too(reference: Path, tmp_path: Path) -> None:
    check_refused(gradlab("predict", reference, "1,2,3", cwd=tmp_path), "(3,)", "(2,)")
