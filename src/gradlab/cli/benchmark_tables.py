"""What `gradlab bench` found, as tables."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from gradlab.bench import (
    AttentionAlone,
    Compiling,
    ContextTrained,
    CorpusPart,
    CudaDecoded,
    CudaTrained,
    Decoded,
    Growth,
    Learned,
    Overhead,
    Precision,
    Row,
    Scored,
    Speculated,
    StartRow,
    Table,
)
from gradlab.bench.attention import Point
from gradlab.bench.attention_alone import Pass
from gradlab.bench.contestants import ENTRIES, TEXT_ENTRIES
from gradlab.bench.context import ContextRow
from gradlab.bench.doctor import Outcome
from gradlab.cli.output import table
from gradlab.wording import count, counted, duration, number


def show_training(screen: Console, results: Sequence[Table]) -> None:
    titles = {name: entry.title for name, entry in (ENTRIES | TEXT_ENTRIES).items()}
    for one in results:
        rows = ([r.title, f"{r.wall:.2f}", f"{r.cpu:.2f}", *_work(r)] for r in one.rows)
        title = f"{_training(one)}: ratio to the {titles[one.reference]}"
        screen.print(table("", "wall", "CPU", *_WORK, rows=rows, title=title))
        screen.print(f"Medians over {one.rounds} rounds; each contestant is a process of its own.")
        for name, reason in one.absent.items():
            screen.print(f"Not taking part: {titles[name]} ({reason}).")


def show_against(screen: Console, results: Sequence[Table]) -> None:
    for one in results:
        here, there = sorted(one.rows, key=lambda row: row.contestant == one.reference)
        quartiles = "–".join(f"{q:.3f}" for q in here.cpu_quartiles)
        rows = [
            [here.title, f"{here.cpu:.3f}", quartiles, f"{here.wall:.3f}", *_work(here)],
            ["the other", "1", "", "1", *_work(there)],
        ]
        columns = ("", "CPU", "CPU quartiles", "wall", *_WORK)
        screen.print(table(*columns, rows=rows, title=f"{_training(one)}: ratio to {there.title}"))
        screen.print(f"Medians over {counted(one.rounds, 'round')}; {_equal_work(here.loss, there.loss)}")


def _equal_work(here: float, there: float) -> str:
    """Trainings are exact, so even a difference that the table's digits do not show is one."""
    if here == there:
        return "both reached the same loss, to the bit."
    return f"the losses differ by {abs(here - there):.2g}: the two did not compute the same."


def _training(one: Table) -> str:
    return f"{one.title}, batch {one.batch_size}, {one.optimizer}"


_WORK = ("best µs/step", "steps", "final loss")


def _work(row: Row) -> list[str]:
    return [f"{1e6 * row.seconds / row.steps:,.0f}", str(row.steps), number(row.loss)]


def show_start(screen: Console, results: Sequence[StartRow]) -> None:
    rows = ([r.title, f"{r.wall:.2f}", f"{r.cpu:.2f}", f"{r.seconds:.2f}"] for r in results)
    title = "From the start of the process to the end of the first step: ratio to the tutorial script"
    screen.print(table("", "wall", "CPU, whole process", "least seconds", rows=rows, title=title))


def show_decode(screen: Console, results: Sequence[Decoded]) -> None:
    for one in results:
        rows = (
            [
                r.title,
                f"{r.speed:.2f}",
                f"{r.microseconds:,.0f}",
                *("" if q is None else f"{q:,.0f}" for q in (r.early, r.late)),
            ]
            for r in one.rows
        )
        title = f"{one.new} tokens for {counted(one.batch, 'text')} at once, {one.model}: times as fast as Hugging Face"
        columns = ("", "speed", "µs a token", "first quarter", "last quarter")
        screen.print(table(*columns, rows=rows, title=title))
        screen.print("All wrote the same tokens." if one.same else "They did not write the same tokens.")


def show_train_cuda(screen: Console, results: Sequence[CudaTrained]) -> None:
    for one in results:
        best = one.rows[0].milliseconds
        rows = (
            [
                r.title,
                f"{r.milliseconds:,.3f}",
                f"{r.examples_per_second:,.0f}",
                f"{r.gibibytes:.1f}",
                f"{r.before:.1f}",
                f"{r.milliseconds / best:.2f}",
                ", ".join(f"{loss:.3f}" for loss in r.losses) or "–",
            ]
            for r in one.rows
        )
        sizes = ("ms a step", f"{one.unit}/s", "GiB", "s before full speed")
        columns = ("", *sizes, "gradlab is so many times as fast", "loss of each half")
        screen.print(table(*columns, rows=rows, title=one.title))
        if one.floor is not None:
            screen.print(
                f"If a step were its products of matrices alone, at the speed of a large one: {one.floor:,.1f} ms."
            )
        screen.print(f"{one.device}; {one.versions}.")


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
        screen.print(f"{one.device}; {one.versions}.")


def _trained_at(row: ContextRow, rows: Sequence[ContextRow]) -> list[str]:
    if row.tokens_per_second is None:
        return ["out of memory", *["–"] * 5]
    speeds = {one.context: one.tokens_per_second for one in rows if one.attention == "softmax"}
    softmax = speeds.get(row.context)
    return [
        f"{row.tokens_per_second:,.0f}",
        f"{row.tokens_per_second / softmax:.2f}" if softmax else "–",
        f"{row.gibibytes:.1f}",
        f"{row.before:.1f}",
        f"{row.training_loss:.3f}",
        f"{row.validation_loss:.3f}",
    ]


def show_decode_cuda(screen: Console, results: Sequence[CudaDecoded]) -> None:
    for one in results:
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
            wrote = "all wrote" if one.same else "they did not write"
            screen.print(f"In float32 {wrote} the same tokens.")
        screen.print(f"If a token were no more than to read the weights once: {one.floor:,.0f} tokens/s.")
        screen.print(f"{one.device}; {one.versions}.")


def show_attention_alone(screen: Console, result: AttentionAlone) -> None:
    """Kinds of attention and peers as rows, lengths as columns."""
    titles = {one.kind: one.title for one in result.passes}
    at = {(one.kind, one.length): one for one in result.passes}
    lengths = sorted({one.length for one in result.passes})

    def show(title: str, cell: Callable[[Pass], str], last: Mapping[str, str] | None = None) -> None:
        """Of each kind what is in a cell at each length, and perhaps something in the last column."""
        columns = [f"{n:,}" for n in lengths] + (["exponent"] if last else [])
        rows = [
            [name, *(cell(at[kind, n]) for n in lengths), *([last[kind]] if last else [])]
            for kind, name in titles.items()
        ]
        screen.print(table("tokens of a text", *columns, rows=rows, title=title))

    time = {kind: _exponent(one.time) for kind, one in result.exponents.items()}
    memory = {kind: _exponent(one.memory) for kind, one in result.exponents.items()}
    products = ", ".join(f"{speed:,.0f} TFLOP/s in {name}" for name, speed in result.products.items())
    what = f"{result.tokens:,} tokens, {result.heads} heads of {result.dim}, {result.dtype}"
    screen.print(f"{result.device}; {result.versions}.", markup=False)
    screen.print(f"It copies {result.copy:.2f} TB/s and multiplies {products}.", markup=False)
    show(f"Milliseconds forward and backward, and times the least: {what}", _pass_time, time)
    show("Milliseconds of the same as a recorded CUDA graph, and times the least", _replay_time)
    show("GiB beyond the inputs", lambda one: _figure(one.gibibytes, ".2f"), memory)
    show("Largest error of outputs and gradients beside float64", lambda one: _figure(one.error, ".1e"))
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


def _pass_time(one: Pass) -> str:
    return "–" if one.milliseconds is None else f"{one.milliseconds:,.2f} ({one.milliseconds / one.floor:,.1f}×)"


def _replay_time(one: Pass) -> str:
    return "–" if one.replayed is None else f"{one.replayed:,.2f} ({one.replayed / one.floor:,.1f}×)"


def _pass_row(one: Pass) -> list[str]:
    return [
        _figure(one.milliseconds, ",.2f"),
        _figure(one.replayed, ",.2f"),
        f"{one.floor:,.3f}",
        _figure(one.milliseconds and one.milliseconds / one.floor, ",.1f"),
        _figure(one.gibibytes, ".2f"),
        _figure(one.error, ".1e"),
    ]


def _figure(figure: float | None, form: str) -> str:
    return "–" if figure is None else format(figure, form)


def _exponent(exponent: float | None) -> str:
    return _figure(exponent, ".2f")


def show_speculative(screen: Console, one: Speculated) -> None:
    alone = {row.title.split(",")[0]: row.tokens_per_second for row in one.rows if row.acceptance is None}
    rows = (
        [
            row.title,
            f"{row.tokens_per_second:,.0f}",
            f"{row.tokens_per_second / alone[row.title.split(',')[0]]:.2f}",
            "" if row.acceptance is None else f"{row.acceptance:.1%}",
            f"{row.tokens_per_reading:.2f}",
        ]
        for row in one.rows
    )
    title = f"{one.new} tokens for {counted(one.texts, 'text')} one by one: {one.model}; the draft has {one.draft}"
    columns = ("", "tokens/s", "times as fast as without", "guesses taken", "tokens a reading")
    screen.print(table(*columns, rows=rows, title=title))
    screen.print(f"Greedy texts in float32 are {'the same' if one.same else 'NOT the same'} with drafts and without.")
    screen.print(f"{one.device}; {one.versions}.")


def show_cuda(
    screen: Console, results: Sequence[AttentionAlone | ContextTrained | CudaTrained | CudaDecoded | Speculated]
) -> None:
    for one in results:
        if isinstance(one, Speculated):
            show_speculative(screen, one)
        elif isinstance(one, AttentionAlone):
            show_attention_alone(screen, one)
        elif isinstance(one, ContextTrained):
            show_context(screen, [one])
        elif isinstance(one, CudaTrained):
            show_train_cuda(screen, [one])
        else:
            show_decode_cuda(screen, [one])


def show_attention(screen: Console, results: Sequence[Growth | AttentionAlone]) -> None:
    for alone in (one for one in results if isinstance(one, AttentionAlone)):
        show_attention_alone(screen, alone)
    kinds = [one for one in results if isinstance(one, Growth)]
    if not kinds:
        return
    _show_growth(
        screen, "Milliseconds of a step", kinds, lambda p: p.milliseconds, [one.time_exponent for one in kinds]
    )
    _show_growth(
        screen, "MiB at the peak of a step", kinds, lambda p: p.mebibytes, [one.memory_exponent for one in kinds]
    )
    for one in kinds:
        last = one.points[-1].length
        if one.ended == "memory":
            screen.print(f"{one.title}: out of memory at {last:,} tokens.")
        elif one.ended == "time":
            screen.print(f"{one.title}: the time was up after {last:,} tokens.")


def _show_growth(
    screen: Console,
    title: str,
    results: Sequence[Growth],
    figure: Callable[[Point], float | None],
    exponents: Sequence[float | None],
) -> None:
    """A table of lengths and kinds of attention, and below it how each kind grows."""
    measured = [{p.length: _cell(figure(p)) for p in one.points} for one in results]
    lengths = sorted({length for cells in measured for length in cells})
    rows = [[f"{length:,}", *(cells.get(length, "–") for cells in measured)] for length in lengths]
    rows.append(["exponent", *map(_exponent, exponents)])
    screen.print(table("tokens", *(one.title for one in results), rows=rows, title=title))


def _cell(figure: float | None) -> str:
    if figure is None:
        return "out of memory"
    return f"{figure:,.1f}" if figure < 100 else f"{figure:,.0f}"


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


def show_tables(screen: Console, results: Sequence[Scored]) -> None:
    for name in dict.fromkeys(result.table for result in results):
        scored = [result for result in results if result.table == name]
        rows = ([r.method, f"{r.score:.4f}", f"{r.standard_error:.4f}", f"{r.seconds:.2f}"] for r in scored)
        columns = ("", scored[0].metric, "standard error", "seconds of a fit")
        screen.print(table(*columns, rows=rows, title=f"{name}, {scored[0].rows:,} rows"))


def show_compiling(screen: Console, results: Sequence[Compiling]) -> None:
    rows = (
        [
            r.title,
            f"{r.compile:.1f}",
            f"{r.recompile:.1f}",
            f"{1e6 * r.eager_step:,.0f}",
            f"{1e6 * r.compiled_step:,.0f}",
            "never" if r.pays_after is None else f"{r.pays_after:,.0f}",
        ]
        for r in results
    )
    columns = ("", "compile, s", "again, s", "eager µs/step", "compiled µs/step", "pays after steps")
    screen.print(table(*columns, rows=rows, title="What torch.compile costs and saves"))


def show_precision(screen: Console, results: Sequence[Precision]) -> None:
    rows = ([r.title, f"{1e6 * r.float32:,.0f}", f"{1e6 * r.bf16:,.0f}", f"{r.ratio:.2f}"] for r in results)
    screen.print(
        table("", "float32 µs/step", "bf16 µs/step", "ratio", rows=rows, title="bf16 beside float32 on the CPU")
    )


def show_doctor(screen: Console, results: Sequence[CorpusPart]) -> None:
    for part in results:
        rows = (
            [s.slug, str(s.scripts), str(s.first), str(s.among_first), _share(s.precision), _share(s.recall)]
            for s in part.scores
        )
        columns = ("", "scripts", "found first", "in the first two", "precision", "recall")
        screen.print(table(*columns, rows=rows, title=f"{part.title}: faults, and errors and warnings of their name"))
        missed = [[o.name, o.fault or "", _said(o)] for o in part.outcomes if o.fault and not o.right]
        alarms = [[o.name, o.form, _said(o)] for o in part.outcomes if not o.fault and not o.right]
        failed = [[o.name, o.form, "; ".join(o.failures)] for o in part.outcomes if o.failures]
        changed = [[o.name, o.form, o.difference] for o in part.outcomes if o.difference]
        for title, middle, last, listed in (
            ("Not in the first two", "fault", "found", missed),
            ("False alarms", "form", "found", alarms),
            ("The doctor's own faults", "form", "failure", failed),
            ("Not the same without the doctor", "form", "difference", changed),
        ):
            if listed:
                screen.print(table("script", middle, last, rows=listed, title=title))
    for part in results:
        share = f" ({part.among_first / part.faulty:.0%})" if part.faulty else ""
        failures = sum(bool(o.failures) for o in part.outcomes)
        screen.print(
            f"{part.title}: the fault is in the first two findings of {part.among_first} of {part.faulty} faulty "
            f"scripts{share}, and the first of {part.first}; {counted(part.false_alarms, 'false alarm')} on "
            f"{part.sound} without a fault; the doctor itself failed on {failures}.",
            soft_wrap=True,
        )


def _said(outcome: Outcome) -> str:
    """The first findings of a script."""
    said = (f"{s.severity} {s.slug} {s.confidence:.2f}" for s in outcome.findings[:3])
    return ", ".join(said) or "nothing"


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def show_overhead(screen: Console, results: Sequence[Overhead]) -> None:
    rows = (
        [
            r.title,
            str(r.steps),
            f"{r.plain:.1f}",
            f"{r.wall:.2f}",
            f"{r.cpu:.2f}",
            f"{r.process:.2f}",
            f"{r.bar:.1f}",
            "yes" if r.same else "no",
        ]
        for r in results
    )
    columns = ("", "steps", "loop, s", "loop", "loop, CPU", "process", "bar", "same loss")
    screen.print(table(*columns, rows=rows, title="Time with the doctor to the time without"))
