"""What was seen inside a model, for people: tables, and a page of pictures."""

from gradlab.report.inside.probe import Probe

__all__ = ["Probe"]
