"""Interactive pictures of concepts, computed by the library.

    @shown("softmax-temperature", "activation.softmax")
    def temperature() -> Figure: ...

The first name is the picture's own; the others are blocks, laws and examples that it shows too. The title is the
docstring of the function.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradlab.errors import GradlabError
from gradlab.explanation.docstring import Docstring
from gradlab.explanation.equations import sentence
from gradlab.files import new_file, write_file
from gradlab.markup import Html, join, tag
from gradlab.report.charts import Trace, chart
from gradlab.report.page import page

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WINDOW = "1000,900"  # pixels
_SECONDS = 120


@dataclass(frozen=True)
class Figure:
    """A chart as reports have them: traces and layout are plotly's, `note` says what is seen."""

    traces: Sequence[Trace]
    note: str
    layout: Mapping[str, Any] = field(default_factory=dict)


Draw = Callable[[], Figure]
_entered: dict[str, Draw] = {}
_also: dict[str, str] = {}


def shown(name: str, *also: str) -> Callable[[Draw], Draw]:
    """Enter a picture under its name, and those of what else it shows."""

    def enter(draw: Draw) -> Draw:
        assert name not in _entered, f"two pictures {name!r}"
        assert not _also.keys() & set(also), f"two pictures of {', '.join(_also.keys() & set(also))}"
        _entered[name] = draw
        _also.update(dict.fromkeys(also, name))
        return draw

    return enter


def figures() -> dict[str, Draw]:
    """All pictures by their own names."""
    from gradlab.explanation import shown as _  # noqa: F401, which enter themselves

    return dict(sorted(_entered.items()))


def figure_of(name: str) -> Draw:
    """The picture of a name, or of a block, a law or an example."""
    drawn = figures()
    own = _also.get(name, name)
    if own not in drawn:
        raise GradlabError(f"There is no picture of {name}. There are pictures of: {', '.join(drawn)}.")
    return drawn[own]


def has_figure(name: str) -> bool:
    return _also.get(name, name) in figures()


def figure_title(name: str) -> str:
    """What the picture shows, in one sentence.

    >>> figure_title("clt")
    'The central limit theorem'
    """
    return sentence(Docstring.of(figure_of(name)).summary).removesuffix(".")


def shown_by(name: str) -> list[str]:
    """What a picture shows, beside what it has its name of.

    >>> shown_by("softmax-temperature")
    ['activation.softmax', 'softmax-range-sum']
    """
    assert name in figures()
    return sorted(other for other, own in _also.items() if own == name)


def figure_page(name: str, figure: Figure) -> str:
    """The picture alone on a page."""
    head = tag("header", tag("p", "gradlab explain", class_="over"), tag("h1", name))
    return page(name, join([head, figure_chart(name, figure)]))


def figure_chart(name: str, figure: Figure) -> Html:
    """As it stands in a page."""
    return chart(figure_title(name), figure.traces, figure.note, **{"height": 520, **figure.layout})


def write_shown(path: Path, draw: Callable[[], str]) -> None:
    """A page that is drawn, as it is, or in a PNG file by a browser that is on this machine."""
    suffix = path.suffix.lower()
    if suffix not in (".html", ".png"):
        raise GradlabError(f"--show {path}: pictures are written to files ending in .html or .png.")
    browser = _browser() if suffix == ".png" else ""
    text = draw()
    if suffix == ".html":
        write_file(path, text)
        return
    with tempfile.TemporaryDirectory() as folder:
        source, drawn = Path(folder, "page.html"), Path(folder, "page.png")
        source.write_text(text, "utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/user"]
        options += ["--disable-background-networking", "--virtual-time-budget=8000", f"--window-size={_WINDOW}"]
        command = [browser, *options, f"--screenshot={drawn}", source.as_uri()]
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        if done.returncode or not drawn.is_file():
            raise GradlabError(f"{browser} could not draw the page. Write it instead: --show FILE.html")
        with new_file(path) as file:
            shutil.copyfile(drawn, file)


def _browser() -> str:
    for name in _BROWSERS:
        if path := shutil.which(name):
            return path
    raise GradlabError("A PNG needs Chromium or Chrome on this machine, and there is none. Use --show FILE.html")
