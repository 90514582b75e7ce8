"""The command line: `gradlab COMMAND`. torch is imported only by commands that compute."""

from gradlab.cli.app import main

__all__ = ["main"]
