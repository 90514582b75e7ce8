"""One's own table: a CSV file, read once into the cache."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.cache import building, cache_folder, changed_guard, file_key
from gradlab.data.dataset import sources
from gradlab.data.progress import Tell, converting
from gradlab.data.raw import Raw
from gradlab.data.tables.columns import MISSING, MISSING_CODE, Column, Kind
from gradlab.data.tables.reader import TableReader
from gradlab.data.tables.records import Records
from gradlab.data.tables.survey import Survey, survey
from gradlab.errors import GradlabError, unknown
from gradlab.wording import counted

_FORMAT = 1  # of what is in the cache: a change here makes files be converted anew
_LARGE = 2**26  # bytes above which the user is told what takes so long


@sources.register("csv")
def csv(
    seed: int,
    *,
    path: Annotated[str, "CSV file whose first line names the columns: --data FILE"],
    target: Annotated[str, "column to predict"],
    drop: Annotated[list[str], "columns to leave out"] = [],  # noqa: B006
    keep: Annotated[list[str], "columns to use though they look like identifiers or are constant"] = [],  # noqa: B006
    numbers: Annotated[list[str], "columns that are numbers, whatever they look like"] = [],  # noqa: B006
    categories: Annotated[list[str], "columns that are categories, whatever they look like"] = [],  # noqa: B006
    group: Annotated[str | None, "column whose equal values never go to different splits"] = None,
    missing: Annotated[Literal["fill", "refuse"], "what to do about missing values"] = "fill",
    separator: Annotated[str, "between values; auto: the commonest of , ; tab | in the first line"] = "auto",
    encoding: Annotated[str, "of the text"] = "utf-8",
) -> Raw:
    """A CSV file: numbers, categories and dates in named columns, one of which is to be predicted."""
    file = Path(path)
    if not file.is_file():
        raise GradlabError(f"{path} is not a file. Name a CSV file: --data FILE.")
    asked = {
        "target": target,
        "drop": drop,
        "keep": keep,
        "numbers": numbers,
        "categories": categories,
        "group": group,
        "missing": missing,
        "separator": separator,
        "encoding": encoding,
    }
    with changed_guard(file) as check:
        key = hashlib.sha256(json.dumps([_FORMAT, file_key(file), asked], sort_keys=True).encode()).hexdigest()
        folder = cache_folder("tables", key)
        if not folder.is_dir():
            size = file.stat().st_size
            what = f"Converting {path} ({size / 1e6:,.0f} MB), once: it will be in {folder}."
            with building(folder) as temporary, converting(what, 2 * size, size > _LARGE) as tell:
                _Conversion(file, asked, tell).write(temporary)
                check()
    return _read(folder, key, missing == "fill")


def _read(folder: Path, key: str, fill: bool) -> Raw:
    try:
        described = json.loads((folder / "table.json").read_text())
        inputs = np.load(folder / "inputs.npy", mmap_mode="r", allow_pickle=False)
        targets = np.load(folder / "targets.npy", allow_pickle=False)
        groups = np.load(folder / "groups.npy", allow_pickle=False) if (folder / "groups.npy").exists() else None
        reader = TableReader.read_back(described["reader"])
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise GradlabError(f"The cache {folder} is damaged: {error}. Remove that folder.") from None
    used = [c for c in reader.columns if c.use == "input"]
    return Raw(
        inputs=inputs,
        targets=targets,
        features=[c.name for c in used],
        classes=described["classes"],
        categorical=[c.name for c in used if c.kind == "category"],
        missing=fill,
        groups=groups,
        notes=described["notes"],
        reader=reader,
        key=key,
    )


class _Conversion:
    """A file read twice: what are its columns, and then their values."""

    def __init__(self, path: Path, asked: dict[str, Any], tell: Tell):
        self.path, self.asked, self.tell = path, asked, tell
        self.records = Records(path, asked["separator"], asked["encoding"])
        named = [asked["target"], *asked["drop"], *asked["keep"], *asked["numbers"], *asked["categories"]]
        for name in [*named, *([asked["group"]] if asked["group"] else [])]:
            if name not in self.records.names:
                raise unknown(f"column in {path},", name, self.records.names)
        self._check_asked()
        # Files of much of Europe have semicolons between values, so that a comma can be the decimal point.
        decimal = "," if self.records.separator == ";" else "."
        self.surveys = survey(self.records, decimal, tell)
        self.rows = self.surveys[0].present + self.surveys[0].missing
        if self.rows == 0:
            raise GradlabError(f"{path} has a line of column names, but no row below it.")
        self.notes: list[str] = []
        self.columns = [self._column(each) for each in self.surveys]
        self.inputs = [c for c in self.columns if c.use == "input"]
        if not self.inputs:
            raise GradlabError(f"{path}: no column is left to predict {asked['target']!r} from. See data.keep.")
        self.classes = self._classes()

    def _check_asked(self) -> None:
        """No column can be two things at once."""
        asked = {knob: value if isinstance(value, list) else [value] for knob, value in self.asked.items()}
        for one, other in [("target", "drop"), ("target", "group"), ("group", "drop"), ("numbers", "categories")]:
            for name in asked[one]:
                if name in asked[other]:
                    raise GradlabError(f"{name!r} cannot be in data.{one} and in data.{other}.")

    def _column(self, found: Survey) -> Column:
        name, path = found.name, str(self.path)
        if name in self.asked["drop"]:
            return found.column(found.kind(), "left out", "as asked for")
        forced = name in self.asked["numbers"] or name in self.asked["categories"]
        kind: Kind = "number" if name in self.asked["numbers"] else found.kind()
        if name in self.asked["categories"] or name == self.asked["group"]:
            kind = "category"
        if kind == "number" and found.not_a_number:
            where, text = found.not_a_number
            raise GradlabError(
                f"{path}, {where}, column {name!r}: {text!r} is not a number. Mend it or leave it empty."
            )
        found.check(kind, forced or name == self.asked["group"], path)
        if found.missing and self.asked["missing"] == "refuse":
            raise GradlabError(
                f"{path}, {found.first_missing}, column {name!r}: the value is missing "
                f"({counted(found.missing, 'row')} in all). Fill it in, or let gradlab: data.missing=fill"
            )
        if name == self.asked["target"]:
            return self._target(found, kind)
        if name == self.asked["group"]:
            return found.column(kind, "group", "its rows stay together")
        reason = "" if name in self.asked["keep"] or forced else found.identifier(kind)
        if found.distinct == 1 and name not in self.asked["keep"] and not found.missing:
            reason = f"the same value in every row: {next(iter(found.counts))}"
        if reason:
            self.notes.append(f"Left out {name!r}: {reason}. Use it anyway with data.keep={name}")
            return found.column(kind, "left out", reason)
        if kind == "category" and found.overflown:
            raise GradlabError(
                f"{path}: column {name!r} has too many different texts to be categories. Leave it out: data.drop={name}"
            )
        if found.missing:
            how = "a category of their own" if kind == "category" else "filled with the training mean"
            self.notes.append(f"{counted(found.missing, 'missing value')} of {name!r}: {how}.")
        return found.column(kind, "input")

    def _target(self, found: Survey, kind: Kind) -> Column:
        if kind == "date":
            raise GradlabError(f"{self.path}: the target {found.name!r} is a date, which cannot be predicted.")
        if found.missing:
            self.notes.append(f"Left out {counted(found.missing, 'row')} in which {found.name!r} is missing.")
        if kind == "category" and found.overflown:
            raise GradlabError(f"{self.path}: the target {found.name!r} has too many different texts to be classes.")
        return found.column(kind, "target")

    def _classes(self) -> list[str] | None:
        found = next(s for s in self.surveys if s.name == self.asked["target"])
        column = next(c for c in self.columns if c.use == "target")
        classes = None if found.name in self.asked["numbers"] else found.classes(column.kind)
        if classes is None:
            return None
        check_classes(classes, f"{self.path}, column {found.name!r}")
        return classes

    def write(self, folder: Path) -> None:
        """The three arrays and what they mean."""
        target = next(c for c in self.columns if c.use == "target")
        known = next(s for s in self.surveys if s.name == target.name).present
        inputs = np.lib.format.open_memmap(
            folder / "inputs.npy", mode="w+", dtype=np.float64, shape=(known, len(self.inputs))
        )
        targets, groups = [], []
        start = 0
        for block, wanted, group in self._blocks(target):
            inputs[start : start + len(block)] = block
            start += len(block)
            targets.append(wanted)
            groups.append(group)
        if start != known:
            raise GradlabError(f"{self.path} changed while it was read. Try again when nothing writes to it any more.")
        inputs.flush()
        wanted = np.concatenate(targets)
        if self.classes is not None:  # the numbers 1 and 1.0 are the same class
            wanted = np.unique(wanted, return_inverse=True)[1].astype(np.int64)
        np.save(folder / "targets.npy", wanted)
        if self.asked["group"]:
            np.save(folder / "groups.npy", np.concatenate(groups))
        described = {
            "reader": TableReader(
                columns=self.columns, separator=self.records.separator, encoding=self.asked["encoding"]
            ).describe(),
            "classes": self.classes,
            "notes": self.notes,
        }
        (folder / "table.json").write_text(json.dumps(described))

    def _blocks(self, target: Column) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        """Inputs, targets and groups, a few thousand rows at a time; rows without a target are left out."""
        names = self.records.names
        known: dict[str, int] = {}
        size = self.path.stat().st_size
        for chunk in self.records:
            self.tell(size + self.records.position)

            def numbers(column: Column) -> npt.NDArray[np.float64]:
                return column.encode(chunk.columns[names.index(column.name)], chunk.where)  # noqa: B023

            wanted = numbers(target)
            there = ~np.isnan(wanted) & (wanted != MISSING_CODE if target.kind == "category" else True)
            block = np.stack([numbers(column) for column in self.inputs], axis=1)
            group = np.zeros(len(wanted), dtype=np.int64)
            if self.asked["group"]:  # rows whose group is not known are one group: they may belong to any
                texts = chunk.columns[names.index(self.asked["group"])]
                group[:] = [known.setdefault("" if text in MISSING else text, len(known)) for text in texts]
            yield block[there], wanted[there], group[there]


def check_classes(classes: list[str], where: str) -> None:
    """Refuse one class alone, and classes that differ only in upper and lower case."""
    if len(classes) < 2:
        raise GradlabError(f"{where}: there is only one class, {classes[0]!r}. Classification needs at least two.")
    seen: dict[str, str] = {}
    for name in classes:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise GradlabError(
                f"{where}: the classes {other!r} and {name!r} differ only in upper and lower case. "
                "Write them alike if they are the same, or rename one of them."
            )
