"""One's own pictures, with a folder for each class or without classes, read once into the cache."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from gradlab.data.array_file import ArrayFile
from gradlab.data.cache import cache_folder, converted, file_key
from gradlab.data.dataset import sources
from gradlab.data.folders import AllFiles, ClassFolders
from gradlab.data.pictures.reader import (
    DamagedPicture,
    PictureReader,
    Resize,
    is_picture,
    look,
    look_through,
)
from gradlab.data.progress import Notify, converting
from gradlab.data.raw import Raw
from gradlab.errors import GradlabError

Side = Annotated[int, Ge(1), Le(2**14)]
Size = Annotated[Side | None, "height and width; default their own if all have one up to 128, else the median up to 64"]
Colour = Annotated[Literal["auto", "grey", "rgb"], "auto: grey where all pictures are"]
Fit = Annotated[Resize, "how other shapes are made to fit: cut to the middle, put on white, or stretched"]
T = TypeVar("T")

_FORMAT = 1  # of what is in the cache: a change here makes folders be converted anew
_OWN_SIZE, _COMMON_SIZE = 128, 64  # pictures of one size keep it up to the first; others are square, up to the second
_MANY = 5000  # pictures above which progress is shown
_NAMED = 10  # damaged files that are named


@sources.register("images")
def images(
    seed: int,
    *,
    path: Annotated[str, "folder with a folder of pictures for each class, or splits of those: --data FOLDER"],
    size: Size = None,
    colour: Colour = "auto",
    resize: Fit = "crop",
) -> Raw:
    """Pictures in a folder per class: PNG, JPEG and others, of any size and mode."""
    root = Path(path)
    if not root.is_dir():
        raise GradlabError(
            f"{path} is not a folder. Name a folder with a folder of pictures for each class: --data FOLDER."
        )
    return _read(path, ClassFolders(root, "picture", is_picture), size, colour, resize)


@sources.register("pictures")
def pictures(
    seed: int,
    *,
    path: Annotated[str, "folder with pictures, also in folders below it: --data FOLDER"],
    size: Size = None,
    colour: Colour = "auto",
    resize: Fit = "crop",
) -> Raw:
    """Pictures without classes, for models that draw: all that are below a folder, of any size and mode."""
    root = Path(path)
    if not root.is_dir():
        raise GradlabError(f"{path} is not a folder. Name a folder with pictures: --data FOLDER.")
    return _read(path, AllFiles(root, "picture", is_picture), size, colour, resize)


def _read(path: str, folders: ClassFolders | AllFiles, size: int | None, colour: str, resize: Resize) -> Raw:
    """The pictures that were found, brought to one shape."""
    root, classes = Path(path), folders.classes
    before = folders.states()
    reader, notes = fitting_reader(folders.files, size, colour, resize)
    files = zip(folders.files, folders.labels, strict=True)
    parts = [[str(path.relative_to(root)), label, file_key(path)] for path, label in files]
    key = hashlib.sha256(json.dumps([_FORMAT, folders.starts, reader.describe(), parts]).encode()).hexdigest()

    def check() -> None:
        if folders.states() != before:
            raise GradlabError(f"{path} changed while it was read. Try again when nothing writes to it any more.")

    return Raw(
        inputs=cached_pixels(key, folders.files, reader, check),
        targets=np.zeros(len(folders.files)) if classes is None else _indices(folders.labels, classes),
        classes=classes,
        labelled=classes is not None,
        validation_from=folders.starts.get("validation"),
        test_from=folders.starts.get("test"),
        notes=[*folders.notes, *notes],
        reader=reader,
        key=key,
    )


def _indices(labels: list[str], classes: list[str]) -> npt.NDArray[np.int64]:
    return np.array([classes.index(label) for label in labels], dtype=np.int64)


def cached_pixels(
    key: str, files: list[Path], reader: PictureReader, check: Callable[[], None]
) -> npt.NDArray[np.uint8]:
    """The pictures as one array, converted into the cache if they are not there; `check` refuses them afterwards."""
    folder = cache_folder("pictures", key)

    def convert(temporary: Path) -> None:
        what = f"Converting {len(files):,} pictures, once: they will be in {folder}."
        with converting(what, len(files), len(files) > _MANY) as notify:
            _convert(files, reader, temporary, notify)
        check()

    converted(folder, convert, ["inputs.npy"])
    pixels: npt.NDArray[np.uint8] = np.load(folder / "inputs.npy", mmap_mode="r", allow_pickle=False)
    return pixels


def fitting_reader(files: list[Path], size: int | None, colour: str, resize: Resize) -> tuple[PictureReader, list[str]]:
    """One shape for all of them, and what the user should know of it."""
    notes = []
    try:
        looks = list(_each(files, look))
    except GradlabError:
        for _ in _each(files, look_through):  # those that are cut short are named at the same time
            pass
        raise
    shapes = {shape for shape, _ in looks}
    if size is not None:
        height, width = size, size
    elif len(shapes) == 1 and max(looks[0][0]) <= _OWN_SIZE:
        height, width = looks[0][0]
    else:
        # The side that is kept whole. Pixels that a picture has not would cost time and say nothing.
        side = max if resize == "pad" else min
        height = width = min(_COMMON_SIZE, int(np.median([side(shape) for shape, _ in looks])))
    if shapes != {(height, width)}:
        kinds = "one shape" if len(shapes) == 1 else f"{len(shapes):,} shapes"
        notes.append(f"Pictures of {kinds} were brought to {height}×{width} ({resize}); see data.size, data.resize.")
    grey = colour == "grey" or (colour == "auto" and all(is_grey for _, is_grey in looks))
    return PictureReader(height=height, width=width, channels=1 if grey else 3, resize=resize), notes


def _convert(files: list[Path], reader: PictureReader, folder: Path, notify: Notify) -> None:
    size, free = len(files) * reader.channels * reader.height * reader.width, shutil.disk_usage(folder).free
    if size > free:
        raise GradlabError(
            f"The pictures would take {size / 1e9:,.1f} GB in the cache, where {free / 1e9:,.1f} are free. "
            "Set a smaller data.size, or GRADLAB_CACHE to a folder with room."
        )
    with ArrayFile(folder / "inputs.npy", np.uint8, (reader.channels, reader.height, reader.width)) as pixels:
        for row, picture in enumerate(_each(files, reader.load)):
            pixels.write(picture[None])
            notify(row)


def _each(files: list[Path], do: Callable[[Path], T]) -> Iterator[T]:
    """Results in the order of the files; if some are damaged, an error that names them, after all were tried."""
    damaged = []
    for path in files:
        try:
            result = do(path)
        except DamagedPicture as error:
            damaged.append(error)
        else:
            if not damaged:
                yield result
    if len(damaged) == 1:
        raise damaged[0]
    if damaged:
        more = f"\n… and {len(damaged) - _NAMED:,} more" if len(damaged) > _NAMED else ""
        raise GradlabError("\n".join(str(error) for error in damaged[:_NAMED]) + more)
