"""What an architecture of Hugging Face is in our words: a table of settings and one of weights, for both directions."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.registry import Knob

Values = dict[str, Any]
"""Arguments of one of our models, by name."""

Config = dict[str, Any]
"""What config.json holds."""


@dataclass(frozen=True)
class Setting:
    """One of our arguments, and what config.json calls it."""

    ours: str
    theirs: str
    annotation: Any
    default: Any
    """Theirs, where config.json says nothing."""

    words: Mapping[str, str] = field(default_factory=dict)
    """Our word for each of theirs. Of several, the first is written."""

    def read(self, config: Config, where: str) -> Any:
        value = config.get(self.theirs, self.default)
        if value != self.default:
            value = Knob(self.theirs, self.annotation, self.default).resolve(value, f"{where}: {self.theirs}")
        return self.words.get(value, value) if self.words else value

    def write(self, value: Any) -> Any:
        return next((theirs for theirs, ours in self.words.items() if ours == value), value)


@dataclass(frozen=True)
class Row:
    """One of our tensors, and those of theirs that lie in it, one below the other. `*` is the number of a layer."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False
    """Theirs multiply from the right."""

    grouped: bool = False
    """Queries, keys and values; of the last two there may be fewer heads."""

    lifted: bool = False
    """Theirs has one more axis, of size 1, before all others."""

    count: str = "layers"
    """The argument of ours that says how many layers there are."""

    when: Callable[[Values], bool] = lambda values: True
    """Whether a model with these arguments has it."""

    def of_layer(self, i: int) -> "Row":
        return replace(
            self, ours=self.ours.replace("*", str(i)), theirs=tuple(t.replace("*", str(i)) for t in self.theirs)
        )

    def shapes(self, ours: Sequence[int], values: Values) -> list[tuple[int, ...]]:
        """The shapes of theirs, for the shape of ours."""
        shapes = [(size, *ours[1:]) for size in self._sizes(ours[0], values)]
        if self.lifted:
            return [(1, *shape) for shape in shapes]
        return [shape[::-1] for shape in shapes] if self.transposed else shapes

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        """Ours, in memory of its own."""
        joined = torch.cat([part.T if self.transposed else part for part in theirs])
        return joined.squeeze(0) if self.lifted else joined

    def split(self, ours: Tensor, values: Values) -> dict[str, Tensor]:
        """Theirs, by name."""
        if self.lifted:
            return {self.theirs[0]: ours[None]}
        parts = ours.split_with_sizes(self._sizes(len(ours), values))
        return {n: (p.T if self.transposed else p).contiguous() for n, p in zip(self.theirs, parts, strict=True)}

    def _sizes(self, rows: int, values: Values) -> list[int]:
        """How many rows of ours each of theirs has."""
        shares = [1] * len(self.theirs)
        if self.grouped:
            shares = [values["heads"], *[values.get("key_heads") or values["heads"]] * 2]
        return [rows // sum(shares) * share for share in shares]


def affine(ours: str, theirs: str, *, transposed: bool = False) -> tuple[Row, Row]:
    """A map or a norm, of a weight and a bias."""
    return Row(f"{ours}.weight", (f"{theirs}.weight",), transposed), Row(f"{ours}.bias", (f"{theirs}.bias",))


@dataclass(frozen=True)
class Architecture:
    """A class of models of Hugging Face's, and how one of ours is the same function."""

    name: str
    """As it stands in config.json under `architectures`."""

    family: str
    """As it stands there under `model_type`."""

    base: str
    """What the names of its weights begin with, but in some files do not."""

    settings: tuple[Setting, ...]
    dropouts: Mapping[str, float]
    """Their probabilities of dropping, with their defaults. Ours have one for all places."""

    fixed: Mapping[str, Any]
    """Their settings that can have no other value here."""

    needs: Mapping[str, Any]
    """Our settings that can have no other value there."""

    rows: tuple[Row, ...]
    build: Callable[[Values], nn.Module]
    describe: Callable[[Any], Values]
    """The arguments with which a model of ours was built."""

    copies: Mapping[str, str] = field(default_factory=dict)
    """Tensors that may be in a file beside those to which they are tied."""

    unused: tuple[str, ...] = ()
    """Patterns of tensors that may be in a file and are not needed."""

    flat: Callable[[Config, Collection[str]], Config] = lambda config, names: config
    """Their config without tables in it, and with what only the names of tensors tell."""

    more: Callable[[Config], Config] = lambda config: {}
    """What their config has beside, of one that we write."""

    state: Callable[[Any], dict[str, Tensor]] = lambda model: model.state_dict()
    """Our tensors, as the rows name them."""

    def arguments(self, config: Config, names: Collection[str], where: str, dropout: float | None) -> Values:
        """Our arguments for a config and tensors of these names, if it asks for nothing that our model cannot do."""
        config = self.flat(config, names)
        for name, value in {"quantization_config": None, **self.fixed}.items():
            if config.get(name, value) != value:
                raise GradlabError(
                    f"{where}: {name}={json.dumps(config[name])} is not supported for a {self.name}: "
                    f"it must be {json.dumps(value)}."
                )
        values = {setting.ours: setting.read(config, where) for setting in self.settings}
        return {**values, "dropout": self._dropout(config, where) if dropout is None else dropout}

    def _dropout(self, config: Config, where: str) -> float:
        dropouts = {name: config.get(name, default) for name, default in self.dropouts.items()}
        if len({*dropouts.values()}) > 1:
            listed = ", ".join(f"{name}={value}" for name, value in dropouts.items())
            raise GradlabError(f"{where}: {listed}. The model here has one probability for all: give it as dropout=….")
        value = next(iter(dropouts.values()))
        if not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise GradlabError(f"{where}: {next(iter(dropouts))}={value} must be a probability below 1.")
        return float(value)

    def layered(self, values: Values) -> Iterator[Row]:
        """The rows of a model with these arguments, those of layers for each of them."""
        for row in self.rows:
            if row.when(values):
                yield from map(row.of_layer, range(values[row.count])) if "*" in row.ours else [row]
