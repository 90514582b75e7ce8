"""From a recipe to a finished run folder."""

import math
import signal
import threading
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gradlab import owners, parallel
from gradlab.data import Dataset, Examples, load, sources
from gradlab.data.dataset import split_size
from gradlab.errors import GradlabError, Interrupted, TrainingError, is_out_of_memory, notice, one_line
from gradlab.models import build_model, models
from gradlab.owners import Code
from gradlab.probes import parameter_count
from gradlab.recipe import Recipe
from gradlab.run import Run
from gradlab.run.checkpoint import newest_sound, steps
from gradlab.run.folder import new_path
from gradlab.tasks import Task, compare, settled, tasks, wants
from gradlab.tasks.evaluation import inference
from gradlab.training import driver
from gradlab.training.capture import Mode, choose_mode
from gradlab.training.checks import check_precision, check_splits, check_task
from gradlab.training.checkup import Checkup
from gradlab.training.environment import choose_threads, describe_environment
from gradlab.training.loop import Training
from gradlab.training.observers import Checkpoints, MetricsLog, Observer
from gradlab.training.optimizers import optimizers
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.players import check_players
from gradlab.training.schedules import schedules
from gradlab.training.streams import read

SPLITS = ("train", "validation", "test")
_GLANCE = 256  # examples that tell enough about a fresh model


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with every knob filled in and checked."""
    if recipe.task.name == "auto" and recipe.task.values:
        key = next(iter(recipe.task.values))
        raise GradlabError(
            f"The targets decide the task, so that it has no key {key!r} yet. Name it first: task=classify"
        )
    data = sources.resolve(recipe.data, "data")
    if data.values.get("path") is not None:
        data = replace(data, values={**data.values, "path": str(Path(data.values["path"]).absolute())})
    return replace(
        recipe,
        data=data,
        model=models.resolve(recipe.model, "model"),
        task=tasks.resolve(recipe.task, "task"),
        train=plan_schema.resolve(recipe.train, "train"),
    )


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
    threads: int
    flops: int
    splits: Mapping[str, Any]
    """On the device, targets as the losses take them."""

    @classmethod
    def of(cls, recipe: Recipe, device: torch.device, threads: int | None = None) -> "Experiment":
        """Read the data and build the model. `threads` repeats the choice of an earlier run."""
        with owners.telling():
            return cls._of(resolve(recipe), device, threads)

    @classmethod
    def _of(cls, recipe: Recipe, device: torch.device, threads: int | None) -> "Experiment":
        plan = Plan(**recipe.train)
        check_precision(plan, device)
        dataset = load(recipe.data, wants(recipe.task))
        recipe = replace(recipe, task=settled(recipe.task, dataset.targets))
        task = tasks.build(recipe.task, dataset.targets)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(plan.seed)
            model = build_model(recipe.model, dataset.preprocessing.spec, task.outputs, data=recipe.data.name)
        splits = {name: dataset.split(name) for name in SPLITS}
        # Encoding refuses what the task cannot learn.
        encoded = {name: s if name != "train" and not split_size(s) else task.encoded(s) for name, s in splits.items()}
        train = encoded["train"]
        check_splits(**encoded)
        check_players(model, task, plan)
        flops = _first_pass(recipe, model, task, train)
        task.check(model, train)
        # What would fail in the training is refused before there is a run folder.
        driver.check(model, train, encoded["validation"], plan)
        return cls(
            recipe=recipe,
            dataset=dataset,
            task=task,
            model=model.to(device),
            plan=plan,
            device=device,
            mode=choose_mode(plan, device, driver.total_steps(train, plan)),
            threads=threads or choose_threads(plan, driver.step_flops(flops, train, plan)),
            flops=flops,
            splits={name: split.to(device) if hasattr(split, "to") else split for name, split in encoded.items()},
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

    def initial_loss(self) -> float:
        """The loss of the fresh model on some training examples."""
        train = self.splits["train"]
        if not isinstance(train, Examples):
            return math.nan
        return self.task.evaluate(self.model, train.sample(_GLANCE)).get("loss", math.nan)


def _first_pass(recipe: Recipe, model: nn.Module, task: Task, train: Any) -> int:
    """The operations of a forward pass for one example, if the model can read it and gives what the task needs."""
    if not isinstance(train, Examples):
        return driver.example_flops(model, task, train)
    one = train.batch(slice(0, 1))
    try:
        with owners.telling():
            check_task(model, task, train.batch(slice(0, 2)))
            flops = driver.example_flops(model, task, train)
            with inference(model):
                given = task.forward(model, one)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        if is_out_of_memory(error) or isinstance(error, GradlabError):
            raise
        raise GradlabError(
            f"model={recipe.model.name} cannot read data={recipe.data.name}: {one_line(error)}. Take another model."
        ) from None
    needed = task.output_shape(one)
    if needed is not None and tuple(given.shape[1:]) != needed:
        raise GradlabError(
            f"model={recipe.model.name} gives outputs of shape {tuple(given.shape[1:])} for an example of "
            f"data={recipe.data.name}, but task={recipe.task.name} needs {needed}. Take another model."
        )
    return flops


def start(experiment: Experiment, out: str | Path | None = None, observers: Sequence[Observer] = ()) -> Run:
    """Train into a new run folder."""
    path = Path(out) if out else new_path(experiment.recipe.name)
    environment = describe_environment(experiment.device, experiment.threads, experiment.mode)
    _check_same(experiment)
    parts = experiment.recipe, environment, experiment.dataset, codes_of(experiment.recipe)
    made = parallel.first(lambda: str(Run.create(path, *parts).path))
    return _train(experiment, Run(Path(made)), observers)


def codes_of(recipe: Recipe) -> list[Code]:
    """The files of one's own from which parts of a recipe come."""
    used = [(sources, recipe.data), (models, recipe.model), (tasks, recipe.task)]
    used += [(optimizers, recipe.train["optimizer"]), (schedules, recipe.train["schedule"])]
    owner = {registry.owner(part.name) for registry, part in used}
    codes = [code for path, code in owners.loaded.items() if path in owner]
    if len({code.path.name for code in codes}) < len(codes):
        both = " and ".join(owners.shown(code.path) for code in codes)
        raise GradlabError(f"{both} have the same name, by which a run knows them. Rename one of them.")
    return codes


def resume(run: Run, device: torch.device, observers: Sequence[Observer], changed_code: bool = False) -> Run:
    """Go on with a run from its newest sound checkpoint, or from step 0; damage and drift are told."""
    for change in run.check_code():
        if not changed_code:
            raise GradlabError(f"{change} To go on with the changed one all the same: --changed-code")
    experiment = Experiment.of(run.recipe, device, run.environment["threads"])
    if experiment.dataset.raw.fingerprint() != run.data["fingerprint"]:
        raise GradlabError(f"The data of {run.path} are not the ones it began with. Bring those back to resume it.")
    _check_same(experiment)
    now = describe_environment(device, experiment.threads, experiment.mode)
    for key in ("gradlab", "python", "torch", "device", "device_name", "processes", "step"):
        if now[key] != run.environment.get(key, now[key]) and parallel.rank() == 0:
            notice(f"{key} was {run.environment[key]} when this run began and is {now[key]} now: expect other bits.")
    return _train(experiment, run, observers)


def _check_same(experiment: Experiment) -> None:
    parallel.check_same("recipe", experiment.recipe.to_toml())
    parallel.check_same("data", experiment.dataset.raw.fingerprint())


def _train(experiment: Experiment, run: Run, observers: Sequence[Observer]) -> Run:
    plan, splits = experiment.plan, experiment.splits
    checkup = Checkup(run.path / "metrics.jsonl") if plan.doctor and experiment.task.doctor else None
    keepers = [
        MetricsLog(run.path / "metrics.jsonl", plan.checkpoint_every),
        Checkpoints(run.checkpoints, plan.checkpoint_every, plan.checkpoints),
    ]
    built = driver.training(
        experiment.model,
        experiment.task,
        splits["train"],
        splits["validation"],
        plan,
        threads=experiment.threads,
        mode=experiment.mode,
        observers=[*observers, *([checkup] if checkup else []), *keepers] if parallel.rank() == 0 else [],
    )
    with owners.telling(), run.locked() if parallel.rank() == 0 else nullcontext(), built as training:
        _restore(training, run)
        with _at_work(run):
            with _stopping_on_signals(training), checkup.at_work() if checkup else nullcontext():
                progress = training.run()
            if progress.ended == "interrupted":
                again = f"gradlab resume {run.path}{run.code_options}"
                raise Interrupted(f"Stopped and saved at step {progress.step}. Go on with: {again}")
            figures = _figures(experiment, run, training, checkup)
        parallel.first(lambda: run.conclude(figures))
    run.dataset = experiment.dataset  # so that nobody reads it again
    return run


@contextmanager
def _at_work(run: Run) -> Iterator[None]:
    """What fails meanwhile fails in a training that has begun; one's own code is told by its line, and how to go on."""
    try:
        yield
    except Exception as error:
        told = owners.blame(error)
        if told:
            saved = [int(path.name.removeprefix("step-")) for path in steps(run.checkpoints)]
            kept = f"The checkpoint of step {saved[0]} is kept" if saved else "No checkpoint had been saved"
            again = f"gradlab resume {run.path}{run.code_options} --changed-code"
            raise TrainingError(f"{told} {kept}. When that is mended: {again}") from error
        if isinstance(error, GradlabError) and error.exit_code == GradlabError.exit_code:
            raise TrainingError(str(error)) from error
        raise


def _restore(training: Training, run: Run) -> None:
    """Stand at the newest sound checkpoint, if there is one."""
    checkpoint, complaints = newest_sound(run.checkpoints)
    parallel.check_same("checkpoint", str(checkpoint.step if checkpoint else 0))
    for complaint in complaints if parallel.rank() == 0 else ():
        notice(f"{complaint} Going on from {f'step {checkpoint.step}' if checkpoint else 'the beginning'} instead.")
    if checkpoint is not None:
        try:
            training.restore(checkpoint)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            where = f"{run.checkpoints}/step-{checkpoint.step:08d}"
            raise GradlabError(f"{where} does not fit its recipe. {one_line(error)}") from None


@contextmanager
def _stopping_on_signals(training: Training) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the training after the step it is in, saved; a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before: dict[int, Any] = {}

    def stop(number: int, frame: types.FrameType | None) -> None:
        training.request("stop")
        signal.signal(number, before[number])

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


def _figures(experiment: Experiment, run: Run, training: Training, checkup: Checkup | None) -> dict[str, Any]:
    """What result.json holds; every figure stands beside those of the trivial baselines."""
    task, model, progress = experiment.task, experiment.model, training.progress
    judged = {name: read(experiment.splits[name], experiment.plan) for name in ("validation", "test")}
    judged = {name: split for name, split in judged.items() if len(split)}
    figures = {name: task.evaluate(model, split) for name, split in judged.items()}
    trivial = task.baselines(training.train, model) if judged else {}
    baselines = {name: compare(trivial, task, split) for name, split in judged.items()} if trivial else {}
    to_beat = list(trivial)[-1] if trivial else ""
    kept = f"best, of step {progress.best_step}" if training.best_weights is not None else "last"
    return {
        "run": str(run.path),
        "recipe": experiment.recipe.name,
        "steps": progress.step,
        "seconds": round(progress.seconds, 3),
        "parameters": experiment.parameters,
        "flops_per_example": experiment.flops,
        "ended": progress.ended,
        "weights": kept + ", averaged" * (training.average is not None),
        "validation": figures.get("validation", {}),
        "test": figures.get("test", {}),
        "baseline": {"name": to_beat, **{s: beside[to_beat] for s, beside in baselines.items()}} if trivial else {},
        "baselines": baselines,
        **task.closing(model, judged),
        **({"findings": [finding.as_json() for finding in checkup.findings]} if checkup else {}),
    }
