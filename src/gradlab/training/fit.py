"""Any nn.Module, trained on whatever data one has: the same loop, step and observers as a recipe's run."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Examples, Targets
from gradlab.diagnosis.finding import Findings
from gradlab.diagnosis.inline import findings_list
from gradlab.errors import GradlabError, UnsavedInterrupt
from gradlab.inline import InlineResult, figures_table
from gradlab.markup import Html
from gradlab.run import Run
from gradlab.run.results import Metrics, TrainingLog, short_figures
from gradlab.tasks import Classify, Criterion, Metric, Regress, Supervised, Task, predict
from gradlab.tasks.own import BatchMetric, ObjectiveLike, OwnTask
from gradlab.training import driver
from gradlab.training.checks import check_objectives, check_precision
from gradlab.training.checkup import Checkup, tell
from gradlab.training.display import default_progress
from gradlab.training.environment import find_device
from gradlab.training.fit_data import Split, first_batch, read_data, read_validation, targets_of
from gradlab.training.fit_run import fit_run
from gradlab.training.loop import Progress, Training
from gradlab.training.observers import Line, Observer
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.players import Groups
from gradlab.training.saved import train_into
from gradlab.training.transfer import check_own_start
from gradlab.training.vocabulary import in_a_call, speaking
from gradlab.wording import counted, duration

Loss = Callable[[Tensor, Tensor], Tensor]

_KEPT = {"checkpoint_every", "checkpoint_minutes", "checkpoints"}  # what needs a run folder


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
        return [time, *short_figures(self.validation, "validation"), slugs]

    def _content(self) -> list[Html]:
        figures = figures_table({"validation": self.validation})
        return [figures, self.history.charts(), findings_list(self.findings)]


@speaking(in_a_call)
def fit(
    model: nn.Module,
    data: Any,
    *,
    loss: Literal["cross_entropy", "mse"] | Loss | None = None,
    objective: ObjectiveLike | Mapping[str, ObjectiveLike] | None = None,
    metrics: Mapping[str, BatchMetric] | None = None,
    criterion: Criterion | str | None = None,
    validation: Any = 0.0,
    groups: Groups | None = None,
    out: str | Path | None = None,
    device: str | None = None,
    observers: Sequence[Observer] = (),
    progress: bool = True,
    **plan: Any,
) -> Fit:
    """Train any module, in place.

    `data` is `(X, y)`, a dictionary of arrays, a torch Dataset, a DataLoader, or any iterable of batches. A batch is a
    dictionary of tensors; of a pair the names are `inputs` and `targets`. `validation` is of the same forms, or the
    share of the data to hold out.

    `loss` is a function of (output, target) that gives the mean over the batch, or `"mse"`, or by default
    `"cross_entropy"`. Instead of it, `objective` is any function of (model, batch) that returns (sum, count), or
    several by name; `gradlab.Objective` says which parameters each of them moves, and how. `metrics` are functions of
    (model, batch) that return (sum, count), or a number for each example. The weights that are kept are the best by
    `criterion`: the loss, unless another figure is named: "accuracy" for one that should rise, "-error" for one that
    should fall. `groups` are parameters with a rate or a weight decay of their own, by the beginnings of their names:
    `{"encoder": {"lr": 1e-5, "weight_decay": 0.0}}`.

    With `out`, a folder keeps log, checkpoints, result and report; the same call goes on with it after a crash.
    `device` is where the module is, unless named. The other keywords are those of a recipe's `[train]`: epochs, steps,
    batch_size, lr, optimizer, schedule, freeze, seed, ... If something seems wrong with the training it is reported on
    stderr, and in `findings`; `doctor=False` leaves that out. A notebook or a terminal shows how far the training is;
    `progress=False` leaves that out too.

    >>> X, y = torch.randn(200, 4), torch.randint(0, 3, (200,))
    >>> fit(nn.Linear(4, 3), (X, y), epochs=2).steps
    14
    """
    observers = [*(default_progress() if progress else []), *observers]
    settled = Plan(**plan_schema.resolve(plan, "fit"))
    check_own_start(settled)
    if settled.log != "none" and out is None:
        raise GradlabError(f"log={settled.log!r} is written into a run folder: name one, out=FOLDER.")
    for key in () if out is not None else _KEPT & plan.keys():
        raise GradlabError(f"{key}={plan[key]!r}: without a folder fit keeps no checkpoint. Give it one: out='run'.")
    if not any(p.requires_grad for p in model.parameters()) and not hasattr(model, "learn_without_gradients"):
        raise GradlabError("The model has no parameter to train.")
    place = find_device(device) if device else next((p.device for p in model.parameters()), torch.device("cpu"))
    check_precision(settled, place)
    with parallel.joined():
        train = read_data(data, settled, place)
        model = model.to(place)
        task = _task(model, train, loss, objective, metrics, criterion)
        train, held = read_validation(train, validation, settled, place, stratify=task.wants == "classes")
        _check_validation(model, task, held)
        splits = {"train": task.encoded(train), "validation": task.encoded(held) if held is not None else None}
        history = _History()
        build = partial(driver.training, model, task, splits["train"], splits["validation"], settled, groups=groups)
        if out is not None:
            return _fit_into(Path(out), model, task, splits, settled, build, observers)
        checkup = Checkup(words=in_a_call) if settled.doctor and task.doctor else None
        with (
            build(observers=[history, *observers, *([checkup] if checkup else [])]) as training,
            checkup.at_work() if checkup else nullcontext(),
        ):
            ended = _run(training)
    findings = checkup.findings if checkup else Findings()
    tell(findings)
    figures = Metrics(_last_figures(training, history.lines))
    return Fit(model, history.lines, ended.step, ended.seconds, figures, findings)


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


def _fit_into(
    out: Path,
    model: nn.Module,
    task: Task,
    splits: dict[str, Any],
    plan: Plan,
    build: Any,
    observers: Sequence[Observer],
) -> Fit:
    """Train in a run folder: a new one, or one that the same call began."""
    run = fit_run(out, model, task, splits, plan)
    if run.to_be_continued():
        present = {name: split for name, split in splits.items() if split is not None}
        train_into(run, build, task, plan, present, observers, {"recipe": out.name}, in_a_call)
    else:
        model.load_state_dict(run.chosen_weights())
    result = run.finished
    findings = run.findings or Findings()
    tell(findings)
    return Fit(model, run.metrics, result["steps"], result["seconds"], run.validation, findings, run)


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


class _Custom(Supervised):
    """A task with nothing but the user's own loss."""

    def __init__(self, loss: Loss):
        self.mean_loss = loss

    def loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> tuple[Tensor, int]:
        assert weight is None, "a mean cannot be weighted afterwards"
        return self.mean_loss(output, target) * len(target), len(target)


class _Squared(Regress):
    """Squared error of outputs of any shape, against the targets as they are."""

    def __init__(self, shape: torch.Size):
        super().__init__(Targets(mean=[0.0], std=[1.0]))
        self.shape = shape

    def encode(self, targets: Tensor) -> Tensor:
        # The outputs' own shape: (n,) beside (n, 1) would broadcast to a table of all differences.
        return targets.float().reshape(len(targets), *self.shape)

    def loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> Any:
        return super().loss(output, self.encode(target), weight)  # those of a stream come as they are


def _task(
    model: nn.Module,
    train: Split,
    loss: Any,
    objective: Any,
    metrics: Mapping[str, BatchMetric] | None,
    criterion: Criterion | str | None,
) -> Task:
    """What is learned, checked on the first batch."""
    batch = first_batch(train)
    if objective is not None:
        if loss is not None:
            raise GradlabError("loss and objective both say what is minimised: give one of them.")
        task: Task = OwnTask(objective, metrics, _criterion(criterion, {}))
        if batch is not None:
            check_objectives(model, task, batch)
        return task
    if batch is None or not {"inputs", "targets"} <= batch.keys():
        held = "a stream" if batch is None else ", ".join(batch)
        raise GradlabError(
            f"A loss compares outputs for `inputs` with `targets`, but the data have {held}. Give objective=, a "
            "function of (model, batch) that returns (sum, count)."
        )
    supervised = _supervised(_outputs(model, batch["inputs"]), train, batch["targets"], loss or "cross_entropy")
    supervised.batch_metrics = dict(metrics or {})
    supervised.criterion = _criterion(criterion, supervised.metrics)
    return supervised


def _criterion(criterion: Criterion | str | None, known: Mapping[str, Metric]) -> Criterion:
    if criterion is None or isinstance(criterion, Criterion):
        return criterion or Criterion()
    if criterion in known:
        return Criterion(criterion, known[criterion].higher_is_better)
    return Criterion(criterion.removeprefix("-"), not criterion.startswith("-") and criterion != "loss")


def _supervised(output: Tensor, train: Split, y: Tensor, loss: str | Loss) -> Supervised:
    if callable(loss):
        return _Custom(loss)
    if loss == "cross_entropy":
        if y.is_floating_point() or y.ndim != 1 or output.ndim != 2:
            raise GradlabError(
                f"cross_entropy needs class indices y of shape (examples,) and logits (examples, classes), got y of "
                f"shape {tuple(y.shape)} and type {y.dtype}, and one output of shape {tuple(output.shape[1:])}."
            )
        _check_classes(targets_of(train, y), output.shape[1])
        return Classify(Targets(classes=[str(c) for c in range(output.shape[1])]))
    if loss == "mse":
        if output[0].numel() != y[0].numel():
            raise GradlabError(
                f"The model has {output[0].numel()} outputs, but each target has {y[0].numel()} numbers."
            )
        return _Squared(output.shape[1:])
    raise GradlabError(f"There is no loss {loss!r}. Valid: cross_entropy, mse, or a function of (output, target).")


def _check_validation(model: nn.Module, task: Task, held: Any) -> None:
    if not isinstance(task, Supervised) or not isinstance(held, Examples) or "inputs" not in held.parts:
        return
    _outputs(model, held.batch(slice(0, 1))["inputs"])
    if task.wants == "classes":
        _check_classes(held.targets, task.outputs)


def _outputs(model: nn.Module, x: Tensor) -> Tensor:
    """What the model gives for the first example, or why it gives nothing."""
    try:
        return predict(model, x[:1])
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise GradlabError(f"The model does not take inputs of shape {tuple(x.shape[1:])}: {error}") from None


def _check_classes(y: Tensor, outputs: int) -> None:
    if y.min() < 0 or y.max() >= outputs:
        raise GradlabError(
            f"y has classes from {int(y.min())} to {int(y.max())}, but the model has {outputs} outputs: "
            f"classes must be 0 to {outputs - 1}."
        )
