"""A page that follows a training: written anew every few seconds, and loaded anew by itself."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradlab.errors import GradlabError
from gradlab.files import write_file
from gradlab.markup import Html, card, join, tag
from gradlab.report import curves
from gradlab.report.page import page
from gradlab.wording import duration, name_of, number

if TYPE_CHECKING:
    from pathlib import Path

    from gradlab.run import Run
    from gradlab.run.status import RunStatus

EVERY = 2.0  # seconds
_PATIENCE = 30.0  # seconds that a finished run may take to write its report


def follow(run: "Run", notify: Callable[["Path"], None]) -> "RunStatus":
    """Write live.html into the folder of a running training until it ends, and say then where it stands.

    `notify` is called when the page is there. However this ends, the page then no longer loads itself again.
    """
    from gradlab.run.status import RunStatus

    now = RunStatus.of(run)
    _check(run, now)
    path = run.output("live.html")
    _write(path, run, now, str(round(EVERY)))
    notify(path)
    try:
        while now.state == "running":
            time.sleep(EVERY)
            before, now = now, RunStatus.of(run)
            if now != before:
                _write(path, run, now, str(round(EVERY)))
        if now.state == "finished":
            _wait_for(run.path / "report.html")
    finally:
        reported = now.state == "finished" and (run.path / "report.html").exists()
        _write(path, run, now, "0; url=report.html" if reported else "")
    return now


def _check(run: "Run", now: "RunStatus") -> None:
    if now.state == "finished":
        raise GradlabError(f"{run.path} is finished: there is nothing to watch. Open {run.path / 'report.html'}")
    if now.state == "stopped":
        raise GradlabError(f"{run.path} is not being trained now. Go on with: {run.resume_command}")


def _wait_for(path: "Path") -> None:
    deadline = time.monotonic() + _PATIENCE
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.1)


def _write(path: "Path", run: "Run", now: "RunStatus", refresh: str) -> None:
    body = [_head(run, now), curves.learning_section(run), curves.health_section(run)]
    write_file(path, page(" · ".join([now.state, *run.names]), join(body), refresh=refresh))


def _head(run: "Run", now: "RunStatus") -> Html:
    folder, *others = run.names
    of = "" if now.total is None else f" of {now.total:,}"
    rest = f"; about {duration(now.remaining)} to go" if now.remaining is not None and now.state == "running" else ""
    lead = f"Step {now.step:,}{of}, epoch {now.epoch:.3g}, after {duration(now.seconds)}{rest}."
    return tag(
        "header",
        tag("p", " · ".join([now.state, *others]), class_="over"),
        tag("h1", folder),
        tag("p", lead, class_="lead"),
        tag("div", *_cards(run, now), class_="figures"),
    )


def _cards(run: "Run", now: "RunStatus") -> list[Html]:
    """The last figures, and below those of the validation split the best so far, by the criterion."""
    cards = [card("training loss", number(now.train["loss"]), {"step": f"{now.train['step']:,}"})] if now.train else []
    criterion = run.task.criterion
    evaluated = [line for line in run.metrics if line["split"] == "validation" and criterion.figure in line]
    for name in dict.fromkeys(("loss", run.task.headline)) if now.validation and evaluated else ():
        best = (max if criterion.higher_is_better else min)(evaluated, key=lambda line: line[criterion.figure])
        beside = {f"best, step {best['step']:,}": number(best.get(name))}
        cards.append(card(f"validation {name_of(name)}", number(now.validation.get(name)), beside))
    return cards
