"""`gradlab bench attention`: how time and memory grow with the length of a text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from gradlab.bench.attention.alone import AttentionAlone, bench_attention_alone
from gradlab.bench.attention.lengths import MECHANISMS, Growth, Point, bench_attention
from gradlab.cli.benchmarks.attention_alone import show_attention_alone
from gradlab.cli.benchmarks.output import OUTPUT, Device, Output, figure, make_folder, progress
from gradlab.cli.output import table


def attention(
    *mechanisms: str,
    device: Device = "cpu",
    memory: float = 2.0,
    seconds: float = 5.0,
    longest: int = 32768,
    out: Path | None = None,
    output: Output = OUTPUT,
) -> None:
    """Time and memory of a training step (forward and backward) of a one-layer GPT against the length of the text.

    With `--device cuda`, first attention by itself: 65,536 tokens in texts of several lengths, 16 heads of 64, in bf16,
    beside the least time that its bytes and its products take, plain PyTorch in chunks, compiled, Flex attention, and
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
    make_folder(out)
    alone = [bench_attention_alone(progress)] if device == "cuda" and not mechanisms else []
    results = bench_attention(mechanisms or [*MECHANISMS], progress, **options)
    save_pictures([*alone, *results], out)
    output.show([*alone, *results], show_attention)


def save_pictures(results: Sequence[Any], out: Path | None) -> None:
    if out is None:
        return
    from gradlab.bench.attention.pictures import write_pictures

    for path in write_pictures(results, out):
        progress(f"Written: {path}")


def show_attention(screen: Console, results: Sequence[Growth | AttentionAlone]) -> None:
    for alone in (one for one in results if isinstance(one, AttentionAlone)):
        show_attention_alone(screen, alone)
    kinds = [one for one in results if isinstance(one, Growth)]
    if kinds:
        _show_growth(screen, "Milliseconds of a step", kinds, lambda p: p.milliseconds, lambda g: g.time_exponent)
        _show_growth(screen, "MiB at the peak of a step", kinds, lambda p: p.mebibytes, lambda g: g.memory_exponent)
    ends = {"memory": "out of memory at", "time": "the time was up after"}
    for one in kinds:
        if one.ended in ends:
            screen.print(f"{one.title}: {ends[one.ended]} {one.points[-1].length:,} tokens.")


def _show_growth(
    screen: Console,
    title: str,
    kinds: Sequence[Growth],
    of: Callable[[Point], float | None],
    exponent: Callable[[Growth], float | None],
) -> None:
    """A table of lengths and kinds of attention, and below it how each kind grows."""
    measured = [{p.length: _cell(of(p)) for p in one.points} for one in kinds]
    lengths = sorted({length for cells in measured for length in cells})
    rows = [[f"{length:,}", *(cells.get(length, "–") for cells in measured)] for length in lengths]
    rows.append(["exponent", *(figure(exponent(one), ".2f") for one in kinds)])
    screen.print(table("tokens", *(one.title for one in kinds), rows=rows, title=title))


def _cell(figure: float | None) -> str:
    if figure is None:
        return "out of memory"
    return f"{figure:,.1f}" if figure < 100 else f"{figure:,.0f}"
