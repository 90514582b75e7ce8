"""`gradlab recipes`."""

from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.training import Json, Plain
from gradlab.recipes import book, by_subject, cpu_changes, doc, find
from gradlab.recipes.keys import RecipeSetting
from gradlab.registry import Part, Registry
from gradlab.wording import as_typed

_ESSENTIAL = ("data", "model", "task", "train.epochs", "train.steps", "train.batch_size", "train.lr", "train.optimizer")
_WIDE = 28  # characters of a key or a value that are shown
_BETWEEN = 10  # characters of a row that belong to no column
_ROWS = 16  # of the essential keys: with what surrounds them they fit a screen


def recipes(
    name: str | None = None,
    /,
    *,
    every_key: Annotated[bool, Parameter(name="--all", show_default=False)] = False,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """List the recipes, or show what can be set in one.

    Examples to copy:

    - `gradlab recipes`
    - `gradlab recipes digits-mlp`: what it is made of, and the values that it sets
    - `gradlab recipes digits-mlp --all`: each key with its type, value and meaning
    - `gradlab recipes digits-mlp --json`
    - `gradlab recipes mine.py`: a recipe of your own

    Parameters
    ----------
    name
        A recipe's name, a TOML file, or a Python file that registers recipes.
    every_key
        Show every key of the recipe.
    """
    screen = console(plain)
    if name is None:
        if as_json:
            print_json({recipe: doc(recipe) for recipe in book})
        else:
            for subject, names in by_subject().items():
                listed = table("recipe", "what it is", rows=([recipe, doc(recipe)] for recipe in names), title=subject)
                listed.columns[0].min_width = max(map(len, book))  # the same in all tables
                screen.print(listed)
            screen.print("gradlab recipes NAME shows what can be set; gradlab train NAME key=value … trains it.")
        return
    knobs = list_knobs(name)
    if as_json:
        print_json({"recipe": name, "knobs": knobs, "on_cpu": cpu_changes.get(name, {})})
        return
    if name in book:
        say(screen, name, doc(name))
    if every_key:
        screen.print(table("key", "value", "type", "what it does", rows=map(knob_row, knobs)))
    else:
        show_essentials(screen, name, knobs)
    if name in cpu_changes:
        say(screen, "on a CPU", ", ".join(f"{key}={as_typed(value)}" for key, value in cpu_changes[name].items()))


def show_essentials(screen: Console, name: str, knobs: list[dict[str, Any]]) -> None:
    """What a recipe is made of and the values that it sets, a line each, and how to see the rest."""
    chosen = [[_cut(row[0], _WIDE), _cut(row[1], _WIDE), row[3]] for row in map(knob_row, essential_knobs(knobs))]
    room = screen.width - _BETWEEN - sum(max(len(row[i]) for row in chosen) for i in (0, 1))
    rows = ([key, value, _cut(text, room)] for key, value, text in chosen)
    screen.print(table("key", "value", "what it does", rows=rows))
    screen.print(f"gradlab recipes {name} --all shows all {len(knobs)} keys, with their types.", soft_wrap=True)
    screen.print(f"gradlab train {name} key=value … changes any of them.", soft_wrap=True)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most) - 1]}…"


def essential_knobs(knobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts, the length and the rate of a training; and of the other values those that are not the default."""
    essential = {knob["key"] for knob in knobs if knob["key"] in _ESSENTIAL and knob["value"] is not None}
    changed = [knob["key"] for knob in knobs if knob["value"] != knob["default"] or _must_be_set(knob)]
    room = _ROWS - len(essential)
    chosen = essential | set([key for key in changed if key not in essential][:room])
    return [knob for knob in knobs if knob["key"] in chosen]


def _must_be_set(knob: dict[str, Any]) -> bool:
    return bool(knob.get("required")) and knob["value"] is None


def knob_row(knob: dict[str, Any]) -> list[str]:
    """A knob for people: its value in this recipe, and its default where that is another one."""
    value, doc = as_typed(knob["value"]), knob["doc"]
    if _must_be_set(knob):
        value = "must be given"
    elif "required" in knob and knob["value"] != knob["default"] and not knob["required"]:
        doc += f" (default {as_typed(knob['default'])})"
    return [knob["key"], value, knob["type"], doc]


def list_knobs(name: str) -> list[dict[str, Any]]:
    """Every value of a recipe that can be set, with its type and documentation, read off the builders' signatures."""
    from gradlab.recipes.keys import part_settings, recipe_parts
    from gradlab.training.plan import plan_schema

    recipe = find(name)
    entries = []
    for section, (registry, part) in recipe_parts(recipe).items():
        entries += [_part_entry(registry, part, section)]
        entries += map(_knob_entry, part_settings(registry.schema(part.name), part.values, section))
    return [*entries, *map(_knob_entry, part_settings(plan_schema, recipe.train, "train"))]


def _part_entry(registry: Registry[Any], part: Part, section: str) -> dict[str, Any]:
    from gradlab.explanation.docstring import Docstring
    from gradlab.explanation.equations import sentence

    summary = sentence(Docstring.of(registry[part.name]).summary)
    choices = " | ".join(registry.names())
    return {"key": section, "value": part.name, "default": None, "type": choices, "doc": summary}


def _knob_entry(setting: RecipeSetting) -> dict[str, Any]:
    knob, required = setting.knob, setting.knob.default is setting.knob.empty
    value, default = (
        None if v is None or v is knob.empty else knob.resolve(v, setting.key) for v in (setting.value, knob.default)
    )
    return {
        "key": setting.key,
        "value": value.name if isinstance(value, Part) else value,
        "default": default.name if isinstance(default, Part) else default,
        "type": knob.type_name,
        "doc": knob.doc,
        "required": required,
    }
