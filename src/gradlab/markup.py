"""HTML from Python, escaped by construction: only what is of type `Html` is taken as it is."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

_VOID = ("img", "meta")
_OPEN = 12  # rows of a table that is not folded


class Html(str):
    """Text that is HTML already. Whatever Python makes of it (a slice, a sum, an f-string) is plain text again."""

    __slots__ = ()


def join(content: Iterable[str]) -> Html:
    """One after the other; plain text is escaped.

    >>> join([Html("<b>"), "1 < 2"])
    '<b>1 &lt; 2'
    """
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in content))


def tag(name: str, /, *content: str, **attributes: str) -> Html:
    """An element; `class_` stands for the attribute `class`.

    >>> tag("p", "R&D, ", tag("b", "bold"), class_="note")
    '<p class="note">R&amp;D, <b>bold</b></p>'
    """
    written = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    end = "" if name in _VOID else f"{join(content)}</{name}>"
    return Html(f"<{name}{written}>{end}")


def section(title: str, *content: str) -> Html:
    return tag("section", tag("h2", title), *content)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], class_: str = "") -> Html:
    """A table that scrolls sideways where the window is too narrow for it."""
    header = [tag("thead", tag("tr", *(tag("th", name) for name in head)))] if head else []
    body = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows))
    return tag("div", tag("table", *header, body, class_=class_), class_="scroll")


def card(name: str, value: str, beside: Mapping[str, str], verdict: str = "") -> Html:
    """One figure, large, and smaller ones below it; the verdict is `better`, `poor` or none."""
    pairs = (part for key, text in beside.items() for part in (tag("dt", key), tag("dd", text)))
    parts = [tag("div", name, class_="name"), tag("div", value, class_="value"), tag("dl", *pairs)]
    return tag("div", *parts, class_=f"figure {verdict}".strip())


def go_on(commands: Mapping[str, str]) -> Html:
    """Commands to copy, by what they do."""
    lines = [part for words, line in commands.items() for part in (quiet(words), tag("pre", line))]
    return section("Go on from here", tag("div", *lines, class_="commands"))


def prose(text: str) -> Html:
    """Text, in which what stands between backticks is code.

    >>> prose("set `lr=0.1`")
    'set <code>lr=0.1</code>'
    """
    return join(tag("code", part) if i % 2 else part for i, part in enumerate(re.split(r"`([^`]+)`", text)))


def breakable(name: str) -> Html:
    """A long name, which may be broken after its points, slashes and underscores.

    >>> breakable("train.lr")
    'train.<wbr>lr'
    """
    return Html(re.sub(r"([._/])(?=.)", r"\1<wbr>", escape(name)))


def quiet(words: str) -> Html:
    return tag("p", words, class_="quiet")


def fold(title: str, *content: str) -> Html:
    """Content that opens on a click."""
    return tag("details", tag("summary", title), *content)


def long(rows: int, title: str, *content: str) -> Html:
    """A figure; where it has many rows, folded, so that what is below is seen too."""
    return fold(f"{title} ({rows})", *content) if rows > _OPEN else tag("figure", *content)
