"""How benchmarks report: progress on stderr, then tables or one JSON object."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from cyclopts import Parameter
from rich.console import Console

from gradlab.cli.output import console, print_json
from gradlab.cli.training import Json, Plain
from gradlab.files import write_errors

T = TypeVar("T")
Device = Annotated[Literal["cpu", "cuda"], Parameter(help="Where to measure.")]
Rounds = Annotated[int, Parameter(help="How often everything is measured; ratios are medians over rounds.")]


@Parameter(name="*")
@dataclass(frozen=True)
class Output:
    """The options of every benchmark, and what they do."""

    plain: Plain = False
    as_json: Json = False

    def show(self, results: Iterable[Any], tables: Callable[[Console, Any], None]) -> None:
        """Those that come one by one are shown so, but as JSON all at the end."""
        if self.as_json:
            print_results(results)
        else:
            tables(console(self.plain), results)


OUTPUT = Output()


def print_results(results: Iterable[Any]) -> None:
    print_json({"results": [asdict(one) for one in results]})


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def show_machine(screen: Console, result: Any) -> None:
    screen.print(f"{result.device}; {result.versions}.", markup=False)


def figure(figure: float | None, form: str, absent: str = "–") -> str:
    """A cell of a table, also where nothing was measured."""
    return absent if figure is None else format(figure, form)


def make_folder(out: Path | None) -> None:
    """Before anything is measured: then what cannot be written is an error at once."""
    if out is not None:
        with write_errors(out):
            out.mkdir(parents=True, exist_ok=True)


def save_length_pictures(results: Iterable[T], out: Path | None) -> Iterator[T]:
    """The same results; those by a length are drawn as they come."""
    for one in results:
        if out is not None:
            from gradlab.bench.length_pictures import write_length_picture

            if path := write_length_picture(one, out):
                progress(f"Written: {path}")
        yield one
