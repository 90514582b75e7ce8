"""What the reports of all studies share: the top, the figures in cards, the table of trainings, what to do next."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gradlab.markup import Html, join, section, table, tag
from gradlab.report.page import page
from gradlab.studies.members import Member
from gradlab.wording import number


def report(recipe: str, kind: str, path: Path, lead: str, *parts: str) -> Html:
    """The whole page, named by the folder of the study."""
    name = path.resolve().name
    top = tag("header", tag("p", f"{kind} · {recipe}", class_="over"), tag("h1", name), tag("p", lead, class_="lead"))
    return page(f"{name} · {kind} · {recipe}", join([top, *parts]))


def cards(*content: Html) -> Html:
    return tag("div", *content, class_="figures")


def grid(*figures: Html, width: int = 300) -> Html:
    """Many small figures, as many in a row as fit."""
    columns = f"repeat(auto-fill, minmax(min(100%, {width}px), 1fr))"
    return tag("div", *figures, style=f"display: grid; grid-template-columns: {columns}; gap: 16px; margin-top: 20px;")


def boxed(content: Html) -> Html:
    """A table on a card of its own."""
    return tag("figure", content, style="margin-top: 16px;")


def trainings(title: str, head: Sequence[str], rows: Iterable[tuple[Member, Sequence[Any]]], words: str = "") -> Html:
    """A table of runs; each row's first cell leads to the report of its run, if it came to one."""
    body = [[_link(member, str(cells[0])), *map(number, cells[1:])] for member, cells in rows]
    quiet = tag("p", words, class_="quiet") if words else ""
    return section(title, quiet, boxed(table(head, body, class_="numbers")))


def _link(member: Member, text: str) -> str:
    if member.diverged:
        return text
    return tag("a", text, href=f"{member.name}/report.html", style="color: var(--accent)")
