"""Files of arrays that are unpacked into the cache; to the tests every file is large."""

import io
import zipfile

import numpy as np
import pytest

from gradlab.data import arrays, sources
from gradlab.errors import GradlabError
from gradlab.registry import Part


@pytest.fixture
def read(tmp_path, monkeypatch):
    """`read(large)`: the source `npz` for mine.npz."""

    def build(large=True):
        monkeypatch.setattr(arrays, "_SMALL", 0 if large else 2**40)
        return sources.build(sources.resolve(Part("npz", {"path": str(tmp_path / "mine.npz")}), "data"), 0)

    return build


@pytest.fixture
def save(tmp_path):
    def write(how=np.savez, **changes):
        sound = {"x": np.random.default_rng(0).normal(size=(40, 3)), "y": np.arange(40) % 2}
        how(tmp_path / "mine.npz", **(sound | changes))
        return tmp_path / "mine.npz"

    return write


def refused(read):
    with pytest.raises(GradlabError) as caught:
        read()
    return str(caught.value)


@pytest.mark.parametrize("how", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("kind", ["<f8", "<f4", ">f8", "u1", "?"])
@pytest.mark.parametrize("shape", [(40,), (40, 3), (40, 3, 4, 4)])
def test_a_large_file_holds_what_it_would_hold_if_it_were_small(save, read, how, kind, shape):
    save(how, x=np.random.default_rng(0).integers(0, 2, shape).astype(kind))
    large, small = read(), read(large=False)
    assert isinstance(large.inputs, np.memmap)
    assert not isinstance(small.inputs, np.memmap)
    assert np.array_equal(large.inputs, small.inputs)
    assert large.inputs.dtype == small.inputs.dtype
    assert np.array_equal(large.targets, small.targets)
    assert large.features == small.features
    assert large.classes == small.classes


def test_it_is_unpacked_once_for_each_content(save, read, cache, capsys):
    save()
    first = read()
    assert "Unpacking" in capsys.readouterr().err
    again = read()
    assert capsys.readouterr().err == ""
    assert first.fingerprint() == again.fingerprint()
    save(x=np.zeros((40, 3)))
    assert read().fingerprint() != first.fingerprint()
    assert len(list((cache / "arrays").iterdir())) == 2


def scrambled(path):
    content = bytearray(path.read_bytes())
    content[80:300] = b"\xff" * 220
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize("how", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("damage", [scrambled, cut, lambda path: path.write_bytes(b"PK\x03\x04 noise")])
def test_a_damaged_file_is_named_and_leaves_nothing(save, read, cache, how, damage):
    damage(save(how))
    assert "mine.npz cannot be read as NumPy arrays without pickle" in refused(read)
    assert list(cache.rglob("*.npy")) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"x": np.empty((0, 3))}, "array 'x' of shape (0, 3) holds no examples"),
        ({"x": np.array([["a"]] * 40)}, "array 'x' of type <U1 does not hold numbers"),
        ({"x": np.array([[None]] * 40)}, "array 'x' of type object does not hold numbers"),
        ({"x": np.asfortranarray(np.ones((40, 3)))}, "array 'x' is stored column by column"),
        ({"x": np.ones((39, 3))}, "There are 39 inputs but 40 targets"),
        ({"y": np.arange(39)}, "There are 40 inputs but 39 targets"),
        ({"x": np.full((40, 3), np.nan)}, "hold nan in row 0, column 'x0'"),
    ],
)
def test_arrays_that_cannot_be_trained_on_are_refused(save, read, changes, says):
    save(**changes)
    assert says in refused(read)


@pytest.mark.parametrize("name", ["x", "y"])
def test_an_array_that_is_not_there_is_named(tmp_path, read, name):
    np.savez(tmp_path / "mine.npz", **{n: np.ones(4) for n in "xyz" if n != name})
    assert f"mine.npz has no array {name!r}" in refused(read)


def test_an_array_shorter_than_its_header_says_is_refused_and_not_kept(tmp_path, read, cache):
    file = io.BytesIO()
    np.save(file, np.ones((40, 3)))
    with zipfile.ZipFile(tmp_path / "mine.npz", "w") as archive:
        archive.writestr("x.npy", file.getvalue()[:-8])
        archive.writestr("y.npy", file.getvalue())
    assert "array 'x' is damaged: it is not as long as its header says" in refused(read)
    assert list(cache.rglob("*.npy")) == []


def test_a_file_that_changes_while_it_is_unpacked_is_refused_and_leaves_nothing(save, read, cache, monkeypatch):
    path, unpack = save(), arrays.unpack_npz

    def interrupted(*arguments):
        unpack(*arguments)
        save(x=np.zeros((40, 3)))
        with path.open("ab") as file:
            file.write(b"more")

    monkeypatch.setattr(arrays, "unpack_npz", interrupted)
    assert "mine.npz changed while it was read" in refused(read)
    assert list((cache / "arrays").iterdir()) == []


def test_a_flipped_bit_of_the_cache_is_told_and_the_array_unpacked_again(save, read, cache, capsys):
    save()
    want = np.array(read().inputs)
    (file,) = (cache / "arrays").glob("*/x.npy")
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    np.testing.assert_array_equal(read().inputs, want)
    assert f"{file} is damaged" in capsys.readouterr().err
