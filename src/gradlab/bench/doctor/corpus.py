"""Training scripts with and without faults, and how one file holds a faulty script and its repaired twin.

A file with a line `# fault: slug` is a pair: lines that end in `# FAULT` are the faulty script's alone, those that end
in `# REPAIRED` its twin's. Any other file is a healthy script, as it is. A family is a folder; those in `held_out` are
set aside: they are judged like all others and counted for themselves.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gradlab.errors import GradlabError

Form = Literal["faulty", "repaired", "healthy"]
HELD_OUT = "held_out"

_FAULT = re.compile(r"^# fault:[ \t]*(\S*)[ \t]*$", re.MULTILINE)
_MARKS: dict[str, str] = {"faulty": "# FAULT", "repaired": "# REPAIRED"}


@dataclass(frozen=True, kw_only=True)
class Script:
    """One file of the corpus."""

    path: Path
    name: str
    """Its path below the corpus, without `.py`."""
    fault: str | None
    """The slug of what is wrong with its faulty form; None if there is none."""

    @property
    def held_out(self) -> bool:
        return self.name.startswith(f"{HELD_OUT}/")

    @property
    def family(self) -> str:
        return self.name.removeprefix(f"{HELD_OUT}/").rpartition("/")[0]

    @property
    def forms(self) -> tuple[Form, ...]:
        return ("healthy",) if self.fault is None else ("faulty", "repaired")

    def text(self, form: Form) -> str:
        """The script as a stranger would have written it: nothing in it tells which form it is."""
        return self.path.read_text() if form == "healthy" else split(self.path.read_text(), form)


def split(text: str, form: Form) -> str:
    """
    >>> print(split("lr = 50  # FAULT\\nlr = 0.1  # REPAIRED\\ntrain(lr)\\n", "faulty"), end="")
    lr = 50
    train(lr)
    """
    (other,) = (mark for name, mark in _MARKS.items() if name != form)
    lines = (line.rstrip() for line in text.splitlines())
    kept = (line for line in lines if not line.endswith(other) and not _FAULT.match(line))
    return "".join(f"{line.removesuffix(_MARKS[form]).rstrip()}\n" for line in kept)


def read_corpus(folder: Path) -> list[Script]:
    """All scripts below a folder, by name."""
    if not folder.is_dir():
        raise GradlabError(
            f"There is no folder {str(folder)!r}. The corpus comes with gradlab's source, not with the package: run "
            "this in a clone of it, or name a folder of scripts."
        )
    paths = sorted(p for p in folder.rglob("*.py") if not p.name.startswith("_"))
    if not paths:
        raise GradlabError(f"There are no Python scripts in {str(folder)!r}.")
    return [_script(path, path.relative_to(folder).with_suffix("").as_posix()) for path in paths]


def _script(path: Path, name: str) -> Script:
    text = path.read_text()
    slugs = _FAULT.findall(text)
    marked = [mark for mark in _MARKS.values() if any(line.rstrip().endswith(mark) for line in text.splitlines())]
    if len(slugs) > 1 or "" in slugs:
        raise GradlabError(f"{path}: there must be one line `# fault: slug`.")
    if slugs and not marked:
        raise GradlabError(f"{path} has a fault, {slugs[0]}: some lines must end in `# FAULT` or in `# REPAIRED`.")
    if marked and not slugs:
        raise GradlabError(f"{path} has lines that end in `{marked[0]}`, but no line `# fault: slug`.")
    return Script(path=path, name=name, fault=slugs[0] if slugs else None)
