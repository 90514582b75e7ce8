"""`gradlab explain`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gradlab.cli.explained import show as show_text
from gradlab.cli.explained import show_picture
from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.training import Json, Plain
from gradlab.files import write_file

if TYPE_CHECKING:
    from gradlab.cli.explained import Subject
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.cnn import Cnn


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

    Optimisers, schedules and metrics are explained too, each by its equation, its knobs and its code; functions of
    gradlab.maths by equation, laws and code; laws of the course by what states them, and worked examples step by step,
    with values.

    Examples to copy:

    - `gradlab explain`: the list of all names; `gradlab explain laws`: those of one group
    - `gradlab explain lstm`: by its last part, or by the usual word for it
    - `gradlab explain attention`: all of a family
    - `gradlab explain optimizer.adam`
    - `gradlab explain attention.multihead`
    - `gradlab explain norm.batch --html batch.html`: a page to open in a browser
    - `gradlab explain maths.isserlis`: a function of gradlab.maths; `gradlab explain maths`: all of them
    - `gradlab explain jensen`: a law; `gradlab explain multiply-gate`: a worked example
    - `gradlab explain jensen --show jensen.html`: an interactive picture, or a still one (.png)
    - `gradlab explain autodiff`: how derivatives are found, on the graph of one neuron
    - `gradlab explain cnn`: backpropagation through convolution and pooling by hand, in training beside PyTorch

    Parameters
    ----------
    name
        A block, an optimiser, a schedule, a metric, a function of maths, a law, a worked example, a picture, `autodiff`
        or `cnn`.
    html
        Write a web page to this file.
    show
        Write a picture of it to this file: .html, to be pointed at, or .png, which needs Chromium. Of what has no
        picture it is the page.
    """
    from gradlab.explanation.names import family, find, groups

    listed = groups() if name is None else family(name)
    if name is None or listed:
        _list(listed, plain, as_json)
        return
    whole = find(name)
    if show is not None:
        _draw(whole, show, plain, as_json)
        return
    if not _has_text(whole):
        _name_picture(whole, plain, as_json)
        return
    subject = _subject(whole)
    if html is not None:
        write_file(Path(html), _page(subject))
    if as_json:
        print_json(subject.plain())
    elif html is not None:
        say(console(plain), "page", html)
    else:
        show_text(console(plain), subject)


def _has_text(name: str) -> bool:
    """Whether there is more to it than a picture."""
    from gradlab.explanation.law import law_summaries
    from gradlab.explanation.mathematics import functions
    from gradlab.explanation.part import parts
    from gradlab.explanation.walk import walks
    from gradlab.explanation.words import WALKS
    from gradlab.nn.blocks import blocks

    return any(name in known for known in (blocks, parts(), WALKS, walks(), law_summaries(), functions()))


def _draw(name: str, show: str, plain: bool, as_json: bool) -> None:
    """The picture, or where there is none the page."""
    from gradlab.explanation.picture import figure_of, figure_page, has_figure, write_shown

    drawn = has_figure(name)
    write_shown(Path(show), lambda: figure_page(name, figure_of(name)()) if drawn else _page(_subject(name)))
    kind = "picture" if drawn else "page"
    if as_json:
        print_json({"name": name, kind: show})
    else:
        say(console(plain), kind, show)


def _name_picture(name: str, plain: bool, as_json: bool) -> None:
    """What a picture shows, without drawing it."""
    from gradlab.explanation.picture import figure_title, shown_by

    if as_json:
        print_json({"name": name, "title": figure_title(name), "shows": shown_by(name)})
        return
    screen = console(plain)
    show_picture(screen, name, figure_title(name), shown_by(name))


def _subject(name: str) -> Subject:
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.law import LawExplanation
    from gradlab.explanation.mathematics import FunctionExplanation, functions
    from gradlab.explanation.part import PartExplanation, parts
    from gradlab.explanation.walk import Walk, walks
    from gradlab.explanation.words import AUTODIFF, CNN
    from gradlab.verification.course import LAWS

    long: dict[str, Callable[[], Autodiff | Cnn]] = {AUTODIFF: Autodiff.of_a_neuron, CNN: Cnn.of_digits}
    if name in long:
        return long[name]()
    if name in walks():
        return Walk.of(name)
    if name in LAWS:
        return LawExplanation.of(name)
    if name in functions():
        return FunctionExplanation.of(name)
    return PartExplanation.of(name) if name in parts() else Explanation.of(name)


def _page(subject: Subject) -> str:
    from gradlab.explanation import pages
    from gradlab.explanation.autodiff import Autodiff
    from gradlab.explanation.block import Explanation
    from gradlab.explanation.cnn import Cnn
    from gradlab.explanation.law import LawExplanation
    from gradlab.explanation.mathematics import FunctionExplanation
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
        case FunctionExplanation():
            return pages.function_page(subject)


def _list(listed: dict[str, dict[str, str]], plain: bool, as_json: bool) -> None:
    from gradlab.explanation.names import GROUPS, flat

    if as_json:
        print_json(flat(listed))
        return
    screen = console(plain)
    for title, names in listed.items():
        shown = table("name", "what it is", rows=([name, text] for name, text in names.items()), title=title)
        shown.columns[0].no_wrap = True
        screen.print(shown)
    screen.print("gradlab explain NAME shows one; gradlab verify NAME checks a block, gradlab verify laws NAME a law.")
    screen.print(f"One group: gradlab explain {', '.join(GROUPS[:-1])} or {GROUPS[-1]}.")
