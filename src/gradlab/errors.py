"""What a user can cause, said in one or two lines."""

import difflib
import errno
import sys
from collections.abc import Iterable

from gradlab.printable import listed, printable


class GradlabError(ValueError):
    """Something the user can mend: the message says what was wrong, where, and what to do.

    Raised before the first training step, so nothing has been changed yet.
    """

    exit_code = 2
    everywhere = False
    """Whether every process of a training raises it, so that one may report it for all."""

    def __str__(self) -> str:
        """The message, in which names and values of files cannot steer a terminal."""
        return printable(super().__str__(), lines=True)


class TrainingError(GradlabError):
    """Training itself failed after it began; the last sound checkpoint is kept."""

    exit_code = 1


class NumericalError(TrainingError):
    """A weight, a loss or a prediction is NaN or infinite."""


def _render_one_line(error: BaseException) -> list[str]:
    """In place of a traceback in a notebook, for what the user did and knows the place of."""
    return [f"{type(error).__name__}: {error}"]


class Interrupted(GradlabError):
    """The user stopped a run; it was saved, and the message says how to go on."""

    exit_code = 130
    everywhere = True
    _render_traceback_ = _render_one_line


class UnsavedInterrupt(KeyboardInterrupt):
    """The user stopped a training that has no folder: nothing was saved."""

    _render_traceback_ = _render_one_line


FAULT = 70
"""The exit code of what is no mistake of the user's: a fault of gradlab itself, as sysexits.h has it."""


class SharedError(GradlabError):
    """Found by all processes of a training together."""

    everywhere = True


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the machine, or torch's allocator on some device, had no memory left to give."""
    refused = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and refused)


def is_panic(error: BaseException) -> bool:
    """Whether a library in Rust met what it does not expect; Python does not count that as an Exception."""
    return type(error).__name__ == "PanicException"


def remedy(error: OSError) -> str:
    """What somebody can do whose file cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "Make room"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Permit writing there"
    return "Make it writable"


def notice(text: str) -> None:
    """Warn the user of something that is wrong but did not stop the work."""
    print(f"gradlab: {printable(text, lines=True)}", file=sys.stderr)


def one_line(error: BaseException) -> str:
    """What another library said, short enough to stand in a message of ours."""
    try:
        said = str(error)
    except Exception:  # of a class of the user's, whose own method failed
        said = f"a {type(error).__name__} without a readable message"
    return printable(" ".join(said.split()), 200)


_LISTED = 30  # names that are listed in a message; of more, the closest say enough


def unknown(kind: str, name: str, valid: Iterable[str]) -> GradlabError:
    """An error for a name that is not there, with the closest ones that are.

    >>> print(unknown("model", "mpl", ["mlp", "lenet"]))
    There is no model 'mpl'. Did you mean 'mlp'? Valid: lenet, mlp.
    """
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
    valid_ones = f" Valid: {listed(names, _LISTED)}." if len(names) <= _LISTED or not close else ""
    return GradlabError(f"There is no {kind} {printable(repr(name), 200)}.{hint}{valid_ones}")
