"""The end of the report: what was trained on, what was asked for, where it ran, and what to do next."""

import shlex
from typing import TYPE_CHECKING

from gradlab.markup import Html, breakable, fold, go_on, section, table, tag

if TYPE_CHECKING:
    from gradlab.run import Run


def columns_section(run: "Run") -> Html:
    """What each column of one's own table was taken for; nothing where the inputs did not come from a table."""
    columns = (run.data.get("reader") or {}).get("columns")
    if not columns:
        return Html()
    rows = [[breakable(c["name"]), c["kind"], c["use"], c["note"]] for c in columns]
    return section("Columns", tag("figure", table(["column", "kind", "use", "values"], rows, class_="pairs")))


def recipe_section(run: "Run") -> Html:
    """The recipe as it was resolved, and the environment."""
    data = {
        **run.preprocessing.words(),
        **{f"{split} examples": f"{size:,}" for split, size in run.data["sizes"].items()},
        "fingerprint": run.data["fingerprint"],
    }
    environment = {key: str(value) for key, value in run.environment.items()}
    return section(
        "Recipe and environment",
        fold("Recipe", tag("pre", run.recipe.to_toml())),
        fold("Data", table([], data.items(), class_="pairs")),
        fold("Environment", table([], environment.items(), class_="pairs")),
    )


def next_section(run: "Run") -> Html:
    """Commands that take the run further."""
    path, code = shlex.quote(str(run.path)), run.code_options
    uses = {
        "generate": {"Let the model write": f"gradlab generate {path} --prompt TEXT{code}"},
        "draw": {"Draw samples": f"gradlab generate {path} -n 64{code}"},
        "play": {"Watch it play": f"gradlab play {path} --out play.gif{code}"},
        "predict": {"Apply the model to inputs of your own": f"gradlab predict {path} INPUT{code}"},
    }
    repeat = f"gradlab train {shlex.quote(str(run.path / 'recipe.toml'))}{code}"
    again = {"Compute the test figures again": f"gradlab evaluate {path}{code}"}
    if run.start is None:  # whose first weights the recipe draws
        again["Repeat the run exactly"] = repeat
    use = "draw" if "samples" in run.task.sections else run.task.use
    return go_on(uses.get(use, {}) | again)
