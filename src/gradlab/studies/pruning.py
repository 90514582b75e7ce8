"""A trained run pruned to a share of its weights, and trained again: at once, or in several rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gradlab.errors import GradlabError
from gradlab.inline import InlineResult, first_rows
from gradlab.markup import Html
from gradlab.report import write_report
from gradlab.run import Run, open_run
from gradlab.run.start import Start
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.members import MOST, Notify, Planned, train_members, trained
from gradlab.studies.pages import pruning as pages
from gradlab.training.observers import Observer
from gradlab.training.pruning import Beginning, Pruner
from gradlab.wording import name_of, number, percent

_ASKED = ("of", "keep", "by", "start")


@dataclass(frozen=True, kw_only=True, repr=False)
class PruningStudy(InlineResult):
    """A run before pruning, and those after each round of it."""

    of: Run
    path: Path
    rounds: list[Run]

    @property
    def _name(self) -> str:
        return str(self.path)

    def _facts(self) -> list[str]:
        before, after = (number(self.figures(run).get(self.metric)) for run in (self.of, self.run))
        return [f"{percent(self.kept)} of the weights", f"{self.split} {name_of(self.metric)} {before} → {after}"]

    def _content(self) -> list[Html]:
        rows = [["100%", *self._row(self.of)], *([percent(self.share(run)), *self._row(run)] for run in self.rounds)]
        return [first_rows(["share of the weights", f"{self.split} {name_of(self.metric)}", "run"], rows)]

    def _row(self, run: Run) -> list[str]:
        return [number(self.figures(run).get(self.metric)), str(run.path)]

    @property
    def run(self) -> Run:
        """The run with as few weights as were asked for."""
        return self.rounds[-1]

    @property
    def kept(self) -> float:
        return self.share(self.run)

    def share(self, run: Run) -> float:
        """Of the weights that can be pruned, those that a round has kept."""
        pruning = run.finished["pruning"]
        return float(pruning["kept"] / pruning["weights"])

    @property
    def split(self) -> str:
        """Where they are judged: on the test split, or on the validation split where there is none."""
        return "test" if self.of.test else "validation"

    def figures(self, run: Run) -> dict[str, float]:
        figures: dict[str, float] = run.finished[self.split]
        return figures

    @property
    def metric(self) -> str:
        """The most telling figure."""
        headline: str = self.run.task.headline
        return headline if headline in self.figures(self.run) else "loss"

    @property
    def bytes(self) -> dict[str, int]:
        """What the saved weights take, before and after."""
        return {"dense": self.of.weights_file.stat().st_size, "pruned": self.run.weights_file.stat().st_size}

    def to_json(self) -> dict[str, Any]:
        result = self.run.finished
        return {
            "out": str(self.path),
            "run": str(self.run.path),
            "recipe": result["recipe"],
            "pruning": result["pruning"],
            "bytes": self.bytes,
            "before": {split: self.of.finished[split] for split in ("validation", "test")},
            "validation": result["validation"],
            "test": result["test"],
            "rounds": [
                {"run": str(run.path), "kept": self.share(run), "validation": run.validation, "test": run.test}
                for run in self.rounds
            ],
        }


def prune(
    run: Run,
    keep: float,
    out: Path,
    device: torch.device,
    *,
    beginning: Beginning = "trained",
    rounds: int = 1,
    per_layer: bool = False,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
) -> PruningStudy:
    """Prune by magnitude to `keep` of the weights and train again by the recipe of the run.

    In one round `out` is the run that comes of it. In several, each of which prunes the same share of what the one
    before it left, `out` is a study with the runs round-1, round-2, …. They rewind between rounds, unless they go on
    from the trained weights: what begins anew in the last round has the masks of a run that was rewound.
    """
    check_keep(keep)
    check_rounds(rounds)
    pruner = Pruner.of(run, device)
    by = "layer" if per_layer else "global"
    settings = {"of": str(run.path), "keep": keep, "by": by, "start": beginning}
    if rounds == 1:
        _check_same(out, settings)
        start = partial(pruner.start, keep, beginning, per_layer=per_layer)
        first = trained(out, pruner.experiment.recipe, device, observers, start)
        if not (out / "report.html").exists():
            write_report(first)
        return PruningStudy(of=run, path=out, rounds=[first])
    every = _rounds(pruner, shares_of(keep, rounds, pruner.share), out, beginning, per_layer)
    if not out.exists():
        # What would fail is refused before there is a folder: later rounds too, where sizes of layers alone decide.
        pruner.start(keep if per_layer else every[0].changes["kept"], per_layer=per_layer)
    settings |= {"study": "prune", "rounds": rounds, "recipe": plain_recipe(pruner.experiment.recipe)}
    folder = StudyFolder.open(out, settings)
    members = train_members(folder, every, device, observers, notify)
    result = PruningStudy(of=run, path=out, rounds=[open_run(out / member.name) for member in members])
    folder.finish({"study": "prune", **result.to_json()}, pages.report(result))
    return result


def _rounds(pruner: Pruner, shares: list[float], out: Path, beginning: Beginning, per_layer: bool) -> list[Planned]:
    """A training after each round; all but the last are rewound, unless none is."""
    recipe, device = pruner.experiment.recipe, pruner.experiment.device
    between: Beginning = "trained" if beginning == "trained" else "rewind"

    def start(number: int, share: float) -> Start:
        before = pruner if number == 1 else Pruner.of(open_run(out / f"round-{number - 1}"), device)
        return before.start(share, beginning if number == len(shares) else between, per_layer=per_layer)

    return [
        Planned(name=f"round-{number}", changes={"kept": share}, recipe=recipe, start=partial(start, number, share))
        for number, share in enumerate(shares, 1)
    ]


def shares_of(keep: float, rounds: int, left: float = 1.0) -> list[float]:
    """The share of all weights after each round, when each prunes the same part of those that are `left` before it.

    >>> shares_of(0.25, 2), shares_of(0.125, 2, left=0.5)
    ([0.5, 0.25], [0.25, 0.125])
    """
    return [left * (keep / left) ** (i / rounds) for i in range(1, rounds)] + [keep]


def check_keep(keep: float) -> None:
    if not 0 < keep <= 1:
        raise GradlabError(f"--keep {keep:g} is no share of the weights: it is above 0 and at most 1, such as 0.2.")


def check_rounds(rounds: int) -> None:
    if not 1 <= rounds <= MOST:
        raise GradlabError(f"--rounds {rounds} is no number of rounds: take 1 to {MOST}.")


def _check_same(out: Path, settings: dict[str, Any]) -> None:
    """Refuse to go on with a folder that holds something else."""
    if not out.exists():
        return
    start = open_run(out).start
    if start is None:
        raise GradlabError(f"{out} exists already, and is no pruned run. Name another folder: --out FOLDER.")
    for key in _ASKED:
        if start.pruning[key] != settings[key]:
            raise GradlabError(
                f"{out} holds another pruned run: it was begun with {key}={start.pruning[key]}, and this asks for "
                f"{settings[key]}. Repeat its own command, or name another folder: --out FOLDER."
            )
