"""What `gradlab.doctor` returns: a doctor with a page, and with its findings below the cell of a notebook."""

from pathlib import Path

from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.inline import findings_list
from gradlab.errors import notice, one_line
from gradlab.files import write_file
from gradlab.inline import charts, inline, line_chart, notebook_display
from gradlab.report.diagnosis import plots
from gradlab.report.diagnosis.page import page_of


class ShownDoctor(Doctor):
    """A doctor with a page, which `doctor.to_html("doctor.html")` writes; a notebook shows the findings."""

    def to_html(self, path: str | Path) -> Path:
        """Write the page, which opens offline in any browser."""
        write_file(Path(path), page_of(self.verdict, self.record))
        return Path(path)

    def say(self) -> None:
        """In a notebook as HTML; where there was no training, or is no notebook, as text on stderr."""
        display = notebook_display()
        if display is None or self.verdict.refusal is not None:
            super().say()
            return
        try:
            self._repr_html_()
        except Exception as error:
            notice(f"the findings could not be shown, a fault of gradlab: {type(error).__name__}: {one_line(error)}")
            super().say()
        else:
            display(self)

    def __repr__(self) -> str:
        return f"<gradlab doctor: {self.verdict.sentence if self.done else 'still watching'}>"

    def _repr_html_(self) -> str | None:
        """The findings and the course of the loss; the page of `to_html` has every chart, and is megabytes large."""
        if not self.done or self.verdict.refusal is not None:
            return None
        several = len(self.record.losses) > 1
        losses = {plots.loss_name(loss, several): loss.values for loss in self.record.losses}
        curves = {name: (series.steps, series.values) for name, series in losses.items()}
        content = [charts(line_chart("loss", curves)), findings_list(self.verdict.findings)]
        return inline(self.verdict.sentence, "gradlab doctor", *content)
