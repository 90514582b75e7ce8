"""What models reach by a length, as pictures."""

from pathlib import Path
from typing import Any

from gradlab.bench.memory import MemorySpans
from gradlab.bench.seq2seq.lengths import ByLength
from gradlab.files import write_file
from gradlab.markup import Html
from gradlab.report.growth import Line, share_picture
from gradlab.wording import name_of


def write_length_picture(result: Any, folder: Path) -> Path | None:
    """An SVG file, of results by a length."""
    if isinstance(result, ByLength):
        path, picture = folder / f"lengths-{result.data}.svg", _by_length(result)
    elif isinstance(result, MemorySpans):
        path, picture = folder / f"memory-{result.data}.svg", _by_delay(result)
    else:
        return None
    write_file(path, picture + "\n")
    return path


def _by_length(result: ByLength) -> Html:
    """A group stands at its longest source."""
    ends = [longest for _, longest in result.lengths]
    lines = [Line(name=row.title, figures=dict(zip(ends, row.by_length, strict=True))) for row in result.rows]
    return share_picture(f"Exact match: {result.title}", "tokens of the source, up to", lines)


def _by_delay(result: MemorySpans) -> Html:
    lines = [Line(name=row.title, figures=dict(zip(result.delays, row.figures, strict=True))) for row in result.rows]
    return share_picture(f"{result.title}: {name_of(result.figure)} on the test split", "delay", lines)
