import gzip
import io
import tarfile

import numpy as np
import pytest

from gradlab.data import load, sources
from gradlab.data.public.cifar import CIFAR10, CIFAR100
from gradlab.errors import GradlabError
from gradlab.registry import Part

LAYOUTS = [CIFAR10, CIFAR100]
EACH = pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.source for layout in LAYOUTS])
PER_FILE = 4


def records(rng, layout, count):
    """Random pictures behind random labels, as the authors describe the format."""
    labels = [rng.integers(0, classes, (count, 1)) for classes in layout.names.values()]
    return np.concatenate([*labels, rng.integers(0, 256, (count, 3072))], axis=1).astype(np.uint8)


def content(rng, layout):
    """Every file of a small data set."""
    files = {name: records(rng, layout, PER_FILE).tobytes() for name in (*layout.train, layout.test)}
    for name, count in layout.names.items():
        # The authors' own list ends with an empty line.
        files[name] = "".join(f"{name[:4]}_{i}\n" for i in range(count)).encode() + b"\n"
    return files | {"readme.html": b"<html>"}


def write(folder, files):
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def packed(files, folder):
    """The files as a .tar: a folder, and the files in it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        top = tarfile.TarInfo(folder)
        top.type = tarfile.DIRTYPE
        archive.addfile(top)
        for name, data in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


@pytest.fixture
def files(layout, rng):
    return content(rng, layout)


def raw(layout, path, **knobs):
    values = {**knobs, **({} if path is None else {"path": str(path)})}
    return load(sources.resolve(Part(layout.source, values), "data")).raw


def place_folder(tmp_path, layout, files):
    return write(tmp_path / "anything", files)


def place_parent(tmp_path, layout, files):
    return write(tmp_path / "data" / layout.folder, files).parent


def place_archive(tmp_path, layout, files):
    path = tmp_path / "any.tar.gz"
    path.write_bytes(gzip.compress(packed(files, layout.folder)))
    return path


def place_unzipped(tmp_path, layout, files):
    path = tmp_path / "any.tar"
    path.write_bytes(packed(files, layout.folder))
    return path


def place_archive_in_folder(tmp_path, layout, files):
    path = tmp_path / "fetched" / layout.archive
    path.parent.mkdir()
    path.write_bytes(gzip.compress(packed(files, layout.folder)))
    return path.parent


PLACES = [place_folder, place_parent, place_archive, place_unzipped, place_archive_in_folder]


@EACH
@pytest.mark.parametrize("place", PLACES)
def test_pictures_and_labels_are_read_from_wherever_the_files_are(layout, files, tmp_path, place):
    found = raw(layout, place(tmp_path, layout, files))
    labels = len(layout.names)
    expected = b"".join(files[name] for name in (*layout.train, layout.test))
    assert found.inputs.shape == (PER_FILE * (len(layout.train) + 1), 3, 32, 32)
    assert found.inputs.dtype == np.uint8
    for i, image in enumerate(found.inputs):
        record = expected[i * (labels + 3072) : (i + 1) * (labels + 3072)]
        assert found.targets[i] == record[labels - 1]
        # Red first, then green, then blue, each row by row.
        assert image[0, 0, 1] == record[labels + 1]
        assert image[1, 0, 0] == record[labels + 1024]
        assert image[2, 31, 31] == record[-1]
        assert image.tobytes() == record[labels:]


@EACH
def test_the_official_test_split_is_kept(layout, files, tmp_path):
    part = Part(layout.source, {"path": str(write(tmp_path / "data", files))})
    data = load(sources.resolve(part, "data"))
    count = PER_FILE * len(layout.train)
    assert data.test.rows.tolist() == list(range(count, count + PER_FILE))
    assert sorted([*data.train.rows, *data.validation.rows]) == list(range(count))


@EACH
def test_classes_have_the_names_in_the_files(layout, files, tmp_path):
    name, count = list(layout.names.items())[-1]
    assert raw(layout, write(tmp_path / "data", files)).classes == [f"{name[:4]}_{i}" for i in range(count)]


def test_coarse_labels_are_the_groups_of_the_fine_ones(rng, tmp_path):
    files = content(rng, CIFAR100)
    folder = write(tmp_path / "data", files)
    coarse, fine = raw(CIFAR100, folder, labels="coarse"), raw(CIFAR100, folder)
    both = np.frombuffer(files["train.bin"] + files["test.bin"], np.uint8).reshape(-1, 3074)[:, :2]
    assert coarse.targets.tolist() == both[:, 0].tolist()
    assert fine.targets.tolist() == both[:, 1].tolist()
    assert (len(coarse.classes), len(fine.classes)) == (20, 100)
    assert coarse.classes[3] == "coar_3"
    with pytest.raises(GradlabError, match=r"data\.labels=rough is not valid"):
        raw(CIFAR100, folder, labels="rough")


@EACH
def test_without_a_path_the_cache_is_read(layout, files, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADLAB_CACHE", str(tmp_path))
    with pytest.raises(GradlabError, match=f"gradlab data fetch {layout.source}.*--data FOLDER"):
        raw(layout, None)
    folder = tmp_path / "datasets" / layout.source
    folder.mkdir(parents=True)
    (folder / layout.archive).write_bytes(gzip.compress(packed(files, layout.folder)))
    assert len(raw(layout, None).inputs) == PER_FILE * (len(layout.train) + 1)


def refused(layout, path):
    """The message, which must say what to do."""
    with pytest.raises(GradlabError) as caught:
        raw(layout, path)
    assert f"gradlab data fetch {layout.source}" in str(caught.value)
    return str(caught.value)


@EACH
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b""])
def test_a_file_that_is_no_number_of_records_is_named(layout, files, tmp_path, change):
    for name in (layout.train[-1], layout.test):
        folder = write(tmp_path / name, files | {name: change(files[name])})
        assert f"{name} is truncated or damaged" in refused(layout, folder)


@EACH
def test_a_label_beyond_the_classes_is_named_with_its_record(layout, files, tmp_path):
    length = len(layout.names) + 3072
    for column, count in enumerate(layout.names.values()):
        data = bytearray(files[layout.test])
        data[2 * length + column] = count
        folder = write(tmp_path / str(column), files | {layout.test: bytes(data)})
        message = refused(layout, folder)
        assert f"{layout.test} is damaged: record 2 (from 0) has label {count}, but there are {count}" in message


@EACH
def test_every_file_that_is_missing_is_named(layout, files, tmp_path):
    for number, name in enumerate(layout.files):
        rest = {other: data for other, data in files.items() if other != name}
        assert f"has no file {name}." in refused(layout, write(tmp_path / str(number), rest))
        assert f"has no file {name}." in refused(layout, place_archive(tmp_path, layout, rest))


@EACH
def test_a_list_of_names_of_another_length_is_named(layout, files, tmp_path):
    name = list(layout.names)[-1]
    folder = write(tmp_path / "data", files | {name: files[name] + b"one more\n"})
    assert f"{name} has {layout.names[name] + 2} names of classes" in refused(layout, folder)


@EACH
def test_an_archive_cut_short_anywhere_is_named(layout, files, tmp_path):
    path = place_archive(tmp_path, layout, files)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), len(whole) // 60), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert "any.tar.gz" in refused(layout, path)


@EACH
def test_an_archive_with_any_byte_flipped_is_named_or_reads_the_same(layout, files, tmp_path, rng):
    for name in (*layout.train, layout.test):
        files[name] = (np.frombuffer(files[name], np.uint8) & 3).tobytes()  # noise would be stored uncompressed
    path = place_archive(tmp_path, layout, files)
    whole, inputs = path.read_bytes(), raw(layout, path).inputs
    for place in [*range(24), *rng.integers(24, len(whole), 40), *range(len(whole) - 8, len(whole))]:
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            assert np.array_equal(raw(layout, path).inputs, inputs)  # the header has bytes that mean nothing
        except GradlabError as error:
            assert "any.tar.gz" in str(error)  # noqa: PT017


@EACH
@pytest.mark.parametrize("what", ["no archive at all", ""])
def test_a_file_that_is_no_archive_is_named(layout, tmp_path, what):
    (tmp_path / "some.bin").write_text(what)
    assert "some.bin" in refused(layout, tmp_path / "some.bin")
    (tmp_path / "some.tar.gz").write_bytes(gzip.compress(what.encode()))
    assert "some.tar.gz" in refused(layout, tmp_path / "some.tar.gz")


@EACH
def test_a_place_without_the_files_is_named(layout, tmp_path):
    assert "nowhere does not exist" in refused(layout, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert f"empty has no file {layout.test}" in refused(layout, tmp_path / "empty")


PYTHON = {
    "cifar10": ("cifar-10-batches-py", "cifar-10-python.tar.gz"),
    "cifar100": ("cifar-100-python", "cifar-100-python.tar.gz"),
}


@EACH
def test_the_python_version_is_refused_as_a_pickle_with_the_version_to_get(layout, tmp_path):
    folder, archive = PYTHON[layout.source]
    inside = {"data_batch_1": b"\x80\x02}", "train": b"\x80\x02}", "batches.meta": b"\x80\x02}"}
    pickled = write(tmp_path / "data" / folder, inside)
    (tmp_path / "renamed.tar.gz").write_bytes(gzip.compress(packed(inside, folder)))
    (tmp_path / archive).write_bytes(b"not looked into")
    for place in (pickled, pickled.parent, tmp_path / "renamed.tar.gz", tmp_path / archive):
        message = refused(layout, place)
        assert "a pickle" in message
        assert layout.archive in message


@EACH
def test_the_binary_version_is_read_beside_the_python_one(layout, files, tmp_path):
    write(tmp_path / PYTHON[layout.source][0], {"data_batch_1": b"\x80\x02}"})
    write(tmp_path / layout.folder, files)
    assert len(raw(layout, tmp_path).inputs) == PER_FILE * (len(layout.train) + 1)
