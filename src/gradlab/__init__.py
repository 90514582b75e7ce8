"""gradlab: a deep-learning lab on PyTorch.

    import gradlab as gl
    run = gl.train("digits-mlp", {"model.hidden": [256, 256]})
    run.test["accuracy"]; run.predict(x)
    gl.find_lr(my_module, (X, y)).suggestion
    gl.fit(my_module, (X, y), loss="cross_entropy", epochs=5)
    gl.Classifier(hidden=(64, 64)).fit(X, y).predict(X)
    with gl.doctor(): my_own_training_loop()
    gl.verify(MyAttention, like="attention.multihead", embed_dim=8, num_heads=2)

Importing gradlab imports nothing heavy; the first use of a name below does.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gradlab.errors import GradlabError
from gradlab.version import __version__

if TYPE_CHECKING:
    from gradlab import maths, nn, register
    from gradlab.api import (
        Classifier,
        Criterion,
        Dataset,
        Examples,
        Fit,
        KernelClassifier,
        KernelRegressor,
        Objective,
        Observer,
        Raw,
        Recipe,
        Regressor,
        Run,
        Stream,
        SupportVectorClassifier,
        SupportVectorRegressor,
        Task,
        doctor,
        find_lr,
        find_tickets,
        fit,
        from_pretrained,
        generate,
        load_estimator,
        load_run,
        probe,
        prune,
        resume,
        sample,
        save_pretrained,
        train,
        verify,
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
    "GradlabError",
    "KernelClassifier",
    "KernelRegressor",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "Observer",
    "Regressor",
    "Run",
    "__version__",
    "doctor",
    "find_lr",
    "find_tickets",
    "fit",
    "from_pretrained",
    "generate",
    "load_estimator",
    "load_run",
    "maths",
    "nn",
    "probe",
    "prune",
    "register",
    "resume",
    "sample",
    "save_pretrained",
    "train",
    "verify",
]

_MODULES = ("maths", "nn", "register")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"gradlab.{name}")
    if name in __all__:
        from gradlab import api

        return getattr(api, name)
    raise AttributeError(f"module 'gradlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What tab completion offers: the public names, loaded or not."""
    return sorted(__all__)
