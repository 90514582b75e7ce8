"""Builders by name. A builder's keyword arguments are its configuration schema; there is no second place to edit.

    models = Registry("model")

    @models.register("mlp")
    def mlp(inputs, outputs, *, hidden: Annotated[list[Count], "units of each hidden layer"] = [128]): ...

Positional arguments are given by the code that builds; keyword-only ones are *knobs* that a user may set. A string in
the annotation is the knob's documentation, and a registry in it makes the knob a choice among that registry's names.
A keyword whose type is a dataclass stands for the keywords of that dataclass, which a model and its builders share:

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        dim: Annotated[Count, "features of a token"] = 128

    @models.register("gpt")
    def gpt(inputs, outputs, *, settings: Settings): ...

The same annotations check the arguments of building blocks when these are called from Python (`Knob.check`).
"""

from gradlab.registry.annotations import (
    Count,
    Finite,
    Fraction,
    Natural,
    NonNegative,
    Positive,
    Probability,
    Seed,
    hints_of,
    type_name,
)
from gradlab.registry.builders import Registry
from gradlab.registry.knobs import Knob, shortly
from gradlab.registry.names import Named
from gradlab.registry.parts import Part, plain_values
from gradlab.registry.schema import Schema, Settings, check_positional

__all__ = [
    "Count",
    "Finite",
    "Fraction",
    "Knob",
    "Named",
    "Natural",
    "NonNegative",
    "Part",
    "Positive",
    "Probability",
    "Registry",
    "Schema",
    "Seed",
    "Settings",
    "check_positional",
    "hints_of",
    "plain_values",
    "shortly",
    "type_name",
]
