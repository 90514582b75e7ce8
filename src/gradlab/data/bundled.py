"""Small real data sets that ship inside scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradlab.data.dataset import sources
from gradlab.data.raw import Raw
from gradlab.data.reading import ArrayReader


@sources.register("digits")
def digits(seed: int) -> Raw:
    """1,797 handwritten digits, 8×8 pixels with values 0 to 16, ten classes."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = bunch.images.astype(np.float32)[:, None]
    return Raw(
        inputs=images,
        targets=bunch.target.astype(np.int64),
        classes=[str(d) for d in range(10)],
        reader=ArrayReader(images.shape[1:], white=16.0),
    )


@sources.register("iris")
def iris(seed: int) -> Raw:
    """150 irises, four measurements, three species."""
    from sklearn.datasets import load_iris

    return _classes(load_iris)


@sources.register("wine")
def wine(seed: int) -> Raw:
    """178 wines, thirteen chemical measurements, three cultivars."""
    from sklearn.datasets import load_wine

    return _classes(load_wine)


@sources.register("breast-cancer")
def breast_cancer(seed: int) -> Raw:
    """569 tumours, thirty measurements, malignant or benign."""
    from sklearn.datasets import load_breast_cancer

    return _classes(load_breast_cancer)


@sources.register("diabetes")
def diabetes(seed: int) -> Raw:
    """442 patients, ten measurements, disease progression a year later as a number."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    return Raw(inputs=bunch.data, targets=bunch.target, features=list(bunch.feature_names))


def _classes(loader: Callable[[], Any]) -> Raw:
    bunch = loader()
    return Raw(
        inputs=bunch.data,
        targets=bunch.target.astype(np.int64),
        features=[str(f) for f in bunch.feature_names],
        classes=[str(c) for c in bunch.target_names],
    )
