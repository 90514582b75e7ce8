"""`gradlab probe`."""

from __future__ import annotations

from typing import Literal

from rich.text import Text

from gradlab.cli.files import read_text
from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.training import CodeFiles, Json, MovedData, Plain
from gradlab.errors import GradlabError
from gradlab.wording import number


def probe(
    run: str,
    inputs: str | None = None,
    /,
    *,
    file: str | None = None,
    split: Literal["train", "validation", "test"] | None = None,
    examples: int | None = None,
    data: MovedData = None,
    html: str | None = None,
    code: CodeFiles = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Look inside a trained run: its layers, heads of attention, surprise by tokens, and what speaks for a class.

    Examples to copy:

    - `gradlab probe runs/digits-mlp-3f2a`: on examples of the validation split
    - `gradlab probe runs/pydoc-gpt-3f2a "The import statement"`: what it expects, and where its heads look
    - `gradlab probe runs/pydoc-lstm-3f2a --file poem.txt --html poem.html`
    - `gradlab probe runs/images-3f2a holiday.jpg`: what of a picture speaks for its class, and its feature maps
    - `gradlab probe runs/shapes-caption-3f2a photo.png`: the caption, and where it looked for each word
    - `gradlab probe runs/csv-3f2a --split test --examples 256 --json`

    Figures are printed as tables; the pictures are in a page that opens offline in any browser.

    Parameters
    ----------
    run
        The run folder.
    inputs
        What to look at: for a language model a text; for others a file or values, as `gradlab predict` takes them. A
        picture may have any size and mode; what is done to it is reported.
    file
        A file that holds the text.
    split
        Look at examples of this split; default validation.
    examples
        How many examples at most; default 32, or 8 texts.
    html
        Where to write the page; default probe.html in the run folder.
    """
    from gradlab.api import load_run
    from gradlab.api import probe as look

    opened = load_run(run, code=code, data=data)
    if file is not None:
        if inputs is not None:
            raise GradlabError("INPUTS and --file are two things to look at: give one of them.")
        inputs = read_text(file)
    place = html or opened.output("probe.html")
    result = look(opened, inputs, split=split, examples=examples)
    page = result.to_html(place)
    if as_json:
        print_json({"run": run, **result.plain(), "page": str(page)})
        return
    screen = console(plain)
    say(screen, "on", result.on)
    if result.loss is not None:
        say(screen, "loss", number(result.loss))
    for note in result.notes:
        say(screen, "note", note)
    for shown in result.tables():
        screen.print(table(*shown.columns, rows=shown.rows, title=shown.title))
        if shown.left_out:
            screen.print(Text(f"… {shown.left_out:,} more; --json prints all of them."))
    for finding in result.findings:
        say(screen, "finding", finding)
    say(screen, "page", str(page))
