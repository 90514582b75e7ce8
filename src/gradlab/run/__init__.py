"""The run folder: its format, reading and writing."""

from gradlab.run.folder import Run, open_run

__all__ = ["Run", "open_run"]
