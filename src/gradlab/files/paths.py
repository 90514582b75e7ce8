"""Names of files that no file system can have."""

import errno
import os
from pathlib import Path

from gradlab.errors import GradlabError
from gradlab.printable import printable

_IMPOSSIBLE = (errno.ENAMETOOLONG, errno.ELOOP)
_SHOWN = 60  # characters of such a name


def check_path(name: str | Path, what: str) -> None:
    """Refuse what cannot name a file or a folder, whether there is one or not; `what` names the argument."""
    try:
        os.lstat(name)
    except ValueError:  # a null byte, or half a character
        reason = "it has a character that no name has"
    except OSError as error:
        if error.errno not in _IMPOSSIBLE:
            return
        reason = os.strerror(error.errno)
    else:
        return
    raise GradlabError(f"{what}={printable(name, _SHOWN)} cannot be the name of a file: {reason}.")
