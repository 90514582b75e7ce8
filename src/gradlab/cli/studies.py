"""Several trainings of a recipe: `gradlab train --folds`, `--seeds`, `--find-lr`, `--curve`, `--vary` and `--check`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from gradlab.cli import training
from gradlab.cli.output import print_json, say, table
from gradlab.cli.requests import read_overrides, shared_options
from gradlab.errors import GradlabError, Interrupted
from gradlab.printable import printable, without_passwords
from gradlab.wording import counted, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.recipe import Recipe
    from gradlab.studies.checklist import Check
    from gradlab.studies.learning_curve import LearningCurve
    from gradlab.studies.members import Member, Notify
    from gradlab.studies.range_test import RangeTest
    from gradlab.studies.seeds import Seeds
    from gradlab.studies.spread import Repeated
    from gradlab.studies.vary import Choice, Variations
    from gradlab.training.experiment import Experiment
    from gradlab.training.observers import Observer

MARKS = {"passed": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "red"), "skipped": ("–", "dim")}


@dataclass(frozen=True, kw_only=True)
class StudyRequest:
    """What a command asked for, and where its answer is printed."""

    name: str
    overrides: tuple[str, ...]
    data: str | None
    code: list[str]
    out: str | None
    device: str
    screen: Console
    as_json: bool

    def recipe(self) -> Recipe:
        from gradlab.recipes.request import TrainingRequest
        from gradlab.training.environment import find_device

        request = TrainingRequest(self.name, self.data, read_overrides(self.overrides))
        return request.recipe(find_device(self.device).type)

    def experiment(self) -> Experiment:
        from gradlab import api

        return api.prepare(self.recipe(), device=self.device)

    def command(self, *without: str) -> str:
        """`gradlab train …` as it was typed, without some of its overrides."""
        kept = [text for text in self.overrides if text.split("=", 1)[0] not in without]
        return shlex.join(["gradlab", "train", self.name, *shared_options(self.data, self.code, self.device), *kept])

    def folder(self, kind: str) -> Path:
        from gradlab.run.folder import new_path

        return Path(self.out) if self.out else new_path(f"{self.recipe().name}-{kind}")

    def heading(self, study: str) -> None:
        if not self.as_json:
            say(self.screen, "recipe", self.recipe().name)
            say(self.screen, "study", study)

    def observers(self) -> list[Observer]:
        """A live bar in a terminal; elsewhere a line for each training is enough."""
        return [training.progress(self.screen)] if self.screen.is_terminal and not self.as_json else []


def train(
    request: StudyRequest,
    *,
    folds: int | None,
    seeds: int | None,
    find_lr: bool,
    curve: bool,
    vary: Sequence[str],
    check: bool,
) -> None:
    """The checks, where asked for, then the study that was asked for, or a plain training."""
    flags = {
        "--folds": folds is not None,
        "--seeds": seeds is not None,
        "--find-lr": find_lr,
        "--curve": curve,
        "--vary": bool(vary),
    }
    chosen = [flag for flag, is_set in flags.items() if is_set]
    if len(chosen) > 1 and chosen != ["--seeds", "--vary"]:
        raise GradlabError(f"{' and '.join(chosen)} cannot be asked for together: each is a study of its own.")
    experiment = request.experiment() if check else None
    checks = run_checks(request, experiment) if experiment else None
    if folds is not None:
        result = cross_validate(request, folds)
    elif seeds is not None and not vary:
        result = train_seeds(request, seeds)
    elif find_lr:
        result = find_rate(request)
    elif curve:
        result = learning_curve(request)
    elif vary:
        result = vary_knobs(request, vary, seeds)
    else:
        result = plain(request, experiment)
    if request.as_json:
        print_json(result if checks is None else {"checks": [asdict(c) for c in checks], "result": result})


def plain(request: StudyRequest, experiment: Experiment | None) -> dict[str, Any]:
    """The training itself, after the checks."""
    from gradlab import api

    assert experiment is not None, "a plain training comes here only for its checks"
    if not request.as_json:
        training.show_plan(request.screen, experiment)
    run = api.start(experiment, request.out, [] if request.as_json else [training.progress(request.screen)])
    if not request.as_json:
        training.show_result(request.screen, run, as_json=False)
    return training.result_object(run)


# The checks.


def run_checks(request: StudyRequest, experiment: Experiment) -> list[Check]:
    """All of them, printed; where one fails, that is the end."""
    from gradlab.studies.checklist import failures
    from gradlab.studies.checklist import run_checks as run

    checks = run(experiment)
    if not request.as_json:
        show_checks(request.screen, checks)
    failed = failures(checks)
    if failed is not None:
        if request.as_json:
            print_json({"checks": [asdict(c) for c in checks], "result": None, "error": str(failed)})
        raise failed
    return checks


def show_checks(screen: Console, checks: Sequence[Check]) -> None:
    for check in checks:
        sign, style = MARKS[check.state]
        # Without colours a word says more than a sign.
        mark = (f"{sign} ", style) if screen.is_terminal else (f"{check.state:<8}", "")
        screen.print(Text.assemble(mark, (f"{check.name:<22}", "dim"), printable(check.measured)), soft_wrap=True)
        if check.advice:
            screen.print(
                Text.assemble(" " * (24 if screen.is_terminal else 30), (printable(check.advice), style)),
                soft_wrap=True,
            )


# The studies.


def cross_validate(request: StudyRequest, folds: int) -> dict[str, Any]:
    from gradlab.studies.folds import cross_validate as run
    from gradlab.training.environment import find_device

    folder = request.folder("folds")
    request.heading(f"{counted(folds, 'fold')}: each is the test split of one training")
    with going_on(f"{request.command()} --folds {folds}", folder):
        result = run(
            request.recipe(),
            folds,
            folder,
            find_device(request.device),
            observers=request.observers(),
            notify=_notifier(request, "fold", "test", lambda fold: ""),
        )
    if not request.as_json:
        show_spread(request.screen, result)
        show_folder(request.screen, result.path)
    return result.to_json()


def train_seeds(request: StudyRequest, seeds: int) -> dict[str, Any]:
    from gradlab.studies.seeds import train_seeds as run
    from gradlab.training.environment import find_device

    folder = request.folder("seeds")
    request.heading(f"{counted(seeds, 'seed')}: weights and what training draws differ, the split of the data does not")
    with going_on(f"{request.command()} --seeds {seeds}", folder):
        result = run(
            request.recipe(),
            seeds,
            folder,
            find_device(request.device),
            observers=request.observers(),
            notify=_notifier(request, "training", "test", lambda one: f"seed {one.changes['train.seed']}"),
        )
    if not request.as_json:
        show_seeds(request.screen, result)
        show_folder(request.screen, result.path)
    return result.to_json()


def show_seeds(screen: Console, result: Seeds) -> None:
    show_spread(screen, result)
    name = result.names[0]
    mean = f"{result.split} {name_of(name)} {result.spread[name].words}"
    say(screen, "result", f"{mean}, mean ± standard deviation of {result.basis}")


def show_spread(screen: Console, result: Repeated) -> None:
    """A row for each training, then the mean and the spread of each figure beside the baseline."""
    spreads, names = result.spread, result.names
    rows = []
    for i, member in zip(result.numbers, result.members, strict=True):
        figures = member.figures(result.split)
        ended = " (diverged)" if member.diverged else ""
        rows.append([f"{result.noun} {i}{ended}", *(number(figures.get(n)) for n in names)])
    summary = {"mean": "mean", "std": "± standard deviation", "standard_error": "standard error"}
    rows += [[words, *(number(getattr(spreads[n], key)) for n in names)] for key, words in summary.items()]
    if result.baseline:
        rows.append([f"baseline ({result.baseline_name})", *(number(result.baseline.get(n)) for n in names)])
    screen.print(table(f"{result.split} split", *map(name_of, names), rows=rows))


def find_rate(request: StudyRequest) -> dict[str, Any]:
    from gradlab.studies.range_test import find_rate as run

    folder = request.folder("lr")
    request.heading("range test: the learning rate rises from step to step")
    command = request.command("train.lr")
    experiment = request.experiment()
    result = run(experiment, out=folder, command=command)
    if not request.as_json:
        show_rate(request.screen, result, command)
        show_folder(request.screen, folder)
    return {"recipe": experiment.recipe.name, **result.to_json(), "out": str(folder)}


def show_rate(screen: Console, result: RangeTest, command: str) -> None:
    from gradlab.studies.range_test import RULE
    from gradlab.studies.text_plot import text_plot

    say(screen, "stopped", f"after {counted(len(result.rates), 'step')}, by {result.stopped}")
    labels = f"{result.rates[0]:.1g}", f"{result.rates[-1]:.2g}"
    screen.print()
    for line in text_plot(result.smoothed, labels=labels):
        screen.print(Text("  " + line), no_wrap=True)
    screen.print()
    if result.suggestion is None:
        say(screen, "suggestion", "none: no learning rate lowered the loss. Look at the data and the model: --check.")
        return
    say(screen, "suggestion", f"train.lr={result.suggestion:g}: {RULE}")
    say(screen, "train", f"{command} train.lr={result.suggestion:g}")


def learning_curve(request: StudyRequest) -> dict[str, Any]:
    from gradlab.studies.learning_curve import learning_curve as run
    from gradlab.training.environment import find_device

    folder = request.folder("curve")
    request.heading("learning curve: the same recipe on more and more of its examples")
    with going_on(f"{request.command()} --curve", folder):
        result = run(
            request.recipe(),
            folder,
            find_device(request.device),
            observers=request.observers(),
            notify=_notifier(request, "training", "validation", lambda point: counted(point.examples, "example")),
        )
    if not request.as_json:
        show_curve(request.screen, result)
        show_folder(request.screen, result.path)
    return result.to_json()


def show_curve(screen: Console, result: LearningCurve) -> None:
    columns = [*_columns(result.points, result.metric), (result.held_out, "loss")]
    rows = [[f"{p.examples:,}", *(number(p.figures(s).get(n)) for s, n in columns)] for p in result.points]
    screen.print(table("examples", *(f"{s} {name_of(n)}" for s, n in columns), rows=rows))
    say(screen, "verdict", result.verdict)


def vary_knobs(request: StudyRequest, knobs: Sequence[str], seeds: int | None) -> dict[str, Any]:
    from gradlab.recipes.keys import complete_keys
    from gradlab.studies.seeds import check_seeds
    from gradlab.studies.vary import vary as run
    from gradlab.training.environment import find_device

    recipe = request.recipe()
    pairs = complete_keys(recipe, read_overrides(tuple(knobs)))
    if len(pairs) < len(knobs):
        raise GradlabError("--vary was given the same key twice. Name all its values at once: --vary KEY=V1,V2.")
    if seeds is not None:
        check_seeds(seeds)
    folder = request.folder("vary")
    each = "" if seeds is None else f", {counted(seeds, 'seed')} each"
    request.heading(f"varying {' and '.join(pairs)}{each}")
    command = request.command(*pairs)
    again = [part for knob in knobs for part in ("--vary", knob)] + ([] if seeds is None else ["--seeds", str(seeds)])
    with going_on(f"{request.command()} {shlex.join(again)}", folder):
        result = run(
            recipe,
            pairs,
            folder,
            find_device(request.device),
            observers=request.observers(),
            notify=_notifier(request, "training", "validation", lambda one: _typed(one.changes)),
            command=command,
            seeds=seeds or 1,
        )
    if not request.as_json:
        show_variations(request.screen, result, command)
        show_folder(request.screen, result.path)
    return result.to_json()


def show_variations(screen: Console, result: Variations, command: str) -> None:
    from gradlab.studies.knobs import typed

    last = "test" if any(member.test for member in result.members) else result.held_out
    columns = [("train", "loss"), (result.held_out, "loss"), (last, result.metric)]
    rows = [
        [
            *(typed(value) for value in choice.changes.values()),
            *(_spread_cell(choice, split, name) for split, name in columns),
            "best" if choice is result.best else "",
        ]
        for choice in result.choices
    ]
    screen.print(table(*_short_keys(result.knobs), *(f"{s} {name_of(n)}" for s, n in columns), "", rows=rows))
    if result.best is not None:
        chosen = _typed(result.best.changes)
        by = f"{result.held_out} loss" if result.seeds == 1 else f"mean {result.held_out} loss"
        say(screen, "best", f"by {by}: {chosen}")
        say(screen, "train", f"{command} {chosen}")


def _spread_cell(choice: Choice, split: str, name: str) -> str:
    """A figure, or its mean ± standard deviation over the seeds, and how many of them have none."""
    spread = choice.spread(split).get(name)
    if choice.diverged == len(choice.members):
        return "diverged"
    return (spread.words if spread else number(None)) + f" ({choice.diverged} diverged)" * bool(choice.diverged)


def _short_keys(keys: Iterable[str]) -> list[str]:
    return [key.split(".", 1)[-1] for key in keys]


def _typed(changes: Mapping[str, Any]) -> str:
    """Values as they are typed."""
    from gradlab.studies.knobs import typed

    return shlex.join(f"{key}={typed(value)}" for key, value in changes.items())


# What they share.


def _columns(members: Sequence[Member], metric: str) -> list[tuple[str, str]]:
    """(split, metric) for each split that has figures."""
    return [(split, metric) for split in ("train", "validation", "test") if any(m.figures(split) for m in members)]


def _notifier(request: StudyRequest, noun: str, split: str, describe: Callable[[Member], str]) -> Notify | None:
    """A line for each training, as soon as it is done."""
    if request.as_json:
        return None

    def notify(place: int, count: int, member: Member) -> None:
        figures = member.figures(split) or member.test or member.validation
        shown = ", ".join(f"{name} {number(value)}" for name, value in list(figures.items())[:2]) or member.ended
        parts = [f"{place} of {count}", describe(member), shown, duration(member.seconds)]
        say(request.screen, noun, " | ".join(part for part in parts if part))

    return notify


def show_folder(screen: Console, path: Path) -> None:
    say(screen, "folder", str(path))
    say(screen, "report", str((path / "report.html").absolute()))


@contextmanager
def going_on(command: str, folder: Path) -> Iterator[None]:
    """An interruption says how to go on with the study, not with the one training that it was in."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        if not folder.exists():
            raise Interrupted("Stopped before the first training. Nothing was written.") from None
        again = without_passwords(f"{command} --out {shlex.quote(str(folder))}")
        raise Interrupted(f"Stopped; what is done is saved. Go on with: {again}") from None
