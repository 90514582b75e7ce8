"""`gradlab train` and `gradlab resume`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from gradlab.cli.output import console, figures_table, print_json, say
from gradlab.errors import GradlabError
from gradlab.recipes import DEFAULT
from gradlab.wording import count, duration, number

if TYPE_CHECKING:
    from gradlab.api import Observer, Run
    from gradlab.training.experiment import Experiment

Device = Literal["auto", "cpu", "cuda", "mps"]
Plain = Annotated[bool, Parameter(show_default=False, help="Clean text without colours or a live bar.")]
Json = Annotated[
    bool, Parameter(name="--json", show_default=False, help="Print one JSON object on stdout and nothing else.")
]

_RESULT_KEYS = ("run", "recipe", "steps", "seconds", "parameters", "validation", "test")


def train(
    name: str = DEFAULT,
    /,
    *overrides: str,
    data: str | None = None,
    out: str | None = None,
    device: Device = "auto",
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Train a recipe: by name, or from a TOML file, with any of its values changed.

    Examples to copy:

    - `gradlab train`: the default recipe, digits-mlp
    - `gradlab train digits-mlp model.hidden=256,256 model.dropout=0.2 train.epochs=10`
    - `gradlab train moons-mlp model.activation=gelu train.optimizer=momentum train.optimizer.momentum=0.95`
    - `gradlab train mnist-lenet --data FOLDER --device cuda`
    - `gradlab train runs/digits-mlp-3f2a/recipe.toml --out again`: the same run again, to the bit

    `gradlab recipes` lists the names, `gradlab recipes NAME` every key with its type, default and meaning.

    Parameters
    ----------
    name
        A recipe's name, or a TOML file.
    overrides
        Values to change, as `key=value`; lists by commas: `model.hidden=256,256`.
    data
        File or folder of the data, for recipes that need one; the same as `data.path=…`.
    out
        The run folder to make; it must not exist. Default: `runs/NAME-xxxx`.
    device
        Where to train; auto takes a GPU where there is one.
    """
    if "=" in name and not Path(name).is_file():  # the default recipe's name was left out
        name, overrides = DEFAULT, (name, *overrides)
    from gradlab import api

    screen = console(plain)
    experiment = api.prepare(name, read_overrides(overrides), data=data, device=device)
    if not as_json:
        show_plan(screen, experiment)
    run = api.start(experiment, out, [] if as_json else [progress(screen)])
    show_result(screen, run, as_json)


def resume(run: str, /, *, device: Device | None = None, plain: Plain = False, as_json: Json = False) -> None:
    """Go on with a run that was stopped or killed, to the bit as if it had not been.

    Example: `gradlab resume runs/digits-mlp-3f2a`

    The newest sound checkpoint is used; without one, the run starts at step 0. A finished run prints its result.

    Parameters
    ----------
    run
        The run folder.
    device
        Where to train; default where the run began.
    """
    from gradlab import api

    screen = console(plain)
    resumed = api.resume(run, device=device, observers=[] if as_json else [progress(screen)])
    show_result(screen, resumed, as_json)


def read_overrides(overrides: tuple[str, ...]) -> dict[str, str]:
    """`key=value` texts as a dictionary."""
    for text in overrides:
        if "=" not in text:
            raise GradlabError(f"{text!r} is not of the form key=value, such as train.lr=0.01.")
    return dict(text.split("=", 1) for text in overrides)


def progress(screen: Console) -> Observer:
    from gradlab.training.display import LiveProgress, PlainProgress

    return LiveProgress(screen) if screen.is_terminal else PlainProgress(sys.stdout)


def show_plan(screen: Console, experiment: Experiment) -> None:
    """What will be trained, before it is."""
    recipe, plan, sizes = experiment.recipe, experiment.plan, [len(experiment.dataset.split(s)) for s in _SPLITS]
    value, formula = experiment.task.expected_initial_loss()
    threads = (
        f", {experiment.threads} thread{'s' * (experiment.threads > 1)}" if experiment.device.type == "cpu" else ""
    )
    flops = f"{count(experiment.flops)} FLOPs per example"
    rows = {
        "recipe": recipe.name,
        "data": f"{recipe.data.name}: {sizes[0]:,} train, {sizes[1]:,} validation, {sizes[2]:,} test examples",
        "model": f"{recipe.model.name}: {experiment.parameters:,} parameters, {flops}",
        "plan": f"{experiment.steps:,} steps of {plan.examples_per_step(sizes[0]):,} examples, "
        f"{plan.optimizer.name}, learning rate {plan.lr:g}, {plan.schedule.name} schedule",
        "device": f"{experiment.device.type}{threads}, {experiment.mode} step",
        "initial loss": f"{number(experiment.initial_loss())}, expected {number(value)} ({formula})",
    }
    for key, text in rows.items():
        say(screen, key, text)


def show_result(screen: Console, run: Run, as_json: bool) -> None:
    """The final figures beside the trivial baseline, and where to look."""
    result = run.finished
    if as_json:
        print_json({**{key: result.get(key) for key in _RESULT_KEYS}, "run": str(run.path)})
        return
    ended = {"finished": "", "patience": ", stopped early"}[result["ended"]]
    say(
        screen,
        "done",
        f"{result['steps']:,} steps in {duration(result['seconds'])}{ended}; weights: {result['weights']}",
    )
    columns = {"test": result["test"], "validation": result["validation"]}
    if result["baseline"]:
        columns[f"baseline ({result['baseline']['name']}), test"] = result["baseline"].get("test", {})
    screen.print(figures_table(columns))
    say(screen, "run", str(run.path))
    say(screen, "report", str((run.path / "report.html").absolute()))


_SPLITS = ("train", "validation", "test")
