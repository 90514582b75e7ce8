"""Time and memory of attention against the length, as pictures."""

from collections.abc import Sequence
from pathlib import Path

from gradlab.bench.attention.alone import AttentionAlone
from gradlab.bench.attention.lengths import Growth
from gradlab.files import write_file
from gradlab.report.growth import Line, growth_picture

_ACROSS = "tokens of a text"


def write_pictures(results: Sequence[Growth | AttentionAlone], folder: Path) -> list[Path]:
    """SVG files: attention by itself where it was measured, and a step of a GPT."""
    pictures: dict[str, str] = {}
    for one in results:
        if isinstance(one, AttentionAlone):
            pictures |= _alone(one)
    growths = [one for one in results if isinstance(one, Growth)]
    if growths:
        pictures |= _steps(growths)
    for name, picture in pictures.items():
        write_file(folder / name, picture + "\n")
    return [folder / name for name in pictures]


def _alone(result: AttentionAlone) -> dict[str, str]:
    """Of one text: as many as make up the tokens take that many times as long."""
    where = f"{result.heads} heads of {result.dim}, {result.dtype}, {result.device}"
    titles = {one.kind: one.title for one in result.passes}
    times: list[Line] = []
    memory: list[Line] = []
    for kind, title in titles.items():
        mine, exponents = [one for one in result.passes if one.kind == kind], result.exponents[kind]
        share = {one.length: one.length / result.tokens for one in mine}
        milliseconds = {one.length: one.milliseconds and one.milliseconds * share[one.length] for one in mine}
        gibibytes = {one.length: one.gibibytes and one.gibibytes * share[one.length] for one in mine}
        times.append(Line(name=title, figures=milliseconds, exponent=exponents.time))
        memory.append(Line(name=title, figures=gibibytes, exponent=exponents.memory))
    return {
        "attention-time.svg": growth_picture(f"Milliseconds, forward and backward: {where}", _ACROSS, times),
        "attention-memory.svg": growth_picture(f"GiB beyond the inputs: {where}", _ACROSS, memory),
    }


def _steps(growths: Sequence[Growth]) -> dict[str, str]:
    times = [
        Line(name=g.title, figures={p.length: p.milliseconds for p in g.points}, exponent=g.time_exponent)
        for g in growths
    ]
    memory = [
        Line(name=g.title, figures={p.length: p.mebibytes for p in g.points}, exponent=g.memory_exponent)
        for g in growths
    ]
    return {
        "step-time.svg": growth_picture("Milliseconds of a step of a one-layer GPT", _ACROSS, times),
        "step-memory.svg": growth_picture("MiB at the peak of a step of a one-layer GPT", _ACROSS, memory),
    }
