"""`gradlab generate`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from gradlab.cli.files import read_text
from gradlab.cli.output import console, print_json
from gradlab.cli.samples import Asked, draw_samples
from gradlab.cli.training import CodeFiles, Json, Plain, load_code
from gradlab.errors import GradlabError, notice
from gradlab.printable import printable

if TYPE_CHECKING:
    from gradlab.cli.writer import Writer
    from gradlab.run import Run

_LENGTH = 200  # tokens that are written unless told


def generate(
    run: str,
    /,
    *,
    prompt: str | None = None,
    prompt_file: str | None = None,
    max_tokens: int | None = None,
    beam: int | None = None,
    n_best: int = 1,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    count: Annotated[int | None, Parameter(name=["-n", "--count"])] = None,
    out: str | None = None,
    class_name: Annotated[str | None, Parameter(name="--class")] = None,
    guidance: float | None = None,
    steps: int | None = None,
    sampler: str | None = None,
    interpolate: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    trajectory: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    seed: int = 0,
    stream: Annotated[bool, Parameter(negative="--no-stream")] = True,
    tree: Annotated[bool, Parameter(show_default=False)] = False,
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
    prompt
        What the text begins with.
    prompt_file
        A file that it begins with.
    max_tokens
        How many tokens to write; default 200. Of a text longer than its context the model sees the last tokens.
    beam
        Search for the most probable text with so many beams.
    n_best
        How many texts of a beam search are shown.
    temperature
        Above 1 more daring, below 1 more careful, 0 always the most probable token.
    top_k
        Draw from so many most probable tokens.
    top_p
        Draw from the most probable tokens that together have this probability.
    count
        How many samples are drawn; default 64, with --interpolate and --trajectory 8 rows.
    out
        The file of samples: .png shows them, .npz holds the arrays x (in the units of the data) and y (classes); with
        --trajectory .gif too. Default samples.png, interpolation.png or trajectory.png in the run folder, which is
        .npz where samples are neither pictures nor points in the plane.
    class_name
        Draw samples of one class, from a model that was told classes.
    guidance
        How much the class counts: 1 as trained, more for more typical samples.
    steps
        Of a sampler that takes many.
    sampler
        How a diffusion model is sampled: ddpm, ddim or dpm.
    interpolate
        Walk along the sphere between two noises, one way in each row.
    trajectory
        Show samples on their way from noise.
    seed
        The same seed writes the same text, and draws the same samples.
    stream
        Show the text while it is written.
    tree
        Draw the beam search as a tree with log-probabilities.
    """
    from gradlab.cli.writer import open_writer

    load_code(code)
    drawing = {
        "-n": count, "--out": out, "--class": class_name, "--guidance": guidance, "--steps": steps,
        "--sampler": sampler, "--interpolate": interpolate or None, "--trajectory": trajectory or None,
    }  # fmt: skip
    writing = {
        "--prompt": prompt, "--prompt-file": prompt_file, "--max-tokens": max_tokens, "--beam": beam,
        "--n-best": None if n_best == 1 else n_best, "--temperature": temperature, "--top-k": top_k, "--top-p": top_p,
        "--no-stream": None if stream else True, "--tree": tree or None,
    }  # fmt: skip
    if (opened := _drawing_run(Path(run))) is not None:
        _refuse(writing, f"{run} draws examples and writes no text")
        wish = {"class_name": class_name, "guidance": guidance, "steps": steps, "sampler": sampler, "seed": seed}
        asked = Asked(
            count=count,
            out=out,
            interpolate=interpolate,
            trajectory=trajectory,
            wish=wish,
            plain=plain,
            as_json=as_json,
        )
        draw_samples(opened, asked)
        return
    writer = open_writer(Path(run))
    _refuse(drawing, f"{run} writes text and draws no examples")
    text = _prompt(prompt, prompt_file)
    tokens = writer.encode(text)
    length = _LENGTH if max_tokens is None else max_tokens
    limit = getattr(writer.model, "limit", None)
    if limit is not None and len(tokens) > limit:
        notice(f"The prompt has {len(tokens)} tokens, and the model sees at most {limit} at a time: the last of them.")
    if beam is not None:
        if temperature is not None or top_k is not None or top_p is not None:
            raise GradlabError("A beam search draws nothing: leave out --temperature, --top-k and --top-p.")
        _search(writer, tokens, length, beam, n_best, tree, plain, as_json, text)
        return
    if tree or n_best != 1:
        raise GradlabError(f"{'--tree' if tree else '--n-best'} is of a beam search: give --beam K too.")
    if temperature is None and top_k is None and top_p is None:
        temperature = 1.0
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    written, count = _write(writer, tokens, length, options, text, shown=stream and not as_json)
    if as_json:
        print_json({"run": run, "prompt": text, "texts": [{"text": written, "tokens": count}]})
    elif not stream:
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


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Options of the other kind of model are no mistake to be passed over."""
    for option, value in options.items():
        if value is not None:
            raise GradlabError(f"{why}: leave out {option}.")


def _prompt(prompt: str | None, file: str | None) -> str:
    if prompt is not None and file is not None:
        raise GradlabError("--prompt and --prompt-file are two beginnings: choose one.")
    if file is not None:
        return read_text(file)
    return prompt if prompt is not None else "\n"


def _write(
    writer: Writer, tokens: list[int], length: int, options: dict[str, Any], text: str, shown: bool
) -> tuple[str, int]:
    """The text after the prompt, shown as it is written, and of how many tokens it is."""
    import torch

    from gradlab.sampling import stream

    decoding = writer.decoding(tokens, text)
    parts = []
    options = {"allowed": writer.allowed, "eos": writer.eos or None, **options}
    columns = stream(writer.model, torch.tensor([tokens]), length, **options)
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


def _search(
    writer: Writer,
    tokens: list[int],
    length: int,
    size: int,
    n_best: int,
    tree: bool,
    plain: bool,
    as_json: bool,
    text: str,
) -> None:
    import torch

    from gradlab.sampling import Allowed, Beam, beam_search, draw_tree

    search = beam_search(
        writer.model,
        torch.tensor([tokens]),
        length,
        Beam(size, n_best=n_best),
        eos=writer.eos or None,
        filters=[] if writer.allowed is None else [Allowed(writer.allowed)],
        record=tree,
    )
    scores, lengths = search.scores[0].tolist(), search.lengths[0].tolist()
    texts = []
    for row, count in zip(search.tokens[0].tolist(), lengths, strict=True):
        decoding = writer.decoding(tokens, text)
        texts.append("".join(map(decoding, row[len(tokens) : len(tokens) + count])) + decoding.end())
    drawn = draw_tree(search.trees[0], lambda token: repr(writer.tokenizer.decode([token]))) if tree else None
    if as_json:
        each = [{"text": t, "tokens": n, "score": s} for t, n, s in zip(texts, lengths, scores, strict=True)]
        print_json({"run": str(writer.path), "prompt": text, "texts": each, **({"tree": drawn} if tree else {})})
        return
    screen = console(plain)
    if drawn is not None:
        screen.print(Text(drawn), soft_wrap=True)
    for written, score in zip(texts, scores, strict=True):
        if n_best > 1:
            screen.print(Text(f"{score:.3f}", "dim"))
        _print(f"{text}{written}\n")


def _print(text: str) -> None:
    """As it was written, but to a terminal without what would steer it."""
    print(printable(text, 6 * len(text), lines=True) if sys.stdout.isatty() else text, end="", flush=True)
