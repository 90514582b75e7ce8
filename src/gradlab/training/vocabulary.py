"""Messages are written in the words of a recipe (`train.lr`); who trains from Python reads them in those of a call."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields

from gradlab.errors import GradlabError
from gradlab.training.plan import Plan

Words = Callable[[str], str]
"""From a message in a recipe's words to one in somebody else's."""

_KEYS = {field.name for field in fields(Plan)}
# A value ends before the mark that ends the sentence.
_KNOB = re.compile(r"(?<![\w./-])(?:train\.(\w+)(?:\.(\w+))?|data\.(validation))(?:=([\w+-]+(?:\.\d[\w+-]*)?))?")


def in_a_recipe(text: str) -> str:
    """As it is written."""
    return text


def in_a_call(text: str) -> str:
    """Knobs as keywords of `fit`.

    >>> in_a_call("Lower train.lr (now 0.1) or set train.clip=1. Set train.batch_size=full.")
    "Lower lr (now 0.1) or set clip=1. Set batch_size='full'."
    """
    return _rewritten(text, {})


def in_an_estimator(names: Mapping[str, str]) -> Words:
    """Knobs as parameters of an estimator, which has some of them by these names and the rest in its `plan`.

    >>> in_an_estimator({"lr": "lr"})("Lower train.lr or set train.clip=1.")
    "Lower lr or set plan={'clip': 1}."
    """
    return lambda text: _rewritten(text, {key: names.get(key, "") for key in _KEYS})


def _rewritten(text: str, names: Mapping[str, str]) -> str:
    def keyword(match: re.Match[str]) -> str:
        key, inner, held_out, value = match.groups()
        if held_out or key not in _KEYS:
            return match[0].removeprefix("data.") if held_out else match[0]
        literal = None if value is None else _literal(value)
        name = names.get(key, key)
        if name:
            place = f"{name}[{inner!r}]" if inner else name
            return place if literal is None else f"{place}={literal}"
        if literal is None:
            return f"plan[{key!r}]"
        return f"plan={{{key!r}: {f'{{{inner!r}: {literal}}}' if inner else literal}}}"

    return _KNOB.sub(keyword, text)


def _literal(value: str) -> str:
    """A typed value as Python writes it."""
    known = {"true": "True", "false": "False", "none": "None"}
    try:
        float(value)
    except ValueError:
        return known.get(value, repr(value))
    return value


@contextmanager
def speaking(words: Words) -> Iterator[None]:
    """Errors that a user causes meanwhile are worded so."""
    try:
        yield
    except GradlabError as error:
        error.args = (words(str(error)), *error.args[1:])
        raise
