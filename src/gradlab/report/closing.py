"""The end of the report: what was asked for, where it ran, and what to do next."""

import shlex
from typing import TYPE_CHECKING

from gradlab.report.markup import Html, fold, section, table, tag

if TYPE_CHECKING:
    from gradlab.run import Run


def recipe_section(run: "Run") -> Html:
    """The recipe as it was resolved, and the environment."""
    data = {
        **run.preprocessing.words(),
        **{f"{split} examples": f"{size:,}" for split, size in run.data["sizes"].items()},
        "fingerprint": run.data["fingerprint"],
    }
    return section(
        "Recipe and environment",
        fold("Recipe", tag("pre", run.recipe.to_toml())),
        fold("Data", table([], data.items(), class_="pairs")),
        fold("Environment", table([], [(key, str(v)) for key, v in run.environment.items()], class_="pairs")),
    )


def next_section(run: "Run") -> Html:
    """Commands that take the run further."""
    path, code = shlex.quote(str(run.path)), run.code_options
    uses = {
        "generate": {"Let the model write": f"gradlab generate {path} --prompt TEXT{code}"},
        "predict": {"Apply the model to inputs of your own": f"gradlab predict {path} INPUT{code}"},
    }
    commands = {
        **uses.get(run.task.use, {}),
        "Compute the test figures again": f"gradlab evaluate {path}{code}",
        "Repeat the run exactly": f"gradlab train {shlex.quote(str(run.path / 'recipe.toml'))}{code}",
    }
    lines = [
        part for words, command in commands.items() for part in (tag("p", words, class_="quiet"), tag("pre", command))
    ]
    return section("Go on from here", tag("div", *lines, class_="commands"))
