"""Explanations as web pages: equations as MathML, and the block's code beside that of its twin."""

from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from gradlab.explanation.autodiff import EQUATION, STEPS, SUMMARY, Autodiff
from gradlab.explanation.block import Explanation, SourceCode
from gradlab.explanation.curve import curve
from gradlab.explanation.docstring import Equation
from gradlab.explanation.equations import mathml
from gradlab.nn.activations import Activation
from gradlab.nn.blocks import find_block
from gradlab.report.markup import Html, join, prose, section, table, tag
from gradlab.report.page import page
from gradlab.verification import examples


def block_page(block: Explanation) -> Html:
    """The whole page of a block."""
    top = _top(block.name, block.doc.summary)
    parts = [_equation(part.latex) if isinstance(part, Equation) else tag("p", prose(part)) for part in block.doc.body]
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
        section("Laws", table((), [[name, prose(formula)] for name, formula in block.laws.items()]))
        if block.laws
        else "",
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
    return page(block.name, join([*top, *_picture(block.name), *parts, *sections]), charts=False, style=_style())


def autodiff_page(autodiff: Autodiff) -> Html:
    """The whole page of the glass engine."""
    top = _top("autodiff", SUMMARY)
    words = "From the inputs at the left to the loss at the right. Blue: values. Red: gradients; constants have none."
    scroll = tag("div", Html(autodiff.picture), class_="scroll")
    picture = tag("figure", scroll, tag("figcaption", words), class_="graph")
    codes = tag("div", _code(autodiff.gate), _code(autodiff.backward), class_="beside")
    parts = [_equation(EQUATION), picture, *(tag("p", step) for step in STEPS), section("The code", codes)]
    return page("autodiff", join([*top, *parts]), charts=False, style=_style())


def _top(name: str, summary: str) -> list[Html]:
    return [tag("p", "gradlab explain", class_="over"), tag("h1", name), tag("p", summary, class_="lead")]


def _picture(name: str) -> list[Html]:
    """Of an entrywise activation, its curve."""
    block = find_block(name)
    if not (isinstance(block, type) and issubclass(block, Activation)):
        return []
    caption = tag("figcaption", "Blue: the function. Orange: its slope.")
    return [tag("figure", curve(block(**examples[name]().settings)), caption, class_="curve")]


def _equation(latex: str) -> Html:
    return tag("div", Html(mathml(latex)), class_="equation")


def _code(code: SourceCode) -> Html:
    return tag("div", tag("h3", code.name), _python(code.text), class_="code")


def _python(text: str) -> Html:
    return tag("pre", Html(highlight(text, PythonLexer(), HtmlFormatter(nowrap=True))))


def _style() -> str:
    return Path(__file__).with_name("style.css").read_text("utf-8")
