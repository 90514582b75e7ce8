"""The report of a run: one HTML file that explains what happened and needs nothing but a browser."""

from gradlab.report.writing import write_report

__all__ = ["write_report"]
