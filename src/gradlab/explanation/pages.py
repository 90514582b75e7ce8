"""Explanations as web pages: equations as MathML, and the block's code beside that of its twin."""

from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from gradlab.errors import GradlabError
from gradlab.explanation.autodiff import EQUATION, STEPS, SUMMARY, Autodiff
from gradlab.explanation.block import Code, Explanation
from gradlab.explanation.curve import curve
from gradlab.explanation.docstring import Equation
from gradlab.explanation.equations import mathml
from gradlab.nn.activations import Activation
from gradlab.nn.blocks import find_block
from gradlab.report.markup import Html, join, section, table, tag
from gradlab.report.page import page
from gradlab.verification import examples


def block_page(found: Explanation) -> Html:
    """The whole page of a block."""
    top = [
        tag("p", "gradlab explain", class_="over"),
        tag("h1", found.name),
        tag("p", found.doc.summary, class_="lead"),
    ]
    parts = [_equation(part.latex) if isinstance(part, Equation) else _prose(part) for part in found.doc.body]
    facts = {
        "Shapes": found.shapes,
        "Settings": found.settings,
        "Parameters": ", ".join(f"{name} {shape}" for name, shape in found.parameters.items()) or "none",
        "FLOPs": found.cost.get("FLOPs", ""),
        "Memory": found.cost.get("Memory", ""),
        "Letters": found.cost.get("Letters", ""),
        "Equal to": ", ".join(found.peers),
    }
    if found.parameters:
        facts["Parameters"] += f", in {found.built}"
    rows = [[name, _inline(value)] for name, value in facts.items() if value]
    sections = [
        section("At a glance", table((), rows, class_="pairs")),
        section("Use it", tag("div", _python(found.example), class_="code")),
        section("Laws", table((), [[name, _inline(formula)] for name, formula in found.laws.items()]))
        if found.laws
        else "",
        section(
            "The block and its twin",
            tag(
                "p",
                "The same equation twice: for the hardware, in PyTorch, and to be read, in NumPy with derivatives of "
                "its own. ",
                tag("code", f"gradlab verify {found.name}"),
                " compares them on random cases.",
            ),
            tag("div", *map(_code, [found.code, *found.twins]), class_="beside"),
        ),
    ]
    return page(found.name, join([*top, *_picture(found.name), *parts, *sections]), charts=False, style=_style())


def autodiff_page(found: Autodiff) -> Html:
    """The whole page of the glass engine."""
    top = _top("autodiff", SUMMARY)
    picture = tag("figure", Html(found.picture), tag("figcaption", "Blue: values. Red: gradients."), class_="graph")
    codes = tag("div", _code(found.gate), _code(found.backward), class_="beside")
    parts = [_equation(EQUATION), picture, *(tag("p", step) for step in STEPS), section("The code", codes)]
    return page("autodiff", join([*top, *parts]), charts=False, style=_style())


def write(made: Html, path: str | Path) -> None:
    """The page in a file."""
    try:
        Path(path).write_bytes(made.encode())
    except OSError as error:
        raise GradlabError(f"{path} cannot be written: {error.strerror}.") from error


def _top(name: str, summary: str) -> list[Html]:
    return [tag("p", "gradlab explain", class_="over"), tag("h1", name), tag("p", summary, class_="lead")]


def _picture(name: str) -> list[Html]:
    """Of an entrywise activation, its curve."""
    made = find_block(name)
    if not (isinstance(made, type) and issubclass(made, Activation)):
        return []
    caption = tag("figcaption", "Blue: the function. Orange: its slope.")
    return [tag("figure", curve(made(**examples[name]().settings)), caption, class_="curve")]


def _prose(text: str) -> Html:
    return tag("p", _inline(text))


def _inline(text: str) -> Html:
    """Text, in which what stands between backticks is code."""
    return join(tag("code", part) if i % 2 else part for i, part in enumerate(text.split("`")))


def _equation(latex: str) -> Html:
    return tag("div", Html(mathml(latex)), class_="equation")


def _code(code: Code) -> Html:
    return tag("div", tag("h3", code.name), _python(code.text), class_="code")


def _python(text: str) -> Html:
    return tag("pre", Html(highlight(text, PythonLexer(), HtmlFormatter(nowrap=True))))


def _style() -> str:
    return Path(__file__).with_name("style.css").read_text("utf-8")
