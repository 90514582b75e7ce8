"""How often the doctor names the fault of a training script, and how often it finds one where there is none."""

import difflib
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Literal, Self

from gradlab.bench.arena import Progress
from gradlab.bench.doctor.corpus import Form, Script, read_corpus
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError, unknown

_FIRST = 2  # findings among which the fault must be


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A finding, as far as it is judged."""

    slug: str
    severity: str
    confidence: float
    where: str
    evidence: str
    follows_from: str | None = None

    @property
    def alarm(self) -> bool:
        return self.severity in ("error", "warning")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One script in one form under the doctor."""

    name: str
    family: str
    held_out: bool
    form: Form
    fault: str | None
    """What is wrong with it: None for a repaired or a healthy one."""
    findings: list[Seen]
    """In the doctor's order."""
    place: int | None
    """Where the fault stands among the findings, from 0."""
    right: bool
    """Whether the fault is among the first two findings; without a fault, whether there is no error or warning."""
    alarms: list[str]
    """Slugs of all its errors and warnings but those that follow from another finding."""
    failures: list[str]
    """What went wrong in the doctor itself."""
    steps: int
    seconds: float
    difference: str | None = None
    """How the script behaved otherwise than without the doctor, if that was looked at and is so."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """How one fault was found."""

    slug: str
    scripts: int
    first: int
    among_first: int
    precision: float | None
    """The share of alarms of this name that were on scripts with this fault."""
    recall: float | None
    """The share of scripts with this fault that had an alarm of this name."""


@dataclass(frozen=True, kw_only=True)
class CorpusPart:
    """A part of the corpus: the families in use, or those held out."""

    title: str
    faulty: int
    first: int
    among_first: int
    sound: int
    """Scripts without a fault, repaired ones among them."""
    false_alarms: int
    """Those of them with an error or a warning."""
    scores: list[Score]
    outcomes: list[Outcome]


def bench_doctor(
    corpus: Path | Mapping[str, Path],
    progress: Progress,
    *,
    only: Sequence[str] = (),
    held_out: Literal["too", "only", "no"] = "too",
    jobs: int = 2,
    seconds: float = 120.0,
    identity: bool = False,
) -> list[CorpusPart]:
    """Run every script of a corpus, or of several by their titles, in all its forms, each in a process of its own."""
    if jobs < 1:
        raise GradlabError(f"--jobs must be at least 1, got {jobs}.")
    if seconds <= 0:
        raise GradlabError(f"--seconds must be positive, got {seconds:g}.")
    corpora = {"": corpus} if isinstance(corpus, Path) else corpus
    titles = {script: title for title, folder in corpora.items() for script in read_corpus(folder)}
    chosen = _chosen(list(titles), only)
    chosen = [s for s in chosen if held_out == "too" or s.held_out == (held_out == "only")]
    if not chosen:
        raise GradlabError(f"Of the scripts asked for, none is left with --held-out {held_out}.")
    tasks = [(script, form) for script in chosen for form in script.forms]
    with Practice(jobs, seconds) as practice, ThreadPoolExecutor(jobs) as pool:
        count = _Counted(progress, len(tasks))
        try:
            outcomes = [count(o) for o in pool.map(lambda one: practice.examine(*one, identity=identity), tasks)]
        except WorkerFailed as error:
            raise GradlabError(f"The doctor could not be started: {error}") from None
    of = [titles[script] for script, _ in tasks]
    return [
        score(f"{title}: families {which}" if title else f"Families {which}", part)
        for title in corpora
        for which, aside in (("in use", False), ("held out", True))
        if (part := [o for o, theirs in zip(outcomes, of, strict=True) if theirs == title and o.held_out == aside])
    ]


def _chosen(scripts: Sequence[Script], only: Iterable[str]) -> list[Script]:
    """Those that one of the words names: a script, its family, or its fault."""
    names = {script: {script.name, script.path.stem, script.family, script.fault} for script in scripts}
    known = {name for some in names.values() for name in some if name}
    words = set(only)
    for word in sorted(words - known):
        close = difflib.get_close_matches(word, known, cutoff=0.5)
        raise unknown("script, family or fault", word, close or {script.family for script in scripts})
    return [script for script, some in names.items() if not words or words & some]


class _Counted:
    """Reports progress, as outcomes come."""

    def __init__(self, progress: Progress, count: int):
        self.progress, self.count, self.done = progress, count, 0

    def __call__(self, outcome: Outcome) -> Outcome:
        self.done += 1
        first = next((f"{seen.severity} {seen.slug}" for seen in outcome.findings), "nothing found")
        mark = "ok  " if outcome.right and not outcome.failures and not outcome.difference else "MISS"
        named = f"{outcome.name} ({outcome.form})"
        self.progress(f"{self.done:>4} of {self.count}  {mark}  {named}: {first}, {outcome.seconds:.1f} s")
        return outcome


class Practice:
    """Runs scripts, as many at a time as it is asked from threads, each in a process of its own."""

    def __init__(self, jobs: int, seconds: float):
        self.jobs, self.seconds = jobs, seconds
        self._free: SimpleQueue[Worker] = SimpleQueue()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="gradlab-doctor-")))
        for _ in range(self.jobs):
            # One thread, as the workers share the cores; one order of sets, so that two runs can be compared.
            worker = Worker("gradlab.bench.doctor.worker", OMP_NUM_THREADS="1", PYTHONHASHSEED="0")
            self._free.put(self._open.enter_context(worker))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def examine(self, script: Script, form: Form, *, identity: bool = False) -> Outcome:
        """One script in one form under the doctor, and without it too where the two are to be compared."""
        folder = self.folder / form / Path(script.name).parent
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / script.path.name
        path.write_text(script.text(form))
        with_doctor, without = self.run(path, identity=identity)
        return outcome(script, form, with_doctor, without)

    def run(
        self, path: Path, options: Sequence[str] = (), *, identity: bool = False
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """How a script ended under the doctor, and without it: see `worker.answer`."""
        worker = self._free.get()
        try:
            question = {"script": str(path), "options": list(options), "seconds": self.seconds}
            under = worker.ask({**question, "doctor": True})
            return under, worker.ask({**question, "doctor": False}) if identity else None
        finally:
            self._free.put(worker)


def outcome(script: Script, form: Form, under: dict[str, Any], without: dict[str, Any] | None) -> Outcome:
    """What came of a script, as its judges see it."""
    report = under["report"] or {"findings": [], "steps": 0, "faults_of_the_doctor": [_unreported(under)]}
    findings = [
        Seen(**{name: finding.get(name) for name in Seen.__dataclass_fields__}) for finding in report["findings"]
    ]
    fault = script.fault if form == "faulty" else None
    place = next((i for i, seen in enumerate(findings) if seen.slug == fault), None)
    return Outcome(
        name=script.name,
        family=script.family,
        held_out=script.held_out,
        form=form,
        fault=fault,
        findings=findings,
        place=place,
        right=place is not None and place < _FIRST if fault else not any(seen.alarm for seen in findings),
        alarms=[seen.slug for seen in findings if seen.alarm and seen.follows_from is None],
        failures=report["faults_of_the_doctor"],
        steps=report["steps"],
        seconds=under["seconds"],
        difference=None if without is None else difference(under, without),
    )


def _unreported(under: dict[str, Any]) -> str:
    if under["code"] is None:
        return f"it did not end within {under['seconds']:.0f} s"
    return f"there is no report; exit code {under['code']}: {' '.join(under['said']) or 'nothing on stderr'}"


def difference(under: dict[str, Any], without: dict[str, Any]) -> str | None:
    """Where a script's output or exit code with the doctor is not what it is without."""
    if under["code"] != without["code"]:
        return f"exit code {under['code']} with the doctor, {without['code']} without"
    printed, expected = (Path(one["out"]).read_bytes() for one in (under, without))
    if printed == expected or _timeless(printed) == _timeless(expected):
        return None
    pairs = zip(printed.splitlines(), expected.splitlines(), strict=False)
    line, (a, b) = next(((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1]), (0, (b"", b"")))
    if not line:
        return f"{len(printed):,} bytes printed with the doctor, {len(expected):,} without"
    return f"line {line}: {a.decode(errors='replace')!r} with the doctor, {b.decode(errors='replace')!r} without"


def _timeless(printed: bytes) -> bytes:
    """Without the seconds that a script has measured itself, which are never the same twice."""
    return re.sub(rb"\d+(\.\d+)?(?=\s?m?s\b)", b"", printed)


def score(title: str, outcomes: Sequence[Outcome]) -> CorpusPart:
    """Count what was right."""
    faulty = [o for o in outcomes if o.fault is not None]
    sound = [o for o in outcomes if o.fault is None]
    named = sorted({o.fault for o in faulty if o.fault} | {slug for o in outcomes for slug in o.alarms})
    return CorpusPart(
        title=title,
        faulty=len(faulty),
        first=sum(o.place == 0 for o in faulty),
        among_first=sum(o.right for o in faulty),
        sound=len(sound),
        false_alarms=sum(not o.right for o in sound),
        scores=[_score(slug, outcomes) for slug in named],
        outcomes=list(outcomes),
    )


def _score(slug: str, outcomes: Sequence[Outcome]) -> Score:
    ill = [o for o in outcomes if o.fault == slug]
    alarms = Counter(o.fault == slug for o in outcomes if slug in o.alarms)
    return Score(
        slug=slug,
        scripts=len(ill),
        first=sum(o.place == 0 for o in ill),
        among_first=sum(o.right for o in ill),
        precision=alarms[True] / alarms.total() if alarms else None,
        recall=alarms[True] / len(ill) if ill else None,
    )
