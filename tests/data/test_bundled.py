import numpy as np
import pytest
from sklearn import datasets

from gradlab.data import load, sources
from gradlab.registry import Part

LOADERS = {
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast-cancer": datasets.load_breast_cancer,
    "diabetes": lambda: datasets.load_diabetes(scaled=False),
}


@pytest.mark.parametrize("name", sorted(LOADERS))
def test_the_examples_are_those_of_scikit_learn(name):
    raw, bunch = load(sources.resolve(Part(name), "data")).raw, LOADERS[name]()
    assert np.array_equal(raw.inputs.reshape(len(raw.inputs), -1), bunch.data)
    assert np.array_equal(raw.targets, bunch.target)
    if name != "digits":
        assert raw.features == list(bunch.feature_names)
    if name != "diabetes":
        assert raw.classes == [str(c) for c in bunch.target_names]


def test_digits_are_images_of_one_channel():
    assert load(sources.resolve(Part("digits"), "data")).preprocessing.output_shape == (1, 8, 8)
