"""The trainings that a study is made of: each an ordinary run, in a folder of its own inside the study's."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from gradlab.data import Examples
from gradlab.data.dataset import split_size
from gradlab.errors import TrainingError, notice
from gradlab.files import check_content
from gradlab.files.formats import Figures, ReferenceFigures
from gradlab.recipe import Recipe
from gradlab.report import write_report
from gradlab.run import Run, open_run
from gradlab.run.start import Start
from gradlab.studies.folder import StudyFolder
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.wording import counted

MOST = 200  # trainings of one study: more is a slip of the keyboard
_SAMPLE = 10_000  # training examples, enough to estimate how well they are fitted


@dataclass(frozen=True, kw_only=True)
class Member:
    """One training of a study: what sets it apart, and what came out. One that diverged has no figures."""

    name: str
    changes: dict[str, Any]
    examples: int
    ended: str
    steps: int = 0
    seconds: float = 0.0
    parameters: int = 0
    train: Figures
    validation: Figures
    test: Figures
    baseline: ReferenceFigures

    @property
    def diverged(self) -> bool:
        return self.ended == "diverged"

    def figures(self, split: str) -> Figures:
        figures: Figures = getattr(self, split)
        return figures

    def baseline_figures(self, split: str) -> Figures:
        """Those of the baseline, where it has any on this split."""
        return self.baseline.get("test", {}) if split == "test" else self.baseline.get("validation", {})


Notify = Callable[[int, int, Member], None]
"""Called with (number, count, member) after each training."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A training that is still to come: the recipe with some knobs changed."""

    name: str
    changes: Mapping[str, Any]
    recipe: Recipe
    start: Callable[[], Start] | None = None
    """Makes its first weights, where they come from a training before it."""

    @classmethod
    def of(cls, name: str, recipe: Recipe, changes: Mapping[str, Any]) -> "Planned":
        return cls(name=name, changes=changes, recipe=recipe.override(changes))


def train_members(
    folder: StudyFolder,
    planned: Sequence[Planned],
    device: torch.device,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
    *,
    may_diverge: bool = False,
    reports: bool = True,
) -> list[Member]:
    """Train one after the other. What is finished is kept, and what was stopped in the middle is gone on with.

    A report of each, of some megabytes, is written unless `reports` is off.
    """
    members = _done(folder)
    tell_of_changes(folder.path / name for name in members)
    with Run(folder.path).locked():
        for number, one in enumerate(planned, 1):
            if one.name not in members:
                members[one.name] = _train(folder.path / one.name, one, device, observers, may_diverge, reports)
                folder.update(members=[asdict(member) for member in members.values()])
            if notify is not None:
                notify(number, len(planned), members[one.name])
    return [members[one.name] for one in planned]


def tell_of_changes(paths: Iterable[Path]) -> None:
    """Trainings that are kept, but were of a file of one's own that has changed since, are reported."""
    runs = [Run(path) for path in paths if (path / "environment.json").is_file()]
    changed = [change for run in runs for change in run.changed_code()]
    if changed:
        more = f" So it is with {counted(len(changed) - 1, 'training')} more." if len(changed) > 1 else ""
        notice(f"{changed[0]} Its figures are kept all the same.{more}")


def _done(folder: StudyFolder) -> dict[str, Member]:
    """What an earlier call has finished, by name."""
    source, advice = folder.path / "study.json", "Name another folder: --out FOLDER."
    members = [check_content(member, Member, source, advice) for member in folder.content.get("members", [])]
    return {member.name: member for member in members}


def _train(
    path: Path, one: Planned, device: torch.device, observers: Sequence[Observer], may_diverge: bool, report: bool
) -> Member:
    ending = Ending()
    try:
        run = trained(path, one.recipe, device, [*observers, ending], one.start)
        if report and not (path / "report.html").exists():
            write_report(run)
    except TrainingError:
        if may_diverge and ending.why == "diverged":
            return _diverged(one, ending)
        raise
    return _member(one, run)


def trained(
    path: Path,
    recipe: Recipe,
    device: torch.device,
    observers: Sequence[Observer],
    start: Callable[[], Start] | None = None,
) -> Run:
    """The run in that folder: made, gone on with, or taken as it is."""
    if not path.exists():
        return experiment.start(Experiment.of(recipe, device, start=start and start()), path, observers)
    run = open_run(path)
    return experiment.resume(run, device, observers) if run.to_be_continued() else run


def _member(one: Planned, run: Run) -> Member:
    result, train = run.finished, run.dataset.train
    return Member(
        name=one.name,
        changes=dict(one.changes),
        examples=split_size(train),
        ended=result["ended"],
        steps=result["steps"],
        seconds=result["seconds"],
        parameters=result["parameters"],
        train=_fitted(run),
        validation=result["validation"],
        test=result["test"],
        baseline=result["baseline"],
    )


def _fitted(run: Run) -> Figures:
    """How well a model knows the examples that it learned from; nothing where they came from a stream."""
    task, train = run.task, run.dataset.train
    if not isinstance(train, Examples):
        return {}
    return run.figures_on(task, task.encoded(run.as_read(train).sample(_SAMPLE)))


def _diverged(one: Planned, ending: "Ending") -> Member:
    none: Figures = {}
    return Member(
        name=one.name,
        changes=dict(one.changes),
        examples=ending.examples,
        ended="diverged",
        steps=ending.steps,
        train=none,
        validation=none,
        test=none,
        baseline={},
    )


class Ending(Observer):
    """Remembers why a training ended, which its error alone does not say."""

    why, steps, examples = "", 0, 0

    def end(self, training: Training) -> None:
        self.why, self.steps = training.progress.ended, training.progress.step
        self.examples = split_size(training.train)
