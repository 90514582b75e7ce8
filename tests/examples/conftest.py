"""The examples as processes of their own: the tests of the command line know how."""

from cli_helpers import quick
