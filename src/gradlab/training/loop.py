"""The training loop.

Batches come by the number of the step, and everything else that a resumed run needs is in `Training.checkpoint()`.
Nothing in the loop waits for the device except at log points, evaluations and checkpoints.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Batch, Epochs, Examples, Stream
from gradlab.errors import NumericalError, TrainingError
from gradlab.run.checkpoint import Checkpoint, Weights, copy_tensors, rng_state, set_rng_state
from gradlab.tasks import Task, evaluate
from gradlab.tasks.finite import check_losses, not_finite
from gradlab.tasks.objective import with_sum
from gradlab.training.average import Average
from gradlab.training.capture import GraphStep, Mode, in_mode, steps_at_once
from gradlab.training.comparisons import Comparisons
from gradlab.training.divergence import explain_divergence
from gradlab.training.frozen import frozen_parts, hold_statistics
from gradlab.training.guard import NonFinite
from gradlab.training.observers import Observer, restore_observers, snapshots
from gradlab.training.optimizers import ClosureOptimizer, Parameters
from gradlab.training.plan import Plan
from gradlab.training.players import Groups, make_players, make_step
from gradlab.training.progress import Progress
from gradlab.training.replay_check import ReplayDiffers
from gradlab.training.requests import Request, What
from gradlab.training.schedules import schedules
from gradlab.training.step import Step, Stepped, frozen_at, gradient_norm, learns_without_gradients
from gradlab.training.streams import make_stream, read
from gradlab.training.together import drawn, part_of

_HOST = torch.device("cpu")


class Training:
    """One model being trained on one split. Build it, perhaps `restore` a checkpoint, and `run` it.

    `steps` and `rate` are its length and its learning rate as a function of the step, where the plan's are not wanted;
    `groups` are parameters with a rate or a weight decay of their own, `masks` those that are pruned.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        train: Examples | Stream,
        validation: Any,
        plan: Plan,
        *,
        mode: Mode = "eager",
        steps: int | None = None,
        rate: Callable[[int], float] | None = None,
        groups: Groups | None = None,
        masks: Mapping[str, Tensor] | None = None,
        observers: Sequence[Observer] = (),
    ):
        self.masks = dict(masks or {})
        self.model, self.task, self.plan = model, task, plan
        self.mode, self.rate, self.observers = mode, rate, observers
        self.mode_reason = ""  # why the step is eager, where it need not have been
        self.train = read(train, plan)
        self.validation = read(validation, plan) if validation is not None and len(validation) else None
        self.stream, self.called = make_stream(self.train, plan, model)
        self.device = self.stream.device
        self.sample = self._some_training_examples()
        self.steps_per_epoch = 1 if learns_without_gradients(model) else self.stream.steps_per_epoch
        planned = plan.total_steps(self.stream.steps_per_epoch)
        self.total_steps = steps or planned
        self.schedule = schedules.build(plan.schedule, planned)
        self.thaw = plan.thaw_step(planned)
        self.players = make_players(model, task, plan, groups, self.thaw or 0, self.masks)
        moved = {name for player in self.players for name in player.optimizer.parameters.names}
        self.parameters = Parameters(model, moved=moved.__contains__)
        self.average = Average(self.parameters, plan.ema) if plan.ema is not None else None
        self.layers = {name: p.detach() for name, p in self.parameters.by_name.items() if p.ndim >= 2}
        self.weight_norms: dict[str, float] = {}  # of the layers, before the last step that was logged
        self.progress = Progress()
        self.best_weights: Weights | None = None
        self.comparisons = Comparisons(self)
        self.pending: list[Stepped] = []  # steps whose losses are not yet in the window
        self.requests: deque[Request] = deque()
        self.alone = parallel.count() == 1
        self.at_once = 1  # steps that are made together where nothing is due between them
        self.log_every = plan.log_interval(planned)
        self.evaluate_every = plan.evaluation_interval(self.stream.steps_per_epoch)

    def run(self) -> Progress:
        """Train from where the training stands to its end; the model is left with the weights the plan keeps."""
        progress = self.progress
        self.began = time.perf_counter() - progress.seconds
        self.model.train()
        step = self.make_step()
        for observer in self.observers:
            observer.start(self)
        try:
            if progress.step == 0:
                self._evaluate()
            due = self._next_due()
            batches = self._batches() if not progress.ended else iter(())
            while (batch := next(batches, None)) is not None:
                watched = progress.step + 1 == due
                before = [v.clone() for v in self.layers.values()] if watched and self._logs(due) else None
                try:
                    if progress.step + self.at_once < due and isinstance(step, GraphStep):
                        self._several(step, [batch, *islice(batches, self.at_once - 1)])
                    else:
                        if due == self.total_steps and watched and isinstance(step, GraphStep):
                            step.compare()  # what began late has not spoiled the end
                        self.pending.append(step(batch, self.lr(progress.step)))
                        progress.step += 1
                except ReplayDiffers:
                    self.comparisons.go_back()
                    progress, step = self.progress, self.step  # both are new
                    batches, due = self._batches(), self._next_due()
                    continue
                if watched:
                    self._look(before)
                    if progress.step == self.thaw:
                        step = self.make_step()
                    due = self._next_due()
                if self.requests if self.alone else parallel.rung() or self._logs(progress.step):
                    self._answer()
                if progress.ended:
                    break
            else:
                self._check_ended()
        except NonFinite:
            assert batch is not None
            progress.ended = "diverged"
            raise self._divergence(batch) from None
        except NumericalError:
            progress.ended = "diverged"
            raise
        except BaseException:
            progress.ended = ""  # an observer that fails at the last step leaves it to be made again
            raise
        finally:
            self._end()
        if self.best_weights is not None:
            self.model.load_state_dict(self.best_weights)
        elif self.average is not None:
            self.average.adopt()
        return progress

    def _several(self, step: GraphStep, batches: list[Batch]) -> None:
        """Steps between which nothing is due: in one replay where that is possible."""
        progress = self.progress
        if step.can_replay(batches):
            self.pending += step.several(batches, [self.lr(progress.step + i) for i in range(len(batches))])
            progress.step += len(batches)
            return
        for batch in batches:
            self.pending.append(step(batch, self.lr(progress.step)))
            progress.step += 1

    def lr(self, step: int) -> float:
        """The learning rate of a step (the first is 0), by what is known before the next evaluation or request."""
        if self.rate is not None:
            return self.rate(step)
        base = self.plan.lr if self.progress.lr is None else self.progress.lr
        return base * self.schedule(step) * self.progress.trace.factor

    def request(self, what: What, value: float | None = None) -> None:
        """Ask, from anywhere and at any time: `request("stop")`, `"evaluate"`, `"save"`, or `request("lr", 1e-4)`.

        It is done after the step that is being made. But for a stop it is logged; a rate is saved at once, so that a
        resumed run has it.
        """
        self.requests.append(Request(what, value))
        if not self.alone:
            parallel.ring()

    def gradient_norms(self) -> dict[str, float]:
        """The length of the last step's gradient, of each parameter that has one; waits for the device."""
        return self.step.gradient_norms()

    def make_step(self) -> Step:
        """The step from where the training stands, in its mode."""
        after = []
        if self.average is not None:
            updates, average = self.players[-1].optimizer.step, self.average
            after.append(lambda skip: average.update(updates, skip))
        if hasattr(self.called, "advance"):
            after.append(self.called.advance)
        held = self.thaw is None or self.progress.step < self.thaw
        hold_statistics(self.model, frozen_parts(self.model, self.plan), held)
        where = self.train, self.device, self.progress.step
        step = make_step(self.model, self.called, self.players, *where, after)
        # Read ahead only where batches depend on nothing but their number.
        if type(self.stream) is Epochs:
            left = self.total_steps - self.progress.step
            self.at_once = steps_at_once(self.mode, self.parameters.tensors, left)
        rows = self.stream.batch_size or None
        self.step = in_mode(step, self.mode, self.device, rows, self.at_once, self.total_steps, self.comparisons)
        return self.step

    def _batches(self) -> Iterator[Batch]:
        """From where the training stands to the end of the data, if they have one."""
        step = self.progress.step
        batches = iter(self.stream.batches(step))
        return batches if self.alone else drawn(batches, self.plan.seed, step, part_of(self.model)[0])

    def _some_training_examples(self) -> Any:
        """As many as there are to validate by, where both are examples."""
        if not isinstance(self.train, Examples) or self.validation is None:
            return None
        return self.train.sample(len(self.validation))

    # What happens between steps, and when.

    def _next_due(self) -> int:
        """The next step after which there is something to do: between those, the loop only trains."""
        intervals = [self.log_every, self.evaluate_every, *(o.every for o in self.observers if o.every)]
        ends = [end for end in (self.thaw, self.total_steps) if end is not None and end > self.progress.step]
        return min(*ends, *((self.progress.step // every + 1) * every for every in intervals))

    def _logs(self, step: int) -> bool:
        return step % self.log_every == 0 or step == self.total_steps

    def _look(self, before: list[Tensor] | None) -> None:
        number = self.progress.step
        self._check()
        self.progress.seconds = time.perf_counter() - self.began
        if before is not None:
            self._log(before)
        evaluates = number % self.evaluate_every == 0 or number == self.total_steps
        if evaluates:
            self._evaluate()
        if number == self.total_steps:
            self.progress.ended = "finished"
        for observer in self.observers:
            if observer.every and number % observer.every == 0:
                observer.step(self)
        self.comparisons.check_changes(evaluates and self.validation is not None)

    def _check(self) -> None:
        """Before anything is logged or saved: has the device stopped updating, and are the weights numbers?"""
        frozen = frozen_at(self.step)
        if frozen is not None:
            self.progress.step = frozen
            raise NonFinite
        for name in not_finite(self.parameters.by_name):
            raise NumericalError(
                f"The weights {name} are not finite after step {self.progress.step}, though the gradients were: the "
                f"update overflowed. Lower train.lr (now {self.plan.lr:g}), the weight decay or train.l1."
            )

    def _answer(self) -> None:
        """Do what was asked for."""
        requests = self._shared_requests()
        while requests and not self.progress.ended:
            request = requests.popleft()
            self._check()
            if request.what == "stop":
                self.progress.ended = "interrupted"
                return
            self.progress.seconds = time.perf_counter() - self.began
            if request.what != "checkpoint":
                self._emit(
                    "request", {"request": request.what, **({} if request.value is None else {"value": request.value})}
                )
            if request.what == "evaluate":
                self._evaluate()
            elif request.what == "lr":
                self.progress.lr = request.value
            for observer in self.observers:
                observer.request(self, request)

    def _shared_requests(self) -> deque[Request]:
        """What is asked of this process, or of any of several: all do it, in the same order."""
        if self.alone:
            return self.requests
        mine = [self.requests.popleft() for _ in range(len(self.requests))]
        everywhere = parallel.every([(one.what, one.value) for one in mine])
        return deque(Request(*one) for several in everywhere for one in several)

    def _log(self, before: list[Tensor]) -> None:
        """A line on the training split: mean losses since the last line, and how far this step moved each layer."""
        self._fold()
        # Batches may hold nothing of what a loss is about: it has then moved nothing, and has no mean.
        means = {name: total / count for name, (total, count) in self.progress.window.items() if count}
        check_losses(with_sum(means), self.model, self.task, self.train, f"training, step {self.progress.step}")
        figures = {
            **with_sum(means),
            **self.stream.figures(),
            "lr": self.lr(self.progress.step - 1),
            "gradient_norm": gradient_norm(self.step),
            "update_ratio": dict(zip(self.layers, self._ratios(before), strict=True)),
        }
        self.progress.window = {}
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
        for name in {name: 0 for stepped in self.pending for name in stepped}:  # a set would have no order
            totals, counts = zip(*[stepped[name] for stepped in self.pending if name in stepped], strict=True)
            window = self.progress.window.setdefault(name, [0.0, 0])
            for total, count in zip(_numbers(totals), _numbers(counts), strict=True):
                window[0] += total
                window[1] += count
        self.pending.clear()

    def _evaluate(self) -> None:
        """Evaluate on the validation split, and as many training examples; remember the best weights; lose patience."""
        if self.validation is None:
            return
        progress, criterion = self.progress, self.task.criterion
        if self.sample is not None:
            self._emit("train-sample", self._figures_on(self.sample))
        figures = self._figures_on(self.validation)
        check_losses(figures, self.model, self.task, self.validation, f"validation split, step {progress.step}")
        value = _figure(figures, criterion.figure)
        progress.evaluations_since_best += 1
        if criterion.better(value, progress.best.get(criterion.figure, criterion.worst)):
            progress.best_step, progress.best = progress.step, figures
            progress.evaluations_since_best = 0
            if self.plan.keep == "best":
                with self.evaluated_weights():
                    self.best_weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        cost = -value if criterion.higher_is_better else value
        progress.trace = self.schedule.follow(cost, progress.trace)
        line = self._emit("validation", figures)
        if self.plan.patience is not None and progress.evaluations_since_best >= self.plan.patience:
            progress.ended = "patience"
        for observer in self.observers:
            observer.evaluation(self, line)

    def _figures_on(self, split: Any) -> dict[str, float]:
        with self.evaluated_weights():
            figures = evaluate(self.model, self.task, split)
        return parallel.first(lambda: figures)  # so that all go on by the same

    def evaluated_weights(self) -> AbstractContextManager[None]:
        """Meanwhile the model has the weights that the run is judged by: the average, where there is one."""
        return nullcontext() if self.average is None else self.average.in_use()

    def _emit(self, split: str, figures: dict[str, Any]) -> dict[str, Any]:
        progress = self.progress
        where = {"step": progress.step, "epoch": round(progress.step / self.steps_per_epoch, 4), "split": split}
        line = {**where, **figures, "seconds": round(progress.seconds, 4)}
        for observer in self.observers:
            observer.log(self, line)
        return line

    def _end(self) -> None:
        """Every observer hears of the end, whichever of them fails."""
        with ExitStack() as stack:
            for observer in reversed(self.observers):
                stack.callback(observer.end, self)

    def _check_ended(self) -> None:
        """The stream has ended by itself: before the training should?"""
        if not self.progress.ended:
            raise TrainingError(
                f"The data ended after {self.progress.step:,} batches, but {self.total_steps:,} steps were asked for. "
                "Give data that can be read again, more of them, or lower steps."
            )

    def _divergence(self, last: Batch) -> TrainingError:
        """What went wrong in the batch that was read last, or in an earlier one where the device was asked late."""
        epoch = self.progress.step // self.steps_per_epoch
        late = frozen_at(self.step) is not None
        batch = next(iter(self.stream.batches(self.progress.step)), last) if late else last
        closures = any(isinstance(player.optimizer, ClosureOptimizer) for player in self.players)
        clip = "" if closures else " or set train.clip=1"
        cause = explain_divergence(self.model, self.task, self.called, batch)
        # No update has come before the first step, unless of an objective before another.
        untouched = self.progress.step == 0 and len(self.players) == 1
        lower = f"Lower train.lr (now {self.plan.lr:g}){clip}."
        error = TrainingError(
            f"Training diverged in step {self.progress.step + 1} (epoch {epoch + 1}): {cause.reason}. The weights were "
            f"not updated with it. {cause.advice if cause.advice and (untouched or cause.by_data) else lower}"
        )
        error.everywhere = True  # the gradients of all processes are the same
        return error

    # Saving and restoring.

    def checkpoint(self, place: torch.device = _HOST) -> Checkpoint:
        """Everything a resumed training needs, copied, so that it may be written while training goes on."""
        self._fold()
        progress = self.progress
        progress.seconds = time.perf_counter() - self.began
        return Checkpoint(
            step=progress.step,
            model=copy_tensors(self.model.state_dict(), place),
            optimizer=copy_tensors(self._beside(), place),
            state={"progress": asdict(progress), "rng": rng_state(self.device)},
            best=self._chosen_weights(place),
            masks=self.masks,
        )

    def _beside(self) -> dict[str, Any]:
        """What there is beside the weights: the optimisers' state, the average, where data and observers stand."""
        players = {player.name: player.optimizer.snapshot() for player in self.players}
        only = next(iter(players.values()))
        beside = only if len(players) == 1 else {"players": players}
        if self.average is not None:
            beside |= self.average.snapshot()
        kept = {"stream": self.stream.snapshot(), "observers": snapshots(self.observers)}
        return {**beside, **{name: state for name, state in kept.items() if state}}

    def _chosen_weights(self, place: torch.device) -> Weights | None:
        """The weights that the run would end with here, unless they are those that its next step starts from."""
        if self.average is None:
            return copy_tensors(self.best_weights, place) if self.progress.best_step != self.progress.step else None
        with self.average.in_use():
            weights: Weights = copy_tensors(self.best_weights or self.model.state_dict(), place)
        return weights

    def restore(self, checkpoint: Checkpoint) -> None:
        """Stand where the checkpoint was taken."""
        if checkpoint.masks.keys() != self.masks.keys():
            raise ValueError(f"Weights are pruned in one of them alone: {', '.join(checkpoint.masks or self.masks)}")
        self.model.load_state_dict(checkpoint.model)
        beside = checkpoint.optimizer
        for player in self.players:
            player.optimizer.restore(beside if len(self.players) == 1 else beside["players"][player.name])
        if self.average is not None:
            self.average.restore(beside)
        self.stream.restore(beside.get("stream", {}))
        restore_observers(self.observers, beside.get("observers", {}))
        set_rng_state(checkpoint.state["rng"], self.device)
        self.progress = Progress.read(checkpoint.state["progress"])
        if self.progress.ended == "interrupted":
            self.progress.ended = ""
        if self.progress.best and self.plan.keep == "best":
            self.best_weights = {k: v.to(self.device) for k, v in checkpoint.chosen.items()}


def _numbers(values: Sequence[Tensor | int]) -> list[float]:
    """Numbers that may be on the device; waits for it once."""
    if isinstance(values[0], Tensor):
        numbers: list[float] = torch.stack(list(values)).tolist()  # type: ignore[arg-type]
        return numbers
    return list(values)  # type: ignore[arg-type]


def _figure(figures: dict[str, float], name: str) -> float:
    if name not in figures:
        raise TrainingError(
            f"The task judges weights by {name!r}, but its evaluation gave {', '.join(figures) or 'no figure'}."
        )
    return figures[name]
