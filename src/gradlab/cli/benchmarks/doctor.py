"""`gradlab bench doctor`: how often the doctor names the fault, and what it costs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from gradlab.bench.doctor.outcomes import CorpusPart, Outcome, bench_doctor
from gradlab.bench.doctor.overhead import Overhead, bench_doctor_overhead
from gradlab.cli.benchmarks.output import OUTPUT, Output, Rounds, figure, progress
from gradlab.cli.output import table
from gradlab.wording import counted

_CORPORA = {
    "Scripts of many authors": Path("tests/diagnosis/corpus"),
    "Bugs that people met": Path("tests/diagnosis/met"),
}


def doctor(
    corpus: Path | None = None,
    /,
    *,
    only: Sequence[str] = (),
    held_out: Literal["too", "only", "no"] = "too",
    jobs: int = 2,
    seconds: float = 120.0,
    identity: bool = False,
    overhead: bool = False,
    rounds: Rounds = 7,
    output: Output = OUTPUT,
) -> None:
    """How often the doctor names the fault of a training script, and how often it finds one where there is none.

    Each script of the corpus runs under the doctor in a process of its own: faulty, repaired, and those that never had
    a fault. Held-out families, which were not used to develop the rules, are counted separately.

    Example: `gradlab bench doctor --only missing_zero_grad --only images`

    Parameters
    ----------
    corpus
        A folder of scripts; without one, both that come with gradlab's source.
    only
        A script, a family or a fault; can be given several times.
    held_out
        Whether families in `held_out` take part.
    jobs
        How many scripts run at once, with one thread each.
    seconds
        How long a script may take.
    identity
        Run each script without the doctor too, and compare what it prints, byte for byte.
    overhead
        Measure instead what the doctor costs: two trainings with and without it.
    """
    if overhead:
        output.show(bench_doctor_overhead(rounds, progress), show_overhead)
        return
    options: dict[str, Any] = {"only": only, "held_out": held_out, "jobs": jobs, "seconds": seconds}
    output.show(bench_doctor(corpus or _CORPORA, progress, **options, identity=identity), show_doctor)


def show_doctor(screen: Console, results: Sequence[CorpusPart]) -> None:
    for part in results:
        rows = (
            [
                s.slug,
                *map(str, (s.scripts, s.first, s.among_first)),
                *(figure(share, ".0%") for share in (s.precision, s.recall)),
            ]
            for s in part.scores
        )
        columns = ("", "scripts", "found first", "in the first two", "precision", "recall")
        screen.print(table(*columns, rows=rows, title=f"{part.title}: faults, and errors and warnings of their name"))
        missed = [[o.name, o.fault or "", _said(o)] for o in part.outcomes if o.fault and not o.right]
        alarms = [[o.name, o.form, _said(o)] for o in part.outcomes if not o.fault and not o.right]
        failed = [[o.name, o.form, "; ".join(o.failures)] for o in part.outcomes if o.failures]
        changed = [[o.name, o.form, o.difference] for o in part.outcomes if o.difference]
        for title, middle, last, listed in (
            ("Not in the first two", "fault", "findings", missed),
            ("False alarms", "form", "findings", alarms),
            ("The doctor's own faults", "form", "failure", failed),
            ("Not the same without the doctor", "form", "difference", changed),
        ):
            if listed:
                screen.print(table("script", middle, last, rows=listed, title=title))
    for part in results:
        share = f" ({part.among_first / part.faulty:.0%})" if part.faulty else ""
        failures = sum(bool(o.failures) for o in part.outcomes)
        screen.print(
            f"{part.title}: the fault is in the first two findings of {part.among_first} of {part.faulty} faulty "
            f"scripts{share}, and the first of {part.first}; {counted(part.false_alarms, 'false alarm')} on "
            f"{part.sound} without a fault; the doctor itself failed on {failures}.",
            soft_wrap=True,
        )


def _said(outcome: Outcome) -> str:
    """The first findings of a script."""
    said = (f"{s.severity} {s.slug} {s.confidence:.2f}" for s in outcome.findings[:3])
    return ", ".join(said) or "nothing"


def show_overhead(screen: Console, results: Sequence[Overhead]) -> None:
    rows = (
        [
            r.title,
            str(r.steps),
            f"{r.plain:.1f}",
            f"{r.wall:.2f}",
            f"{r.cpu:.2f}",
            f"{r.process:.2f}",
            f"{r.bar:.1f}",
            "yes" if r.same else "no",
        ]
        for r in results
    )
    columns = ("", "steps", "loop, s", "loop", "loop, CPU", "process", "bar", "same loss")
    screen.print(table(*columns, rows=rows, title="Time with the doctor to the time without"))
