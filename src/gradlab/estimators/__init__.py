"""Networks as scikit-learn estimators, trained by the same loop as everything else."""

from gradlab.estimators.classifier import Classifier
from gradlab.estimators.loading import load_estimator
from gradlab.estimators.regressor import Regressor

__all__ = ["Classifier", "Regressor", "load_estimator"]
