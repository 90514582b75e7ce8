"""Explanations as web pages: equations as MathML, and the block's code beside that of its twin."""

import re
from collections.abc import Iterable
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from gradlab.explanation.autodiff import EQUATION, STEPS, SUMMARY, Autodiff
from gradlab.explanation.block import Explanation, SourceCode
from gradlab.explanation.cnn import ABOUT_TRAINING, DOC, Cnn
from gradlab.explanation.curve import curve
from gradlab.explanation.docstring import Docstring, Equation
from gradlab.explanation.equations import mathml
from gradlab.explanation.law import CASES, LawExplanation, Statement
from gradlab.explanation.mathematics import FunctionExplanation
from gradlab.explanation.part import PartExplanation
from gradlab.explanation.picture import figure_chart, figure_of, has_figure
from gradlab.explanation.walk import Step, Walk
from gradlab.explanation.worked import Grid
from gradlab.markup import Html, breakable, join, prose, section, table, tag
from gradlab.report.page import page
from gradlab.report.pictures import picture, signed
from gradlab.scratch.gates import Array

_LETTER = r"[^\W\d_]"
# Brackets with anything in them, or one sign; behind one letter, also a word.
_SCRIPT = re.compile(
    rf"([_^])(?:\(([^()<>]*)\)|\{{([^{{}}<>]*)\}}|(\w|∞)(?!\w))|(?<={_LETTER})(?<!{_LETTER}{_LETTER})_([A-Za-z]+)"
)


def block_page(block: Explanation) -> Html:
    """The whole page of a block."""
    plot = curve(block.name)
    facts = {
        "Shapes": block.shapes,
        "Settings": block.settings,
        "Parameters": ", ".join(f"{name} {shape}" for name, shape in block.parameters.items()) or "none",
        "FLOPs": block.cost.get("FLOPs", ""),
        "Memory": block.cost.get("Memory", ""),
        "Letters": block.cost.get("Letters", ""),
        "Equal to": ", ".join(block.peers),
    }
    if block.parameters:
        facts["Parameters"] += f", in {block.built}"
    rows = [[name, prose(value)] for name, value in facts.items() if value]
    sections = [
        section("At a glance", table((), rows, class_="pairs")),
        section("Use it", tag("div", _python(block.example), class_="code")),
        _laws(block.laws),
        section(
            "The block and its twin",
            tag(
                "p",
                "The same equation twice: for the hardware, in PyTorch, and to be read, in NumPy with derivatives of "
                "its own. ",
                tag("code", f"gradlab verify {block.name}"),
                " compares them on random cases.",
            ),
            tag("div", *map(_code, [block.code, *block.twins]), class_="beside"),
        ),
    ]
    picture = plot.figure() if plot else ""
    return _page(block.name, [_top(block.name, block.doc), picture, _body(block.doc), *sections])


def part_page(part: PartExplanation) -> Html:
    """The whole page of an optimiser, a schedule or a metric."""
    rows = [[breakable(key), *others] for key, *others in part.rows]
    knobs = section("Knobs", table(["key", "default", "type", "what it is"], rows, class_="pairs"))
    sections = [
        section("Use it", tag("div", tag("pre", part.use), class_="code")),
        knobs if part.knobs else "",
        section("The code", tag("div", *map(_code, part.codes), class_="beside")),
    ]
    picture = part.plot.figure() if part.plot else ""
    return _page(part.name, [_top(part.name, part.doc), picture, _body(part.doc), *sections])


def function_page(function: FunctionExplanation) -> Html:
    """The whole page of a function of `maths`."""
    used = tag("div", _python(function.example), class_="code")
    peers = tag("p", f"Equal to {', '.join(function.peers)}.") if function.peers else ""
    sections = [
        section("Use it", used) if function.example else Html(""),
        _laws(function.laws),
        section("The code", peers, tag("div", _code(function.code), class_="beside")),
    ]
    return _with_figure(function.name, [_top(function.name, function.doc), _body(function.doc)], sections)


def _laws(laws: dict[str, str]) -> Html:
    rows = [[name, _formula(formula)] for name, formula in laws.items()]
    return section("Laws", table((), rows)) if laws else Html("")


def walk_page(walk: Walk) -> Html:
    """The whole page of a worked example."""
    steps = tag("ol", *map(_step, walk.steps), class_="steps")
    code = section("Computed by", tag("div", _code(walk.code), class_="beside"))
    return _with_figure(walk.name, [_top(walk.name, Docstring(walk.title, [], "")), steps], [code])


def _step(step: Step) -> Html:
    equation = _equation(step.latex) if step.latex else ""
    return tag("li", tag("p", _words(step.words)), equation, tag("pre", step.values) if step.values else "")


def law_page(law: LawExplanation) -> Html:
    """The whole page of a law."""
    stated = tag("div", *map(_statement, law.statements), class_="statements")
    command = tag("code", f"gradlab verify laws {law.name}")
    more = tag("p", command, " tries more cases, and wrong versions, which it must reject.", class_="quiet")
    code = section("How it is asked, and of what", tag("div", *map(_code, law.codes), class_="beside"))
    return _with_figure(law.name, [_top(law.name, Docstring(law.title, [], "")), stated, more], [code])


def _statement(statement: Statement) -> Html:
    formula = (
        _equation(statement.latex) if statement.latex else tag("p", _formula(statement.formula), class_="equation")
    )
    errors = f"Worst error in {CASES} random cases: {statement.errors}"
    return tag("div", tag("h3", statement.words), formula, tag("p", errors, class_="quiet"), class_="statement")


def _with_figure(name: str, before: list[Html], after: list[Html]) -> Html:
    """With the picture of the same thing, if there is one, which needs the script of charts."""
    drawn = [figure_chart(name, figure_of(name)())] if has_figure(name) else []
    return _page(name, [*before, *drawn, *after], charts=bool(drawn))


def autodiff_page(autodiff: Autodiff) -> Html:
    """The whole page of the NumPy engine."""
    words = "From the inputs to the loss. Blue: values. Red: gradients; constants have none."
    sizes = {"wide": autodiff.picture, "narrow": autodiff.narrow}
    pictures = [tag("div", Html(picture), class_=size) for size, picture in sizes.items()]
    picture = tag("figure", *pictures, tag("figcaption", words), class_="graph")
    codes = tag("div", _code(autodiff.gate), _code(autodiff.backward), class_="beside")
    doc = Docstring(SUMMARY, [], "")
    parts = [_equation(EQUATION), picture, *(tag("p", step) for step in STEPS), section("The code", codes)]
    return _page("autodiff", [_top("autodiff", doc), *parts])


def cnn_page(cnn: Cnn) -> Html:
    """The whole page of backpropagation through convolution and pooling."""
    worked, training = cnn.worked, cnn.training
    numbers = section(
        "On small numbers",
        tag("p", "Forwards, from the picture to the largest of each window of 2×2, which is framed."),
        _grids(worked.forwards),
        tag("p", "Backwards, from the gradient that arrives to that of every number. Blue: above 0. Red: below."),
        _grids(worked.backwards),
        tag("p", "An entry of each derivative, as the sum that it is:"),
        *map(_equation, worked.entries),
        tag("p", "Where the pooling takes the mean of each window:"),
        _grids(worked.mean),
    )
    learned = section(
        "In training",
        tag("p", ABOUT_TRAINING),
        cnn.plot.figure(),
        tag("p", cnn.verdict),
        table(["step", "loss in NumPy", "loss in PyTorch", "difference"], cnn.rows, class_="numbers"),
        _kernels("The kernels of the first layer, as they were drawn", training.before),
        _kernels("After the training", training.after),
    )
    code = section("The code", tag("div", *map(_code, cnn.codes), class_="beside"))
    return _page("cnn", [_top("cnn", DOC), _body(DOC), numbers, code, learned])


def _grids(grids: Iterable[Grid]) -> Html:
    return tag("div", *map(_grid, grids), class_="grids")


def _grid(grid: Grid) -> Html:
    """A matrix whose cells have the colour of their sign, the fainter the smaller."""
    strongest = float(abs(grid.values).max())
    rows = (
        tag("tr", *(_cell(value, strongest, marked) for value, marked in zip(values, marks, strict=True)))
        for values, marks in zip(grid.values.tolist(), grid.marks.tolist(), strict=True)
    )
    title = tag("figcaption", Html(mathml(grid.symbol, "inline")), f": {grid.words}")
    return tag("figure", tag("table", tag("tbody", *rows)), title)


def _cell(value: float, strongest: float, marked: bool) -> Html:
    colour = "var(--accent)" if value > 0 else "var(--poor)"
    share = f"{50 * abs(value) / max(strongest, 1e-12):.0f}%"
    style = f"background: color-mix(in srgb, {colour} {share}, transparent)"
    return tag("td", f"{value:g}".replace("-", "−"), style=style, class_="largest" if marked else "")


def _kernels(title: str, kernels: Array) -> Html:
    shown = [picture(signed(kernel), f"kernel {i}") for i, kernel in enumerate(kernels)]
    return tag("figure", tag("h3", title), tag("div", *shown, class_="pictures small"))


def _page(name: str, parts: Iterable[str], charts: bool = False) -> Html:
    return page(name, join(parts), charts=charts, style=Path(__file__).with_name("style.css").read_text("utf-8"))


def _top(name: str, doc: Docstring) -> Html:
    over, lead = tag("p", "gradlab explain", class_="over"), tag("p", _words(doc.summary), class_="lead")
    return tag("header", over, tag("h1", name), lead)


def _body(doc: Docstring) -> Html:
    """Its paragraphs and equations."""
    return join(_equation(part.latex) if isinstance(part, Equation) else tag("p", _words(part)) for part in doc.body)


def _words(text: str) -> Html:
    """Prose, in which what stands between dollars is an equation, and between backticks code."""
    parts = re.split(r"\$([^$]+)\$", text)
    return join(Html(mathml(part, "inline")) if i % 2 else prose(part) for i, part in enumerate(parts))


def _formula(text: str) -> Html:
    """A formula in characters, in which x_i, x_(i+1) and x_{i+1} have their indices lowered, and e^(x) is raised.

    >>> _formula("‖R_p x‖ ≤ e^(-u) ℓ_sum")
    '‖R<sub>p</sub> x‖ ≤ e<sup>-u</sup> ℓ<sub>sum</sub>'
    """
    return Html(_SCRIPT.sub(_script, _words(text)))


def _script(match: re.Match[str]) -> str:
    name = "sub" if match[1] != "^" else "sup"
    return f"<{name}>{next(part for part in match.groups()[1:] if part is not None)}</{name}>"


def _equation(latex: str) -> Html:
    """Equations with a wide space between them are elements of their own: a narrow window has them in several lines."""
    return tag("div", Html(" ".join(mathml(part) for part in latex.split(r"\qquad"))), class_="equation")


def _code(code: SourceCode) -> Html:
    return tag("div", tag("h3", breakable(code.name)), _python(code.text), class_="code")


def _python(text: str) -> Html:
    """An element for each line, which knows its indentation: what is wrapped is indented further."""
    lines = highlight(text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).splitlines()
    indents = [len(line) - len(line.lstrip()) for line in text.splitlines()]
    return tag(
        "pre",
        *(
            tag("span", Html(f"{line}\n"), class_="line", style=f"--indent: {indent}ch")
            for line, indent in zip(lines, indents, strict=True)
        ),
    )
