"""From a recipe to a finished run folder."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor, nn

from gradlab import owners, parallel
from gradlab.data import Dataset, Examples, Stream, load, sources
from gradlab.data.dataset import FILES, split_size
from gradlab.data.tables.leaks import Leak, find_leaks
from gradlab.data.text.windows import WindowExamples
from gradlab.environments import registry as environments
from gradlab.errors import GradlabError, is_out_of_memory, notice, one_line
from gradlab.models import build_model, models
from gradlab.models.cost import Cost, parameter_count
from gradlab.owners import Code
from gradlab.recipe import Recipe
from gradlab.registry import Part
from gradlab.run import Run
from gradlab.run.checkpoint import check_saveable
from gradlab.run.folder import BRING_BACK, new_path
from gradlab.run.start import Start
from gradlab.tasks import Task, settled, tasks, wants
from gradlab.tasks.evaluation import inference, with_gradients_if_needed
from gradlab.tasks.first_loss import first_loss
from gradlab.tasks.rare_class import with_best_metric
from gradlab.training import driver
from gradlab.training.capture import Mode
from gradlab.training.checks import check_precision, check_splits, check_task
from gradlab.training.environment import choose_threads, describe_environment, exclusive
from gradlab.training.observers import Observer
from gradlab.training.optimizers import optimizers
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.players import check_players
from gradlab.training.saved import train_into
from gradlab.training.schedules import schedules
from gradlab.training.transfer import origin_of, taken_over

SPLITS = ("train", "validation", "test")
_GLANCE = 256  # examples, enough to check a fresh model,
_GLANCED = 2**18  # and targets of them: a long text has many
_LONG_TEXT = 4096  # tokens, over which a pass takes long on the CPU


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with every knob filled in and checked."""
    if recipe.task.name == "auto" and recipe.task.values:
        key = next(iter(recipe.task.values))
        raise GradlabError(
            f"The targets decide the task, so that it has no key {key!r} yet. Name it first: task=classify"
        )
    if hint := _other_section(recipe):
        raise GradlabError(hint)
    data = sources.resolve(recipe.data, "data")
    named = {knob: data.values.get(knob) for knob in FILES}
    files = {knob: str(Path(file).absolute()) for knob, file in named.items() if isinstance(file, str | Path)}
    data = replace(data, values={**data.values, **files})
    return replace(
        recipe,
        data=data,
        model=models.resolve(recipe.model, "model"),
        task=tasks.resolve(recipe.task, "task"),
        train=_with_run(plan_schema.resolve(recipe.train, "train")),
    )


def _with_run(train: dict[str, Any]) -> dict[str, Any]:
    """The plan with the place of the run that it starts from, wherever it is used from."""
    return train if train["from_run"] is None else {**train, "from_run": str(Path(train["from_run"]).absolute())}


def _other_section(recipe: Recipe) -> str | None:
    """Of a key that its section does not have and another has: where it is set."""
    schemas = {
        "data": sources.schema(recipe.data.name),
        "model": models.schema(recipe.model.name),
        "task": tasks.schema(recipe.task.name),
        "train": plan_schema,
    }
    values = {section: getattr(recipe, section).values for section in ("data", "model", "task")}
    for section, keys in {**values, "train": recipe.train}.items():
        for key in keys:
            if key not in schemas[section].knobs | schemas[section].old_knobs:
                for other, schema in schemas.items():
                    if key in schema.knobs:
                        return (
                            f"There is no key in {section}, {key!r}: it is one of {other}. Set {other}.{key} instead."
                        )
    return None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything built and checked, before the first step: what will be trained, on what, how."""

    recipe: Recipe
    dataset: Dataset
    task: Task
    model: nn.Module
    plan: Plan
    device: torch.device
    mode: Mode
    mode_reason: str
    """Why the step of a run that has begun is eager, where it could have been replayed."""
    threads: int
    flops: int
    splits: Mapping[str, Any]
    """On the device, targets as the losses take them."""
    start: Start | None = None
    """First weights, where they are not drawn."""

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        device: torch.device,
        threads: int | None = None,
        mode: Mode | None = None,
        begun: Run | None = None,
        start: Start | None = None,
    ) -> "Experiment":
        """Read the data and build the model. `threads` and `mode` repeat the choices of a run that has `begun`."""
        with exclusive(), owners.telling():
            return cls._of(resolve(recipe), device, threads, mode, begun, start)

    @classmethod
    def _of(
        cls,
        recipe: Recipe,
        device: torch.device,
        threads: int | None,
        mode: Mode | None,
        begun: Run | None,
        start: Start | None,
    ) -> "Experiment":
        plan = Plan(**recipe.train)
        check_precision(plan, device)
        parallel.check_same("recipe", recipe.to_toml())
        origin = origin_of(recipe, plan, begun)
        preparation = taken_over(plan, origin, begun)
        dataset = load(recipe.data, wants(recipe.task), preparation)
        if parallel.count() > 1:
            parallel.check_same("data", dataset.raw.fingerprint())
        recipe = replace(recipe, task=settled(recipe.task, dataset.targets))
        task = tasks.build(recipe.task, dataset.targets)
        model = drawn_model(recipe, dataset, task, plan.seed)
        if origin is not None:
            dataset, recipe = origin.check_data(dataset), origin.give(recipe, model, dataset.targets, task.outputs)
            plan = Plan(**recipe.train)
        if start is not None:
            start.load_into(model)
        splits = {name: dataset.split(name) for name in SPLITS}
        # Encoding refuses what the task cannot learn.
        encoded = {name: s if name != "train" and not split_size(s) else task.encoded(s) for name, s in splits.items()}
        chosen = with_best_metric(recipe.task, dataset.targets, [*encoded.values()][1:])
        if chosen is not recipe.task:  # otherwise it stays the one that streams know
            recipe, task = replace(recipe, task=chosen), tasks.build(chosen, dataset.targets)
        if isinstance(encoded["train"], WindowExamples) and encoded["train"].inputs.shape[1] >= _LONG_TEXT:
            # Minutes on the CPU. Short examples stay there, where an index that is too large is an error and not fatal.
            model, encoded = model.to(device), {**encoded, "train": encoded["train"].to(device)}
        if isinstance(encoded["train"], Stream):
            encoded["train"] = encoded["train"].planned(plan.batch_size, plan.seed)
        train = encoded["train"]
        check_splits(task, **encoded)
        driver.fit_inputs(model, train)
        with _reading(recipe):
            task.check(model, train)
        check_players(model, task, plan)
        cost = _first_pass(recipe, model, task, train)
        # What would fail in the training is refused before there is a run folder.
        check_saveable(model)
        driver.check(model, train, encoded["validation"], plan)
        return cls(
            recipe=recipe,
            dataset=dataset,
            task=task,
            model=model.to(device),
            plan=plan,
            device=device,
            mode=mode or driver.mode_of(model, train, plan, cost, device=device),
            mode_reason=begun.environment.get("step_reason", "") if begun and mode == "eager" else "",
            threads=threads or choose_threads(plan, driver.product_flops(cost, train, plan)),
            flops=cost.flops,
            splits={name: split.to(device) if hasattr(split, "to") else split for name, split in encoded.items()},
            start=start,
        )

    @property
    def parameters(self) -> int:
        return parameter_count(self.model)

    @property
    def steps(self) -> int:
        return driver.total_steps(self.splits["train"], self.plan)

    @property
    def evaluation_interval(self) -> int:
        return self.plan.evaluation_interval(driver.steps_per_epoch(self.splits["train"], self.plan))

    @cached_property
    def leaks(self) -> list[Leak]:
        """Columns of a table that may give the answer away, by the training split."""
        train = self.dataset.train
        return find_leaks(self.dataset.raw, train.rows) if isinstance(train, Examples) else []

    @property
    def notes(self) -> list[str]:
        """What the user should know of the data."""
        return [*self.dataset.raw.notes, *(leak.note for leak in self.leaks)]

    def initial_loss(self) -> float:
        """The loss of the fresh model on some training examples, in training mode."""
        train = self.splits["train"]
        if not isinstance(train, Examples):
            return math.nan
        targets = train.parts.get("targets")
        each = 1 if targets is None else max(1, math.prod(targets.shape[1:]))
        some = train.sample(max(1, min(_GLANCE, _GLANCED // each)))
        return first_loss(self.model, self.task, some)


def drawn_model(recipe: Recipe, dataset: Dataset, task: Task, seed: int) -> nn.Module:
    """The model of a recipe with the first weights of a seed, on the CPU; other random numbers are left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_model(recipe.model, dataset.preprocessing.spec, task.outputs, data=recipe.data.name)


def _first_pass(recipe: Recipe, model: nn.Module, task: Task, train: Any) -> Cost:
    """What a forward pass costs for one example, if the model can read it and gives what the task needs."""
    if not isinstance(train, Examples):
        return driver.example_cost(model, task, train)
    one = train.batch(slice(0, 1))
    with _reading(recipe):
        check_task(model, task, train.batch(slice(0, 2)))
        cost = driver.example_cost(model, task, train)
        needed = task.output_shape(one)
        if needed is None:
            return cost

        def forward() -> Tensor:
            with inference(model):
                outputs: Tensor = task.forward(model, one)
            return outputs

        outputs = with_gradients_if_needed(model, forward)
    if tuple(outputs.shape[1:]) != needed:
        raise GradlabError(
            f"model={recipe.model.name} gives outputs of shape {tuple(outputs.shape[1:])} for an example of "
            f"data={recipe.data.name}, but task={recipe.task.name} needs {needed}. Take another model."
        )
    return cost


@contextmanager
def _reading(recipe: Recipe) -> Iterator[None]:
    """What fails meanwhile is a model that cannot read its data."""
    try:
        with owners.telling():
            yield
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        if is_out_of_memory(error) or isinstance(error, GradlabError):
            raise
        raise GradlabError(
            f"model={recipe.model.name} cannot read data={recipe.data.name}: {one_line(error)}. Take another model."
        ) from None


def start(experiment: Experiment, out: str | Path | None = None, observers: Sequence[Observer] = ()) -> Run:
    """Train into a new run folder."""
    path = Path(out) if out else new_path(experiment.recipe.name)
    environment = describe_environment(experiment.device, experiment.threads, experiment.mode)
    parts = experiment.recipe, environment, experiment.dataset, codes_of(experiment.recipe), experiment.start
    created = parallel.first(lambda: str(Run.create(path, *parts).path))
    return _train(experiment, Run(Path(created)), observers)


def codes_of(recipe: Recipe) -> list[Code]:
    """The files of one's own from which parts of a recipe come."""
    used = [(sources, recipe.data), (models, recipe.model), (tasks, recipe.task)]
    used += [(optimizers, recipe.train["optimizer"]), (schedules, recipe.train["schedule"])]
    used += [(environments, part) for part in recipe.data.values.values() if isinstance(part, Part)]
    owner = {registry.owner(part.name) for registry, part in used}
    codes = [code for path, code in owners.loaded.items() if path in owner]
    if len({code.path.name for code in codes}) < len(codes):
        both = " and ".join(owners.shown(code.path) for code in codes)
        raise GradlabError(f"{both} have the same name, by which a run knows them. Rename one of them.")
    return codes


def resume(run: Run, device: torch.device, observers: Sequence[Observer], changed_code: bool = False) -> Run:
    """Go on with a run from its newest sound checkpoint, or from step 0; damage and drift are reported."""
    for change in run.check_code():
        if not changed_code:
            again = f"{run.resume_command} --changed-code"
            raise GradlabError(f"{change} To go on with the changed one all the same: {again}")
    before = run.environment
    same = before["device"] == device.type and before.get("processes", 1) == parallel.count()
    mode: Mode | None = next((one for one in get_args(Mode) if same and one == before.get("step")), None)
    experiment = Experiment.of(replace(run.recipe, data=run.source), device, before["threads"], mode, run, run.start)
    if experiment.dataset.raw.fingerprint() != run.data["fingerprint"]:
        raise GradlabError(f"The data of {run.path} are not the ones it began with. {BRING_BACK}")
    now = describe_environment(device, experiment.threads, experiment.mode)
    for key in ("gradlab", "python", "torch", "device", "device_name", "processes", "step"):
        if now[key] != run.environment.get(key, now[key]) and parallel.rank() == 0:
            notice(f"{key} was {run.environment[key]} when this run began and is {now[key]} now: expect other bits.")
    return _train(experiment, run, observers)


def _train(experiment: Experiment, run: Run, observers: Sequence[Observer]) -> Run:
    splits = experiment.splits
    build = partial(
        driver.training,
        experiment.model,
        experiment.task,
        splits["train"],
        splits["validation"],
        experiment.plan,
        threads=experiment.threads,
        mode=experiment.mode,
        masks=experiment.start.masks if experiment.start else None,
    )
    known = {"recipe": experiment.recipe.name, "flops_per_example": experiment.flops}
    if experiment.start is not None:
        known["pruning"] = experiment.start.pruning
    leaks = experiment.leaks if experiment.plan.doctor else []
    train_into(run, build, experiment.task, experiment.plan, splits, observers, known, leaks=leaks)
    run.dataset = experiment.dataset  # so that nobody reads it again
    return run
