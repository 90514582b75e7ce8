"""The training loop.

Position in the data is two integers, since the order of an epoch is a pure function of (seed, epoch): step s reads
batch s mod (steps per epoch) of epoch s div (steps per epoch). Everything else that a resumed run needs is in
`Training.checkpoint()`. Nothing in the loop waits for the device except at log points, evaluations and checkpoints.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, Literal

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from gradlab.data import Batch, Examples
from gradlab.data.text.sequences import Padded
from gradlab.data.text.windows import Windows
from gradlab.errors import TrainingError
from gradlab.models.ngram import NGram
from gradlab.run.checkpoint import Checkpoint, Weights, copied, rng_state, set_rng_state
from gradlab.tasks import Task, evaluate
from gradlab.tasks.evaluation import STRIPS
from gradlab.training.average import Average
from gradlab.training.capture import GraphStep, Mode, compiled
from gradlab.training.carry import Carried
from gradlab.training.checks import check_carry, check_plan
from gradlab.training.divergence import explain_divergence
from gradlab.training.observers import Observer
from gradlab.training.optimizers import Lbfgs, Parameters, optimizers
from gradlab.training.plan import Plan
from gradlab.training.schedules import Plateau, schedules
from gradlab.training.step import ClosureStep, CountStep, GradientStep, NonFinite, Step, Stepped

# Training data up to this size are put in an epoch's order all at once: a slice costs less than a gather a batch.
# On the CPU fresh memory costs page faults, so that this pays only for what fits into a cache.
_GATHERED = {"cpu": 2**22, "cuda": 2**28}

Ended = Literal["", "finished", "patience", "interrupted", "diverged"]


@dataclass
class Progress:
    """Where a training stands: numbers alone, saved in every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    # The training loss since the last log line, as a running sum: added in the order of the steps whenever it is
    # added, so that a checkpoint in mid-window changes no bit of the line.
    window_sum: float = 0.0
    window_count: int = 0
    best_step: int = 0
    best_loss: float = float("inf")
    best: dict[str, float] = field(default_factory=dict)
    evaluations_since_best: int = 0
    # What the schedule `plateau` made of the validation losses; under every other the factor stays 1.
    rate_factor: float = 1.0
    plateau_loss: float = float("inf")
    plateau_evaluations: int = 0
    ended: Ended = ""


class Training:
    """One model being trained on one split. Build it, perhaps `restore` a checkpoint, and `run` it."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        train: Examples,
        validation: Examples | None,
        plan: Plan,
        *,
        mode: Mode = "eager",
        observers: Sequence[Observer] = (),
    ):
        self.model, self.task, self.train, self.plan, self.observers = model, task, train, plan, observers
        self.validation = validation if validation is not None and len(validation) else None
        self.sample = train.sample(len(self.validation) if self.validation else 0, STRIPS if plan.carry else None)
        self.device = train.inputs.device
        self.batch_size = plan.examples_per_step(len(train))
        check_carry(plan, model, train)
        check_plan(plan, model, len(train), len(self.validation) if self.validation else 0)
        counts = isinstance(model, NGram)  # all of the text in one step
        self.steps_per_epoch = 1 if counts else plan.steps_per_epoch(len(train))
        self.total_steps = plan.total_steps(len(train))
        self.parameters = Parameters(model, plan.weight_decay, plan.decay_all)
        self.optimizer = optimizers.build(plan.optimizer, self.parameters)
        self.average = Average(self.parameters, plan.ema) if plan.ema is not None else None
        self.carried = Carried(model, self.batch_size, self.device) if plan.carry else None
        self.schedule = schedules.build(plan.schedule, self.total_steps)
        self.mode = mode
        self.progress = Progress()
        self.best_weights: Weights | None = None
        self.interrupted = False
        self.pending: list[Stepped] = []  # steps whose losses are not yet in the window
        self.layers = {
            n: p.detach() for n, p in zip(self.parameters.names, self.parameters.tensors, strict=True) if p.ndim >= 2
        }
        self.weight_norms: dict[str, float] = {}  # of the layers, before the last step that was logged
        self.log_every = plan.log_interval(len(train))
        self.evaluate_every = plan.evaluation_interval(len(train))

    def run(self) -> Progress:
        """Train from where the training stands to its end; the model is left with the weights the plan keeps."""
        progress = self.progress
        self.began = time.perf_counter() - progress.seconds
        step = self.step = self._make_step()
        self.model.train()
        for observer in self.observers:
            observer.start(self)
        try:
            if progress.step == 0:
                self._evaluate()
            due = self._next_due()
            while not progress.ended:
                epoch, position = divmod(progress.step, self.steps_per_epoch)
                if self.carried is not None and position == 0:
                    self.carried.reset()
                for batch in islice(self._batches(epoch), position, None):
                    watched = progress.step + 1 == due
                    before = [v.clone() for v in self.layers.values()] if watched and self._logs(due) else None
                    self.pending.append(step(batch, self.lr(progress.step)))
                    progress.step += 1
                    if watched:
                        self._look(step, before)
                        due = self._next_due()
                    if self.interrupted and not progress.ended:
                        self._check(step)
                        progress.ended = "interrupted"
                    if progress.ended:
                        break
        except NonFinite:
            progress.ended = "diverged"
            raise self._divergence() from None
        finally:
            for observer in self.observers:
                observer.end(self)
        if self.best_weights is not None:
            self.model.load_state_dict(self.best_weights)
        elif self.average is not None:
            self.average.adopt()
        return progress

    def lr(self, step: int) -> float:
        """The learning rate of a step (the first is 0); under `plateau`, of one from here to the next evaluation."""
        return self.plan.lr * self.schedule(step) * self.progress.rate_factor

    def gradient_norms(self) -> dict[str, float]:
        """The length of the last step's gradient, of each parameter that has one; waits for the device."""
        norms = zip(self.parameters.names, self.step.gradient_norms(), strict=False)  # what counts has none
        return {name: norm for name, norm in norms if norm is not None}

    def _make_step(self) -> Step:
        if isinstance(self.model, NGram):
            return CountStep(self.model, self.task, self.train)
        if isinstance(self.optimizer, Lbfgs):
            return ClosureStep(self.model, self.task, self.optimizer)
        extras = self.average, self.carried
        step = GradientStep(self.model, self.task, self.optimizer, self.plan, self.progress.step, *extras)
        if self.mode == "graph":
            return GraphStep(step)
        return compiled(step) if self.mode == "compiled" else step

    def _batches(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, in its order."""
        parts = self.train.for_epoch(self.plan.seed, epoch).parts
        order = self._order(epoch).to(self.device)
        sizes = self.plan.batch_sizes(len(self.train))
        ragged = isinstance(self.train.inputs, Padded)  # together they would all be padded to the longest
        if not ragged and self.train.inputs.nbytes <= _GATHERED.get(self.device.type, 0):
            return zip(*(torch.split(part[order], sizes) for part in parts), strict=True)
        return (tuple([part.index_select(0, rows) for part in parts]) for rows in torch.split(order, sizes))

    def _order(self, epoch: int) -> Int64[Tensor, " rows"]:
        if self.carried is None:
            return self.train.order(self.plan.seed, epoch, self.batch_size)
        assert isinstance(self.train.inputs, Windows)
        return self.train.inputs.sequential(self.batch_size).flatten()

    # What happens between steps, and when.

    def _next_due(self) -> int:
        """The next step after which there is something to do: between those, the loop only trains."""
        intervals = [self.log_every, self.evaluate_every, *(o.every for o in self.observers if o.every)]
        return min(self.total_steps, *((self.progress.step // every + 1) * every for every in intervals))

    def _logs(self, step: int) -> bool:
        return step % self.log_every == 0 or step == self.total_steps

    def _look(self, step: Step, before: list[Tensor] | None) -> None:
        number = self.progress.step
        self._check(step)
        self.progress.seconds = time.perf_counter() - self.began
        if before is not None:
            self._log(step, before)
        if number % self.evaluate_every == 0 or number == self.total_steps:
            self._evaluate()
        if number == self.total_steps:
            self.progress.ended = "finished"
        for observer in self.observers:
            if observer.every and number % observer.every == 0:
                observer.step(self)

    def _check(self, step: Step) -> None:
        """Before anything is logged or saved: has the device stopped updating?"""
        frozen = step.frozen_at()
        if frozen is not None:
            self.progress.step = frozen
            raise NonFinite

    def _log(self, step: Step, before: list[Tensor]) -> None:
        """A line on the training split: mean loss since the last line, and how far this step moved each layer."""
        self._fold()
        progress = self.progress
        figures = {
            "loss": progress.window_sum / progress.window_count,
            "lr": self.lr(progress.step - 1),
            "gradient_norm": step.gradient_norm(),
            "update_ratio": dict(zip(self.layers, self._ratios(before), strict=True)),
        }
        progress.window_sum, progress.window_count = 0.0, 0
        self._emit("train", figures)

    def _ratios(self, before: list[Tensor]) -> list[float]:
        """For each layer, how long the last update was beside its weights: about 1e-3 is healthy."""
        if not before:
            return []
        moved = torch._foreach_norm(torch._foreach_sub(list(self.layers.values()), before))
        lengths = torch.stack([*moved, *torch._foreach_norm(before)]).tolist()
        moves, sizes = lengths[: len(before)], lengths[len(before) :]
        self.weight_norms = dict(zip(self.layers, sizes, strict=True))
        return [m / w if w else 0.0 for m, w in zip(moves, sizes, strict=True)]

    def _fold(self) -> None:
        """Add the pending losses to the window, in order. Waits for the device."""
        if self.pending:
            for loss, stepped in zip(torch.stack([s.loss for s in self.pending]).tolist(), self.pending, strict=True):
                self.progress.window_sum += loss
                self.progress.window_count += stepped.count
            self.pending.clear()

    def _evaluate(self) -> None:
        """Judge the validation split, and as many training examples; remember the best weights; lose patience."""
        if self.validation is None:
            return
        progress = self.progress
        self._emit("train-sample", self._judge(self.sample))
        figures = self._judge(self.validation)
        progress.evaluations_since_best += 1
        if figures["loss"] < progress.best_loss:
            progress.best_step, progress.best_loss, progress.best = progress.step, figures["loss"], figures
            progress.evaluations_since_best = 0
            if self.plan.keep == "best":
                with self._judged():
                    self.best_weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        if isinstance(self.schedule, Plateau):
            seen = progress.rate_factor, progress.plateau_loss, progress.plateau_evaluations
            seen = self.schedule.judge(figures["loss"], *seen)
            progress.rate_factor, progress.plateau_loss, progress.plateau_evaluations = seen
        line = self._emit("validation", figures)
        if self.plan.patience is not None and progress.evaluations_since_best >= self.plan.patience:
            progress.ended = "patience"
        for observer in self.observers:
            observer.evaluation(self, line)

    def _judge(self, examples: Examples) -> dict[str, float]:
        with self._judged():
            judged = examples.inputs, examples.targets
            return evaluate(self.model, self.task, *judged, weights=examples.weights, carry=self.plan.carry)

    def _judged(self) -> AbstractContextManager[None]:
        """Meanwhile the model has the weights that the run is judged by: the average, where there is one."""
        return nullcontext() if self.average is None else self.average.in_use()

    def _emit(self, split: str, figures: dict[str, Any]) -> dict[str, Any]:
        progress = self.progress
        where = {"step": progress.step, "epoch": round(progress.step / self.steps_per_epoch, 4), "split": split}
        line = {**where, **figures, "seconds": round(progress.seconds, 4)}
        for observer in self.observers:
            observer.log(self, line)
        return line

    def _divergence(self) -> TrainingError:
        epoch, position = divmod(self.progress.step, self.steps_per_epoch)
        x, y, *_ = next(islice(self._batches(epoch), position, None))
        clip = "" if isinstance(self.optimizer, Lbfgs) else " or set train.clip=1"
        return TrainingError(
            f"Training diverged in step {self.progress.step + 1} (epoch {epoch + 1}): "
            f"{explain_divergence(self.model, self.task, x, y, self.carried)}. The weights were not updated with it. "
            f"Lower train.lr (now {self.plan.lr:g}){clip}."
        )

    # Saving and restoring.

    def checkpoint(self) -> Checkpoint:
        """Everything a resumed training needs, copied, so that it may be written while training goes on."""
        self._fold()
        progress = self.progress
        progress.seconds = time.perf_counter() - self.began
        beside = self.optimizer.snapshot()
        for part in (self.average, self.carried):
            if part is not None:
                beside |= part.snapshot()
        return Checkpoint(
            step=progress.step,
            model=copied(self.model.state_dict()),
            optimizer=copied(beside),
            state={"progress": asdict(progress), "rng": rng_state(self.device)},
            best=self._other_weights(),
        )

    def _other_weights(self) -> Weights | None:
        """The weights that the run would end with here, unless they are those that its next step starts from."""
        if self.average is None:
            return copied(self.best_weights) if self.progress.best_step != self.progress.step else None
        with self.average.in_use():
            weights: Weights = copied(self.model.state_dict() if self.best_weights is None else self.best_weights)
        return weights

    def restore(self, checkpoint: Checkpoint) -> None:
        """Stand where the checkpoint was taken."""
        self.model.load_state_dict(checkpoint.model)
        self.optimizer.restore(checkpoint.optimizer)
        for part in (self.average, self.carried):
            if part is not None:
                part.restore(checkpoint.optimizer)
        set_rng_state(checkpoint.state["rng"], self.device)
        self.progress = Progress(**checkpoint.state["progress"])
        if self.progress.ended == "interrupted":
            self.progress.ended = ""
        if self.progress.best and self.plan.keep == "best":
            self.best_weights = {k: v.to(self.device) for k, v in checkpoint.chosen.items()}
