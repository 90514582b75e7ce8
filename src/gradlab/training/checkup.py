"""The doctor as an observer: it looks at the first steps, reads the log, and says at the end what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradlab.data import Examples
from gradlab.data.tables.leaks import Leak
from gradlab.diagnosis import record
from gradlab.diagnosis.finding import Finding, Findings, Verdict
from gradlab.diagnosis.logged import Logged
from gradlab.errors import TrainingError, notice, one_line
from gradlab.models.embedded import EmbeddedTable
from gradlab.run.log import read_lines
from gradlab.training.observers import Line, Observer
from gradlab.training.recognition import recognised
from gradlab.training.step_watch import HostWaits
from gradlab.training.vocabulary import Words, in_a_recipe

if TYPE_CHECKING:
    from gradlab.training.loop import Training

_CLOSE = 6  # first steps, which say most: where the rate is far too high, the weights have grown to it soon after
_ROWS = 512  # of the inputs
_SAMPLE = 4096  # examples to estimate what a constant costs
_DECOUPLED = ("adamw", "lion", "muon")  # their decay is as strong as their rate, which would be to blame


def _harmless(method: Callable[..., None]) -> Callable[..., None]:
    """A fault of the doctor ends the doctor's work, and nothing else."""

    @wraps(method)
    def guarded(self: Checkup, *seen: Any) -> None:
        if self.fault is None:
            try:
                method(self, *seen)
            except Exception as error:
                self.every, self.before, self.fault = None, {}, f"{type(error).__name__}: {one_line(error)}"

    return guarded


class Checkup(Observer):
    """Draws no random number and changes nothing: with it and without, a training gives the same bits.

    The first few steps are looked at one by one; after that it reads what the loop has logged anyway. Of a run that
    goes on, `log` is the log of what came before.
    """

    def __init__(
        self,
        log: Path | None = None,
        knobs: Collection[str] = (),
        words: Words = in_a_recipe,
        leaks: Sequence[Leak] = (),
    ):
        self.log_path, self.knobs, self.words = log, knobs, words
        """`knobs` are those that the user can set beside the plan's, and `words` how they are called."""
        self.leaks = [record.Leak(**vars(leak)) for leak in leaks]
        self.source = self._new_source()
        self.saved: dict[str, Any] = {}
        self.waits: HostWaits | None = None
        self.before: dict[str, Tensor] = {}
        self.logged = -1
        self.verdict: Verdict | None = None
        self.concluded = False
        self.fault: str | None = None

    @property
    def findings(self) -> Findings:
        return Findings(self.verdict.findings if self.verdict else [])

    def snapshot(self) -> dict[str, Any]:
        if not self.concluded:  # a run that goes on from its end concludes again
            self._save()
        waits = {"waits": asdict(self.waits)} if self.waits is not None else {}
        return {"fault": self.fault} if self.fault else {**self.saved, **waits}

    @_harmless
    def _save(self) -> None:
        self.saved = self.source.snapshot()

    def restore(self, state: dict[str, Any]) -> None:
        self.saved = {name: value for name, value in state.items() if name != "waits"}
        if "waits" in state:
            self.waits = HostWaits(**state["waits"])

    @_harmless
    def start(self, training: Training) -> None:
        plan, source = training.plan, self.source
        source.optimizer.kind = plan.optimizer.name
        decay = 0.0 if plan.optimizer.name in _DECOUPLED else plan.weight_decay
        source.optimizer.settings = {"lr": plan.lr, "weight_decay": decay}
        source.record.has_floor = training.task.loss_floor is not None
        if plan.clip is not None:
            source.clips(plan.clip)
        source.begin(training.model, training.layers)
        inputs = training.train.parts.get("inputs") if isinstance(training.train, Examples) else None
        if isinstance(inputs, Tensor):
            table = next((m for m in training.model.modules() if isinstance(m, EmbeddedTable)), None)
            some = training.train.sample(_ROWS).inputs[:]
            source.inputs(some if table is None else some[:, : table.numbers])  # numbers of categories have no scale
        if training.progress.step == 0:
            source.first_weights(training.layers)
        elif "fault" in self.saved:
            self.fault = self.saved["fault"]
            return
        elif self.saved:
            source.restore(self.saved)
        else:
            self._read_log(training.progress.step)
            return  # the first steps are gone
        self._look_on(training)

    def _new_source(self) -> Logged:
        source = Logged()
        source.record.leaks = self.leaks
        return source

    def rewind(self, training: Training) -> None:
        self.source, self.logged = self._new_source(), -1
        self.start(training)

    def _read_log(self, step: int) -> None:
        """Of a run that had no doctor when its checkpoint was saved."""
        if self.log_path is not None and self.log_path.exists():
            for line, _ in read_lines(self.log_path):
                if line["step"] <= step and line["split"] != "request":
                    self.source.line(line)

    def _look_on(self, training: Training) -> None:
        """After this step too, if it is one of the first."""
        close = training.progress.step < _CLOSE
        self.every, self.before = (1, _copied(training.layers)) if close else (None, {})

    @_harmless
    def step(self, training: Training) -> None:
        """The first few; after them it is not called again."""
        step = training.progress.step
        if self.logged != step and training.pending:
            last = training.pending[-1].values()
            sizes = torch.stack(torch._foreach_norm(list(self.before.values()))).tolist() if self.before else []
            layers = list(training.layers.values())  # none, of a model that learns without gradients
            changes = list(torch._foreach_sub(layers, list(self.before.values()))) if layers else []
            moved = torch.stack(torch._foreach_norm(changes)).tolist() if changes else []
            self.source.look(
                step - 1,
                sum(total.item() / float(count) for total, count in last),
                {n: m / w for n, m, w in zip(self.before, moved, sizes, strict=True) if w},
                dict(zip(self.before, sizes, strict=True)),
                training.gradient_norms(),
            )
        self._look_on(training)

    @_harmless
    def log(self, training: Training, line: Line) -> None:
        if line["split"] == "train":
            self.logged = line["step"]
            self.source.line(line, training.weight_norms, training.gradient_norms())
        elif line["split"] != "request":
            self.source.line(line)

    def fallback(self, training: Training) -> None:
        self.waits = training.comparisons.host_waits

    @_harmless
    def end(self, training: Training) -> None:
        progress, plan = training.progress, training.plan
        self.before = {}
        if progress.ended not in ("finished", "patience", "diverged"):
            return
        from gradlab.diagnosis.advising import advise  # after the training, which should not wait for the rules

        self._save()
        self.concluded = True
        self.source.last_weights(training.layers)
        if progress.ended != "diverged":
            self.source.record.classes = recognised(training)
        same, diverged = training.task.trains_by_its_loss, progress.ended == "diverged"
        self.source.conclude(progress.step, progress.seconds, constant_loss(training), same=same, diverged=diverged)
        refused = ("clip",) if plan.searches else ()
        knobs = [*self.knobs, *(f"train.{key}" for key in vars(plan) if key not in refused)]
        verdict = advise(self.source, knobs, keeps_best=plan.keep == "best" and bool(progress.best))
        findings = Findings(replace(finding, fix=self.words(finding.fix)) for finding in verdict.findings)
        if self.waits is not None:
            findings.append(host_reads(self.waits, progress.seconds / progress.step))
        self.verdict = replace(verdict, findings=findings)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Around the training: an error of it says why, where the doctor knows; failures of the doctor are reported."""
        try:
            yield
        except TrainingError as error:
            why = next((f for f in self.findings if f.severity != "note" and f.slug != "nan_loss"), None)
            if why is None:
                raise
            raise TrainingError(f"{error} The doctor says: {why.title}. {why.evidence}") from None
        finally:
            for fault in [*([self.fault] if self.fault else []), *(self.verdict.faults if self.verdict else [])]:
                notice(f"The doctor failed, which is a fault of gradlab and did not touch the training: {fault}")


def host_reads(waits: HostWaits, step_seconds: float) -> Finding:
    """What it costs that the host reads values of the device in every step."""
    times = "once" if waits.count == 1 else f"{waits.count} times"
    return Finding(
        slug="host_reads",
        severity="note",
        confidence=1.0,
        since_step=0,
        measured={"reads": waits.count, "milliseconds": 1e3 * waits.seconds, "step_milliseconds": 1e3 * step_seconds},
        evidence=(
            f"In each step the host waits for the device {times}, for {1e3 * waits.seconds:.2g} ms of the "
            f"{1e3 * step_seconds:.2g} ms that a step takes: {waits.first}."
        ),
        fix="Keep the decision on the device (torch.where, a mask, a fixed size), or read values every 100 steps.",
        title="values are read back from the device in every step",
        meaning="The device idles while the host reads, and a step that waits cannot be replayed as a CUDA graph.",
    )


def tell(findings: Sequence[Finding]) -> None:
    """What somebody who trains from Python should know, on stderr."""
    for finding in findings:
        if finding.severity != "note":
            notice(f"The doctor says: {finding.title}. {finding.evidence} Change: {finding.fix}")


def _copied(layers: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in layers.items()}


def constant_loss(training: Training) -> float:
    """What always giving the same answer would cost."""
    train = training.train
    if not isinstance(train, Examples):
        return math.nan
    some = training.sample if training.sample is not None and len(training.sample) else train
    return training.task.constant_loss(train, training.model, some.sample(_SAMPLE))
