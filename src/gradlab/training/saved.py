"""A training that is saved in a run folder as it goes: stopped by signals, gone on with, concluded by its figures."""

import signal
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from typing import Any

from torch import nn

from gradlab import owners, parallel, process
from gradlab.data.tables.leaks import Leak
from gradlab.errors import GradlabError, Interrupted, TrainingError, notice, one_line
from gradlab.models.cost import parameter_count
from gradlab.run import Run
from gradlab.run.checkpoint import newest_sound, step_number, steps
from gradlab.tasks import Generative, Supervised, Task, compare, evaluate
from gradlab.tasks.baseline_comparison import compare_with_baselines
from gradlab.tasks.finite import check_losses
from gradlab.tasks.task import has_targets
from gradlab.training.checkup import Checkup
from gradlab.training.features import prepare_judge
from gradlab.training.loop import Training
from gradlab.training.observers import Checkpoints, MetricsLog, Observer
from gradlab.training.plan import Plan
from gradlab.training.progress import check_progress
from gradlab.training.sample_log import SampleLog
from gradlab.training.streams import read
from gradlab.training.tensorboard import TensorBoard
from gradlab.training.vocabulary import Words, in_a_recipe

Build = Callable[..., AbstractContextManager[Training]]
"""Gives a training in its settings, with the observers that it is called with."""


class StepNote(Observer):
    """Writes into the run that its step is eager, and why, so that resuming does the same at once."""

    def __init__(self, run: Run):
        self.run = run

    def fallback(self, training: Training) -> None:
        chosen = {"step": training.mode, "step_reason": training.mode_reason}
        self.run.write_json("environment.json", {**self.run.environment, **chosen})


def train_into(
    run: Run,
    build: Build,
    task: Task,
    plan: Plan,
    splits: Mapping[str, Any],
    observers: Sequence[Observer],
    known: Mapping[str, Any],
    words: Words = in_a_recipe,
    leaks: Sequence[Leak] = (),
) -> Training:
    """Train from the newest sound checkpoint of a run, or from the beginning, to the end, and write the result.

    `known` is what result.json should say beside the figures, `words` how whoever reads it calls the knobs, and `leaks`
    what the doctor should know of the data.
    """
    knobs = ["data", *run.recipe.flat()] if words is in_a_recipe else []
    checkup = Checkup(run.path / "metrics.jsonl", knobs, words, leaks) if plan.doctor and task.doctor else None
    keepers = [
        StepNote(run),
        *([SampleLog(run.path / "samples", task, run.preprocessing)] if isinstance(task, Generative) else []),
        MetricsLog(run.path / "metrics.jsonl", plan.checkpoint_every),
        Checkpoints(run.checkpoints, plan.checkpoint_every, plan.checkpoints, plan.checkpoint_minutes),
        *([TensorBoard(run.path / "tensorboard")] if plan.log == "tensorboard" else []),
    ]
    first = parallel.rank() == 0
    watching = [*observers, *([checkup] if checkup else []), *keepers] if first else []
    locked = run.locked() if first else nullcontext()
    with resumable(run), owners.telling(), locked, build(observers=watching) as training:
        _restore(training, run)
        parallel.first(run.begin)
        with _at_work(run):
            with _stopping_on_signals(training), checkup.at_work() if checkup else nullcontext():
                progress = training.run()
            if progress.ended == "interrupted":
                parallel.every(None)  # who ends first would have the others ended: not before all is saved
                raise Interrupted(f"Stopped and saved at step {progress.step:,}. Go on with: {run.resume_command}")
            figures = _figures(run, training, splits, checkup, known)
        parallel.first(lambda: run.conclude(figures))
    return training


@contextmanager
def resumable(run: Run) -> Iterator[None]:
    """An interrupt outside of the training loop says what of the run is saved, and how to go on with it."""
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        # Some libraries turn an interrupt into an error of their own.
        if isinstance(error, GradlabError) or not (isinstance(error, KeyboardInterrupt) or process.interrupt.raised):
            raise
        raise Interrupted(f"Interrupted. {describe_saved(run)} Go on with: {run.resume_command}") from None


def describe_saved(run: Run) -> str:
    """A sentence on what a run that ends early leaves."""
    if (run.path / "result.json").exists():
        return "The training is finished and its result is saved."
    saved = steps(run.checkpoints)
    return f"The checkpoint of step {step_number(saved[0])} is kept." if saved else "No checkpoint had been saved."


@contextmanager
def _at_work(run: Run) -> Iterator[None]:
    """What fails meanwhile fails in a training that has begun; for one's own code with its line, and how to go on."""
    try:
        yield
    except Exception as error:
        if message := owners.blame(error):
            again = f"{run.resume_command} --changed-code"
            raise TrainingError(f"{message} {describe_saved(run)} When that is repaired: {again}") from error
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
        where = run.checkpoints / checkpoint.folder
        check_progress(checkpoint.state.get("progress"), checkpoint.step, where / "state.json")
        try:
            training.restore(checkpoint)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise GradlabError(f"{where} does not fit its recipe. {one_line(error)}") from None


@contextmanager
def _stopping_on_signals(training: Training) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end the training after the step it is in, saved; a second one ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before: dict[int, Any] = {}

    def stop(number: int, frame: types.FrameType | None) -> None:
        process.leave_lost_terminal()
        training.request("stop")
        signal.signal(number, before[number])

    for number in process.STOPPING:
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


def _figures(
    run: Run, training: Training, splits: Mapping[str, Any], checkup: Checkup | None, known: Mapping[str, Any]
) -> dict[str, Any]:
    """What result.json holds; every figure stands beside those of the trivial baselines."""
    task, model, progress = training.task, training.model, training.progress
    prepare_judge(task, training.train, run.path / "features")
    held_out = {name: read(splits[name], training.plan) for name in ("validation", "test") if len(splits.get(name, ()))}
    figures = {name: evaluate(model, task, split, finished=True) for name, split in held_out.items()}
    for name, split in held_out.items():
        check_losses(figures[name], model, task, split, f"{name} split, at the end")
    at_hand = not isinstance(task, Supervised) or has_targets(training.train)
    trivial = task.baselines(training.train, model) if held_out and at_hand else {}
    others: dict[str, nn.Module] = {**trivial, **task.references(training.train)} if trivial else {}
    baselines = {name: compare(others, task, split) for name, split in held_out.items()} if trivial else {}
    to_beat = list(trivial)[-1] if trivial else ""
    comparison = _best_baseline(task, model, others, held_out, figures, baselines) if trivial else {}
    beaten = {split: beside[to_beat] for split, beside in baselines.items() if to_beat in beside}
    signatures = task.signatures_of({name for row in figures.values() for name in row})
    kept = f"best, of step {progress.best_step}" if training.best_weights is not None else "last"
    return {
        "run": str(run.path),
        **known,
        "steps": progress.step,
        "seconds": round(progress.seconds, 3),
        "parameters": parameter_count(model),
        "ended": progress.ended,
        "weights": kept + ", averaged" * (training.average is not None),
        "validation": figures.get("validation", {}),
        "test": figures.get("test", {}),
        "baseline": {"name": to_beat, **beaten} if beaten else {},
        "baselines": baselines,
        **({"best_baseline": comparison} if comparison else {}),
        **task.closing(model, held_out),
        **({"signatures": signatures} if signatures else {}),
        **({"findings": [finding.as_json() for finding in checkup.findings]} if checkup else {}),
    }


def _best_baseline(
    task: Task,
    model: nn.Module,
    others: Mapping[str, nn.Module],
    held_out: Mapping[str, Any],
    figures: Mapping[str, dict[str, float]],
    baselines: Mapping[str, dict[str, dict[str, float]]],
) -> dict[str, Any]:
    """Whether the model is better than the best of them, on the test split if there is one."""
    split = [*held_out][-1]
    comparison = compare_with_baselines(task, model, others, held_out[split], figures[split], baselines[split])
    return {"split": split, **asdict(comparison)} if comparison else {}
