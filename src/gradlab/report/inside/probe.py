"""What `gradlab.probe` returns."""

from dataclasses import dataclass
from pathlib import Path

from gradlab.probes import Inspection


@dataclass(frozen=True, eq=False)
class Probe(Inspection):
    """A look inside a model. `print(probe)` shows its tables, `probe.to_html("probe.html")` draws its pictures."""

    def to_html(self, path: str | Path) -> Path:
        """Write the page, which opens offline in any browser."""
        from gradlab.report.inside.page import write_probe

        return write_probe(self, Path(path))
