"""A fitted estimator in a folder: the files of a checkpoint, with what the estimator is in state.json.

Weights and optimiser state are safetensors, the rest is JSON, and SHA256SUMS covers all. Nothing is ever unpickled: a
network is built anew by its registered name.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from gradlab.data import Preprocessing
from gradlab.errors import GradlabError, one_line
from gradlab.estimators.learner import Learner
from gradlab.estimators.plain import plain, restored
from gradlab.run import checkpoint
from gradlab.run.checkpoint import Checkpoint, copied
from gradlab.version import __version__

if TYPE_CHECKING:
    from gradlab.estimators.base import Estimator

E = TypeVar("E", bound="Estimator")

_FORMAT = 1
_KEY = "estimator"


def save(estimator: "Estimator", folder: Path) -> None:
    """Write the folder; an estimator that is there already is replaced, anything else is left alone."""
    if folder.exists() and _described(folder) is None:
        raise GradlabError(f"{folder} exists already, and is no saved estimator. Name another folder.")
    learner = estimator._learner
    assert learner.standing is not None
    weights, standing = copied(learner.model.state_dict()), learner.standing
    whole = replace(
        standing,
        model=standing.model or weights,
        best=weights if standing.model else None,
        state={"rng": standing.state["rng"], _KEY: _description(estimator)},
    )
    try:
        checkpoint.write_as(folder.absolute(), whole)
    except checkpoint.WRITE_ERRORS as error:
        raise GradlabError(f"The estimator could not be written to {folder}: {error}.") from None


def _description(estimator: "Estimator") -> dict[str, Any]:
    parameters, learner = estimator.get_params(deep=False), estimator._learner
    known = {k: v for k, v in vars(estimator).items() if k not in parameters and k != "_learner"}
    return {
        "format": _FORMAT,
        "gradlab": __version__,
        "kind": type(estimator).__name__,
        "parameters": {name: _parameter(name, value) for name, value in parameters.items()},
        "known": {name: plain(value) for name, value in known.items()},
        "learner": {
            "preprocessing": asdict(learner.preprocessing),
            "dtype": str(learner.dtype).removeprefix("torch."),
            "seed": learner.seed,
            "epochs": learner.epochs,
            "losses": learner.losses,
        },
    }


def _parameter(name: str, value: Any) -> Any:
    if name == "model" and callable(value):
        raise GradlabError(
            "A model that is a Python function cannot be saved without pickle. Register it, "
            '`@gradlab.models.models.register("my-network")`, and fit with model="my-network". '
            "A registered one is given a spec in place of the shape, which is its `.shape`."
        )
    if isinstance(value, np.random.RandomState):
        raise GradlabError(f"{name} is a generator, which cannot be saved. Set it to an integer or None before saving.")
    try:
        return plain(value)
    except GradlabError as error:
        raise GradlabError(f"The parameter {name} cannot be saved: {error}") from None


def load(kind: type[E], folder: Path) -> E:
    """The estimator in a folder, every byte of which is checked first."""
    described = describe(folder)
    if described["kind"] != kind.__name__:
        raise GradlabError(
            f"{folder} holds a {described['kind']}, no {kind.__name__}. Load it with gradlab.load_estimator."
        )
    found = checkpoint.read(folder)
    try:
        estimator = kind(**{name: restored(value) for name, value in described["parameters"].items()})
        for name, value in described["known"].items():
            setattr(estimator, name, restored(value))
        estimator._learner = _learner(estimator, found, **described["learner"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise GradlabError(f"{folder} is no estimator of this version of gradlab: {one_line(error)}") from None
    return estimator


def _learner(
    estimator: "Estimator", found: Checkpoint, *, preprocessing: dict[str, Any], dtype: str, seed: int, **progress: Any
) -> Learner:
    prepared = Preprocessing(**preprocessing)
    model = estimator._network(prepared.spec, estimator._task().outputs, seed)
    model = model.to({"float32": torch.float32, "float64": torch.float64}[dtype])
    model.load_state_dict(found.chosen)
    standing = replace(found, model={} if found.best is None else found.model, best=None)
    return Learner(model=model.eval(), preprocessing=prepared, seed=seed, standing=standing, **progress)


def describe(folder: Path) -> dict[str, Any]:
    """What estimator a folder holds."""
    described = _described(folder)
    if described is None:
        raise GradlabError(f"{folder} is not a saved estimator.")
    if described.get("format") != _FORMAT:
        raise GradlabError(f"{folder} was saved by gradlab {described.get('gradlab')}, whose format is another.")
    return described


def _described(folder: Path) -> dict[str, Any] | None:
    try:
        described = json.loads((folder / "state.json").read_text())[_KEY]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return described if isinstance(described, dict) else None
