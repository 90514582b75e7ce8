"""One's own table: a CSV file, read once into the cache."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.array_file import ArrayFile
from gradlab.data.cache import cache_folder, changed_guard, converted, file_key
from gradlab.data.dataset import sources
from gradlab.data.progress import Tell, converting
from gradlab.data.raw import Raw, parts
from gradlab.data.tables.columns import MISSING, MISSING_CODE, Column, Kind
from gradlab.data.tables.reader import TableReader
from gradlab.data.tables.records import Records
from gradlab.data.tables.survey import Survey
from gradlab.errors import GradlabError, unknown
from gradlab.files import json_text, read_json
from gradlab.wording import counted

_FORMAT = 1  # of what is in the cache: a change here makes files be converted anew
_VALUES = "values.npy"  # of all columns, until it is known which are used
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
    settings = {
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
        key = hashlib.sha256(json.dumps([_FORMAT, file_key(file), settings], sort_keys=True).encode()).hexdigest()
        folder, size = cache_folder("tables", key), file.stat().st_size

        def convert(temporary: Path) -> None:
            what = f"Converting {path} ({size / 1e6:,.0f} MB), once: it will be in {folder}."
            with converting(what, size, size > _LARGE) as tell:
                _Conversion(file, settings, temporary, tell).write()
            check()

        converted(folder, convert, ["inputs.npy", "targets.npy", "table.json"], ["groups.npy"])
    table = read_json(folder / "table.json", _Table)
    inputs = table.reader.inputs
    return Raw(
        inputs=np.load(folder / "inputs.npy", mmap_mode="r", allow_pickle=False),
        targets=np.load(folder / "targets.npy", allow_pickle=False),
        features=[c.name for c in inputs],
        classes=table.classes,
        categorical=[c.name for c in inputs if c.kind == "category"],
        missing=missing == "fill",
        groups=np.load(folder / "groups.npy", allow_pickle=False) if group else None,
        notes=table.notes,
        reader=table.reader,
        key=key,
    )


@dataclass(frozen=True)
class _Table:
    """What the arrays mean, in table.json."""

    reader: TableReader
    classes: list[str] | None
    notes: list[str]


class _Conversion:
    """A file as numbers: read once, and once more where a column turns out to be something else than it seemed."""

    def __init__(self, path: Path, settings: dict[str, Any], folder: Path, tell: Tell):
        self.path, self.settings, self.folder, self.tell = path, settings, folder, tell
        self.records = Records(path, settings["separator"], settings["encoding"])
        lists = [name for knob in ("drop", "keep", "numbers", "categories") for name in settings[knob]]
        for name in [settings["target"], *lists, *([settings["group"]] if settings["group"] else [])]:
            if name not in self.records.names:
                raise unknown(f"column in {path},", name, self.records.names)
        self._check_settings()
        # Files of much of Europe have semicolons between values, so that a comma can be the decimal point.
        self.decimal = "," if self.records.separator == ";" else "."
        texts = {*settings["categories"], settings["group"]}
        self.surveys = [
            Survey(name, self.decimal, True, {}) if name in texts else Survey(name, self.decimal)
            for name in self.records.names
        ]
        self._read()
        if any(len(each.forms) > 1 for each in self.surveys):
            self.surveys = [each.again() for each in self.surveys]
            self._read()
        self.rows = self.surveys[0].present + self.surveys[0].missing
        if self.rows == 0:
            raise GradlabError(f"{path} has a line of column names, but no row below it.")
        self.notes: list[str] = []
        self.columns = [self._column(each) for each in self.surveys]
        self.inputs = [i for i, column in enumerate(self.columns) if column.use == "input"]
        if not self.inputs:
            raise GradlabError(f"{path}: no column is left to predict {settings['target']!r} from. See data.keep.")
        self.target = self.records.names.index(settings["target"])
        self.classes = self._classes()

    def _read(self) -> None:
        """All values as numbers, in a file of the folder."""
        groups: dict[str, float] = {}
        with ArrayFile(self.folder / _VALUES, np.float64, (len(self.surveys),)) as file:
            for block in self.records:
                self.tell(self.records.position)
                values = np.empty((len(block), len(self.surveys)))
                plain = [i for i, each in enumerate(self.surveys) if not each.as_text]
                numbers, good = block.numbers(plain, self.decimal)
                for i, column, is_good in zip(plain, numbers, good, strict=True):
                    self.surveys[i].as_text = not is_good
                    if is_good:
                        self.surveys[i].add_numbers(column, block, i)
                        values[:, i] = column
                texts = [i for i, each in enumerate(self.surveys) if each.as_text]
                for i, column in zip(texts, block.texts(texts), strict=True):
                    values[:, i] = self.surveys[i].add_texts(column, block)
                    if self.surveys[i].name == self.settings["group"]:
                        # Rows whose group is not known are one group: they may belong to any.
                        named = ["" if text in MISSING else text for text in column]
                        values[:, i] = [groups.setdefault(name, len(groups)) for name in named]
                file.write(values)

    def _check_settings(self) -> None:
        """No column can be two things at once."""
        settings = {knob: value if isinstance(value, list) else [value] for knob, value in self.settings.items()}
        for one, other in [("target", "drop"), ("target", "group"), ("group", "drop"), ("numbers", "categories")]:
            for name in settings[one]:
                if name in settings[other]:
                    raise GradlabError(f"{name!r} cannot be in data.{one} and in data.{other}.")

    def _column(self, survey: Survey) -> Column:
        name, path = survey.name, str(self.path)
        if name in self.settings["drop"]:
            return survey.column(survey.kind(), "left out", "as asked for")
        forced = name in self.settings["numbers"] or name in self.settings["categories"]
        kind: Kind = "number" if name in self.settings["numbers"] else survey.kind()
        if name in self.settings["categories"] or name == self.settings["group"]:
            kind = "category"
        if kind == "number" and survey.not_a_number:
            where, text = survey.not_a_number
            raise GradlabError(
                f"{path}, {where}, column {name!r}: {text!r} is not a number. Mend it or leave it empty."
            )
        survey.check(kind, forced or name == self.settings["group"], path)
        if survey.missing and self.settings["missing"] == "refuse":
            raise GradlabError(
                f"{path}, {survey.first_missing}, column {name!r}: the value is missing "
                f"({counted(survey.missing, 'row')} in all). Fill it in, or let gradlab: data.missing=fill"
            )
        if name == self.settings["target"]:
            return self._target(survey, kind)
        if name == self.settings["group"]:
            return survey.column(kind, "group", "its rows stay together")
        reason = "" if name in self.settings["keep"] or forced else survey.identifier(kind)
        if survey.distinct == 1 and name not in self.settings["keep"] and not survey.missing:
            reason = f"the same value in every row: {survey.first}"
        if reason:
            self.notes.append(f"Left out {name!r}: {reason}. Use it anyway with data.keep={name}")
            return survey.column(kind, "left out", reason)
        if kind == "category" and survey.overflown:
            raise GradlabError(
                f"{path}: column {name!r} has too many different texts to be categories. Leave it out: data.drop={name}"
            )
        if survey.missing:
            how = "a category of their own" if kind == "category" else "filled with the training mean"
            self.notes.append(f"{counted(survey.missing, 'missing value')} of {name!r}: {how}.")
        return survey.column(kind, "input")

    def _target(self, survey: Survey, kind: Kind) -> Column:
        if kind == "date":
            raise GradlabError(f"{self.path}: the target {survey.name!r} is a date, which cannot be predicted.")
        if survey.missing:
            self.notes.append(f"Left out {counted(survey.missing, 'row')} in which {survey.name!r} is missing.")
        if kind == "category" and survey.overflown:
            raise GradlabError(
                f"{self.path}: the target {survey.name!r} has too many different texts to be classes. Is it an "
                f"identifier? Then name another target. Are these numbers? Then say so: data.numbers={survey.name}"
            )
        if kind == "category" and survey.name not in self.settings["categories"]:
            survey.check_classes(str(self.path))
        return survey.column(kind, "target")

    def _classes(self) -> list[str] | None:
        survey, column = self.surveys[self.target], self.columns[self.target]
        classes = None if survey.name in self.settings["numbers"] else survey.classes(column.kind)
        if classes is not None:
            check_classes(classes, f"{self.path}, column {survey.name!r}")
        return classes

    def write(self) -> None:
        """The three arrays and what they mean; rows without a target are left out."""
        values = np.load(self.folder / _VALUES, mmap_mode="r", allow_pickle=False)
        group = self.settings["group"] and self.records.names.index(self.settings["group"])
        targets, groups = [], []
        with ArrayFile(self.folder / "inputs.npy", np.float64, (len(self.inputs),)) as inputs:
            for _, block in parts(values):
                target = self._encoded(block, self.target)
                known = target != MISSING_CODE if self.columns[self.target].kind == "category" else ~np.isnan(target)
                inputs.write(np.stack([self._encoded(block, i)[known] for i in self.inputs], axis=1))
                targets.append(target[known])
                if self.settings["group"]:
                    groups.append(block[known, group].astype(np.int64))
        (self.folder / _VALUES).unlink()
        target = np.concatenate(targets)
        if self.classes is not None:  # the numbers 1 and 1.0 are the same class
            target = np.unique(target, return_inverse=True)[1].astype(np.int64)
        np.save(self.folder / "targets.npy", target)
        if groups:
            np.save(self.folder / "groups.npy", np.concatenate(groups))
        reader = TableReader(columns=self.columns, separator=self.records.separator, encoding=self.settings["encoding"])
        table = _Table(reader, self.classes, self.notes)
        (self.folder / "table.json").write_text(json_text(asdict(table), None))

    def _encoded(self, block: npt.NDArray[np.float64], index: int) -> npt.NDArray[np.float64]:
        """A column, where it is of categories with codes in the order of their names."""
        if self.columns[index].kind != "category":
            return block[:, index]
        codes = {text: float(code) for code, text in enumerate(sorted(self.surveys[index].counts))}
        table = np.array([*(codes[text] for text in self.surveys[index].counts), MISSING_CODE])
        encoded: npt.NDArray[np.float64] = table[block[:, index].astype(np.int64)]  # of which -1 is the last
        return encoded


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
