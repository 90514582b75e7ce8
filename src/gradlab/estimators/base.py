"""What Classifier and Regressor share: training by the common loop, in one go or epoch by epoch."""

import sys
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from gradlab.data import Examples, Preprocessing
from gradlab.data.examples import Rows
from gradlab.data.splits import hold_out
from gradlab.errors import GradlabError
from gradlab.estimators import network, saving
from gradlab.estimators.learner import Learner
from gradlab.estimators.parameters import ELSEWHERE, EstimatorSettings
from gradlab.estimators.reading import Array, Columns, read_again, read_first, read_inputs
from gradlab.estimators.weighing import Weights, sample_weights
from gradlab.tasks import Task
from gradlab.training.checks import check_precision
from gradlab.training.environment import find_device
from gradlab.training.observers import Observer
from gradlab.training.vocabulary import in_an_estimator, speaking

_LEVELS = 100  # most categories of a column that is coded one-hot, as in the tables of recipes


class Estimator(EstimatorSettings):
    """A network behind scikit-learn's interface. Everything but its parameters is set when it is fitted."""

    _learner: Learner
    _columns: Columns

    # What the two kinds of estimator differ in.

    _stratified: bool
    """Whether each class is held out in the same share."""

    _targets: Mapping[str, Any]
    """What scikit-learn's checks should know of y."""

    @abstractmethod
    def _meet(self, known: Array, training: Array, weight: Weights | None) -> None:
        """Note what must be known of the targets: the classes of all, or mean and spread of the training ones."""

    @abstractmethod
    def _task(self) -> Task:
        """What is learned."""

    @abstractmethod
    def _encoded(self, y: Array) -> Array:
        """Targets as the task's loss takes them."""

    def _weighed(self, targets: Array, weight: Weights | None) -> Weights | None:
        """What each example counts in the loss, given what it counts by itself."""
        return weight

    # The public attributes of a fitted estimator.

    @property
    def model_(self) -> nn.Module:
        """The trained network."""
        return self._learner.model

    @property
    def n_iter_(self) -> int:
        """Epochs that it was trained for."""
        return self._learner.epochs

    @property
    def loss_curve_(self) -> list[float]:
        """The mean training loss of each epoch."""
        return self._learner.losses

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        return tags

    # Training.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for `epochs` epochs on inputs X and targets y: anew, or with `warm_start` where the last fit ended."""
        fresh = not (self.warm_start and hasattr(self, "_learner"))
        return self._learn(X, y, sample_weight, fresh=fresh, validation=self.validation)

    @speaking(in_an_estimator(ELSEWHERE))
    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        fresh: bool,
        epochs: int | None = None,
        validation: float = 0.0,
        classes: Any = None,
    ) -> Self:
        plan, device = self._settled_plan(), find_device(self.device)
        check_precision(plan, device)
        raw, y = self._read(X, y, fresh)
        weights = sample_weights(sample_weight, len(raw))
        if weights is not None and not weights.all():  # an example that counts nothing is as good as gone
            there = weights > 0
            raw, y, weights = raw[there], y[there], weights[there]
        seed = self._seed() if fresh else self._learner.seed
        rows, held = self._split(y, validation, seed)
        own = None if weights is None else weights[rows]
        if fresh:
            self._meet(y if classes is None else classes, y[rows], own)
        task, targets = self._task(), self._encoded(y)
        learner = self._beginner(raw, rows, own, task.outputs, seed) if fresh else self._learner
        learner.model.to(device)

        def examples(chosen: Rows) -> Examples:
            inputs = learner.prepared(raw if len(chosen) == len(raw) else raw[chosen])
            kind = torch.int64 if targets.dtype == np.int64 else learner.dtype
            weight = self._weighed(targets[chosen], None if weights is None else weights[chosen])
            counts = None if weight is None else _tensor(weight / weight.mean(), learner.dtype, device)
            return Examples.of(inputs, _tensor(targets[chosen], kind, device), chosen, counts)

        train = examples(rows)
        if fresh:
            network.check(learner.model, train.inputs[:2], task.outputs)
        held_out = examples(held) if len(held) else None
        learner.train(
            task, train, held_out, plan, epochs or plan.passes(plan.steps_per_epoch(len(train))), self._observers()
        )
        self._learner = learner
        return self

    def _read(self, X: Any, y: Any, fresh: bool) -> tuple[Array, Array]:
        if not fresh:
            return read_again(self, X, y, self._targets, self._columns)
        X, y, self._columns = read_first(self, X, y, self._targets)
        return X, y

    def _split(self, y: Array, validation: float, seed: int) -> tuple[Rows, Rows]:
        """Rows to learn from, and rows to judge by."""
        if not (isinstance(validation, (int, float, np.number)) and 0 <= validation < 1):
            raise GradlabError(f"{self._name}.validation={validation} must be a share from 0 up to, but not, 1.")
        rows, held = hold_out(np.arange(len(y)), validation, seed, y if self._stratified else None)
        if validation and not (len(rows) and len(held)):
            raise GradlabError(
                f"{self._name}.validation={validation} of n_samples={len(y)} leaves {len(rows)} to learn from and "
                f"{len(held)} to judge by. Both need some."
            )
        return rows, held

    def _beginner(self, raw: Array, rows: Rows, weight: Weights | None, outputs: int, seed: int) -> Learner:
        """A network that knows nothing yet, for inputs that are preprocessed as the training rows call for."""
        columns = self._columns or []
        preprocessing = Preprocessing.fit(
            raw,
            self._method(),
            [c.name for c in columns],
            [c.name for c in columns if c.kind == "category"],
            rows=rows,
            weights=weight,
            levels=_LEVELS,
            missing=self._columns is not None,
        )
        model = self._network(preprocessing.spec, outputs, seed)
        # The precision of the inputs is that of the network; but Metal has no float64.
        double = raw.dtype == np.float64 and find_device(self.device).type != "mps"
        model = model.to(torch.float64 if double else torch.float32)
        return Learner(model=model, preprocessing=preprocessing, seed=seed)

    def _observers(self) -> list[Observer]:
        if not self.verbose:
            return []
        from gradlab.training.display import PlainProgress  # loads more than a quiet fit should

        return [PlainProgress(sys.stdout)]

    def _outputs(self, X: Any) -> Tensor:
        """What the network gives for each example."""
        check_is_fitted(self)
        return self._learner.outputs(read_inputs(self, X, self._columns))

    # Keeping it.

    def save(self, folder: str | Path) -> None:
        """Write the fitted estimator to a folder, without pickle: whole, or not at all."""
        check_is_fitted(self)
        saving.save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The estimator that was saved in a folder."""
        return saving.load(cls, Path(folder))


def _tensor(values: Array, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.from_numpy(np.array(values)).to(device, dtype)  # a copy, which torch may own
