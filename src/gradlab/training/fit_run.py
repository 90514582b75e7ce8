"""The folder of a training by `fit`: made by the first call, gone on with by the same call after a crash."""

from pathlib import Path
from typing import Any

from torch import nn

from gradlab import parallel
from gradlab.data import Dataset, Examples
from gradlab.errors import GradlabError, notice
from gradlab.models.cost import parameter_count
from gradlab.recipe import FIT, Recipe
from gradlab.registry import Part
from gradlab.run import Run, open_run
from gradlab.run.checkpoint import check_saveable
from gradlab.specs import Array, Spec
from gradlab.tasks import Task
from gradlab.training import driver
from gradlab.training.environment import choose_threads, describe_environment
from gradlab.training.plan import Plan
from gradlab.wording import as_typed


def fit_run(out: Path, model: nn.Module, task: Task, splits: dict[str, Any], plan: Plan) -> Run:
    """A run folder for this training: a new one, or the one that the same call made.

    Of several processes the first opens or makes it, and all are refused if it refuses.
    """
    train, held = splits["train"], splits["validation"]
    dataset = Dataset.of(train, held if held is not None else (), spec=_spec(train))
    recipe = _recipe(out.name, model, task, plan)
    check_saveable(model)
    parallel.check_same("call of fit", recipe.to_toml())
    if parallel.count() > 1:
        parallel.check_same("data", dataset.raw.fingerprint())

    def open_or_create() -> str:
        if out.exists():
            check_same(open_run(out), recipe, dataset)
            if not isinstance(train, Examples) and not (out / "result.json").exists():
                notice("The data are read again from their beginning, up to where the run stood.")
            return str(out)
        cost = driver.example_cost(model, task, train)
        threads = choose_threads(plan, driver.product_flops(cost, train, plan))
        mode = driver.mode_of(model, train, plan, cost)
        return str(Run.create(out, recipe, describe_environment(train.device, threads, mode), dataset).path)

    run = Run(Path(parallel.first(open_or_create)))
    run.task, run.dataset, run.model = task, dataset, model  # which no name could build again
    return run


def _recipe(name: str, model: nn.Module, task: Task, plan: Plan) -> Recipe:
    """What the folder says of a training whose parts have no names."""
    described = {"class": type(model).__name__, "parameters": parameter_count(model)}
    objectives = {"objectives": list(task.objectives())}
    return Recipe(name, Part(FIT), Part(FIT, described), Part(FIT, objectives), dict(vars(plan)))


def _spec(train: Any) -> Spec:
    inputs = train.parts.get("inputs") if isinstance(train, Examples) else None
    return Spec() if inputs is None else Array.of(tuple(inputs.shape[1:]))


def check_same(run: Run, recipe: Recipe, dataset: Dataset) -> None:
    """Refuse to resume a run by a call with another recipe, or with other data."""
    # A key that the run's version of gradlab did not have is as it is by default.
    usual = {f"train.{key}": value for key, value in vars(Plan()).items() if isinstance(value, int | float | str)}
    before, now = {**usual, **run.recipe.flat()}, recipe.flat()
    for key in dict.fromkeys((*before, *now)):
        was, wanted = (as_typed(values.get(key, "nothing")) for values in (before, now))
        if was != wanted:
            raise GradlabError(
                f"{run.path} holds another training: it was begun with {key}={was}, and this call has {wanted}. Repeat "
                "its own call, or name another folder: out=FOLDER"
            )
    if dataset.raw.fingerprint() != run.data["fingerprint"]:
        raise GradlabError(f"The data of {run.path} are not the ones it began with. Bring those back to go on with it.")
