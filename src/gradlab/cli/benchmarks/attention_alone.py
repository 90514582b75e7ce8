"""Attention by itself on a GPU, as tables."""

from collections.abc import Callable, Mapping

from rich.console import Console

from gradlab.bench.attention.alone import AttentionAlone, Pass
from gradlab.cli.benchmarks.output import figure, show_machine
from gradlab.cli.output import table


def show_attention_alone(screen: Console, result: AttentionAlone) -> None:
    """Kinds of attention and peers as rows, lengths as columns."""
    titles = {one.kind: one.title for one in result.passes}
    at = {(one.kind, one.length): one for one in result.passes}
    lengths = sorted({one.length for one in result.passes})

    time = {kind: figure(one.time, ".2f") for kind, one in result.exponents.items()}
    memory = {kind: figure(one.memory, ".2f") for kind, one in result.exponents.items()}

    def show(title: str, cell: Callable[[Pass], str], exponents: Mapping[str, str] | None = None) -> None:
        columns = [f"{n:,}" for n in lengths] + ["exponent"] * bool(exponents)
        rows = {kind: [name, *(cell(at[kind, n]) for n in lengths)] for kind, name in titles.items()}
        for kind, exponent in (exponents or {}).items():
            rows[kind].append(exponent)
        screen.print(table("tokens of a text", *columns, rows=rows.values(), title=title))

    products = ", ".join(f"{speed:,.0f} TFLOP/s in {name}" for name, speed in result.products.items())
    what = f"{result.tokens:,} tokens, {result.heads} heads of {result.dim}, {result.dtype}"
    show_machine(screen, result)
    screen.print(f"It copies {result.copy:.2f} TB/s and multiplies {products}.", markup=False)
    title = f"Milliseconds forward and backward, and times the least: {what}"
    show(title, lambda one: _times_least(one, one.milliseconds), time)
    title = "Milliseconds of the same as a recorded CUDA graph, and times the least"
    show(title, lambda one: _times_least(one, one.replayed))
    show("GiB beyond the inputs", lambda one: figure(one.gibibytes, ".2f"), memory)
    show("Largest error of outputs and gradients beside float64", lambda one: figure(one.error, ".1e"))
    screen.print(
        "The least is the time in which every byte passes through memory once, or in which all products are made as "
        "fast as a large one, whichever is longer. The exponent is that of one text, fitted to the longest. Errors of "
        "causal linear attention are at the length itself, the others over at most 1,024 tokens.",
        soft_wrap=True,
    )
    if result.others:
        rows = [[one.title, str(one.dim), one.dtype, *_pass_row(one)] for one in result.others]
        figures = ("ms", "replayed", "least", "times the least", "GiB", "error")
        title = f"Other sizes of heads and types: {result.tokens:,} tokens in texts of {result.others[0].length:,}"
        screen.print(table("", "head size", "type", *figures, rows=rows, title=title))
    missing = {(one.title, one.reason): one for one in reversed([*result.passes, *result.others]) if one.reason}
    for one in reversed(missing.values()):
        screen.print(f"{one.title}, {one.length:,} tokens: {one.reason}.", markup=False, soft_wrap=True)
    for kind, length in result.crossover.items():
        faster = "is not faster than softmax at these lengths"
        if length is not None:
            least = ", the shortest measured" if length == lengths[0] else ""
            faster = f"is faster than softmax from {length:,.0f} tokens on{least}"
        screen.print(f"{titles[kind][0].upper()}{titles[kind][1:]}, {faster}.")
    spreads = sorted({one.spread for one in result.estimates})
    errors = {(one.features, one.spread): one.error for one in result.estimates}
    rows = [
        [f"{n:,}", *(f"{errors[n, s]:.3f}" for s in spreads)]
        for n in dict.fromkeys(e.features for e in result.estimates)
    ]
    columns = [f"scores spread by {s:g}" for s in spreads]
    screen.print(table("features", *columns, rows=rows, title="Error of a Performer beside softmax attention"))


def _times_least(one: Pass, milliseconds: float | None) -> str:
    return "–" if milliseconds is None else f"{milliseconds:,.2f} ({milliseconds / one.floor:,.1f}×)"


def _pass_row(one: Pass) -> list[str]:
    return [
        figure(one.milliseconds, ",.2f"),
        figure(one.replayed, ",.2f"),
        f"{one.floor:,.3f}",
        figure(one.milliseconds and one.milliseconds / one.floor, ",.1f"),
        figure(one.gibibytes, ".2f"),
        figure(one.error, ".1e"),
    ]
