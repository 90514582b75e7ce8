"""What a sweep searches: for each knob a range or some choices, as they are typed and as the knob's own schema allows.

train.lr=1e-4:1e-1:log     a range, searched in the logarithm
model.dropout=0:0.5        a range; of whole numbers where the knob takes those
train.optimizer=sgd,adam   choices
model.hidden=64/128,128    choices of lists, parted by slashes: [64] and [128, 128]
train.epochs=10            one value: not searched, only set
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.registry import Knob
from gradlab.studies.knobs import find_knob, kinds, read_values, typed
from gradlab.training.experiment import resolve

if TYPE_CHECKING:
    from optuna import Trial


@dataclass(frozen=True, kw_only=True)
class Range:
    """All numbers between two, ends included; in the logarithm, where that is asked for."""

    key: str
    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int)

    @property
    def samples(self) -> list[Any]:
        """Values that stand for all the others when the space is checked."""
        return [self.low, self.high]

    def suggest(self, trial: Trial) -> float:
        if self.whole:
            return trial.suggest_int(self.key, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(self.key, self.low, self.high, log=self.log)

    def __str__(self) -> str:
        return f"{typed(self.low)}:{typed(self.high)}{':log' if self.log else ''}"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Some values, each as it is typed."""

    key: str
    values: list[str]

    @property
    def samples(self) -> list[str]:
        return self.values

    def suggest(self, trial: Trial) -> str:
        chosen: str = trial.suggest_categorical(self.key, self.values)
        return chosen

    def __str__(self) -> str:
        return ("/" if any("," in value for value in self.values) else ",").join(self.values)


Dimension = Range | Choice


def read_space(recipe: Recipe, texts: Mapping[str, str]) -> tuple[Recipe, list[Dimension]]:
    """The recipe with the fixed values set, and the knobs to search; every end and choice is checked."""
    dimensions: list[Dimension] = []
    for key, text in texts.items():
        dimension = _read(find_knob(recipe, key), key, text)
        if dimension is None:
            recipe = recipe.override({key: text})
        else:
            dimensions.append(dimension)
    if not dimensions:
        raise GradlabError(
            "A sweep needs something to search: a range, as in train.lr=1e-4:1e-1:log, or choices, as in "
            "train.optimizer=sgd,adam."
        )
    _check(recipe, dimensions)
    return recipe, dimensions


def _read(knob: Knob, key: str, text: str) -> Dimension | None:
    """A range or choices; None where the text is one value."""
    types = kinds(knob.annotation)
    if ":" in text and types & {int, float}:
        return _range(knob, key, text)
    parted = "/" if list in types else ","
    free_text = types <= {str, type(None)}  # a path or a name may hold commas of its own
    if parted not in text or free_text:
        return None
    values = read_values(knob, key, text)
    if len(values) < 2:
        raise GradlabError(f"{key}={text} names the same value twice.")
    return Choice(key=key, values=[typed(value) for value in values])


def _range(knob: Knob, key: str, text: str) -> Range:
    ends, log = (text.removesuffix(":log"), True) if text.endswith(":log") else (text, False)
    if ends.count(":") != 1:
        raise GradlabError(f"{key}={text} is not a range: it takes LOW:HIGH or LOW:HIGH:log, as in 1e-4:1e-1:log.")
    low, high = (knob.resolve(end, key) for end in ends.split(":"))
    if not all(isinstance(end, (int, float)) for end in (low, high)) or not low < high:
        raise GradlabError(f"{key}={text} is not a range: its ends must be numbers, the lower one first.")
    if log and low <= 0:
        raise GradlabError(f"{key}={text} is not a range: a logarithmic one must start above 0.")
    return Range(key=key, low=low, high=high, log=log)


def _check(recipe: Recipe, dimensions: list[Dimension]) -> None:
    """Each end and choice, beside the first ones of the other knobs, must make a sound recipe."""
    first = {one.key: one.samples[0] for one in dimensions}
    for one in dimensions:
        for value in one.samples:
            resolve(recipe.override({**first, one.key: value}))
