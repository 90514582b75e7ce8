"""What `gradlab bench` found, as tables."""

from collections.abc import Callable, Sequence

from rich.console import Console

from gradlab.bench import (
    AttentionAlone,
    Compiling,
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
            ]
            for r in one.rows
        )
        columns = ("", "ms a step", f"{one.unit}/s", "GiB", "s before full speed", "gradlab is so many times as fast")
        screen.print(table(*columns, rows=rows, title=one.title))
        if one.floor is not None:
            screen.print(
                f"If a step were its products of matrices alone, at the speed of a large one: {one.floor:,.1f} ms."
            )
        screen.print(f"{one.device}; {one.versions}.")


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
    """Kinds of attention as columns, lengths as rows; times, and as multiples of the least."""
    titles = {one.kind: one.title for one in result.passes}
    at = {(one.kind, one.length): one for one in result.passes}
    lengths = sorted({one.length for one in result.passes})

    def shown(show: Callable[[Pass], str]) -> list[list[str]]:
        return [[f"{n:,}", *(show(at[kind, n]) for kind in titles)] for n in lengths]

    def time(one: Pass) -> str:
        if one.milliseconds is None:
            return "out of memory"
        return f"{one.milliseconds:,.2f} ({one.milliseconds / result.floor:,.1f}×)"

    what = f"{result.tokens:,} tokens, {result.heads} heads of {result.dim}, {result.dtype}"
    screen.print(f"{result.device}, {result.versions}; copies {result.copy:.2f} TB/s", markup=False)
    title = f"Milliseconds forward and backward: {what}; each byte once takes {result.floor:.3f}"
    screen.print(table("tokens of a text", *titles.values(), rows=shown(time), title=title))
    memory = shown(lambda one: "–" if one.gibibytes is None else f"{one.gibibytes:.2f}")
    screen.print(table("tokens of a text", *titles.values(), rows=memory, title="GiB beyond the inputs"))
    errors = [f"{at[kind, lengths[0]].error:.1e}" for kind in titles]
    screen.print(table("", *titles.values(), rows=[["error", *errors]], title="Largest error beside float64"))
    if result.crossover is not None:
        screen.print(f"Linear attention is faster than softmax from {result.crossover:,.0f} tokens on.")
    rows = [[f"{count:,}", f"{error:.3f}"] for count, error in result.features.items()]
    screen.print(table("features", "error", rows=rows, title="Performer beside softmax attention"))


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


def show_cuda(screen: Console, results: Sequence[AttentionAlone | CudaTrained | CudaDecoded | Speculated]) -> None:
    for one in results:
        if isinstance(one, Speculated):
            show_speculative(screen, one)
        elif isinstance(one, AttentionAlone):
            show_attention_alone(screen, one)
        elif isinstance(one, CudaTrained):
            show_train_cuda(screen, [one])
        else:
            show_decode_cuda(screen, [one])


def show_attention(screen: Console, results: Sequence[Growth | AttentionAlone]) -> None:
    for alone in (one for one in results if isinstance(one, AttentionAlone)):
        show_attention_alone(screen, alone)
    kinds = [one for one in results if isinstance(one, Growth)]
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
    rows.append(["exponent", *("–" if e is None else f"{e:.2f}" for e in exponents)])
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
