"""What is minimised: a loss of a model on a batch, and the parameters that it moves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gradlab.data import Batch
from gradlab.errors import GradlabError
from gradlab.registry import shortly

Loss = tuple[Tensor, Tensor | int]
"""A sum of losses and how many there are: divided once, so that parts of a batch, ragged batches and processes never
skew a mean. A count that depends on values, such as targets that are no padding, is a tensor on their device; an int
must follow from the shapes of the batch."""

Losses = Loss | Mapping[str, Loss]
"""One loss, or several by name, which are added up, each divided by its own count."""

_TAKEN = {"step", "epoch", "split", "seconds", "lr", "gradient_norm", "update_ratio"}


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A loss of (model, batch), with what it moves and how; by default all parameters, as the training plan says.

    Several objectives take turns in every step: each computes its loss with the weights that the one before it left.
    """

    loss: Callable[[Any, Batch], Losses]
    moves: str | Sequence[str] = ""
    """Parameters, by names or beginnings of names such as `generator`; "" for all. The others are left as they are."""
    train: Mapping[str, Any] = field(default_factory=dict)
    """Values of the plan that are its own: optimizer, lr, weight_decay, l1, decay_all, clip, max_norm."""
    groups: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By the beginning of their names, parameters with an `lr` or a `weight_decay` of their own."""

    def __post_init__(self) -> None:
        if not callable(self.loss):
            raise GradlabError(f"The loss of an objective must be a function of (model, batch), got {self.loss!r}.")
        parts = (self.moves,) if isinstance(self.moves, str) else self.moves
        if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
            raise GradlabError(f"moves must be a name, or a list of names, of parameters, got {shortly(self.moves)}.")
        if not isinstance(self.train, Mapping):
            raise GradlabError(f"train must be a dictionary of values of the plan, got {shortly(self.train)}.")

    def moved(self, name: str) -> bool:
        """Whether it moves the parameter of that name."""
        return any(begins(name, part) for part in ([self.moves] if isinstance(self.moves, str) else self.moves))


def begins(name: str, prefix: str) -> bool:
    """Whether a parameter is the one named, or inside of the module named.

    >>> begins("encoder.0.weight", "encoder"), begins("encoder2.weight", "encoder"), begins("bias", "")
    (True, False, True)
    """
    return not prefix or name == prefix or name.startswith(prefix + ".")


def named(losses: Any, name: str) -> dict[str, Loss]:
    """What a loss function returned, by names; refused where it is no sum and count."""
    pairs = losses if isinstance(losses, Mapping) else {name: losses}
    for key, pair in pairs.items():
        check_name("loss", key)
        if not is_pair(pair) or not pair[0].is_floating_point():
            raise GradlabError(
                "The objective must return (sum, count): the sum of the losses, a tensor with one number, and how many "
                f"there are. As {key!r} it returned {in_words(pair)}."
            )
    if not pairs:
        raise GradlabError(f"The objective {name!r} returned no loss at all: {losses!r}.")
    return dict(pairs)


def check_name(kind: str, name: Any) -> None:
    """Refuse what cannot be the name of a figure in a log line."""
    if not isinstance(name, str) or not name.strip():
        raise GradlabError(f"The name of a {kind} must be text, got {shortly(name)}.")
    if name in _TAKEN:
        raise GradlabError(f"A {kind} cannot be called {name!r}, as something else in a log line is. Rename it.")


def with_sum(means: Mapping[str, float]) -> dict[str, float]:
    """Mean losses by name, and as `loss` their sum: what is minimised.

    >>> with_sum({"reconstruction": 2.0, "kl": 0.5})
    {'loss': 2.5, 'reconstruction': 2.0, 'kl': 0.5}
    """
    # One of several may itself be called so: the sum is what a log line and an evaluation have under that name.
    return {"loss": 0.0, **means} | {"loss": sum(means.values(), 0.0)}


def check_apart(losses: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Refuse two objectives that give the same name to a loss: one would hide the other."""
    for name in losses.keys() & others.keys():
        raise GradlabError(f"Two objectives have a loss that they call {name!r}. Give each a name of its own.")


def is_pair(value: Any) -> bool:
    """Whether something is a sum and a count; the count of a device is not looked at, which would be to wait for it."""
    if not (isinstance(value, tuple) and len(value) == 2):
        return False
    total, count = value
    return isinstance(total, Tensor) and total.ndim == 0 and _is_count(count)


def _is_count(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.ndim == 0 and value.dtype != torch.bool
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def in_words(value: Any) -> str:
    """What a function returned that should have returned something else."""
    if isinstance(value, Tensor):
        kind = "" if value.is_floating_point() else f" and type {str(value.dtype).removeprefix('torch.')}"
        return f"a tensor of shape {tuple(value.shape)}{kind}"
    if isinstance(value, tuple):
        return f"({', '.join(in_words(part) for part in value)})"
    return shortly(value)
