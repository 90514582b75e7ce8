"""`gradlab generate`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from gradlab.cli.files import read_text
from gradlab.cli.output import console, print_json
from gradlab.cli.samples import DrawingOptions, draw_samples
from gradlab.cli.training import CodeFiles, Json, Plain, load_code
from gradlab.errors import GradlabError, notice
from gradlab.printable import printable

if TYPE_CHECKING:
    from gradlab.cli.writer import Writer
    from gradlab.run import Run

_LENGTH = 200  # tokens written by default


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WritingOptions:
    """The options of a model that writes."""

    prompt: Annotated[str | None, Parameter(help="What the text begins with.")] = None
    prompt_file: Annotated[str | None, Parameter(help="A file that it begins with.")] = None
    max_tokens: Annotated[
        int | None,
        Parameter(
            help="How many tokens to write; default 200. Of a text longer than its context the model sees the last "
            "tokens."
        ),
    ] = None
    beam: Annotated[int | None, Parameter(help="Search for the most probable text with so many beams.")] = None
    n_best: Annotated[int, Parameter(help="How many texts of a beam search are shown.")] = 1
    temperature: Annotated[
        float | None,
        Parameter(help="Above 1 more daring, below 1 more careful, 0 always the most probable token."),
    ] = None
    top_k: Annotated[int | None, Parameter(help="Draw from so many most probable tokens.")] = None
    top_p: Annotated[
        float | None, Parameter(help="Draw from the most probable tokens that together have this probability.")
    ] = None
    stream: Annotated[bool, Parameter(negative="--no-stream", help="Show the text while it is written.")] = True
    tree: Annotated[
        bool, Parameter(show_default=False, help="Draw the beam search as a tree with log-probabilities.")
    ] = False

    @property
    def chances(self) -> dict[str, float]:
        """What was said of how tokens are drawn."""
        settings = {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p}
        return {name: value for name, value in settings.items() if value is not None}


_WRITING, _DRAWING = WritingOptions(), DrawingOptions()


def generate(
    run: str,
    /,
    *,
    writing: WritingOptions = _WRITING,
    drawing: DrawingOptions = _DRAWING,
    seed: int = 0,
    code: CodeFiles = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Let a language model write, or a generative model draw.

    Examples to copy:

    - `gradlab generate runs/digits-vae-3f2a -n 100 --out digits.png`: a grid of pictures
    - `gradlab generate runs/digits-vae-3f2a --interpolate`: rows that walk from one noise to another
    - `gradlab generate runs/digits-ddpm-3f2a --class 7 --guidance 2 --trajectory --out seven.gif`
    - `gradlab generate runs/moons-flow-3f2a -n 10000 --out points.npz`

    - `gradlab generate runs/pydoc-gpt-3f2a --prompt "The import statement"`
    - `gradlab generate runs/pydoc-gpt-3f2a --prompt "def " --temperature 0.8 --top-k 40 --seed 7`
    - `gradlab generate runs/pydoc-gpt-3f2a --prompt "A class is" --beam 5 --n-best 3`
    - `gradlab generate runs/pydoc-gpt-3f2a --prompt "A" --beam 3 --max-tokens 4 --tree`: the search, drawn
    - `gradlab generate ~/models/gpt2 --prompt "A class is"`: a model in the format of Hugging Face

    Samples are drawn by runs that learned to; without --out, samples.png is written into the run folder.

    Without --temperature, --top-k, --top-p or --beam, tokens are drawn at temperature 1; 0 takes the most probable.

    Parameters
    ----------
    run
        The folder of a run that writes or draws, or one of Hugging Face with config.json, model.safetensors and
        tokenizer.json, of a GPT-2 or a Llama.
    seed
        The same seed writes the same text, and draws the same samples.
    """
    load_code(code)
    if (opened := _drawing_run(Path(run))) is not None:
        _refuse(writing, f"{run} draws examples and writes no text")
        draw_samples(opened, drawing, seed=seed, plain=plain, as_json=as_json)
        return
    from gradlab.cli.writer import open_writer

    writer = open_writer(Path(run))
    _refuse(drawing, f"{run} writes text and draws no examples")
    text = _prompt(writing.prompt, writing.prompt_file)
    tokens = writer.encode(text)
    limit = getattr(writer.model, "limit", None)
    if limit is not None and len(tokens) > limit:
        notice(f"The prompt has {len(tokens)} tokens, and the model sees at most {limit} at a time: the last of them.")
    if writing.beam is not None:
        _search(writer, tokens, writing, plain, as_json, text)
        return
    if writing.tree or writing.n_best != 1:
        raise GradlabError(f"{'--tree' if writing.tree else '--n-best'} is of a beam search: give --beam K too.")
    written, count = _write(writer, tokens, writing, seed, text, shown=writing.stream and not as_json)
    if as_json:
        print_json({"run": run, "prompt": text, "texts": [{"text": written, "tokens": count}]})
    elif not writing.stream:
        _print(f"{text}{written}\n")


def _drawing_run(folder: Path) -> Run | None:
    """The run in a folder, if it is one that draws examples."""
    if not (folder / "recipe.toml").is_file():
        return None
    from gradlab.api import load_run
    from gradlab.tasks import Generative

    run = load_run(folder)
    if run.recipe.task.name == "language":  # which is opened with its tokenizer
        return None
    return run if isinstance(run.task, Generative) else None


def _refuse(options: WritingOptions | DrawingOptions, why: str) -> None:
    """Options of the other kind of model are no mistake to be passed over."""
    named = {"count": "-n", "class_name": "--class", "stream": "--no-stream"}
    for field in fields(options):
        if getattr(options, field.name) != field.default:
            option = named.get(field.name, f"--{field.name.replace('_', '-')}")
            raise GradlabError(f"{why}: leave out {option}.")


def _prompt(prompt: str | None, file: str | None) -> str:
    if prompt is not None and file is not None:
        raise GradlabError("--prompt and --prompt-file are two beginnings: choose one.")
    if file is not None:
        return read_text(file)
    return prompt if prompt is not None else "\n"


def _write(
    writer: Writer, tokens: list[int], writing: WritingOptions, seed: int, text: str, shown: bool
) -> tuple[str, int]:
    """The text after the prompt, shown as it is written, and of how many tokens it is."""
    import torch

    from gradlab.sampling import stream

    decoding = writer.decoding(tokens, text)
    parts = []
    chance = writing.chances or {"temperature": 1.0}
    options: dict[str, Any] = {"allowed": writer.allowed, "eos": writer.eos or None, "seed": seed, **chance}
    columns = stream(writer.model, torch.tensor([tokens]), _length(writing), **options)
    if shown:
        _print(text)
    for column in columns:
        parts.append(decoding(int(column)))
        if shown:
            _print(parts[-1])
    parts.append(decoding.end())
    if shown:
        _print(f"{parts[-1]}\n")
    return "".join(parts), len(parts) - 1


def _length(writing: WritingOptions) -> int:
    return _LENGTH if writing.max_tokens is None else writing.max_tokens


def _search(writer: Writer, tokens: list[int], writing: WritingOptions, plain: bool, as_json: bool, text: str) -> None:
    import torch

    from gradlab.sampling import Allowed, Beam, beam_search, draw_tree

    if writing.chances:
        raise GradlabError("A beam search draws nothing: leave out --temperature, --top-k and --top-p.")
    assert writing.beam is not None
    search = beam_search(
        writer.model,
        torch.tensor([tokens]),
        _length(writing),
        Beam(writing.beam, n_best=writing.n_best),
        eos=writer.eos or None,
        filters=[] if writer.allowed is None else [Allowed(writer.allowed)],
        record=writing.tree,
    )
    scores, lengths = search.scores[0].tolist(), search.lengths[0].tolist()
    texts = []
    for row, count in zip(search.tokens[0].tolist(), lengths, strict=True):
        decoding = writer.decoding(tokens, text)
        texts.append("".join(map(decoding, row[len(tokens) : len(tokens) + count])) + decoding.end())
    drawn = draw_tree(search.trees[0], lambda token: repr(writer.tokenizer.decode([token]))) if writing.tree else None
    if as_json:
        each = [{"text": t, "tokens": n, "score": s} for t, n, s in zip(texts, lengths, scores, strict=True)]
        shown = {"tree": drawn} if writing.tree else {}
        print_json({"run": str(writer.path), "prompt": text, "texts": each, **shown})
        return
    screen = console(plain)
    if drawn is not None:
        screen.print(Text(drawn), soft_wrap=True)
    for written, score in zip(texts, scores, strict=True):
        if writing.n_best > 1:
            screen.print(Text(f"{score:.3f}", "dim"))
        _print(f"{text}{written}\n")


def _print(text: str) -> None:
    """As it was written, but to a terminal without what would steer it."""
    print(printable(text, 6 * len(text), lines=True) if sys.stdout.isatty() else text, end="", flush=True)
