"""`gradlab evaluate` and `gradlab predict`."""

from pathlib import Path
from typing import Literal

from gradlab.cli.output import console, figures_table, print_json, table
from gradlab.cli.training import Json, Plain
from gradlab.wording import number

_SHOWN = 20  # predictions printed in full; more go to a file or --json


def evaluate(
    run: str, /, *, split: Literal["train", "validation", "test"] = "test", plain: Plain = False, as_json: Json = False
) -> None:
    """Judge a trained run again on one of its splits.

    Example: `gradlab evaluate runs/digits-mlp-3f2a --split validation`

    Parameters
    ----------
    run
        The run folder.
    split
        Which examples.
    """
    from gradlab.api import load_run

    figures = load_run(run).evaluate(split)
    if as_json:
        print_json({"run": run, "split": split, **figures})
    else:
        console(plain).print(figures_table({split: figures}))


def predict(run: str, inputs: str, /, *, plain: Plain = False, as_json: Json = False) -> None:
    """Apply a trained run to raw inputs; they are preprocessed as its training data were.

    Examples to copy:

    - `gradlab predict runs/iris-softmax-3f2a 5.1,3.5,1.4,0.2`
    - `gradlab predict runs/digits-mlp-3f2a images.npy --json`
    - `gradlab predict runs/mnist-lenet-3f2a seven.png`

    Parameters
    ----------
    run
        The run folder.
    inputs
        Numbers with commas between them, or a file: .npy, .npz (array x), .csv, .json, or a picture.
    """
    from gradlab.api import load_run
    from gradlab.data import read_inputs

    opened = load_run(run)
    raw = read_inputs(inputs, tuple(opened.preprocessing.shape))
    predictions = opened.describe(raw)
    if as_json:
        print_json({"run": run, "inputs": str(Path(inputs)), "predictions": predictions})
        return
    screen = console(plain)
    if "label" in predictions[0]:
        rows = ([str(i), p["label"], number(p["probability"])] for i, p in enumerate(predictions[:_SHOWN]))
        screen.print(table("row", "label", "probability", rows=rows))
    else:
        rows = ([str(i), number(p["value"])] for i, p in enumerate(predictions[:_SHOWN]))
        screen.print(table("row", "value", rows=rows))
    if len(predictions) > _SHOWN:
        screen.print(f"… {len(predictions) - _SHOWN:,} more; --json prints all of them.")
