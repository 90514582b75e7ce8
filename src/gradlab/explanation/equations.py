r"""Equations as docstrings have them, in LaTeX, drawn for a web page and for a terminal.

>>> print(terminal(r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}}"))
      x − μ
y = ─────────
    √(σ² + ε)
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, cast
from xml.etree.ElementTree import Element, tostring

from gradlab.explanation.boxes import BRACKETS, Box, Side, blank, column, row, table
from gradlab.explanation.latex import BINARY, PUNCTUATION, RELATIONS, base, is_pair, tree

_RAISED = str.maketrans(
    "0123456789+−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ⊤′″*⋆†",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡᵀ′″*⋆†",
)
_LOWERED = str.maketrans("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
_ACCENTS = dict(zip("ˆ˜¯―˙¨→", "\u0302\u0303\u0304\u0304\u0307\u0308\u20d7", strict=True))  # as combining characters
_NOTHING = Box()
_SINGLE = ("mi", "mn", "msub")  # needs no brackets under a root
_GAPS = {("right", "left"): 0, ("left", "left"): 3, ("left", "right"): 6}  # between columns: aligned, cases, aligned


def mathml(latex: str, display: Literal["block", "inline"] = "block") -> str:
    """The equation as an element of a web page, on a line of its own or in a sentence."""
    math = tree(latex, display=display == "block")
    math.set("display", display)
    return tostring(math, encoding="unicode")


def terminal(latex: str) -> str:
    """The equation in characters, over as many lines as it takes."""
    return "\n".join(line.rstrip() for line in _box(tree(latex)).lines)


def inline(latex: str) -> str:
    r"""The equation in one line, as it stands in a sentence.

    >>> inline(r"\sqrt{\tfrac1n \sum (\hat y - y)^2}"), inline(r"e^{w·x + \log m}")
    ('√(1/n ∑ (ŷ − y)²)', 'e^(w·x + log m)')
    >>> inline(r"J_{g \circ f} = \sum_i x_i"), inline(r"\max_{k<t} x_d^2")
    ('J_(g ∘ f) = ∑ᵢ xᵢ', 'max_(k < t) x_d²')
    """
    whole = Element("mrow")
    whole.append(_flat(tree(latex, display=False)))
    return " ".join(line.strip() for line in _box(whole).lines)


def sentence(text: str) -> str:
    """Prose whose equations, between dollars, are in characters.

    >>> sentence(r"Counts of $y \\sim \\mathrm{Poisson}(\\mu)$.")
    'Counts of y ∼ Poisson(μ).'
    """
    return re.sub(r"\$([^$]+)\$", lambda match: inline(match[1]), text)


def _flat(node: Element) -> Element:
    """The same with fractions as quotients, and with a sign for scripts that have no small characters."""
    children = [_flat(child) for child in node]
    node[:] = children
    match node.tag, children:
        case "mfrac", [over, under]:
            return _in_row(_grouped(over), "/", _grouped(under))
        case "msub", [body, sub] if _small(_box(sub, True), _LOWERED) is None:
            return _in_row(body, "_", _grouped(sub))
        case "msup", [body, sup] if _small(_box(sup, True), _RAISED) is None:
            return _in_row(body, "^", _grouped(sup))
        case "msubsup", [body, sub, sup]:
            lowered, both = Element("msub"), Element("msup")
            lowered[:] = [body, sub]
            both[:] = [_flat(lowered), sup]
            return _flat(both)
    return node


def _grouped(node: Element) -> Element:
    return node if node.tag in _SINGLE else _in_row("(", node, ")")


def _in_row(*parts: Element | str) -> Element:
    whole = Element("mrow")
    for part in parts:
        if isinstance(part, str):
            sign = Element("mo", stretchy="false")
            sign.text = part
            part = sign
        whole.append(part)
    return whole


def _box(node: Element, tight: bool = False) -> Box:
    """`tight` is how scripts are written: without blanks around operators."""
    match node.tag, [*node]:
        case (("mi" | "mn" | "mo" | "mtext"), []):
            return Box(((node.text or "").replace("\N{NO-BREAK SPACE}", " "),))
        case "mspace", []:
            return blank(_blanks(node.get("width", "")))
        case (("math" | "mrow" | "mstyle" | "mtd"), children):
            return _row(children, tight)
        case "mfrac", [over, under]:
            return _fraction(_box(over, tight), _box(under, tight), " " if node.get("linethickness") == "0" else "─")
        case "msqrt", children:
            return _root(_row(children, tight), bare=len(children) == 1 and children[0].tag in _SINGLE)
        case "mroot", [content, degree]:
            return _root(
                _box(content, tight), bare=content.tag in _SINGLE, degree=_scripted(_NOTHING, sup=_box(degree, True))
            )
        case "msub", [body, sub]:
            return _scripted(_box(body, tight), sub=_box(sub, True))
        case "msup", [body, sup]:
            return _scripted(_box(body, tight), sup=_box(sup, True))
        case "msubsup", [body, sub, sup]:
            return _scripted(_box(body, tight), _box(sub, True), _box(sup, True))
        case "munder", [body, under]:
            return _box(body, tight).above(_spanning(under, _box(body, tight).width))
        case "mover", [body, over]:
            return _accented(_box(body, tight), over)
        case "munderover", [body, under, over]:
            return _box(body, tight).above(_box(under, True)).below(_box(over, True))
        case "mtable", rows:
            return _table(rows)
    raise ValueError(f"A terminal has no picture for the element {node.tag} of MathML.")


def _blanks(width: str) -> int:
    """A thin space is one blank, a quad three; a space that is negative or has another unit is none."""
    em = re.fullmatch(r"([\d.]+)em", width)
    return max(1, round(3 * float(em.group(1)))) if em else 0


def _row(nodes: Sequence[Element], tight: bool) -> Box:
    boxes = [_box(node, tight) for node in nodes]
    whole = row(boxes)
    boxes = [
        whole.bracket(node.text or "") if _grows(node, whole) else box for node, box in zip(nodes, boxes, strict=True)
    ]
    parts = boxes[:1]
    for left, right in pairwise(zip(nodes, boxes, strict=True)):
        parts += [blank(_gap(*left, *right, tight)), right[1]]
    return row(parts)


def _grows(node: Element, whole: Box) -> bool:
    r"""Brackets stay small beside letters that only have scripts, unless they come from \left or a matrix."""
    bracket = node.text in BRACKETS and (node.get("form") or node.get("stretchy") == "true")
    return bool(bracket) and (whole.is_tall or node.get("stretchy") != "false")


def _gap(left: Element, before: Box, right: Element, after: Box, tight: bool) -> int:
    """Blanks between two neighbours in a row."""
    if "mspace" in (left.tag, right.tag):
        return 0
    if _is_infix(left) or _is_infix(right) or left.text in PUNCTUATION:
        return 0 if tight else 1
    if right.tag == "mo" or left.text in BRACKETS:
        return 0
    blocks = [box.height > 1 and len(base(node)) > 0 for node, box in ((left, before), (right, after))]
    return int(blocks[0] or (blocks[1] and not is_pair(base(right))))


def _is_infix(node: Element) -> bool:
    return node.tag == "mo" and node.get("form") is None and node.text in BINARY | RELATIONS


def _fraction(over: Box, under: Box, bar: str) -> Box:
    """The bar is longer than those of fractions above or below it."""
    width = max(over.width, under.width) + (2 if over.is_tall or under.is_tall else 0)
    return Box((bar * width,)).below(over).above(under)


def _root(content: Box, bare: bool, degree: Box = _NOTHING) -> Box:
    sign = degree.beside(Box(("√",)))
    if not content.is_tall:
        return row([sign, content] if bare else [sign, Box(("(",)), content, Box((")",))])
    roofed = Box(("┌" + "─" * content.width, *("│" + line for line in content.lines)), content.height)
    whole = sign.beside(roofed)  # at the last line
    return Box(whole.lines, whole.height - 1 - content.depth)


def _scripted(body: Box, sub: Box = _NOTHING, sup: Box = _NOTHING) -> Box:
    """Scripts stand on the last and the first line of the body, but on its baseline only in small characters."""
    lower, upper = _small(sub, _LOWERED), _small(sup, _RAISED)
    start = body.height - (1 if lower or body.depth else 0)
    stop = 1 if upper or body.baseline else 0
    lines = dict(enumerate((lower or sub).lines, start))
    for i, line in enumerate((upper or sup).lines, stop - sup.height):
        lines[i] = lines.get(i, "") + line
    top, bottom = min(0, *lines), max(body.height - 1, *lines)
    scripts = column([Box((lines.get(i, ""),)) for i in range(top, bottom + 1)])
    return body.beside(Box(scripts.lines, body.baseline - top))


def _small(script: Box, characters: dict[int, int]) -> Box | None:
    """The script in small characters, if they exist for all of it."""
    (line, *more) = script.lines
    return None if more or not characters.keys() >= set(map(ord, line)) else Box((line.translate(characters),))


def _accented(body: Box, over: Element) -> Box:
    if body.height == body.width == 1 and over.text in _ACCENTS:
        return Box((unicodedata.normalize("NFC", body.lines[0] + _ACCENTS[over.text]),))
    return body.below(_spanning(over, body.width))


def _spanning(mark: Element, width: int) -> Box:
    """What stands above or below a body: a line or a brace as wide as the body, or whatever it is."""
    match mark.text:
        case "―" | "¯":
            return Box(("─" * width,))
        case "⏞" | "⏟":
            left, middle, right = "╭┴╮" if mark.text == "⏞" else "╰┬╯"
            return Box((left + middle.center(width - 2, "─") + right,))
    return _box(mark, True)


def _table(rows: Sequence[Element]) -> Box:
    widest = max(rows, key=len)
    sides = [cast(Side, cell.get("columnalign", "center")) for cell in widest]
    cells = [[*map(_box, row), *[_NOTHING] * (len(widest) - len(row))] for row in rows]
    return table(cells, sides, [0, *(_GAPS.get(pair, 2) for pair in pairwise(sides))])
