"""One's own table: a CSV file, read once into the cache."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.array_file import ArrayFile
from gradlab.data.cache import cache_folder, changed_guard, converted, file_key
from gradlab.data.dataset import sources
from gradlab.data.frames import is_frame_file
from gradlab.data.naming import columns_to_name
from gradlab.data.progress import Notify, converting
from gradlab.data.raw import Raw, parts
from gradlab.data.tables.aligned import Aligned
from gradlab.data.tables.blocks import Block
from gradlab.data.tables.columns import MISSING, MISSING_CODE, Column, Kind
from gradlab.data.tables.reader import TableReader
from gradlab.data.tables.records import Records
from gradlab.data.tables.survey import Survey, add_block, must_read_again
from gradlab.errors import GradlabError, unknown
from gradlab.files import json_text, read_json
from gradlab.wording import counted

_FORMAT = 2  # of what is in the cache: a change here makes files be converted anew
_VALUES = "values.npy"  # of all columns, until it is known which are used
_LARGE = 2**26  # bytes above which progress is shown


@sources.register("csv", advice=columns_to_name)
def csv(
    seed: int,
    *,
    path: Annotated[str, "CSV file whose first line names the columns: --data FILE"],
    target: Annotated[str, "column to predict"],
    validation_file: Annotated[str | None, "CSV file with the same columns whose rows are the validation split"] = None,
    test_file: Annotated[str | None, "CSV file with the same columns whose rows are the test split"] = None,
    drop: Annotated[list[str], "columns to leave out"] = [],  # noqa: B006
    keep: Annotated[list[str], "columns to use though they look like identifiers or are constant"] = [],  # noqa: B006
    numbers: Annotated[list[str], "columns that are numbers, whatever they look like"] = [],  # noqa: B006
    categories: Annotated[list[str], "columns that are categories, whatever they look like"] = [],  # noqa: B006
    group: Annotated[str | None, "column whose equal values never go to different splits"] = None,
    time: Annotated[
        str | None, "column of numbers or dates by which the latest rows are held out; data.limit keeps the latest too"
    ] = None,
    missing: Annotated[Literal["fill", "refuse"], "what to do about missing values"] = "fill",
    separator: Annotated[str, "between values; auto: the commonest of , ; tab | in the first line"] = "auto",
    encoding: Annotated[str, "of the text"] = "utf-8",
) -> Raw:
    """A CSV file: numbers, categories and dates in named columns, one of which is to be predicted."""
    named = {"train": path, "validation": validation_file, "test": test_file}
    files = {split: Path(name) for split, name in named.items() if name is not None}
    for split, file in files.items():
        if not file.is_file():
            if is_frame_file(file):
                raise GradlabError(
                    f"The frame that was kept in the cache, {file}, is gone. Pass the same frame again, as in "
                    "gradlab.resume(RUN, data=frame)."
                )
            how = "--data FILE" if split == "train" else f"data.{split}_file=FILE; of a run, beside --data FILE"
            raise GradlabError(f"{file} is not a file. Name a CSV file: {how}.")
    settings: dict[str, Any] = {
        "target": target,
        "drop": drop,
        "keep": keep,
        "numbers": numbers,
        "categories": categories,
        "group": group,
        "missing": missing,
        "separator": separator,
        "encoding": encoding,
        **({"time": time} if time else {}),
    }
    with ExitStack() as guards:
        checks = [guards.enter_context(changed_guard(file)) for file in files.values()]
        keys = {split: file_key(file) for split, file in files.items()}
        # Of what is set alone: what a run of an earlier version is known by stays the same.
        content = [_FORMAT, keys.pop("train"), settings | keys]
        key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        folder, size = cache_folder("tables", key), sum(file.stat().st_size for file in files.values())

        def convert(temporary: Path) -> None:
            what = f"Converting {path} ({size / 1e6:,.0f} MB), once: it will be in {folder}."
            with converting(what, size, size > _LARGE) as notify:
                _Conversion(files, settings, temporary, notify).write()
            for check in checks:
                check()

        converted(folder, convert, ["inputs.npy", "targets.npy", "table.json"], ["groups.npy", "times.npy"])
    table = read_json(folder / "table.json", _Table)
    inputs = table.reader.inputs
    return Raw(
        inputs=np.load(folder / "inputs.npy", mmap_mode="r", allow_pickle=False),
        targets=np.load(folder / "targets.npy", allow_pickle=False),
        features=[c.name for c in inputs],
        classes=table.classes,
        categorical=[c.name for c in inputs if c.kind == "category"],
        dates=[c.name for c in inputs if c.kind == "date"],
        missing=missing == "fill",
        validation_from=table.starts.get("validation"),
        test_from=table.starts.get("test"),
        groups=np.load(folder / "groups.npy", allow_pickle=False) if group else None,
        times=np.load(folder / "times.npy", allow_pickle=False) if time else None,
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
    starts: dict[str, int] = field(default_factory=dict)
    """The row from which on a split has files of its own."""


class _Conversion:
    """Files as numbers: read once, and once more where a column turns out to be something else than it seemed."""

    def __init__(self, files: Mapping[str, Path], settings: dict[str, Any], folder: Path, notify: Notify):
        self.settings, self.folder, self.notify = settings, folder, notify
        path = self.path = " and ".join(map(str, files.values()))
        self.records = Records(files["train"], settings["separator"], settings["encoding"])
        self.files: dict[str, Records | Aligned] = {"train": self.records}
        if len(files) > 1:
            each = {split: Records(file, self.records.separator, settings["encoding"]) for split, file in files.items()}
            self.files = {split: Aligned(records, self.records) for split, records in each.items()}
        lists = [name for knob in ("drop", "keep", "numbers", "categories") for name in settings[knob]]
        for name in [settings["target"], *lists, *filter(None, (settings["group"], settings.get("time")))]:
            if name not in self.records.names:
                raise unknown(f"column in {path},", name, self.records.names)
        self._check_settings()
        self.group = None if settings["group"] is None else self.records.names.index(settings["group"])
        self.decimal = self.records.decimal
        texts = {*settings["categories"], settings["group"]}
        self.surveys = [
            Survey(name, self.decimal, True, {}, []) if name in texts else Survey(name, self.decimal)
            for name in self.records.names
        ]
        self._read()
        while must_read_again(self.surveys):  # at most twice: what fits not all becomes categories
            self.surveys = [each.again() for each in self.surveys]
            self._read()
        for split, rows in self.rows.items():
            if rows == 0:
                raise GradlabError(f"{files[split]} has a line of column names, but no row below it.")
        self.notes: list[str] = []
        self.columns = [self._column(each) for each in self.surveys]
        self.inputs = [i for i, column in enumerate(self.columns) if column.use == "input"]
        if not self.inputs:
            raise GradlabError(f"{path}: no column is left to predict {settings['target']!r} from. See data.keep.")
        self.target = self.records.names.index(settings["target"])
        self._check_time()
        self.classes = self._classes()

    def _read(self) -> None:
        """All values as numbers, in a file of the folder."""
        groups: dict[str, float] = {}
        with ArrayFile(self.folder / _VALUES, np.float64, (len(self.surveys),)) as file:
            for block in self._blocks():
                self.notify(sum(records.position for records in self.files.values()))
                values = add_block(self.surveys, block, self.decimal)
                if self.group is not None:
                    (column,) = block.texts([self.group])
                    # Rows whose group is not known are one group: they may belong to any.
                    named = ["" if text in MISSING else text for text in column]
                    values[:, self.group] = [groups.setdefault(name, len(groups)) for name in named]
                file.write(values)

    def _blocks(self) -> Iterator[Block]:
        """The rows of all files, of which a number that counts them may begin anew in each."""
        self.rows = dict.fromkeys(self.files, 0)
        for split, records in self.files.items():
            for survey in self.surveys:
                survey.last = np.nan
            for block in records:
                self.rows[split] += len(block)
                yield block

    def _check_settings(self) -> None:
        """No column can be two things at once."""
        settings = {knob: value if isinstance(value, list) else [value] for knob, value in self.settings.items()}
        pairs = [("target", "drop"), ("target", "group"), ("group", "drop"), ("numbers", "categories")]
        for one, other in [*pairs, ("time", "target"), ("time", "categories")]:
            for name in settings.get(one, []):
                if name in settings[other]:
                    raise GradlabError(f"{name!r} cannot be in data.{one} and in data.{other}.")
        if self.settings["group"] and "time" in settings:
            raise GradlabError("data.group and data.time both say which rows are held out. Leave out one of them.")

    def _check_time(self) -> None:
        """Every row must have a time, and times an order."""
        name = self.settings.get("time")
        if name is None:
            return
        survey, column = next((s, c) for s, c in zip(self.surveys, self.columns, strict=True) if s.name == name)
        if column.kind == "category":
            raise GradlabError(
                f"{self.path}: column {name!r} holds texts such as {survey.first!r}, which have no order in time. "
                f"data.time takes numbers, or dates of one form, as 2026-03-01."
            )
        if survey.missing:
            raise GradlabError(
                f"{self.path}, {survey.first_missing}, column {name!r}: the time is missing "
                f"({counted(survey.missing, 'row')} in all). Fill it in, or remove the row."
            )

    def _column(self, survey: Survey) -> Column:
        name, path = survey.name, str(self.path)
        if name in self.settings["drop"]:
            return survey.column(survey.kind(), "left out", "as asked for")
        forced = name in self.settings["numbers"] or name in self.settings["categories"]
        named = [*self.settings["keep"], self.settings["target"], self.settings["group"], self.settings.get("time")]
        if survey.present == 0 and self.settings["missing"] == "fill" and not forced and name not in named:
            self.notes.append(f"Left out {name!r}: no value in any row.")
            return survey.column(survey.kind(), "left out", "no value in any row")
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
            survey.check_target(str(self.path))
        return survey.column(kind, "target")

    def _classes(self) -> list[str] | None:
        survey, column = self.surveys[self.target], self.columns[self.target]
        classes = None if survey.name in self.settings["numbers"] else survey.classes(column.kind)
        if classes is not None:
            check_classes(classes, f"{self.path}, column {survey.name!r}")
        return classes

    def write(self) -> None:
        """The arrays and what they mean; rows without a target are left out."""
        values = np.load(self.folder / _VALUES, mmap_mode="r", allow_pickle=False)
        by = {"groups.npy": (self.settings["group"], np.int64), "times.npy": (self.settings.get("time"), np.float64)}
        split_by = {file: (self.records.names.index(name), kind) for file, (name, kind) in by.items() if name}
        targets, kept, dividing = [], [], {file: list[npt.NDArray[Any]]() for file in split_by}
        with ArrayFile(self.folder / "inputs.npy", np.float64, (len(self.inputs),)) as inputs:
            for _, block in parts(values):
                target = self._encoded(block, self.target)
                known = target != MISSING_CODE if self.columns[self.target].kind == "category" else ~np.isnan(target)
                inputs.write(np.stack([self._encoded(block, i)[known] for i in self.inputs], axis=1))
                targets.append(target[known])
                kept.append(known)
                for file, (column, kind) in split_by.items():
                    dividing[file].append(block[known, column].astype(kind))
        (self.folder / _VALUES).unlink()
        target = np.concatenate(targets)
        if self.classes is not None:  # the numbers 1 and 1.0 are the same class
            target = np.unique(target, return_inverse=True)[1].astype(np.int64)
        np.save(self.folder / "targets.npy", target)
        for file, columns in dividing.items():
            np.save(self.folder / file, np.concatenate(columns))
        starts = self._starts(np.concatenate(kept), target)
        reader = TableReader(columns=self.columns, separator=self.records.separator, encoding=self.settings["encoding"])
        table = _Table(reader, self.classes, self.notes, starts)
        (self.folder / "table.json").write_text(json_text(asdict(table), None))

    def _starts(self, kept: npt.NDArray[np.bool_], target: npt.NDArray[Any]) -> dict[str, int]:
        """From which of the rows that were kept on each split has its own, where there are several files."""
        ends = np.cumsum(list(self.rows.values()))
        sizes = {s: int(part.sum()) for s, part in zip(self.rows, np.split(kept, ends[:-1]), strict=True)}
        for split, size in sizes.items():
            if size == 0:
                raise GradlabError(
                    f"{self.files[split].path}: the target {self.settings['target']!r} is missing in every row."
                )
        if self.classes is not None and len(sizes) > 1:
            unseen = set(range(len(self.classes))) - set(target[: sizes["train"]].tolist())
            for i in sorted(unseen):
                self.notes.append(f"The class {self.classes[i]!r} has no row to train on: it cannot be predicted.")
        begins = np.cumsum([0, *sizes.values()]).tolist()
        return {split: begin for split, begin in zip(sizes, begins[:-1], strict=True) if split != "train"}

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
