"""`gradlab sweep`."""

from __future__ import annotations

import shlex
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.requests import read_overrides, shared_options
from gradlab.cli.studies import going_on, show_folder
from gradlab.cli.training import CodeFiles, Device, Json, Plain, load_code, progress
from gradlab.errors import GradlabError
from gradlab.wording import name_of, number

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

    from gradlab.studies.sweep import Sweep
    from gradlab.studies.workers import NotifyTrial

_SHOWN = 10  # of the best trials


def sweep(
    name: str | None = None,
    /,
    *knobs: str,
    trials: int = 20,
    jobs: int = 1,
    metric: str | None = None,
    data: str | None = None,
    code: CodeFiles = None,
    out: str | None = None,
    storage: str | None = None,
    device: Device = "auto",
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Search for good values of any knobs, judged on the validation split.

    Examples to copy:

    - `gradlab sweep digits-mlp train.lr=1e-4:1e-1:log model.dropout=0:0.5 --trials 30`
    - `gradlab sweep digits-mlp model.hidden=64/128/128,128 train.optimizer=adam,momentum train.epochs=10`
    - `gradlab sweep wine-mlp train.lr=1e-4:1e-1:log train.batch_size=8:64 --trials 40 --jobs 2 --out search`
    - the last one again: goes on where it was, also after a crash; from a second terminal: helps

    A range is `LOW:HIGH`, or `LOW:HIGH:log` to search it in the logarithm; choices are parted by commas, choices of
    lists by slashes; a single value is not searched, only set. Values come from Optuna's TPE, trials that are worse
    than the median are stopped early, and the run of the best one is kept.

    Parameters
    ----------
    name
        A recipe's name, a TOML file, a Python file that registers recipes, or data, whose kind says which recipe.
    knobs
        What to search, as `key=RANGE` or `key=CHOICES`, and what to set, as `key=value`.
    trials
        How many trials there shall be in all; those of earlier calls on the same folder count.
    jobs
        Processes that work at the same time.
    metric
        What to judge by; default the first metric of the task, with a rare class a ranking (see task.best_metric).
    data
        File or folder of the data, for recipes that need one; the same as `data.path=…`.
    out
        The folder of the search. One that exists is gone on with. Default: `runs/NAME-sweep-xxxx`.
    storage
        URL of a database to share between machines; default a file in the folder.
    device
        Where to train; auto takes a GPU where there is one.
    """
    if name is not None and "=" in name and not exists(name):  # the recipe's name was left out
        knobs, name = (name, *knobs), None
    load_code(code)
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise GradlabError('gradlab sweep needs Optuna, which is not installed: pip install "gradlab[sweep]"') from None
    from gradlab.recipes.keys import complete_keys
    from gradlab.recipes.request import TrainingRequest
    from gradlab.run.folder import new_path
    from gradlab.studies.sweep import sweep as run
    from gradlab.training.environment import find_device

    screen = console(plain)
    request = TrainingRequest.complete(name, {}, data)
    name, data, recipe = request.name, request.data, request.recipe(find_device(device).type)
    # Processes that share a storage find each other by the folder's name, which must then not be drawn.
    folder = Path(out) if out else Path("runs", f"{recipe.name}-sweep") if storage else new_path(f"{recipe.name}-sweep")
    options = {"--trials": trials, "--jobs": jobs, "--metric": metric, "--storage": storage}
    arguments = [part for key, value in options.items() if value is not None for part in (key, str(value))]
    command = shlex.join(["gradlab", "train", name, *shared_options(data, code or [], device)])
    with going_on(
        shlex.join(["gradlab", "sweep", name, *shared_options(data, code or [], device), *knobs, *arguments]), folder
    ):
        result = run(
            recipe,
            complete_keys(recipe, read_overrides(knobs)),
            trials,
            folder,
            device,
            jobs=jobs,
            storage=storage,
            metric=metric,
            observers=[progress(screen)] if screen.is_terminal and jobs == 1 and not as_json else [],
            notify=None if as_json else _notifier(screen, trials),
            command=command,
        )
    if as_json:
        print_json(result.to_json())
    else:
        show_sweep(screen, result, command)
        show_folder(screen, result.path)


def _notifier(screen: Console, trials: int) -> NotifyTrial:
    """A line for each trial, as soon as it has ended."""
    from gradlab.studies.search import count_ended
    from gradlab.studies.sweep import sweep_trial

    def notify(trial: FrozenTrial, study: optuna.Study) -> None:
        result = sweep_trial(trial)
        values = ", ".join(f"{key.split('.')[-1]}={shown(value)}" for key, value in result.changes.items())
        outcome = number(result.value) if result.complete else result.ended
        say(screen, "trial", f"{trial.number} ({count_ended(study)} of {trials}) | {values} | {outcome}")

    return notify


def show_sweep(screen: Console, result: Sweep, command: str) -> None:
    """The best trials, the best values, and the command that trains them."""
    ranked = result.ranked
    rows = [
        [str(trial.number), number(trial.value), *(shown(trial.changes.get(key)) for key in result.space)]
        for trial in ranked[:_SHOWN]
    ]
    knobs = [key.split(".", 1)[-1] for key in result.space]
    screen.print(table("trial", f"validation {name_of(result.metric)}", *knobs, rows=rows))
    if result.importance:
        say(screen, "importance", ", ".join(f"{key} {share:.0%}" for key, share in result.importance.items()))
    if result.best is None:
        say(screen, "best", "none: no trial came to its end. Look at the ranges, or ask for more trials.")
        return
    place = result.best_run or "another folder"
    if result.tie:
        say(screen, "tie", result.tie)
    say(
        screen,
        "first" if result.tie else "best",
        f"validation {name_of(result.metric)} {number(result.best.value)}, trained in {place}",
    )
    say(screen, "train", f"{command} {result.overrides}")


def shown(value: Any) -> str:
    """A value to three digits: the command below has them all."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
