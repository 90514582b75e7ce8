"""The public functions; the command line calls these."""

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


def __getattr__(name: str) -> Any:
    """The estimators, whose base classes take scikit-learn a second to load: not before they are asked for."""
    if name in _ESTIMATORS:
        from gradlab import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'gradlab.api' has no attribute {name!r}")
