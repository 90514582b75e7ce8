"""How benchmarks report: progress on stderr, then tables or one JSON object."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from gradlab.cli.output import console, print_json
from gradlab.cli.training import Json, Plain

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
