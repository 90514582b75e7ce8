"""What a user may set of an estimator, and what it means to the rest of gradlab."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from torch import nn

from gradlab.data.preprocessing import Method
from gradlab.errors import GradlabError, unknown
from gradlab.estimators import network
from gradlab.estimators.network import Chosen
from gradlab.specs import Array
from gradlab.training.optimizers import SEARCHING
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.transfer import check_own_start

_BATCH = 200  # as in scikit-learn's own networks
_METHODS: tuple[Method, ...] = ("standardise", "scale", "none")
ELSEWHERE = {  # keys of a plan that an estimator has under a name of its own
    **{key: key for key in ("epochs", "batch_size", "optimizer", "lr", "weight_decay", "patience")},
    "seed": "random_state",
    "steps": "epochs",
    "log_every": "verbose",
    "log": "verbose",
    "checkpoint_every": "save",
    "checkpoint_minutes": "save",
    "checkpoints": "save",
}


class EstimatorSettings(BaseEstimator):  # type: ignore[misc]
    """Stored as they are given, and checked when they are used, as scikit-learn asks. `Classifier` explains them."""

    def __init__(
        self,
        *,
        model: Chosen = None,
        hidden: int | Sequence[int] = (128,),
        activation: str | Mapping[str, Any] = "relu",
        dropout: float = 0.0,
        batch_norm: bool = False,
        optimizer: str | Mapping[str, Any] = "adam",
        # Cross-validated on nine small tables: at lower rates some were not learned in a hundred epochs, and with less
        # decay the probabilities of others were overconfident.
        lr: float = 5e-3,
        weight_decay: float = 5e-3,
        batch_size: int | Literal["auto", "full"] = "auto",
        epochs: int = 100,
        validation: float = 0.0,
        patience: int | None = None,
        preprocess: Method = "standardise",
        plan: Mapping[str, Any] | None = None,
        warm_start: bool = False,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.model = model
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.batch_norm = batch_norm
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.validation = validation
        self.patience = patience
        self.preprocess = preprocess
        self.plan = plan
        self.warm_start = warm_start
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _settled_plan(self) -> Plan:
        """The parameters as a training plan, checked."""
        for key in self.plan or {}:
            if key in ELSEWHERE:
                raise GradlabError(f"{self._name}.plan cannot hold {key!r}. Use {self._name}'s own {ELSEWHERE[key]!r}.")
        if self.patience is not None and not self.validation:
            raise GradlabError(
                f"{self._name}.patience={self.patience} waits for a better validation loss: set validation too, "
                "such as validation=0.1."
            )
        batch = self.batch_size
        if batch == "auto":
            batch = "full" if self._optimizer_name in SEARCHING else _BATCH
        values = {
            "epochs": self.epochs,
            "batch_size": batch,
            "optimizer": self.optimizer,
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "patience": self.patience,
            **(self.plan or {}),
        }
        plan = Plan(**plan_schema.resolve(values, self._name))
        check_own_start(plan)
        return plan

    @property
    def _optimizer_name(self) -> Any:
        return self.optimizer.get("name") if isinstance(self.optimizer, Mapping) else self.optimizer

    def _method(self) -> Method:
        if self.preprocess not in _METHODS:
            raise unknown(f"{self._name}.preprocess", str(self.preprocess), _METHODS)
        return self.preprocess

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**32, dtype=np.uint32))

    def _network(self, inputs: Array, outputs: int, seed: int) -> nn.Module:
        """The network that is asked for, with fresh weights."""
        perceptron = {
            "hidden": list(self.hidden) if isinstance(self.hidden, Iterable) else [self.hidden],
            "activation": self.activation,
            "dropout": self.dropout,
            "batch_norm": self.batch_norm,
        }
        return network.build(self.model, perceptron, inputs, outputs, seed, self._name)
