r"""LaTeX as a tree of MathML from which both a page and a terminal can draw.

latex2mathml reads the LaTeX. What it leaves rough is mended here: words, letters of other alphabets, limits of sums,
pairs of brackets, signs of one operand, spaces around functions. What is not known is an error, never shown as it is.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import unescape
from itertools import chain
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

BINARY = frozenset("+−±∓×÷·*∗⋆∘⊙⊗⊕⊖∪∩∧∨⧵")
RELATIONS = frozenset("=≠<>≤≥≪≫≈∼≃≅≡∝≔:∈∉∋⊂⊆⊃⊇∣|‖⟂←→↔⇐⇒⇔↦⟵⟶⟷⟸⟹⟺")
PUNCTUATION = frozenset(",;")
SCRIPTS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}  # and what they become at a sum

_OPENING, _CLOSING, _BARS = frozenset("([{⌈⌊⟨"), frozenset(")]}⌉⌋⟩"), frozenset("|‖")
_SUMS = frozenset("∑∏⋃⋂⨁⨂∫")
_WITH_LIMITS = _SUMS - {"∫"} | {"max", "min", "sup", "inf", "lim", "arg max", "arg min"}
_BEFORE_SIGNS = BINARY | RELATIONS | PUNCTUATION | _SUMS | _WITH_LIMITS  # a − that follows has no operand to its left
_LETTERS = frozenset("∞∂∇∅∀∃⊤")  # latex2mathml has them as operators, which keep their neighbours at a distance
_SMALL_ACCENTS = str.maketrans("^~", "ˆ˜")
_FONTS = frozenset([r"\mathrm", r"\mathbf", r"\mathbb", r"\mathcal"])
_MATRICES = {"pmatrix": ("(", ")"), "bmatrix": ("[", "]"), "vmatrix": ("|", "|")}
_ENVIRONMENTS = frozenset(["aligned", "cases", "matrix", *_MATRICES])
_PARTS = {  # how many the elements have that both a page and a terminal can draw; None for any number
    **dict.fromkeys(["mi", "mn", "mo", "mtext", "mspace"], 0),
    **dict.fromkeys(["mfrac", "mroot", "msub", "msup", "munder", "mover"], 2),
    **dict.fromkeys(["msubsup", "munderover"], 3),
    **dict.fromkeys(["math", "mrow", "mstyle", "msqrt", "mtable", "mtr", "mtd"]),
}
_SIDES = {  # Chromium has its own word for the side of a cell, and no column spacing
    "left": "text-align: left; padding-left: 0; padding-right: 1em",
    "right": "text-align: right; text-align: -webkit-right; padding-right: 0",
}


def tree(latex: str, *, display: bool = True) -> Element:
    """The element `math`, of a line of its own or of a sentence, where limits stand beside their sum.

    LaTeX that is not understood raises a ValueError that names it.
    """
    _check(latex)
    try:
        math = convert_to_element(_rewritten(latex), display="block" if display else "inline")
    except Exception as error:  # those of latex2mathml have no common base
        raise ValueError(f"{type(error).__name__} in LaTeX: {latex}") from error
    if unknown := list(filter(None, map(_unknown, math.iter()))):
        raise ValueError(f"Unknown in LaTeX: {', '.join(unknown)}, in {latex}")
    _mend(math, display)
    return math


def _check(latex: str) -> None:
    """What latex2mathml would pass over in silence."""
    fonts, environments = re.findall(r"\\math[a-z]+", latex), re.findall(r"\\begin\s*{(.*?)}", latex)
    if unknown := (set(fonts) - _FONTS) | (set(environments) - _ENVIRONMENTS):
        raise ValueError(f"Unknown in LaTeX: {', '.join(sorted(unknown))}, in {latex}")
    bare = re.sub(r"\\[{}]", "", latex)
    if bare.count("{") != bare.count("}"):
        raise ValueError(f"A brace has no partner in LaTeX: {latex}")


def _unknown(node: Element) -> str | None:
    """What latex2mathml hands on as it is."""
    if _PARTS.get(node.tag, -1) not in (None, len(node)):
        return f"what makes {node.tag} of {len(node)} parts"
    if node.get("linebreak"):
        return r"\\ outside of an environment"
    if node.tag == "mo" and not node.text and not node.get("form"):
        return r"\operatorname of more than letters"
    match = re.search(r"\\[A-Za-z]+|^&$", node.text or "")
    return match and match.group()


def _rewritten(latex: str) -> str:
    """In commands that latex2mathml has; a matrix with brackets apart, so that its scripts are not those of one."""
    latex = re.sub(r"\\arg\s*\\(max|min)", r"\\arg\1", latex)
    latex = latex.replace("{aligned}", "{split}").replace(":=", r"\coloneqq ")
    for name, (left, right) in _MATRICES.items():
        latex = latex.replace(rf"\begin{{{name}}}", rf"\left{left}\begin{{matrix}}")
        latex = latex.replace(rf"\end{{{name}}}", rf"\end{{matrix}}\right{right}")
    return latex


def base(node: Element) -> Element:
    """What carries the scripts, if there are any."""
    while node.tag in SCRIPTS or node.tag in SCRIPTS.values() or (node.tag == "mstyle" and len(node) == 1):
        node = node[0]
    return node


def is_pair(node: Element) -> bool:
    """Whether it stands in brackets."""
    return node.tag == "mrow" and len(node) > 0 and node[0].get("form") == "prefix" and node[0].text not in BINARY


def _mend(node: Element, display: bool) -> None:
    """`display` is the style of a line of its own, where the limits of a sum stand above and below it."""
    if len(node) == 0:
        _mend_leaf(node)
    inside = {"true": True, "false": False}.get(node.get("displaystyle", ""), display and node.tag != "mtable")
    for i, child in enumerate(node):
        _mend(child, inside and node.tag != "mfrac" and (i == 0 or node.tag not in SCRIPTS))
    node[:] = [child[0] if child.tag == "mrow" and len(child) == 1 else child for child in node]
    if node.tag in ("mrow", "mstyle", "mtd", "msqrt"):
        node[:] = _paired(_words(node))
    if node.tag == "mtd" and node.get("columnalign") in _SIDES:
        node.set("style", _SIDES[node.attrib["columnalign"]])
    if node.tag == "mover" and len(node[0]) == 0 and node[1].tag == "mo":
        node[1].set("stretchy", "false")  # over one letter an accent is small
        node[1].text = (node[1].text or "").translate(_SMALL_ACCENTS)
    if node.tag in SCRIPTS and display and (node[0].text in _WITH_LIMITS or node[0].get("movablelimits")):
        node.tag = SCRIPTS[node.tag]


def _mend_leaf(node: Element) -> None:
    read, font = node.text or "", node.attrib.pop("mathvariant", "")
    text = unescape(read).replace("\N{THIN SPACE}", " ")
    if node.tag == "mtext" and text.isspace():
        node.tag, text = "mspace", ""
        node.set("width", "0.278em")
    elif node.tag == "mi" and len(text) == 1:
        text = text.replace("~", "∼")
        if unicodedata.category(text) in ("Sm", "Ps", "Pe") or text in RELATIONS | PUNCTUATION:
            node.tag = "mo"
            node.set("stretchy", "false")
        elif text != read and text.isascii():
            font = "normal"  # a lone letter in \mathrm is read as the number of its character
    elif node.tag == "mo" and (text in _LETTERS or _is_word(text)):
        node.tag = "mi"
    elif text in _SUMS:
        node.attrib.update(lspace="0", rspace="0")
    if font == "normal":
        node.set("mathvariant", font)
    elif font and node.tag != "mtext":
        text = "".join(_letter(character, font) for character in text)
    node.text = text


def _letter(character: str, font: str) -> str:
    """Browsers know no fonts in MathML: a letter of another alphabet is another character.

    >>> _letter("L", "script"), _letter("θ", "bold-italic"), _letter("1", "double-struck")
    ('ℒ', '𝜽', '𝟙')
    """
    alphabet = font.upper().replace("BOLD-", "BOLD ")
    name = f"{alphabet} {re.sub('LATIN |GREEK |LETTER ', '', unicodedata.name(character))}"
    for candidate in (f"MATHEMATICAL {name}", name):
        try:
            return unicodedata.lookup(candidate)
        except KeyError:
            continue
    return character


def _words(nodes: Iterable[Element]) -> list[Element]:
    r"""The letters of \mathrm{softmax}, which are read one by one, as one word."""
    words: list[Element] = []
    for node in nodes:
        if words and node.get("mathvariant") == words[-1].get("mathvariant") == "normal":
            words[-1].text = f"{words[-1].text}{node.text}"
        else:
            words.append(node)
    return words


def _is_word(text: str | None) -> bool:
    return text is not None and len(text) > 1 and text.replace(" ", "").isalpha()


def _is_function(node: Element) -> bool:
    return base(node).text in _SUMS or (base(node).tag == "mi" and _is_word(base(node).text))


def _paired(nodes: Sequence[Element]) -> list[Element]:
    """Each pair of brackets with its content in a row of its own; a script at the second belongs to the pair."""
    if nodes and nodes[0].get("form") == "prefix":  # a pair already, or cases
        return [nodes[0], *_paired(nodes[1:-1]), nodes[-1]]
    rows: list[list[Element]] = [[]]  # each but the first begins with a bracket that is still open
    for node in nodes:
        bracket = node[0] if node.tag in SCRIPTS else node
        start = max((i for i, row in enumerate(rows) if i > 0 and _closes(bracket, row[0])), default=0)
        if start:
            first, *content = chain(*rows[start:])
            del rows[start:]
            pair = Element("mrow")
            pair[:] = [first, *_spaced(content), bracket]
            first.set("form", "prefix")
            bracket.set("form", "postfix")
            if node is not bracket:
                node[0] = pair
            rows[-1].append(pair if node is bracket else node)
        elif node.tag == "mo" and node.text in _OPENING | _BARS:
            rows.append([node])
        else:
            rows[-1].append(node)
    return _spaced(chain(*rows))


def _closes(last: Element, first: Element) -> bool:
    """Whether two brackets may be a pair; those of an interval may differ."""
    same_bar = last.text == first.text and last.text in _BARS
    return last.tag == "mo" and (same_bar or (last.text in _CLOSING and first.text in _OPENING))


def _spaced(nodes: Iterable[Element]) -> list[Element]:
    """Thin spaces around functions and sums. A sign with no operand to its left belongs to what follows it."""
    spaced: list[Element] = []
    before: Element | None = None
    for node in nodes:
        if node.text in BINARY and (before is None or base(before).text in _BEFORE_SIGNS):
            node.attrib.update(form="prefix", lspace="0", rspace="0")
        if spaced and _needs_space(spaced[-1], node):
            spaced.append(Element("mspace", width="0.167em"))
        spaced.append(node)
        before = before if node.tag == "mspace" else node
    return spaced


def _needs_space(left: Element, right: Element) -> bool:
    """As in 2 log x, but not in log(x); a sum, and a maximum with its limits, keep brackets at a distance too."""
    begins_operand = base(right).tag != "mo" or right.get("form") == "prefix" or base(right).text in _SUMS
    if "mspace" in (left.tag, right.tag) or not begins_operand:
        return False
    if base(left).text in _SUMS or (_is_function(left) and left.tag in SCRIPTS.values()):
        return True
    return base(left).tag != "mo" and (_is_function(right) or (_is_function(left) and not is_pair(base(right))))
