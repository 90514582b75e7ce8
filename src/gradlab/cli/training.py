"""`gradlab train` and `gradlab resume`."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping
from os.path import exists
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from gradlab.cli.output import console, figures_table, print_json, say, table
from gradlab.cli.requests import read_request, shared_options
from gradlab.errors import Interrupted
from gradlab.recipes import DEFAULT
from gradlab.wording import as_typed, baseline_verdict, count, counted, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.api import Observer, Run
    from gradlab.training.experiment import Experiment

Device = Literal["auto", "cpu", "cuda", "mps"]
Plain = Annotated[bool, Parameter(show_default=False, help="Clean text without colours or a live bar.")]
Json = Annotated[
    bool,
    Parameter(
        name="--json",
        show_default=False,
        help="Print one JSON object on stdout and nothing else; if it fails, {'error': …}.",
    ),
]
Flag = Annotated[bool, Parameter(show_default=False)]
CodeFiles = Annotated[
    list[str] | None,
    Parameter(
        name="--code",
        help="A Python file of your own, which is run: what it registers can then be named. May be given again.",
    ),
]

MovedData = Annotated[
    str | None,
    Parameter(
        name="--data", help="Where the data of the run are now, if they have moved. Their content must be the same."
    ),
]

_RESULT_KEYS = ("run", "recipe", "steps", "seconds", "parameters", "validation", "test", "findings")


def train(
    name: str | None = None,
    /,
    *overrides: str,
    data: str | None = None,
    target: str | None = None,
    code: CodeFiles = None,
    out: str | None = None,
    device: Device = "auto",
    from_run: Annotated[str | None, Parameter(name="--from")] = None,
    freeze: str | None = None,
    check: Flag = False,
    folds: int | None = None,
    seeds: int | None = None,
    find_lr: Flag = False,
    curve: Flag = False,
    vary: list[str] | None = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Train on a file or folder, or train a recipe, by name or from a TOML file, with any of its values changed.

    Examples to copy:

    - `gradlab train`: the default recipe, digits-mlp
    - `gradlab train houses.csv --target price`: a table of your own; the first line printed is the command in full
    - `gradlab train photos/`: images, in a folder for each class
    - `gradlab train digits-mlp model.hidden=256,256 model.dropout=0.2 train.epochs=10`
    - `gradlab train moons-mlp model.activation=gelu train.optimizer=momentum train.optimizer.momentum=0.95`
    - `gradlab train mnist-lenet --data FOLDER --device cuda`
    - `gradlab train runs/digits-mlp-3f2a/recipe.toml --out again`: the same run again, to the bit
    - `gradlab train forecast --data sales.csv data.time=day data.target=sold data.horizon=14`: the next two weeks
    - `gradlab train mine.py model.width=64`: a recipe of your own; `mine.py:name` where the file has several
    - `gradlab train digits-mlp model=mine --code mine.py`: a part of your own in a recipe of ours
    - `gradlab train digits-transfer --from runs/digits-trunk-3f2a`: from the weights of a finished run
    - `gradlab train digits-transfer --from runs/digits-trunk-3f2a --freeze trunk train.thaw=0.5`: its last layer first
    - `torchrun --nproc-per-node 2 -m gradlab train digits-mlp`: two processes that share every batch

    Several trainings, to learn something about a recipe; each writes a folder with a report, and goes on where it was
    when it is started again with the same `--out`:

    - `gradlab train digits-mlp --check`: first a few tests that find what is wrong in seconds, then train
    - `gradlab train digits-mlp --find-lr`: raise the learning rate step by step, and suggest one
    - `gradlab train wine-mlp --folds 5`: cross-validation, with mean and standard deviation over the folds
    - `gradlab train digits-mlp --seeds 5`: how much is luck, with mean and standard deviation over the seeds
    - `gradlab train digits-mlp --curve`: how much better it gets with more examples
    - `gradlab train curve-fitting --vary model.degree=1,2,3,5,9`: underfitting and overfitting in one picture
    - `gradlab train digits-mlp --vary model.hidden=16/64/64,64 --vary train.lr=1e-4,1e-3,1e-2`: two knobs
    - `gradlab train digits-mlp --vary model.hidden=16/64 --seeds 5`: mean and standard deviation for each value

    `gradlab recipes` lists the names, `gradlab recipes NAME` every key with its type, default and meaning.

    Parameters
    ----------
    name
        A recipe's name, a TOML file, a Python file that registers recipes, or data: then their kind says which recipe.
        Default: digits-mlp, or what `--data` suggests.
    overrides
        Values to change, as `key=value`; lists by commas: `model.hidden=256,256`. A key may be short, as in `lr=0.01`,
        where only one part of the recipe has it.
    data
        File or folder of the data, for recipes that need one; the same as `data.path=…`.
    target
        The column to predict, for tables; the same as `data.target=…`.
    out
        The run folder to make; it must not exist. Default: `runs/NAME-xxxx`.
    device
        Where to train; auto takes a GPU where there is one.
    from_run
        A finished run of a classifier, whose weights the model starts from, with a new last layer if its classes are
        others; the same as `train.from_run=…`.
    freeze
        Parts of the model that stay as they are, by commas; `trunk` is all but the last layer. The same as
        `train.freeze=…`; `train.thaw=0.5` has them learn too, at a lower rate, from the middle of the run on.
    check
        Before the training: is the initial loss right, can a few examples be memorized, do the inputs matter?
        If a check fails, nothing is trained, and the exit code is 3.
    folds
            Train N times, each time tested on another part of the data.
    seeds
        Train N times with another seed, from train.seed upwards: other weights, order and dropout, the same data.
            With `--vary`, each of its values.
    find_lr
        Find a learning rate instead of training.
    curve
        Train on more and more of the examples.
    vary
        Train with each value of a knob: `KEY=V1,V2,…`, or `KEY=1:9` for whole numbers; lists are parted by slashes.
        May be given twice, for every pair of values.
    """
    if name is not None and "=" in name and not exists(name):  # the recipe's name was left out
        overrides, name = (name, *overrides), None
    options = {"train.from_run": from_run, "train.freeze": freeze, "data.target": target}
    overrides = (*(f"{key}={value}" for key, value in options.items() if value is not None), *overrides)
    load_code(code)
    screen = console(plain)
    typed = name or DEFAULT, data, overrides
    request = read_request(name, overrides, data)
    name, data, overrides = request.name, request.data, request.texts
    if check or folds is not None or seeds is not None or find_lr or curve or vary:
        from gradlab.cli import studies

        study = studies.StudyRequest(
            name=name,
            overrides=overrides,
            data=data,
            code=code or [],
            out=out,
            device=device,
            screen=screen,
            as_json=as_json,
        )
        studies.train(study, folds=folds, seeds=seeds, find_lr=find_lr, curve=curve, vary=vary or [], check=check)
        return
    from gradlab import api

    try:
        experiment = api.prepare(name, request.changes, data=data, device=device)
        if not as_json:
            if (name, data, overrides) != typed:
                words = [name, *shared_options(data, code or [], device), *overrides]
                say(screen, "command", shlex.join(["gradlab", "train", *words]))
            show_plan(screen, experiment)
        run = api.start(experiment, out, [] if as_json else [progress(screen)])
    except KeyboardInterrupt:
        raise Interrupted("Interrupted before the training began: no run folder was made.") from None
    show_result(screen, run, as_json)


def resume(
    run: str,
    /,
    *,
    data: MovedData = None,
    code: CodeFiles = None,
    changed_code: Flag = False,
    device: Device | None = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Go on with a run that was stopped or killed, to the bit as if it had not been.

    Examples to copy:

    - `gradlab resume runs/digits-mlp-3f2a`
    - `gradlab resume runs/csv-3f2a --data elsewhere/houses.csv`: its data have moved
    - `gradlab resume runs/mine-3f2a --code mine.py`: a run of a recipe of your own

    The newest sound checkpoint is used; without one, the run starts at step 0. A finished run prints its result.

    Parameters
    ----------
    run
        The run folder.
    changed_code
        Go on although the file is not the one that the run was trained with.
    device
        Where to train; default where the run began.
    """
    from gradlab import api

    load_code(code)
    screen = console(plain)
    observers = [] if as_json else [progress(screen)]
    resumed = api.resume(run, data=data, device=device, observers=observers, changed_code=changed_code, progress=False)
    show_result(screen, resumed, as_json)


def load_code(code: list[str] | None) -> None:
    """Run the user's files, so that what they register can be named."""
    from gradlab import owners

    for file in code or []:
        owners.load(file)


def progress(screen: Console) -> Observer:
    from gradlab.training.display import LiveProgress, PlainProgress

    return LiveProgress(screen) if screen.is_terminal else PlainProgress(sys.stdout)


def show_plan(screen: Console, experiment: Experiment) -> None:
    """What will be trained, before it is."""
    from gradlab.data.dataset import split_size
    from gradlab.training.capture import mode_in_words
    from gradlab.training.preview import preview
    from gradlab.training.transfer import start_in_words

    recipe, plan, sizes = experiment.recipe, experiment.plan, [split_size(experiment.dataset.split(s)) for s in _SPLITS]
    each = f" of {plan.examples_per_step(sizes[0]):,} examples" if sizes[0] else ""
    threads = (
        f", {experiment.threads} thread{'s' * (experiment.threads > 1)}" if experiment.device.type == "cpu" else ""
    )
    flops = f"{count(experiment.flops)} FLOPs per example"
    rows = {
        "recipe": recipe.name,
        "on a CPU": _on_cpu(experiment),
        "data": f"{recipe.data.name}: {sizes[0]:,} train, {sizes[1]:,} validation, {sizes[2]:,} test examples"
        if sizes[0]
        else f"{recipe.data_name}: {experiment.dataset.preprocessing.spec}",
        "model": f"{recipe.model.name}: {experiment.parameters:,} parameters, {flops}",
        "start": start_in_words(plan, experiment.steps),
        "plan": _planned(experiment, each),
        "schedule": preview(plan, experiment.steps),
        "device": f"{experiment.device.type}{threads}, {mode_in_words(experiment.mode, experiment.mode_reason)}",
        "processes": processes(experiment),
        "best weights": _selection(experiment),
        "initial loss": _initial(experiment),
    }
    for key, text in rows.items():
        if text:
            say(screen, key, text)
    show_columns(screen, experiment)
    for note in experiment.notes:
        say(screen, "note", note)


def _on_cpu(experiment: Experiment) -> str:
    """What is smaller than on a GPU, which the recipe has in mind."""
    from gradlab.recipes import cpu_changes

    recipe = experiment.recipe
    changes = cpu_changes.get(recipe.name, {}) if experiment.device.type == "cpu" else {}
    kept = [f"{key}={as_typed(value)}" for key, value in changes.items() if recipe.flat().get(key) == value]
    return f"{', '.join(kept)}; gradlab recipes {recipe.name} shows what a GPU would train" if kept else ""


def _planned(experiment: Experiment, each: str) -> str:
    """How long and by which rule it learns; `each` says of how many examples a step is."""
    from gradlab.training.step import learns_without_gradients

    plan, model = experiment.plan, experiment.model
    if getattr(model, "learning_steps", None) == 1:
        return "one pass over the training split, without gradients"
    rule = f"{plan.optimizer.name}, learning rate {plan.lr:g}, {plan.schedule.name} schedule"
    return f"{experiment.steps:,} steps{each}, {'without gradients' if learns_without_gradients(model) else rule}"


def processes(experiment: Experiment) -> str:
    """How a training is shared, where several processes do it together."""
    from torch import nn

    from gradlab import parallel
    from gradlab.training.step import learns_without_gradients

    if parallel.count() == 1:
        return ""
    if learns_without_gradients(experiment.model):
        return f"{parallel.count()}, which all do the same: what is learned without gradients cannot be shared"
    normalised = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in experiment.model.modules())
    over = "over all" if experiment.plan.sync_batch_norm else "by itself in each (see train.sync_batch_norm)"
    return f"{parallel.count()}, each with its part of every batch" + f"; batch normalisation {over}" * normalised


def _selection(experiment: Experiment) -> str:
    """The figure that selects weights, where a rare class makes it another one than the loss."""
    from gradlab.tasks.rare_class import selection_reason

    why = selection_reason(experiment.task) if len(experiment.dataset.validation) else ""
    return f"by validation {name_of(experiment.task.criterion.figure)}: {why}" if why else ""


def _initial(experiment: Experiment) -> str:
    """What the model costs at first, and beside it, if it is a fresh one, what one that knows nothing should."""
    loss, (value, formula) = experiment.initial_loss(), experiment.task.expected_initial_loss()
    if math.isnan(loss):
        return ""
    return (
        number(loss)
        if math.isnan(value) or experiment.plan.from_run
        else f"{number(loss)}, expected {number(value)} ({formula})"
    )


def show_columns(screen: Console, experiment: Experiment) -> None:
    """What each column of a table was taken for."""
    reader = experiment.dataset.raw.reader
    if reader is None or not reader.describe().get("columns"):
        return
    columns = reader.describe()["columns"]
    rows = ([c["name"], c["kind"], c["use"], c["note"]] for c in columns[:_COLUMNS])
    screen.print(table("column", "kind", "use", "values", rows=rows))
    if len(columns) > _COLUMNS:
        screen.print(f"… {len(columns) - _COLUMNS:,} more columns; data.json of the run has them all.")


def result_object(run: Run) -> dict[str, Any]:
    """What `--json` prints of a finished run."""
    result = run.finished
    more: dict[str, Any] = {key: result[key] for key in ("notes", "backtest", "best_baseline") if key in result}
    return {**{key: result.get(key) for key in _RESULT_KEYS}, **more, "run": str(run.path)}


def show_result(screen: Console, run: Run, as_json: bool) -> None:
    """The final figures beside the trivial baselines, and where to look."""
    result = run.finished
    if as_json:
        print_json(result_object(run))
        return
    ended = {"finished": "", "patience": ", stopped early"}[result["ended"]]
    say(
        screen,
        "done",
        f"{counted(result['steps'], 'step')} in {duration(result['seconds'])}{ended}; weights: {result['weights']}",
    )
    columns = {"test": result["test"], "validation": result["validation"]}
    baselines = result.get("baselines", {}).get("test", {})
    screen.print(figures_table(columns | baseline_columns(baselines, "test")))
    show_calibration(screen, result)
    for note in result.get("notes", []):
        say(screen, "note", note)
    show_findings(screen, run)
    say(screen, "run", str(run.path))
    say(screen, "report", str((run.path / "report.html").absolute()))
    if verdict := baseline_verdict(result.get("best_baseline", {})):
        say(screen, "verdict", verdict)


def baseline_columns(baselines: Mapping[str, Mapping[str, float]], split: str) -> dict[str, Mapping[str, float]]:
    """The figures of trivial predictors, to stand beside those of a model."""
    return {f"baseline ({name}), {split}": figures for name, figures in baselines.items()}


def show_calibration(screen: Console, result: dict[str, Any]) -> None:
    """How far a classifier's confidence is from its accuracy, as it is and at the temperature that was fitted."""
    calibration = result.get("calibration", {})
    if "test_ece" not in calibration:
        return
    words = f"test ECE {calibration['test_ece']:.3f}"
    if "refused" in calibration:
        words += f"; temperature 1: {calibration['refused']}"
    else:
        words += f", {calibration['test_ece_calibrated']:.3f} at temperature {calibration['temperature']:.3g} "
        words += f"(fitted on {calibration['split']})"
    say(screen, "calibration", words)


def show_findings(screen: Console, run: Run) -> None:
    """What the doctor says: a line if nothing is wrong, and else three for each of the gravest findings."""
    if run.findings is None:
        return
    grave = [finding for finding in run.findings if finding.severity != "note"]
    if not grave and run.finished["steps"] >= _JUDGED:
        beaten = baseline_verdict(run.finished.get("best_baseline", {}))
        say(screen, "doctor", "no fault in the training, but see the verdict" if beaten else "looks healthy")
    for finding in grave[:_FINDINGS]:
        say(screen, "doctor", f"{finding.severity}: {finding.title}")
        say(screen, "", finding.evidence)
        say(screen, "", f"change: {finding.fix}")


_JUDGED = 30  # steps: of fewer, little can be said
_FINDINGS = 3
_SPLITS = ("train", "validation", "test")
_COLUMNS = 40  # of a table that are shown
