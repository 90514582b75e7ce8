"""What models of pairs reach by the length of the source: one vector of it, attention, and the transformer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradlab.bench.arena import Progress
from gradlab.bench.trainings import trained
from gradlab.errors import GradlabError
from gradlab.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from gradlab.run.folder import Run

Changes = Mapping[str, Any]

READERS: dict[str, dict[str, Any]] = {
    "one vector": {"model.attention": "none"},
    "Luong attention": {"model.form": "luong"},
    "Bahdanau attention": {"model.form": "bahdanau"},
}
"""How a recurrent decoder sees its source."""

_GROUPS = 5


@dataclass(frozen=True, kw_only=True)
class LengthRow:
    """One model."""

    title: str
    parameters: int
    seconds: float
    """Of its training, evaluations included."""
    exact_match: float
    """Over the test split."""
    by_length: list[float]
    """The same, of each group."""


@dataclass(frozen=True, kw_only=True)
class ByLength:
    """Exact match on the test split, in groups by the tokens of the source; all models have as many steps."""

    data: str
    title: str
    steps: int
    lengths: list[tuple[int, int]]
    """The shortest and the longest source of each group."""
    pairs: list[int]
    """That each group has."""
    rows: list[LengthRow]


def check_steps(steps: int) -> None:
    if steps < 1:
        raise GradlabError(f"--steps must be at least 1, got {steps}.")


def bench_lengths(
    title: str, recipe: Recipe, transformer: Recipe, steps: int, progress: Progress, changes: Changes | None = None
) -> ByLength:
    """Train each kind of model on the same pairs. `transformer` has its model, and `changes` are of both recipes."""
    check_steps(steps)
    alike = {**(changes or {}), "train.steps": steps}
    models = {name: recipe.override({**alike, **more}) for name, more in READERS.items()}
    models["transformer"] = recipe.override({**alike, "model": transformer.model})
    groups, rows = None, []
    for name, one in models.items():
        progress(f"{title}: {name}, {steps:,} steps")
        with trained(one, {}) as (run, result):
            lengths, right = answered(run)
            groups = groups or grouped(lengths)
        rows.append(
            LengthRow(
                title=name,
                parameters=result["parameters"],
                seconds=result["seconds"],
                exact_match=float(right.mean()),
                by_length=[float(right[(lengths >= low) & (lengths <= high)].mean()) for low, high in groups],
            )
        )
    assert groups is not None
    pairs = [int(((lengths >= low) & (lengths <= high)).sum()) for low, high in groups]
    return ByLength(data=recipe.data.name, title=title, steps=steps, lengths=groups, pairs=pairs, rows=rows)


def answered(run: "Run") -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]":
    """Of each pair of the test split: tokens of its source, without that of its end, and whether it was written."""
    import numpy as np

    from gradlab.tasks.seq2seq import Seq2Seq

    task, test = run.task, run.examples("test")
    assert isinstance(task, Seq2Seq)
    written = [one.text for one in task.write(run.model, test.inputs)]
    right = [one == wanted for one, wanted in zip(written, test.texts, strict=True)]  # type: ignore[attr-defined]
    return test.inputs.lengths - 1, np.array(right)


def grouped(lengths: "Sequence[int] | npt.NDArray[np.int64]", groups: int = _GROUPS) -> list[tuple[int, int]]:
    """Neighbouring lengths in groups with about as many examples, each as the shortest and longest in it.

    >>> grouped([1, 1, 2, 3, 4, 5, 6, 9], groups=4)
    [(1, 1), (2, 3), (4, 5), (6, 9)]
    """
    import numpy as np  # here, so that listing the benchmarks is instant

    known = np.sort(np.asarray(lengths))
    starts = sorted({int(known[i * len(known) // groups]) for i in range(groups)})
    inside = [known[(known >= a) & (known < b)] for a, b in zip(starts, [*starts[1:], known[-1] + 1], strict=True)]
    return [(int(part[0]), int(part[-1])) for part in inside]
