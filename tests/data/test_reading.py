import gc
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gradlab.data import ArrayReader, read_inputs, reader_of
from gradlab.errors import GradlabError

TABLE = np.array([[5.1, 3.5, 1.4], [-4.9, 3e-7, 1e12]])


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def refused(source, shape):
    with pytest.raises(GradlabError) as caught:
        ArrayReader(shape).read(str(source))
    said = str(caught.value)
    del caught
    gc.collect(1)  # a file left open is told here, by a warning, and not in some later test
    return said


def test_the_same_table_is_read_from_every_kind_of_file(tmp_path):
    np.save(tmp_path / "a.npy", TABLE)
    np.savez(tmp_path / "a.npz", x=TABLE)
    np.savez_compressed(tmp_path / "b.npz", x=TABLE, y=[1])
    (tmp_path / "a.json").write_text(json.dumps(TABLE.tolist()))
    rows = "\n".join(",".join(map(repr, row)) for row in TABLE.tolist())
    (tmp_path / "a.csv").write_text(rows)
    (tmp_path / "b.csv").write_text(f"length,width,depth\n\n{rows}\n")
    (tmp_path / "C.CSV").write_text(f'"length","width","depth"\r\n{rows}\r\n')
    for path in tmp_path.iterdir():
        assert np.array_equal(read_inputs(str(path), (3,)), TABLE), path.name


def test_numbers_may_be_given_in_place_of_a_file():
    assert read_inputs("5.1, 3.5,-1e3", (3,)).tolist() == [[5.1, 3.5, -1000.0]]


@pytest.mark.parametrize("count", [64, 784])
def test_an_image_may_be_given_as_its_numbers(count):
    side = int(count**0.5)
    text = ",".join(f"{i / 8:.3f}" for i in range(count))
    assert read_inputs(text, (1, side, side)).shape == (1, 1, side, side)


def test_one_example_without_a_leading_axis_is_one_row(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros((1, 4, 4)))
    assert read_inputs(str(tmp_path / "one.npy"), (1, 4, 4)).shape == (1, 1, 4, 4)


def test_images_may_come_as_rows_of_numbers(tmp_path):
    images = np.arange(96.0).reshape(3, 2, 4, 4)
    np.save(tmp_path / "flat.npy", images.reshape(3, 32))
    assert np.array_equal(read_inputs(str(tmp_path / "flat.npy"), (2, 4, 4)), images)


@pytest.mark.parametrize("kind", ["u1", "i8", "?", "f4", ">f8", ">i2"])
def test_numbers_of_every_type_are_read(kind, tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0, 1], [1, 1]], kind))
    assert read_inputs(str(tmp_path / "a.npy"), (2,)).tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("channels", [1, 3])
def test_a_picture_is_read_with_channels_first(channels, tmp_path, rng):
    pixels = rng.integers(0, 256, (5, 4) if channels == 1 else (5, 4, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    got = ArrayReader((channels, 5, 4)).read(str(tmp_path / "a.png")).values
    want = pixels[None] if channels == 1 else np.moveaxis(pixels, -1, 0)
    assert np.array_equal(got, want[None])


def test_a_coloured_picture_becomes_grey_where_the_model_takes_one_channel(tmp_path):
    Image.new("RGB", (4, 4), (255, 255, 255)).save(tmp_path / "a.png")
    reading = ArrayReader((1, 4, 4)).read(str(tmp_path / "a.png"))
    assert (reading.values == np.full((1, 1, 4, 4), 255)).all()
    assert reading.notes == ["a.png was read with changes: made grey."]


def test_a_picture_for_a_model_of_tables_is_refused(tmp_path):
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    assert "is a picture, but the model takes inputs of shape (4,)" in refused(tmp_path / "a.png", (4,))


def test_what_only_has_the_name_of_a_picture_is_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"not a picture")
    assert "a.png cannot be read as a picture" in refused(tmp_path / "a.png", (1, 8, 8))


def animated(path):
    Image.new("L", (4, 4), 0).save(path, save_all=True, append_images=[Image.new("L", (4, 4), 255)])


def turned(path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (4, 8)).save(path, exif=exif)


@pytest.mark.parametrize(
    ("name", "write", "words"),
    [
        ("plain.png", lambda path: Image.new("L", (4, 4)).save(path), None),
        (
            "wide.png",
            lambda path: Image.new("L", (8, 6)).save(path),
            "cut to the middle, resized from 6×8 to 4×4 pixels",
        ),
        ("large.png", lambda path: Image.new("L", (8, 8)).save(path), "resized from 8×8 to 4×4 pixels"),
        ("dot.png", lambda path: Image.new("L", (1, 1), 9).save(path), "resized from 1×1 to 4×4 pixels"),
        ("alpha.png", lambda path: Image.new("LA", (4, 4)).save(path), "put on white where it is transparent"),
        ("palette.gif", lambda path: Image.new("P", (4, 4)).save(path), "made grey"),
        ("deep.png", lambda path: Image.new("I;16", (4, 4)).save(path), "brought to 8 bits"),
        ("moving.gif", animated, "its first frame taken, made grey"),
        (
            "turned.jpg",
            turned,
            "turned upright, made grey, cut to the middle, resized from 4×8 to 4×4 pixels",
        ),
    ],
)
def test_a_picture_of_any_size_and_mode_is_read_and_what_was_done_is_told(tmp_path, name, write, words):
    write(tmp_path / name)
    reading = ArrayReader((1, 4, 4)).read(str(tmp_path / name))
    assert reading.values.shape == (1, 1, 4, 4)
    assert reading.names == [name]
    assert reading.notes == ([] if words is None else [f"{name} was read with changes: {words}."])


def test_white_of_a_file_becomes_white_of_the_data(tmp_path):
    Image.fromarray(np.array([[0, 255], [51, 102]], np.uint8)).save(tmp_path / "a.png")
    reader = ArrayReader((1, 2, 2), white=10.0)
    reading = reader.read(str(tmp_path / "a.png"))
    np.testing.assert_allclose(reading.values, [[[[0, 10], [2, 4]]]])
    assert reading.notes == ["White, 255 in the file, is 10 in the data of the run."]
    assert reader_of(reader.describe(), ()) == reader


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"1,2,3\n4,5\n", "row 1: expected 3 numbers, got '4,5'"),
        ("a.csv", b"1,2,3\n4,x,6\n", "row 1: expected 3 numbers, got '4,x,6'"),
        ("a.csv", b"a,b,c\n", "does not hold numbers"),
        ("a.csv", b"", "does not hold numbers"),
        ("a.csv", b"\xff\xfe\n", "cannot be read"),
        ("a.csv", b"a" * 200_000 + b",b,c\n1,2,3\n", "a.csv"),
        ("a.json", b"{", "cannot be read"),
        ("a.json", b"[[1,2],[3]]", "cannot be read"),
        ("a.json", b'{"a": 1}', "cannot be read"),
        ("a.json", b"[]", "does not hold numbers"),
        ("a.json", b"[" * 100_000, "cannot be read"),
        ("a.npy", b"", "cannot be read"),
        ("a.npy", b"not an array", "cannot be read"),
        ("a.npz", b"", "cannot be read"),
        ("a.npz", b"PK\x03\x04 torn", "cannot be read"),
        ("a.txt", b"1,2,3", "files of type .txt are not read"),
        ("a", b"1,2,3", "files of type none are not read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(name, content, says, tmp_path):
    (tmp_path / name).write_bytes(content)
    said = refused(tmp_path / name, (3,))
    assert name in said
    assert says in said


def test_an_npz_without_the_array_x_is_told_what_it_has(tmp_path):
    np.savez(tmp_path / "a.npz", z=TABLE)
    assert "has no array 'x'; it has z." in refused(tmp_path / "a.npz", (3,))


def test_an_npy_under_the_name_of_an_npz_is_named(tmp_path):
    np.save(tmp_path / "a.npy", TABLE)
    assert "a.npz" in refused((tmp_path / "a.npy").rename(tmp_path / "a.npz"), (3,))


def test_an_npz_with_any_byte_flipped_is_named_or_reads_the_same(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=TABLE)
    whole = (tmp_path / "a.npz").read_bytes()
    for place in range(len(whole)):
        (tmp_path / "b.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            assert np.array_equal(read_inputs(str(tmp_path / "b.npz"), (3,)), TABLE)
        except GradlabError as error:
            assert "b.npz" in str(error)  # noqa: PT017
    gc.collect()


@pytest.mark.parametrize("text", ["nowhere.csv", "1,2,", "one,two", ""])
def test_what_is_neither_a_file_nor_numbers_is_refused(text):
    assert "is neither a file nor numbers with commas between them" in refused(text, (3,))


def test_numbers_of_another_count_are_refused_with_both_shapes():
    assert "has shape (4,), but the model takes inputs of shape (3,)" in refused("1,2,3,4", (3,))


@pytest.mark.parametrize("dtype", ["U3", "S3", "c16", "M8[s]"])
def test_arrays_of_other_things_than_numbers_are_refused(dtype, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3), dtype))
    assert "does not hold numbers" in refused(tmp_path / "a.npy", (3,))


@pytest.mark.parametrize("name", ["object.npy", "object.npz", "bare.npy", "bare.npz"])
def test_what_is_pickled_is_refused_without_being_unpickled(name, tmp_path):
    mark, path = tmp_path / "executed", tmp_path / name
    array = np.array([[Payload(mark)] * 3], dtype=object)
    if name == "object.npy":
        np.save(path, array, allow_pickle=True)
    elif name == "object.npz":
        np.savez(path, x=array)
    else:
        path.write_bytes(pickle.dumps(Payload(mark)))
    assert name in refused(path, (3,))
    assert not mark.exists()
    pickle.loads(pickle.dumps(Payload(mark)))  # noqa: S301  (the payload is live: whoever unpickles it makes the file)
    assert mark.exists()
