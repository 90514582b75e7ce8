"""Frames of pandas, polars and pyarrow: their cells as a CSV file has them, and files of the cache with them.

Whatever learns from a frame learns from such a file, so that the run can be continued after the process has ended.
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from gradlab.data.cache import cache_folder, converted
from gradlab.data.tables.columns import parse_number
from gradlab.errors import GradlabError
from gradlab.printable import printable

if TYPE_CHECKING:
    from narwhals.stable.v2 import DataFrame, Series

_FILE = "frame.csv"
_DAY = timedelta(days=1)


def is_frame(thing: object) -> bool:
    """Whether it is a table in memory, of pandas, polars or pyarrow."""
    if not hasattr(type(thing), "columns") and not hasattr(type(thing), "column_names"):  # most things
        return False
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_into_dataframe(thing))


def open_frame(frame: Any) -> "DataFrame[Any]":
    """A frame of any library in one form, whose columns have names."""
    import narwhals.stable.v2 as nw

    labels = column_labels(frame)
    if not has_names(frame):
        raise GradlabError(
            f"The columns of the frame have numbers for names, such as {printable(repr(labels[0]), 60)}. Name them: "
            "frame.columns = [...]"
        )
    check_unique(label.strip() for label in labels)
    return nw.from_native(frame, eager_only=True)


def column_labels(frame: Any) -> list[Any]:
    """What a frame calls its columns."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def has_names(frame: Any) -> bool:
    """Whether all columns have texts for names, which are not all numbers."""
    labels = column_labels(frame)
    are_texts = all(isinstance(label, str) for label in labels)
    return are_texts and not (labels and all(parse_number(label) is not None for label in labels))


def check_unique(labels: Iterable[Hashable]) -> None:
    """Refuse two columns of one name."""
    twice = [label for label, count in Counter(labels).items() if count > 1]
    if twice:
        raise GradlabError(f"The frame has two columns named {printable(repr(twice[0]), 60)}. Rename one of them.")


def texts(series: "Series[Any]") -> list[str]:
    """The cells of a column as a CSV file has them, a missing one as nothing."""
    cells, missing = series.to_list(), series.is_null().to_list()
    if str(series.dtype) == "Float32":  # the shortest decimal of single precision, as every library writes it
        cells = [np.float32(cell) if not gap else None for cell, gap in zip(cells, missing, strict=True)]
    _check_cells(cells, series.name)
    return ["" if gap or _is_nan(cell) else cell_text(cell) for cell, gap in zip(cells, missing, strict=True)]


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, (float, np.floating)) and bool(cell != cell)


def cell_text(cell: Any) -> str:
    """A cell as a text, and a category's name."""
    if isinstance(cell, (float, np.floating)):
        # Whole numbers are written alike, whether a gap in the column has made them floats or not.
        return str(cell).removesuffix(".0")
    if isinstance(cell, timedelta):
        return str(cell / _DAY).removesuffix(".0")
    return str(cell)


def _check_cells(cells: Sequence[Any], column: str) -> None:
    """Refuse what a table has no place for."""
    for cell in cells:
        if isinstance(cell, (dict, list, tuple, set, np.ndarray, bytes)):
            raise GradlabError(
                f"Column {column!r} of the frame holds {printable(repr(cell), 60)}, which is neither a number nor a "
                "text nor a date. Turn it into one of them, or leave the column out."
            )


# Files.


def frame_file(frame: Any) -> Path:
    """A CSV file of the cache with the content of a frame."""
    content = _csv(open_frame(frame))
    folder = cache_folder("frames", hashlib.sha256(content).hexdigest())

    def write(temporary: Path) -> None:
        (temporary / _FILE).write_bytes(content)

    return converted(folder, write, [_FILE]) / _FILE


def is_frame_file(path: Path) -> bool:
    """Whether a path is that of such a file, which may be gone."""
    return path.name == _FILE and path.parent.parent == cache_folder("frames")


@contextmanager
def temporary_file(frame: Any) -> Iterator[Path]:
    """A CSV file with the content of a frame, for the time of the block."""
    with TemporaryDirectory(prefix="gradlab-") as folder:
        path = Path(folder) / _FILE
        path.write_bytes(_csv(open_frame(frame)))
        yield path


def data_path(data: Any) -> str | None:
    """Where data are: at a path, or in a file of the cache if they are a frame."""
    if data is None or isinstance(data, (str, Path)):
        return None if data is None else str(data)
    if is_frame(data):
        return str(frame_file(data))
    raise GradlabError(
        f"data must be a path, or a frame of pandas, polars or pyarrow, got a {type(data).__name__}. A lazy frame is "
        "collected first; arrays are for gradlab.fit, or saved by numpy.savez for the recipe npz."
    )


def _csv(frame: "DataFrame[Any]") -> bytes:
    if not frame.columns or not len(frame):
        raise GradlabError(f"The frame has {len(frame)} rows and {len(frame.columns)} columns: there is no data in it.")
    file = io.StringIO(newline="")
    # In quotes, no name has a character that could be taken for the separator.
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(frame.columns)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows(zip(*(texts(frame[name]) for name in frame.columns), strict=True))
    try:
        return file.getvalue().encode()
    except UnicodeEncodeError as error:
        odd = printable(repr(error.object[error.start]), 20)
        raise GradlabError(f"The frame holds {odd}, which is no character. Remove it.") from None


def typed_categories(frame: Any, values: Mapping[str, Any]) -> list[str]:
    """Columns that are categories by their type although their values look like numbers: a file would not tell.

    `values` are those of the source, which may use some of them otherwise.
    """
    opened = open_frame(frame)
    others = {values.get("time"), values.get("group"), *values.get("numbers", []), *values.get("drop", [])}
    typed = [n for n in opened.columns if str(opened[n].dtype).startswith(("Categorical", "Enum")) and n not in others]
    return [name for name in typed if all(parse_number(text) is not None for text in texts(opened[name]) if text)]


# Results.


def build_frame(frame: Any, columns: Mapping[str, Sequence[Any]], *, same_rows: bool = True) -> Any:
    """Columns as a frame of the same library; if of the same rows, with the index of one of pandas."""
    import narwhals.stable.v2 as nw

    opened = nw.from_native(frame, eager_only=True)
    lists = {name: list(cells) for name, cells in columns.items()}
    made = nw.from_dict(lists, backend=opened.implementation)
    result = made.to_native()
    index = nw.maybe_get_index(opened)
    if index is not None and same_rows:
        result.index = index
    return result
