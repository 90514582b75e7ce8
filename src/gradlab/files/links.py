"""Symbolic links in a folder of ours, which may come from a stranger: what is written through one lands anywhere."""

import os
from pathlib import Path

from gradlab.errors import GradlabError
from gradlab.printable import printable


def refuse_links(folder: Path) -> None:
    """Refuse to write in a folder that has a link somewhere below it; the folder itself may be reached by one.

    gradlab makes no links, so that all are refused, wherever they lead. Reading through links is allowed: large files
    of a run may lie on another disk.
    """
    for parent, folders, files in os.walk(folder):
        for name in sorted([*folders, *files]):
            link = Path(parent, name)
            if link.is_symlink():
                raise GradlabError(
                    f"{printable(link)} is a link, and gradlab writes nothing in a folder with links: they may lead to "
                    "any file. Delete it, or put a copy of what it leads to in its place."
                )
