"""The examples as processes of their own: the tests of the command line know how."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))

from cli_helpers import quick
