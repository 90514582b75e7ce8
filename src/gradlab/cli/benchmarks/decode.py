"""`gradlab bench decode`: how fast a model writes; on a GPU, also with a draft."""

from collections.abc import Sequence

from rich.console import Console

from gradlab.bench.decoding.cuda import CudaDecoded, bench_decode_cuda
from gradlab.bench.decoding.small import Decoded, bench_decode
from gradlab.bench.decoding.speculative import Speculated, bench_speculative
from gradlab.cli.benchmarks.output import OUTPUT, Device, Output, Rounds, figure, progress, show_machine
from gradlab.cli.output import table
from gradlab.wording import counted


def decode(
    *batches: int,
    device: Device = "cpu",
    rounds: Rounds = 7,
    tokens: int = 256,
    output: Output = OUTPUT,
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
    tokens
        How many tokens each text gets.
    """
    if device == "cuda":
        results = bench_decode_cuda(progress, new=tokens)
        output.show([*results, bench_speculative(progress, new=tokens)], show_decode_cuda)
        return
    output.show(bench_decode(batches or [1, 16], rounds, progress, new=tokens), show_decode)


def show_decode(screen: Console, results: Sequence[Decoded]) -> None:
    for one in results:
        rows = (
            [r.title, f"{r.speed:.2f}", *(figure(t, ",.0f", "") for t in (r.microseconds, r.early, r.late))]
            for r in one.rows
        )
        title = f"{one.new} tokens for {counted(one.batch, 'text')} at once, {one.model}: times as fast as Hugging Face"
        columns = ("", "speed", "µs a token", "first quarter", "last quarter")
        screen.print(table(*columns, rows=rows, title=title))
        screen.print("All wrote the same tokens." if one.same else "They did not write the same tokens.")


def show_decode_cuda(screen: Console, results: Sequence[CudaDecoded | Speculated]) -> None:
    for one in results:
        if isinstance(one, Speculated):
            _show_drafts(screen, one)
        else:
            _show_decoded(screen, one)
        show_machine(screen, one)


def _show_decoded(screen: Console, one: CudaDecoded) -> None:
    best = one.rows[0].tokens_per_second
    rows = (
        [r.title, f"{r.first_token:.2f}", f"{r.tokens_per_second:,.0f}", f"{best / r.tokens_per_second:.1f}"]
        for r in one.rows
    )
    way = "greedily" if one.beams == 1 else f"by {one.beams} beams each"
    title = f"{one.new} tokens for {counted(one.texts, 'text')} at once, {way}: {one.model}"
    columns = ("", "s to the first token", "tokens/s a text after it", "gradlab is so many times as fast")
    screen.print(table(*columns, rows=rows, title=title))
    if len(one.rows) > 1:
        screen.print(f"In float32 {'all wrote' if one.same else 'they did not write'} the same tokens.")
    screen.print(f"If a token were no more than to read the weights once: {one.floor:,.0f} tokens/s.")


def _show_drafts(screen: Console, one: Speculated) -> None:
    alone = {row.title.split(",")[0]: row.tokens_per_second for row in one.rows if row.acceptance is None}
    rows = (
        [
            row.title,
            f"{row.tokens_per_second:,.0f}",
            f"{row.tokens_per_second / alone[row.title.split(',')[0]]:.2f}",
            figure(row.acceptance, ".1%", ""),
            f"{row.tokens_per_reading:.2f}",
        ]
        for row in one.rows
    )
    title = f"{one.new} tokens for {counted(one.texts, 'text')} one by one: {one.model}; the draft has {one.draft}"
    columns = ("", "tokens/s", "times as fast as without", "guesses taken", "tokens a reading")
    screen.print(table(*columns, rows=rows, title=title))
    screen.print(f"Greedy texts in float32 are {'the same' if one.same else 'NOT the same'} with drafts and without.")
