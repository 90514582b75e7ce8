"""Trainings and their runs: begun, gone on with, pruned, loaded."""

from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gradlab import owners, parallel
from gradlab.data import sources
from gradlab.data.frames import data_path, is_frame, typed_categories
from gradlab.errors import GradlabError, notice
from gradlab.files import check_path
from gradlab.recipe import Recipe
from gradlab.recipes.keys import complete_changes
from gradlab.recipes.request import TrainingRequest
from gradlab.run import Run, open_run
from gradlab.run.folder import new_path
from gradlab.training import experiment
from gradlab.training.checkup import tell
from gradlab.training.environment import find_device
from gradlab.training.experiment import Experiment
from gradlab.training.fit import Fit
from gradlab.training.fit import fit as fit_module
from gradlab.training.fit_run import check_same
from gradlab.training.observers import Observer
from gradlab.training.saved import resumable

if TYPE_CHECKING:
    from gradlab.studies.pruning import PruningStudy
    from gradlab.studies.tickets import Tickets

Data = Any
"""A path, or a frame of pandas, polars or pyarrow, which is kept in the cache."""
Files = str | Path | Sequence[str | Path] | None
"""Python files of one's own, which are run: what they register can then be named."""


def train(
    recipe: str | Path | Recipe | Any = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    data: Data = None,
    target: str | None = None,
    code: Files = None,
    out: str | Path | None = None,
    device: str = "auto",
    from_run: str | Path | Run | None = None,
    freeze: str | Sequence[str] | None = None,
    observers: Sequence[Observer] = (),
    progress: bool = True,
) -> Run:
    """Train a recipe (by name, TOML or Python file, or value) with some values changed, and return the finished run.

    run = gl.train("digits-mlp", {"model.hidden": [256, 256], "train.epochs": 10})
    run.test["accuracy"]
    gl.train("houses.csv", target="price")

    In place of a recipe there may be a file or folder of data, or a frame of pandas, polars or pyarrow: their kind says
    which recipe. A key may be short, such as "epochs", where only one part of the recipe has it.

    With `from_run`, the model starts from the weights of a finished classifier, with a new last layer if its classes
    are others. `freeze` are parts of the model that stay as they are; "trunk" is all but the last layer.

    With `out`, the same call resumes a run that was stopped, and returns one that is finished. A notebook or a terminal
    shows how far the training is; `progress=False` leaves that out.

    If something seems wrong with the training, the doctor tells it on stderr, and `run.findings` has it; the override
    `{"doctor": "off"}` leaves that out.
    """
    for name, path in (("out", out), ("data", data)):
        if isinstance(path, str | Path):
            check_path(path, name)
    _load_code(code)
    with parallel.joined():
        prepared = prepare(recipe, overrides, data=data, target=target, device=device, from_run=from_run, freeze=freeze)
        observers = [*_progress(progress), *observers]
        if out is not None and parallel.first(lambda: (Path(out) / "recipe.toml").is_file()):
            run = _repeat(prepared, open_run(out), observers)
        else:
            run = start(prepared, out, observers)
        if parallel.rank() == 0:
            tell(run.findings or [])
    return run


def _repeat(prepared: Experiment, run: Run, observers: Sequence[Observer]) -> Run:
    """The run that the same call began: resumed, or as it is where it is finished."""
    check_same(run, prepared.recipe, prepared.dataset)
    if not run.to_be_continued() and parallel.rank() == 0:
        notice(f"{run.path} is finished, and is returned as it is. To train again, name another folder: out=FOLDER")
    return resume(run, device=str(prepared.device), observers=observers, progress=False)


def _progress(shown: bool) -> list[Observer]:
    if not shown:
        return []
    from gradlab.training.display import default_progress

    return default_progress()


def prepare(
    recipe: str | Path | Recipe | Any = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    data: Data = None,
    target: str | None = None,
    device: str = "auto",
    from_run: str | Path | Run | None = None,
    freeze: str | Sequence[str] | None = None,
) -> Experiment:
    """Everything of a training but the training: data read, model built, all of it checked."""
    if is_frame(overrides):
        raise GradlabError("The second argument has changes of the recipe. A frame is passed by name: data=frame.")
    if is_frame(recipe):
        if data is not None:
            raise GradlabError("The first argument is a frame, and so there are data already: leave out data=….")
        recipe, data = None, recipe
    named = {
        "data.target": target,
        "train.from_run": str(from_run.path if isinstance(from_run, Run) else from_run) if from_run else None,
        "train.freeze": freeze if freeze is None or isinstance(freeze, str) else list(freeze),
    }
    place = find_device(device)
    chosen = _chosen_recipe(recipe, _all_changes(overrides or {}, named), data_path(data), place)
    return Experiment.of(_with_types(chosen, data), place)


def _all_changes(overrides: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides, and after them, since another source drops the values of the one before, what arguments name."""
    changes = {**overrides, **{k: v for k, v in named.items() if v is not None and k not in overrides}}
    return {key: data_path(value) if is_frame(value) else value for key, value in changes.items()}


def _chosen_recipe(
    recipe: str | Path | Recipe | None, changes: Mapping[str, Any], path: str | None, place: torch.device
) -> Recipe:
    """A recipe with its changes and its data."""
    if isinstance(recipe, Recipe):
        return recipe.override(complete_changes(recipe, changes if path is None else {**changes, "data.path": path}))
    return TrainingRequest.complete(None if recipe is None else str(recipe), changes, path).recipe(place.type)


def _with_types(recipe: Recipe, data: Data) -> Recipe:
    """A recipe that learns from a frame, with what only the types of its columns tell."""
    if not is_frame(data) or "categories" not in sources.schema(recipe.data.name).knobs:
        return recipe
    categories = [*recipe.data.values.get("categories", []), *typed_categories(data, recipe.data.values)]
    return recipe.override({"data.categories": list(dict.fromkeys(categories))} if categories else {})


def start(prepared: Experiment, out: str | Path | None = None, observers: Sequence[Observer] = ()) -> Run:
    """Train what was prepared into a new run folder, and write its report."""
    run = experiment.start(prepared, out, observers)
    with resumable(run):
        _report(run)
    return run


def resume(
    run: str | Path | Run,
    *,
    data: Data = None,
    device: str | None = None,
    observers: Sequence[Observer] = (),
    code: Files = None,
    changed_code: bool = False,
    progress: bool = True,
) -> Run:
    """Go on with a run that was stopped or killed, to the bit as if it had not been; a finished one is returned.

    `data` is where its data are now, if they have moved: their content must be the same. A notebook or a terminal shows
    how far the training is, unless `progress=False`.
    """
    opened = load_run(run, code=code, data=data)
    with resumable(opened), parallel.joined():
        if opened.to_be_continued():
            place = find_device(device or opened.environment["device"])
            experiment.resume(opened, place, [*_progress(progress), *observers], changed_code)
        if not (opened.path / "report.html").exists():
            _report(opened)
    return opened


def prune(
    run: str | Path | Run,
    keep: float,
    *,
    rewind: bool = False,
    reinit: bool = False,
    data: Data = None,
    code: Files = None,
    out: str | Path | None = None,
    device: str | None = None,
    **options: Any,
) -> "PruningStudy":
    """Prune a finished run to a share of its weights by magnitude, and train it again by its own recipe.

    pruned = gl.prune("runs/digits-mlp-3f2a", 0.2, rounds=3)
    pruned.run.test["accuracy"], pruned.bytes

    Training goes on from the trained weights; `rewind` sets those that are kept back to what they were before the first
    step, and `reinit` draws others. Pruned weights are 0 from then on. Matrices and kernels are pruned, all together or
    `per_layer=True`; biases, normalisations and tables of embeddings are not. Each of several `rounds` prunes the same
    share of what is left. The same call with the same `out` goes on where it was. Further options: observers, notify.
    """
    from gradlab.studies.pruning import prune as prune_run

    if rewind and reinit:
        raise GradlabError("--rewind and --reinit are two ways to begin: ask for one of them.")
    opened = load_run(run, code=code, data=data)
    folder, place = _study_of(opened, "pruned", out, device)
    beginning: Any = "rewind" if rewind else "reinit" if reinit else "trained"
    return prune_run(opened, keep, folder, place, beginning=beginning, **options)


def find_tickets(
    run: str | Path | Run,
    keep: float,
    *,
    data: Data = None,
    code: Files = None,
    out: str | Path | None = None,
    device: str | None = None,
    **options: Any,
) -> "Tickets":
    """The lottery-ticket hypothesis on the recipe of a run: dense networks, tickets and controls, over several seeds.

    tickets = gl.find_tickets("runs/digits-mlp-3f2a", 0.1, rounds=5, seeds=5)
    [(row.way, row.kept, row.spread.mean, row.spread.std) for row in tickets.rows]

    A ticket is a network that was pruned and rewound, round after round; its control has the same masks and first
    weights that are drawn anew. Further options: per_layer, observers, notify. Frankle & Carbin 2019, arXiv:1803.03635.
    """
    from gradlab.studies.tickets import find_tickets as find_in

    opened = load_run(run, code=code, data=data)
    return find_in(opened, keep, *_study_of(opened, "tickets", out, device), **options)


def _study_of(run: Run, kind: str, out: str | Path | None, device: str | None) -> tuple[Path, torch.device]:
    """Where a study of a run is written, and where it is computed: by default where the run was."""
    folder = Path(out) if out else new_path(f"{run.recipe.name}-{kind}")
    return folder, find_device(device or run.environment["device"])


@wraps(fit_module)
def fit(model: nn.Module, data: Any, **options: Any) -> Fit:
    trained = fit_module(model, data, **options)
    if trained.run is not None and not (trained.run.path / "report.html").exists():
        _report(trained.run)
    return trained


def _report(run: Run) -> None:
    if parallel.rank() == 0:
        from gradlab.report import write_report  # after the training, which should not wait for it to load

        with parallel.alone():
            write_report(run)


def load_run(path: str | Path | Run, *, code: Files = None, data: Data = None) -> Run:
    """The run in a folder: `load_run("runs/digits-mlp-3f2a").predict(x)`.

    `data` is where its data are now, if they have moved. `code` is the file of one's own from which its parts came, or
    several; no file of a run folder is run by itself.
    """
    if isinstance(path, Run) and data is None:
        run = path
    else:
        run = open_run(path.path if isinstance(path, Run) else path, data)
    _load_code(code)
    return run


def _load_code(code: Files) -> None:
    for file in [code] if isinstance(code, (str, Path)) else code or ():
        owners.load(file)
