"""What a probe finds, for people: tables, and a page of pictures."""

from gradlab.report.probing.probe import Probe
from gradlab.report.probing.subjects import probe_model, probe_run

__all__ = ["Probe", "probe_model", "probe_run"]
