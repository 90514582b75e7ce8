"""Running checks on many random cases, and finding the smallest one that fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import inf
from statistics import median
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import nn

from gradlab.errors import GradlabError, unknown
from gradlab.nn.blocks import blocks
from gradlab.printable import listed
from gradlab.verification.calls import DoesNotFit, Ranks, Refused
from gradlab.verification.case import Case
from gradlab.verification.checks import KINDS, Check, checks
from gradlab.verification.comparing import EXACT, through
from gradlab.verification.conditions import CONDITIONS, PLAIN
from gradlab.verification.loose import NAME, loose_tensors
from gradlab.verification.parameters import Source
from gradlab.verification.place import HOME, Place
from gradlab.verification.results import ROUNDED, CheckResult, Verification
from gradlab.verification.search import check_installed, is_installed, search
from gradlab.verification.subject import CannotBuild, Incomparable, Subject, find_subject, subjects

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

CASES = 50
FLOAT32, AMPLIFIED = 5e-7, 1e-4  # what a law is off by for a module that goes through float32: mostly, and at worst
SUSPECT = 0.1  # where numbers are small, rounding may be off by as much; what is further off is no rounding
_AGAIN = 6  # cases under each condition
_CONTROLS = 15  # cases in which our own block shows whether a check can be passed
RAISES = "it raises"
NO_TWIN = "it has no twin with which its numbers could be compared"


Watch = Callable[[Check], None]
"""Hears of each check before it begins."""


def verify_block(subject: Subject, title: str, cases: int = CASES, watch: Watch = lambda check: None) -> Verification:
    """Run all checks of a subject's block on it; elsewhere than at home only the twins, which know its numbers."""
    check_installed()
    results: list[CheckResult] = []
    for check in sorted(checks[subject.name], key=lambda check: KINDS.index(check.kind)):
        if subject.place == HOME or check.kind == "twin":
            watch(check)
            rounds = any(result.note == ROUNDED for result in results)
            results.append(run_check(check, subject, cases, rounds=rounds))
    return Verification(subject.name, title, results or [_skipped(check, NO_TWIN) for check in checks[subject.name]])


def verify_like(
    implementation: Any,
    like: str,
    values: Mapping[str, Any],
    title: str,
    cases: int = CASES,
    watch: Watch = lambda check: None,
    place: Place = HOME,
    seed: int = 0,
) -> Verification:
    """Run all checks of a block on a user's class, function or module."""
    subject = replace(Subject.like(like, implementation, values, place), seed=seed)
    verification = verify_block(subject, title, cases, watch)
    for other in _others(subject, values) if verification.broken else ():
        again = verify_block(other, title, cases, watch)
        if not again.broken:
            subject, verification = other, again
            break
    verification = replace(verification, mapping=_mapping(subject))
    verification.results.extend(_loose(subject))
    if any(result.kind == "twin" and result.passed for result in verification.results):
        verification.results.extend(run_conditions(subject, watch))
    if subject.answered:
        return verification
    for result in verification.results:
        if "cannot be built" in result.reason and not any(r.cases for r in verification.results):
            raise GradlabError(result.reason)
    raised = [replace(r, passed=False) if r.reason.startswith(RAISES) else r for r in verification.results]
    return replace(verification, results=raised)  # it answers to no call at all, so that is what is wrong with it


def _others(subject: Subject, values: Mapping[str, Any]) -> Iterator[Subject]:
    """The same in other conventions, where there are two and nothing says which: any that agrees will do."""
    if any(source.share for sources in subject.known_sources.values() for source in sources.values()):
        yield replace(subject, reverse=True, known_sources={}, answered=set(), axes={})
    if "mask" not in values and subject.mask == "visible" and subject.name.startswith("transformer."):
        try:
            parts = subject.build(subject.example).modules()
        except (Incomparable, GradlabError):
            return
        if any(isinstance(part, nn.MultiheadAttention) for part in parts):  # whose masks hide
            yield replace(subject, mask="hidden", known_sources={}, answered=set(), axes={})


def _mapping(subject: Subject) -> dict[str, str]:
    """Which of its own parameters are ours, where a check has looked for them."""
    longest: Mapping[str, Source] = max(subject.known_sources.values(), key=len, default={})
    return {name: str(source) for name, source in longest.items()}


def _loose(subject: Subject) -> list[CheckResult]:
    """A finding where the user's module has tensors that are not registered."""
    if not isinstance(find_subject(subject.name), type):
        return []
    try:
        module = subject.build(subject.example)
    except (Incomparable, GradlabError):
        return []
    loose = dict(loose_tensors(module))
    wrong = [f"{name} {why}" for name, why in loose.items() if why]
    if not loose:
        return []
    note = f"{listed([*loose], 3)} neither parameter nor buffer: it stays behind when the module moves or is saved"
    return [CheckResult("law", NAME, 1, None, not wrong, 0.0, "; ".join(wrong), note="" if wrong else f"({note})")]


def block_names(words: Sequence[str]) -> list[str]:
    """The blocks and kernels of these names, each of which is a block's or a family's; all if there are none.

    >>> block_names(["activation"])[:2], block_names(["activation.leaky-relu"])
    (['activation.argmax', 'activation.elu'], ['activation.leaky_relu'])
    """
    everything = sorted({*blocks, *subjects})
    names = []
    for name in (word.replace("-", "_") for word in words):
        members = [block for block in everything if block == name or block.startswith(f"{name}.")]
        if not members:
            raise unknown("block or family", name, {*everything, *(block.partition(".")[0] for block in everything)})
        names += members
    return list(dict.fromkeys(names)) if words else everything


def run_check(
    check: Check, subject: Subject, cases: int = CASES, *, smallest: bool = True, rounds: bool = False
) -> CheckResult:
    """The result of a check on a subject. A case that fails is shown in its smallest form, if that is wanted.

    `rounds` says that the twin, which knows by how much a rounding moves it, has found float32 on its way.
    """
    if check.needs and find_spec(check.needs) is None:
        return _skipped(check, f"{check.needs} is not installed (pip install 'gradlab[judges]')")
    if not is_installed():
        return _skipped(check, "hypothesis is not installed (pip install 'gradlab[verify]')")
    check, note = check.at(subject.place), ""
    try:
        trial = _Trial(check, subject).run(min(cases, check.most_cases or cases))
        if trial.reason and subject.place == HOME and not subject.is_ours and _is_rounding(trial, check):
            loose = _through_float32(check)
            rounded = _Trial(loose, subject).run(min(cases, check.most_cases or cases))
            if not rounded.reason and (check.kind == "twin" or rounds or median(rounded.errors) <= FLOAT32):
                trial, note = rounded, ROUNDED
            elif rounded.reason:
                check = loose  # the smallest case is one of what is wrong, and not of rounding
        if trial.reason and (why := _of_no_consequence(check, subject)):
            return _skipped(check, why)
        if trial.reason and smallest:
            trial = _smallest(check, subject) or _Trial(check, subject).run(cases, shrink=True)
    except (Incomparable, CannotBuild) as why:
        return _skipped(check, str(why))
    if not trial.errors and not trial.reason:
        return _skipped(check, trial.unmade)
    worst = max(trial.errors, key=lambda error: inf if error != error else error, default=None)
    drawn = trial.drawn if trial.reason else {}
    passed = not trial.reason
    return CheckResult(
        check.kind, check.name, len(trial.errors), worst, passed, check.tolerance, trial.reason, drawn, note
    )


def _is_rounding(trial: "_Trial", check: Check) -> bool:
    """Whether what is off may be a number of float32 on the way, and the check is one of equality."""
    return check.tolerance <= FLOAT32 and trial.errors != [] and trial.errors[-1] <= SUSPECT


def _through_float32(check: Check) -> Check:
    """The check of a module that goes through float32, though its inputs do not."""
    place = Place(dtype=torch.float32)

    def error(case: Case) -> float:
        with through(torch.float32):
            return check.error(case) / place.growth(case.length)

    is_twin = check.kind == "twin"  # which knows by how much a rounding moves it
    return replace(check, error=error, tolerance=place.tolerance(EXACT, check.roundings) if is_twin else AMPLIFIED)


def run_conditions(subject: Subject, watch: Watch = lambda check: None) -> list[CheckResult]:
    """The first twin of a user's module under each condition: in one result if all hold, and else what is broken."""
    twins = [check for check in checks[subject.name] if check.kind == "twin" and not check.most_cases]
    if not twins or subject.is_ours or subject.place != HOME:
        return []
    twin, held, results = twins[0], dict[str, int](), list[CheckResult]()
    for condition in CONDITIONS:
        place = Place(dtype=condition.dtype) if condition.dtype else HOME
        check = replace(twin, name=f"{twin.name}, {condition.name}", roundings=4 * twin.roundings)
        watch(check)
        result = run_check(check, replace(subject, condition=condition, place=place, answered=set()), _AGAIN)
        if result.passed is False and not result.reason.startswith(("off", "shape")) and condition.empty:
            continue
        if result.passed is False:
            results.append(result)
        elif result.passed:
            held[condition.name] = result.cases
    if held:
        name = f"{twin.name}, {', '.join(held)}"
        results.append(CheckResult("twin", name, sum(held.values()), None, True, twin.tolerance))
    return results


def _skipped(check: Check, reason: str) -> CheckResult:
    return CheckResult(check.kind, check.name, 0, None, None, check.tolerance, reason)


def _of_no_consequence(check: Check, subject: Subject) -> str:
    """Why a check that fails says nothing of the subject: our own block with what is fixed does not pass it either."""
    control = subject.control
    if subject.is_ours or not (control.fixed or control.condition != PLAIN):
        return ""
    try:
        trial = _Trial(check, control).run(_CONTROLS)
        reason = trial.reason or ("" if trial.errors else trial.unmade)
    except (Incomparable, GradlabError) as error:
        reason = str(error)
    fixed = ", ".join(f"{key}={value}" for key, value in control.fixed.items() if key not in subject.assumed)
    return (
        f"our own {subject.name} with {fixed or 'these settings'} does not pass it either ({reason})" if reason else ""
    )


def _smallest(check: Check, subject: Subject) -> "_Trial | None":
    """Why and where a check fails, looked for among small cases first: shrinking a large one rarely ends there."""
    for room in (0, 1, 2):
        trial = _Trial(check, subject, room).run(CASES, shrink=True)
        if trial.reason:
            return trial
    return None


class _Trial:
    """Many cases of one check, up to the first that fails, which is then made smaller while it still does.

    A user's module may raise on what it is not meant for, tensors of two axes or of four. A case in which it raises is
    not made, unless it has answered to tensors of the same ranks before.
    """

    def __init__(self, check: Check, subject: Subject, room: int | None = None):
        self.check, self.subject, self.room = check, subject, room
        self.errors: list[float] = []
        self.drawn: dict[str, Any] = {}
        self.reason = self.unmade = ""
        self.refused: set[Ranks] = set()

    def run(self, cases: int, *, shrink: bool = False) -> Self:
        try:
            with search(self._case, cases, self.subject.seed, shrink) as run_cases:
                run_cases()
                if self.refused & self.subject.answered:  # it has answered to such tensors, but only later
                    run_cases()
        except (CannotBuild, Incomparable):
            raise
        except (Broken, Refused) as broken:
            self.reason = str(broken)
        except Exception as error:  # of a check that meets what it does not expect
            if "not implemented for" in str(error) and self.subject.place != HOME:  # as PyTorch says it
                raise Incomparable(" ".join(str(error).split())) from error
            if self.subject.foreign and isinstance(error, AttributeError):
                raise Incomparable(f"it is made of other parts ({error})") from error
            self.reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return self

    def _case(self, data: "DataObject") -> None:
        case = Case(data, self.subject, self.room)
        try:
            with case.seeded():
                error = self.check.error(case)
        except DoesNotFit as why:
            self.unmade = str(why)
            return
        except CannotBuild as why:  # of these sizes, perhaps, alone
            self.unmade = self.unmade or str(why)
            return
        except Refused as why:
            if why.ranks in self.subject.answered:
                raise
            self.refused.add(why.ranks)
            self.unmade = f"{RAISES} {why}"
            return
        finally:
            self.drawn = case.drawn
        self.errors.append(error)
        if not error <= self.check.tolerance:
            raise Broken(f"off by {error:.2g}, allowed is {self.check.tolerance:.0e}")


class Broken(AssertionError):
    """A case in which the error is larger than allowed."""
