"""What `gradlab.doctor` returns: a doctor that shows its page, in a notebook below the cell."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradlab.diagnosis.doctor import Doctor
from gradlab.errors import notice, one_line
from gradlab.files import write_file
from gradlab.markup import Html, tag
from gradlab.report.diagnosis.page import page_of

_HEIGHT = "680"  # pixels: the first finding in full; one scrolls to the rest


class ShownDoctor(Doctor):
    """A doctor with a page. `doctor.to_html("doctor.html")` writes it; a notebook shows it below the cell."""

    def to_html(self, path: str | Path) -> Path:
        """Write the page, which opens offline in any browser."""
        write_file(Path(path), self._page())
        return Path(path)

    def say(self) -> None:
        """In a notebook by its page; where there was no training, or is no notebook, as text on stderr."""
        display = _notebooks_display()
        if display is None or self.verdict.refusal is not None:
            super().say()
            return
        try:
            self._page()
        except Exception as error:
            notice(f"the page could not be drawn, a fault of gradlab: {type(error).__name__}: {one_line(error)}")
            super().say()
        else:
            display(self)

    def _page(self) -> Html:
        return page_of(self.verdict, self.record)

    def __repr__(self) -> str:
        return f"<gradlab doctor: {self.verdict.sentence if self.done else 'still watching'}>"

    def _repr_html_(self) -> str | None:
        """The page in a frame of its own, so that neither its style nor its scripts meet those of the notebook."""
        if not self.done or self.verdict.refusal is not None:
            return None
        # Without `allow-same-origin` the page cannot reach the notebook around it.
        style = "width: 100%; border: 0"
        return tag("iframe", srcdoc=self._page(), sandbox="allow-scripts", height=_HEIGHT, style=style)


def _notebooks_display() -> Callable[[Any], object] | None:
    """IPython's way to show an object, where a kernel sends it to a notebook; a terminal could not show a page."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    shown: Callable[[Any], object] = display
    return shown
