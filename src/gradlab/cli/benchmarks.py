"""`gradlab bench`: each benchmark is a command of its own, with the options that it takes."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import cyclopts
from cyclopts import Parameter
from rich.console import Console

from gradlab import bench as benches
from gradlab.cli import benchmark_tables as tables
from gradlab.cli.output import console, print_json
from gradlab.cli.training import Json, Plain
from gradlab.errors import GradlabError
from gradlab.files import write_errors

Rounds = Annotated[int, Parameter(help="How often everything is measured; ratios are medians over rounds.")]

bench = cyclopts.App(
    name="bench",
    sort_key=100,  # the last
    help="""Measure gradlab beside its peers on this machine, as ratios in one run.

    Examples to copy:

    - `gradlab bench train`: the same training by gradlab, the usual PyTorch loop, Lightning, Keras and skorch
    - `gradlab bench train gpt --rounds 15`: a small GPT beside nanoGPT's loop
    - `gradlab bench train digits gpt --against ../before`: beside another checkout of gradlab
    - `gradlab bench start`: from the start of the process to the first training step
    - `gradlab bench decode`: how fast a model writes, beside Hugging Face
    - `gradlab bench attention`: how time and memory grow with the length of a text
    - `gradlab bench context`: a GPT trained at long contexts, by softmax, linear and performer attention
    - `gradlab bench language`: which language model predicts best after two minutes of training
    - `gradlab bench tables`: a table by default beside scikit-learn's methods, over folds
    - `gradlab bench cuda`: attention, training, long contexts and writing on a GPU
    - `gradlab bench compile`: what compiling the step costs and saves
    - `gradlab bench precision`: a step in bf16 beside one in float32, on this CPU
    - `gradlab bench doctor`: how often the doctor names the fault of a training script

    `gradlab bench` alone is `gradlab bench train`.
    """,
)


@bench.default
@bench.command(sort_key=0)
def train(
    *cases: str,
    device: Literal["cpu", "cuda"] = "cpu",
    against: Path | None = None,
    rounds: int | None = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Train the same with gradlab and its peers, or with another checkout of gradlab.

    Each contestant is a process of its own, and the order is drawn anew in each round. Peers take part where they are
    installed: `pip install "gradlab[bench]"`. Of them, only Lightning learns texts (lstm, gpt).

    Example: `gradlab bench train digits lstm --rounds 15`

    What does a change cost? `git worktree add ../before HEAD~1` makes a checkout of the commit before it, and both are
    measured in the same rounds.

    Example: `gradlab bench train digits mlp lstm gpt --against ../before`

    On a GPU it is GPT-2 of 124 million weights by default settings, in bf16 and fp8, beside Hugging Face's, compiled;
    an LSTM and a GRU beside a loop over their cells; and an MLP through `gradlab.fit` beside the usual loop.

    Example: `gradlab bench train --device cuda`

    Parameters
    ----------
    cases
        Which trainings: digits, mlp, lenet, lstm, gpt; default all. Not on a GPU.
    device
        Where to measure.
    against
        A folder with another checkout of gradlab, which takes the place of the peers.
    rounds
        How often everything is measured; ratios are medians over rounds. Default 7, and 15 with --against, whose
        ratios are close to 1.
    """
    if device == "cuda":
        if cases or against is not None or rounds is not None:
            raise GradlabError("On a GPU, bench train has no cases, no --against and no --rounds.")
        _show(benches.bench_train_cuda(_progress), tables.show_train_cuda, plain, as_json)
        return
    chosen = cases or [*benches.CASES, *benches.TEXT_CASES]
    if against is None:
        results = benches.bench_train(chosen, 7 if rounds is None else rounds, _progress)
        _show(results, tables.show_training, plain, as_json)
    else:
        results = benches.bench_against(chosen, against, 15 if rounds is None else rounds, _progress)
        _show(results, tables.show_against, plain, as_json)


@bench.command(sort_key=1)
def start(*, rounds: Rounds = 7, plain: Plain = False, as_json: Json = False) -> None:
    """Time from the start of the process to the end of the first training step.

    Example: `gradlab bench start --rounds 15`
    """
    _show(benches.bench_start(rounds, _progress), tables.show_start, plain, as_json)


@bench.command(sort_key=2)
def decode(
    *batches: int,
    device: Literal["cpu", "cuda"] = "cpu",
    rounds: Rounds = 7,
    tokens: int = 256,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Let a small GPT-2 write, by gradlab and by Hugging Face's `generate` with its cache, from the same weights.

    Example: `gradlab bench decode 1 64 --tokens 512`

    On a GPU it is GPT-2 of 124 million weights in bf16: 1 text, 16 texts, and beam search of 4 beams on 16 texts; then
    one with linear attention, and an LSTM. Each is the first call of a fresh process, which is what a user waits for.
    Last, a model of that size and a small one are trained for a minute, and the small one guesses what the other
    writes.

    Example: `gradlab bench decode --device cuda`

    Parameters
    ----------
    batches
        How many texts at once; default 1 and 16. Not on a GPU.
    device
        Where to measure.
    tokens
        How many tokens each text gets.
    """
    if device == "cuda":
        results = benches.bench_decode_cuda(_progress, new=tokens)
        _show([*results, benches.bench_speculative(_progress, new=tokens)], tables.show_cuda, plain, as_json)
        return
    _show(benches.bench_decode(batches or [1, 16], rounds, _progress, new=tokens), tables.show_decode, plain, as_json)


@bench.command(sort_key=2)
def attention(
    *mechanisms: str,
    device: Literal["cpu", "cuda"] = "cpu",
    memory: float = 2.0,
    seconds: float = 5.0,
    longest: int = 32768,
    out: Path | None = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Time and memory of a training step (forward and backward) of a one-layer GPT against the length of the text.

    With `--device cuda`, first attention by itself: 65,536 tokens in texts of several lengths, 16 heads of 64, in bf16,
    beside the least time that its bytes and its products take, plain PyTorch in chunks, compiled, and
    flash-linear-attention where it is installed; heads of 32 and 128, float16 and float32; from which length on linear
    attention is the faster; and how close a Performer comes to softmax. Peers whose outputs or gradients are not the
    same are left out.

    The length doubles from 256 on, until a step takes more than it may. Each point is a process of its own, so that its
    peak of memory is real. The exponent b of a·nᵇ is fitted to the upper half of the lengths.

    Example: `gradlab bench attention linear written-out --memory 4`

    Example: `gradlab bench attention --device cuda --out pictures`

    Parameters
    ----------
    mechanisms
        Which attention: softmax (fused), written-out (softmax with its full matrix), linear, performer; default all.
    device
        Where to measure.
    memory
        GiB that a step may take beyond what the process has before it.
    seconds
        After a step that takes longer, no longer text is tried.
    longest
        The most tokens.
    out
        A folder for pictures (SVG) of time and memory against the length, with the exponents.
    """
    options: dict[str, Any] = {"device": device, "memory": memory, "seconds": seconds, "longest": longest}
    _make_folder(out)
    alone = [benches.bench_attention_alone(_progress)] if device == "cuda" and not mechanisms else []
    results = benches.bench_attention(mechanisms or [*benches.MECHANISMS], _progress, **options)
    _write_pictures([*alone, *results], out)
    _show([*alone, *results], tables.show_attention, plain, as_json)


@bench.command(sort_key=2)
def context(
    *contexts: int,
    device: Literal["cpu", "cuda"] = "cpu",
    attention: Sequence[str] = (),
    steps: int = 100,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Speed, memory and loss of a GPT at long contexts, by softmax, linear and performer attention at equal tokens.

    The text is the source of Python's own library, byte by byte, and each step reads as many tokens whatever the
    context. At a context all kinds begin with the same weights and read the same batches, which is checked. Each
    training is a process of its own, by default settings: on a GPU 12 layers, 512 wide, in bf16, with 65,536 tokens a
    step; on the CPU a small model.

    Example: `gradlab bench context --device cuda`

    Example: `gradlab bench context 16384 65536 --device cuda --attention linear --steps 200`

    Parameters
    ----------
    contexts
        Tokens of a text; default 4096, 16384 and 65536 on a GPU, and 256, 1024 and 4096 on the CPU.
    device
        Where to train.
    attention
        softmax, linear or performer; can be given several times; default all.
    steps
        Updates of each training.
    """
    options: dict[str, Any] = {"attentions": attention or [*benches.ATTENTIONS], "device": device, "steps": steps}
    _show([benches.bench_context(_progress, contexts, **options)], tables.show_context, plain, as_json)


@bench.command(sort_key=3)
def language(
    *recipes: str, minutes: float = 2.0, threads: int | None = None, plain: Plain = False, as_json: Json = False
) -> None:
    """Train each kind of language model for the same time on the CPU, and judge it on text it has not seen.

    A few steps show how many there is time for; the training then has that many, so that its learning rate falls to the
    end of its schedule.

    Example: `gradlab bench language pydoc-lstm pydoc-gpt --minutes 5`

    Parameters
    ----------
    recipes
        Which: pydoc-ngram, pydoc-rnn, pydoc-lstm, pydoc-gru, pydoc-gpt; default all.
    minutes
        Of training, for each.
    threads
        Of the CPU, for each; default one for each core.
    """
    results = benches.bench_language(recipes or benches.RECIPES, minutes, _progress, threads)
    _show(results, tables.show_language, plain, as_json)


@bench.command(sort_key=3)
def cuda(*, out: Path | None = None, plain: Plain = False, as_json: Json = False) -> None:
    """What a GPU does, in some minutes: attention by itself, training, writing, and long contexts.

    It is `bench attention`, of which only attention by itself at three lengths, `bench train`, `bench decode`, and
    `bench context`, of which softmax and linear attention at 16,384 and 65,536 tokens, all with `--device cuda` and in
    fewer steps.

    Example: `gradlab bench cuda`

    Parameters
    ----------
    out
        A folder for pictures (SVG) of attention's time and memory against the length, with the exponents.
    """
    _make_folder(out)
    began = time.monotonic()
    results: list[Any] = []

    def progress(text: str) -> None:
        _progress(f"{time.monotonic() - began:4.0f} s  {text}")

    def show(*ready: Any) -> None:
        """At once: the whole takes minutes."""
        results.extend(ready)
        if not as_json:
            tables.show_cuda(console(plain), ready)

    show(attention := benches.bench_attention_alone(progress, lengths=(4096, 16384, 65536), others=()))
    _write_pictures([attention], out)
    show(*benches.bench_train_cuda(progress, steps=30, mlp={"epochs": 4}))
    show(*benches.bench_decode_cuda(progress, new=128))
    show(benches.bench_context(progress, (16384, 65536), attentions=("softmax", "linear"), steps=16))
    if as_json:
        _show(results, tables.show_cuda, plain, as_json)


@bench.command(name="tables", sort_key=4)
def own_tables(*names: str, folds: int = 5, plain: Plain = False, as_json: Json = False) -> None:
    """A table by default (`gradlab train csv`) beside scikit-learn's network, linear model and boosted trees.

    All have the same folds; AUC of two classes, accuracy of several, R² of numbers. The tables are those that
    scikit-learn brings, and three invented ones of 15,000 rows with money, percent, dates and many categories.

    Example: `gradlab bench tables wine churn --folds 3`

    Parameters
    ----------
    names
        Which: iris, wine, breast-cancer, diabetes, churn, sales, faults; default all.
    folds
        Of the cross-validation.
    """
    _show(benches.bench_tables(names or benches.TABLES, folds, _progress), tables.show_tables, plain, as_json)


@bench.command(name="compile", sort_key=4)
def compiling(*cases: str, rounds: Rounds = 7, plain: Plain = False, as_json: Json = False) -> None:
    """What compiling the step costs once and saves each time.

    Example: `gradlab bench compile digits`

    Parameters
    ----------
    cases
        Which trainings: digits, mlp, lenet; default all.
    """
    _show(benches.bench_compile(cases or [*benches.CASES], rounds, _progress), tables.show_compiling, plain, as_json)


@bench.command(sort_key=5)
def precision(*cases: str, rounds: Rounds = 7, plain: Plain = False, as_json: Json = False) -> None:
    """A step in bf16 beside one in float32, on this CPU.

    Example: `gradlab bench precision mlp`

    Parameters
    ----------
    cases
        Which trainings: digits, mlp, lenet; default all.
    """
    _show(benches.bench_precision(cases or [*benches.CASES], rounds, _progress), tables.show_precision, plain, as_json)


@bench.command(sort_key=6)
def doctor(
    corpus: Path = Path("tests/diagnosis/corpus"),
    /,
    *,
    only: Sequence[str] = (),
    held_out: Literal["too", "only", "no"] = "too",
    jobs: int = 2,
    seconds: float = 120.0,
    identity: bool = False,
    overhead: bool = False,
    rounds: Rounds = 7,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """How often the doctor names the fault of a training script, and how often it finds one where there is none.

    Each script of the corpus runs under the doctor in a process of its own: faulty, repaired, and those that never had
    a fault. Families that were set aside while the doctor was made are counted for themselves.

    Example: `gradlab bench doctor --only missing_zero_grad --only images`

    Parameters
    ----------
    corpus
        A folder of scripts.
    only
        A script, a family or a fault; can be given several times.
    held_out
        Whether families in `held_out` take part.
    jobs
        How many scripts run at once, with one thread each.
    seconds
        How long a script may take.
    identity
        Run each script without the doctor too, and compare what it prints, byte for byte.
    overhead
        Measure instead what the doctor costs: two trainings with and without it.
    """
    if overhead:
        _show(benches.bench_doctor_overhead(rounds, _progress), tables.show_overhead, plain, as_json)
        return
    options: dict[str, Any] = {"only": only, "held_out": held_out, "jobs": jobs, "seconds": seconds}
    results = benches.bench_doctor(corpus, _progress, **options, identity=identity)
    _show(results, tables.show_doctor, plain, as_json)


def _make_folder(out: Path | None) -> None:
    """Before anything is measured: then what cannot be written is an error at once."""
    if out is not None:
        with write_errors(out):
            out.mkdir(parents=True, exist_ok=True)


def _write_pictures(results: Sequence[Any], out: Path | None) -> None:
    if out is None:
        return
    from gradlab.bench.attention_pictures import write_pictures

    for path in write_pictures(results, out):
        _progress(f"Written: {path}")


def _show(results: Sequence[Any], show: Callable[[Console, Sequence[Any]], None], plain: bool, as_json: bool) -> None:
    if as_json:
        print_json({"results": [asdict(one) for one in results]})
    else:
        show(console(plain), results)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
