"""scikit-learn estimators: networks, trained by the same loop as everything else, and kernels, which need none."""

from gradlab.estimators.classifier import Classifier
from gradlab.estimators.kernels import KernelClassifier, KernelRegressor
from gradlab.estimators.loading import load_estimator
from gradlab.estimators.regressor import Regressor
from gradlab.estimators.support_vectors import SupportVectorClassifier, SupportVectorRegressor

__all__ = [
    "Classifier",
    "KernelClassifier",
    "KernelRegressor",
    "Regressor",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "load_estimator",
]
