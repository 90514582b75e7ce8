"""`gradlab evaluate` and `gradlab predict`."""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from gradlab.cli.output import console, figures_table, print_json, table
from gradlab.cli.training import CodeFiles, Json, Plain, baseline_columns
from gradlab.errors import GradlabError
from gradlab.printable import printable
from gradlab.wording import number

_SHOWN = 20  # predictions printed in full; more go to a file or --json


def evaluate(
    run: str,
    /,
    *,
    split: Literal["train", "validation", "test"] = "test",
    code: CodeFiles = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Judge a trained run again on one of its splits, beside the trivial baselines.

    Example: `gradlab evaluate runs/digits-mlp-3f2a --split validation`

    Parameters
    ----------
    run
        The run folder.
    split
        Which examples.
    """
    from gradlab.api import load_run

    opened = load_run(run, code=code)
    figures, baselines = opened.evaluate(split), opened.baselines(split)
    if as_json:
        print_json({"run": run, "split": split, **figures, "baselines": baselines})
    else:
        console(plain).print(figures_table({split: figures} | baseline_columns(baselines, split)))


def predict(
    run: str,
    inputs: str,
    /,
    *,
    calibrated: Annotated[
        bool,
        Parameter(show_default=False, help="Give probabilities at the temperature fitted on the validation split."),
    ] = False,
    code: CodeFiles = None,
    plain: Plain = False,
    as_json: Json = False,
    as_csv: Annotated[
        bool, Parameter(name="--csv", show_default=False, help="Print one CSV line for each input and nothing else.")
    ] = False,
) -> None:
    """Apply a trained run to raw inputs; they are preprocessed as its training data were.

    Examples to copy:

    - `gradlab predict runs/iris-softmax-3f2a 5.1,3.5,1.4,0.2`
    - `gradlab predict runs/digits-mlp-3f2a images.npy --json --calibrated`
    - `gradlab predict runs/csv-3f2a new-rows.csv --csv > predictions.csv`
    - `gradlab predict runs/images-3f2a holiday.jpg`
    - `gradlab predict runs/images-3f2a FOLDER --json`: every picture below a folder

    Parameters
    ----------
    run
        The run folder.
    inputs
        A file like the ones the run was trained on: a table with the same columns (.csv, .json), a picture or a
        folder of pictures, arrays (.npy, .npz with array x); or the values of one example with commas between them.
    """
    from gradlab.api import load_run

    if as_json and as_csv:
        raise GradlabError("--json and --csv cannot both be printed: choose one.")
    opened = load_run(run, code=code)
    reading = opened.reader.read(inputs)
    predictions = opened.describe(reading.values, calibrated)
    if calibrated and (refused := opened.finished["calibration"].get("refused")):
        print(f"Note: the probabilities are as trained, at temperature 1: {refused}.", file=sys.stderr)
    names = reading.names or [str(row) for row in range(len(predictions))]
    first = "file" if reading.names else "row"
    if as_json:
        named = [{first: name, **p} for name, p in zip(names, predictions, strict=True)]
        print_json({"run": run, "inputs": str(Path(inputs)), "predictions": named if reading.names else predictions})
    elif as_csv:
        _print_csv(first, names, predictions)
    else:
        _print_table(console(plain), first, names, predictions)


def _print_table(screen: Console, first: str, names: list[str], predictions: list[dict[str, Any]]) -> None:
    columns = [key for key in ("label", "probability", "value") if key in predictions[0]]
    shown = zip(names[:_SHOWN], predictions[:_SHOWN], strict=True)
    rows = ([name, *(number(p[key]) for key in columns)] for name, p in shown)
    screen.print(table(first, *columns, rows=rows))
    if len(predictions) > _SHOWN:
        screen.print(f"… {len(predictions) - _SHOWN:,} more; --json or --csv prints all of them.")


def _print_csv(first: str, names: list[str], predictions: list[dict[str, Any]]) -> None:
    """A line for each input: label and a column for each class, or a column for each value."""
    shown: Callable[[Any], Any] = printable if sys.stdout.isatty() else lambda value: value
    writer = csv.writer(sys.stdout, lineterminator="\n")
    classes = list(predictions[0].get("probabilities", {}))
    several = predictions[0].get("value")
    values = [f"value {i}" for i in range(len(several))] if isinstance(several, list) else ["value"]
    writer.writerow(map(shown, [first, *(["label", *(f"p({name})" for name in classes)] if classes else values)]))
    for name, prediction in zip(names, predictions, strict=True):
        if classes:
            row = [prediction["label"], *(prediction["probabilities"][c] for c in classes)]
        else:
            value = prediction["value"]
            row = value if isinstance(value, list) else [value]
        writer.writerow(map(shown, [name, *row]))
