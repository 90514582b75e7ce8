"""A recipe: data, model, task and training plan, each a name plus values. Knows neither torch nor the names."""

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from gradlab.errors import GradlabError, unknown
from gradlab.files import FolderSums, parse_toml, read_text
from gradlab.printable import printable
from gradlab.registry import Part, plain_values

SECTIONS = ("data", "model", "task", "train")
RUN_RECIPE = "recipe.toml"
"""The file of a run that holds its recipe."""
FIT = "fit"
"""In place of the names of data, model and task in the recipe of a run that `gradlab.fit` made."""

_REPLACED = {"train.epochs": ("steps",), "train.from_run": ("from_sha256", "new_head")}
_DEEPEST = 8  # keys of a path: parts are knobs of parts, but not for ever


@dataclass(frozen=True)
class Recipe:
    """Everything that is asked for when a model is trained.

    >>> recipe = Recipe("demo", Part("moons"), Part("mlp", {"hidden": [8]}), Part("classify"))
    >>> changed = recipe.override({"model.hidden": [16], "train.optimizer.momentum": 0.9})
    >>> changed.model.values["hidden"], changed.train["optimizer"].values
    ([16], {'momentum': 0.9})
    >>> Recipe.from_toml(changed.to_toml(), "demo.toml") == changed
    True
    """

    name: str
    data: Part
    model: Part
    task: Part
    train: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Parts may be written as bare names, or as tables with a name."""
        for section in SECTIONS[:3]:
            object.__setattr__(self, section, Part.read(getattr(self, section), f"{self.name}: {section}"))
        if not isinstance(self.train, Mapping):
            raise GradlabError(f"{self.name}: train must be a dictionary such as {{'lr': 0.01}}, got {self.train!r}.")

    @property
    def data_name(self) -> str:
        """What is learned from: an environment by its own name, other data by that of their source."""
        return Part.read(self.data.values.get("env") or self.data, "data.env").name

    def override(self, changes: Mapping[str, Any]) -> "Recipe":
        """A variant: `{"train.lr": 0.01, "model": "lenet", "train.optimizer.momentum": 0.9}`.

        Naming a part anew (`model=lenet`) drops the values of the part it replaces, `train.epochs` the recipe's
        `train.steps`, which stand instead of epochs, and `train.from_run` what was noted of another run. `doctor` is
        short for `train.doctor`: it is of no part of what is trained.
        """
        recipe = self
        for path, replaced in _REPLACED.items():
            if path in changes:
                recipe = replace(recipe, train={k: value for k, value in recipe.train.items() if k not in replaced})
        for path, value in changes.items():
            section, *keys = ("train.doctor" if path == "doctor" else path).split(".")
            if len(keys) > _DEEPEST:
                raise GradlabError(
                    f"{path[:40]}… has {len(keys)} keys below its section; there are {_DEEPEST} at most."
                )
            if section not in SECTIONS:
                raise unknown("section", section, SECTIONS)
            if section == "train":
                if not keys:
                    raise GradlabError("train is not a name: set one of its keys, as in train.lr=0.01.")
                recipe = replace(recipe, train=_with(recipe.train, keys, value))
            elif not keys:
                recipe = recipe._with_part(section, Part.read(value, section))
            else:
                part: Part = getattr(recipe, section)
                recipe = recipe._with_part(section, replace(part, values=_with(part.values, keys, value)))
        return recipe

    def _with_part(self, section: str, part: Part) -> "Recipe":
        changed: dict[str, Any] = {section: part}
        return replace(self, **changed)

    def resume_command(self, folder: Path, options: str = "") -> str:
        """How a run of it in this folder is gone on with."""
        return "the same call of gradlab.fit" if self.data.name == FIT else f"gradlab resume {folder}{options}"

    def to_toml(self) -> str:
        parts = {s: {"name": getattr(self, s).name, **plain_values(getattr(self, s).values)} for s in SECTIONS[:3]}
        text = tomli_w.dumps({"recipe": self.name, **parts, "train": plain_values(self.train)})
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line = text[text.rfind("\n", 0, error.start) + 1 :].partition("\n")[0]
            raise GradlabError(f"No recipe can hold what is no UTF-8: {printable(line)}. Rename that file.") from None
        return text

    def flat(self) -> dict[str, Any]:
        """Every value by its path, as TOML holds it.

        >>> Recipe("demo", Part("moons"), Part("mlp"), Part("classify"), {"lr": 0.1}).flat()["train.lr"]
        0.1
        """
        return flat(tomllib.loads(self.to_toml()))

    @classmethod
    def read(cls, path: Path) -> "Recipe":
        """The recipe in a TOML file."""
        return cls.from_toml(read_text(path), str(path))

    @classmethod
    def read_run(cls, folder: Path) -> "Recipe":
        """The recipe that a run was trained with; refused if its file has been changed since."""
        path = folder / RUN_RECIPE
        advice = (
            "A run keeps the recipe that it was trained with: bring that back. To train a changed one: "
            f"gradlab train {shlex.quote(str(path))} --out FOLDER"
        )
        return cls.from_toml(FolderSums(folder).read_text(path.name, advice), str(path))

    @classmethod
    def from_toml(cls, text: str, source: str) -> "Recipe":
        """Read what `to_toml` writes; `source` names the file in errors."""
        tables = parse_toml(text, source, "A recipe is a TOML file: see one by `gradlab recipes NAME`.")
        for key, value in tables.items():
            if key not in ("recipe", *SECTIONS):
                raise unknown(f"section in {source},", key, SECTIONS)
            if not isinstance(value, str if key == "recipe" else dict):
                raise GradlabError(
                    f"{source}: {key} must be a {'name' if key == 'recipe' else 'table'}, got {value!r}."
                )
        for section in SECTIONS[:3]:
            if section not in tables:
                raise GradlabError(f"{source} has no [{section}] table: a recipe needs [data], [model] and [task].")
        parts = {s: Part.read(_parts_within(tables[s]), f"{source}: [{s}]") for s in SECTIONS[:3]}
        train = _parts_within(tables.get("train", {}))
        return cls(tables.get("recipe", Path(source).stem), **parts, train=train)


def flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """
    >>> flat({"train": {"lr": 0.1, "hidden": [8, 8]}})
    {'train.lr': 0.1, 'train.hidden': [8, 8]}
    """
    flattened: dict[str, Any] = {}
    for key, value in nested.items():
        flattened |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flattened


def _with(values: Mapping[str, Any], keys: list[str], value: Any) -> dict[str, Any]:
    """`values` with the value at a path of keys set; a path below a part's name sets one of that part's knobs."""
    key, *below = keys
    if below:
        # Where the recipe leaves the part to its default, the empty name stands for that default.
        part = Part.read(values.get(key, ""), key)
        value = replace(part, values=_with(part.values, below, value))
    return {**values, key: value}


def _parts_within(table: Mapping[str, Any]) -> dict[str, Any]:
    """Nested tables are parts; one without a name is the default part with some knobs changed."""
    return {
        key: Part(value.get("name", ""), _parts_within({k: v for k, v in value.items() if k != "name"}))
        if isinstance(value, dict)
        else value
        for key, value in table.items()
    }
