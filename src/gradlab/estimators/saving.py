"""A fitted estimator in a folder: the files of a checkpoint, with what the estimator is in state.json.

Weights and optimiser state are safetensors, the rest is JSON, and SHA256SUMS covers all. Nothing is ever unpickled: a
network is built anew by its registered name.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from gradlab.data import Preprocessing
from gradlab.errors import GradlabError, one_line
from gradlab.estimators.learner import Learner
from gradlab.estimators.plain import plain, restored
from gradlab.files import Damaged, check_content, clear_leftovers, read_json
from gradlab.files.formats import EstimatorState, LearnerState, StateFile
from gradlab.run import checkpoint
from gradlab.run.checkpoint import Checkpoint, copy_tensors, unflatten
from gradlab.version import __version__

if TYPE_CHECKING:
    from gradlab.estimators.base import Estimator

E = TypeVar("E", bound="Estimator")

_FORMAT = 1
_KEY = "estimator"
_OTHER_VERSION = "It is no estimator of this version of gradlab."


def save(estimator: "Estimator", folder: Path) -> None:
    """Write the folder; an estimator that is there already is replaced, anything else is left alone."""
    if _description_in(folder) is None and folder.exists():
        raise GradlabError(f"{folder} exists already, and is no saved estimator. Name another folder.")
    learner = estimator._learner
    assert learner.standing is not None
    weights, standing = copy_tensors(learner.model.state_dict()), learner.standing
    whole = replace(
        standing,
        model=standing.model or weights,
        best=weights if standing.model else None,
        state={"rng": standing.state["rng"], _KEY: _description(estimator)},
    )
    checkpoint.write_as(folder.absolute(), whole)


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
    description = describe(folder)
    if description["kind"] != kind.__name__:
        raise GradlabError(
            f"{folder} holds a {description['kind']}, no {kind.__name__}. Load it with gradlab.load_estimator."
        )
    saved = checkpoint.read(folder)
    try:
        estimator = kind(**{name: restored(value) for name, value in description["parameters"].items()})
        for name, value in description["known"].items():
            if hasattr(kind, name):
                raise AttributeError(f"{name} is part of the class")
            setattr(estimator, name, restored(value))
        estimator._learner = _learner(estimator, saved, description["learner"])
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise GradlabError(f"{folder} is damaged: {one_line(error)}. {_OTHER_VERSION}") from None
    return estimator


def _learner(estimator: "Estimator", saved: Checkpoint, state: LearnerState) -> Learner:
    preprocessing = Preprocessing.read_back(state["preprocessing"], {}, str)
    model = estimator._network(preprocessing.spec, estimator._task().outputs, state["seed"])
    model = model.to({"float32": torch.float32, "float64": torch.float64}[state["dtype"]])
    model.load_state_dict(saved.chosen)
    standing = replace(saved, model={} if saved.best is None else saved.model, best=None)
    return Learner(
        model=model.eval(),
        preprocessing=preprocessing,
        seed=state["seed"],
        epochs=state["epochs"],
        losses=state["losses"],
        standing=standing,
    )


def describe(folder: Path) -> EstimatorState:
    """What estimator a folder holds."""
    description = _description_in(folder)
    if description is None:
        raise GradlabError(f"{folder} is not a saved estimator.")
    if description.get("format") != _FORMAT:
        raise GradlabError(f"{folder} was saved by gradlab {description.get('gradlab')}, whose format is another.")
    return check_content(description, EstimatorState, folder / "state.json", _OTHER_VERSION)


def _description_in(folder: Path) -> dict[str, Any] | None:
    """What a folder says of an estimator, if it does."""
    clear_leftovers(folder.absolute().parent)  # which may be the estimator that was there before one half written
    try:
        state = read_json(folder / "state.json", StateFile)
    except Damaged:
        return None
    description = unflatten(state.get(_KEY), {})
    return description if isinstance(description, dict) else None
