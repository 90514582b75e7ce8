"""`gradlab evaluate` and `gradlab predict`."""

import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from gradlab.cli.output import console, figures_table, print_json, say, table
from gradlab.cli.training import CodeFiles, Json, Plain, baseline_columns
from gradlab.errors import GradlabError, notice
from gradlab.printable import printable
from gradlab.wording import number

Threshold = Annotated[
    float | None,
    Parameter(
        help="Of two classes, predict the rarer where its probability is at least this; default the more probable."
    ),
]

_SHOWN = 20  # predictions printed in full; more go to a file or --json


def evaluate(
    run: str,
    /,
    *,
    split: Literal["train", "validation", "test"] | None = None,
    data: str | None = None,
    threshold: Threshold = None,
    tta: Annotated[
        Literal["none", "flip", "flip-shift"] | None,
        Parameter(help="Test-time augmentation of pictures: their mirror images too, and both moved by a pixel."),
    ] = None,
    code: CodeFiles = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Evaluate a trained run again on one of its splits, or on new data, beside the trivial baselines.

    Examples to copy:

    - `gradlab evaluate runs/digits-mlp-3f2a --split validation`
    - `gradlab evaluate runs/csv-3f2a --data this-year.csv`: new rows, with the target among their columns
    - `gradlab evaluate runs/images-3f2a --data FOLDER`: new pictures, in a folder for each class
    - `gradlab evaluate runs/mnist-lenet-3f2a --tta flip-shift`: outputs are means over views of each picture
    - `gradlab evaluate runs/text-gpt-3f2a --data another.txt`

    Parameters
    ----------
    run
        The run folder.
    split
        Which examples of its own data; default test.
    data
        New examples with their targets, of the kind it was trained on: all of them are evaluated. If the content is
        that of the run's own data, which have moved there, it is the split of those.
    """
    from gradlab.api import load_run

    opened = load_run(run, code=code)
    figures = opened.evaluate(split, data=data, threshold=threshold, tta=tta)
    baselines = opened.baselines(split, data=data)
    signatures = opened.task.signatures_of(figures)
    new = data is not None and opened.is_new(data)
    name = Path(data).name if data is not None and new else split or "test"
    if as_json:
        on = {"data": data, "examples": len(opened.examples(data=data))} if new else {"split": name}
        at = {key: value for key, value in {"threshold": threshold, "tta": tta}.items() if value is not None}
        how = {"signatures": signatures} if signatures else {}
        print_json({"run": run, **on, **at, **figures, "baselines": baselines, **how})
    else:
        screen = console(plain)
        screen.print(figures_table({name: figures} | baseline_columns(baselines, name)))
        for figure, signature in signatures.items():
            say(screen, figure, signature)


def predict(
    run: str,
    inputs: str,
    /,
    *,
    id_column: Annotated[
        str | None,
        Parameter(
            name="--id", help="A column of the file that names its rows; its values stand beside the predictions."
        ),
    ] = None,
    threshold: Threshold = None,
    beam: Annotated[
        int | None, Parameter(help="Of a run that writes texts: search with so many hypotheses; default the recipe's.")
    ] = None,
    prefix: Annotated[str | None, Parameter(help="Of a run that writes texts: how each of them must begin.")] = None,
    calibrated: Annotated[
        bool,
        Parameter(show_default=False, help="Give probabilities at the temperature fitted on the validation split."),
    ] = False,
    code: CodeFiles = None,
    plain: Plain = False,
    as_json: Json = False,
    as_csv: Annotated[
        bool,
        Parameter(
            name="--csv",
            show_default=False,
            help="Print one CSV line for each input and nothing else; the prediction has the name of the target.",
        ),
    ] = False,
    only: Annotated[
        Literal["labels", "probabilities"] | None,
        Parameter(help="With --csv: no probabilities, or nothing but a column for each class, which has its name."),
    ] = None,
) -> None:
    """Apply a trained run to raw inputs; they are preprocessed as its training data were.

    Examples to copy:

    - `gradlab predict runs/iris-softmax-3f2a 5.1,3.5,1.4,0.2`
    - `gradlab predict runs/digits-mlp-3f2a images.npy --json --calibrated`
    - `gradlab predict runs/csv-3f2a new-rows.csv --csv > predictions.csv`
    - `gradlab predict runs/csv-3f2a test.csv --id PassengerId --csv --only labels > submission.csv`
    - `gradlab predict runs/forecast-3f2a sales.csv --csv`: the next values of each series in the file
    - `gradlab predict runs/images-3f2a holiday.jpg`
    - `gradlab predict runs/images-3f2a FOLDER --json`: every picture below a folder
    - `gradlab predict runs/translate-3f2a "A dog runs." --beam 5`: a sentence, or a file with one on each line

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
    if only and not as_csv:
        raise GradlabError("--only says which columns --csv prints: give both.")
    opened = load_run(run, code=code)
    target = opened.reader.target
    if id_column is not None and id_column == target:
        raise GradlabError(f"--id {id_column} is the column that is predicted: name another.")
    reading = opened.reader.read(inputs, [] if id_column is None else [id_column])
    for note in reading.notes:
        notice(note)
    predictions = opened.describe(reading.values, calibrated, threshold, beam=beam, prefix=prefix)
    if "times" in predictions[0]:
        from gradlab.cli.forecasts import show_forecast

        form: Any = {"as_json": as_json, "as_csv": as_csv, "only": only}
        show_forecast(console(plain), opened, str(Path(inputs)), predictions, **form)
        return
    if calibrated and (refused := opened.finished["calibration"].get("refused")):
        print(f"Note: the probabilities are as trained, at temperature 1: {refused}.", file=sys.stderr)
    names = reading.beside[id_column] if id_column else reading.names
    first = id_column or (reading.named if reading.names else "row")
    if as_json:
        key = "id" if id_column else first
        named = predictions if names is None else [{key: n, **p} for n, p in zip(names, predictions, strict=True)]
        print_json({"run": run, "inputs": str(Path(inputs)), "predictions": named})
        return
    names = names or [str(row) for row in range(len(predictions))]
    if as_csv:
        _print_csv(first, names, predictions, target, only)
    else:
        _print_table(console(plain), first, names, predictions)


def _print_table(screen: Console, first: str, names: Sequence[str], predictions: list[dict[str, Any]]) -> None:
    columns = [
        key
        for key in ("label", "decision", "probability", "value", "text", "score", "coverage")
        if key in predictions[0]
    ]
    shown = zip(names[:_SHOWN], predictions[:_SHOWN], strict=True)
    rows = ([name, *(p[key] if key == "text" else number(p[key]) for key in columns)] for name, p in shown)
    screen.print(table(first, *columns, rows=rows))
    if len(predictions) > _SHOWN:
        screen.print(f"… {len(predictions) - _SHOWN:,} more; --json or --csv prints all of them.")


def _print_csv(
    first: str, names: Sequence[str], predictions: list[dict[str, Any]], target: str | None, only: str | None
) -> None:
    """A line for each input: label and a column for each class, or a column for each value."""
    shown: Callable[[Any], Any] = printable if sys.stdout.isatty() else lambda value: value
    writer = csv.writer(sys.stdout, lineterminator="\n")
    classes = list(predictions[0].get("probabilities", {}))
    several = predictions[0].get("value")
    alone = "text" if "text" in predictions[0] else "value"
    values = [f"value {i}" for i in range(len(several))] if isinstance(several, list) else [target or alone]
    if only == "probabilities" and not classes:
        raise GradlabError("--only probabilities: this run predicts numbers, which have no probabilities.")
    label = [] if only == "probabilities" else [target or "label"]
    chances = [] if only == "labels" else classes
    # Alone, they are what is asked for; beside the label, a class may have the name of another column.
    headings = chances if only else [f"p({name})" for name in chances]
    writer.writerow(map(shown, [first, *([*label, *headings] if classes else values)]))
    for name, prediction in zip(names, predictions, strict=True):
        if classes:
            row = [*[prediction["label"]] * len(label), *(prediction["probabilities"][c] for c in chances)]
        else:
            value = prediction[alone]
            row = value if isinstance(value, list) else [value]
        writer.writerow(map(shown, [name, *row]))
