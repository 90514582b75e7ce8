"""The way of a check to say that it does not apply."""


class Incomparable(Exception):
    """A check does not apply to this subject; the text says why."""


class DoesNotFit(Incomparable):
    """A call that the user's module is not made for: the case is not made, though others may be."""
