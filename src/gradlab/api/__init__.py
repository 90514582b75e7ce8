"""The public functions; the command line calls these."""

import importlib
from typing import TYPE_CHECKING, Any

from gradlab.api.looking import doctor, look_at_data, probe, verify
from gradlab.api.models import check_fits, generate, sample, save_pretrained
from gradlab.api.runs import find_tickets, fit, load_run, prepare, prune, resume, start, train
from gradlab.data import Dataset, Examples, Raw, Stream
from gradlab.models.pretrained import from_pretrained
from gradlab.recipe import Recipe
from gradlab.run import Run
from gradlab.tasks import Criterion, Objective, Task
from gradlab.training.fit import Fit
from gradlab.training.observers import Observer

if TYPE_CHECKING:
    from gradlab.estimators import (
        Classifier,
        KernelClassifier,
        KernelRegressor,
        Regressor,
        SupportVectorClassifier,
        SupportVectorRegressor,
        load_estimator,
    )
    from gradlab.studies.find_lr import find_lr

__all__ = [
    "Task",
    "Stream",
    "Recipe",
    "Raw",
    "Objective",
    "Examples",
    "Dataset",
    "Criterion",
    "Classifier",
    "Fit",
    "KernelClassifier",
    "KernelRegressor",
    "Observer",
    "Regressor",
    "Run",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "check_fits",
    "doctor",
    "find_lr",
    "find_tickets",
    "fit",
    "from_pretrained",
    "generate",
    "load_estimator",
    "load_run",
    "look_at_data",
    "prepare",
    "probe",
    "prune",
    "resume",
    "sample",
    "save_pretrained",
    "start",
    "train",
    "verify",
]


_ESTIMATORS = (
    "Classifier",
    "KernelClassifier",
    "KernelRegressor",
    "Regressor",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "load_estimator",
)
_LOADED_LATER = {**dict.fromkeys(_ESTIMATORS, "gradlab.estimators"), "find_lr": "gradlab.studies.find_lr"}


def __getattr__(name: str) -> Any:
    """What needs scikit-learn or plotly, which take a second to load: not before it is used."""
    if name in _LOADED_LATER:
        return getattr(importlib.import_module(_LOADED_LATER[name]), name)
    raise AttributeError(f"module 'gradlab.api' has no attribute {name!r}")
