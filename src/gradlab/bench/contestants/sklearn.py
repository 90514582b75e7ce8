"""scikit-learn's own perceptron, in NumPy."""

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.work import Work


class ScikitLearn(Contestant):
    """MLPClassifier, set to do all epochs. Its first weights are its own."""

    def build(self, work: Work) -> Any:
        case = work.case
        return MLPClassifier(
            case.hidden,
            alpha=0.0,
            batch_size=case.batch_size,
            learning_rate_init=case.lr,
            max_iter=case.epochs,
            n_iter_no_change=case.epochs + 1,
            random_state=0,
        )

    def train(self, model: Any, work: Work) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # all epochs were done, which is what was wanted
            model.fit(work.inputs, work.targets)
        return int(model.n_iter_) * math.ceil(work.case.rows / work.case.batch_size)

    def logits(self, model: Any, work: Work) -> npt.NDArray[np.floating]:
        return np.asarray(model.predict_log_proba(work.inputs))
