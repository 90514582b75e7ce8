"""HTML from Python, escaped by construction: only what is of type `Html` is taken as it is."""

from collections.abc import Iterable, Sequence
from html import escape

_VOID = ("img", "meta")


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


def fold(title: str, *content: str) -> Html:
    """Content that opens on a click."""
    return tag("details", tag("summary", title), *content)
