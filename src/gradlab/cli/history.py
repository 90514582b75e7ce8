"""`gradlab runs` and `gradlab compare`."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.training import Flag, Json, Plain
from gradlab.errors import GradlabError
from gradlab.files import FolderSums
from gradlab.files.formats import EnvironmentFile, Result
from gradlab.recipe import Recipe, flat
from gradlab.wording import as_typed, duration, number

_FIGURES = ("steps", "seconds", "parameters", "validation", "test")


def runs(folder: str = "runs", /, *, watch: Flag = False, plain: Plain = False, as_json: Json = False) -> None:
    """List the runs in a folder, newest first.

    Examples to copy:

    - `gradlab runs`
    - `gradlab runs experiments --json`
    - `gradlab runs --watch`: how those that are being trained get on, until Ctrl-C

    Parameters
    ----------
    folder
        Where to look.
    watch
        Go on looking, and show the steps and losses of runs that are being trained.
    """
    if not Path(folder).is_dir():
        raise GradlabError(f"There is no folder {folder} here. `gradlab train` makes runs/ for its first run.")
    if watch and as_json:
        raise GradlabError("--watch is for people, and never ends. For scripts: gradlab runs --json, again and again.")
    if watch:
        from gradlab.cli.watching import watch_runs

        watch_runs(Path(folder), console(plain))
        return
    summaries = [read(path.parent) for path in Path(folder).glob("*/recipe.toml")]
    newest_first = sorted(summaries, key=lambda summary: summary["started"], reverse=True)
    if as_json:
        print_json({"runs": newest_first})
        return
    rows = []
    for run in newest_first:
        test = run.get("test") or {}
        figure = next(((k, v) for k, v in test.items() if k != "loss"), None)
        shown = f"{figure[0]} {number(figure[1])}" if figure else run["state"]
        rows.append(
            [run["run"], run["recipe"], shown, str(run.get("steps", "–")), run.get("time", "–"), run["started"]]
        )
    screen = console(plain)
    screen.print(table("run", "recipe", "test", "steps", "time", "started", rows=rows))


def compare(
    first: str, second: str, /, *others: str, html: bool | str = False, plain: Plain = False, as_json: Json = False
) -> None:
    """Show how runs differ: what was asked for, where it ran, what came out.

    Examples to copy:

    - `gradlab compare runs/digits-mlp-3f2a runs/digits-mlp-91bc`
    - `gradlab compare runs/* --html`: a page that draws their curves over each other
    - `gradlab compare runs/a runs/b runs/c --html abc.html --json`

    Parameters
    ----------
    first
        A run folder.
    second
        Another.
    others
        And more.
    html
        Write a page with the curves of all of them, to this file; without a name, compare.html.
    """
    names = [first, second, *others]
    for name in names:
        if not (Path(name) / "recipe.toml").is_file():
            raise GradlabError(f"{name} is not a run: it has no recipe.toml. `gradlab runs` lists the runs here.")
    every = [sections(Path(name)) for name in names]
    differences: dict[str, dict[str, list[Any]]] = {}
    for section in ("recipe", "environment", "result"):
        keys = dict.fromkeys(key for run in every for key in run[section])
        values = {key: [run[section].get(key) for run in every] for key in keys}
        # Figures are shown even where they are equal: that they are is an answer too.
        always = section == "result"
        differences[section] = {k: v for k, v in values.items() if always or any(x != v[0] for x in v)}
    page = {} if html is False else {"page": str(_page(names, differences, html))}
    if as_json:
        print_json({"runs": names, **differences, **page})
        return
    screen = console(plain)
    for section, rows in differences.items():
        title = section.capitalize()
        if rows:
            shown = number if section == "result" else as_typed
            body = ([key, *map(shown, values)] for key, values in rows.items())
            screen.print(table("", *(Path(n).name for n in names), rows=body, title=title))
        else:
            screen.print(f"{title}: no difference.")
    for key, written in page.items():
        say(screen, key, written)


def _page(names: list[str], differences: dict[str, dict[str, list[Any]]], html: bool | str) -> Path:
    from gradlab.api import load_run
    from gradlab.report.comparison import write_comparison

    path = Path(html if isinstance(html, str) else "compare.html")
    return write_comparison([load_run(name) for name in names], differences, path)


def read(path: Path) -> dict[str, Any]:
    """A run's summary, from its files alone: neither torch nor the model is loaded. One that is damaged says so."""
    summary: dict[str, Any] = {"run": str(path), "state": "", "started": "", "recipe": "–"}
    try:
        environment, result, recipe = _files(path)
    except GradlabError as error:  # damaged, or no recipe
        return {**summary, "state": str(error)}
    code = "".join(f" --code {shlex.quote(name)}" for name in environment.get("code", {}))
    summary["state"] = "finished" if result else f"not finished: {recipe.resume_command(path, code)}"
    if result:
        summary |= {**_figures(result), "time": duration(result["seconds"])}
    return summary | {"started": environment.get("started", ""), "recipe": recipe.name}


def sections(path: Path) -> dict[str, dict[str, Any]]:
    """Recipe, environment and result of a run, each flat: dotted key to value."""
    environment, result, recipe = _files(path)
    where = {k: v for k, v in environment.items() if k not in ("started", "command")}
    pruning = result.get("pruning", {}) if result else {}
    pruned = {f"pruning.{key}": value for key, value in pruning.items() if key != "layers"}
    knobs, figures = recipe.flat() | pruned, flat(_figures(result) if result else {})
    return {"recipe": knobs, "environment": flat(where), "result": figures}


def _figures(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: result[key] for key in _FIGURES}


def _files(path: Path) -> tuple[EnvironmentFile, Result | None, Recipe]:
    recipe, sums = Recipe.read_run(path), FolderSums(path)
    again = f"It is made again by: {recipe.resume_command(path)}"
    return (
        sums.read_json("environment.json", EnvironmentFile),
        sums.read_json("result.json", Result, again) if (path / "result.json").exists() else None,
        recipe,
    )
