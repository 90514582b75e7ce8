import numpy as np
import pytest
import torch

from gradlab.data import load, sources
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


def test_a_path_must_be_given_and_be_a_file(tmp_path):
    with pytest.raises(GradlabError, match=r"data\.path must be given"):
        sources.resolve(Part("npz"), "data")
    with pytest.raises(GradlabError, match="is not a file"):
        load(sources.resolve(Part("npz", {"path": str(tmp_path)}), "data"))
