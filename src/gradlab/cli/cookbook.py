"""`gradlab recipes`."""

from typing import Any

from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.training import Json, Plain
from gradlab.recipes import book, by_subject, cpu_changes, doc, find
from gradlab.recipes.keys import RecipeSetting
from gradlab.registry import Part, Registry
from gradlab.wording import as_typed


def recipes(name: str | None = None, /, *, plain: Plain = False, as_json: Json = False) -> None:
    """List the recipes, or show every knob of one.

    Examples to copy:

    - `gradlab recipes`
    - `gradlab recipes digits-mlp`: each key with its type, value and meaning
    - `gradlab recipes digits-mlp --json`
    - `gradlab recipes mine.py`: a recipe of your own

    Parameters
    ----------
    name
        A recipe's name, a TOML file, or a Python file that registers recipes.
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
    screen.print(table("key", "value", "type", "what it does", rows=map(knob_row, knobs)))
    if name in cpu_changes:
        say(screen, "on a CPU", ", ".join(f"{key}={as_typed(value)}" for key, value in cpu_changes[name].items()))


def knob_row(knob: dict[str, Any]) -> list[str]:
    """A knob for people: its value in this recipe, and its default where that is another one."""
    value, doc = as_typed(knob["value"]), knob["doc"]
    if knob.get("required") and knob["value"] is None:
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
