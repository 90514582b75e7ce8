import zipfile

import numpy as np
import pytest
import torch

from gradlab.data import arrays, load, sources
from gradlab.data.array_file import read_npz
from gradlab.errors import GradlabError
from gradlab.registry import Part


@pytest.fixture
def loaded(tmp_path):
    def save_and_load(**arrays):
        np.savez(tmp_path / "mine.npz", **arrays)
        return load(sources.resolve(Part("npz", {"path": str(tmp_path / "mine.npz")}), "data"))

    return save_and_load


def test_integers_and_texts_are_classes_in_order(loaded, rng):
    x = rng.normal(size=(30, 2))
    assert loaded(x=x, y=np.arange(30) % 3 * 10).targets.classes == ["0", "10", "20"]
    texts = loaded(x=x, y=np.array(["dog", "cat"] * 15))
    assert texts.targets.classes == ["cat", "dog"]
    assert texts.raw.targets[:2].tolist() == [1, 0]


def test_classes_written_as_bytes_have_the_same_names_as_text(loaded, rng):
    assert loaded(x=rng.normal(size=(30, 2)), y=np.array([b"dog", b"cat"] * 15)).targets.classes == ["cat", "dog"]


def test_other_numbers_are_a_quantity(loaded, rng):
    data = loaded(x=rng.integers(0, 9, (30, 2)), y=rng.normal(size=30))
    assert data.targets.classes is None
    assert data.raw.features == ["x0", "x1"]
    assert data.train.inputs.dtype == torch.float32


def test_images_keep_their_axes_and_their_bytes(loaded, rng):
    data = loaded(x=rng.integers(0, 255, (30, 3, 4, 4)).astype(np.uint8), y=np.arange(30) % 2)
    assert data.raw.inputs.dtype == np.uint8
    assert data.preprocessing.output_shape == (3, 4, 4)


@pytest.mark.parametrize("shape", [(30,), (30, 1)])
def test_one_input_is_a_column_with_or_without_an_axis_of_its_own(loaded, rng, shape):
    assert loaded(x=rng.normal(size=shape), y=rng.normal(size=30)).train.inputs.shape[1:] == (1,)


def test_a_column_of_classes_is_one_class_per_example_or_refused(loaded, rng):
    try:
        data = loaded(x=rng.normal(size=(30, 2)), y=(np.arange(30) % 3)[:, None])
    except GradlabError as error:
        assert "(30, 1)" in str(error)  # noqa: PT017
    else:
        assert data.train.targets.ndim == 1


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": np.zeros((3, 2))}, "has no array 'y'; it has x."),
        ({"x": np.zeros((3, 2)), "y": np.zeros(2)}, "There are 3 inputs but 2 targets"),
        ({"x": np.array([["a"]]), "y": np.zeros(1)}, "array 'x' of type <U1 does not hold numbers"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0)}, "array 'x' of shape (0, 2) holds no examples"),
        ({"x": np.array(3.0), "y": np.array(3.0)}, "array 'x' of shape () holds no examples"),
        ({"x": np.array([[1.0, np.nan]]), "y": np.zeros(1)}, "hold nan in row 0, column 'x1'"),
        ({"x": np.zeros((2, 2), complex), "y": np.zeros(2)}, "array 'x' of type complex128 does not hold numbers"),
    ],
)
def test_arrays_that_cannot_be_trained_on_are_refused(loaded, arrays, says):
    with pytest.raises(GradlabError) as caught:
        loaded(**arrays)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (np.zeros((3, 0)), "array 'y' of shape (3, 0) holds no examples"),
        (np.zeros(3, complex), "array 'y' of type complex128 does not hold numbers"),
        (np.array([None] * 3), "array 'y' of type object does not hold numbers"),
        (np.array([1.0, np.nan, 2.0]), "hold nan in row 1, column 'target'"),
        (np.array([1, 2, 3], "M8[s]"), "does not hold numbers"),
        (np.array(1.0), "array 'y' of shape () holds no examples"),
        (np.full(3, np.finfo(np.longdouble).max), "hold inf in row 0, column 'target'"),
    ],
)
def test_targets_that_are_no_numbers_are_refused(loaded, y, says):
    with pytest.raises(GradlabError) as caught:
        loaded(x=np.zeros((3, 2)), y=y)
    assert says in str(caught.value)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", ">f8", "longdouble"])
def test_numbers_of_every_type_and_order_are_learned_from(loaded, kind):
    values = np.arange(40).reshape(20, 2).astype(kind)
    data = loaded(x=values, y=values[::-1, 0])
    order = data.train.rows
    assert data.train.targets.tolist() == (38.0 - 2 * order).tolist()
    inputs = data.train.inputs.double().numpy() * data.preprocessing.scale + data.preprocessing.shift
    np.testing.assert_allclose(inputs, values[order].astype(float), rtol=1e-6, atol=1e-4)


def test_an_archive_with_something_else_under_the_name_of_an_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "mine.npz", "w") as archive:
        archive.writestr("x", b"no array")
        archive.writestr("x.npy", b"no array either")
        archive.writestr("y", b"")
    for name, says in (("x", "without pickle"), ("y", "has no array 'y'; it has x.")):
        with pytest.raises(GradlabError, match=says):
            read_npz(tmp_path / "mine.npz", [name])


def test_a_small_archive_that_unpacks_to_much_goes_to_the_disk(tmp_path, monkeypatch, cache):
    monkeypatch.setattr(arrays, "_SMALL", 2**16)
    np.savez_compressed(tmp_path / "mine.npz", x=np.zeros((20_000, 3)), y=np.arange(20_000) % 2)
    assert (tmp_path / "mine.npz").stat().st_size < 2**16
    raw = sources.build(sources.resolve(Part("npz", {"path": str(tmp_path / "mine.npz")}), "data"), 0)
    assert isinstance(raw.inputs, np.memmap)


def test_a_class_name_that_is_no_utf_8_is_kept_apart_from_others(loaded, rng):
    data = loaded(x=rng.normal(size=(30, 2)), y=np.array([b"caf\xe9", b"caf\xe8"] * 15))
    assert data.targets.classes == [r"caf\xe8", r"caf\xe9"]


def test_a_path_must_be_given_and_be_a_file(tmp_path):
    with pytest.raises(GradlabError, match=r"data\.path must be given"):
        sources.resolve(Part("npz"), "data")
    with pytest.raises(GradlabError, match="is not a file"):
        load(sources.resolve(Part("npz", {"path": str(tmp_path)}), "data"))
