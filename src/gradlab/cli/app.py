"""The application: its commands, and how failures are reported."""

import errno
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NoReturn

import cyclopts

from gradlab import owners, parallel, process
from gradlab.cli.benchmarks.app import bench
from gradlab.cli.cookbook import recipes
from gradlab.cli.datasets import data
from gradlab.cli.diagnosing import before_the_script, doctor
from gradlab.cli.explaining import explain
from gradlab.cli.filtering import filter_
from gradlab.cli.generating import generate
from gradlab.cli.history import compare, runs
from gradlab.cli.output import json_alone, print_json
from gradlab.cli.playing import play
from gradlab.cli.probing import probe
from gradlab.cli.pruning import prune
from gradlab.cli.streams import guard_streams
from gradlab.cli.sweeping import sweep
from gradlab.cli.training import resume, train
from gradlab.cli.using import evaluate, predict
from gradlab.cli.verifying import verify
from gradlab.cli.watching import report
from gradlab.errors import FAULT, GradlabError, is_out_of_memory, one_line
from gradlab.printable import printable, without_passwords
from gradlab.version import __version__

app = cyclopts.App(
    name="gradlab",
    help="A deep-learning lab on PyTorch: train, resume, look at and use models.\n\nStart with `gradlab train`.",
    version=__version__,
    help_format="markdown",
    default_parameter=cyclopts.Parameter(negative=()),
    suppress_keyboard_interrupt=False,  # main reports it
)

commands: list[Callable[..., None]] = [
    train,
    resume,
    sweep,
    evaluate,
    predict,
    generate,
    play,
    probe,
    prune,
    doctor,
    recipes,
    runs,
    compare,
    report,
    explain,
    verify,
]
for order, command in enumerate(commands):
    app.command(command, sort_key=order)
app.command(filter_, name="filter")
app.command(data)
app.command(bench)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code: 0, or that of the error, reported in a line or two on stderr.

    With --json the error is on stdout too, as `{"error": …}`.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    doctor = arguments[:1] == ["doctor"]
    if doctor:
        arguments[1:] = before_the_script(arguments[1:])
    output = None
    if not (doctor and "--" in arguments):  # a process that runs a script is the script's, with its streams
        output = guard_streams()
    if not doctor:
        process.prepare()
    with json_alone() if "--json" in arguments and not doctor else nullcontext():
        _run(arguments)
    if output is not None and output.failure is not None:
        fail(f"standard output cannot be written: {output.failure.strerror}. {_COMPLETE}", 1)
    sys.exit(0)


_COMPLETE = "The command itself is complete; only what it prints is lost."


def _run(arguments: list[str]) -> None:
    try:
        _check_processes(arguments)
        # Under the doctor a script makes a group of its processes itself, or none.
        with nullcontext() if arguments[:1] == ["doctor"] else parallel.joined():
            app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except cyclopts.UnknownOptionError as error:
        fail(f"{error}\n{_as_knob(error.token.keyword or error.token.value, arguments) or _help(error)}", 2)
    except cyclopts.CycloptsError as error:
        fail(f"{error}\n{_help(error)}", 2)
    except GradlabError as error:
        if error.everywhere and _rank():
            sys.exit(error.exit_code)  # the first process reports it
        fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        fail(_INTERRUPTED, 130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has left: nobody is left to read it
        sys.exit(1)
    except Exception as error:
        if process.interrupt.raised:
            fail(_INTERRUPTED, 130)
        if isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ELOOP):  # wherever it is looked for
            fail(f"{printable(str(error.filename), 60)} cannot be the name of a file: {error.strerror}.", 2)
        if is_out_of_memory(error):
            fail("out of memory. Lower train.batch_size, raise train.accumulate, or take a smaller model.", 1)
        if message := owners.blame(error):
            fail(message, GradlabError.exit_code)
        what = f"{type(error).__name__}: {one_line(error).rstrip('.')}"
        fail(f"{what}. This is a fault of gradlab, not yours. {_write_log(error, arguments)}", FAULT)


_INTERRUPTED = "Interrupted: the command did not finish. What was complete before is unchanged."


def _help(error: cyclopts.CycloptsError) -> str:
    return " ".join(["Try: gradlab", *(error.command_chain or ()), "--help"])


def _as_knob(option: str, arguments: Sequence[str]) -> str:
    """How an option that there is not would be set in a recipe, if it is a knob of the training."""
    from dataclasses import fields

    from gradlab.training.plan import Plan

    name, _, value = option.partition("=")
    key = name.lstrip("-").replace("-", "_")
    if arguments[:1] not in (["train"], ["sweep"]) or key not in {field.name for field in fields(Plan)}:
        return ""
    after = arguments[arguments.index(option) + 1 :] if option in arguments else []
    value = value or next((text for text in after[:1] if not text.startswith("-")), "VALUE")
    return f"It is a knob of the recipe, which is set without dashes: train.{key}={value}"


def fail(message: str, code: int) -> NoReturn:
    who = f"gradlab (rank {_rank()})" if _rank() else "gradlab"
    print(f"{who}: {printable(message, lines=True)}", file=sys.stderr)
    if json_alone.wanted:
        print_json({"error": printable(message, lines=True)})
    sys.exit(code)


def _write_log(error: Exception, arguments: Sequence[str]) -> str:
    """Where the traceback is, which only whoever mends gradlab wants to see."""
    lines = traceback.format_exception(error)
    content = (
        f"gradlab {__version__}, Python {sys.version}\n{without_passwords(shlex.join(arguments))}\n\n{''.join(lines)}"
    )
    try:
        number, path = tempfile.mkstemp(prefix="gradlab-", suffix=".log")
        with open(number, "w", errors="backslashreplace") as file:
            file.write(content)
    except OSError as refused:
        return f"Its traceback could not be written: {refused.strerror}."
    return f"Its traceback is in {path}: please report it."


def _check_processes(arguments: Sequence[str]) -> None:
    """Under torchrun only one training at a time is shared, and only the first process prints."""
    if parallel.Launch.read().world_size == 1 or arguments[:1] == ["doctor"]:
        return
    if arguments[:1] not in (["train"], ["resume"]):
        raise GradlabError(
            f"`gradlab {' '.join(arguments[:1])}` runs in one process: leave out torchrun. It is for train, resume and "
            "doctor."
        )
    study = next((text for text in arguments if text.split("=")[0] in _STUDIES), None)
    if study is not None:
        raise GradlabError(f"{study} is for trainings in one process: leave out torchrun.")
    if _rank():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (until the process ends)


_STUDIES = ("--folds", "--seeds", "--find-lr", "--curve", "--vary", "--check")


def _rank() -> int:
    try:
        return parallel.Launch.read().rank
    except GradlabError:  # which is being reported
        return 0
