"""`gradlab bench language` and `context`: language models after the same time, and at long contexts."""

from collections.abc import Sequence
from typing import Any, Literal

from rich.console import Console

from gradlab.bench.language.context import ATTENTIONS, ContextRow, ContextTrained, bench_context
from gradlab.bench.language.predicting import RECIPES, Learned, bench_language
from gradlab.cli.benchmarks.output import OUTPUT, Output, figure, progress, show_machine
from gradlab.cli.output import table
from gradlab.wording import count, duration


def language(*recipes: str, minutes: float = 2.0, threads: int | None = None, output: Output = OUTPUT) -> None:
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
    output.show(bench_language(recipes or RECIPES, minutes, progress, threads), show_language)


def show_language(screen: Console, results: Sequence[Learned]) -> None:
    rows = (
        [
            r.recipe,
            f"{r.bits_per_byte:.3f}",
            f"{r.perplexity:.2f}",
            count(r.parameters) if r.parameters else "–",
            f"{r.steps:,}" if r.steps else "–",
            count(r.tokens) if r.tokens else "–",
            duration(r.seconds) if r.steps else "–",
        ]
        for r in results
    )
    columns = ("", "bits per byte", "perplexity", "parameters", "steps", "tokens seen", "training")
    screen.print(table(*columns, rows=rows, title="Text that was not trained on, after the same time of training"))


def context(
    *contexts: int,
    device: Literal["cpu", "cuda"] = "cpu",
    attention: Sequence[str] = (),
    steps: int = 100,
    output: Output = OUTPUT,
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
    options: dict[str, Any] = {"attentions": attention or [*ATTENTIONS], "device": device, "steps": steps}
    output.show([bench_context(progress, contexts, **options)], show_context)


def show_context(screen: Console, results: Sequence[ContextTrained]) -> None:
    for one in results:
        title = f"A GPT of {one.model}, trained on {count(one.tokens)} tokens of Python's library in {one.steps} steps"
        rows = [[f"{r.context:,}", r.attention, *_trained_at(r, one.rows)] for r in one.rows]
        columns = ("context", "attention", "tokens/s", "times softmax", "GiB", "s before full speed")
        screen.print(table(*columns, "training loss", "validation loss", rows=rows, title=title))
        screen.print(
            f"Losses in nats a byte: of training, over the second half of the steps; of validation, on the same "
            f"{one.held_out:,} bytes for all. At each context all read the same batches from the same weights."
        )
        show_machine(screen, one)


def _trained_at(row: ContextRow, rows: Sequence[ContextRow]) -> list[str]:
    speeds = {one.context: one.tokens_per_second for one in rows if one.attention == "softmax"}
    speed, softmax = row.tokens_per_second, speeds.get(row.context)
    ratio = speed / softmax if speed and softmax else None
    sizes = ((row.gibibytes, ".1f"), (row.before, ".1f"), (row.training_loss, ".3f"), (row.validation_loss, ".3f"))
    return [figure(speed, ",.0f", "out of memory"), figure(ratio, ".2f"), *(figure(*one) for one in sizes)]
