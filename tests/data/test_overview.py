import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from gradlab.data import Raw, load, sources
from gradlab.data import raw as module
from gradlab.data.overview import Overview
from gradlab.registry import Part


def overview(name, **values):
    return Overview.of(load(sources.resolve(Part(name, values), "data")).raw)


def test_a_table_is_told_column_by_column():
    seen, flowers = overview("iris"), load_iris()
    assert (seen.examples, seen.shape, seen.dtype) == (150, [4], "float64")
    assert seen.classes == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert seen.target is None
    assert [f.name for f in seen.features] == flowers.feature_names
    for feature, column in zip(seen.features, flowers.data.T, strict=True):
        figures = (feature.low, feature.mean, feature.std, feature.high)
        assert figures == pytest.approx((column.min(), column.mean(), column.std(), column.max()))
        assert (feature.kind, feature.missing, feature.categories) == ("number", 0, None)


def test_images_are_told_channel_by_channel(rng):
    grey = overview("digits")
    assert grey.shape == [1, 8, 8]
    (channel,) = grey.features
    pixels = load_digits().images
    assert (channel.name, channel.low, channel.high) == ("grey", 0, 16)
    assert channel.mean == pytest.approx(pixels.mean())
    coloured = Overview.of(Raw(inputs=rng.integers(0, 256, (5, 3, 4, 4)).astype(np.uint8), targets=np.zeros(5)))
    assert [f.name for f in coloured.features] == ["red", "green", "blue"]
    many = Overview.of(Raw(inputs=rng.integers(0, 256, (5, 4, 4, 4)).astype(np.uint8), targets=np.zeros(5)))
    assert [f.name for f in many.features] == ["0", "1", "2", "3"]


def test_a_quantity_to_predict_is_told_like_a_column(read_table):
    seen = Overview.of(read_table("size,colour,price\n1,red,10.5\n2,,20\n,blue,30\n4,red,\n", target="price"))
    target = seen.target
    assert (target.name, target.low, target.mean, target.high) == ("price", 10.5, pytest.approx(60.5 / 3), 30)
    size, colour = seen.features
    assert (size.kind, size.low, size.high, size.missing) == ("number", 1, 2, 1)
    assert (colour.kind, colour.categories, colour.missing) == ("category", 2, 1)
    assert seen.classes == {}
    assert "Left out 1 row in which 'price' is missing." in seen.notes


def test_a_class_without_an_example_is_told_as_such(rng):
    raw = Raw(inputs=rng.normal(size=(4, 1)), targets=np.array([0, 2, 2, 0]), classes=["a", "b", "c"])
    assert Overview.of(raw).classes == {"a": 2, "b": 0, "c": 2}


@pytest.mark.parametrize(
    ("starts", "splits"),
    [
        ({}, {}),
        ({"test_from": 7}, {"train": 7, "test": 3}),
        ({"validation_from": 6}, {"train": 6, "validation": 4}),
        ({"validation_from": 5, "test_from": 7}, {"train": 5, "validation": 2, "test": 3}),
    ],
)
def test_splits_that_a_source_brings_are_told(rng, starts, splits):
    raw = Raw(inputs=rng.normal(size=(10, 1)), targets=np.zeros(10), **starts)
    assert Overview.of(raw).splits == splits


def test_the_figures_do_not_depend_on_how_much_is_looked_at_at_once(rng, monkeypatch):
    raw = Raw(inputs=rng.normal(size=(100, 3)), targets=rng.normal(size=100))
    whole = Overview.of(raw)
    monkeypatch.setattr(module, "_CHUNK", 16)
    for one, other in zip(Overview.of(raw).features, whole.features, strict=True):
        assert one.mean == pytest.approx(other.mean)
        assert (one.low, one.high) == (other.low, other.high)


def test_large_images_are_looked_at_a_few_at_a_time():
    """A chunk takes eight bytes for each pixel: many rows at once would be gigabytes."""
    looked = []

    class Watched(np.ndarray):
        def __getitem__(self, rows):
            if isinstance(rows, slice):
                looked.append(rows.stop - rows.start)
            return np.asarray(super().__getitem__(rows))

    images = np.zeros((50, 3, 512, 512), np.uint8).view(Watched)
    Overview.of(Raw(inputs=images, targets=np.zeros(50)))
    assert max(looked) * 3 * 512 * 512 <= 2**21
