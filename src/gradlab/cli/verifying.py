"""`gradlab verify`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from gradlab.cli.isolation import run_isolated
from gradlab.cli.output import console, print_json, table
from gradlab.cli.training import Json, Plain
from gradlab.errors import GradlabError
from gradlab.wording import duration

if TYPE_CHECKING:
    from gradlab.verification import Check, LawResult, Place, Verification


BROKEN, UNDECIDED = 3, 4  # exit codes
_DTYPE = """The type of their numbers. On another device, or in another type than float64, outputs and gradients are
compared with those of the twin in float64, and may be off by some roundings of that type."""


def verify(
    *what: str,
    like: Annotated[str | None, Parameter(help="The block that your own class or function should be like.")] = None,
    cases: Annotated[int, Parameter(help="Random cases for each check.")] = 50,
    seed: Annotated[int, Parameter(help="Of the random cases: another seed, other cases.")] = 0,
    device: Annotated[Literal["cpu", "cuda"], Parameter(help="Where the blocks run.")] = "cpu",
    dtype: Annotated[Literal["float64", "float32", "bfloat16", "float16"], Parameter(help=_DTYPE)] = "float64",
    time_limit: Annotated[float, Parameter(help="Seconds that your own class or function may take in all.")] = 600.0,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Check building blocks and kernels: against their readable twins, the laws of the course, and other libraries.

    Examples to copy:

    - `gradlab verify`: every block and kernel
    - `gradlab verify attention.multihead norm`: one block, and a family
    - `gradlab verify laws`: the laws of the course, each with the wrong versions that it rejects; `laws jensen bayes`
      for some of them
    - `gradlab verify kernel --device cuda --dtype bfloat16`: the kernels, on a GPU and in half precision
    - `gradlab verify mine.py:Attention --like attention.multihead embed_dim=8 num_heads=2`: your own class, built with
      those values; what they do not fix is drawn at random. A check that breaks is shown with its smallest example.
      Your file runs in a process of its own: if it ends that, or takes too long, nothing counts as verified.

    The last line is the verdict. The exit code is 0 when the checks hold, 3 when one is broken, and 4 when nothing is
    broken but no value could be compared: undecided.

    Parameters
    ----------
    what
        Blocks or families; `laws`; or with `--like`, FILE.py:Class and then key=value for its constructor.
    """
    if cases < 1:
        raise GradlabError(f"--cases {cases} checks nothing. Give 1 or more.")
    screen = console(plain)
    if like is not None:
        _verify_isolated(what, like, cases, seed, device, dtype, time_limit, plain, as_json)
    elif what[:1] == ("laws",):
        _verify_laws(screen, what[1:], cases, seed, plain, as_json)
    else:
        _verify_blocks(screen, what, cases, seed, _place(device, dtype), plain, as_json)


def _verify_isolated(
    what: tuple[str, ...],
    like: str,
    cases: int,
    seed: int,
    device: str,
    dtype: str,
    time_limit: float,
    plain: bool,
    as_json: bool,
) -> None:
    """A user's class in a process of its own, from which the verdict alone is taken."""
    if not what:
        raise GradlabError("Nothing to check. Write: gradlab verify FILE.py:Class --like NAME key=value …")
    if not 0 < time_limit < inf:
        raise GradlabError(f"--time-limit {time_limit:g}: give a number of seconds above 0.")
    arguments = what, like, cases, seed, device, dtype, plain, as_json
    verdict = run_isolated(_verify_like, *arguments, subject=what[0], limit=time_limit)
    if code := {"agrees": 0, "broken": BROKEN, "undecided": UNDECIDED}[verdict]:
        sys.exit(code)


def _verify_like(
    what: tuple[str, ...], like: str, cases: int, seed: int, device: str, dtype: str, plain: bool, as_json: bool
) -> str:
    """Verify a user's class, print what came out, and return the verdict."""
    import torch

    from gradlab.verification import verify_like
    from gradlab.verification.user_code import import_object, read_values

    place = _place(device, dtype)
    torch.set_num_threads(1)  # the cases are small: a second thread would only be waited for
    with _progress(what[0], plain or as_json) as watch:
        values = read_values([*what[1:]])
        verification = verify_like(import_object(what[0]), like, values, what[0], cases, watch, place, seed)
    if as_json:
        _print_json([verification])
    else:
        _print(console(plain), verification, is_own=True)
    return verification.verdict


def _place(device: str, dtype: str) -> Place:
    from gradlab.training.environment import find_device
    from gradlab.verification import Place

    return Place.of(find_device(device).type, dtype)


def _verify_blocks(
    screen: Console, names: tuple[str, ...], cases: int, seed: int, place: Place, plain: bool, as_json: bool
) -> None:
    """Blocks of ours; the exit code is 3 where a check is broken."""
    began, verifications = time.perf_counter(), []
    for verification in _verifications(names, cases, seed, place, quiet=plain or as_json):
        verifications.append(verification)
        if not as_json:
            _print(screen, verification)
    if as_json:
        _print_json(verifications)
    elif len(verifications) > 1:
        screen.print(_summary(verifications, time.perf_counter() - began))
    if not all(verification.passed for verification in verifications):
        sys.exit(BROKEN)


def _print_json(verifications: list[Verification]) -> None:
    passed = all(verification.passed for verification in verifications)
    verdict = min((each.verdict for each in verifications), key=("broken", "undecided", "agrees").index)
    print_json({"passed": passed, "verdict": verdict, "blocks": [each.plain() for each in verifications]})


def _summary(verifications: list[Verification], seconds: float) -> str:
    results = [result for verification in verifications for result in verification.results]
    outcomes = [sum(result.passed is outcome for result in results) for outcome in (True, False, None)]
    held, broken, skipped = (f"{count:,}" for count in outcomes)
    tried = f"{sum(result.cases for result in results):,} random cases in {duration(seconds)}"
    return f"{len(verifications)} blocks: {held} checks hold, {broken} are broken, {skipped} are not made; {tried}."


def _verifications(names: tuple[str, ...], cases: int, seed: int, place: Place, quiet: bool) -> Iterator[Verification]:
    import torch

    from gradlab.verification import Subject, block_names, verify_block

    torch.set_num_threads(1)  # the cases are small: a second thread would only be waited for
    if foreign := [word for word in names if ":" in word or "=" in word]:
        raise GradlabError(f"{foreign[0]!r} is no block. To check your own class, say which block: --like NAME.")
    for name in block_names(names):
        with _progress(name, quiet) as watch:
            verification = verify_block(Subject.block(name, place, seed), name, cases, watch)
        yield verification


def _verify_laws(screen: Console, names: tuple[str, ...], cases: int, seed: int, plain: bool, as_json: bool) -> None:
    """One entry for each law; the exit code is 3 where one is broken, or rejects nothing."""
    import torch

    from gradlab.verification import law_names, verify_law
    from gradlab.verification.course import LAWS

    torch.set_num_threads(1)
    results = []
    for group, laws in groupby(law_names(names), key=LAWS.__getitem__):
        part = []
        for name in laws:
            with _progress(name, plain or as_json) as watch:
                part.append(verify_law(name, cases, watch, seed))
        if not as_json:
            _print_laws(screen, group, part)
        results += part
    wrong = [result for result in results if not (result.passed and result.rejects)]
    if as_json:
        print_json({"passed": not wrong, "laws": [result.plain() for result in results]})
    else:
        held = len(results) - len(wrong)
        screen.print(f"{held} of {len(results)} laws hold, and reject the wrong versions that were planted for them.")
    if wrong:
        sys.exit(BROKEN)


def _print_laws(screen: Console, group: str, results: list[LawResult]) -> None:
    """Those of one part of the course, and what is wrong with them."""
    rows = (row for result in results for row in result.rows())
    shown = table("law", "stated by", "cases", "worst", "allowed", "", rows=rows, title=group)
    for column in (0, 2, 3, 4):  # one word each
        shown.columns[column].no_wrap = True
    screen.print(shown)
    for reason in (reason for result in results for reason in result.reasons):
        screen.print(Text(reason, "red"))


@contextmanager
def _progress(title: str, quiet: bool) -> Iterator[Callable[[Check], None]]:
    """A line on stderr that says which check is running."""
    if quiet or not sys.stderr.isatty():
        yield lambda check: None
        return
    with Console(stderr=True).status(title) as status:
        yield lambda check: status.update(f"{title}  [dim]{check.kind}[/dim] {check.name}")


def _print(screen: Console, verification: Verification, is_own: bool = False) -> None:
    rows = (result.row() for result in verification.results)
    like = f", like {verification.block}" if verification.subject != verification.block else ""
    screen.print(table("kind", "check", "cases", "worst error", "", rows=rows, title=f"{verification.subject}{like}"))
    if verification.renamed:
        screen.print(Text(f"parameters: {', '.join(verification.renamed)}", "dim"))
    for line, case in verification.findings:
        what, gap, why = line.partition("  (")
        screen.print(Text.assemble((what, "bold red"), gap, why))
        if case:
            screen.print(Text("smallest case that breaks it:", "dim"))
        for drawn in case:
            screen.print(Text(f"  {drawn}"))
    if len(verification.broken) > 1:
        screen.print(Text("--json has the smallest case of each", "dim"))
    if is_own or verification.verdict != "agrees":
        style = {"agrees": "bold green", "broken": "bold red", "undecided": "bold yellow"}[verification.verdict]
        screen.print(Text(verification.conclusion, style))
