import gzip
import math
import struct
import tracemalloc

import numpy as np
import pytest

from gradlab.data import load, sources
from gradlab.data.public.idx import read_idx
from gradlab.errors import GradlabError
from gradlab.registry import Part

CODES = {"u1": 0x08, "i1": 0x09, ">i2": 0x0B, ">i4": 0x0C, ">f4": 0x0D, ">f8": 0x0E}


def idx(values, kind="u1"):
    values = np.asarray(values)
    header = struct.pack(">BBBB", 0, 0, CODES[kind], values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    return header + values.astype(kind).tobytes()


@pytest.mark.parametrize("kind", sorted(CODES))
@pytest.mark.parametrize("packed", [False, True])
def test_values_of_every_type_are_read_gzipped_or_not(kind, packed, tmp_path, rng):
    values = rng.integers(0, 100, (4, 3, 2))
    path = tmp_path / ("file.gz" if packed else "file")
    path.write_bytes(gzip.compress(idx(values, kind)) if packed else idx(values, kind))
    assert np.array_equal(read_idx(path), values)


WHOLE = idx(np.arange(60).reshape(5, 3, 4))


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_file_cut_short_anywhere_is_named(length, tmp_path):
    path = tmp_path / "images"
    path.write_bytes(WHOLE[:length])
    with pytest.raises(GradlabError, match=r"images is (truncated or damaged|not an IDX file)"):
        read_idx(path)


def test_a_file_with_bytes_too_many_is_named(tmp_path):
    path = tmp_path / "images"
    path.write_bytes(WHOLE + b"\0")
    with pytest.raises(GradlabError, match=r"header says shape \(5, 3, 4\), but more than 60 bytes follow"):
        read_idx(path)


def peak(call):
    """Bytes that Python and NumPy took for it at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("count", [2**31, 2**4])
def test_neither_a_header_nor_a_gzip_that_unpacks_to_much_takes_memory(tmp_path, packed, count):
    """A header of two gigabytes before nothing; and sixteen bytes, after which there is no end of zeros."""
    path = tmp_path / ("images.gz" if packed else "images")
    content = idx([0])[:4] + struct.pack(">I", count) + bytes(2**25 if count == 2**4 else 1)
    path.write_bytes(gzip.compress(content, 1) if packed else content)

    def refused():
        with pytest.raises(GradlabError, match=r"images(\.gz)? is truncated or damaged"):
            read_idx(path)

    assert peak(refused) < 2**22


def test_a_header_beyond_the_memory_is_refused_with_the_number(tmp_path):
    path = tmp_path / "images"
    path.write_bytes(struct.pack(">BBBB3I", 0, 0, 8, 3, 2**31, 2**10, 2**10))
    with pytest.raises(GradlabError, match=r"would take 4,503,599\.6 GB of memory"):
        read_idx(path)


@pytest.mark.parametrize("magic", [b"\1\0\x08\1", b"\0\1\x08\1", b"\0\0\x07\1", b"PK\3\4"])
def test_a_wrong_magic_number_is_shown(magic, tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(magic + struct.pack(">I", 1) + b"\0")
    with pytest.raises(GradlabError) as caught:
        read_idx(path)
    assert f"is not an IDX file: its first bytes are {magic.hex(' ')}" in str(caught.value)


def test_a_gzip_file_with_any_byte_flipped_or_cut_is_named_or_reads_the_same(tmp_path, rng):
    values = rng.integers(0, 9, (40, 3))
    whole = gzip.compress(idx(values))
    path = tmp_path / "labels.gz"
    for place in range(len(whole)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            try:
                assert np.array_equal(read_idx(path), values)  # the header has bytes that mean nothing
            except GradlabError as error:
                assert "labels.gz" in str(error)  # noqa: PT017


@pytest.fixture
def folder(tmp_path, rng):
    """Two dozen small images in the four files."""

    def write(train=20, test=6, suffix="", labels=None, size=(28, 28)):
        pack = gzip.compress if suffix == ".gz" else bytes
        for part, count in (("train", train), ("t10k", test)):
            images = rng.integers(0, 256, (count, *size))
            given = (np.arange(count) % 10) if labels is None else labels[part]
            (tmp_path / f"{part}-images-idx3-ubyte{suffix}").write_bytes(pack(idx(images)))
            (tmp_path / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(pack(idx(given)))
        return tmp_path

    return write


def dataset(folder, name="mnist"):
    return load(sources.resolve(Part(name, {"path": str(folder)}), "data"))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_official_test_split_is_kept(folder, suffix):
    data = dataset(folder(suffix=suffix))
    assert data.raw.inputs.shape == (26, 1, 28, 28)
    assert data.test.rows.tolist() == list(range(20, 26))
    assert data.test.targets.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(data.train) + len(data.validation) == 20


def test_bytes_tell_what_white_is_so_that_samples_are_shown_as_the_pictures_are(folder):
    assert dataset(folder()).raw.reader.describe() == {"kind": "array", "shape": [1, 28, 28], "white": 255}


def test_names_with_a_dot_are_found_too(folder):
    path = folder()
    for file in list(path.iterdir()):
        file.rename(path / file.name.replace("-idx", ".idx"))
    assert len(dataset(path).test) == 6


def test_fashion_mnist_knows_the_names_of_its_clothes(folder):
    assert dataset(folder(), "fashion-mnist").targets.classes[9] == "ankle boot"


def test_a_missing_file_or_folder_is_named(folder, tmp_path):
    path = folder()
    (path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(GradlabError, match=r"has no file t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte\.gz"):
        dataset(path)
    with pytest.raises(GradlabError, match="nowhere is not a folder"):
        dataset(tmp_path / "nowhere")


@pytest.mark.parametrize("label", [math.nan, math.inf, -math.inf, 0.5, -1.0, 10.0])
def test_label_that_is_no_class_is_refused_without_a_warning(folder, label):
    path = folder()
    (path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.array([label, 1, 2, 3, 4, 5]), ">f8"))
    with pytest.raises(GradlabError, match=f"has a label {label:g}, but there are 10 classes"):
        dataset(path)


def test_a_label_beyond_the_classes_is_named(folder):
    with pytest.raises(GradlabError, match="has a label 11, but there are 10 classes"):
        dataset(folder(2, 1, labels={"train": [0, 11], "t10k": [1]}))


def test_labels_must_match_the_images_of_their_own_part(folder):
    with pytest.raises(GradlabError):
        dataset(folder(4, 2, labels={"train": [0, 1, 2], "t10k": [1, 2, 3]}))


def test_images_of_two_sizes_are_refused(folder):
    path = folder()
    (path / "t10k-images-idx3-ubyte").write_bytes(idx(np.zeros((6, 14, 14))))
    with pytest.raises(GradlabError):
        dataset(path)
