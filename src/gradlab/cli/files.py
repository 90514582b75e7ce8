"""Text files that a command is given."""

from pathlib import Path

from gradlab.errors import GradlabError


def read_text(file: str) -> str:
    """What a file holds."""
    try:
        return Path(file).read_text("utf-8")
    except OSError as error:
        raise GradlabError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise GradlabError(f"{file} is no UTF-8: byte {error.start} is not valid there.") from None
