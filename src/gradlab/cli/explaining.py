"""`gradlab explain`."""

from __future__ import annotations

from collections.abc import Callable
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
from gradlab.errors import GradlabError
from gradlab.files import write_file

if TYPE_CHECKING:
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation, SourceCode
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.docstring import Docstring
    from gradlab.explanation.law import LawExplanation
    from gradlab.explanation.part import PartExplanation
    from gradlab.explanation.walk import Walk
    from gradlab.explanation.worked import Grid

    Subject = Autodiff | Cnn | Explanation | LawExplanation | PartExplanation | Walk

_TWO_COLUMNS = 150  # characters of a terminal in which two pieces of code stand beside one another


def explain(
    name: str | None = None,
    /,
    *,
    html: str | None = None,
    show: str | None = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Explain a building block: its equation, shapes, cost and laws, and its code beside its readable twin.

    Optimisers, schedules and metrics are explained too, each by its equation, its knobs and its code; laws of the
    course by what states them, and worked examples step by step, with values.

    Examples to copy:

    - `gradlab explain`: the list of all names
    - `gradlab explain lstm`: by its last part, or by the usual word for it
    - `gradlab explain attention`: all of a family
    - `gradlab explain optimizer.adam`
    - `gradlab explain attention.multihead`
    - `gradlab explain norm.batch --html batch.html`: a page to open in a browser
    - `gradlab explain jensen`: a law; `gradlab explain multiply-gate`: a worked example
    - `gradlab explain jensen --show jensen.html`: an interactive picture, or a still one (.png)
    - `gradlab explain autodiff`: how derivatives are found, on the graph of one neuron
    - `gradlab explain cnn`: backpropagation through convolution and pooling by hand, in training beside PyTorch

    Parameters
    ----------
    name
        A block, an optimiser, a schedule, a metric, a law, a worked example, a picture, `autodiff` or `cnn`.
    html
        Write a web page to this file.
    show
        Write a picture of it to this file: .html, to be pointed at, or .png, which needs Chromium.
    """
    from gradlab.explanation.names import family, find, summaries

    listed = summaries() if name is None else family(name)
    if name is None or listed:
        _list(listed, plain, as_json)
        return
    whole = find(name)
    if show is not None or not _has_text(whole):
        _draw(whole, show, plain)
        return
    subject = _subject(whole)
    if html is not None:
        write_file(Path(html), _page(subject))
    if as_json:
        print_json(subject.plain())
    elif html is not None:
        say(console(plain), "page", html)
    else:
        _show(console(plain), subject)


def _has_text(name: str) -> bool:
    """Whether there is more to it than a picture."""
    from gradlab.explanation.law import law_summaries
    from gradlab.explanation.names import WALKS
    from gradlab.explanation.part import parts
    from gradlab.explanation.walk import walks
    from gradlab.nn.blocks import blocks

    return any(name in known for known in (blocks, parts(), WALKS, walks(), law_summaries()))


def _draw(name: str, show: str | None, plain: bool) -> None:
    from gradlab.explanation.picture import write_figure

    if show is None:
        raise GradlabError(f"{name} is a picture. Say where to: gradlab explain {name} --show {name}.html")
    write_figure(name, Path(show))
    say(console(plain), "picture", show)


def _subject(name: str) -> Subject:
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.law import LawExplanation
    from gradlab.explanation.names import AUTODIFF, CNN
    from gradlab.explanation.part import PartExplanation, parts
    from gradlab.explanation.walk import Walk, walks
    from gradlab.verification.course import LAWS

    long: dict[str, Callable[[], Autodiff | Cnn]] = {AUTODIFF: Autodiff.of_a_neuron, CNN: Cnn.of_digits}
    if name in long:
        return long[name]()
    if name in walks():
        return Walk.of(name)
    if name in LAWS:
        return LawExplanation.of(name)
    return PartExplanation.of(name) if name in parts() else Explanation.of(name)


def _page(subject: Subject) -> str:
    from gradlab.explanation import pages
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.law import LawExplanation
    from gradlab.explanation.part import PartExplanation
    from gradlab.explanation.walk import Walk

    match subject:
        case Autodiff():
            return pages.autodiff_page(subject)
        case Cnn():
            return pages.cnn_page(subject)
        case Explanation():
            return pages.block_page(subject)
        case PartExplanation():
            return pages.part_page(subject)
        case Walk():
            return pages.walk_page(subject)
        case LawExplanation():
            return pages.law_page(subject)


def _show(screen: Console, subject: Subject) -> None:
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.law import LawExplanation
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


def _list(summaries: dict[str, str], plain: bool, as_json: bool) -> None:
    if as_json:
        print_json(summaries)
        return
    screen = console(plain)
    screen.print(table("name", "what it is", rows=([name, text] for name, text in summaries.items())))
    screen.print("gradlab explain NAME shows one; gradlab verify NAME checks a block.")


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
        screen.print(table("law", "", rows=([name, formula] for name, formula in subject.laws.items())))
    _show_code(screen, [subject.code, *subject.twins])


def _show_walk(screen: Console, walk: Walk) -> None:
    from gradlab.explanation.equations import sentence, terminal

    screen.print(Text.assemble((walk.name, "bold"), "  ", walk.title))
    for number, step in enumerate(walk.steps, 1):
        screen.print()
        screen.print(Text.assemble((f"{number}. ", "bold"), sentence(step.words)))
        if step.latex:
            _show_picture(screen, terminal(step.latex), "bold cyan")
        if step.values:
            _show_picture(screen, step.values)


def _show_law(screen: Console, law: LawExplanation) -> None:
    from gradlab.explanation.equations import sentence

    screen.print(Text.assemble((law.name, "bold"), "  ", law.group))
    rows = ([about, name, sentence(formula), worst] for about, name, formula, worst in law.rows)
    screen.print(table("about", "law", "", "worst error", rows=rows))
    screen.print(f"gradlab verify laws {law.name} tries more cases, and wrong versions, which it must reject.")
    screen.print()
    _show_code(screen, law.codes)


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
