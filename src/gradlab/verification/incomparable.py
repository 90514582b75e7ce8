"""The way of a check to say that it does not apply."""


class Incomparable(Exception):
    """A check does not apply to this subject; the text says why."""
