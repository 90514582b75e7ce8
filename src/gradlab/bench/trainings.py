"""Trainings of recipes inside a benchmark, as `gradlab train` does them, each in a folder that goes with the result."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.recipe import Recipe

if TYPE_CHECKING:
    from gradlab.run.folder import Run


@contextmanager
def trained(recipe: Recipe, changes: Mapping[str, Any]) -> Iterator[tuple["Run", dict[str, Any]]]:
    """The finished run of a recipe with some values changed, on the CPU, and its result."""
    import torch

    from gradlab.training import experiment

    # Which figures come out is the question here, not what may be wrong with a training.
    changed = recipe.override({**changes, "doctor": "off"})
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        run = experiment.start(experiment.Experiment.of(changed, torch.device("cpu")), Path(folder, "run"))
        assert run.result is not None
        yield run, run.result
