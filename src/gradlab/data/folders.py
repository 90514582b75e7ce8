"""Files of one's own in folders: one for each class, perhaps within one for each split; or all that are below one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gradlab.data.pictures.reader import files_below
from gradlab.data.tables.csv_files import check_classes
from gradlab.errors import GradlabError
from gradlab.printable import printable
from gradlab.wording import counted

_SPLITS = {
    "train": ("train", "training"),
    "validation": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}


@dataclass
class ClassFolders:
    """The files below a folder with a folder for each class, or with splits of those, in a fixed order.

    Those of train come first, then those of validation, then those of test. `noun` is what a file is called that is
    `wanted`; others are skipped, and listed in `notes`.
    """

    root: Path
    noun: str
    wanted: Callable[[Path], bool]
    files: list[Path] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stray: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        by_name = {p.name.lower(): p for p in self._folders(self.root)}
        splits = {split: next((by_name[n] for n in names if n in by_name), None) for split, names in _SPLITS.items()}
        if splits["train"] is None:
            self._add_classes(self.root)
        else:
            self.stray += self._files(self.root)
            for other in by_name.values():
                if other not in splits.values():
                    self.notes.append(
                        f"Left out the folder {printable(other.name)}: it stands beside the one to train on."
                    )
            for split, folder in splits.items():
                if folder is not None:
                    self._add_split(split, folder)
        first = min(self.starts.values(), default=len(self.labels))
        self.classes = sorted(set(self.labels[:first]))
        if not self.classes:
            raise GradlabError(
                f"{self.root} has no {self.noun}s in folders: "
                f"it needs a folder for each class, with its {self.noun}s in it."
            )
        check_classes(self.classes, str(self.root))
        for file, label in zip(self.files, self.labels, strict=True):
            if label not in self.classes:
                raise GradlabError(f"{file}: the class {label!r} has no {self.noun} to train on.")
        if self.stray:
            others = f" and {counted(len(self.stray) - 1, 'other file')}" if len(self.stray) > 1 else ""
            self.notes.append(
                f"Passed over {printable(self.stray[0].relative_to(self.root))}{others}: not {self.noun}s of a class."
            )

    def _add_split(self, split: str, folder: Path) -> None:
        start = len(self.files)
        self._add_classes(folder)
        if split != "train" and len(self.files) > start:
            self.starts[split] = start
        elif split != "train":
            self.notes.append(f"The folder {printable(folder.name)} has no {self.noun}s of classes: it is no split.")

    def _folders(self, folder: Path) -> list[Path]:
        return sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))

    def _files(self, folder: Path) -> list[Path]:
        return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))

    def _add_classes(self, folder: Path) -> None:
        self.stray += self._files(folder)
        for each in self._folders(folder):
            files = files_below(each)
            wanted = [p for p in files if self.wanted(p)]
            self.stray += [p for p in files if not self.wanted(p)]
            if not wanted:
                self.notes.append(
                    f"Left out the folder {printable(each.relative_to(self.root))}: it has no {self.noun}."
                )
            self.files += wanted
            self.labels += [printable(each.name)] * len(wanted)  # a name that is no UTF-8 could not be saved

    def states(self) -> list[tuple[int, int]]:
        return _states(self.root, self.files)


class AllFiles:
    """All files below a folder that are wanted, in a fixed order, as they would be of one class without a name."""

    def __init__(self, root: Path, noun: str, wanted: Callable[[Path], bool]):
        self.root, files = root, files_below(root)
        self.files = [path for path in files if wanted(path)]
        if not self.files:
            raise GradlabError(f"{root} has no {noun}s, nor have the folders below it. Name a folder with some.")
        others = len(files) - len(self.files)
        self.notes = [f"Passed over {counted(others, 'file')}: no {noun}s."] if others else []
        self.labels, self.classes = [""] * len(self.files), None
        self.starts: dict[str, int] = {}

    def states(self) -> list[tuple[int, int]]:
        return _states(self.root, self.files)


def _states(root: Path, files: list[Path]) -> list[tuple[int, int]]:
    """Changes when the files do."""
    try:
        states = [p.stat() for p in files]
    except OSError as error:
        raise GradlabError(f"{root} changed while it was read: {error}.") from None
    return [(s.st_size, s.st_mtime_ns) for s in states]
