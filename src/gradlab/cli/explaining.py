"""`gradlab explain`."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.training import Json, Plain
from gradlab.files import write_file

if TYPE_CHECKING:
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation, SourceCode

_TWO_COLUMNS = 150  # characters of a terminal in which two pieces of code stand beside one another


def explain(
    name: str | None = None, /, *, html: str | None = None, plain: Plain = False, as_json: Json = False
) -> None:
    """Explain a building block: its equation, shapes, cost and laws, and its code beside its readable twin.

    Examples to copy:

    - `gradlab explain`: the list of blocks
    - `gradlab explain attention.multihead`
    - `gradlab explain norm.batch --html batch.html`: a page to open in a browser
    - `gradlab explain autodiff`: how derivatives are found, on the graph of one neuron

    Parameters
    ----------
    name
        A block, or `autodiff`.
    html
        Write a web page to this file.
    """
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation, summaries

    if name is None:
        _list(summaries(), plain, as_json)
        return
    subject: Autodiff | Explanation = Autodiff.of_a_neuron() if name == "autodiff" else Explanation.of(name)
    if html is not None:
        from gradlab.explanation.pages import autodiff_page, block_page

        write_file(Path(html), autodiff_page(subject) if isinstance(subject, Autodiff) else block_page(subject))
    if as_json:
        print_json(subject.plain())
    elif html is not None:
        say(console(plain), "page", html)
    elif isinstance(subject, Autodiff):
        _show_autodiff(console(plain), subject)
    else:
        _show(console(plain), subject)


def _list(summaries: dict[str, str], plain: bool, as_json: bool) -> None:
    if as_json:
        print_json(summaries)
        return
    screen = console(plain)
    screen.print(table("block", "what it is", rows=([name, text] for name, text in summaries.items())))
    screen.print("gradlab explain NAME shows one; gradlab verify NAME checks it.")


def _show(screen: Console, subject: Explanation) -> None:
    from gradlab.explanation.docstring import Equation
    from gradlab.explanation.equations import terminal

    screen.print(Text.assemble((subject.name, "bold"), "  ", subject.doc.summary))
    screen.print()
    for part in subject.doc.body:
        if isinstance(part, Equation):
            _show_picture(screen, terminal(part.latex), "bold cyan")
        else:
            screen.print(Text(part))
        screen.print()
    say(screen, "shapes", subject.shapes)
    say(screen, "settings", subject.settings or "none")
    parameters = ", ".join(f"{name} {shape}" for name, shape in subject.parameters.items())
    say(screen, "parameters", f"{parameters}, in {subject.built}" if parameters else "none")
    for key, formula in subject.cost.items():
        say(screen, key, formula)
    if subject.peers:
        say(screen, "equal to", ", ".join(subject.peers))
    screen.print()
    screen.print(Text(subject.example), soft_wrap=True)
    if subject.laws:
        screen.print(table("law", "", rows=([name, formula] for name, formula in subject.laws.items())))
    _show_code(screen, [subject.code, *subject.twins])


def _show_autodiff(screen: Console, subject: Autodiff) -> None:
    from gradlab.explanation.autodiff import EQUATION, STEPS, SUMMARY
    from gradlab.explanation.equations import terminal

    screen.print(Text.assemble(("autodiff", "bold"), "  ", SUMMARY))
    screen.print()
    _show_picture(screen, f"{terminal(EQUATION)}\n", "bold cyan")
    _show_picture(screen, f"{subject.graph}\n")
    for step in STEPS:
        screen.print(Text(step))
    screen.print()
    _show_code(screen, [subject.gate, subject.backward])


def _show_picture(screen: Console, lines: str, style: str = "") -> None:
    """An equation or a graph, a little to the right, as it is."""
    screen.print(Text(indent(lines, "    "), style), soft_wrap=True)


def _show_code(screen: Console, codes: list[SourceCode]) -> None:
    """Side by side where there is room, else one below the other."""
    if not screen.is_terminal:
        for code in codes:
            screen.print(f"{code.name}\n\n{code.text}\n", markup=False, soft_wrap=True)
        return
    shown = [
        (Text(code.name, "bold"), Syntax(code.text, "python", background_color="default", word_wrap=True))
        for code in codes
    ]
    if screen.width >= _TWO_COLUMNS and len(shown) > 1:
        grid = Table.grid(padding=(0, 3))
        grid.add_row(*(title for title, _ in shown[:2]))
        grid.add_row(*(text for _, text in shown[:2]))
        screen.print(grid)
        shown = shown[2:]
    for title, text in shown:
        screen.print(title)
        screen.print(Padding(text, (0, 0, 1, 0)))
