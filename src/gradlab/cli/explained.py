"""How explanations are printed in a terminal."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from gradlab.cli.output import say, table

if TYPE_CHECKING:
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation, SourceCode
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.docstring import Docstring
    from gradlab.explanation.law import LawExplanation
    from gradlab.explanation.mathematics import FunctionExplanation
    from gradlab.explanation.part import PartExplanation
    from gradlab.explanation.walk import Walk
    from gradlab.explanation.worked import Grid

    Subject = Autodiff | Cnn | Explanation | FunctionExplanation | LawExplanation | PartExplanation | Walk

_TWO_COLUMNS = 150  # characters of a terminal in which two pieces of code stand beside one another


def show(screen: Console, subject: Subject) -> None:
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.law import LawExplanation
    from gradlab.explanation.mathematics import FunctionExplanation
    from gradlab.explanation.part import PartExplanation
    from gradlab.explanation.walk import Walk

    match subject:
        case Autodiff():
            _show_autodiff(screen, subject)
        case Cnn():
            _show_cnn(screen, subject)
        case Explanation():
            _show_block(screen, subject)
        case PartExplanation():
            _show_part(screen, subject)
        case Walk():
            _show_walk(screen, subject)
        case LawExplanation():
            _show_law(screen, subject)
        case FunctionExplanation():
            _show_function(screen, subject)


def _show_doc(screen: Console, name: str, doc: Docstring) -> None:
    from gradlab.explanation.docstring import Equation
    from gradlab.explanation.equations import sentence, terminal

    screen.print(Text.assemble((name, "bold"), "  ", sentence(doc.summary)))
    screen.print()
    for part in doc.body:
        if isinstance(part, Equation):
            _show_picture(screen, terminal(part.latex), "bold cyan")
        else:
            screen.print(Text(sentence(part)))
        screen.print()


def _show_part(screen: Console, subject: PartExplanation) -> None:
    _show_doc(screen, subject.name, subject.doc)
    say(screen, "use it", subject.use)
    if subject.rows:
        screen.print(table("knob", "default", "type", "what it is", rows=subject.rows))
    screen.print()
    _show_code(screen, subject.codes)


def _show_block(screen: Console, subject: Explanation) -> None:
    from gradlab.explanation.equations import sentence

    _show_doc(screen, subject.name, subject.doc)
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
        screen.print(table("law", "", rows=([name, sentence(formula)] for name, formula in subject.laws.items())))
    _show_code(screen, [subject.code, *subject.twins])


def _show_function(screen: Console, subject: FunctionExplanation) -> None:
    from gradlab.explanation.equations import sentence

    _show_doc(screen, subject.name, subject.doc)
    if subject.peers:
        say(screen, "equal to", ", ".join(subject.peers))
    if subject.example:
        screen.print(Text(subject.example), soft_wrap=True)
    if subject.laws:
        screen.print(table("law", "", rows=([name, sentence(formula)] for name, formula in subject.laws.items())))
    screen.print()
    _show_code(screen, [subject.code])


def _show_walk(screen: Console, walk: Walk) -> None:
    from gradlab.explanation.equations import sentence

    screen.print(Text.assemble((walk.name, "bold"), "  ", walk.title))
    for number, step in enumerate(walk.steps, 1):
        screen.print()
        screen.print(Text.assemble((f"{number}. ", "bold"), sentence(step.words)))
        if step.latex:
            _show_picture(screen, step.in_characters, "bold cyan")
        if step.values:
            gap = "\n" if "\n" in step.in_characters else ""  # their lines would be taken for more of it
            _show_picture(screen, f"{gap}{step.values}")
    screen.print()
    say(screen, "computed by", walk.code.name)
    _show_where_drawn(screen, walk.name)


def _show_law(screen: Console, law: LawExplanation) -> None:
    from gradlab.explanation.law import CASES

    screen.print(Text.assemble((law.name, "bold"), "  ", law.title))
    for statement in law.statements:
        screen.print()
        screen.print(Text(statement.words))
        _show_picture(screen, statement.in_characters, "bold cyan")
        screen.print(Padding(Text(f"worst error in {CASES} cases: {statement.errors}", "dim"), (0, 0, 0, 4)))
    screen.print()
    say(screen, "verify it", f"gradlab verify laws {law.name}, which rejects wrong versions too")
    _show_where_drawn(screen, law.name)
    screen.print()
    _show_code(screen, law.codes)


def show_picture(screen: Console, name: str, title: str, shows: list[str]) -> None:
    screen.print(Text.assemble((name, "bold"), f"  {title}."))
    screen.print()
    if shows:
        say(screen, "shows too", ", ".join(shows))
    _show_where_drawn(screen, name)


def _show_where_drawn(screen: Console, name: str) -> None:
    from gradlab.explanation.picture import has_figure

    if has_figure(name):
        say(screen, "picture", f"gradlab explain {name} --show {name}.html")


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


def _show_cnn(screen: Console, subject: Cnn) -> None:
    from gradlab.explanation.cnn import ABOUT_TRAINING, DOC
    from gradlab.explanation.equations import terminal

    _show_doc(screen, "cnn", DOC)
    worked = subject.worked
    for title, grids in {
        "On small numbers, forwards": worked.forwards,
        "Backwards": worked.backwards,
        "Where the pooling takes the mean": worked.mean,
    }.items():
        screen.print(Text(f"{title}\n", "bold"))
        for grid in grids:
            _show_grid(screen, grid)
    screen.print(Text("An entry of each, as the sum that it is\n", "bold"))
    for latex in worked.entries:
        _show_picture(screen, f"{terminal(latex)}\n", "cyan")
    _show_code(screen, subject.codes)
    screen.print(Text(f"{ABOUT_TRAINING}\n"))
    screen.print(table("step", "loss in NumPy", "loss in PyTorch", "difference", rows=subject.rows))
    screen.print(Text(subject.verdict))


def _show_grid(screen: Console, grid: Grid) -> None:
    from gradlab.explanation.equations import terminal

    screen.print(Text(f"{grid.words[0].upper()}{grid.words[1:]}"))
    _show_picture(screen, f"{terminal(grid.latex)}\n", "cyan")


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
