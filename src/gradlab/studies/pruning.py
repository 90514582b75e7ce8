"""A trained run pruned to a share of its weights, and trained again: at once, or in several rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gradlab.errors import GradlabError
from gradlab.report import write_report
from gradlab.run import Run, open_run
from gradlab.run.start import Start
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.members import MOST, Asked, Tell, train_members, trained
from gradlab.studies.pages import pruning as pages
from gradlab.training.observers import Observer
from gradlab.training.pruning import Beginning, Pruner

_ASKED = ("of", "keep", "by", "start")


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """A run before pruning, and those after each round of it."""

    of: Run
    path: Path
    rounds: list[Run]

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
    tell: Tell | None = None,
) -> Pruned:
    """Prune by magnitude to `keep` of the weights and train again by the recipe of the run.

    In one round `out` is the run that comes of it. In several, each of which prunes the same share of what the one
    before it left, `out` is a study with the runs round-1, round-2, …. They rewind between rounds, unless they go on
    from the trained weights: what begins anew in the last round has the masks of a run that was rewound.
    """
    check_keep(keep)
    check_rounds(rounds)
    pruner = Pruner.of(run, device)
    recipe = pruner.experiment.recipe
    if rounds == 1:
        _check_same(
            out, {"of": str(run.path), "keep": keep, "by": "layer" if per_layer else "global", "start": beginning}
        )
        start = partial(pruner.start, keep, beginning, per_layer=per_layer)
        made = trained(out, recipe, device, observers, start)
        if not (out / "report.html").exists():
            write_report(made)
        return Pruned(of=run, path=out, rounds=[made])
    shares = shares_of(keep, rounds)
    if not out.exists():
        # What would fail is refused before there is a folder: later rounds too, where sizes of layers alone decide.
        pruner.start(keep if per_layer else shares[0], per_layer=per_layer)
    asked = {"study": "prune", "of": str(run.path), "keep": keep, "rounds": rounds}
    asked |= {"by": "layer" if per_layer else "global", "start": beginning, "recipe": plain_recipe(recipe)}
    folder = StudyFolder.open(out, asked)
    between: Beginning = "trained" if beginning == "trained" else "rewind"

    def start_of(number: int) -> Start:
        before = pruner if number == 1 else Pruner.of(open_run(out / f"round-{number - 1}"), device)
        last = beginning if number == rounds else between
        return before.start(shares[number - 1], last, per_layer=per_layer)

    every = [
        Asked(name=f"round-{i}", changes={"kept": shares[i - 1]}, recipe=recipe, start=partial(start_of, i))
        for i in range(1, rounds + 1)
    ]
    members = train_members(folder, every, device, observers, tell)
    result = Pruned(of=run, path=out, rounds=[open_run(out / member.name) for member in members])
    folder.finish({"study": "prune", **result.to_json()}, pages.report(result))
    return result


def shares_of(keep: float, rounds: int) -> list[float]:
    """The share of all weights that is left after each round, when each prunes as much of what there is.

    >>> shares_of(0.25, 2)
    [0.5, 0.25]
    """
    return [keep ** (i / rounds) for i in range(1, rounds)] + [keep]


def check_keep(keep: float) -> None:
    if not 0 < keep <= 1:
        raise GradlabError(f"--keep {keep:g} is no share of the weights: it is above 0 and at most 1, such as 0.2.")


def check_rounds(rounds: int) -> None:
    if not 1 <= rounds <= MOST:
        raise GradlabError(f"--rounds {rounds} is no number of rounds: take 1 to {MOST}.")


def _check_same(out: Path, asked: dict[str, Any]) -> None:
    """Refuse to go on with a folder that holds something else."""
    if not out.exists():
        return
    start = open_run(out).start
    if start is None:
        raise GradlabError(f"{out} exists already, and is no pruned run. Name another folder: --out FOLDER.")
    for key in _ASKED:
        if start.pruning[key] != asked[key]:
            raise GradlabError(
                f"{out} holds another pruned run: it was begun with {key}={start.pruning[key]}, and this asks for "
                f"{asked[key]}. Repeat its own command, or name another folder: --out FOLDER."
            )
