"""The classifier."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from gradlab.data import Targets
from gradlab.data.preprocessing import Method
from gradlab.errors import GradlabError
from gradlab.estimators.base import Estimator
from gradlab.estimators.network import Chosen
from gradlab.estimators.reading import Array
from gradlab.estimators.weighing import ClassWeight, Weights, class_weights
from gradlab.tasks import Classify, Task


class Classifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """A neural network classifier, for scikit-learn's pipelines and searches.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> Classifier(hidden=(32, 32), random_state=0).fit(X, y).score(X, y) > 0.95
    True

    X is an array, a sparse matrix (which is unpacked), images with channels first, or a pandas frame. A frame may have
    columns of numbers, dates and categories, with gaps: a category gets a column of its own, one that fitting did not
    see gets none; a missing number is filled with the mean, and a column says so. An example of weight 2 counts like
    two of it, one of weight 0 like none. Inputs in float64 are learned in float64, in float32 in float32.

    The network:

    - `model`: None for a multilayer perceptron, which alone reads the next four; a registered name, such as "linear",
      or one with its knobs, `{"name": "linear", "degree": 2}`; or a function of the shape of an input and the number of
      outputs that returns an nn.Module with fresh weights
    - `hidden`: units of each hidden layer
    - `activation`: after each hidden layer; a name, or a name with its knobs
    - `dropout`: probability of dropping a hidden unit
    - `batch_norm`: normalise each hidden layer over the batch

    Its training:

    - `optimizer`: a name, or a name with its knobs, `{"name": "momentum", "momentum": 0.8}`
    - `lr`, `weight_decay`: learning rate, and L2 penalty (or decay, with adamw)
    - `batch_size`: examples per update, or "full"; "auto" is 200, or all if there are fewer
    - `epochs`: passes over the examples
    - `validation`: share of the examples held out; the network ends with the weights that had the least loss on them
    - `patience`: stop after this many epochs without a smaller validation loss
    - `preprocess`: "standardise", "scale" (to the range from 0 to 1) or "none"; fitted on the training examples
    - `class_weight`: None, "balanced" (each class counts the same), or a weight for each class
    - `plan`: any other key of a recipe's `[train]`: `{"schedule": "cosine", "clip": 1.0}`
    - `warm_start`: a second `fit` goes on where the first ended
    - `device`: "cpu", "cuda", "mps", or "auto" for the best there is
    - `random_state`: of weights, order and dropout: an integer makes every fit the same, a generator is drawn from, and
      None draws from NumPy's global one
    - `verbose`: 1 prints progress
    """

    _stratified = True
    _targets: Mapping[str, Any] = {}

    def __init__(
        self,
        *,
        model: Chosen = None,
        hidden: int | Sequence[int] = (128,),
        activation: str | Mapping[str, Any] = "relu",
        dropout: float = 0.0,
        batch_norm: bool = False,
        optimizer: str | Mapping[str, Any] = "adam",
        lr: float = 5e-3,
        weight_decay: float = 5e-3,
        batch_size: int | Literal["auto", "full"] = "auto",
        epochs: int = 100,
        validation: float = 0.0,
        patience: int | None = None,
        preprocess: Method = "standardise",
        class_weight: ClassWeight = None,
        plan: Mapping[str, Any] | None = None,
        warm_start: bool = False,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            model=model,
            hidden=hidden,
            activation=activation,
            dropout=dropout,
            batch_norm=batch_norm,
            optimizer=optimizer,
            lr=lr,
            weight_decay=weight_decay,
            batch_size=batch_size,
            epochs=epochs,
            validation=validation,
            patience=patience,
            preprocess=preprocess,
            plan=plan,
            warm_start=warm_start,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One epoch more, on all of X and y. The first call must name all classes, and settles the preprocessing."""
        fresh = not hasattr(self, "_learner")
        if fresh and classes is None:
            raise GradlabError("classes must be passed on the first call to partial_fit.")
        if not fresh and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise GradlabError(f"classes={classes} is not the same as on the last call, which was {self.classes_}.")
        return self._learn(X, y, sample_weight, fresh=fresh, epochs=1, classes=classes)

    def predict(self, X: Any) -> Array:
        """The most probable class of each example."""
        logits = self._outputs(X)
        chosen: Array = self.classes_[logits.argmax(1).numpy()]
        return chosen

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, in the order of `classes_`."""
        return self._outputs(X).softmax(1).numpy()

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of each probability, without the underflow of taking it afterwards."""
        return self._outputs(X).log_softmax(1).numpy()

    def decision_function(self, X: Any) -> Array:
        """A logit for each class; of two classes, the logarithm of the odds of the second."""
        logits = self._outputs(X).numpy()
        return logits if len(self.classes_) > 2 else logits[:, 1] - logits[:, 0]

    def _read(self, X: Any, y: Any, fresh: bool) -> tuple[Array, Array]:
        X, y = super()._read(X, y, fresh)
        check_classification_targets(y)
        return X, y

    def _meet(self, known: Array, training: Array, weight: Weights | None) -> None:
        self.classes_ = np.unique(known)
        if len(self.classes_) < 2:
            raise GradlabError(f"A classifier needs two classes or more, but y has 1 class: {self.classes_[0]!r}.")

    def _task(self) -> Task:
        return Classify(Targets(classes=[str(c) for c in self.classes_]))

    def _encoded(self, y: Array) -> npt.NDArray[np.int64]:
        index = {label: i for i, label in enumerate(self.classes_.tolist())}
        labels, places = np.unique(y, return_inverse=True)
        new = [label for label in labels.tolist() if label not in index]
        if new:
            raise GradlabError(f"y has the class {new[0]!r}, which is not among the classes {self.classes_}.")
        return np.array([index[label] for label in labels.tolist()], dtype=np.int64)[places]

    def _weighed(self, targets: Array, weight: Weights | None) -> Weights | None:
        if self.class_weight is None:
            return weight
        own = np.ones(len(targets)) if weight is None else weight
        return own * class_weights(self.class_weight, self.classes_, targets, own)[targets]
