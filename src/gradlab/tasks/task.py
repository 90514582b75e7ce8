"""The protocol every task follows."""

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor, nn

from gradlab.data import Examples, Wants
from gradlab.registry import Registry
from gradlab.tasks.metrics import Metric


class Task(Protocol):
    """What training, evaluation and prediction need to know of a task."""

    @property
    def wants(self) -> Wants:
        """Which kind of targets it learns from."""

    @property
    def outputs(self) -> int:
        """How many numbers the model gives for an example."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """By name, the most telling first."""

    def encode(self, targets: Tensor) -> Tensor:
        """Raw targets as the loss takes them."""

    def loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> tuple[Tensor, int]:
        """Sum of the losses, each times the weight of its example, and how many there are.

        It is what evaluation tells of a model, and what runs are compared by.
        """

    def training_loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> tuple[Tensor, int]:
        """What is minimised: the loss, or a variant of it from which more is learned."""

    def expected_initial_loss(self) -> tuple[float, str]:
        """What a model that knows nothing yet should cost, and the formula in words."""

    def baselines(self, train: Examples, model: nn.Module) -> Mapping[str, nn.Module]:
        """What a model should beat, by name, the strongest last: models too, made of the training examples alone.

        The targets of `train` are encoded. `model` is the one to be judged, which must not be compared with itself.
        """

    def decode(self, output: Tensor) -> list[dict[str, Any]]:
        """Model outputs in the user's terms, one dictionary per example."""


tasks: Registry[Task] = Registry("task")
