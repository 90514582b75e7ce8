"""`gradlab runs --watch` and `gradlab report`: following trainings that other processes run."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.training import CodeFiles, Flag, Json, Plain
from gradlab.errors import GradlabError
from gradlab.printable import printable
from gradlab.wording import duration, number

if TYPE_CHECKING:
    from gradlab.run.status import RunStatus

_EVERY = 1.0  # seconds
_COLUMNS = ("run", "recipe", "state", "step", "training loss", "validation loss", "time")


def watch_runs(folder: Path, screen: Console) -> None:
    """Until Ctrl-C: a table that renews itself in a terminal, elsewhere a line for each run that has moved on."""
    try:
        if screen.is_terminal:
            with Live(_table(_rows(folder)), console=screen, auto_refresh=False) as live:
                while True:
                    live.update(_table(_rows(folder)), refresh=True)
                    time.sleep(_EVERY)
        _print_changes(folder, screen)
    except KeyboardInterrupt:
        return


def _print_changes(folder: Path, screen: Console) -> None:
    seen: dict[str, list[str]] = {}
    while True:
        for row in _rows(folder):
            if seen.get(row[0]) != row:
                seen[row[0]] = row
                name, _, state, step, *losses, seconds = row
                words = [f"{key} {value}" for key, value in zip(_COLUMNS[4:6], losses, strict=True) if value != "–"]
                screen.print(Text(printable(f"{name}: {', '.join([state, f'step {step}', *words, seconds])}")))
        screen.file.flush()
        time.sleep(_EVERY)


def _table(rows: list[list[str]]) -> Table:
    return table(*_COLUMNS, rows=rows)


def _rows(folder: Path) -> list[list[str]]:
    """Those that are being trained first, then the newest."""
    from gradlab.run import Run
    from gradlab.run.status import RunStatus

    listed = []
    for path in folder.glob("*/recipe.toml"):
        run = Run(path.parent)
        try:
            now, recipe, started = RunStatus.of(run), run.recipe.name, run.environment.get("started", "")
        except GradlabError as error:
            listed.append((False, "", [str(path.parent), "–", printable(str(error), 60), "–", "–", "–", "–"]))
            continue
        listed.append((now.state == "running", started, [str(path.parent), recipe, *_cells(now)]))
    return [row for _, _, row in sorted(listed, key=lambda each: each[:2], reverse=True)]


def _cells(now: "RunStatus") -> list[str]:
    of = f" of {now.total:,}" if now.total is not None and now.state != "finished" else ""
    losses = [number(line.get("loss")) for line in (now.train, now.validation)]
    return [now.state, f"{now.step:,}{of}", *losses, duration(now.seconds)]


def report(
    run: str, /, *, watch: Flag = False, code: CodeFiles = None, plain: Plain = False, as_json: Json = False
) -> None:
    """Write the report of a finished run again, or follow one that is being trained on a page of its own.

    Examples to copy:

    - `gradlab report runs/digits-mlp-3f2a`
    - `gradlab report runs/digits-mlp-3f2a --watch`: live.html in its folder renews itself until the training ends

    Parameters
    ----------
    run
        The run folder.
    watch
        Follow a training that another process runs; Ctrl-C ends the watching alone.
    """
    from gradlab.api import load_run
    from gradlab.report import write_report
    from gradlab.report.live import follow

    opened, screen = load_run(run, code=code), console(plain)
    if not watch:
        page = write_report(opened)
        print_json({"run": run, "report": str(page)}) if as_json else say(screen, "report", str(page.absolute()))
        return
    if as_json:
        raise GradlabError("--watch is for people. A script reads metrics.jsonl in the run folder, line by line.")
    try:
        ended = follow(opened, lambda path: say(screen, "page", f"{path.absolute()}, until Ctrl-C or the end"))
    except KeyboardInterrupt:
        return
    if ended.state == "finished":
        say(screen, "finished", str((opened.path / "report.html").absolute()))
    else:
        say(screen, "stopped", f"at step {ended.step:,}. Go on with: {opened.resume_command}")
