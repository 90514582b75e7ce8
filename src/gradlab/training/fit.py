"""Any nn.Module, trained on whatever data one has: the same loop, step and observers as a recipe's run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gradlab import parallel
from gradlab.data.iterables import difference_from_first
from gradlab.diagnosis.finding import Findings
from gradlab.diagnosis.inline import findings_list
from gradlab.errors import GradlabError, TrainingError, UnsavedInterrupt, is_out_of_memory, one_line
from gradlab.inline import InlineResult, figures_table
from gradlab.markup import Html
from gradlab.run import Run
from gradlab.run.results import Metrics, TrainingLog, short_figures
from gradlab.tasks import Criterion, Task
from gradlab.tasks.own import BatchMetric, ObjectiveLike
from gradlab.training import driver
from gradlab.training.checks import check_precision, check_splits
from gradlab.training.checkup import Checkup, tell
from gradlab.training.display import default_progress
from gradlab.training.environment import exclusive, find_device
from gradlab.training.fit_arguments import (
    check_criterion,
    check_folder,
    check_metrics,
    check_model,
    check_names,
    check_observers,
    check_progress,
)
from gradlab.training.fit_data import Split, read_data, read_validation
from gradlab.training.fit_metrics import OutputMetric
from gradlab.training.fit_optimizer import is_torch_optimizer, translate_optimizer
from gradlab.training.fit_run import fit_run
from gradlab.training.fit_task import LossLike, check_validation, make_task
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.players import Groups, check_groups, check_players
from gradlab.training.progress import Progress
from gradlab.training.saved import train_into
from gradlab.training.transfer import check_own_start
from gradlab.training.vocabulary import in_a_call, speaking
from gradlab.wording import counted, duration

_IN_FOLDER = {"checkpoint_every", "checkpoint_minutes", "checkpoints"}


@dataclass(frozen=True, repr=False)
class Fit(InlineResult):
    """What `fit` returns: the trained module, every line that was logged, what the doctor found, and its run if any."""

    model: nn.Module
    history: TrainingLog
    steps: int
    seconds: float
    validation: Metrics
    findings: Findings = field(default_factory=Findings)
    run: Run | None = None

    @property
    def _name(self) -> str:
        return str(self.run.path) if self.run else type(self.model).__name__

    def _facts(self) -> list[str]:
        slugs = f"findings {', '.join(f.slug for f in self.findings)}" if self.findings else ""
        time = f"{counted(self.steps, 'step')} in {duration(self.seconds)}"
        mode = "" if self.model.training else "module in evaluation mode"
        return [time, *short_figures(self.validation, "validation"), slugs, mode]

    def _content(self) -> list[Html]:
        figures = figures_table({"validation": self.validation})
        return [figures, self.history.charts(), findings_list(self.findings)]


@dataclass(frozen=True, kw_only=True)
class FitSetup:
    """What a call of `fit` trains, on what and how: read and checked."""

    model: nn.Module
    task: Task
    train: Split
    validation: Any
    plan: Plan
    groups: Groups | None

    @property
    def splits(self) -> dict[str, Any]:
        return {"train": self.train, "validation": self.validation}

    def build(self, **options: Any) -> Any:
        """The training, in its settings, as a context."""
        return driver.training(
            self.model, self.task, self.train, self.validation, self.plan, groups=self.groups, **options
        )


@speaking(in_a_call)
def fit(
    model: nn.Module,
    data: Any,
    *,
    loss: LossLike | None = None,
    objective: ObjectiveLike | Mapping[str, ObjectiveLike] | None = None,
    metrics: Mapping[str, BatchMetric | OutputMetric] | None = None,
    criterion: Criterion | str | None = None,
    validation: Any = 0.0,
    groups: Groups | None = None,
    out: str | Path | None = None,
    device: str | torch.device | None = None,
    observers: Sequence[Observer] = (),
    progress: bool = True,
    **plan: Any,
) -> Fit:
    """Train any module, in place; afterwards it is in evaluation mode.

    `data` is `(X, y)`, a dictionary of arrays, a torch Dataset, a DataLoader, or any iterable of batches. A batch is a
    dictionary of tensors; of a pair the names are `inputs` and `targets`. `validation` is of the same forms, or the
    share of the data to hold out.

    `loss` is a function of (output, target) that gives the mean over the batch, or `"mse"`, or by default
    `"cross_entropy"`. Instead of it, `objective` is any function of (model, batch) that returns (sum, count), or
    several by name; `gradlab.Objective` says which parameters each of them moves, and how. `metrics` are functions, by
    name, of (output, target) or of (model, batch); the names or annotations of their parameters say which, and where
    they do not, the only form in which a first batch works. A metric returns its mean over the batch, a number for each
    example, or (sum, count). The weights that are kept are the best by `criterion`: the loss, unless another figure is
    named: "accuracy" for one that should rise, "-error" for one that should fall. `groups` are parameters with a rate
    or a weight decay of their own, by the beginnings of their names: `{"encoder": {"lr": 1e-5, "weight_decay": 0.0}}`.

    With `out`, a folder keeps log, checkpoints, result and report; the same call goes on with it after a crash.
    `device` is where the module is, unless named. The other keywords are those of a recipe's `[train]`: epochs, steps,
    batch_size, lr, optimizer, schedule, freeze, seed, ... `optimizer` may also come from `torch.optim`: a class, or an
    instance with the parameters of the module, whose options, rates and decays are taken. If something seems wrong with
    the training it is reported on stderr, and in `findings`; `doctor=False` leaves that out. A notebook or
    a terminal shows how far the training is; `progress=False` leaves that out too.

    Several threads cannot train at once: they share torch's random generators. Of several processes that torchrun
    started, observers watch the first.

    >>> X, y = torch.randn(200, 4), torch.randint(0, 3, (200,))
    >>> trained = fit(nn.Linear(4, 3), (X, y), epochs=2)
    >>> trained.steps, trained.model.training
    (14, False)
    """
    check_folder(out)
    check_progress(progress)
    check_observers(observers)
    observers = [*(default_progress() if progress else []), *observers]
    with prepare_fit(
        model,
        data,
        loss=loss,
        objective=objective,
        metrics=metrics,
        criterion=criterion,
        validation=validation,
        groups=groups,
        device=device,
        plan=plan,
    ) as setup:
        if setup.plan.log != "none" and out is None:
            raise GradlabError(f"log={setup.plan.log!r} is written into a run folder: name one, out=FOLDER.")
        for key in () if out is not None else _IN_FOLDER & plan.keys():
            raise GradlabError(
                f"{key}={plan[key]!r}: without a folder fit keeps no checkpoint. Give it one: out='run'."
            )
        with _compare_batches(setup):
            trained = _train(setup, observers) if out is None else _train_into(Path(out), setup, observers)
    model.eval()
    if parallel.rank() == 0:
        tell(trained.findings)
    return trained


@contextmanager
def prepare_fit(
    model: nn.Module,
    data: Any,
    *,
    loss: LossLike | None = None,
    objective: ObjectiveLike | Mapping[str, ObjectiveLike] | None = None,
    metrics: Mapping[str, BatchMetric | OutputMetric] | None = None,
    criterion: Criterion | str | None = None,
    validation: Any = 0.0,
    groups: Groups | None = None,
    device: str | torch.device | None = None,
    plan: Mapping[str, Any],
) -> Iterator[FitSetup]:
    """The arguments of `fit`, read and checked, where gradients are computed whatever the caller has turned off."""
    check_names(plan, fit)
    check_model(model)
    check_metrics(metrics)
    check_criterion(criterion)
    check_groups({} if groups is None else groups)
    with torch.inference_mode(False), torch.enable_grad(), exclusive(), parallel.joined():
        if is_torch_optimizer(plan.get("optimizer")):
            plan, groups = translate_optimizer(plan["optimizer"], model, plan, groups)
        settled = Plan(**plan_schema.resolve(plan, "fit"))
        check_own_start(settled)
        own = next((p.device for p in model.parameters()), torch.device("cpu"))
        place = own if device is None else find_device(str(device) if isinstance(device, torch.device) else device)
        check_precision(settled, place)
        train = read_data(data, settled, place)
        model = model.to(place)
        task = make_task(model, train, loss, objective, metrics or {}, criterion)
        train, held_out = read_validation(train, validation, settled, place, stratify=task.wants == "classes")
        check_validation(model, task, held_out)
        check_players(model, task, settled, groups)
        setup = FitSetup(
            model=model,
            task=task,
            train=task.encoded(train),
            validation=task.encoded(held_out) if held_out is not None else None,
            plan=settled,
            groups=groups,
        )
        check_splits(task, **{name: split for name, split in setup.splits.items() if split is not None})
        driver.check(model, setup.train, setup.validation, settled)
        yield setup


@contextmanager
def _compare_batches(setup: FitSetup) -> Iterator[None]:
    """What fails on a batch that is unlike the first one is reported with both."""
    try:
        yield
    except Exception as error:
        if isinstance(error, GradlabError) or is_out_of_memory(error):
            raise
        difference = "".join(map(difference_from_first, setup.splits.values()))
        if not difference:
            raise
        raise TrainingError(f"{difference} {type(error).__name__}: {one_line(error)}") from error


def _train(setup: FitSetup, observers: Sequence[Observer]) -> Fit:
    """Train without a folder."""
    history = _History()
    checkup = Checkup(words=in_a_call) if setup.plan.doctor and setup.task.doctor else None
    watching = [*observers, *([checkup] if checkup else [])] if parallel.rank() == 0 else []
    with (
        setup.build(observers=[history, *watching]) as training,
        checkup.at_work() if checkup else nullcontext(),
    ):
        ended = _run(training)
    findings = checkup.findings if checkup else Findings()
    figures = Metrics(_last_figures(training, history.lines))
    return Fit(setup.model, history.lines, ended.step, ended.seconds, figures, findings)


def _run(training: Training) -> Progress:
    """Train to the end; stopped before it, nothing is left that could be resumed."""
    try:
        progress = training.run()
    except KeyboardInterrupt:
        progress = replace(training.progress, ended="interrupted")
    if progress.ended == "interrupted":
        step = f"Stopped at step {progress.step:,}."
        raise UnsavedInterrupt(f"{step} Nothing was saved: with out=FOLDER, the same call resumes.") from None
    return progress


def _train_into(out: Path, setup: FitSetup, observers: Sequence[Observer]) -> Fit:
    """Train in a run folder: a new one, or one that the same call began."""
    run = fit_run(out, setup.model, setup.task, setup.splits, setup.plan)
    if parallel.first(run.to_be_continued):
        eager = {"mode": "eager"} if run.environment.get("step_reason") else {}  # known from the first call
        build = partial(setup.build, **eager)
        splits = {name: split for name, split in setup.splits.items() if split is not None}
        train_into(run, build, setup.task, setup.plan, splits, observers, {"recipe": out.name}, in_a_call)
    else:
        setup.model.load_state_dict(run.chosen_weights())
    result = run.finished
    findings = run.findings or Findings()
    return Fit(setup.model, run.metrics, result["steps"], result["seconds"], run.validation, findings, run)


def _last_figures(training: Training, lines: Sequence[Line]) -> dict[str, float]:
    """The figures of the weights that the model was left with."""
    progress = training.progress
    evaluations = [line for line in lines if line["split"] == "validation"]
    last = {name: evaluations[-1][name] for name in progress.best} if evaluations else {}
    return progress.best if training.plan.keep == "best" else last


class _History(Observer):
    def __init__(self) -> None:
        self.lines = TrainingLog()

    def log(self, training: Training, line: Line) -> None:
        self.lines.append(dict(line))

    def rewind(self, training: Training) -> None:
        self.lines[:] = [line for line in self.lines if line["step"] <= training.progress.step]
