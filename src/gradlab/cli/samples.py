"""What `gradlab generate` does with a run that draws examples: pictures, or points."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from gradlab.cli.output import console, print_json, say
from gradlab.errors import GradlabError
from gradlab.files import new_file, no_folder
from gradlab.wording import counted

if TYPE_CHECKING:
    from gradlab.report.pictures import Pixels
    from gradlab.run import Run
    from gradlab.run.samples import Drawing, Drawn

_COUNTS = {"samples": 64, "interpolation": 8, "trajectory": 8}  # drawn by default
_STEPS, _STAGES, _FRAMES = 10, 10, 60  # of a way, of a strip, of an animation
_MOST_SHOWN = 10_000  # samples in one picture
_DOTS = 2000  # of a preview


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DrawingOptions:
    """The options of a model that draws."""

    count: Annotated[
        int | None,
        Parameter(
            name=["-n", "--count"],
            help="How many samples are drawn; default 64, with --interpolate and --trajectory 8 rows.",
        ),
    ] = None
    out: Annotated[
        str | None,
        Parameter(
            help="The file of samples: .png shows them, .npz holds the arrays x (in the units of the data) and y "
            "(classes); with --trajectory .gif too. Default samples.png, interpolation.png or trajectory.png in the "
            "run folder, which is .npz where samples are neither pictures nor points in the plane."
        ),
    ] = None
    class_name: Annotated[
        str | None, Parameter(name="--class", help="Draw samples of one class, of a class-conditional model.")
    ] = None
    guidance: Annotated[
        float | None, Parameter(help="How much the class counts: 1 as trained, more for more typical samples.")
    ] = None
    steps: Annotated[int | None, Parameter(help="Of a sampler that takes many.")] = None
    sampler: Annotated[
        str | None, Parameter(help="How a diffusion model is sampled: ddpm, ddim, dpm, euler or heun.")
    ] = None
    pixel_noise: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="Sample the pixels too, of a model with a Gaussian decoder; without it they are the decoder's means.",
        ),
    ] = False
    interpolate: Annotated[
        bool,
        Parameter(
            negative="", show_default=False, help="Walk along the sphere between two noises, one way in each row."
        ),
    ] = False
    trajectory: Annotated[
        bool, Parameter(negative="", show_default=False, help="Show samples on their way from noise.")
    ] = False

    @property
    def kind(self) -> str:
        """What is drawn, which is also the name of its file."""
        return "interpolation" if self.interpolate else "trajectory" if self.trajectory else "samples"

    def wish(self, seed: int) -> dict[str, Any]:
        """What is asked of samples, whatever is done with them."""
        settings = {"class_name": self.class_name, "guidance": self.guidance, "steps": self.steps}
        return {**settings, "sampler": self.sampler, "pixel_noise": self.pixel_noise, "seed": seed}


def draw_samples(run: Run, options: DrawingOptions, *, seed: int, plain: bool, as_json: bool) -> None:
    """Draw, write one file, and print a line about it."""
    if options.interpolate and options.trajectory:
        raise GradlabError("--interpolate and --trajectory are two pictures: ask for one of them.")
    path = Path(options.out) if options.out else run.output(f"{options.kind}{'.png' if _is_drawn(run) else '.npz'}")
    count = _COUNTS[options.kind] if options.count is None else options.count
    _check(path, run, count, options)
    with run.drawing(**options.wish(seed)) as drawing:
        classes, preview = _write(drawing, run, path, count, options)
    if as_json:
        print_json({"run": str(run.path), "samples": count, "file": str(path), "seed": seed, "classes": classes})
        return
    screen = console(plain)
    for line in preview:
        screen.print(Text(line), soft_wrap=True)
    drawn = counted(count, "sample") if options.kind == "samples" else options.kind
    say(screen, "drawn", f"{drawn}: {path}")


def _shape(run: Run) -> tuple[int, ...]:
    from gradlab.specs import Array

    spec = run.preprocessing.spec
    return spec.shape if isinstance(spec, Array) else ()


def _names(run: Run) -> tuple[str, str]:
    """Of the two numbers of a point."""
    return run.data["inputs"].get("features") or ("", "")


def _is_drawn(run: Run) -> bool:
    """Whether samples can be seen: grey or coloured pictures, and points in the plane."""
    from gradlab.report.pictures import is_picture

    return is_picture(list(_shape(run))) or _shape(run) == (2,)


def _check(path: Path, run: Run, count: int, options: DrawingOptions) -> None:
    """Refuse a file that cannot be written, or not looked at, before anything is drawn."""
    known, suffix = [".png", ".npz", *([".gif"] if options.trajectory else [])], path.suffix.lower()
    if suffix not in known:
        gif = " .gif is for --trajectory." if suffix == ".gif" else ""
        raise GradlabError(f"--out {path}: samples are written to files ending in {', '.join(known)}.{gif}")
    if suffix != ".npz" and not _is_drawn(run):
        raise GradlabError(f"Samples of {run.path} are no pictures and no points in the plane. Use --out FILE.npz")
    if count < 1:
        raise GradlabError(f"-n {count}: at least one sample must be asked for.")
    shown, folder = count * _stages(path, options), path.absolute().parent
    size = 4 * shown * math.prod(_shape(run))
    if not folder.exists():
        raise GradlabError(no_folder(path))
    if folder.is_dir() and size > (free := shutil.disk_usage(folder).free):
        raise GradlabError(
            f"{shown:,} samples take {size / 1e9:,.0f} GB, and {folder} has {free / 1e9:,.0f} GB left. Ask for fewer."
        )
    # Frames of points are of one size, however many there are; those of pictures add up.
    seen = count if suffix == ".gif" and _shape(run) == (2,) else shown
    if suffix != ".npz" and seen > _MOST_SHOWN:
        raise GradlabError(f"A picture of {seen:,} samples is too large to be seen. Write arrays: --out FILE.npz")
    if options.kind != "samples":  # which become one array: two of doubles on the way
        from gradlab.data.memory import check_memory

        check_memory(5 * size, f"A {options.kind} of {shown:,} samples", "Ask for fewer rows: -n.")


def _stages(path: Path, options: DrawingOptions) -> int:
    """How many samples are drawn for each that is asked for."""
    if options.trajectory:
        return _FRAMES if path.suffix.lower() == ".gif" else _STAGES
    return _STEPS if options.interpolate else 1


def _write(drawing: Drawing, run: Run, path: Path, count: int, options: DrawingOptions) -> tuple[Any, list[str]]:
    """The file; and how many samples each class has, and what is shown in the terminal."""
    if options.interpolate or options.trajectory:
        stages = _stages(path, options)
        x = drawing.ways(count, stages) if options.interpolate else drawing.stages(count, stages)
        _write_rows(run, path, x, options)
        return None, []
    if path.suffix.lower() == ".npz":
        return _write_arrays(drawing, run, path, count)
    from gradlab.report.drawn import save_pictures

    drawn = drawing.whole(count)
    with new_file(path) as file:
        save_pictures(file, [_picture(run, drawn)])
    return _classes(run, drawn.y), _preview(drawn.x)


def _picture(run: Run, drawn: Drawn) -> Pixels:
    from gradlab.report.drawn import columns_for, grid, scatter, shades

    if _shape(run) == (2,):
        return scatter(drawn.x, drawn.y, _names(run))
    return grid(shades(run, drawn.x), columns_for(len(drawn.x)))


def _write_rows(run: Run, path: Path, x: Any, options: DrawingOptions) -> None:
    """Ways (ways, steps, …) or stages (stages, samples, …), as arrays or drawn."""
    import numpy as np

    from gradlab.report.drawn import save_pictures

    with new_file(path) as file:
        if path.suffix.lower() == ".npz":
            with file.open("wb") as stream:
                np.savez(stream, x=x.astype(np.float32))
        elif path.suffix.lower() == ".gif":
            save_pictures(file, _animation(run, x))
        else:
            save_pictures(file, [_strip(run, x if options.interpolate else np.swapaxes(x, 0, 1))])


def _strip(run: Run, rows: Any) -> Pixels:
    """A way, or a sample at all its stages, in each row; of points, each in a colour."""
    import numpy as np

    from gradlab.report.drawn import grid, scatter, shades

    whole = rows.reshape(-1, *rows.shape[2:])
    if _shape(run) == (2,):
        ways = np.repeat(np.arange(len(rows)), rows.shape[1])
        return scatter(whole, ways, _names(run), steps=rows.shape[1])
    return grid(shades(run, whole), rows.shape[1])


def _animation(run: Run, stages: Any) -> list[Pixels]:
    """All samples at each stage; what is black, or at the edge, is the same in all frames."""
    from gradlab.report.drawn import columns_for, grid, scatter, shades

    whole = stages.reshape(-1, *stages.shape[2:])
    if _shape(run) == (2,):
        return [scatter(stage, names=_names(run), ends=(whole.min(0), whole.max(0))) for stage in stages]
    pixels = shades(run, whole)
    frames = pixels.reshape(*stages.shape[:2], *pixels.shape[1:])
    return [grid(frame, columns_for(len(frame))) for frame in frames]


def _write_arrays(drawing: Drawing, run: Run, path: Path, count: int) -> tuple[Any, list[str]]:
    """Samples as they come, so that any number of them takes little memory."""
    import numpy as np

    from gradlab.files.arrays import save_parts

    labels: list[Any] = []
    first: list[Any] = []

    def parts() -> Iterator[Any]:
        for part in drawing.parts(count):
            labels.extend([] if part.y is None else [part.y])
            first.extend([] if first else [part.x])
            yield part.x

    with new_file(path) as file:
        save_parts(file, "x", (count, *_shape(run)), parts(), lambda: {"y": np.concatenate(labels)} if labels else {})
    return _classes(run, np.concatenate(labels) if labels else None), _preview(first[0])


def _classes(run: Run, labels: Any) -> Any:
    from gradlab.report.drawn import class_counts

    return None if labels is None else dict(class_counts(run.targets.classes or [], labels))


def _preview(x: Any) -> list[str]:
    """Points in the plane as text; pictures are in the file."""
    from gradlab.studies.text_plot import text_scatter

    return text_scatter(x[:_DOTS].tolist()) if x.ndim == 2 and x.shape[1] == 2 else []
